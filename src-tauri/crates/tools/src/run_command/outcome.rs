//! What a finished command comes to: its result for a model, and the words for a person.
//!
//! Owns the order: how it ended, what it wrote, what its sandbox kept. Never hides that processes were ended.

use std::process::ExitStatus;
use std::time::Duration;

use rouse_core::tool::{Fault, ToolOutput};
use serde_json::{Value, json};

use crate::answer;
use crate::child::{End, Finished};

/// Said of a command that left processes running.
const LEFT_RUNNING: &str =
    "The command left processes running in the background; they were ended with it.";

/// The result of a command, with what its sandbox kept and reached.
pub(super) fn outcome(finished: &Finished, limit: Duration, sandbox: Option<String>) -> ToolOutput {
    let (stdout, stderr) = (finished.stdout.text(), finished.stderr.text());
    let mut value = json!({ "stdout": stdout.trim_end(), "stderr": stderr.trim_end() });
    if finished.stdout.is_cut() || finished.stderr.is_cut() {
        value["truncated"] = true.into();
    }
    if finished.has_left_running {
        value["background"] = LEFT_RUNNING.into();
    }
    if let Some(sandbox) = sandbox {
        value["sandbox"] = sandbox.into();
    }
    let (fault, how) = match &finished.end {
        End::Exited(status) if status.success() => {
            value["exitCode"] = 0.into();
            if let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(&stdout)
            {
                value["json"] = parsed;
            }
            return answer::done(value).in_words(&words(&stdout, finished.has_left_running));
        }
        End::Exited(status) => {
            value["exitCode"] = status.code().into();
            (Fault::Execution, ended(*status))
        }
        End::TimedOut => {
            let seconds = limit.as_secs_f64();
            (Fault::Timeout, format!("Did not end within {seconds} s and was ended"))
        }
        End::WroteTooMuch => (Fault::Execution, "Wrote more than 64 MB and was ended".to_owned()),
        End::OverBound(how) => (Fault::Execution, how.clone()),
    };
    failure(fault, &how, value)
}

/// What a person reads of a command that succeeded.
fn words(stdout: &str, has_left_running: bool) -> String {
    let said = if stdout.trim().is_empty() { "Done." } else { stdout.trim() };
    if has_left_running { format!("{said}\n\n{LEFT_RUNNING}") } else { said.to_owned() }
}

/// A failure whose words begin with how it ended and the last thing that it said.
fn failure(fault: Fault, how: &str, written: Value) -> ToolOutput {
    let said = |stream: &str| written[stream].as_str().unwrap_or_default().trim().to_owned();
    let said =
        Some(said("stderr")).filter(|said| !said.is_empty()).unwrap_or_else(|| said("stdout"));
    let (error, words) = match said.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => {
            let error = format!("{how}: {}", last.trim());
            let is_all = last.trim() == said.trim();
            (error.clone(), if is_all { error } else { format!("{error}\n\n{said}") })
        }
        None => (format!("{how}."), format!("{how}.")),
    };
    let mut output = answer::failed(fault, error).in_words(&words);
    if let (Value::Object(fields), Value::Object(written)) = (&mut output.value, written) {
        fields.extend(written);
    }
    output
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exit code {code}"),
        (None, Some(signal)) => format!("Ended by signal {signal}"),
        (None, None) => "Ended without success".to_owned(),
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> String {
    status
        .code()
        .map_or_else(|| "Ended without success".to_owned(), |code| format!("Exit code {code}"))
}
