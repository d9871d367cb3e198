//! OpenClaw's jobs ("automations") as JSON: `openclaw cron list --all --json`, or the older `cron/jobs.json`.
//!
//! Owns the translation of a format derived from the same RFC. A command becomes a disabled `run_command` job for review. A
//! script or a JavaScript condition becomes a disabled reminder or job with the original kept. A job with another trigger
//! (a watched process) is refused. Values of environment variables are dropped, because keys live there.

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde_json::{Map, Value, json};

use super::entry::{ImportEntry, ORIGIN};
use super::shell::reading;
use crate::text::quote_word;

/// Keys that only OpenClaw writes.
const THEIRS: [&str; 11] = [
    "delivery",
    "agentId",
    "configRevision",
    "declarationKey",
    "displayName",
    "failureAlert",
    "owner",
    "pacing",
    "scheduledToolPolicy",
    "sessionKey",
    "trigger",
];
/// The maximum jitter of the job format.
const MOST_JITTER_MS: i64 = 3_600_000;

/// Whether a job has fields that only OpenClaw's format has.
pub(super) fn is_theirs(job: &Value) -> bool {
    let word = |part: &str, key: &str| job.get(part)?.get(key)?.as_str();
    let target = job.get("sessionTarget").and_then(Value::as_str).unwrap_or_default();
    THEIRS.iter().any(|key| job.get(key).is_some())
        || job.get("schedule").is_some_and(|schedule| {
            schedule.get("at").is_some() || schedule.get("staggerMs").is_some()
        })
        || matches!(word("schedule", "kind"), Some("on-exit" | "stream"))
        || matches!(word("payload", "kind"), Some("command" | "script" | "heartbeat"))
        || target == "current"
        || target.starts_with("session:")
}

pub(super) fn read(name: String, job: Value) -> ImportEntry {
    let Value::Object(fields) = job else { return ImportEntry::faithful(name, job) };
    let mut reading = Reading { fields, origin: Map::new(), notes: Vec::new(), is_faithful: true };
    match reading.translate(&name) {
        Err(reason) => ImportEntry::refused(name, reason),
        Ok(()) => reading.end(name),
    }
}

/// A job under translation.
struct Reading {
    fields: Map<String, Value>,
    /// Fields without a counterpart.
    origin: Map<String, Value>,
    notes: Vec<String>,
    is_faithful: bool,
}

impl Reading {
    fn translate(&mut self, name: &str) -> Result<(), String> {
        self.fields.insert("name".to_owned(), name.into());
        self.schedule()?;
        self.payload(name)?;
        self.target();
        self.delivery();
        self.unheeded();
        if self.fields.get("trigger").is_some_and(|trigger| !trigger.is_null()) {
            self.unfaithful(
                "In OpenClaw a script decides whether the job fires; Rouse has no such script.",
            );
        }
        Ok(())
    }

    fn end(self, name: String) -> ImportEntry {
        let Self { mut fields, mut origin, notes, is_faithful } = self;
        if !origin.is_empty() {
            origin.insert("format".to_owned(), "openclaw".into());
            fields.insert(ORIGIN.to_owned(), Value::Object(origin));
        }
        ImportEntry { name, line: None, job: Ok(Value::Object(fields)), notes, is_faithful }
    }

    fn unfaithful(&mut self, note: &str) {
        self.is_faithful = false;
        self.notes.push(note.to_owned());
    }

    fn schedule(&mut self) -> Result<(), String> {
        let Some(schedule) = self.fields.get_mut("schedule").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        match schedule.get("kind").and_then(Value::as_str) {
            Some(kind @ ("on-exit" | "stream")) => {
                return Err(format!(
                    "the job fires on a watched process (`{kind}`), and Rouse watches no processes"
                ));
            }
            Some("at") => {
                if let Some(at) = schedule.remove("at").filter(|at| !at.is_null()) {
                    let at_ms = instant(&at).ok_or_else(|| {
                        format!("schedule.at: expected a date and time, found {at}")
                    })?;
                    schedule.insert("atMs".to_owned(), at_ms.into());
                }
            }
            _ => {}
        }
        if let Some(stagger) = schedule.remove("staggerMs").and_then(|ms| ms.as_i64())
            && stagger > 0
        {
            schedule.insert("jitterMs".to_owned(), stagger.min(MOST_JITTER_MS).into());
            if stagger > MOST_JITTER_MS {
                self.notes.push("The stagger is reduced to one hour.".to_owned());
            }
        }
        Ok(())
    }

