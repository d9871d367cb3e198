//! Tests of the gateway with a real store, scheduler and sockets, and a manual clock.

mod fixture;

mod sign_in;
mod stream;
mod errors;
mod extensions;
mod hooks;
mod tool_offers;
mod types;
