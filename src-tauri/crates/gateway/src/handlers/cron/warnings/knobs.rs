//! Settings of a job that do nothing beside its others, or work against them.
//!
//! Each is told at its own field, also while the job is off: it is no decision of somebody's but a mistake. What can never
//! mean anything is refused by `core`; these come to mean something with another setting.

use rouse_core::UnixMs;
use rouse_core::job::{Approvals, Job, MisfireMode, Overlap, Payload, Sandbox, ScheduleSpec};
use rouse_core::schedule::format_duration;
use rouse_core::slots::Slots;

use super::{DAY_MS, warning};
use crate::wire::JobWarning;

/// How many of the slots ahead are looked at.
const AHEAD: usize = 10;
/// The same where a whole day is.
const MOST: usize = 1_500;

pub(super) fn without_effect(job: &Job, slots: Option<&Slots>, now: UnixMs) -> Vec<JobWarning> {
    let apart = slots.and_then(|slots| closest(slots, now));
    let jitter = jitter(job, slots, now);
    let told = [concurrent(job), limit(job), wait(job), backoff(job), jitter, cooldown(job, apart)];
    told.into_iter().flatten().chain(of_another_kind(job)).collect()
}

/// What is for the calls of a model, or for calls at all, in a job that makes none.
fn of_another_kind(job: &Job) -> Vec<JobWarning> {
    let policies = &job.policies;
    let budget = policies.budget.clone().unwrap_or_default();
    let of_calls = [
        ("policies.budget.tokensPerRun", budget.tokens_per_run.is_some()),
        ("policies.budget.tokensPerDay", budget.tokens_per_day.is_some()),
        ("policies.budget.usdPerRun", budget.usd_per_run.is_some()),
        ("policies.budget.usdPerDay", budget.usd_per_day.is_some()),
        ("policies.approvals", policies.approvals != Approvals::Ask),
        ("policies.approvalSeconds", policies.approval_seconds.is_some()),
        ("policies.hosts", !policies.hosts.is_empty()),
        ("policies.folders", !policies.folders.is_empty()),
    ];
    let of_commands = [("policies.sandbox", policies.sandbox == Sandbox::Open)];
    let (idle, what) = match job.payload {
        Payload::SystemEvent { .. } => (
            [&of_calls[..], &of_commands[..]].concat(),
            "This does nothing here: a line for the main session calls nothing and asks nobody.",
        ),
        Payload::ToolCall(_) => (
            of_commands.to_vec(),
            "This does nothing here: it is for commands that a model has chosen.",
        ),
        Payload::AgentTurn(_) => return Vec::new(),
    };
    let given = idle.into_iter().filter(|(_, is_given)| *is_given);
    given.map(|(field, _)| warning(field, what.to_owned())).collect()
}

fn concurrent(job: &Job) -> Option<JobWarning> {
    let is_idle = job.policies.overlap != Overlap::Parallel;
    let what = "This does nothing unless runs that overlap are `parallel`.";
    job.policies
        .max_concurrent
        .filter(|_| is_idle)
        .map(|_| warning("policies.maxConcurrent", what.to_owned()))
}

/// A line for the main session asks nobody in any case, which is told of it as a whole.
fn wait(job: &Job) -> Option<JobWarning> {
    let asks = job.policies.approvals == Approvals::Ask;
    let is_idle = !asks && !matches!(job.payload, Payload::SystemEvent { .. });
    let what = "This does nothing unless the job asks you (`ask`).";
    job.policies
        .approval_seconds
        .filter(|_| is_idle)
        .map(|_| warning("policies.approvalSeconds", what.to_owned()))
}

fn backoff(job: &Job) -> Option<JobWarning> {
    let runtime = job.runtime.as_ref()?;
    let is_idle = runtime.max_attempts.unwrap_or(1) <= 1;
    let what = "This does nothing with one attempt: `runtime.maxAttempts` allows more.";
    runtime
        .retry_backoff_ms
        .filter(|_| is_idle)
        .map(|_| warning("runtime.retryBackoffMs", what.to_owned()))
}

fn limit(job: &Job) -> Option<JobWarning> {
    let misfire = &job.policies.misfire;
    let is_idle = misfire.mode != MisfireMode::RunAll;
    let what = "This does nothing unless all missed runs are made up for (`runAll`).";
    misfire.limit.filter(|_| is_idle).map(|_| warning("policies.misfire.limit", what.to_owned()))
}

fn jitter(job: &Job, slots: Option<&Slots>, now: UnixMs) -> Option<JobWarning> {
    let jitter_ms = i64::from(job.schedule.jitter_ms?);
    let (apart, what) = match &job.schedule.spec {
        ScheduleSpec::Every { every_ms, .. } => {
            (*every_ms, format!("It fires every {}", format_duration(*every_ms)))
        }
        ScheduleSpec::Cron { .. } => {
            let apart = widest(slots?, now)?;
            (apart, format!("Its times are {} apart", format_duration(apart)))
        }
        _ => return None,
    };
    let what = format!("{what}, so a longer jitter spreads it no further.");
    (jitter_ms > apart).then(|| warning("schedule.jitterMs", what))
}

fn cooldown(job: &Job, apart: Option<i64>) -> Option<JobWarning> {
    let (cooldown_ms, apart) = (i64::from(job.policies.cooldown_seconds?) * 1_000, apart?);
    let what = format!(
        "Its times are {} apart and it rests for {} after a start, so those that come meanwhile are skipped.",
        format_duration(apart),
        format_duration(cooldown_ms)
    );
    (cooldown_ms > apart).then(|| warning("policies.cooldownSeconds", what))
}

