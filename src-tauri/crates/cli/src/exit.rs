//! How a command ends when it does not succeed: words for the person, a code for the script.

use std::process::ExitCode;

use rouse_gateway::{ClientError, ErrorCode};

use crate::output::plain;
use crate::{flags, lengths};

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is wrong; every line says where and what was expected.
    Input(Vec<String>),
    /// It cannot be done in the present state, and the gateway said so in its answer.
    Refused(String),
    /// An engine runs, and the way to it is gone.
    Unreachable(String),
    /// The gateway could not be asked, or said no.
    Client(ClientError),
    /// Anything else.
    Other(anyhow::Error),
}

impl Failure {
    /// A wrong input in one sentence.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(vec![message.into()])
    }

    /// The same, with other words for the fields of an input: a command whose flags are not those of a job names its own.
    pub(crate) fn calling(self, words: &[(&str, &str)]) -> Self {
        let fields = match &self {
            Self::Client(ClientError::Rpc(error)) => error.data.get("fields"),
            _ => None,
        };
        let fields = fields.and_then(serde_json::Value::as_array).filter(|found| !found.is_empty());
        let Some(fields) = fields else { return self };
        let line = |field: &serde_json::Value| {
            let (path, said) = (field["path"].as_str(), field["message"].as_str());
            let (path, said) = (path.unwrap_or_default(), said.unwrap_or_default());
            let word = words.iter().find(|(known, _)| path.starts_with(known));
            format!("{}: {said}", word.map_or(path, |(_, word)| word))
        };
        Self::Input(fields.iter().map(line).collect())
    }

    /// Prints the failure and names its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let code = self.code();
        for line in self.lines() {
            // What was refused may be named in the words, and it may come from somebody else's file.
            anstream::eprintln!("{}", plain(&line));
        }
        ExitCode::from(code)
    }

    fn code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Refused(_) => 5,
            Self::Unreachable(_)
            | Self::Client(
                ClientError::NotRunning | ClientError::Silent { .. } | ClientError::Unproven { .. },
            ) => 3,
            Self::Client(ClientError::Rpc(error)) => {
                let is = |code: ErrorCode| error.code == code.number();
                if is(ErrorCode::InvalidParams) {
                    2
                } else if is(ErrorCode::NotFound) {
                    4
                } else if is(ErrorCode::Conflict) || is(ErrorCode::Stale) || is(ErrorCode::Exists) {
                    5
                } else {
                    1
                }
            }
            Self::Client(_) | Self::Other(_) => 1,
        }
    }

    /// What is said about it.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Input(lines) => lines.clone(),
            Self::Refused(line) | Self::Unreachable(line) => vec![line.clone()],
            Self::Client(ClientError::Rpc(error)) => {
                let fields = error.data.get("fields").and_then(serde_json::Value::as_array);
                match fields.filter(|fields| !fields.is_empty()) {
                    Some(fields) => fields.iter().map(field_line).collect(),
                    None => vec![error.message.clone()],
                }
            }
            Self::Client(error) => vec![chain(error)],
            Self::Other(error) => vec![format!("{error:#}")],
        }
    }
}

fn field_line(field: &serde_json::Value) -> String {
    let text = |key: &str| {
        field.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    let path = text("path");
    format!("{}: {}", flags::named(&path), lengths::in_words(&path, &text("message")))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    text
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(anyhow::Error::from(error).context(
            "cannot read Rouse's answer; the command and the engine may have different versions",
        ))
    }
}
