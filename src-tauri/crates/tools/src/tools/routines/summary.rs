//! Summaries of jobs and runs for a model, with times on the person's clock.

use rouse_core::UnixMs;
use rouse_core::tool::ToolContext;
use serde_json::{Map, Value};

use crate::text::truncate;

/// Limit of a task or a report in a list, in characters.
const MAX_TEXT_CHARS: usize = 1_000;
const MINUTE_MS: i64 = 60_000;

/// Selects the fields of a job view; absent fields are omitted.
pub(super) fn job_summary(view: &Value, context: &ToolContext) -> Value {
    let (job, payload) = (&view["job"], &view["job"]["payload"]);
    let mut fields = PresentFields::default();
    fields.set("id", &job["id"]);
    fields.set("name", &job["name"]);
    fields.set("description", &job["description"]);
    fields.set("enabled", &job["enabled"]);
    fields.set("revision", &job["state"]["revision"]);
    fields.set("when", &schedule_text(&view["scheduleText"], &view["zone"], context).into());
    fields.set("next", &local_time(&job["state"]["nextRunAtMs"], context));
    fields.set("lastRun", &local_time(&job["state"]["lastRunAtMs"], context));
    fields.set("lastState", &job["state"]["lastState"]);
    fields.set("lastError", &short_text(&job["state"]["lastError"]));
    fields.set("madeBy", &job["createdBy"]["kind"]);
    fields.set("message", &short_text(&payload["message"]));
    fields.set("reminder", &short_text(&payload["text"]));
    fields.set("call", &payload["tool"]);
    fields.set("arguments", &payload["arguments"]);
    fields.0.into()
}

/// Selects the fields of a run view.
pub(super) fn run_summary(view: &Value, context: &ToolContext) -> Value {
    let mut fields = PresentFields::default();
    fields.set("runId", &view["id"]);
    fields.set("at", &local_time(&view["createdAtMs"], context));
    fields.set("state", &view["state"]);
    fields.set("reason", &view["reason"]);
    fields.set("trigger", &view["trigger"]);
    fields.set("durationMs", &view["durationMs"]);
    fields.set("error", &short_text(&view["error"]));
    fields.set("summary", &short_text(&view["summary"]));
    fields.0.into()
}

/// A job summary as a single line for people.
pub(super) fn job_line(routine: &Value) -> String {
    let text = |key: &str| routine[key].as_str().unwrap_or_default();
    let off = if routine["enabled"] == false { " (disabled)" } else { "" };
    format!("{}{off}: {}", text("name"), text("when"))
}

/// A schedule as text, with the zone if different from this computer's zone.
pub(super) fn schedule_text(text: &Value, zone: &Value, context: &ToolContext) -> String {
    let text = text.as_str().unwrap_or_default();
    match zone.as_str() {
        Some(zone) if zone != context.clock.zones().local().name() => format!("{text} · {zone}"),
        _ => text.to_owned(),
    }
}

/// An instant in the run's zone.
pub(super) fn local_time(ms: &Value, context: &ToolContext) -> Value {
    format_local(ms, context, "%Y-%m-%dT%H:%M%:z")
}

/// Slots as local times, with seconds if two slots are less than a minute apart.
pub(super) fn slot_times(ms: &[&Value], context: &ToolContext) -> Vec<String> {
    let is_close = ms.windows(2).any(|pair| match (pair[0].as_i64(), pair[1].as_i64()) {
        (Some(one), Some(next)) => next - one < MINUTE_MS,
        _ => false,
    });
    let format = if is_close { "%Y-%m-%dT%H:%M:%S%:z" } else { "%Y-%m-%dT%H:%M%:z" };
    let times = ms.iter();
    times.filter_map(|ms| Some(format_local(ms, context, format).as_str()?.to_owned())).collect()
}

fn format_local(ms: &Value, context: &ToolContext, format: &str) -> Value {
    let Some(ms) = ms.as_i64() else { return Value::Null };
    let local = UnixMs(ms).to_utc().with_timezone(&context.zone);
    local.format(format).to_string().into()
}

fn short_text(text: &Value) -> Value {
    text.as_str().map_or(Value::Null, |text| truncate(text, MAX_TEXT_CHARS).into())
}

#[derive(Default)]
struct PresentFields(Map<String, Value>);

impl PresentFields {
    fn set(&mut self, key: &str, value: &Value) {
        if !value.is_null() {
            self.0.insert(key.to_owned(), value.clone());
        }
    }
}
