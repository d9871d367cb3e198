//! The life of all servers: start, sharing, idle stop, restart.
//!
//! Owns one entry for each server in use. A server starts when first used and is shared by all runs. Never repeats a
//! lost call and never offers a tool that no person has accepted. Pitfall: the accepted tools change while a server
//! runs, so each use compares the listing with the installed extension anew.

mod calls;
mod config;
mod unavailable;
mod server;
mod start;
mod pool;

pub(crate) use calls::ServerCalls;
pub use config::ServerPoolConfig;
pub use pool::{ServerCatalogue, ServerPool};
pub(crate) use start::{command, start_limit};

#[cfg(test)]
mod tests;
