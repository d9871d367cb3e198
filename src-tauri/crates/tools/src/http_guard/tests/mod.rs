//! Tests of the guard: addresses, URLs, DNS rebinding.

mod addresses;
mod rebinding;
pub(crate) mod server;
mod urls;
