//! Settings of a job without effect, because of other settings.
//!
//! Owns a warning per field, also for disabled jobs. `core` refuses settings that can never have an effect; these take effect with
//! another setting.

use rouse_core::UnixMs;
use rouse_core::job::{Approvals, Job, MisfireMode, Overlap, Payload, Sandbox, ScheduleSpec};
use rouse_core::schedule::format_duration;
use rouse_core::slots::Slots;

use super::field_warning::warning;
use crate::wire::JobWarning;

pub(super) const DAY_MS: i64 = 24 * 3_600_000;
/// Number of slots to compare with the cooldown.
const COOLDOWN_SLOTS: usize = 10;
/// Maximum number of slots of a day to compare with the jitter.
const MAX_JITTER_SLOTS: usize = 1_500;

pub(super) fn ineffective_settings(
    job: &Job,
    slots: Option<&Slots>,
    now: UnixMs,
) -> Vec<JobWarning> {
    let warnings = [
        check_max_concurrent(job),
        check_misfire_limit(job),
        check_approval_time(job),
        check_backoff(job),
        check_jitter(job, slots, now),
        check_cooldown(job, slots.and_then(|slots| min_interval(slots, now))),
    ];
    warnings.into_iter().flatten().chain(check_payload_kind(job)).collect()
}

/// Settings for calls of a model, or for calls at all, that this payload never makes.
fn check_payload_kind(job: &Job) -> Vec<JobWarning> {
    let policies = &job.policies;
    let budget = policies.budget.clone().unwrap_or_default();
    let call_settings = [
        ("policies.budget.tokensPerRun", budget.tokens_per_run.is_some()),
        ("policies.budget.tokensPerDay", budget.tokens_per_day.is_some()),
        ("policies.budget.usdPerRun", budget.usd_per_run.is_some()),
        ("policies.budget.usdPerDay", budget.usd_per_day.is_some()),
        ("policies.approvals", policies.approvals != Approvals::Ask),
        ("policies.approvalSeconds", policies.approval_seconds.is_some()),
        ("policies.hosts", !policies.hosts.is_empty()),
        ("policies.folders", !policies.folders.is_empty()),
    ];
    let command_settings = [("policies.sandbox", policies.sandbox == Sandbox::Open)];
    let (ineffective, message) = match job.payload {
        Payload::SystemEvent { .. } => (
            [&call_settings[..], &command_settings[..]].concat(),
            "No effect: a system event makes no calls.",
        ),
        Payload::ToolCall(_) => (
            command_settings.to_vec(),
            "No effect: this setting applies to commands of a model only.",
        ),
        Payload::AgentTurn(_) => return Vec::new(),
    };
    let set = ineffective.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(field, _)| warning(field, message.to_owned())).collect()
}

fn check_max_concurrent(job: &Job) -> Option<JobWarning> {
    let is_ineffective = job.policies.overlap != Overlap::Parallel;
    let message = "No effect unless the overlap policy is `parallel`.";
    job.policies
        .max_concurrent
        .filter(|_| is_ineffective)
        .map(|_| warning("policies.maxConcurrent", message.to_owned()))
}

/// Without system events, which `check_payload_kind` covers.
fn check_approval_time(job: &Job) -> Option<JobWarning> {
    let can_ask = job.policies.approvals == Approvals::Ask;
    let is_ineffective = !can_ask && !matches!(job.payload, Payload::SystemEvent { .. });
    let message = "No effect unless the approval policy is `ask`.";
    job.policies
        .approval_seconds
        .filter(|_| is_ineffective)
        .map(|_| warning("policies.approvalSeconds", message.to_owned()))
}

fn check_backoff(job: &Job) -> Option<JobWarning> {
    let runtime = job.runtime.as_ref()?;
    let is_ineffective = runtime.max_attempts.unwrap_or(1) <= 1;
    let message = "No effect with one attempt; raise `runtime.maxAttempts`.";
    runtime
        .retry_backoff_ms
        .filter(|_| is_ineffective)
        .map(|_| warning("runtime.retryBackoffMs", message.to_owned()))
}

fn check_misfire_limit(job: &Job) -> Option<JobWarning> {
    let misfire = &job.policies.misfire;
    let is_ineffective = misfire.mode != MisfireMode::RunAll;
    let message = "No effect unless the misfire policy is `run-all`.";
    misfire
        .limit
        .filter(|_| is_ineffective)
        .map(|_| warning("policies.misfire.limit", message.to_owned()))
}

fn check_jitter(job: &Job, slots: Option<&Slots>, now: UnixMs) -> Option<JobWarning> {
    let jitter_ms = i64::from(job.schedule.jitter_ms?);
    let (interval, cause) = match &job.schedule.spec {
        ScheduleSpec::Every { every_ms, .. } => {
            (*every_ms, format!("The job fires every {}", format_duration(*every_ms)))
        }
        ScheduleSpec::Cron { .. } => {
            let interval = max_interval(slots?, now)?;
            (interval, format!("The slots are {} apart", format_duration(interval)))
        }
        _ => return None,
    };
    let message = format!("{cause}, so a longer jitter has no further effect.");
    (jitter_ms > interval).then(|| warning("schedule.jitterMs", message))
}

