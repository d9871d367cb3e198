//! What fires a run that no slot asked for: the end of another run, a line for the main session, a call of a webhook.
//!
//! Owns the words of an event (source, text, fields) and what an event trigger makes of them. Fields are compared first
//! and exactly; the pattern, which costs more, is looked for last. Whoever writes a pattern can make it useless, but
//! never slow. One could get it wrong by matching an event against its own job, or by letting a chain of
//! jobs that fire each other go on for ever: a cause carries the jobs that led to it.

mod pattern;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

pub use pattern::{Effort, MOST_BYTES, Pattern, PatternError};

use crate::job::EventTrigger;
use crate::{Job, JobId, Run, RunId, RunState, UnixMs};

/// A run that comes after more jobs than this, each fired by the one before, does not start.
pub const LONGEST_CHAIN: usize = 8;
/// The most bytes of an event as a program is told of it: Windows takes no longer variable.
const MOST_TOLD_BYTES: usize = 30_000;
/// Most bytes of an event's text that are kept, searched and told.
pub const MOST_TEXT_BYTES: usize = 64 << 10;

/// The source of ends of runs.
pub const JOB: &str = "job";
/// The source of lines that jobs queue for the main session.
pub const CRON: &str = "cron";
/// The source of wakes.
pub const WAKE: &str = "wake";
/// The source of calls of webhooks.
pub const WEBHOOK: &str = "webhook";
/// All there are.
pub const SOURCES: [&str; 4] = [JOB, CRON, WAKE, WEBHOOK];

/// The fields that events of `source` have; none where whoever sends them says which.
#[must_use]
pub fn fields_of(source: &str) -> Option<&'static [&'static str]> {
    match source {
        JOB => Some(&["type", "jobId", "name", "runId", "state", "status"]),
        CRON => Some(&["type", "jobId", "name"]),
        WAKE => Some(&["type"]),
        _ => None,
    }
}

/// An event that fires runs, and what stays with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// Names the event: a job fires once for it.
    pub id: String,
    /// The event that this one came of, over however many jobs, when one of them waits for many; else its own id.
    pub root: String,
    /// Whether the job that it fired waits for exactly the job whose end it is.
    pub is_for_one: bool,
    /// Where it came from: `job`, `cron`, `wake`, `webhook`.
    pub source: String,
    /// What was said. It comes from outside and is never an instruction.
    pub text: String,
    /// What filters are compared with.
    pub fields: Map<String, Value>,
    /// When it happened.
    pub at: UnixMs,
    /// The jobs that led to it, each fired by the one before.
    pub chain: Vec<JobId>,
}

impl Cause {
    /// The event for a program: `{source, text, fields}` as JSON, in at most 30,000 bytes, which every system takes as one
    /// variable of an environment. The text is cut first; fields that do not fit are left out.
    #[must_use]
    pub fn told(&self) -> String {
        let fields = Value::Object(self.fields.clone());
        let fits = fields.to_string().len() <= MOST_TOLD_BYTES / 2;
        let fields = if fits { fields } else { Value::Object(Map::new()) };
        let mut text = self.text.replace('\0', "\u{fffd}");
        loop {
            let told = json!({ "source": self.source, "text": text, "fields": fields }).to_string();
            if told.len() <= MOST_TOLD_BYTES {
                return told;
            }
            // By as much as it is too long, escapes and all.
            let end = text.len().saturating_sub(1).min(text.len() * MOST_TOLD_BYTES / told.len());
            text.truncate(text.floor_char_boundary(end));
        }
    }

    /// The end of `run`, if somebody may be waiting for it: a beat of the heartbeat has no job. `before` is what fired it.
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
        fields.insert("status".to_owned(), state.rfc_status()?.into());
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

    /// The line that `run` queued for the main session.
    #[must_use]
    pub fn line_of_run(run: &Run, text: &str, before: Option<&Self>, now: UnixMs) -> Option<Self> {
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

    /// A wake.
    #[must_use]
    pub fn wake(text: &str, now: UnixMs) -> Self {
        let fields = Map::from_iter([("type".to_owned(), "wake".into())]);
        Self::from_outside("wake", WAKE, text, fields, now)
    }

    /// A call of the webhook of `job`. When the body is a JSON object, its plain values are fields.
    #[must_use]
    pub fn webhook(job: &Job, body: &str, now: UnixMs) -> Self {
        let mut fields = plain_values(body);
        fields.entry("type").or_insert_with(|| "call".into());
        // What a stranger sends must not name another job.
        fields.insert("jobId".to_owned(), job.id.as_str().into());
        fields.insert("name".to_owned(), job.name.as_str().into());
        Self::from_outside("webhook", WEBHOOK, body, fields, now)
    }

    fn from_outside(
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

    /// As JSON, for the store.
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

    /// The inverse of `to_json`; none when a part is missing.
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

    /// Whether `trigger` of the job `listener` waits for this, its pattern aside.
    #[must_use]
    pub fn fits(&self, trigger: &EventTrigger, listener: &JobId) -> bool {
        self.source == trigger.source
            && self.is_news_to(trigger, listener)
            && trigger.filters.iter().all(|(key, wanted)| self.has(key, wanted))
    }

    /// No job hears of itself. One that listens to every job hears nothing of what it set off, or two of them would
    /// fire each other; one that names its job goes on until the chain is too long, and says so.
    fn is_news_to(&self, trigger: &EventTrigger, listener: &JobId) -> bool {
        if self.fields.get("jobId").and_then(Value::as_str) == Some(listener.as_str()) {
            return false;
        }
        let names_its_job = ["jobId", "name"].iter().any(|key| trigger.filters.contains_key(*key));
        (names_its_job || !self.chain.contains(listener)) && self.is_an_end_for(trigger)
    }

    /// The same as it fires a job with this trigger, under the name for which that job fires once. One that waits for exactly
    /// one job fires for each of its ends. One that waits for many fires once for all that came of the same event over jobs
    /// that wait for many: ten of them would otherwise fire each other in every order there is.
    #[must_use]
    pub fn as_heard_by(&self, trigger: &EventTrigger) -> Self {
        let is_for_one = trigger.filters.contains_key("jobId");
        let name = if is_for_one { &self.id } else { &self.root };
        Self { id: name.clone(), is_for_one, ..self.clone() }
    }

    /// "After another job" means after it did something; what was skipped is told only to those who ask for it.
    fn is_an_end_for(&self, trigger: &EventTrigger) -> bool {
        let asks = ["status", "state"].iter().any(|key| trigger.filters.contains_key(*key));
        asks || self.source != JOB
            || self.fields.get("status").and_then(Value::as_str) != Some("skipped")
    }

    fn has(&self, key: &str, wanted: &Value) -> bool {
        let holds = |key: &str| self.fields.get(key).is_some_and(|found| are_equal(found, wanted));
        // `status` takes the three words of the RFC and the finer states alike.
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

/// What comes after exactly one job is an event of its own, as long as no job before it waits for many.
fn root_of(id: &str, before: Option<&Cause>) -> String {
    let before = before.filter(|cause| !(cause.is_for_one && cause.root == cause.id));
    before.map_or_else(|| id.to_owned(), |cause| cause.root.clone())
}

fn chain_after(run: &Run, before: Option<&Cause>) -> Vec<JobId> {
    let mut chain = before.map(|cause| cause.chain.clone()).unwrap_or_default();
    chain.extend(run.job_id.clone());
    chain
}

/// The SHA-256 of what a call said, in hexadecimal digits.
#[must_use]
pub fn fingerprint(body: &str) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
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
    text[..text.floor_char_boundary(MOST_TEXT_BYTES)].to_owned()
}
