//! Tests of `http` over real sockets.

mod network;
mod redirects;
mod requests;
