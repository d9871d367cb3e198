//! Causes: events that fire runs. The end of another run, a system event, a wake, a call of a webhook.
//!
//! Owns the content of an event (source, text, fields) and the match with an event trigger. Fields are compared first
//! and exactly; the pattern, which costs more, is searched last. A pattern may be useless but never slow.
//! Pitfall: matching an event against the source job, or an endless chain of jobs that fire each other. A cause carries
//! the chain of jobs.

mod pattern;
mod sources;

use serde_json::{Map, Value, json};

pub use pattern::{MOST_BYTES, Pattern, PatternError, SearchBudget};
pub use sources::{CRON, JOB, SOURCES, WAKE, WEBHOOK, event_fields};

use crate::job::EventTrigger;
use crate::{Job, JobId, Run, RunId, RunState, UnixMs};

/// The maximum chain of jobs that fire each other; a run beyond is skipped.
pub const MAX_CHAIN: usize = 8;
/// The maximum bytes of an event as JSON for a program: Windows allows no longer environment variable.
const MAX_JSON_BYTES: usize = 30_000;
/// The maximum bytes of an event's text.
pub const MAX_TEXT_BYTES: usize = 64 << 10;

/// An event that fires runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The deduplication key: a job fires once per key.
    pub id: String,
    /// The original event behind this event, over all jobs that listen to many jobs; else the event's own id.
    pub root: String,
    /// Whether the fired job listens to exactly the job that finished.
    pub is_for_one: bool,
    /// The source: `job`, `cron`, `wake`, `webhook`.
    pub source: String,
    /// The text. Untrusted input.
    pub text: String,
    /// The fields that filters compare.
    pub fields: Map<String, Value>,
    /// The instant of the event.
    pub at: UnixMs,
    /// The earlier jobs of the chain, in order.
    pub chain: Vec<JobId>,
}

impl Cause {
    /// `{source, text, fields}` as JSON of at most 30,000 bytes, which every system accepts as an environment variable. The
    /// text is truncated first; oversized fields are omitted.
    #[must_use]
    pub fn to_bounded_json(&self) -> String {
        let fields = Value::Object(self.fields.clone());
        let is_small = fields.to_string().len() <= MAX_JSON_BYTES / 2;
        let fields = if is_small { fields } else { Value::Object(Map::new()) };
        let mut text = self.text.replace('\0', "\u{fffd}");
        loop {
            let event =
                json!({ "source": self.source, "text": text, "fields": fields }).to_string();
            if event.len() <= MAX_JSON_BYTES {
                return event;
            }
            // Shortens in proportion to the excess, escapes included.
            let end = text.len().saturating_sub(1).min(text.len() * MAX_JSON_BYTES / event.len());
            text.truncate(text.floor_char_boundary(end));
        }
    }

    /// The end of `run`; none for a heartbeat turn. `before` is the cause of the run.
    #[must_use]
    pub fn end_of_run(
        run: &Run,
        state: RunState,
        text: Option<&str>,
        before: Option<&Self>,
        now: UnixMs,
    ) -> Option<Self> {
        let mut fields = fields_of_job(run, "finished")?;
        fields.insert("runId".to_owned(), run.id.as_str().into());
        fields.insert("state".to_owned(), state.name().into());
        fields.insert("status".to_owned(), <&str>::from(state.rfc_status()?).into());
        let id = format!("run:{}", run.id);
        Some(Self {
            root: root_of(&id, before),
            is_for_one: false,
            id,
            source: JOB.to_owned(),
            text: capped(text.unwrap_or_default()),
            fields,
            at: now,
            chain: chain_after(run, before),
        })
    }

    /// The system event that `run` queued for the main session.
    #[must_use]
    pub fn system_event_of_run(
        run: &Run,
        text: &str,
        before: Option<&Self>,
        now: UnixMs,
    ) -> Option<Self> {
        let id = format!("line:{}", run.id);
        Some(Self {
            root: root_of(&id, before),
            is_for_one: false,
            id,
            source: CRON.to_owned(),
            text: capped(text),
            fields: fields_of_job(run, "systemEvent")?,
            at: now,
            chain: chain_after(run, before),
        })
    }

    /// A wake request.
    #[must_use]
    pub fn wake(text: &str, now: UnixMs) -> Self {
        let fields = Map::from_iter([("type".to_owned(), "wake".into())]);
        Self::external("wake", WAKE, text, fields, now)
    }

    /// A call of the webhook of `job`. The plain values of a JSON object in the body become fields.
    #[must_use]
    pub fn webhook(job: &Job, body: &str, now: UnixMs) -> Self {
        let mut fields = plain_values(body);
        fields.entry("type").or_insert_with(|| "call".into());
        // Untrusted input must not name another job.
        fields.insert("jobId".to_owned(), job.id.as_str().into());
        fields.insert("name".to_owned(), job.name.as_str().into());
        Self::external("webhook", WEBHOOK, body, fields, now)
    }

