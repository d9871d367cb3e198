//! Lines and secrets from the keyboard or a pipe.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, stdin};

use rouse_core::text::capitalize;
use tokio::sync::oneshot;

use super::error::CliError;

/// Maximum bytes of a secret from a pipe.
const MAX_SECRET: u64 = 16 << 10;

/// A line that a thread of its own reads, so that the command can end meanwhile.
pub(crate) struct KeyboardLine(oneshot::Receiver<io::Result<String>>);

impl KeyboardLine {
    pub(crate) fn start() -> Self {
        let (send, line) = oneshot::channel();
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = stdin().lock().read_line(&mut text).map(|_| text);
            // The receiver is gone when the command has ended.
            let _ = send.send(read);
        });
        Self(line)
    }

    pub(crate) async fn wait(&mut self) -> Result<String, CliError> {
        let read =
            (&mut self.0).await.map_err(|_| anyhow::anyhow!("the keyboard cannot be read"))?;
        Ok(read?)
    }
}

/// Reads a line.
pub(crate) async fn read_line() -> Result<String, CliError> {
    KeyboardLine::start().wait().await
}

/// Whether the line is `y` or `yes`.
pub(crate) fn is_confirmed(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Whether the line is `y`, `yes` or empty. The end of the input is no answer.
pub(crate) fn is_not_declined(line: &str) -> bool {
    is_confirmed(line) || (!line.is_empty() && line.trim().is_empty())
}

/// Reads secrets from a pipe, one per line.
pub(crate) fn read_piped_secrets() -> Result<Vec<String>, CliError> {
    if stdin().is_terminal() {
        return Err(CliError::input("--secret-stdin needs a pipe or a file on standard input"));
    }
    let mut text = String::new();
    stdin().take(MAX_SECRET).read_to_string(&mut text)?;
    Ok(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// Reads a secret from the keyboard without echo, or from a pipe.
pub(crate) fn read_secret(label: &str) -> Result<String, CliError> {
    if stdin().is_terminal() {
        return Ok(rpassword::prompt_password(format!("{}: ", capitalize(label)))?);
    }
    let mut secret = String::new();
    stdin().take(MAX_SECRET).read_to_string(&mut secret)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_line_agrees_and_end_of_input_does_not() {
        let agrees = ["\n", " \r\n", "y\n", "Yes\n"].map(is_not_declined);
        assert_eq!(agrees, [true; 4]);
        assert_eq!(["", "n\n", "no\n", "later\n"].map(is_not_declined), [false; 4]);
    }
}
