//! Of a job that an agent has made, or whose words it wrote last, that it is not the person's own.
//!
//! It refuses to name anybody else: other programs write under the same keys whatever they like. One could get it wrong by
//! speaking of the words of a job that calls a tool, which has none.

use serde_json::Value;

use crate::output::plain;

/// What stands behind its name in a list.
pub(super) fn beside_name(job: &Value) -> &'static str {
    if is_agent(&job["createdBy"]) {
        " (by an agent)"
    } else if is_agent(last_writer(job)) {
        " (task by an agent)"
    } else {
        ""
    }
}

/// What stands about it where the job is shown.
pub(super) fn lines(job: &Value) -> Vec<String> {
    let made = &job["createdBy"];
    let writer = last_writer(job);
    let mut lines = Vec::new();
    if is_agent(made) {
        lines.push(format!("made   by an agent{}", in_run(made)));
    }
    if is_agent(writer) {
        let flag = flag_of_words(job).unwrap_or_default();
        let run = in_run(writer);
        lines.push(format!(
            "task   an agent wrote it{run}; write it anew with {flag} to make it yours"
        ));
    }
    lines
}

/// Who wrote the words last; nobody where there are none.
fn last_writer(job: &Value) -> &Value {
    match (flag_of_words(job), &job["messageBy"]) {
        (None, _) => &Value::Null,
        (Some(_), Value::Null) => &job["createdBy"],
        (Some(_), writer) => writer,
    }
}

/// The flag that writes what the job says to its runs; none of a job that says nothing.
fn flag_of_words(job: &Value) -> Option<&'static str> {
    match job["payload"]["kind"].as_str() {
        Some("agentTurn") => Some("--message"),
        Some("systemEvent") => Some("--system-event"),
        _ => None,
    }
}

fn is_agent(author: &Value) -> bool {
    author["kind"] == "agent"
}

fn in_run(author: &Value) -> String {
    author["runId"].as_str().map(|run| format!(", in run {}", plain(run))).unwrap_or_default()
}
