//! A call without a result, as output: the kind of the fault and a message with a remedy, or the server's question.
//!
//! Never repeats a call. Pitfall: a call whose answer was lost may have been carried out; the message says so unless
//! the tool only reads.

use rouse_core::extension::ExtensionName;
use rouse_core::tool::{Fault, ToolOutput};

use super::input_request;
use crate::connection::ConnectionError;

/// The most bytes of a server's message.
const MAX_MESSAGE_BYTES: usize = 2 << 10;

/// The code of JSON-RPC for invalid parameters.
const INVALID_PARAMETERS: i64 = -32602;

/// The output for a call that failed with `error`.
pub(super) fn failure_of(
    error: &ConnectionError,
    server: &ExtensionName,
    is_repeatable: bool,
) -> ToolOutput {
    let mut message = error.to_string();
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES - '…'.len_utf8()));
        message.push('…');
    }
    let doubt = if is_repeatable { "" } else { " The call may have been carried out anyway." };
    match error {
        ConnectionError::Unreached(_) => ToolOutput::faulty(Fault::Unreached, message),
        ConnectionError::Ended(_) | ConnectionError::Protocol(_) => {
            ToolOutput::faulty(Fault::ExternalService, format!("{message}{doubt}"))
        }
        ConnectionError::TimedOut => {
            ToolOutput::faulty(Fault::Timeout, format!("{message}{doubt}"))
        }
        ConnectionError::NeedsSignIn(_) => {
            let remedy = format!("Sign in with `rouse mcp login {server}`.");
            ToolOutput::faulty(Fault::Refused, format!("{message} {remedy}"))
        }
        ConnectionError::Rejected { code: INVALID_PARAMETERS, .. } => {
            ToolOutput::faulty(Fault::InvalidParameters, message)
        }
        ConnectionError::Rejected { .. } => ToolOutput::error(message),
        ConnectionError::InputRequired(requested) => input_request::output_of(requested, server),
        ConnectionError::TooLarge(_) => ToolOutput::error(format!("{message}{doubt}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(error: &ConnectionError) -> (Fault, String) {
        let name = "cal".parse().expect("a name");
        let output = failure_of(error, &name, false);
        (output.fault.expect("a fault"), output.text())
    }

    #[test]
    fn every_error_has_its_fault() {
        let rejected = |code| ConnectionError::Rejected { code, message: "no day".to_owned() };
        let words = || "The server said no.".to_owned();
        for (error, fault, part) in [
            (ConnectionError::Unreached(words()), Fault::Unreached, "said no"),
            (ConnectionError::Ended(words()), Fault::ExternalService, "may have been carried out"),
            (ConnectionError::Protocol(words()), Fault::ExternalService, "may have been"),
            (ConnectionError::TimedOut, Fault::Timeout, "may have been carried out"),
            (ConnectionError::NeedsSignIn(words()), Fault::Refused, "`rouse mcp login cal`"),
            (rejected(-32602), Fault::InvalidParameters, "no day"),
            (rejected(-32603), Fault::Execution, "no day"),
            (ConnectionError::TooLarge(words()), Fault::Execution, "said no"),
        ] {
            let (found, text) = failure(&error);
            assert_eq!(found, fault, "{text}");
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn unreached_server_leaves_no_doubt() {
        let unreached = ConnectionError::Unreached("The server is off.".to_owned());
        assert_eq!(failure(&unreached).1, "The server is off.");
        let name = "cal".parse().expect("a name");
        let ended = ConnectionError::Ended("The server ended.".to_owned());
        assert!(!failure_of(&ended, &name, true).text().contains("anyway"));
    }

    #[test]
    fn message_of_the_server_is_bounded() {
        let message = "ä".repeat(5_000);
        let text = failure(&ConnectionError::Rejected { code: 1, message }).1;
        assert!(text.len() <= MAX_MESSAGE_BYTES && text.ends_with('…'), "{}", text.len());
    }
}