/// How far two slots of the day ahead are apart at the most.
fn widest(slots: &Slots, now: UnixMs) -> Option<i64> {
    let first = slots.next_after(now)?;
    let ahead = std::iter::successors(Some(first), |last| slots.next_after(*last));
    let ahead: Vec<UnixMs> =
        ahead.take_while(|slot| slot.since(first) <= DAY_MS).take(MOST).collect();
    ahead.windows(2).map(|pair| pair[1].since(pair[0])).max()
}

/// How far the two of the slots ahead are apart that are closest together.
fn closest(slots: &Slots, now: UnixMs) -> Option<i64> {
    let ahead = std::iter::successors(slots.next_after(now), |last| slots.next_after(*last));
    let ahead: Vec<UnixMs> = ahead.take(AHEAD).collect();
    ahead.windows(2).map(|pair| pair[1].since(pair[0])).min()
}

#[cfg(test)]
mod tests {
    use rouse_core::job::job_from_json;
    use rouse_core::schedule::Zones;
    use serde_json::{Value, json};

    use super::*;

    /// The fields that are warned of, and the words.
    fn told(schedule: Value, payload: Value, policies: Value) -> Vec<(String, String)> {
        let document = json!({
            "id": "job-1", "name": "Tea", "schedule": schedule, "payload": payload,
            "policies": policies,
        });
        let zones = Zones::built_in(chrono_tz::UTC);
        let job = job_from_json(document, UnixMs(0), zones.clone()).expect("a job");
        let slots = Slots::of_job(&job.schedule, &job.id, job.created_at, &zones).ok();
        let warnings = without_effect(&job, slots.as_ref(), UnixMs(1_795_415_400_000));
        warnings.into_iter().map(|warning| (warning.field, warning.message)).collect()
    }

    #[test]
    fn what_a_line_for_the_main_session_does_not_need_is_warned_of() {
        let policies = json!({
            "budget": { "tokensPerRun": 5 }, "approvals": "deny", "approvalSeconds": 60,
            "hosts": ["example.org"], "folders": ["~/Notes"], "sandbox": "open",
        });
        let manual = json!({ "kind": "manual" });
        let fields = |payload: Value| -> Vec<String> {
            let told = told(manual.clone(), payload, policies.clone());
            told.into_iter().map(|(field, _)| field).collect()
        };
        assert_eq!(
            fields(json!({ "kind": "systemEvent", "text": "Tea" })),
            [
                "policies.budget.tokensPerRun",
                "policies.approvals",
                "policies.approvalSeconds",
                "policies.hosts",
                "policies.folders",
                "policies.sandbox",
            ]
        );
        let call = json!({ "kind": "toolCall", "tool": "run_command", "arguments": {} });
        assert_eq!(fields(call), ["policies.approvalSeconds", "policies.sandbox"]);
        let turn = json!({ "kind": "agentTurn", "message": "Look" });
        assert_eq!(fields(turn), ["policies.approvalSeconds"]);
    }

    #[test]
    fn a_time_for_answers_of_a_job_that_asks_nobody_is_warned_of() {
        let turn = json!({ "kind": "agentTurn", "message": "Look" });
        let fields = |approvals: &str| -> Vec<String> {
            let policies = json!({ "approvals": approvals, "approvalSeconds": 60 });
            let told = told(json!({ "kind": "manual" }), turn.clone(), policies);
            told.into_iter().map(|(field, _)| field).collect()
        };
        assert_eq!(fields("deny"), ["policies.approvalSeconds"]);
        assert_eq!(fields("skip"), ["policies.approvalSeconds"]);
        assert_eq!(fields("ask"), [""; 0]);
    }

    #[test]
    fn a_wait_between_attempts_of_which_there_is_one_is_warned_of() {
        let fields = |runtime: Value| -> Vec<String> {
            let document = json!({
                "name": "Tea", "schedule": { "kind": "manual" }, "runtime": runtime,
                "payload": { "kind": "toolCall", "tool": "echo", "arguments": {} },
            });
            let job = job_from_json(document, UnixMs(0), chrono_tz::UTC).expect("a job");
            without_effect(&job, None, UnixMs(0)).into_iter().map(|told| told.field).collect()
        };
        assert_eq!(fields(json!({ "retryBackoffMs": 5_000 })), ["runtime.retryBackoffMs"]);
        assert_eq!(fields(json!({ "retryBackoffMs": 5_000, "maxAttempts": 2 })), [""; 0]);
    }

    #[test]
    fn a_jitter_beyond_the_next_time_is_warned_of_for_a_pattern_too() {
        let echo = json!({ "kind": "toolCall", "tool": "echo", "arguments": {} });
        let cron = |expr: &str, minutes: i64| {
            let schedule = json!({ "kind": "cron", "expr": expr, "jitterMs": minutes * 60_000 });
            told(schedule, echo.clone(), json!({}))
        };
        let what = "Its times are 5 min apart, so a longer jitter spreads it no further.";
        let warning = ("schedule.jitterMs".to_owned(), what.to_owned());
        assert_eq!(cron("*/5 * * * *", 10), [warning]);
        for (expr, minutes) in [("*/5 * * * *", 5), ("0 9,10 * * *", 60), ("0,5 * * * *", 30)] {
            assert_eq!(cron(expr, minutes), [], "{expr}");
        }
    }
}
