//! JSON → job.
//!
//! Everything wrong with the input is found in one go and named by its path. What must hold for a job to be saved is
//! decided here and nowhere else: a pattern that never fires, an interval under a second or a main-session job with an
//! isolated payload never reach the store. `now` and the local zone fill the defaults that are fixed at creation.

mod agent_turn;
mod event;
mod folders;
mod hosts;
mod jitter;
mod patch;
mod tool_call;

pub use patch::patch_job;

use serde_json::{Map, Value};

use super::{
    Approvals, Budget, Isolation, Job, JobState, Misfire, MisfireMode, Notify, Overlap, Payload,
    Policies, Runtime, Sandbox, Schedule, ScheduleSpec, SessionTarget, WakeMode, bounds,
};
use crate::json_fields::{FieldError, Fields};
use crate::money::{MicroUsd, read_tokens};
use crate::quiet::QuietPolicy;
use crate::schedule::{CronPattern, Zone, Zones, no_zone};
use crate::slots::DecidedSlots;
use crate::{JobId, RunState, UnixMs, when};

/// The longest interval and the largest instant that are taken for real.
const LATEST_MS: i64 = UnixMs::LATEST.0;
const WEEK_SECONDS: i64 = 7 * 24 * 3600;

/// The input is not a job; one complaint per field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct JobError(pub Vec<FieldError>);

/// Reads a job. Absent `id`, `createdAtMs`, `updatedAtMs`, `enabled`, `sessionTarget` and `wakeMode` get defaults, so
/// the same function reads a new job from a client, a stored one and an imported one.
///
/// # Errors
/// Every complaint, with the path of its field.
pub fn job_from_json(input: Value, now: UnixMs, zones: impl Into<Zones>) -> Result<Job, JobError> {
    written(input, now, &zones.into(), Sources::Known, &[])
}

/// Judges no more than how large and how deep `input` is, so that what is out of bounds is not looked through for anything
/// else.
///
/// # Errors
/// Every complaint, with the path of its field; none repeats what stands there.
pub fn check_bounds(input: &Value) -> Result<(), JobError> {
    let complaints = bounds::complaints_about(input);
    if complaints.is_empty() { Ok(()) } else { Err(JobError(complaints)) }
}

/// Reads a job out of a file. It may wait for events that come elsewhere and not here, as long as it is off, and have a
/// jitter that means nothing.
///
/// # Errors
/// Every complaint, with the path of its field.
pub fn imported_job_from_json(
    input: Value,
    now: UnixMs,
    zones: impl Into<Zones>,
) -> Result<Job, JobError> {
    let sources = if is_off(&input) { Sources::Any } else { Sources::Known };
    written(input, now, &zones.into(), sources, &[jitter::complaint()])
}

/// Reads what somebody wrote. What was out of bounds `before` may stay as it was.
fn written(
    input: Value,
    now: UnixMs,
    zones: &Zones,
    sources: Sources<'_>,
    before: &[FieldError],
) -> Result<Job, JobError> {
    let mut errors = Vec::new();
    let origin = Origin::Written { zones, sources };
    let whole = bounds::complaints_about(&input);
    let job = read_job(Fields::new("", input, &mut errors), now, origin);
    errors.extend(bounds::complaints(&job));
    let is_new = |found: &FieldError| !errors.iter().any(|error| error.path == found.path);
    let whole: Vec<FieldError> = whole.into_iter().filter(is_new).collect();
    errors.extend(whole);
    errors.retain(|complaint| !before.contains(complaint));
    if errors.is_empty() { Ok(job) } else { Err(JobError(errors)) }
}

fn is_off(job: &Value) -> bool {
    job["enabled"] == false
}

/// Reads a job that was accepted and written before. Its pattern and zone are taken as they are: judging them again
/// costs more than all the rest, and one that a later version would refuse must not make the job unreadable
/// (`Slots::compile` says what is wrong with it).
///
/// # Errors
/// Every complaint, with the path of its field.
pub fn stored_job_from_json(input: Value) -> Result<Job, JobError> {
    let mut errors = Vec::new();
    let job = read_job(Fields::new("", input, &mut errors), UnixMs(0), Origin::Stored);
    if errors.is_empty() { Ok(job) } else { Err(JobError(errors)) }
}

