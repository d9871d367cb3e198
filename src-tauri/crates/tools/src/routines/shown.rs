//! How jobs and runs are told to a model: the few fields that matter, with times on the person's clock.

use rouse_core::UnixMs;
use rouse_core::tool::ToolContext;
use serde_json::{Map, Value};

use crate::text::shortened;

/// The most characters of a task or a report in a list.
const MOST_WORDS: usize = 1_000;
const MINUTE_MS: i64 = 60_000;

/// A job as the gateway shows it, in few fields. Absent ones are left out.
pub(super) fn routine(view: &Value, context: &ToolContext) -> Value {
    let (job, payload) = (&view["job"], &view["job"]["payload"]);
    let mut fields = Fields::default();
    fields.set("id", &job["id"]);
    fields.set("name", &job["name"]);
    fields.set("description", &job["description"]);
    fields.set("enabled", &job["enabled"]);
    fields.set("revision", &job["state"]["revision"]);
    fields.set("when", &when(&view["scheduleText"], &view["zone"], context).into());
    fields.set("next", &at(&job["state"]["nextRunAtMs"], context));
    fields.set("lastRun", &at(&job["state"]["lastRunAtMs"], context));
    fields.set("lastState", &job["state"]["lastState"]);
    fields.set("lastError", &words(&job["state"]["lastError"]));
    fields.set("madeBy", &job["createdBy"]["kind"]);
    fields.set("message", &words(&payload["message"]));
    fields.set("reminder", &words(&payload["text"]));
    fields.set("call", &payload["tool"]);
    fields.set("arguments", &payload["arguments"]);
    fields.0.into()
}

/// A run as the gateway shows it, in few fields.
pub(super) fn run(view: &Value, context: &ToolContext) -> Value {
    let mut fields = Fields::default();
    fields.set("runId", &view["id"]);
    fields.set("at", &at(&view["createdAtMs"], context));
    fields.set("state", &view["state"]);
    fields.set("reason", &view["reason"]);
    fields.set("trigger", &view["trigger"]);
    fields.set("durationMs", &view["durationMs"]);
    fields.set("error", &words(&view["error"]));
    fields.set("summary", &words(&view["summary"]));
    fields.0.into()
}

/// A routine in a line, for a person.
pub(super) fn line(routine: &Value) -> String {
    let text = |key: &str| routine[key].as_str().unwrap_or_default();
    let off = if routine["enabled"] == false { " (off)" } else { "" };
    format!("{}{off}: {}", text("name"), text("when"))
}

/// A schedule in words. The zone is named where it is not this computer's.
pub(super) fn when(text: &Value, zone: &Value, context: &ToolContext) -> String {
    let text = text.as_str().unwrap_or_default();
    match zone.as_str() {
        Some(zone) if zone != context.clock.zones().local().name() => format!("{text} · {zone}"),
        _ => text.to_owned(),
    }
}

/// An instant on the clock of the run's zone.
pub(super) fn at(ms: &Value, context: &ToolContext) -> Value {
    written(ms, context, "%Y-%m-%dT%H:%M%:z")
}

/// Slots one after the other, with their seconds where two of them would look the same or less than a minute apart.
pub(super) fn slots(ms: &[&Value], context: &ToolContext) -> Vec<String> {
    let is_close = ms.windows(2).any(|two| match (two[0].as_i64(), two[1].as_i64()) {
        (Some(one), Some(next)) => next - one < MINUTE_MS,
        _ => false,
    });
    let format = if is_close { "%Y-%m-%dT%H:%M:%S%:z" } else { "%Y-%m-%dT%H:%M%:z" };
    let shown = ms.iter().filter_map(|ms| Some(written(ms, context, format).as_str()?.to_owned()));
    shown.collect()
}

fn written(ms: &Value, context: &ToolContext, format: &str) -> Value {
    let Some(ms) = ms.as_i64() else { return Value::Null };
    let local = UnixMs(ms).to_utc().with_timezone(&context.zone);
    local.format(format).to_string().into()
}

fn words(text: &Value) -> Value {
    text.as_str().map_or(Value::Null, |text| shortened(text, MOST_WORDS).into())
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn set(&mut self, key: &str, value: &Value) {
        if !value.is_null() {
            self.0.insert(key.to_owned(), value.clone());
        }
    }
}
