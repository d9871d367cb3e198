//! The error of a command: text and exit code.
//!
//! Owns the exit codes and the names of fields in input errors. Never prints; `render::error` does.

use rouse_core::text::capitalize;
use rouse_gateway::{ClientError, ErrorCode, RemoteError, RpcError};
use serde_json::Value;

use super::{duration_bounds, flags};

/// The exit codes. A test compares them with docs/jobs.md and `rouse --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CliExitCode {
    Failed = 1,
    /// Also the parser's code for wrong usage.
    Input = 2,
    Unreachable = 3,
    NotFound = 4,
    Refused = 5,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Wrong input: one line per problem.
    Input(Vec<String>),
    /// Impossible in the present state, although the gateway answered.
    Refused(String),
    /// An engine runs, but its endpoint files are missing.
    Unreachable(String),
    /// No connection, or an error from the gateway.
    Client(ClientError),
    /// Any other error.
    Other(anyhow::Error),
}

impl CliError {
    /// A wrong input in one sentence.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(vec![message.into()])
    }

    /// An unknown name, with the exit code of the gateway's not-found error.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::Client(RpcError::new(ErrorCode::NotFound, message.into()).into())
    }

    /// Replaces the gateway's field paths by `names`: pairs of path prefix and command line name.
    pub(crate) fn with_field_names(self, names: &[(&str, &str)]) -> Self {
        let line = |(path, message): &(&str, &str)| {
            let name = names.iter().find(|(prefix, _)| path.starts_with(prefix));
            let message = duration_bounds::humanize(path, message);
            format!("{}: {message}", name.map_or(*path, |(_, name)| name))
        };
        let lines: Vec<String> = self.fields().iter().map(line).collect();
        if lines.is_empty() { self } else { Self::Input(lines) }
    }

    /// Path and message of each invalid field.
    fn fields(&self) -> Vec<(&str, &str)> {
        let Self::Client(ClientError::Rpc(error)) = self else { return Vec::new() };
        let fields = error.data.get("fields").and_then(Value::as_array);
        let fields = fields.into_iter().flatten();
        fields.map(|field| (text(field, "path"), text(field, "message"))).collect()
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.exit_code() == CliExitCode::NotFound
    }

    pub(crate) fn is_unreachable(&self) -> bool {
        self.exit_code() == CliExitCode::Unreachable
    }

    /// Whether the gateway refused a stale revision.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Self::Client(ClientError::Rpc(error)) if error.code == ErrorCode::Stale.number())
    }

    pub(crate) fn exit_code(&self) -> CliExitCode {
        match self {
            Self::Input(_) => CliExitCode::Input,
            Self::Refused(_) => CliExitCode::Refused,
            Self::Unreachable(_)
            | Self::Client(
                ClientError::NotRunning
                | ClientError::TimedOut { .. }
                | ClientError::Unproven { .. },
            ) => CliExitCode::Unreachable,
            Self::Client(ClientError::Remote(error)) => match error {
                // A script that repeats after `Unreachable` must not repeat these.
                error if error.is_outcome_unknown() => CliExitCode::Failed,
                RemoteError::LocalOnly { .. } => CliExitCode::Refused,
                _ => CliExitCode::Unreachable,
            },
            Self::Client(ClientError::Rpc(error)) => {
                let is = |code: ErrorCode| error.code == code.number();
                if is(ErrorCode::InvalidParams) {
                    CliExitCode::Input
                } else if is(ErrorCode::NotFound) {
                    CliExitCode::NotFound
                } else if is(ErrorCode::Conflict) || is(ErrorCode::Stale) || is(ErrorCode::Exists) {
                    CliExitCode::Refused
                } else {
                    CliExitCode::Failed
                }
            }
            Self::Client(_) | Self::Other(_) => CliExitCode::Failed,
        }
    }

    /// The text, one line per problem.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Input(lines) => lines.clone(),
            Self::Refused(line) | Self::Unreachable(line) => vec![line.clone()],
            Self::Client(ClientError::Rpc(error)) => match self.fields().as_slice() {
                [] => vec![error.message.clone()],
                fields => fields.iter().map(field_line).collect(),
            },
            Self::Client(error) => vec![join_sources(error)],
            Self::Other(error) => vec![join_sources(error.as_ref())],
        }
    }
}

fn text<'v>(field: &'v Value, key: &str) -> &'v str {
    field.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn field_line((path, message): &(&str, &str)) -> String {
    format!("{}: {}", flags::label_of(path), duration_bounds::humanize(path, message))
}

