//! Words for the system's shell, which `run_command` hands a text to.

/// A single quoted word.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A command that reads these lines.
pub(super) fn reading(command: &str, input: &str) -> String {
    let lines: Vec<String> = input.split('\n').map(quoted_line).collect();
    // On separate lines: a comment at the end would swallow the bracket.
    format!("printf '%s\\n' {} | (\n{command}\n)", lines.join(" "))
}

/// An empty line is a word too.
fn quoted_line(line: &str) -> String {
    if line.is_empty() { "''".to_owned() } else { quoted(line) }
}
