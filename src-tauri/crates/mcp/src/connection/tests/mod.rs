//! Tests of connections over both transports.

mod stdio;
mod http;
