//! Tests of the guard: addresses, URLs, DNS rebinding, exchanges.

mod addresses;
mod exchange;
mod rebinding;
pub(crate) mod server;
mod urls;
