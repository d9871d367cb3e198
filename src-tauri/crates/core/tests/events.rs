//! Event triggers: validation, and the jobs that an event fires.

use proptest::prelude::*;
use rouse_core::cause::{Cause, event_fields};
use rouse_core::job::{
    EventTrigger, Job, JobError, ScheduleSpec, imported_job_from_json, job_from_json, patch_job,
    to_json,
};
use rouse_core::{JobId, Run, RunId, RunState, RunTrigger, UnixMs};
use serde_json::{Value, json};

const NOW: UnixMs = UnixMs(1_795_262_400_000);

fn draft(schedule: Value) -> Value {
    json!({
        "id": "listener", "name": "Listener", "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "echo" }
    })
}

fn job(schedule: Value) -> Job {
    job_from_json(draft(schedule), NOW, chrono_tz::UTC).expect("a job")
}

fn complaints(schedule: Value) -> Vec<String> {
    let refused = job_from_json(draft(schedule), NOW, chrono_tz::UTC).expect_err("refused");
    refused.0.iter().map(ToString::to_string).collect()
}

fn trigger(schedule: Value) -> EventTrigger {
    match job(schedule).schedule.spec {
        ScheduleSpec::Event(trigger) => trigger,
        other => panic!("no event trigger: {other:?}"),
    }
}

fn run_of(job: &str) -> Run {
    Run {
        job_id: Some(JobId::new(job)),
        job_name: format!("The {job}"),
        state: RunState::Running,
        started_at: Some(NOW),
        attempt: 1,
        ..Run::queued(RunId::new(format!("run of {job}")), RunTrigger::Manual, NOW)
    }
}

fn end_of(job: &str, state: RunState, before: Option<&Cause>) -> Cause {
    Cause::end_of_run(&run_of(job), state, Some("Done."), before, NOW).expect("a job's run")
}

fn fires(schedule: Value, cause: &Cause) -> bool {
    cause.matches(&trigger(schedule), &JobId::new("listener"))
}

fn after(filters: Value) -> Value {
    json!({ "kind": "event", "source": "job", "filters": filters })
}

#[test]
fn trigger_round_trip_keeps_unknown_keys() {
    for schedule in [
        json!({ "kind": "event", "source": "wake" }),
        json!({ "kind": "event", "source": "webhook", "pattern": "(?i)urgent", "filters": { "type": "x", "n": 1.5, "b": true }, "theirs": [1] }),
        json!({ "kind": "event", "source": "job", "filters": { "jobId": "other", "status": "ok" } }),
        json!({ "kind": "webhook", "theirs": { "a": null } }),
    ] {
        let job = job(schedule.clone());
        assert_eq!(to_json(&job)["schedule"], schedule);
        assert_eq!(job_from_json(to_json(&job), NOW, chrono_tz::UTC), Ok(job));
    }
}

/// A file may list a job with an event of another program; such a job can be kept and changed, but not enabled.
#[test]
fn imported_job_with_unknown_source_stays_disabled() {
    let mut file = draft(json!({ "kind": "event", "source": "github" }));
    file["enabled"] = json!(false);
    let job = imported_job_from_json(file, NOW, chrono_tz::UTC).expect("kept");
    let patch = |patch: Value| patch_job(&job, patch, NOW, chrono_tz::UTC);
    let renamed = patch(json!({ "name": "Pushes" })).expect("disabled");
    assert_eq!(to_json(&renamed)["schedule"]["source"], "github");
    let message = |refused: Result<Job, JobError>| refused.expect_err("refused").to_string();
    let on = message(patch(json!({ "enabled": true })));
    assert!(on.contains("schedule.source: expected one of job"), "{on}");
    let other = patch(json!({ "schedule": { "source": "gitlab" } })).expect("disabled");
    assert_eq!(to_json(&other)["schedule"]["source"], "gitlab");
    let mended = patch(json!({ "enabled": true, "schedule": { "source": "wake" } }));
    assert!(mended.expect("possible").enabled);
    let mut on = draft(json!({ "kind": "event", "source": "github" }));
    on["enabled"] = json!(true);
    let on = message(imported_job_from_json(on, NOW, chrono_tz::UTC));
    assert!(on.contains("found `github`"), "{on}");
}