/// Reads a schedule that was accepted and written before, without the job around it.
///
/// # Errors
/// Every complaint, with the path of its field.
pub fn stored_schedule_from_json(input: Value) -> Result<Schedule, JobError> {
    let mut errors = Vec::new();
    let whole = Map::from_iter([("schedule".to_owned(), input)]);
    let mut fields = Fields::new("", Value::Object(whole), &mut errors);
    let schedule = read_schedule(&mut fields, UnixMs(0), Origin::Stored);
    if errors.is_empty() { Ok(schedule) } else { Err(JobError(errors)) }
}

/// Reads what a run does that was accepted and written before, without the job around it.
///
/// # Errors
/// Every complaint, with the path of its field.
pub fn stored_payload_from_json(input: Value) -> Result<Payload, JobError> {
    let mut errors = Vec::new();
    let whole = Map::from_iter([("payload".to_owned(), input)]);
    let payload = read_payload(&mut Fields::new("", Value::Object(whole), &mut errors));
    if errors.is_empty() { Ok(payload) } else { Err(JobError(errors)) }
}

/// Reads a schedule alone, as a form has it before the job is whole; paths begin with `schedule.`.
///
/// # Errors
/// Every complaint, with the path of its field.
pub fn schedule_from_json(input: Value, now: UnixMs, zones: &Zones) -> Result<Schedule, JobError> {
    let mut errors = Vec::new();
    let mut whole = Map::new();
    whole.insert("schedule".to_owned(), input);
    let schedule = read_schedule(
        &mut Fields::new("", Value::Object(whole), &mut errors),
        now,
        Origin::Written { zones, sources: Sources::Known },
    );
    if errors.is_empty() { Ok(schedule) } else { Err(JobError(errors)) }
}

/// Where a document comes from, and with it how far its times are judged.
#[derive(Clone, Copy)]
enum Origin<'a> {
    /// Somebody wrote it; its zone is looked up here, and one that it leaves out is the local one.
    Written { zones: &'a Zones, sources: Sources<'a> },
    /// It was judged when it was saved, and has its zone.
    Stored,
}

impl<'a> Origin<'a> {
    /// Where its zones are looked up; none when they were judged before.
    const fn zones(self) -> Option<&'a Zones> {
        match self {
            Self::Written { zones, .. } => Some(zones),
            Self::Stored => None,
        }
    }
}

/// Which sources of events a trigger may name. One that nothing ever comes from would never fire, and nobody would learn.
#[derive(Clone, Copy)]
enum Sources<'a> {
    /// Those that there are.
    Known,
    /// Those, and the one that the job had before.
    KnownOr(&'a str),
    /// Whatever another program has.
    Any,
}

fn read_job(mut fields: Fields<'_>, now: UnixMs, origin: Origin<'_>) -> Job {
    let id = fields
        .text("id")
        .filter(|id| !id.trim().is_empty())
        .map_or_else(JobId::generate, JobId::new);
    let name = fields.required_text("name");
    let created_at = instant(&mut fields, "createdAtMs").unwrap_or(now);
    let schedule = read_schedule(&mut fields, created_at, origin);
    event::refuse_own(&mut fields, &id, &name, &schedule.spec);
    let payload = read_payload(&mut fields);
    let targets = [("main", SessionTarget::Main), ("isolated", SessionTarget::Isolated)];
    let session_target = fields.choice("sessionTarget", &targets).unwrap_or(match payload {
        Payload::SystemEvent { .. } => SessionTarget::Main,
        Payload::AgentTurn(_) | Payload::ToolCall(_) => SessionTarget::Isolated,
    });
    refuse_mixed_target(&mut fields, session_target, &payload);
    Job {
        id,
        name,
        description: fields.text("description"),
        enabled: fields.boolean("enabled").unwrap_or(true),
        created_at,
        updated_at: instant(&mut fields, "updatedAtMs").unwrap_or(now),
        schedule,
        session_target,
        wake_mode: fields
            .choice(
                "wakeMode",
                &[("now", WakeMode::Now), ("next-heartbeat", WakeMode::NextHeartbeat)],
            )
            .unwrap_or(WakeMode::Now),
        payload,
        isolation: fields.object("isolation", read_isolation),
        runtime: fields.object("runtime", read_runtime),
        policies: fields
            .object("policies", |fields| read_policies(fields, origin))
            .unwrap_or_default(),
        delete_after_run: fields.boolean("deleteAfterRun").unwrap_or(false),
        state: fields.object("state", read_state).unwrap_or_default(),
        extra: fields.rest(),
    }
}

