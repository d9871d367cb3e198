//! The fields of a job that a program outside Rouse may set, and their schema.
//!
//! Owns the spelling of times: as people write them (`20m`, `2026-11-23T07:30`), because models count milliseconds badly. Never
//! validates the job: the engine does. No field for a tool call, hosts, folders, servers, sandbox or approvals.

use rouse_core::Clock;
use rouse_core::schedule::parse_duration;
use rouse_core::time::parse_instant;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The fields of a job.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutsideJobFields {
    name: Option<String>,
    description: Option<String>,
    enabled: Option<bool>,
    schedule: Option<OutsideSchedule>,
    message: Option<String>,
    reminder: Option<String>,
    tools: Option<Vec<String>>,
    notify: Option<String>,
}

/// A schedule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutsideSchedule {
    kind: String,
    at: Option<String>,
    every: Option<String>,
    expr: Option<String>,
    tz: Option<String>,
    source: Option<String>,
    pattern: Option<String>,
    filters: Option<Map<String, Value>>,
}

/// The schema of a schedule.
pub(super) fn schedule_schema() -> Value {
    json!({
        "type": "object",
        "description": "The trigger. at: once. every: at an interval. cron: by a pattern. event: after an event. manual: only by hand.",
        "properties": {
            "kind": { "type": "string", "enum": ["at", "every", "cron", "event", "manual"] },
            "at": { "type": "string", "description": "For at: a duration from now such as 20m, or a local time such as 2026-11-23T07:30.", "maxLength": 100 },
            "every": { "type": "string", "description": "For every: such as 30m, 2h or 1d.", "maxLength": 100 },
            "expr": { "type": "string", "description": "For cron: five fields, such as 30 7 * * 1-5.", "maxLength": 1_000 },
            "tz": { "type": "string", "description": "For cron and at: an IANA zone. Default: the person's.", "maxLength": 100 },
            "source": { "type": "string", "enum": ["job", "cron", "wake", "webhook"], "description": "For event: the source; job is the end of another job's run." },
            "pattern": { "type": "string", "description": "For event: a regular expression that its text must match.", "maxLength": 1_000 },
            "filters": { "type": "object", "description": "For event: fields that must be equal, such as {\"jobId\": \"…\", \"status\": \"error\"}." },
        },
        "required": ["kind"],
        "additionalProperties": false,
    })
}

/// The schemas of the fields of a job.
pub(super) fn job_fields_schema() -> Value {
    json!({
        "name": { "type": "string", "description": "A short name for people.", "minLength": 1, "maxLength": 200 },
        "description": { "type": "string", "description": "The purpose.", "maxLength": 4_000 },
        "enabled": { "type": "boolean", "description": "Whether the job fires. Default: true." },
        "schedule": schedule_schema(),
        "message": { "type": "string", "description": "The task of an agent at each run, self-contained and in full sentences: the agent knows nothing of this conversation. Give message or reminder.", "minLength": 1, "maxLength": 65_536 },
        "reminder": { "type": "string", "description": "A reminder for the person, without an agent.", "minLength": 1, "maxLength": 65_536 },
        "tools": { "type": "array", "items": { "type": "string", "maxLength": 64 }, "maxItems": 100, "description": "For message: only these tools of Rouse. Default: all." },
        "notify": { "type": "string", "enum": ["always", "findings", "failure", "never"], "description": "Which outcomes are notified. Default: findings." },
    })
}

impl OutsideJobFields {
    /// The job document with the given fields. An error is a message for the caller.
    pub(super) fn into_document(self, clock: &dyn Clock) -> Result<Map<String, Value>, String> {
        let mut document = Map::new();
        let payload = self.payload()?;
        let is_reminder = self.reminder.is_some();
        let has_task = is_reminder || self.message.is_some();
        let target = if is_reminder { "main" } else { "isolated" };
        let schedule = self.schedule.map(|schedule| schedule.into_document(clock)).transpose()?;
        let fields: [(&str, Option<Value>); 8] = [
            ("name", self.name.map(Value::from)),
            ("description", self.description.map(Value::from)),
            ("enabled", self.enabled.map(Value::from)),
            ("schedule", schedule),
            ("sessionTarget", has_task.then(|| target.into())),
            ("wakeMode", is_reminder.then(|| "now".into())),
            ("payload", payload),
            ("policies", self.notify.map(|notify| json!({ "notify": notify }))),
        ];
        for (key, value) in fields {
            document.extend(value.map(|value| (key.to_owned(), value)));
        }
        Ok(document)
    }

