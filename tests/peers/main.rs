//! Real MCP servers, the conformance suites, a real mail server and Apprise, in pinned versions.
//!
//! The MCP servers run behind the whole engine in this process, confined on Linux. The suites judge `rouse` as a client
//! and the engine as a server. `cargo xtask test --only peers` installs all peers.

mod fixture;
mod npm_servers;
mod python_servers;
mod http_server;
mod mail_server;
mod apprise;
mod conformance;
