//! How a command ends when it does not succeed: words for the person, a code for the script.

use std::process::ExitCode;

use rouse_core::words::capitalised;
use rouse_gateway::{ClientError, ErrorCode};
use serde_json::{Value, json};

use crate::output::plain;
use crate::{flags, lengths};

/// The exit codes. docs/jobs.md and `rouse --help` say the same; a test holds them to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Code {
    Failed = 1,
    /// Also what the parser of the command line refuses.
    Input = 2,
    Unreachable = 3,
    NotFound = 4,
    Refused = 5,
}

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
        let line = |(path, said): &(&str, &str)| {
            let word = words.iter().find(|(known, _)| path.starts_with(known));
            let said = lengths::in_words(path, said);
            format!("{}: {said}", word.map_or(*path, |(_, word)| word))
        };
        let lines: Vec<String> = self.fields().iter().map(line).collect();
        if lines.is_empty() { self } else { Self::Input(lines) }
    }

    /// The fields that the gateway complained of: the path of each, and what is wrong with it.
    fn fields(&self) -> Vec<(&str, &str)> {
        let Self::Client(ClientError::Rpc(error)) = self else { return Vec::new() };
        let fields = error.data.get("fields").and_then(Value::as_array);
        let fields = fields.into_iter().flatten();
        fields.map(|field| (part(field, "path"), part(field, "message"))).collect()
    }

    /// Whether the gateway says that there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code() == Code::NotFound
    }

    /// Whether there is nobody to be asked, or no way to them.
    pub(crate) fn is_unreachable(&self) -> bool {
        self.code() == Code::Unreachable
    }

    /// Whether what was to be changed is another by now.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Client(ClientError::Rpc(error)) if error.code == ErrorCode::Stale.number())
    }

    /// Prints the failure, as one line of JSON where that is asked for, and names its exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        let code = self.code();
        if json {
            anstream::eprintln!("{}", self.to_json());
            return ExitCode::from(code as u8);
        }
        for line in self.lines() {
            // What was refused may be named in the words, and it may come from somebody else's file.
            anstream::eprintln!("{}", plain(&line));
        }
        ExitCode::from(code as u8)
    }

    /// The words, the exit code, and what the gateway added: its own code and the fields it complained of.
    fn to_json(&self) -> Value {
        let message = plain(&self.lines().join("\n"));
        let mut error = json!({ "exitCode": self.code() as u8, "message": message });
        if let Self::Client(ClientError::Rpc(said)) = self {
            error["code"] = json!(said.code);
            if let Some(fields) = said.data.get("fields") {
                error["fields"] = fields.clone();
            }
        }
        json!({ "error": error })
    }

    fn code(&self) -> Code {
        match self {
            Self::Input(_) => Code::Input,
            Self::Refused(_) => Code::Refused,
            Self::Unreachable(_)
            | Self::Client(
                ClientError::NotRunning | ClientError::Silent { .. } | ClientError::Unproven { .. },
            ) => Code::Unreachable,
            Self::Client(ClientError::Rpc(error)) => {
                let is = |code: ErrorCode| error.code == code.number();
                if is(ErrorCode::InvalidParams) {
                    Code::Input
                } else if is(ErrorCode::NotFound) {
                    Code::NotFound
                } else if is(ErrorCode::Conflict) || is(ErrorCode::Stale) || is(ErrorCode::Exists) {
                    Code::Refused
                } else {
                    Code::Failed
                }
            }
            Self::Client(_) | Self::Other(_) => Code::Failed,
        }
    }

    /// What is said about it.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Input(lines) => lines.clone(),
            Self::Refused(line) | Self::Unreachable(line) => vec![line.clone()],
            Self::Client(ClientError::Rpc(error)) => match self.fields().as_slice() {
                [] => vec![error.message.clone()],
                fields => fields.iter().map(field_line).collect(),
            },
            Self::Client(error) => vec![chain(error)],
            Self::Other(error) => vec![chain(error.as_ref())],
        }
    }
}

