//! Short forms of jobs, runs and approvals, with times on the person's clock.
//!
//! Owns the limits of texts. Never passes on the arguments of a call that waits for an approval: these may hold what only the
//! person may see.

use serde_json::{Map, Value, json};

use super::tool_call::McpToolCall;

/// Limit of a text in a list, in characters.
const SHORT_CHARS: usize = 300;
/// Limit of a text in the details of one object, in characters.
const LONG_CHARS: usize = 8_000;
/// Maximum steps in the details of a run.
const MAX_STEPS: usize = 40;

/// The length of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummaryLength {
    Short,
    Long,
}

impl SummaryLength {
    fn cut(self, text: &Value) -> Value {
        let limit = match self {
            Self::Short => SHORT_CHARS,
            Self::Long => LONG_CHARS,
        };
        text.as_str().map_or(Value::Null, |text| cut(text, limit).into())
    }
}

/// A job view.
pub(super) fn job_summary(view: &Value, length: SummaryLength, call: &McpToolCall<'_>) -> Value {
    let (job, payload, state) = (&view["job"], &view["job"]["payload"], &view["job"]["state"]);
    let creator = match (&job["createdBy"]["client"], &job["createdBy"]["kind"]) {
        (client @ Value::String(_), _) => client.clone(),
        (_, kind) => kind.clone(),
    };
    present([
        ("id", job["id"].clone()),
        ("name", job["name"].clone()),
        ("description", length.cut(&job["description"])),
        ("enabled", job["enabled"].clone()),
        ("revision", state["revision"].clone()),
        ("schedule", view["scheduleText"].clone()),
        ("zone", view["zone"].clone()),
        ("nextRun", call.local_time(&state["nextRunAtMs"])),
        ("lastRun", call.local_time(&state["lastRunAtMs"])),
        ("lastState", state["lastState"].clone()),
        ("lastError", SummaryLength::Short.cut(&state["lastError"])),
        ("incident", SummaryLength::Short.cut(&view["incident"]["cause"])),
        ("createdBy", creator),
        ("message", length.cut(&payload["message"])),
        ("reminder", length.cut(&payload["text"])),
        ("call", payload["tool"].clone()),
        ("tools", payload["tools"].clone()),
        ("notify", job["policies"]["notify"].clone()),
    ])
}

/// A run view.
pub(super) fn run_summary(run: &Value, length: SummaryLength, call: &McpToolCall<'_>) -> Value {
    present([
        ("id", run["id"].clone()),
        ("jobId", run["jobId"].clone()),
        ("jobName", run["jobName"].clone()),
        ("trigger", run["trigger"].clone()),
        ("state", run["state"].clone()),
        ("reason", SummaryLength::Short.cut(&run["reason"])),
        ("waitsFor", run["waitsFor"].clone()),
        ("createdAt", call.local_time(&run["createdAtMs"])),
        ("finishedAt", call.local_time(&run["finishedAtMs"])),
        ("durationMs", run["durationMs"].clone()),
        ("attempt", run["attempt"].clone()),
        ("error", length.cut(&run["error"])),
        ("summary", length.cut(&run["summary"])),
    ])
}

/// The details of a run: the run, its newest steps without input and output, and its approvals.
pub(super) fn run_detail(detail: &Value, call: &McpToolCall<'_>) -> Value {
    let mut value = run_summary(&detail["run"], SummaryLength::Long, call);
    let steps: Vec<&Value> = detail["steps"].as_array().into_iter().flatten().collect();
    let newest = steps.iter().skip(steps.len().saturating_sub(MAX_STEPS));
    value["stepCount"] = steps.len().into();
    value["steps"] = newest.map(|step| step_summary(step)).collect();
    let approvals = detail["approvals"].as_array().into_iter().flatten();
    let pending = approvals.filter(|approval| approval["state"] == "pending");
    value["pendingApprovals"] = pending.map(|approval| approval_summary(approval, call)).collect();
    value
}

fn step_summary(step: &Value) -> Value {
    present([
        ("kind", step["kind"].clone()),
        ("name", step["name"].clone()),
        ("status", step["status"].clone()),
        ("isError", step["isError"].clone()),
        ("gate", SummaryLength::Short.cut(&step["gateText"])),
    ])
}

/// An approval view.
pub(super) fn approval_summary(approval: &Value, call: &McpToolCall<'_>) -> Value {
    let tool = match &approval["toolLabel"] {
        Value::Null => &approval["tool"],
        label => label,
    };
    present([
        ("id", approval["id"].clone()),
        ("runId", approval["runId"].clone()),
        ("jobId", approval["jobId"].clone()),
        ("jobName", approval["jobName"].clone()),
        ("tool", tool.clone()),
        ("reason", SummaryLength::Short.cut(&approval["requestReason"])),
        ("blockedWork", SummaryLength::Short.cut(&approval["blockedWork"]["text"])),
        ("requestedAt", call.local_time(&approval["requestedAtMs"])),
        ("expiresAt", call.local_time(&approval["expiresAtMs"])),
    ])
}

/// An object of the fields that are not null.
pub(super) fn present<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

/// A page of summaries, with the cursor of the next page.
pub(super) fn page(key: &str, entries: Vec<Value>, next_cursor: &Value) -> Value {
    let mut page = json!({ key: entries });
    if !next_cursor.is_null() {
        page["nextCursor"] = next_cursor.clone();
    }
    page
}

fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => {
            format!("{}… ({} more characters)", &text[..end], text[end..].chars().count())
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_with_a_count() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer", 4), "größ… (2 more characters)");
        assert_eq!(SummaryLength::Short.cut(&Value::Null), Value::Null);
    }

    #[test]
    fn null_fields_are_omitted() {
        let value = present([("a", json!(1)), ("b", Value::Null), ("c", json!(false))]);
        assert_eq!(value, json!({ "a": 1, "c": false }));
    }
}
