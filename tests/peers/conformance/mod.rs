//! The conformance suites of MCP: 0.1.16 for 2025-11-25, and 0.2.0-alpha.12 for 2026-07-28.
//!
//! A scenario that fails on purpose has its reason in a constant, and goes to the suite as an expected failure. A suite
//! also fails for an expected failure that passes, so the constants stay true.

mod suite;
mod client;
mod authorizing_proxy;
mod server;
