//! The `rouse` command: a client of the gateway, and `rouse serve`.
//!
//! Owns the command line and its output. Decides nothing: each command is one call of a gateway method, and `--json`
//! prints the answer unchanged; the list of jobs also has the heartbeat. Imports go downwards: `commands` → `render` →
//! `resolve`.

mod command_line;
mod commands;
mod render;
mod resolve;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::render::error::{exit_on_print_failure, report_error};

fn main() -> ExitCode {
    // The engine starts this binary again for each component that it compiles, and for each page that it reads.
    if let Some(code) = rouse_host::run_wasm_compiler().or_else(rouse_host::run_page_reader) {
        return code;
    }
    exit_on_print_failure();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match command_line::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return command_line::report_usage_error(&error, &arguments),
    };
    let json = cli.json;
    match command_line::check_environment().and_then(|()| commands::run(cli)) {
        Ok(code) => code,
        Err(error) => report_error(&error, json),
    }
}
