//! `targets::settings` for cargo-fuzz.
#![no_main]

#[path = "../../tests/noise/targets.rs"]
#[expect(dead_code, reason = "each program uses a single target")]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::settings(bytes));