#[test]
fn invalid_trigger_is_reported_by_its_path() {
    let table = [
        (json!({ "kind": "event" }), "schedule.source: is required"),
        (json!({ "kind": "event", "source": " " }), "schedule.source: must not be empty"),
        (json!({ "kind": "event", "source": 1 }), "schedule.source: expected a text"),
        (
            json!({ "kind": "event", "source": "gihtub" }),
            "schedule.source: expected one of job, cron, wake, webhook, found `gihtub`: no event ever comes from there",
        ),
        (json!({ "kind": "event", "source": "Wake" }), "schedule.source: expected one of job"),
        (
            json!({ "kind": "event", "source": "wake", "pattern": "(" }),
            "schedule.pattern: is no regular expression: unclosed group",
        ),
        (
            json!({ "kind": "event", "source": "wake", "pattern": r"(a)\1" }),
            "schedule.pattern: is no regular expression: backreferences are not supported",
        ),
        (
            json!({ "kind": "event", "source": "wake", "pattern": "(?:a{1000}){1000}" }),
            "schedule.pattern: is too large when compiled",
        ),
        (
            json!({ "kind": "event", "source": "wake", "pattern": "a".repeat(1_001) }),
            "schedule.pattern: must be at most 1,000 characters",
        ),
        (
            json!({ "kind": "event", "source": "wake", "filters": [] }),
            "schedule.filters: expected an object",
        ),
        (
            json!({ "kind": "event", "source": "wake", "filters": { "a": [] } }),
            "schedule.filters.a: expected a text, a number or true or false, found a list",
        ),
        (
            json!({ "kind": "event", "source": "wake", "filters": { "a": null } }),
            "schedule.filters.a: expected a text, a number or true or false, found nothing",
        ),
        (
            after(json!({ "status": "fine" })),
            "schedule.filters.status: expected ok, error, skipped",
        ),
        (
            after(json!({ "status": "running" })),
            "schedule.filters.status: expected ok, error, skipped",
        ),
        (after(json!({ "jobId": "listener" })), "schedule.filters.jobId: names the job itself"),
        (after(json!({ "name": "Listener" })), "schedule.filters.name: names the job itself"),
        (
            json!({ "kind": "soon" }),
            "schedule.kind: expected one of at, every, cron, event, webhook, manual",
        ),
    ];
    for (schedule, complaint) in table {
        let messages = complaints(schedule.clone());
        assert!(
            messages.iter().any(|message| message.starts_with(complaint)),
            "{complaint}\n{messages:?}"
        );
        assert_eq!(messages.len(), 1, "{messages:?}");
    }
    let many: serde_json::Map<_, _> = (0..21).map(|n| (n.to_string(), json!(n))).collect();
    let messages = complaints(json!({ "kind": "event", "source": "wake", "filters": many }));
    assert_eq!(messages, ["schedule.filters: must be at most 20 fields"]);
}

#[test]
fn job_with_an_invalid_stored_pattern_is_readable() {
    let mut stored = draft(json!({ "kind": "event", "source": "wake", "pattern": "(" }));
    stored["createdAtMs"] = json!(1);
    assert!(rouse_core::job::stored_job_from_json(stored).is_ok());
}

#[test]
fn job_cannot_be_renamed_into_its_own_cause() {
    let job = job(after(json!({ "name": "Other" })));
    let refused = patch_job(&job, json!({ "name": "Other" }), NOW, chrono_tz::UTC);
    assert_eq!(refused.expect_err("refused").0[0].path, "schedule.filters.name");
}

#[test]
fn finished_run_fires_by_job_and_status() {
    use RunState::{Cancelled, Failed, Interrupted, NothingToReport, Skipped, Succeeded, TimedOut};
    let ends = [Succeeded, NothingToReport, Failed, TimedOut, Interrupted, Skipped, Cancelled];
    let heard = |filters: Value| -> Vec<RunState> {
        let schedule = after(filters);
        ends.into_iter().filter(|end| fires(schedule.clone(), &end_of("a", *end, None))).collect()
    };
    assert_eq!(heard(json!({ "jobId": "a", "status": "ok" })), [Succeeded, NothingToReport]);
    assert_eq!(
        heard(json!({ "name": "The a", "status": "error" })),
        [Failed, TimedOut, Interrupted]
    );
    assert_eq!(heard(json!({ "jobId": "a", "status": "skipped" })), [Skipped, Cancelled]);
    assert_eq!(heard(json!({ "jobId": "a", "status": "timedOut" })), [TimedOut]);
    assert_eq!(heard(json!({ "jobId": "a", "state": "cancelled" })), [Cancelled]);
    assert_eq!(heard(json!({ "jobId": "a" })).len(), 5, "a skipped run matches an explicit filter");
    assert_eq!(heard(json!({ "jobId": "b" })), []);
    assert_eq!(heard(json!({ "type": "finished", "runId": "run of a" })).len(), 5);
}

#[test]
fn only_the_named_source_fires() {
    let wake = Cause::wake("tea", NOW);
    assert!(fires(json!({ "kind": "event", "source": "wake" }), &wake));
    assert!(fires(
        json!({ "kind": "event", "source": "wake", "filters": { "type": "wake" } }),
        &wake
    ));
    assert!(!fires(json!({ "kind": "event", "source": "webhook" }), &wake));
    assert!(!fires(
        json!({ "kind": "event", "source": "wake", "filters": { "mode": "now" } }),
        &wake
    ));
}