fn check_cooldown(job: &Job, interval: Option<i64>) -> Option<JobWarning> {
    let (cooldown_ms, interval) = (i64::from(job.policies.cooldown_seconds?) * 1_000, interval?);
    let message = format!(
        "The slots are {} apart and the cooldown is {}, so slots within the cooldown are skipped.",
        format_duration(interval),
        format_duration(cooldown_ms)
    );
    (cooldown_ms > interval).then(|| warning("policies.cooldownSeconds", message))
}

/// The longest interval between two slots of the next day.
fn max_interval(slots: &Slots, now: UnixMs) -> Option<i64> {
    let first = slots.next_after(now)?;
    let ahead = std::iter::successors(Some(first), |last| slots.next_after(*last));
    let ahead: Vec<UnixMs> =
        ahead.take_while(|slot| slot.since(first) <= DAY_MS).take(MAX_JITTER_SLOTS).collect();
    ahead.windows(2).map(|pair| pair[1].since(pair[0])).max()
}

/// The shortest interval between two of the next slots.
fn min_interval(slots: &Slots, now: UnixMs) -> Option<i64> {
    let ahead = std::iter::successors(slots.next_after(now), |last| slots.next_after(*last));
    let ahead: Vec<UnixMs> = ahead.take(COOLDOWN_SLOTS).collect();
    ahead.windows(2).map(|pair| pair[1].since(pair[0])).min()
}

#[cfg(test)]
mod tests {
    use rouse_core::job::job_from_json;
    use rouse_core::schedule::Zones;
    use serde_json::{Value, json};

    use super::*;

    /// Fields and messages of the warnings.
    fn warnings_of(schedule: Value, payload: Value, policies: Value) -> Vec<(String, String)> {
        let document = json!({
            "id": "job-1", "name": "Tea", "schedule": schedule, "payload": payload,
            "policies": policies,
        });
        let zones = Zones::built_in(chrono_tz::UTC);
        let job = job_from_json(document, UnixMs(0), zones.clone()).expect("a job");
        let slots = Slots::of_job(&job.schedule, &job.id, job.created_at, &zones).ok();
        let warnings = ineffective_settings(&job, slots.as_ref(), UnixMs(1_795_415_400_000));
        warnings.into_iter().map(|warning| (warning.field, warning.message)).collect()
    }

    #[test]
    fn settings_of_another_payload_kind_are_reported() {
        let policies = json!({
            "budget": { "tokensPerRun": 5 }, "approvals": "deny", "approvalSeconds": 60,
            "hosts": ["example.org"], "folders": ["~/Notes"], "sandbox": "open",
        });
        let manual = json!({ "kind": "manual" });
        let fields = |payload: Value| -> Vec<String> {
            let warnings = warnings_of(manual.clone(), payload, policies.clone());
            warnings.into_iter().map(|(field, _)| field).collect()
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
    fn approval_time_without_approvals_is_reported() {
        let turn = json!({ "kind": "agentTurn", "message": "Look" });
        let fields = |approvals: &str| -> Vec<String> {
            let policies = json!({ "approvals": approvals, "approvalSeconds": 60 });
            let warnings = warnings_of(json!({ "kind": "manual" }), turn.clone(), policies);
            warnings.into_iter().map(|(field, _)| field).collect()
        };
        assert_eq!(fields("deny"), ["policies.approvalSeconds"]);
        assert_eq!(fields("skip"), ["policies.approvalSeconds"]);
        assert_eq!(fields("ask"), [""; 0]);
    }

    #[test]
    fn backoff_with_one_attempt_is_reported() {
        let fields = |runtime: Value| -> Vec<String> {
            let document = json!({
                "name": "Tea", "schedule": { "kind": "manual" }, "runtime": runtime,
                "payload": { "kind": "toolCall", "tool": "echo", "arguments": {} },
            });
            let job = job_from_json(document, UnixMs(0), chrono_tz::UTC).expect("a job");
            ineffective_settings(&job, None, UnixMs(0))
                .into_iter()
                .map(|warning| warning.field)
                .collect()
        };
        assert_eq!(fields(json!({ "retryBackoffMs": 5_000 })), ["runtime.retryBackoffMs"]);
        assert_eq!(fields(json!({ "retryBackoffMs": 5_000, "maxAttempts": 2 })), [""; 0]);
    }

    #[test]
    fn jitter_longer_than_the_interval_is_reported() {
        let echo = json!({ "kind": "toolCall", "tool": "echo", "arguments": {} });
        let cron = |expr: &str, minutes: i64| {
            let schedule = json!({ "kind": "cron", "expr": expr, "jitterMs": minutes * 60_000 });
            warnings_of(schedule, echo.clone(), json!({}))
        };
        let message = "The slots are 5 min apart, so a longer jitter has no further effect.";
        let warning = ("schedule.jitterMs".to_owned(), message.to_owned());
        assert_eq!(cron("*/5 * * * *", 10), [warning]);
        for (expr, minutes) in [("*/5 * * * *", 5), ("0 9,10 * * *", 60), ("0,5 * * * *", 30)] {
            assert_eq!(cron(expr, minutes), [], "{expr}");
        }
    }
}
