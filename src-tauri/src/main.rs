//! The desktop app of Rouse.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

fn main() -> ExitCode {
    // The engine starts this program once more for each page that it reads.
    rouse_host::read_page_if_asked().unwrap_or_else(rouse_desktop::run)
}