    fn payload(&mut self, name: &str) -> Result<(), String> {
        let Some(payload) = self.fields.get_mut("payload").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        match payload.get("kind").and_then(Value::as_str) {
            Some("heartbeat") => {
                Err("the job is OpenClaw's heartbeat; Rouse has a heartbeat in the settings".into())
            }
            Some("agentTurn") => {
                self.agent_turn();
                Ok(())
            }
            Some("command") => {
                self.command();
                Ok(())
            }
            Some("script") => {
                self.reminder(name);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Keys that are kept without effect.
    fn unheeded(&mut self) {
        let notes = [
            ("pacing", "The pacing has no effect: the job fires by schedule."),
            (
                "failureAlert",
                "Failure alerts are not imported; Rouse notifies of failures unless `policies.notify` is `never`.",
            ),
        ];
        for (key, words) in notes {
            if self.fields.get(key).is_some_and(|value| !value.is_null()) {
                self.notes.push(words.to_owned());
            }
        }
    }

    fn agent_turn(&mut self) {
        let Some(payload) = self.fields.get_mut("payload").and_then(Value::as_object_mut) else {
            return;
        };
        if let Some(tools) = payload.remove("toolsAllow").filter(|tools| !tools.is_null()) {
            payload.insert("tools".to_owned(), tools);
            self.notes.push("Tools may have other names in Rouse.".to_owned());
        }
        if payload.get("timeoutSeconds").and_then(Value::as_i64) == Some(0) {
            payload.remove("timeoutSeconds");
            self.notes.push("The job had no time limit; Rouse sets the default.".to_owned());
        }
        if let Some(model) = payload.remove("model").filter(|model| !model.is_null()) {
            let named = model.as_str().unwrap_or("another").to_owned();
            self.notes.push(format!("The model {named} is replaced by your model."));
            self.origin.insert("model".to_owned(), model);
        }
        if let Some(others) = payload.remove("fallbacks").filter(|others| !others.is_null()) {
            let named: Vec<&str> =
                others.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let named = named.join(", ");
            self.notes.push(format!(
                "Fallback models ({named}) are left out; only your model is called."
            ));
            self.origin.insert("fallbacks".to_owned(), others);
        }
        if let Some(level) = payload.get("thinking").and_then(Value::as_str) {
            self.notes
                .push(format!("The reasoning level ({level}) is left out; the model decides."));
        }
        if payload.get("lightContext") == Some(&Value::Bool(true)) {
            self.notes.push("The light context is replaced by the default context.".to_owned());
        }
    }

    fn command(&mut self) {
        let Some(Value::Object(payload)) = self.fields.remove("payload") else { return };
        let words = payload.get("argv").and_then(Value::as_array).into_iter().flatten();
        let words: Vec<String> = words.filter_map(Value::as_str).map(quote_word).collect();
        let mut command = words.join(" ");
        if let Some(input) = payload.get("input").and_then(Value::as_str) {
            command = reading(&command, input);
        }
        let mut arguments = json!({ "command": command });
        for key in ["cwd", "timeoutSeconds"] {
            if let Some(value) = payload.get(key).filter(|value| !value.is_null() && **value != 0) {
                arguments[key] = value.clone();
            }
        }
        let limits = ["noOutputTimeoutSeconds", "outputMaxBytes"];
        let left_out: Vec<&str> =
            limits.into_iter().filter(|key| payload.contains_key(*key)).collect();
        if !left_out.is_empty() {
            self.notes
                .push(format!("Rouse's own limits apply: {} is left out.", left_out.join(", ")));
        }
        self.origin.insert("payload".to_owned(), payload.into());
        let call = json!({ "kind": "toolCall", "tool": "run_command", "arguments": arguments });
        self.fields.insert("payload".to_owned(), call);
        self.fields.insert("sessionTarget".to_owned(), "isolated".into());
        self.unfaithful("A command. Disabled until you review and enable the job.");
    }

    /// A disabled reminder in the place of a script.
    fn reminder(&mut self, name: &str) {
        let Some(payload) = self.fields.remove("payload") else { return };
        let text = format!("Due, but not run by Rouse: the script of {name}");
        self.fields.insert("payload".to_owned(), json!({ "kind": "systemEvent", "text": text }));
        self.fields.insert("sessionTarget".to_owned(), "main".into());
        self.origin.insert("payload".to_owned(), payload);
        self.unfaithful(&format!(
            "Rouse runs no scripts. The job is kept as a disabled reminder; the script is under \
             `{ORIGIN}`."
        ));
    }

    fn target(&mut self) {
        let target = self.fields.get("sessionTarget").and_then(Value::as_str).unwrap_or_default();
        if target != "current" && !target.starts_with("session:") {
            return;
        }
        let is_event = self.fields["payload"]["kind"] == "systemEvent";
        let own = if is_event { "main" } else { "isolated" };
        let was = self.fields.insert("sessionTarget".to_owned(), own.into());
        self.origin.insert("sessionTarget".to_owned(), was.unwrap_or_default());
        self.notes.push(match own {
            "main" => "The job wrote to a chat; in Rouse it writes to the main session.".to_owned(),
            _ => "The job worked in a chat; in Rouse it has its own session.".to_owned(),
        });
    }

    /// Keeps `delivery` beside the translation.
    fn delivery(&mut self) {
        let delivery = self.fields.get("delivery").cloned().unwrap_or_default();
        let Some(payload) = self.fields.get_mut("payload").and_then(Value::as_object_mut) else {
            return;
        };
        if payload.get("kind").and_then(Value::as_str) != Some("agentTurn") {
            return;
        }
        match delivery.get("mode").and_then(Value::as_str) {
            Some("announce") => {
                payload.insert("deliver".to_owned(), true.into());
                for key in ["channel", "to"] {
                    if let Some(text) = delivery.get(key).and_then(Value::as_str) {
                        payload.insert(key.to_owned(), text.into());
                    }
                }
            }
            Some("none") => {
                payload.insert("deliver".to_owned(), false.into());
            }
            Some("webhook") => self.notes.push(
                "The outcome went to a web address; in Rouse it is a notification.".to_owned(),
            ),
            _ => {}
        }
    }
}

/// Milliseconds, or a date and time; UTC without an offset.
fn instant(at: &Value) -> Option<i64> {
    if let Some(ms) = at.as_i64() {
        return Some(ms);
    }
    let text = at.as_str()?.trim();
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Some(instant.timestamp_millis());
    }
    let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"];
    let naive = formats
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        .or_else(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0))?;
    Some(naive.and_utc().timestamp_millis())
}