    fn payload(&self) -> Result<Option<Value>, String> {
        let mut payload = match (&self.message, &self.reminder) {
            (Some(message), None) => json!({ "kind": "agentTurn", "message": message }),
            (None, Some(text)) => json!({ "kind": "systemEvent", "text": text }),
            (None, None) => json!({}),
            (Some(_), Some(_)) => return Err("Give only one of message and reminder.".to_owned()),
        };
        if let Some(tools) = &self.tools {
            if self.reminder.is_some() {
                return Err("tools: a reminder has no agent, so it has no tools.".to_owned());
            }
            payload["tools"] = tools.clone().into();
        }
        let is_empty = payload.as_object().is_some_and(Map::is_empty);
        Ok((!is_empty).then_some(payload))
    }
}

impl OutsideSchedule {
    /// The schedule of the job document. An error is a message for the caller.
    pub(super) fn into_document(self, clock: &dyn Clock) -> Result<Value, String> {
        let (at_ms, every_ms) = (self.at_ms(clock)?, self.every_ms()?);
        let mut schedule = Map::from_iter([("kind".to_owned(), Value::from(self.kind.as_str()))]);
        let given: [(&str, Option<Value>, &[&str]); 7] = [
            ("atMs", at_ms, &["at"]),
            ("everyMs", every_ms, &["every"]),
            ("expr", self.expr.map(Value::from), &["cron"]),
            ("tz", self.tz.map(Value::from), &["at", "cron"]),
            ("source", self.source.map(Value::from), &["event"]),
            ("pattern", self.pattern.map(Value::from), &["event"]),
            ("filters", self.filters.map(Value::from), &["event"]),
        ];
        for (key, value, kinds) in given {
            let Some(value) = value else { continue };
            if !kinds.contains(&self.kind.as_str()) {
                let name = key.strip_suffix("Ms").unwrap_or(key);
                return Err(format!("schedule.{name} does not apply to the kind {}.", self.kind));
            }
            schedule.insert(key.to_owned(), value);
        }
        Ok(schedule.into())
    }

    fn at_ms(&self, clock: &dyn Clock) -> Result<Option<Value>, String> {
        let Some(at) = &self.at else { return Ok(None) };
        let zone = match &self.tz {
            Some(tz) => clock.zones().zone(tz).ok_or_else(|| {
                format!("schedule.tz: `{tz}` is not an IANA zone such as Europe/Berlin.")
            })?,
            None => clock.zone(),
        };
        let at = parse_instant(at, clock.now(), zone);
        Ok(Some(at.map_err(|reason| format!("schedule.at: {reason}."))?.0.into()))
    }

    fn every_ms(&self) -> Result<Option<Value>, String> {
        let Some(every) = &self.every else { return Ok(None) };
        let every = parse_duration(every);
        Ok(Some(every.map_err(|reason| format!("schedule.every: {reason}."))?.into()))
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;
    use rouse_testkit::ManualClock;

    use super::*;

    const NOON: UnixMs = UnixMs(1_795_262_400_000);

    fn document(fields: Value) -> Result<Value, String> {
        let fields: OutsideJobFields =
            serde_json::from_value(fields).map_err(|error| error.to_string())?;
        fields.into_document(&ManualClock::new(NOON)).map(Value::from)
    }

    #[test]
    fn fields_become_a_job_document() {
        let agent = json!({
            "name": "A", "schedule": { "kind": "at", "at": "20m" },
            "message": "Look", "tools": ["http"], "notify": "always",
        });
        let expected = json!({
            "name": "A", "schedule": { "kind": "at", "atMs": NOON.0 + 1_200_000 },
            "sessionTarget": "isolated",
            "payload": { "kind": "agentTurn", "message": "Look", "tools": ["http"] },
            "policies": { "notify": "always" },
        });
        assert_eq!(document(agent), Ok(expected));
        let reminder = json!({ "reminder": "Tea" });
        let expected = json!({
            "sessionTarget": "main", "wakeMode": "now",
            "payload": { "kind": "systemEvent", "text": "Tea" },
        });
        assert_eq!(document(reminder), Ok(expected));
        assert_eq!(document(json!({})), Ok(json!({})));
    }

    #[test]
    fn contradictory_or_unknown_field_is_named() {
        for (fields, part) in [
            (json!({ "message": "a", "reminder": "b" }), "only one of message and reminder"),
            (json!({ "reminder": "b", "tools": [] }), "tools: a reminder"),
            (json!({ "schedule": { "kind": "every", "at": "20m" } }), "schedule.at does not apply"),
            (json!({ "schedule": { "kind": "every", "every": "soon" } }), "schedule.every: "),
            (json!({ "schedule": { "kind": "at", "at": "9:00", "tz": "Moon" } }), "schedule.tz: "),
            (json!({ "policies": { "sandbox": "open" } }), "unknown field `policies`"),
            (json!({ "payload": {} }), "unknown field `payload`"),
            (json!({ "call": { "tool": "http" } }), "unknown field `call`"),
        ] {
            let error = document(fields.clone()).expect_err("refused");
            assert!(error.contains(part), "{fields}: {error}");
        }
    }
}
