//! The channels of Rouse: one file per service.
//!
//! Owns rendering, sending, and the class of each answer. Never chooses a recipient, never reads the store or the clock,
//! and never opens a connection of its own but those of e-mail: HTTP goes through the guarded port.
//! Pitfall: a token in an error text; the address of a request stays out of every error.

mod http;
mod text;

#[cfg(test)]
mod doubles;
