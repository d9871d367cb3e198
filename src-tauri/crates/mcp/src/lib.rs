//! The tools of MCP servers.
//!
//! Owns the sign-ins at servers, the connections to servers, the life of server processes, the catalogue of listed tools, and the `Tool` of
//! each accepted tool. Never starts a process and never opens a socket itself: both come through ports of
//! `rouse-core`. Never offers a tool that no person has accepted. Pitfall: everything that a server sends is
//! untrusted input.

mod sign_in;
mod connection;
mod catalogue;
mod tool;
mod servers;
mod conformance;

pub use catalogue::RefusedServerTool;
pub use conformance::visit_server;
pub use servers::{ServerCatalogue, ServerPool, ServerPoolConfig};
pub use sign_in::{ServerSignIns, SignInError, SignInErrorKind};
