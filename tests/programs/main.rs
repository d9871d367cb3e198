//! The real programs: `rouse serve` in a process of its own, the `rouse` command, real sockets, real kills, and model
//! servers that speak the providers' formats.
//!
//! Owns what only a process can show: exit codes, files, signals, and that nothing gets past the door. How the engine
//! decides is asked in the tests of its rooms. Needs `rouse` to be built (`ROUSE_BIN`, else beside this program). Nothing
//! waits for a while: tests wait for output, for events, or for the end of a process.

#![cfg(unix)]

mod asks;
#[cfg(target_os = "linux")]
mod at_terminal;
mod asked_call;
mod engine;
mod http;
mod probes;

mod command_line;
mod cron_add;
mod cron_change;
mod cron_words;
mod triggers;
mod transfer;
mod other_commands;
mod first_hour;
mod settings;
mod skills;
mod starting;
mod signals;
#[cfg(target_os = "linux")]
mod unread;
mod backups;
mod damaged;
mod dying;
mod kills;
mod many_starts;
mod soak;
mod models;
mod providers;
mod connect_model;
mod secrets;
mod stored_secrets;
mod door;
mod strangers;
mod sign_in;
mod garbage;
mod logs;
mod log_lines;
mod stream;
#[cfg(target_os = "linux")]
mod surface;
