//! Real MCP servers, the conformance suites, a real mail server, Apprise, and a queue in PostgreSQL, in pinned versions.
//!
//! The MCP servers run behind the whole engine in this process, confined on Linux. The suites judge `rouse` as a client
//! and the engine as a server. `cargo xtask test --only peers` installs all peers but PostgreSQL, which comes from the
//! system.

mod fixture;
mod npm_servers;
mod python_servers;
mod http_server;
mod served_engine;
mod mail_server;
mod apprise;
mod conformance;
#[cfg(target_os = "linux")]
mod holding_proxy;
#[cfg(target_os = "linux")]
mod postgres;
#[cfg(target_os = "linux")]
mod postgres_queue;
