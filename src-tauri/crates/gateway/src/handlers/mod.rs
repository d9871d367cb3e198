//! Handlers, a file a subsystem: parse → one verb → convert. Who may call is decided before a request gets here.

pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod deliveries;
pub(crate) mod heartbeat;
pub(crate) mod providers;
pub(crate) mod runs;
pub(crate) mod system;
pub(crate) mod tools;