/// Joins an error with its sources. A source follows a whole sentence as a sentence, else a colon.
pub(crate) fn join_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let sources = std::iter::successors(error.source(), |source| source.source());
    sources.fold(error.to_string(), |text, source| {
        if text.ends_with('.') {
            format!("{text} {}", capitalize(&source.to_string()))
        } else {
            format!("{text}: {source}")
        }
    })
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(anyhow::Error::from(error).context(
            "cannot read Rouse's answer; the command and the engine may have different versions",
        ))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use rouse_core::settings::SshAddress;
    use serde_json::json;

    use super::*;
    use crate::command_line::Cli;

    /// The meaning of each code in the docs and the help.
    const MEANINGS: [(u8, &str); 6] = [
        (0, "done"),
        (CliExitCode::Failed as u8, "failed"),
        (CliExitCode::Input as u8, "wrong usage or input"),
        (CliExitCode::Unreachable as u8, "Rouse is not running or does not answer"),
        (CliExitCode::NotFound as u8, "not found"),
        (CliExitCode::Refused as u8, "refused in the present state"),
    ];

    fn exit_code_line(separator: &str) -> String {
        let codes = MEANINGS.map(|(code, meaning)| format!("{code} {meaning}"));
        format!("Exit codes: {}.", codes.join(separator))
    }

    fn collapse_blanks(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn exit_codes_match_manual_and_help() {
        let manual = collapse_blanks(include_str!("../../../../../docs/jobs.md"));
        assert!(manual.contains(&exit_code_line(", ")), "{}", exit_code_line(", "));
        let help = Cli::command().render_long_help().to_string();
        assert!(collapse_blanks(&help).contains(&exit_code_line(" \u{b7} ")), "{help}");
    }

    #[test]
    fn field_names_replace_field_paths() {
        let fields = json!([
            { "path": "coalesceMs", "message": "must be between 0 and 60000, found 120000" },
            { "path": "key", "message": "must be 8 to 64 letters, digits, _ and -" },
        ]);
        let error = RpcError {
            data: json!({ "fields": fields }),
            ..RpcError::new(ErrorCode::InvalidParams, "no".to_owned())
        };
        let renamed = CliError::Client(error.into())
            .with_field_names(&[("coalesceMs", "--coalesce"), ("key", "--key")]);
        assert_eq!(
            renamed.lines(),
            [
                "--coalesce: must be at most 1 min, found 2 min",
                "--key: must be 8 to 64 letters, digits, _ and -"
            ]
        );
    }

    #[test]
    fn source_follows_sentence_as_sentence() {
        let disk = || std::io::Error::other("disk is full");
        let phrase = anyhow::Error::from(disk()).context("cannot write the file");
        assert_eq!(CliError::Other(phrase).lines(), ["cannot write the file: disk is full"]);
        let sentence = anyhow::Error::from(disk()).context("Use `rouse cron import`.");
        assert_eq!(CliError::Other(sentence).lines(), ["Use `rouse cron import`. Disk is full"]);
    }

    #[test]
    fn each_error_has_its_exit_code() {
        let remote = |error: RemoteError| CliError::Client(error.into());
        let address = || SshAddress::parse("box").expect("an address");
        let method = || "cron.run".to_owned();
        let rpc = |code| CliError::Client(RpcError::new(code, "no".to_owned()).into());
        for (error, code) in [
            (CliError::input("no"), CliExitCode::Input),
            (rpc(ErrorCode::InvalidParams), CliExitCode::Input),
            (CliError::Refused("no".to_owned()), CliExitCode::Refused),
            (rpc(ErrorCode::Conflict), CliExitCode::Refused),
            (rpc(ErrorCode::Stale), CliExitCode::Refused),
            (rpc(ErrorCode::Exists), CliExitCode::Refused),
            (CliError::Unreachable("no".to_owned()), CliExitCode::Unreachable),
            (ClientError::NotRunning.into(), CliExitCode::Unreachable),
            (remote(RemoteError::NotRunning { address: address() }), CliExitCode::Unreachable),
            (
                remote(RemoteError::Lost { address: address(), method: method(), detail: None }),
                CliExitCode::Failed,
            ),
            (
                remote(RemoteError::TimedOut { address: address(), method: method() }),
                CliExitCode::Failed,
            ),
            (
                remote(RemoteError::LocalOnly { what: "A page", address: address() }),
                CliExitCode::Refused,
            ),
            (rpc(ErrorCode::NotFound), CliExitCode::NotFound),
            (rpc(ErrorCode::Internal), CliExitCode::Failed),
            (rpc(ErrorCode::Storage), CliExitCode::Failed),
            (anyhow::anyhow!("no").into(), CliExitCode::Failed),
        ] {
            assert_eq!(error.exit_code(), code, "{error:?}");
        }
    }
}