/// A main-session job never runs an agent or a tool itself (RFC "Execution semantics").
fn refuse_mixed_target(fields: &mut Fields<'_>, target: SessionTarget, payload: &Payload) {
    match (target, payload) {
        (SessionTarget::Main, Payload::AgentTurn(_) | Payload::ToolCall(_)) => fields.complain(
            "sessionTarget",
            format!(
                "`main` takes a systemEvent; use `isolated` for a payload of kind {}",
                payload.kind()
            ),
        ),
        // An empty text stands for a payload that was complained about already.
        (SessionTarget::Isolated, Payload::SystemEvent { text, .. }) if !text.is_empty() => {
            fields.complain(
                "sessionTarget",
                "`isolated` takes an agentTurn or a toolCall; use `main` for a systemEvent",
            );
        }
        _ => {}
    }
}

fn instant(fields: &mut Fields<'_>, key: &str) -> Option<UnixMs> {
    fields.integer(key, 0..=LATEST_MS).map(UnixMs)
}

fn unsigned(fields: &mut Fields<'_>, key: &str, least: i64, most: i64) -> Option<u32> {
    fields.integer(key, least..=most).and_then(|number| u32::try_from(number).ok())
}

fn read_schedule(fields: &mut Fields<'_>, created_at: UnixMs, origin: Origin<'_>) -> Schedule {
    let read = fields.object("schedule", |mut fields| {
        let spec = read_spec(&mut fields, created_at, origin);
        let jitter_ms = jitter::read(&mut fields, &spec, origin);
        Schedule { spec, jitter_ms, extra: fields.rest() }
    });
    read.unwrap_or_else(|| {
        fields.complain_once("schedule", "is required: expected an object with a kind");
        Schedule { spec: ScheduleSpec::Manual, jitter_ms: None, extra: Map::new() }
    })
}

fn read_spec(fields: &mut Fields<'_>, created_at: UnixMs, origin: Origin<'_>) -> ScheduleSpec {
    let kinds = [("at", 0), ("every", 1), ("cron", 2), ("event", 3), ("webhook", 4), ("manual", 5)];
    if fields.text_is_absent("kind") {
        let names = "at, every, cron, event, webhook, manual";
        fields.complain("kind", format!("is required: expected one of {names}"));
    }
    match fields.choice("kind", &kinds) {
        Some(0) => read_at(fields, origin),
        Some(1) => read_every(fields, created_at),
        Some(2) => read_cron(fields, origin),
        Some(3) => ScheduleSpec::Event(event::read(fields, origin)),
        Some(4) => ScheduleSpec::Webhook,
        _ => ScheduleSpec::Manual,
    }
}

/// An instant, or a time as a clock shows it, which becomes one here. Beside `atMs`, or in a stored job, an `at` is
/// somebody else's key.
fn read_at(fields: &mut Fields<'_>, origin: Origin<'_>) -> ScheduleSpec {
    let has_instant = !fields.text_is_absent("atMs");
    let instant = instant(fields, "atMs");
    let tz = zone_name(fields, origin);
    let zones = origin.zones().filter(|_| !has_instant);
    let has_text = zones.is_some() && !fields.text_is_absent("at");
    let at = match zones.and_then(|zones| Some((zones, fields.text("at")?))) {
        Some((zones, text)) => read_clock(fields, &text, tz.as_deref(), zones),
        None => instant,
    };
    if at.is_none() && (has_instant || !has_text) {
        let expected = "expected milliseconds since 1970, or a time in `at`";
        fields.complain_once("atMs", format!("is required: {expected}"));
    }
    ScheduleSpec::At { at: at.unwrap_or(UnixMs(0)), tz }
}

