//! The settings of a job as labelled lines, for `cron show`, import reports and approvals.
//!
//! Every field with another value than the default is a line; labels and units come from the schema, so a new field
//! needs no code here. Names of a closed set have their command-line form (`run-all`). A person decides by these lines:
//! nothing is truncated, every invisible character is escaped, and only the task has more than one line, so that no
//! value can look like another line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::bounds::COMMAND_TOOL;
use super::schema::{job_schema, part_of_kind};
use crate::budget::MicroUsd;
use crate::schedule::format_duration;
use crate::text::{capitalize, group_thousands};
use crate::text::{escape_invisible, escape_line};

/// A setting of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct JobFact {
    /// The label: the field's name in words.
    #[serde(rename = "about")]
    pub label: String,
    /// The value.
    pub text: String,
}

/// The task of `job` (a job document), then the settings in document order.
#[must_use]
pub fn job_facts(job: &Value) -> Vec<JobFact> {
    let (schema, payload) = (job_schema(), &job["payload"]);
    let mut facts = Facts(vec![task(payload)]);
    if payload["tool"] == COMMAND_TOOL {
        facts.add("Permissions", "your full permissions, outside the sandbox, without approval");
    }
    let own = ["kind", "text", "message", "tool", "arguments"];
    let payload_schema = part_of_kind("payload", &payload["kind"]);
    facts.add_fields(payload_schema, payload, &|key, value| {
        !own.contains(&key) && value != "always"
    });
    let schedule = &schema["properties"]["schedule"];
    facts.add_fields(schedule, &job["schedule"], &|key, _| key == "jitterMs");
    facts.add_fields(schema, job, &|key, value| match key {
        "wakeMode" => value != "now",
        "deleteAfterRun" => value == true,
        _ => false,
    });
    for part in ["runtime", "isolation"] {
        facts.add_fields(&schema["properties"][part], &job[part], &|_, _| true);
    }
    let policies = &schema["properties"]["policies"];
    facts.add_fields(policies, &job["policies"], &|key, _| applies(key, job));
    for (key, value) in job["policies"].as_object().into_iter().flatten() {
        // A newer engine may know more policies than this program.
        if policies["properties"][key].is_null() {
            facts.add(key, &value.to_string());
        }
    }
    facts.0
}

/// The whole task: nothing may hide behind the first line.
fn task(payload: &Value) -> JobFact {
    let part = |key: &str| payload[key].as_str().unwrap_or_default();
    let text = |key: &str| escape_invisible(&part(key).trim().replace("\r\n", "\n"));
    let (label, text) = match part("kind") {
        "systemEvent" => ("Reminder", text("text")),
        "agentTurn" => ("Task", text("message")),
        _ => ("Call", escape_line(&format!("{} {}", part("tool"), payload["arguments"]))),
    };
    JobFact { label: label.to_owned(), text }
}

/// Whether a policy has an effect on a job with this payload.
fn applies(policy: &str, job: &Value) -> bool {
    let of_agents = ["sandbox"];
    let of_calls = ["approvals", "approvalSeconds", "budget", "hosts", "folders"];
    let requests_approval = !matches!(job["policies"]["approvals"].as_str(), Some("deny" | "skip"));
    match job["payload"]["kind"].as_str() {
        _ if policy == "approvalSeconds" && !requests_approval => false,
        Some("systemEvent") => !of_calls.contains(&policy) && !of_agents.contains(&policy),
        Some("toolCall") => !of_agents.contains(&policy),
        _ => true,
    }
}

struct Facts(Vec<JobFact>);

impl Facts {
    fn add(&mut self, label: &str, text: &str) {
        self.0.push(JobFact { label: escape_line(label), text: escape_line(text) });
    }

    /// Adds the known fields of `part` that `is_shown`; nested objects field by field.
    fn add_fields(
        &mut self,
        schema: &Value,
        part: &Value,
        is_shown: &dyn Fn(&str, &Value) -> bool,
    ) {
        for (key, value) in part.as_object().into_iter().flatten() {
            let field = &schema["properties"][key];
            if field.is_null() || !is_shown(key, value) {
                continue;
            }
            if field["properties"].is_object() && value.is_object() {
                self.add_fields(field, value, &|_, _| true);
            } else {
                let text = text_of(key, value);
                let is_choice = field["enum"].as_array().is_some_and(|all| all.contains(value));
                let text = if is_choice { separate_words(&text, '-') } else { text };
                self.add(&label_of(key, field), &text);
            }
        }
    }
}

