//! The formats of log lines: JSON for the file, text for a terminal.
//!
//! A line includes the fields of its spans, so a line about a run carries job, run and name. A field of the line
//! overrides the same field of a span. In the file every line has a module and a name; the default name is that of
//! the program.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use chrono::{SecondsFormat, TimeZone as _};
use rouse_core::{Clock as _, UnixMs};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::clock::SystemClock;

/// The name on lines without a subject.
const PROGRAM: &str = "rouse";

/// The format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineFormat {
    /// An object per line, keys in camelCase.
    Json,
    /// Time, message, name and the other fields.
    Text,
}

/// Writes every event.
pub(super) struct LogLines<W> {
    pub(super) format: LineFormat,
    pub(super) writer: W,
    pub(super) clock: SystemClock,
}

/// The fields of a span.
struct SpanFields(Map<String, Value>);

impl<S, W> Layer<S> for LogLines<W>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    W: for<'w> MakeWriter<'w> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if span.extensions().get::<SpanFields>().is_none() {
            let mut fields = LogFields::default();
            attributes.record(&mut fields);
            span.extensions_mut().replace(SpanFields(fields.0));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = LogFields::default();
        values.record(&mut fields);
        if let Some(span_fields) = span.extensions_mut().get_mut::<SpanFields>() {
            span_fields.0.extend(fields.0);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(span_fields) = span.extensions().get::<SpanFields>() {
                fields.0.extend(span_fields.0.clone());
            }
        }
        event.record(&mut fields);
        let line = match self.format {
            LineFormat::Json => json_line(self.clock.now(), event.metadata(), fields.0),
            LineFormat::Text => text_line(self.clock.now(), event.metadata(), fields.0),
        };
        // A closed terminal must not end the engine.
        if let Err(error) = self.writer.make_writer().write_all(line.as_bytes()) {
            drop(error);
        }
    }
}

fn json_line(now: UnixMs, metadata: &Metadata<'_>, mut fields: Map<String, Value>) -> String {
    let mut line = Map::new();
    let time = now.to_utc().to_rfc3339_opts(SecondsFormat::Millis, true);
    line.insert("time".to_owned(), time.into());
    line.insert("level".to_owned(), metadata.level().as_str().to_ascii_lowercase().into());
    let module = fields.shift_remove("module").unwrap_or_else(|| module_name(metadata).into());
    line.insert("module".to_owned(), module);
    fields.entry("name").or_insert_with(|| PROGRAM.into());
    line.extend(fields);
    let mut text = Value::Object(line).to_string();
    text.push('\n');
    text
}

/// `07:30:00 cron: job finished · Brew · status ok · durationMs 412`
fn text_line(now: UnixMs, metadata: &Metadata<'_>, mut fields: Map<String, Value>) -> String {
    let mut line = String::new();
    let local = chrono::Local.timestamp_millis_opt(now.0).single();
    if let Some(local) = local {
        line += &local.format("%H:%M:%S ").to_string();
    }
    if *metadata.level() != Level::INFO {
        line += &format!("{} ", metadata.level().as_str().to_ascii_lowercase());
    }
    for key in ["module", "jobId", "runId"] {
        fields.shift_remove(key);
    }
    let texts = ["message", "name"].map(|key| fields.shift_remove(key));
    line += &texts.into_iter().flatten().map(field_text).collect::<Vec<_>>().join(" · ");
    for (key, value) in fields {
        line += &format!(" · {key} {}", field_text(value));
    }
    // Control characters of a job's name must not reach the terminal.
    let mut line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.push('\n');
    line
}

fn field_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The crate of a line; the scheduler's is `cron`, as in the cron RFC.
fn module_name(metadata: &Metadata<'_>) -> String {
    let room = metadata.target().split("::").next().unwrap_or_default();
    match room.strip_prefix("rouse_").unwrap_or(room) {
        "scheduler" => "cron".to_owned(),
        other => other.to_owned(),
    }
}

/// Fields as JSON with camelCase names.
#[derive(Default)]
struct LogFields(Map<String, Value>);

impl LogFields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(to_camel_case(field.name()), value.into());
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        if write!(text, "{value:?}").is_ok() {
            self.put(field, text);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }
}

/// `job_id` → `jobId`.
fn to_camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut is_up = false;
    for letter in name.chars() {
        if letter == '_' {
            is_up = true;
        } else {
            camel.push(if is_up { letter.to_ascii_uppercase() } else { letter });
            is_up = false;
        }
    }
    camel
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn log_line(format: LineFormat, log: impl FnOnce()) -> String {
        let buffer = LogBuffer::default();
        let copy = buffer.clone();
        let lines =
            LogLines { format, writer: move || copy.clone(), clock: SystemClock::default() };
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, log);
        let bytes = buffer.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn line_includes_the_fields_of_its_spans() {
        let line = log_line(LineFormat::Json, || {
            let run = tracing::info_span!(
                "run",
                module = "cron",
                job_id = "j",
                run_id = "r",
                name = "Brew"
            );
            run.in_scope(|| tracing::warn!(run_id = "own", duration_ms = 4, ok = true, "Tried"));
        });
        let line: Value = serde_json::from_str(&line).expect("one line of JSON");
        for (key, value) in [
            ("level", Value::from("warn")),
            ("module", "cron".into()),
            ("jobId", "j".into()),
            ("runId", "own".into()),
            ("name", "Brew".into()),
            ("durationMs", 4.into()),
            ("ok", true.into()),
            ("message", "Tried".into()),
        ] {
            assert_eq!(line[key], value, "{key} in {line}");
        }
        let line = log_line(LineFormat::Json, || tracing::info!("Nothing in particular"));
        let line: Value = serde_json::from_str(&line).expect("one line of JSON");
        assert!(line["module"] == "host" && line["name"] == "rouse", "{line}");
        assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')));
    }

    #[test]
    fn text_line_is_short_without_control_chars() {
        let line = log_line(LineFormat::Text, || {
            tracing::info!(
                job_id = "j",
                run_id = "r",
                name = "Br\u{1b}[2Jew",
                status = "ok",
                "Done"
            );
        });
        assert_eq!(&line[8..], " Done · Br [2Jew · status ok\n");
    }
}