/// The instant at which the clock of the zone shows `text`.
fn read_clock(
    fields: &mut Fields<'_>,
    text: &str,
    tz: Option<&str>,
    zones: &Zones,
) -> Option<UnixMs> {
    let zone = tz.and_then(|tz| zones.zone(tz)).unwrap_or(zones.local());
    let read = when::day_and_time(text, zone).and_then(|at| match at {
        UnixMs(0..=LATEST_MS) => Ok(at),
        _ => Err("must be between the years 1970 and 9999".to_owned()),
    });
    read.map_err(|complaint| fields.complain("at", complaint)).ok()
}

fn read_every(fields: &mut Fields<'_>, created_at: UnixMs) -> ScheduleSpec {
    let every = fields.integer("everyMs", 1_000..=LATEST_MS);
    if every.is_none() {
        fields.complain_once("everyMs", "is required: expected milliseconds, at least 1000");
    }
    let anchor = instant(fields, "anchorMs").unwrap_or(created_at);
    ScheduleSpec::Every { every_ms: every.unwrap_or(1_000), anchor }
}

fn read_cron(fields: &mut Fields<'_>, origin: Origin<'_>) -> ScheduleSpec {
    let expr = fields.required_text("expr");
    if let Origin::Written { .. } = origin
        && !expr.trim().is_empty()
        && let Err(error) = CronPattern::parse(&expr)
    {
        fields.complain("expr", error.to_string());
    }
    let tz = zone_name(fields, origin).unwrap_or_else(|| match origin {
        Origin::Written { zones, .. } => zones.local().name().to_owned(),
        Origin::Stored => Zone::UTC.name().to_owned(),
    });
    ScheduleSpec::Cron { expr: expr.trim().to_owned(), tz }
}

fn zone_name(fields: &mut Fields<'_>, origin: Origin<'_>) -> Option<String> {
    let name = fields.text("tz")?;
    let Some(zones) = origin.zones() else { return Some(name) };
    match zones.zone(&name) {
        Some(zone) => Some(zone.name().to_owned()),
        None => {
            fields.complain("tz", no_zone(&name));
            None
        }
    }
}

fn read_payload(fields: &mut Fields<'_>) -> Payload {
    let absent = Payload::SystemEvent { text: String::new(), extra: Map::new() };
    let read = fields.object("payload", |mut fields| {
        if fields.text_is_absent("kind") {
            fields
                .complain("kind", "is required: expected one of systemEvent, agentTurn, toolCall");
        }
        match fields.choice("kind", &[("systemEvent", 0), ("agentTurn", 1), ("toolCall", 2)]) {
            Some(1) => agent_turn::read(fields),
            Some(2) => tool_call::read(fields),
            Some(_) => {
                Payload::SystemEvent { text: fields.required_text("text"), extra: fields.rest() }
            }
            None => absent.clone(),
        }
    });
    read.unwrap_or_else(|| {
        fields.complain_once("payload", "is required: expected an object with a kind");
        absent
    })
}

fn read_isolation(mut fields: Fields<'_>) -> Isolation {
    Isolation { post_to_main_prefix: fields.text("postToMainPrefix"), extra: fields.rest() }
}

fn read_runtime(mut fields: Fields<'_>) -> Runtime {
    Runtime {
        max_attempts: unsigned(&mut fields, "maxAttempts", 1, 20),
        retry_backoff_ms: unsigned(&mut fields, "retryBackoffMs", 0, 86_400_000).map(u64::from),
        extra: fields.rest(),
    }
}

