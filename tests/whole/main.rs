//! The whole host in one process: real store, scheduler, agent, gateway and server, with a manual clock and a
//! scripted model. Tests act as a client of the gateway.

mod slots;
mod misfire;
mod notification_texts;
mod stop_controls;
mod agent_runs;
mod provider_errors;
mod budgets;
mod announcements;
mod main_session;
mod chat;
mod pending_approvals;
mod warnings;
mod trials;
mod memory;
mod settings;
mod channels;
mod telegram;
mod delivery;
mod hooks;
mod hook_approvals;
mod run_hooks;
mod screens;
mod concurrency;
mod retention;
mod round_trip;
mod transfer;
mod unknown_keys;
mod provider_keys;
mod server;
mod signed_webhooks;
mod input_validation;
#[cfg(unix)]
mod fingerprint;
mod corpus;
mod skills;
mod mcp_servers;
mod wasm_tools;
mod coding_agents;
mod skill_ceilings;
mod secret_redaction;
