//! Prompts at the terminal.

use std::io::{IsTerminal as _, Write as _, stderr, stdin};

use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::read_line;

/// Whether a person can answer a prompt.
pub(in crate::commands) fn is_interactive(engine: &EngineConnection) -> bool {
    !engine.json && stdin().is_terminal()
}

/// Prints a prompt and reads a line; empty at the end of the input, else with its line break.
pub(in crate::commands) async fn ask_line(prompt: &str) -> Result<String, CliError> {
    anstream::eprint!("{prompt}");
    // An unflushed prompt appears with the next line.
    let _ = stderr().flush();
    read_line().await
}