fn read_policies(mut fields: Fields<'_>, origin: Origin<'_>) -> Policies {
    let overlaps = [
        ("skip", Overlap::Skip),
        ("queue", Overlap::Queue),
        ("parallel", Overlap::Parallel),
        ("cancelOther", Overlap::CancelOther),
    ];
    let notifies = [
        ("always", Notify::Always),
        ("findings", Notify::Findings),
        ("failure", Notify::Failure),
        ("never", Notify::Never),
    ];
    Policies {
        misfire: fields.object("misfire", read_misfire).unwrap_or_default(),
        overlap: fields.choice("overlap", &overlaps).unwrap_or_default(),
        max_concurrent: unsigned(&mut fields, "maxConcurrent", 1, 100),
        cooldown_seconds: unsigned(&mut fields, "cooldownSeconds", 0, WEEK_SECONDS),
        timeout_seconds: unsigned(&mut fields, "timeoutSeconds", 1, WEEK_SECONDS),
        pause_after_failures: unsigned(&mut fields, "pauseAfterFailures", 1, 1_000),
        budget: fields.object("budget", read_budget),
        notify: fields.choice("notify", &notifies),
        quiet_hours: QuietPolicy::read(&mut fields, "quietHours", origin.zones()),
        approvals: fields
            .choice(
                "approvals",
                &[Approvals::Ask, Approvals::Deny, Approvals::Skip].map(|one| (one.name(), one)),
            )
            .unwrap_or_default(),
        approval_seconds: unsigned(&mut fields, "approvalSeconds", 60, WEEK_SECONDS),
        hosts: hosts::read(&mut fields, "hosts"),
        folders: folders::read(&mut fields, "folders"),
        sandbox: fields
            .choice("sandbox", &[("required", Sandbox::Required), ("open", Sandbox::Open)])
            .unwrap_or_default(),
        extra: fields.rest(),
    }
}

fn read_misfire(mut fields: Fields<'_>) -> Misfire {
    let modes = [
        ("skip", MisfireMode::Skip),
        ("runOnce", MisfireMode::RunOnce),
        ("runAll", MisfireMode::RunAll),
    ];
    Misfire {
        mode: fields.choice("mode", &modes).unwrap_or_default(),
        max_lateness_seconds: unsigned(&mut fields, "maxLatenessSeconds", 1, 366 * 24 * 3600),
        limit: unsigned(&mut fields, "limit", 1, 100),
        extra: fields.rest(),
    }
}

fn read_budget(mut fields: Fields<'_>) -> Budget {
    Budget {
        tokens_per_run: read_tokens(&mut fields, "tokensPerRun"),
        tokens_per_day: read_tokens(&mut fields, "tokensPerDay"),
        usd_per_run: MicroUsd::read(&mut fields, "usdPerRun"),
        usd_per_day: MicroUsd::read(&mut fields, "usdPerDay"),
        extra: fields.rest(),
    }
}

fn read_state(mut fields: Fields<'_>) -> JobState {
    let next_run_at = instant(&mut fields, "nextRunAtMs");
    let last_run_at = instant(&mut fields, "lastRunAtMs");
    // `lastStatus` is derived from `lastState`; a foreign file has only the former, which is history and not needed.
    fields.take("lastStatus");
    JobState {
        next_run_at,
        decided: DecidedSlots::default(),
        last_run_at,
        last_state: fields.text("lastState").and_then(|name| RunState::from_name(&name)),
        last_error: fields.text("lastError"),
        last_duration_ms: fields.integer("lastDurationMs", 0..=i64::MAX),
        consecutive_failures: unsigned(&mut fields, "consecutiveFailures", 0, i64::from(u32::MAX))
            .unwrap_or(0),
        revision: fields.integer("revision", 0..=i64::MAX).unwrap_or(0),
        extra: fields.rest(),
    }
}

/// What nobody here knows of the state that a file or a client tells. The rest of it is the engine's to say, however it is
/// written there.
#[must_use]
pub fn strangers_of_state(mut state: Value) -> Value {
    let mut asked = Vec::new();
    read_state(Fields::noting("", Value::Object(Map::new()), &mut Vec::new(), &mut asked));
    if let Some(fields) = state.as_object_mut() {
        fields.retain(|key, _| !asked.contains(key));
    }
    state
}
