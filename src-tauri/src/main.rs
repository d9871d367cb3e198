//! The desktop app of Rouse.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

fn main() -> ExitCode {
    rouse_desktop::run()
}