    fn external(
        what: &str,
        source: &str,
        text: &str,
        fields: Map<String, Value>,
        now: UnixMs,
    ) -> Self {
        let id = format!("{what}:{}", RunId::generate(now));
        Self {
            root: id.clone(),
            is_for_one: false,
            id,
            source: source.to_owned(),
            text: capped(text),
            fields,
            at: now,
            chain: Vec::new(),
        }
    }

    /// As JSON, for storage.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "root": self.root,
            "isForOne": self.is_for_one,
            "source": self.source,
            "text": self.text,
            "fields": self.fields,
            "atMs": self.at.0,
            "chain": self.chain,
        })
    }

    /// Reads the JSON of `to_json`; none when a part is missing.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let chain = value.get("chain")?.as_array()?.iter();
        let id = text("id")?;
        Some(Self {
            root: text("root").unwrap_or_else(|| id.clone()),
            is_for_one: value.get("isForOne").and_then(Value::as_bool).unwrap_or(false),
            id,
            source: text("source")?,
            text: text("text")?,
            fields: value.get("fields")?.as_object()?.clone(),
            at: UnixMs(value.get("atMs")?.as_i64()?),
            chain: chain.filter_map(|job| job.as_str().map(JobId::new)).collect(),
        })
    }

    /// Whether the event matches `trigger` of the job `listener`, the pattern aside.
    #[must_use]
    pub fn matches(&self, trigger: &EventTrigger, listener: &JobId) -> bool {
        self.source == trigger.source
            && self.concerns(trigger, listener)
            && trigger.filters.iter().all(|(key, wanted)| self.has(key, wanted))
    }

    /// A job never hears its own events. A job that listens to all jobs ignores the events of its own chain, or two
    /// such jobs would fire each other; a job that names the source continues until the chain is too long.
    fn concerns(&self, trigger: &EventTrigger, listener: &JobId) -> bool {
        if self.fields.get("jobId").and_then(Value::as_str) == Some(listener.as_str()) {
            return false;
        }
        let names_its_job = ["jobId", "name"].iter().any(|key| trigger.filters.contains_key(*key));
        (names_its_job || !self.chain.contains(listener)) && self.is_relevant_end(trigger)
    }

    /// The cause for a job with this trigger, with the deduplication key for that job. A listener to exactly one job
    /// fires for each end. A listener to many jobs fires once per original event: ten such listeners would otherwise
    /// fire each other in every order.
    #[must_use]
    pub fn for_listener(&self, trigger: &EventTrigger) -> Self {
        let is_for_one = trigger.filters.contains_key("jobId");
        let name = if is_for_one { &self.id } else { &self.root };
        Self { id: name.clone(), is_for_one, ..self.clone() }
    }

    /// "After another job" means after a run that did something; a skipped run matches only an explicit filter.
    fn is_relevant_end(&self, trigger: &EventTrigger) -> bool {
        let asks = ["status", "state"].iter().any(|key| trigger.filters.contains_key(*key));
        asks || self.source != JOB
            || self.fields.get("status").and_then(Value::as_str) != Some("skipped")
    }

    fn has(&self, key: &str, wanted: &Value) -> bool {
        let holds = |key: &str| self.fields.get(key).is_some_and(|found| are_equal(found, wanted));
        // `status` matches the words of the RFC and the finer states alike.
        holds(key) || (key == "status" && self.source == JOB && holds("state"))
    }
}

fn fields_of_job(run: &Run, kind: &str) -> Option<Map<String, Value>> {
    let job_id = run.job_id.as_ref()?;
    let mut fields = Map::new();
    fields.insert("type".to_owned(), kind.into());
    fields.insert("jobId".to_owned(), job_id.as_str().into());
    fields.insert("name".to_owned(), run.job_name.as_str().into());
    Some(fields)
}

/// The end of a job with a single listener target is a new event, unless an earlier job of the chain listens to many
/// jobs.
fn root_of(id: &str, before: Option<&Cause>) -> String {
    let before = before.filter(|cause| !(cause.is_for_one && cause.root == cause.id));
    before.map_or_else(|| id.to_owned(), |cause| cause.root.clone())
}

fn chain_after(run: &Run, before: Option<&Cause>) -> Vec<JobId> {
    let mut chain = before.map(|cause| cause.chain.clone()).unwrap_or_default();
    chain.extend(run.job_id.clone());
    chain
}

fn plain_values(body: &str) -> Map<String, Value> {
    match serde_json::from_str(body) {
        Ok(Value::Object(mut fields)) => {
            fields.retain(|_, value| {
                !matches!(value, Value::Array(_) | Value::Object(_) | Value::Null)
            });
            fields
        }
        _ => Map::new(),
    }
}

fn are_equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        // JSON written by JavaScript may carry `1.0`.
        (Some(a), Some(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

fn capped(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned()
}
