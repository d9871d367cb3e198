//! Tests of the gateway with a real store, scheduler and sockets, and a manual clock.

mod fixture;

mod sign_in;
mod devices;
mod stream;
mod errors;
mod extensions;
mod hooks;
mod mcp_routines;
mod mcp_client;
mod mcp_protocol;
mod mcp_tools;
mod mcp_sign_in;
mod tool_offers;
mod searchable_tools;
mod types;
