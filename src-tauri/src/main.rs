//! The desktop app of Rouse.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

fn main() -> ExitCode {
    // The engine starts this binary again for each component that it compiles, and for each page that it parses.
    rouse_host::run_wasm_compiler()
        .or_else(rouse_host::run_page_reader)
        .unwrap_or_else(rouse_desktop::run)
}