#[test]
fn plain_body_values_are_fields_but_not_the_job() {
    let hook = job(json!({ "kind": "webhook" }));
    let body = r#"{"type":"push","n":3,"ok":true,"jobId":"else","deep":{"n":1},"list":[1]}"#;
    let cause = Cause::webhook(&hook, body, NOW);
    assert_eq!(
        Value::Object(cause.fields.clone()),
        json!({ "type": "push", "n": 3, "ok": true, "jobId": "listener", "name": "Listener" })
    );
    let listens = |filters: Value| {
        let schedule = json!({ "kind": "event", "source": "webhook", "filters": filters });
        cause.matches(&trigger(schedule), &JobId::new("other"))
    };
    assert!(listens(json!({ "n": 3.0, "ok": true })));
    assert!(!listens(json!({ "n": "3" })) && !listens(json!({ "n": 4 })));
    assert_eq!(Cause::webhook(&hook, "plain", NOW).fields["type"], "call");
}

#[test]
fn every_event_has_the_fields_of_its_source() {
    let line = Cause::system_event_of_run(&run_of("a"), "Look", None, NOW).expect("a job's run");
    for cause in [end_of("a", RunState::Failed, None), line, Cause::wake("Up", NOW)] {
        let mut promised = event_fields(&cause.source).expect("known").to_vec();
        let mut found: Vec<&str> = cause.fields.keys().map(String::as_str).collect();
        promised.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, promised, "{}", cause.source);
    }
    assert_eq!(event_fields("webhook"), None);
}

#[test]
fn cause_carries_its_chain() {
    let first = end_of("a", RunState::Succeeded, None);
    let second = end_of("b", RunState::Succeeded, Some(&first));
    assert_eq!(second.chain, [JobId::new("a"), JobId::new("b")]);
    assert_eq!(Cause::from_json(&second.to_json()), Some(second));
}

#[test]
fn listener_to_all_jobs_ignores_its_own_events() {
    let any = || after(json!({}));
    assert!(fires(any(), &end_of("a", RunState::Succeeded, None)));
    let own = end_of("listener", RunState::Succeeded, None);
    assert!(!fires(any(), &own));
    let set_off = end_of("a", RunState::Succeeded, Some(&own));
    assert!(!fires(any(), &set_off));
    assert!(fires(after(json!({ "jobId": "a" })), &set_off), "a listener with a job id continues");
}

#[test]
fn trigger_is_described_in_words() {
    let words = |schedule: Value| job(schedule).schedule.spec.describe(&chrono_tz::UTC.into());
    assert_eq!(words(json!({ "kind": "webhook" })), "When the webhook is called");
    assert_eq!(words(after(json!({ "jobId": "a", "status": "ok" }))), "After a succeeds");
    assert_eq!(words(after(json!({ "name": "Backup" }))), "After Backup ends");
    assert_eq!(words(after(json!({ "status": "error" }))), "After any job fails");
    assert_eq!(
        words(
            json!({ "kind": "event", "source": "wake", "pattern": "tea", "filters": { "type": "wake" } })
        ),
        "On a wake event with type = wake whose text matches tea"
    );
    let faked = json!({ "kind": "event", "source": "wake", "pattern": "a\nb", "filters": { "k\nx": "v\ty" } });
    assert_eq!(
        words(faked),
        "On a wake event with k⟨U+000A⟩x = v⟨U+0009⟩y whose text matches a⟨U+000A⟩b"
    );
    let named = trigger(after(json!({ "jobId": "a", "status": "timedOut" })));
    assert_eq!(named.describe_after("Backup"), "After Backup runs out of time");
}

proptest! {
    #[test]
    fn filters_are_exact(wanted in any::<i32>(), found in any::<i32>()) {
        let hook = job(json!({ "kind": "webhook" }));
        let cause = Cause::webhook(&hook, &json!({ "n": found }).to_string(), NOW);
        let schedule = json!({ "kind": "event", "source": "webhook", "filters": { "n": wanted } });
        prop_assert_eq!(cause.matches(&trigger(schedule), &JobId::new("other")), wanted == found);
    }

    #[test]
    fn no_job_ever_fires_on_itself(state in 3_usize..11, filters in prop::bool::ANY) {
        let states = [
            RunState::Queued, RunState::Running, RunState::AwaitingApproval, RunState::Succeeded,
            RunState::NothingToReport, RunState::Failed, RunState::TimedOut, RunState::Cancelled,
            RunState::Skipped, RunState::Missed, RunState::Interrupted,
        ];
        let filters = if filters { json!({ "state": states[state].name() }) } else { json!({}) };
        prop_assert!(!fires(after(filters), &end_of("listener", states[state], None)));
    }
}

#[test]
fn event_json_for_a_program_is_bounded() {
    let now = UnixMs(0);
    let small: Value =
        serde_json::from_str(&Cause::wake("Hello\0 you", now).to_bounded_json()).unwrap();
    assert_eq!(small["source"], "wake");
    assert_eq!(
        (&small["text"], &small["fields"]["type"]),
        (&json!("Hello\u{fffd} you"), &json!("wake"))
    );
    for text in ["ä".repeat(60_000), "\"\n".repeat(30_000), "\u{1}".repeat(50_000)] {
        let event = Cause::wake(&text, now).to_bounded_json();
        assert!(event.len() <= 30_000 && event.len() > 25_000, "{}", event.len());
        let read: Value = serde_json::from_str(&event).unwrap();
        assert!(text.starts_with(read["text"].as_str().unwrap()));
    }
}
