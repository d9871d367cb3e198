//! Conversion of a model's arguments into the job document.
//!
//! A model writes times as people do (`20m`, `2026-11-23T07:30`), because models count milliseconds badly, and gives
//! the task as one of three arguments. Never validates the document: the engine does.

use rouse_core::schedule::parse_duration;
use rouse_core::time::parse_instant;
use rouse_core::tool::ToolContext;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The fields of a routine that an agent can set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoutineDraft {
    name: Option<String>,
    description: Option<String>,
    enabled: Option<bool>,
    schedule: Option<ScheduleDraft>,
    message: Option<String>,
    reminder: Option<String>,
    call: Option<ToolCallDraft>,
    use_tools: Option<bool>,
    tools: Option<Vec<String>>,
    notify: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScheduleDraft {
    kind: String,
    at: Option<String>,
    every: Option<String>,
    expr: Option<String>,
    tz: Option<String>,
    source: Option<String>,
    pattern: Option<String>,
    filters: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ToolCallDraft {
    tool: String,
    arguments: Option<Map<String, Value>>,
    notify_when: Option<String>,
}

/// The schemas of a draft's fields.
pub(super) fn parameters() -> Map<String, Value> {
    let fields = json!({
        "name": { "type": "string", "description": "A short name for people.", "minLength": 1, "maxLength": 200 },
        "description": { "type": "string", "description": "The purpose.", "maxLength": 4_000 },
        "enabled": { "type": "boolean", "description": "Whether it fires. Default: true." },
        "schedule": {
            "type": "object",
            "description": "The trigger. at: once. every: at an interval. cron: by a pattern. event: after an event. manual: only by hand.",
            "properties": {
                "kind": { "enum": ["at", "every", "cron", "event", "manual"] },
                "at": { "type": "string", "description": "For at: a duration from now such as 20m, or the person's local time such as 2026-11-23T07:30.", "maxLength": 100 },
                "every": { "type": "string", "description": "For every: such as 30m, 2h or 1d.", "maxLength": 100 },
                "expr": { "type": "string", "description": "For cron: five fields, such as 30 7 * * 1-5.", "maxLength": 1_000 },
                "tz": { "type": "string", "description": "For cron and at: an IANA zone. Default: the person's.", "maxLength": 100 },
                "source": { "enum": ["job", "cron", "wake", "webhook"], "description": "For event: the source; job is the end of another routine's run." },
                "pattern": { "type": "string", "description": "For event: a regular expression that its text must match.", "maxLength": 1_000 },
                "filters": { "type": "object", "description": "For event: fields that must be equal, such as {\"jobId\": \"…\", \"status\": \"error\"}." },
            },
            "required": ["kind"],
            "additionalProperties": false,
        },
        "message": { "type": "string", "description": "The task of an agent at each run, self-contained and in full sentences. Give message, reminder or call.", "minLength": 1, "maxLength": 65_536 },
        "reminder": { "type": "string", "description": "A reminder for the person, without an agent.", "minLength": 1, "maxLength": 65_536 },
        "call": {
            "type": "object",
            "description": "One call of a tool that needs no approval, without an agent, such as http to watch a page.",
            "properties": {
                "tool": { "type": "string", "minLength": 1, "maxLength": 64 },
                "arguments": { "type": "object" },
                "notifyWhen": { "enum": ["always", "failure", "changed"], "description": "Which results are notified. Default: always." },
            },
            "required": ["tool"],
            "additionalProperties": false,
        },
        "use_tools": { "type": "boolean", "description": "For message: whether the agent may use tools. Default: true." },
        "tools": { "type": "array", "items": { "type": "string", "maxLength": 64 }, "maxItems": 100, "description": "For message: only these tools." },
        "notify": { "enum": ["always", "findings", "failure", "never"], "description": "Which outcomes are notified. Default: findings." },
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

impl RoutineDraft {
    pub(super) fn is_empty(&self, context: &ToolContext) -> Result<bool, String> {
        Ok(self.to_document(context)?.is_empty())
    }

    /// The job document with the given fields.
    pub(super) fn to_document(&self, context: &ToolContext) -> Result<Map<String, Value>, String> {
        let mut document = Map::new();
        let mut set = |key: &str, value: Option<Value>| {
            document.extend(value.map(|value| (key.to_owned(), value)));
        };
        set("name", self.name.clone().map(Value::from));
        set("description", self.description.clone().map(Value::from));
        set("enabled", self.enabled.map(Value::from));
        let schedule = self.schedule.as_ref().map(|schedule| schedule.to_document(context));
        set("schedule", schedule.transpose()?);
        let payload = self.payload()?;
        let is_main = payload.as_ref().is_some_and(|payload| payload["kind"] == "systemEvent");
        if payload.as_ref().is_some_and(|payload| payload.get("kind").is_some()) {
            set("sessionTarget", Some(if is_main { "main" } else { "isolated" }.into()));
        }
        set("wakeMode", is_main.then(|| "now".into()));
        set("payload", payload);
        set("policies", self.notify.as_ref().map(|notify| json!({ "notify": notify })));
        Ok(document)
    }

    fn payload(&self) -> Result<Option<Value>, String> {
        let mut payload = match (&self.message, &self.reminder, &self.call) {
            (Some(message), None, None) => json!({ "kind": "agentTurn", "message": message }),
            (None, Some(text), None) => json!({ "kind": "systemEvent", "text": text }),
            (None, None, Some(call)) => call.to_document(),
            (None, None, None) => json!({}),
            _ => return Err("Give only one of message, reminder and call.".to_owned()),
        };
        let has_agent = self.reminder.is_none() && self.call.is_none();
        if !has_agent && (self.use_tools.is_some() || self.tools.is_some()) {
            return Err(
                "use_tools and tools require a message: there is no agent otherwise.".to_owned()
            );
        }
        if let Some(use_tools) = self.use_tools {
            payload["useTools"] = use_tools.into();
        }
        if let Some(tools) = &self.tools {
            payload["tools"] = tools.clone().into();
        }
        let is_empty = payload.as_object().is_some_and(Map::is_empty);
        Ok((!is_empty).then_some(payload))
    }
}

impl ScheduleDraft {
    fn to_document(&self, context: &ToolContext) -> Result<Value, String> {
        let mut schedule = Map::from_iter([("kind".to_owned(), Value::from(self.kind.clone()))]);
        let given: [(&str, Option<Value>, &[&str]); 7] = [
            ("atMs", self.at_ms(context)?, &["at"]),
            ("everyMs", self.every_ms()?, &["every"]),
            ("expr", self.expr.clone().map(Value::from), &["cron"]),
            ("tz", self.tz.clone().map(Value::from), &["at", "cron"]),
            ("source", self.source.clone().map(Value::from), &["event"]),
            ("pattern", self.pattern.clone().map(Value::from), &["event"]),
            ("filters", self.filters.clone().map(Value::from), &["event"]),
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

    fn at_ms(&self, context: &ToolContext) -> Result<Option<Value>, String> {
        let Some(at) = &self.at else { return Ok(None) };
        let zone = match &self.tz {
            Some(tz) => context.clock.zones().zone(tz).ok_or_else(|| {
                format!("schedule.tz: `{tz}` is not an IANA zone such as Europe/Berlin.")
            })?,
            None => context.zone,
        };
        let at = parse_instant(at, context.counts_from(), zone);
        Ok(Some(at.map_err(|why| format!("schedule.at: {why}."))?.0.into()))
    }

    fn every_ms(&self) -> Result<Option<Value>, String> {
        let Some(every) = &self.every else { return Ok(None) };
        let every = parse_duration(every).map_err(|why| format!("schedule.every: {why}."))?;
        Ok(Some(every.into()))
    }
}

impl ToolCallDraft {
    fn to_document(&self) -> Value {
        let arguments = self.arguments.clone().unwrap_or_default();
        let mut payload = json!({ "kind": "toolCall", "tool": self.tool, "arguments": arguments });
        if let Some(when) = &self.notify_when {
            payload["notifyWhen"] = when.clone().into();
        }
        payload
    }
}
