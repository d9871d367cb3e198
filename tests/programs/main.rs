//! The real programs: `rouse serve` as a process, the `rouse` command, real sockets, real kills, and model servers
//! with the providers' formats.
//!
//! Owns behaviour that needs a process: exit codes, files, signals and access control. Decisions of the engine are
//! tested in its crates. Needs a built `rouse` (`ROUSE_BIN`, else beside this program). Tests never sleep: they wait
//! for output, events or the end of a process.

#![cfg(unix)]

mod approvals;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod terminal_approvals;
mod approval_recovery;
mod engine;
mod http;
mod probes;

mod command_line;
mod cron_add;
mod cron_edit;
mod cron_policies;
mod cron_output;
mod triggers;
mod transfer;
mod other_commands;
mod own_tools;
mod another_computer;
#[cfg(target_os = "linux")]
mod ssh_server;
mod first_hour;
mod settings;
mod skills;
mod registries;
mod startup;
mod signals;
#[cfg(target_os = "linux")]
mod unread_output;
mod backups;
mod damaged_database;
mod crash_recovery;
mod channel_faults;
#[cfg(target_os = "linux")]
mod channels;
#[cfg(target_os = "linux")]
mod wake_up;
mod kills;
mod killed_delegation;
mod concurrent_starts;
mod soak;
mod models;
mod providers;
mod model_setup;
mod secrets;
mod stored_secrets;
mod access_control;
mod port_squatting;
mod sign_in;
mod devices;
mod malformed_requests;
mod logs;
mod log_lines;
mod stream;
#[cfg(target_os = "linux")]
mod surface;
