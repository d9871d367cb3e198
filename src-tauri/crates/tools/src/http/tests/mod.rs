//! Tests of `http`: what may be named, where it may lead, and what really happens on real sockets.

mod addresses;
mod network;
mod sending;
mod rebinding;
mod redirects;
pub(crate) mod server;
mod urls;
