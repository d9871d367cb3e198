//! Why a server cannot be used, in sentences with a remedy.
//!
//! Owns the words. Never decides. Pitfall: a remedy without the command to run.

use rouse_core::extension::{
    ExtensionName, ServerDefinition, ServerTransport, ServerUnavailable, UnavailableKind,
    UnfilledSecret,
};

use super::start::start_limit;
use crate::connection::{ConnectionError, StartAttempt, with_last_lines};
use crate::sign_in::{SignInError, SignInErrorKind};

/// The person switched the server off.
pub(super) fn switched_off(server: &ExtensionName) -> ServerUnavailable {
    ServerUnavailable {
        server: server.clone(),
        kind: UnavailableKind::Off,
        reason: format!("The server {server} is switched off."),
        remedy: format!("Switch it on with `rouse extensions enable {server}`."),
    }
}

/// The extension has no command to start.
pub(super) fn no_command(name: &ExtensionName) -> ServerUnavailable {
    ServerUnavailable {
        server: name.clone(),
        kind: UnavailableKind::NotInstalled,
        reason: format!("{name} has no command to start."),
        remedy: format!("Remove it with `rouse extensions remove {name}`, and install it again."),
    }
}

/// Every tool waits for a person.
pub(super) fn quarantined(server: &ExtensionName) -> ServerUnavailable {
    ServerUnavailable {
        server: server.clone(),
        kind: UnavailableKind::Quarantined,
        reason: format!("All tools of the server {server} are new or changed and wait for you."),
        remedy: format!("Review them with `rouse extensions accept {server}`."),
    }
}

/// The files of the server's package are not as the person accepted them; `difference` is a sentence.
pub(super) fn changed_files(server: &ExtensionName, difference: &str) -> ServerUnavailable {
    ServerUnavailable {
        server: server.clone(),
        kind: UnavailableKind::Quarantined,
        reason: format!("The server {server} was not started. {difference}"),
        remedy: format!(
            "List the differences with `rouse extensions verify {server}`, then install the package again with `rouse extensions update {server}`."
        ),
    }
}

/// The server was stopped while it was starting.
pub(super) fn stopped(server: &ExtensionName, definition: &ServerDefinition) -> ServerUnavailable {
    let sentence = format!("The server {server} was stopped while it was starting.");
    unreachable(server, definition, sentence)
}

/// A secret of the definition has no value for this server. Only the person can add a secret or bind it.
pub(super) fn unfilled_secret(
    server: &ExtensionName,
    definition: &ServerDefinition,
    unfilled: &UnfilledSecret,
) -> ServerUnavailable {
    let reason = format!("The server {server} was not started. {unfilled}");
    if unfilled.is_transient {
        return unreachable(server, definition, reason);
    }
    ServerUnavailable {
        server: server.clone(),
        kind: UnavailableKind::MissingSecret,
        reason,
        remedy: format!("See its definition with `rouse extensions show {server}`."),
    }
}

/// The start failed. `attempt` has the error output of the process.
pub(super) fn start_failed(
    server: &ExtensionName,
    definition: &ServerDefinition,
    error: &ConnectionError,
    attempt: &StartAttempt,
) -> ServerUnavailable {
    let stderr = attempt.stderr_tail().unwrap_or_default();
    match error {
        ConnectionError::TimedOut => {
            let seconds = start_limit(definition).as_secs();
            let sentence =
                format!("The server {server} did not start within {seconds} s.{}", noise(attempt));
            unreachable(server, definition, with_last_lines(&sentence, &stderr))
        }
        error => failed(server, definition, "did not start", error, &stderr),
    }
}

/// A running server did not list its tools.
pub(super) fn list_failed(
    server: &ExtensionName,
    definition: &ServerDefinition,
    error: &ConnectionError,
    stderr_tail: Option<&str>,
) -> ServerUnavailable {
    let stderr = stderr_tail.unwrap_or_default();
    match error {
        ConnectionError::TimedOut => {
            let seconds = start_limit(definition).as_secs();
            let sentence =
                format!("The server {server} did not list its tools within {seconds} s.");
            unreachable(server, definition, with_last_lines(&sentence, stderr))
        }
        error => failed(server, definition, "did not list its tools", error, stderr),
    }
}

/// The refresh of the sign-in took too long.
pub(super) fn refresh_timed_out(
    server: &ExtensionName,
    definition: &ServerDefinition,
) -> ServerUnavailable {
    let seconds = start_limit(definition).as_secs();
    let sentence = format!("The sign-in of {server} was not refreshed within {seconds} s.");
    unreachable(server, definition, sentence)
}

/// The token of the sign-in is not available.
pub(super) fn no_token(
    server: &ExtensionName,
    definition: &ServerDefinition,
    error: &SignInError,
) -> ServerUnavailable {
    match error.kind {
        SignInErrorKind::NeedsSignIn => needs_sign_in(server),
        SignInErrorKind::Transient | SignInErrorKind::Refused => {
            unreachable(server, definition, format!("The server {server} was not used. {error}"))
        }
    }
}

fn needs_sign_in(server: &ExtensionName) -> ServerUnavailable {
    ServerUnavailable {
        server: server.clone(),
        kind: UnavailableKind::NeedsSignIn,
        reason: format!("The server {server} needs a sign-in."),
        remedy: format!("Sign in with `rouse mcp login {server}`."),
    }
}

fn failed(
    server: &ExtensionName,
    definition: &ServerDefinition,
    predicate: &str,
    error: &ConnectionError,
    stderr: &str,
) -> ServerUnavailable {
    let sentence = format!("The server {server} {predicate}. {error}");
    match error {
        ConnectionError::NeedsSignIn(_) => needs_sign_in(server),
        // This error has the error output already.
        ConnectionError::Ended(_) => unreachable(server, definition, sentence),
        _ => unreachable(server, definition, with_last_lines(&sentence, stderr)),
    }
}

/// A hint at a program that writes its log to the output of the protocol.
fn noise(attempt: &StartAttempt) -> String {
    match attempt.noise() {
        0 => String::new(),
        lines => format!(" Its output had {lines} lines that are no messages."),
    }
}

/// Only a local program has error output. A reason that ends with error output gets a full stop, because the remedy
/// follows.
fn unreachable(
    server: &ExtensionName,
    definition: &ServerDefinition,
    mut reason: String,
) -> ServerUnavailable {
    if !reason.ends_with(['.', '!', '?', '…']) {
        reason.push('.');
    }
    let remedy = match definition.transport {
        ServerTransport::Stdio { .. } => format!(
            "See its error output with `rouse extensions logs {server}`, and its command with `rouse extensions show {server}`."
        ),
        ServerTransport::Http { .. } => {
            format!("See its address with `rouse extensions show {server}`.")
        }
        ServerTransport::Wasm { .. } => {
            format!("See its permissions with `rouse extensions show {server}`.")
        }
    };
    ServerUnavailable { server: server.clone(), kind: UnavailableKind::Unreachable, reason, remedy }
}
