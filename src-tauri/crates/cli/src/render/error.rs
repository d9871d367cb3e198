//! Errors on standard error: text or JSON, and the exit code of the process.

use std::io::Write as _;
use std::process::ExitCode;

use rouse_gateway::ClientError;
use serde_json::{Value, json};

use super::text::escape;
use crate::resolve::error::CliError;

/// Prefix of the panic message of a failed print.
const PRINT_PANIC: &str = "failed printing to stdout: ";

/// Prints the error, with `json` as one line of JSON, and returns the exit code.
pub(crate) fn report_error(error: &CliError, json: bool) -> ExitCode {
    let code = error.exit_code() as u8;
    if json {
        anstream::eprintln!("{}", to_json(error));
        return ExitCode::from(code);
    }
    for line in error.lines() {
        // The text may quote an untrusted file.
        anstream::eprintln!("{}", escape(&line));
    }
    ExitCode::from(code)
}

/// Text and exit code, with code and invalid fields of the gateway's error.
fn to_json(error: &CliError) -> Value {
    let message = escape(&error.lines().join("\n"));
    let mut report = json!({ "exitCode": error.exit_code() as u8, "message": message });
    if let CliError::Client(ClientError::Rpc(rpc)) = error {
        report["code"] = json!(rpc.code);
        if let Some(fields) = rpc.data.get("fields") {
            report["fields"] = fields.clone();
        }
    }
    json!({ "error": report })
}

/// Ends the process with one line when standard output cannot be written (a full disk). Print macros report that only
/// by a panic; a closed pipe (`| head`) does not panic.
pub(crate) fn exit_on_print_failure() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let reason = panic.payload_as_str().and_then(|text| text.strip_prefix(PRINT_PANIC));
        let Some(reason) = reason else { return default_hook(panic) };
        // If standard error fails too, the exit code remains.
        let _ = writeln!(std::io::stderr(), "Cannot print the answer: {reason}");
        std::process::exit(1);
    }));
}
