//! The tools of MCP servers, and the tool that delegates a task to a coding agent.
//!
//! Owns the sign-ins at servers, the connections to servers, the life of server processes, the catalogue of listed tools, the `Tool` of
//! each accepted tool, and the tasks of coding agents over the Agent Client Protocol. Never starts a process and never opens a socket itself: both come through ports of
//! `rouse-core`. Never offers a tool that no person has accepted. Pitfall: everything that a server sends is
//! untrusted input.

mod sign_in;
mod connection;
mod catalogue;
mod tool;
mod servers;
mod conformance;
mod coding_agent;

pub use catalogue::RefusedServerTool;
pub use coding_agent::{CodingAgents, CodingAgentsConfig};
pub use conformance::visit_server;
pub use servers::{ServerCatalogue, ServerPool, ServerPoolConfig};
pub use sign_in::{ServerSignIns, SignInError, SignInErrorKind};
