//! Real MCP servers and the conformance suites, in pinned versions.
//!
//! The servers run behind the whole engine in this process, confined on Linux. The suites judge `rouse` as a client and
//! the engine as a server. `cargo xtask test --only peers` installs both.

mod fixture;
mod npm_servers;
mod python_servers;
mod http_server;
mod conformance;
