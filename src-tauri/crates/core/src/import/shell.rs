//! Commands for the system's shell, which `run_command` hands a text to.

use crate::text::quote_word;

/// A command that reads these lines.
pub(super) fn reading(command: &str, input: &str) -> String {
    let lines: Vec<String> = input.split('\n').map(quote_word).collect();
    // On separate lines: a comment at the end would swallow the bracket.
    format!("printf '%s\\n' {} | (\n{command}\n)", lines.join(" "))
}
