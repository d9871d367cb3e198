//! OpenClaw's jobs ("automations") as JSON: `openclaw cron list --all --json`, or the older `cron/jobs.json`.
//!
//! The format grew out of the same RFC. What it says in other words is translated; a command becomes a call of
//! `run_command` that stays off until a person has looked at it; what Rouse cannot do (a script, a condition in
//! JavaScript) becomes a reminder or a job that stays off, with the original beside it; what would fire
//! for other reasons than there (a watched process) is refused. Values of environment variables never come along: they
//! are where keys live.

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde_json::{Map, Value, json};

use super::shell::{quoted, reading};
use super::{Entry, ORIGIN};

/// Keys of a job that only OpenClaw writes.
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
/// The longest jitter of the job format.
const MOST_JITTER_MS: i64 = 3_600_000;

/// Whether a job says something that only OpenClaw's format has.
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

pub(super) fn read(name: String, job: Value) -> Entry {
    let Value::Object(fields) = job else { return Entry::faithful(name, job) };
    let mut reading = Reading { fields, origin: Map::new(), notes: Vec::new(), is_faithful: true };
    match reading.translate(&name) {
        Err(reason) => Entry::refused(name, reason),
        Ok(()) => reading.end(name),
    }
}

/// A job being translated.
struct Reading {
    fields: Map<String, Value>,
    /// What has no counterpart.
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
            self.unfaithful("There a script decides whether it really fires; here nothing would.");
        }
        Ok(())
    }

    fn end(self, name: String) -> Entry {
        let Self { mut fields, mut origin, notes, is_faithful } = self;
        if !origin.is_empty() {
            origin.insert("format".to_owned(), "openclaw".into());
            fields.insert(ORIGIN.to_owned(), Value::Object(origin));
        }
        Entry { name, line: None, job: Ok(Value::Object(fields)), notes, is_faithful }
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
                    "it fires by what a watched process does (`{kind}`), and Rouse watches none"
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
                self.notes.push("Its stagger is cut to one hour.".to_owned());
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
                Err("it is OpenClaw's heartbeat; Rouse has one of its own in the settings".into())
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

    /// Keys of the job that stay in it and change nothing here.
    fn unheeded(&mut self) {
        let told = [
            ("pacing", "Its pacing has no effect here: it fires when its schedule says."),
            (
                "failureAlert",
                "Its alerts on failures are not taken over; here a failure is told of unless `policies.notify` is `never`.",
            ),
        ];
        for (key, words) in told {
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
            self.notes.push("Its tools may have other names here.".to_owned());
        }
        if payload.get("timeoutSeconds").and_then(Value::as_i64) == Some(0) {
            payload.remove("timeoutSeconds");
            self.notes.push("It had no time limit; here it gets the usual one.".to_owned());
        }
        if let Some(model) = payload.remove("model").filter(|model| !model.is_null()) {
            let named = model.as_str().unwrap_or("another").to_owned();
            self.notes.push(format!("It asked for the model {named}; here it uses yours."));
            self.origin.insert("model".to_owned(), model);
        }
        if let Some(others) = payload.remove("fallbacks").filter(|others| !others.is_null()) {
            let named: Vec<&str> =
                others.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let named = named.join(", ");
            self.notes.push(format!(
                "It fell back on other models ({named}); here none is asked but yours."
            ));
            self.origin.insert("fallbacks".to_owned(), others);
        }
        if let Some(level) = payload.get("thinking").and_then(Value::as_str) {
            self.notes
                .push(format!("It set how much is thought ({level}); here the model decides."));
        }
        if payload.get("lightContext") == Some(&Value::Bool(true)) {
            self.notes
                .push("It began with a light context; here it gets the usual one.".to_owned());
        }
    }

    fn command(&mut self) {
        let Some(Value::Object(payload)) = self.fields.remove("payload") else { return };
        let words = payload.get("argv").and_then(Value::as_array).into_iter().flatten();
        let words: Vec<String> = words.filter_map(Value::as_str).map(quoted).collect();
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
                .push(format!("Its limits are Rouse's own: {} is left out.", left_out.join(", ")));
        }
        self.origin.insert("payload".to_owned(), payload.into());
        let call = json!({ "kind": "toolCall", "tool": "run_command", "arguments": arguments });
        self.fields.insert("payload".to_owned(), call);
        self.fields.insert("sessionTarget".to_owned(), "isolated".into());
        self.unfaithful("A command. It stays off until you have looked at it and switched it on.");
    }

    /// What only a script engine could do, as a reminder that is off.
    fn reminder(&mut self, name: &str) {
        let Some(payload) = self.fields.remove("payload") else { return };
        let text = format!("Due, but not run by Rouse: the script of {name}");
        self.fields.insert("payload".to_owned(), json!({ "kind": "systemEvent", "text": text }));
        self.fields.insert("sessionTarget".to_owned(), "main".into());
        self.origin.insert("payload".to_owned(), payload);
        self.unfaithful(&format!(
            "It is a script, and Rouse runs none. It is kept as a reminder that stays off; the script stands under \
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
            "main" => "It spoke to one chat; here it speaks to the main session.".to_owned(),
            _ => "It worked in a chat; here it works in a session of its own.".to_owned(),
        });
    }

    /// `delivery` stays as it is beside what it means here.
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
            Some("webhook") => self
                .notes
                .push("Its outcome went to a web address; here it is a notification.".to_owned()),
            _ => {}
        }
    }
}

/// Milliseconds, or a date and time; one without an offset is UTC there.
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
