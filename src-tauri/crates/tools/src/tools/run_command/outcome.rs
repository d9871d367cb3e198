//! The output of a finished command, for the model and for people.
//!
//! Owns the order: exit, streams, sandbox. Never hides that processes were killed.

use std::process::ExitStatus;
use std::time::Duration;

use rouse_core::tool::{Fault, ToolOutput};
use serde_json::{Value, json};

use crate::output;
use crate::process::{CompletedProcess, ExitCause};

const ORPHANS_NOTE: &str =
    "The command left processes running in the background; they were ended with it.";

/// Makes the output. `sandbox` describes the confinement.
pub(super) fn command_output(
    completed: &CompletedProcess,
    limit: Duration,
    sandbox: Option<String>,
) -> ToolOutput {
    let (stdout, stderr) = (completed.stdout.text(), completed.stderr.text());
    let mut value = json!({ "stdout": stdout.trim_end(), "stderr": stderr.trim_end() });
    if completed.stdout.is_truncated() || completed.stderr.is_truncated() {
        value["truncated"] = true.into();
    }
    if completed.had_orphans {
        value["background"] = ORPHANS_NOTE.into();
    }
    if let Some(sandbox) = sandbox {
        value["sandbox"] = sandbox.into();
    }
    let (fault, cause) = match &completed.exit {
        ExitCause::Exited(status) if status.success() => {
            value["exitCode"] = 0.into();
            if let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(&stdout)
            {
                value["json"] = parsed;
            }
            let shown = if stdout.trim().is_empty() { "Done." } else { stdout.trim() };
            let note =
                if completed.had_orphans { format!("\n\n{ORPHANS_NOTE}") } else { String::new() };
            return output::success(value).in_words(&format!("{shown}{note}"));
        }
        ExitCause::Exited(status) => {
            value["exitCode"] = status.code().into();
            (Fault::Execution, describe_status(*status))
        }
        ExitCause::TimedOut => {
            let seconds = limit.as_secs_f64();
            (Fault::Timeout, format!("Did not end within {seconds} s and was ended"))
        }
        ExitCause::OutputLimit => {
            (Fault::Execution, "Wrote more than 64 MB and was ended".to_owned())
        }
        ExitCause::ResourceLimit(reason) => (Fault::Execution, reason.clone()),
    };
    failed_command(fault, &cause, value)
}

/// A failure with a message of cause and last line of the output.
fn failed_command(fault: Fault, cause: &str, streams: Value) -> ToolOutput {
    let text = |stream: &str| streams[stream].as_str().unwrap_or_default().trim().to_owned();
    let text =
        Some(text("stderr")).filter(|text| !text.is_empty()).unwrap_or_else(|| text("stdout"));
    let (error, message) = match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => {
            let error = format!("{cause}: {}", last.trim());
            let is_whole = last.trim() == text.trim();
            (error.clone(), if is_whole { error } else { format!("{error}\n\n{text}") })
        }
        None => (format!("{cause}."), format!("{cause}.")),
    };
    let mut output = output::failure(fault, error).in_words(&message);
    if let (Value::Object(fields), Value::Object(streams)) = (&mut output.value, streams) {
        fields.extend(streams);
    }
    output
}

#[cfg(unix)]
fn describe_status(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exit code {code}"),
        (None, Some(signal)) => format!("Ended by signal {signal}"),
        (None, None) => "Ended without success".to_owned(),
    }
}

#[cfg(not(unix))]
fn describe_status(status: ExitStatus) -> String {
    status
        .code()
        .map_or_else(|| "Ended without success".to_owned(), |code| format!("Exit code {code}"))
}
