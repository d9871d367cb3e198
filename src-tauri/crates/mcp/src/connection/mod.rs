//! One open connection to one MCP server.
//!
//! Owns the protocol: the start in both lifecycles, the pages of the tool list, calls with progress and cancellation,
//! and the answers to requests of the server. Types of the protocol library stay inside. Never decides when a server
//! starts and never repeats a call. Pitfall: a message without a bound; every size and every count has a limit here.

mod requested_input;
mod error;
mod result;
mod listing;
mod events;
mod stdio;
mod sse;
mod token_redaction;
mod exchange;
mod subscription;
mod client;

pub(crate) use client::Connection;
pub(crate) use error::ConnectionError;
pub(crate) use events::ProgressSink;
pub(crate) use requested_input::RequestedInput;
pub(crate) use result::{CallResult, ContentPart};
pub(crate) use stdio::{LineProcess, StartAttempt, with_last_lines};

#[cfg(test)]
pub(crate) mod doubles;
#[cfg(test)]
mod tests;
