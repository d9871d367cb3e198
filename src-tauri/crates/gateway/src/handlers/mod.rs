//! Handlers, one file per subsystem: parse → authorise → one verb → convert. The server authenticates callers before.

mod input;
mod route_labels;
pub(crate) mod approvals;
pub(crate) mod backup;
pub(crate) mod channels;
pub(crate) mod chat;
pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod deliveries;
pub(crate) mod devices;
pub(crate) mod extensions;
pub(crate) mod grants;
pub(crate) mod heartbeat;
pub(crate) mod hooks;
pub(crate) mod mcp_access;
pub(crate) mod models;
pub(crate) mod providers;
pub(crate) mod registries;
pub(crate) mod runs;
pub(crate) mod secrets;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod spending;
pub(crate) mod system;
pub(crate) mod tool_builds;
pub(crate) mod tools;