/// The title of the field, or the words of the key without the unit: `cooldownSeconds` is "Cooldown".
#[must_use]
pub fn label_of(key: &str, field: &Value) -> String {
    if let Some(title) = field["title"].as_str() {
        return title.to_owned();
    }
    let name = UNITS.iter().find_map(|(unit, _)| key.strip_suffix(unit)).unwrap_or(key);
    capitalize(&separate_words(name, ' '))
}

/// The words of a camelCase name, in lower case.
fn separate_words(name: &str, separator: char) -> String {
    let mut words = String::new();
    for character in name.chars() {
        if character.is_uppercase() {
            words.push(separator);
        }
        words.extend(character.to_lowercase());
    }
    words
}

/// The units of keys, in milliseconds.
const UNITS: [(&str, i64); 2] = [("Seconds", 1_000), ("Ms", 1)];

fn text_of(key: &str, value: &Value) -> String {
    let unit = UNITS.iter().find(|(unit, _)| key.ends_with(unit));
    match (unit, value) {
        (Some((_, ms)), Value::Number(count)) if count.is_i64() => {
            format_duration(count.as_i64().unwrap_or_default().saturating_mul(*ms))
        }
        (_, Value::Number(amount)) if key.starts_with("usd") => {
            MicroUsd::of_usd(amount.as_f64().unwrap_or_default()).to_string()
        }
        (_, Value::Number(count)) if count.is_u64() => {
            group_thousands(count.as_u64().unwrap_or_default())
        }
        (_, Value::Bool(true)) => "yes".to_owned(),
        (_, Value::Bool(false)) => "no".to_owned(),
        (_, Value::String(text)) => text.clone(),
        (_, Value::Array(items)) if items.is_empty() => "none".to_owned(),
        (_, Value::Array(items)) => {
            items.iter().map(|item| text_of("", item)).collect::<Vec<_>>().join(", ")
        }
        // A condition, or quiet hours of an import: the values alone.
        (_, Value::Object(fields)) => {
            fields.values().map(|field| text_of("", field)).collect::<Vec<_>>().join(" ")
        }
        (_, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(job: &Value) -> Vec<String> {
        job_facts(job).into_iter().map(|fact| format!("{}: {}", fact.label, fact.text)).collect()
    }

    #[test]
    fn each_setting_that_differs_from_its_default_is_a_line() {
        let job = json!({
            "schedule": { "kind": "every", "everyMs": 60_000, "jitterMs": 30_000 },
            "deleteAfterRun": true,
            "runtime": { "maxAttempts": 3, "retryBackoffMs": 2_000 },
            "payload": {
                "kind": "toolCall", "tool": "http", "arguments": { "url": "http://nas" },
                "notifyWhen": { "cel": "result.level < 20" },
            },
            "policies": {
                "misfire": { "mode": "runAll", "limit": 5, "maxLatenessSeconds": 600 },
                "overlap": "parallel", "maxConcurrent": 4, "cooldownSeconds": 60,
                "timeoutSeconds": 300, "pauseAfterFailures": 3,
                "budget": { "tokensPerRun": 1_234_567, "usdPerDay": 0.5 },
                "quietHours": { "from": "22:00", "to": "07:00", "tz": "Europe/Berlin" },
                "approvals": "deny", "hosts": ["a.example", "b.example:8080"],
                "folders": ["~/Notes", "/srv/out:write"], "newer": { "x": 1 },
            },
        });
        assert_eq!(
            lines(&job),
            [
                "Call: http {\"url\":\"http://nas\"}",
                "Notify when: result.level < 20",
                "Jitter: 30 s",
                "Delete after run: yes",
                "Max attempts: 3",
                "Retry backoff: 2 s",
                "Misfire policy: run-all",
                "Catch-up limit: 5",
                "Max lateness: 10 min",
                "Overlap: parallel",
                "Concurrent runs: 4",
                "Cooldown: 1 min",
                "Time limit: 5 min",
                "Pause after failures: 3",
                "Tokens per run: 1,234,567",
                "USD per day: 0.50 USD",
                "Quiet hours: 22:00 07:00 Europe/Berlin",
                "Approvals: deny",
                "Hosts: a.example, b.example:8080",
                "Folders: ~/Notes, /srv/out:write",
                "newer: {\"x\":1}",
            ]
        );
    }

    #[test]
    fn settings_of_an_agent_are_lines() {
        let payload = json!({
            "kind": "agentTurn", "message": "Do it.", "model": "big", "fallbacks": ["a", "b"],
            "useTools": true, "tools": [], "skills": ["fetch"], "maxSteps": 3, "maxTokens": 4_000,
            "contextPaths": ["notes.md"], "deliver": true, "channel": "telegram", "to": "7",
            "timeoutSeconds": 60,
        });
        let isolation = json!({ "postToMainPrefix": "News" });
        assert_eq!(
            lines(&json!({ "payload": payload, "isolation": isolation })),
            [
                "Task: Do it.",
                "Model: big",
                "Fallback models: a, b",
                "Use tools: yes",
                "Tools: none",
                "Skills: fetch",
                "Max steps: 3",
                "Max answer tokens: 4,000",
                "Context files: notes.md",
                "Deliver: yes",
                "Channel: telegram",
                "To: 7",
                "Time limit: 1 min",
                "Report prefix: News",
            ]
        );
    }

    #[test]
    fn task_is_whole_and_other_lines_are_one_line() {
        let command = format!("true{};\u{202e}rm -rf ~\nasks   you", " ".repeat(300));
        let payload = json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": command } });
        let policies = json!({ "newer\nasks": "x".repeat(300), "sandbox": "open" });
        let command = command.replace('\n', "\\n").replace('\u{202e}', "⟨U+202E⟩");
        assert_eq!(
            lines(&json!({ "payload": payload, "policies": policies })),
            [
                format!("Call: run_command {{\"command\":\"{command}\"}}"),
                "Permissions: your full permissions, outside the sandbox, without approval"
                    .to_owned(),
                format!("newer⟨U+000A⟩asks: \"{}\"", "x".repeat(300)),
            ]
        );
    }

    #[test]
    fn hostile_value_adds_no_line_and_hides_no_character() {
        let hostile = "x\ny\u{202e}";
        let misfire = json!({ "mode": "runAll", "limit": hostile });
        let policies =
            json!({ "notify": hostile, "pauseAfterFailures": hostile, "misfire": misfire });
        let payload = json!({ "kind": "agentTurn", "model": hostile, "channel": hostile });
        let lines = lines(&json!({ "payload": payload, "policies": policies }));
        assert_eq!(lines.len(), 7);
        for text in lines[1..].iter().filter(|line| !line.ends_with("run-all")) {
            assert!(!text.contains(['\n', '\u{202e}']), "{text:?}");
            assert!(text.contains("⟨U+202E⟩"), "{text:?}");
        }
    }

    #[test]
    fn system_event_has_its_text_and_wake_mode() {
        let payload =
            json!({ "kind": "systemEvent", "text": "Tea\r\nat \u{1b}[2Kfive\n", "deliver": true });
        assert_eq!(
            lines(&json!({ "wakeMode": "next-heartbeat", "payload": payload })),
            ["Reminder: Tea\nat ⟨U+001B⟩[2Kfive", "Wake mode: next-heartbeat"]
        );
    }

    #[test]
    fn policies_without_effect_are_left_out() {
        let policies = json!({ "budget": { "tokensPerRun": 5 }, "approvals": "deny", "approvalSeconds": 60, "sandbox": "open" });
        let of = |payload: Value| lines(&json!({ "payload": payload, "policies": policies }));
        assert_eq!(of(json!({ "kind": "systemEvent", "text": "Tea" })), ["Reminder: Tea"]);
        assert_eq!(
            of(json!({ "kind": "toolCall", "tool": "echo", "arguments": {} })),
            ["Call: echo {}", "Tokens per run: 5", "Approvals: deny"],
            "a tool may cost tokens, and a hook may ask for an approval"
        );
        let agent = of(json!({ "kind": "agentTurn", "message": "Look" }));
        assert_eq!(agent, ["Task: Look", "Tokens per run: 5", "Approvals: deny", "Sandbox: open"]);
        let asks = json!({ "approvals": "ask", "approvalSeconds": 60 });
        let job =
            json!({ "payload": { "kind": "agentTurn", "message": "Look" }, "policies": asks });
        assert_eq!(lines(&job).last().map(String::as_str), Some("Approval timeout: 1 min"));
    }
}