fn part<'v>(field: &'v Value, key: &str) -> &'v str {
    field.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn field_line((path, said): &(&str, &str)) -> String {
    format!("{}: {}", flags::named(path), lengths::in_words(path, said))
}

/// What has failed and why, down to what the system said. What is a whole sentence already is followed by another one.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let inner = std::iter::successors(error.source(), |inner| inner.source());
    inner.fold(error.to_string(), |said, inner| match said.ends_with('.') {
        true => format!("{said} {}", capitalised(&inner.to_string())),
        false => format!("{said}: {inner}"),
    })
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use rouse_gateway::RpcError;

    use super::*;

    /// What each code means, as a person reads it.
    const WORDS: [(u8, &str); 6] = [
        (0, "done"),
        (Code::Failed as u8, "failed"),
        (Code::Input as u8, "wrong usage or input"),
        (Code::Unreachable as u8, "Rouse is not running or does not answer"),
        (Code::NotFound as u8, "not found"),
        (Code::Refused as u8, "refused in the present state"),
    ];

    fn told(between: &str) -> String {
        let codes = WORDS.map(|(code, words)| format!("{code} {words}"));
        format!("Exit codes: {}.", codes.join(between))
    }

    /// The text with one blank where it has any number, or a new line.
    fn in_one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_exit_codes_are_those_that_people_are_told() {
        let manual = in_one_line(include_str!("../../../../docs/jobs.md"));
        assert!(manual.contains(&told(", ")), "{}", told(", "));
        let help = crate::Cli::command().render_long_help().to_string();
        assert!(in_one_line(&help).contains(&told(" \u{b7} ")), "{help}");
    }

    #[test]
    fn fields_of_a_request_are_called_as_they_are_typed() {
        let fields = json!([
            { "path": "coalesceMs", "message": "must be between 0 and 60000, found 120000" },
            { "path": "key", "message": "must be 8 to 64 letters, digits, _ and -" },
        ]);
        let error = RpcError {
            data: json!({ "fields": fields }),
            ..RpcError::new(ErrorCode::InvalidParams, "no".to_owned())
        };
        let said = Failure::Client(error.into())
            .calling(&[("coalesceMs", "--coalesce"), ("key", "--key")]);
        assert_eq!(
            said.lines(),
            [
                "--coalesce: must be at most 1 min, found 2 min",
                "--key: must be 8 to 64 letters, digits, _ and -"
            ]
        );
    }

    #[test]
    fn a_reason_follows_a_sentence_as_another_one() {
        let disk = || std::io::Error::other("disk is full");
        let half = anyhow::Error::from(disk()).context("cannot write the file");
        assert_eq!(Failure::Other(half).lines(), ["cannot write the file: disk is full"]);
        let whole = anyhow::Error::from(disk()).context("Use `rouse cron import`.");
        assert_eq!(Failure::Other(whole).lines(), ["Use `rouse cron import`. Disk is full"]);
    }

    #[test]
    fn each_end_has_its_code() {
        let rpc = |code| Failure::Client(RpcError::new(code, "no".to_owned()).into());
        for (failure, code) in [
            (Failure::input("no"), Code::Input),
            (rpc(ErrorCode::InvalidParams), Code::Input),
            (Failure::Refused("no".to_owned()), Code::Refused),
            (rpc(ErrorCode::Conflict), Code::Refused),
            (rpc(ErrorCode::Stale), Code::Refused),
            (rpc(ErrorCode::Exists), Code::Refused),
            (Failure::Unreachable("no".to_owned()), Code::Unreachable),
            (ClientError::NotRunning.into(), Code::Unreachable),
            (rpc(ErrorCode::NotFound), Code::NotFound),
            (rpc(ErrorCode::Internal), Code::Failed),
            (rpc(ErrorCode::Storage), Code::Failed),
            (anyhow::anyhow!("no").into(), Code::Failed),
        ] {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }
}
