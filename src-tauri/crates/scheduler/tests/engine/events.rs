//! Events, webhooks and chains of jobs: each fires once, across a crash as well, and chains end.

use rouse_core::event::Event;
use rouse_core::job::{Job, stored_job_from_json};
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger};
use rouse_scheduler::{ManualRunMode, WebhookOutcome, WebhookRequest};
use serde_json::{Value, json};

use crate::stage::{MINUTE, SECOND, ScriptedRun, Stage, every};

fn named(id: &str, schedule: Value, policies: Value) -> Value {
    every(SECOND, json!({ "id": id, "name": id, "schedule": schedule, "policies": policies }))
}

fn manual_job(id: &str) -> Value {
    named(id, json!({ "kind": "manual" }), json!({}))
}

fn follow_up(id: &str, filters: Value) -> Value {
    named(id, json!({ "kind": "event", "source": "job", "filters": filters }), json!({}))
}

fn webhook_job(id: &str, policies: Value) -> Value {
    named(id, json!({ "kind": "webhook" }), policies)
}

fn call(id: &str, body: &str, key: Option<&str>) -> WebhookRequest {
    WebhookRequest { job_id: JobId::new(id), body: body.to_owned(), key: key.map(str::to_owned) }
}

/// Starts a manual run.
async fn start_run(stage: &Stage, job: &Job) -> ScriptedRun {
    stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    stage.begun.next().await
}

async fn only_run(stage: &Stage, job: &Job) -> Run {
    let mut runs = stage.runs_of(&job.id).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

/// Ends a run with success, and waits until the effects are recorded.
async fn succeed(stage: &Stage, begun: ScriptedRun) {
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    stage.settle().await;
}

fn fired(called: WebhookOutcome) -> RunId {
    match called {
        WebhookOutcome::Fired { run_id, reason: None } => run_id,
        other => panic!("the webhook did not fire: {other:?}"),
    }
}

#[tokio::test]
async fn follow_up_job_gets_error_before_summary() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    stage.add(follow_up("second", json!({ "jobId": "first", "status": "error" }))).await;
    let summary = Some("I look at the disks.".to_owned());
    let failed = Outcome { summary, ..Outcome::failed("The network is down.") };
    start_run(&stage, &first).await.end(failed);
    let follower = stage.begun.next().await;
    let cause = stage.store.cause(&follower.run.id).await.expect("read").expect("a cause");
    assert_eq!(cause.text, "The network is down.\nI look at the disks.");
}

#[tokio::test]
async fn follow_up_job_runs_after_its_source() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    let second = stage.add(follow_up("second", json!({ "jobId": "first", "status": "ok" }))).await;
    let on_failure =
        stage.add(follow_up("third", json!({ "name": "first", "status": "error" }))).await;
    let work = start_run(&stage, &first).await;
    let cause_run = work.run.id.clone();
    work.end(Outcome::succeeded("All is saved."));
    let follower = stage.begun.next().await;
    assert_eq!(
        (follower.run.job_id.as_ref(), follower.run.trigger, follower.run.slot_at),
        (Some(&second.id), RunTrigger::Event, None)
    );
    let cause = stage.store.cause(&follower.run.id).await.expect("read").expect("a cause");
    assert_eq!((cause.source.as_str(), cause.text.as_str()), ("job", "All is saved."));
    assert_eq!(cause.fields["runId"], cause_run.as_str());
    assert_eq!(cause.chain, std::slice::from_ref(&first.id));
    succeed(&stage, follower).await;
    assert!(stage.runs_of(&on_failure.id).await.is_empty());

    start_run(&stage, &first).await.end(Outcome::failed("The disk is full."));
    let follower = stage.begun.next().await;
    assert_eq!(follower.run.job_id.as_ref(), Some(&on_failure.id));
    follower.succeed();
}

#[tokio::test]
async fn crash_between_source_and_follow_up_loses_no_run() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    let second = stage.add(follow_up("second", json!({ "jobId": "first" }))).await;
    let work = start_run(&stage, &first).await;
    let id = work.run.id.clone();
    work.succeed();
    let started = stage.begun.next().await;
    // The same transaction has both: a reader that sees the first end sees the second run.
    assert_eq!(stage.run(&id).await.state, RunState::Succeeded);
    drop(started);
    let stage = stage.killed_for(MINUTE).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.job_id.as_ref(), Some(&second.id));
    assert_eq!(again.run.trigger, RunTrigger::CatchUp, "the first attempt was cut off");
    let cause = stage.store.cause(&again.run.id).await.expect("read").expect("the same cause");
    assert_eq!(cause.fields["runId"], id.as_str());
    succeed(&stage, again).await;
    assert_eq!(
        stage.states_of(&second).await,
        [RunState::Interrupted, RunState::Succeeded],
        "{:?}",
        stage.runs_of(&second.id).await
    );
}

#[tokio::test]
async fn follow_up_queued_at_a_kill_starts_once() {
    let stage = Stage::with_permits(1).await;
    let first = stage.add(manual_job("first")).await;
    let other = stage.add_hook("other").await;
    let second = stage.add(follow_up("second", json!({ "jobId": "first" }))).await;
    let work = start_run(&stage, &first).await;
    stage.fire(&other).await;
    let in_the_way = stage.begun.next().await;
    succeed(&stage, work).await;
    assert_eq!(in_the_way.run.job_id.as_ref(), Some(&other.id));
    assert_eq!(only_run(&stage, &second).await.state, RunState::Queued);
    drop(in_the_way);
    let stage = stage.killed_for(MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&second.id).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    for _ in 0..2 {
        let next = stage.begun.next().await;
        succeed(&stage, next).await;
    }
    assert_eq!(stage.states_of(&second).await, [RunState::Succeeded]);
}

#[tokio::test]
async fn follow_up_fired_at_start_replaces_a_queued_run() {
    let stage = Stage::with_permits(1).await;
    let mut first = manual_job("first");
    first["policies"] = json!({ "misfire": { "mode": "skip" } });
    let first = stage.add(first).await;
    let other = stage.add_hook("other").await;
    let mut second = follow_up("second", json!({ "jobId": "first" }));
    second["policies"] = json!({ "overlap": "cancelOther" });
    let second = stage.add(second).await;
    let work = start_run(&stage, &first).await;
    stage.fire(&other).await;
    let _in_the_way = stage.begun.next().await;
    stage.handle.run_now(&first.id, ManualRunMode::Force).await.expect("taken");
    work.succeed();
    let _cut_off = stage.begun.next().await;
    let waited = only_run(&stage, &second).await;
    assert_eq!(waited.state, RunState::Queued);
    let stage = stage.killed_for(SECOND).await;
    stage.settle().await;
    let runs = stage.runs_of(&second.id).await;
    let of_waited = runs.iter().find(|run| run.id == waited.id).expect("there");
    assert_eq!((runs.len(), of_waited.state), (2, RunState::Cancelled), "{runs:#?}");
}

#[tokio::test]
async fn interrupted_source_fires_with_its_catch_up_run() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    let second = stage.add(follow_up("second", json!({ "jobId": "first" }))).await;
    drop(start_run(&stage, &first).await);
    let stage = stage.killed_for(SECOND).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.job_id.as_ref(), Some(&first.id));
    assert!(stage.runs_of(&second.id).await.is_empty(), "the work is not over yet");
    again.succeed();
    assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&second.id));

    let mut left = manual_job("left");
    left["policies"] = json!({ "misfire": { "mode": "skip" } });
    let left = stage.add(left).await;
    let third =
        stage.add(follow_up("third", json!({ "jobId": "left", "status": "interrupted" }))).await;
    drop(start_run(&stage, &left).await);
    let stage = stage.killed_for(SECOND).await;
    stage.settle().await;
    assert_eq!(only_run(&stage, &third).await.trigger, RunTrigger::Event);
}

#[tokio::test]
async fn two_jobs_in_a_loop_stop_at_the_chain_limit() {
    let stage = Stage::new().await;
    let ping = stage.add(follow_up("ping", json!({ "jobId": "pong" }))).await;
    let pong = stage.add(follow_up("pong", json!({ "jobId": "ping" }))).await;
    start_run(&stage, &ping).await.succeed();
    for _ in 0..8 {
        let next = stage.begun.next().await;
        succeed(&stage, next).await;
    }
    let last = stage.runs_of(&pong.id).await.pop().expect("runs");
    assert_eq!(last.state, RunState::Skipped);
    let reason = last.reason.expect("a reason");
    assert_eq!(reason, "Skipped at the end of a chain of 9 jobs that fired each other");
    let all = stage.runs_of(&ping.id).await.len() + stage.runs_of(&pong.id).await.len();
    assert_eq!((all, stage.load().await), (10, (0, 0)));
}

#[tokio::test]
async fn loop_of_skipped_jobs_ends() {
    let stage = Stage::new().await;
    let slow = stage.add(every(MINUTE, json!({ "id": "slow", "name": "slow" }))).await;
    for (id, before) in [("a", "slow"), ("b", "a"), ("c", "b")] {
        stage.add(follow_up(id, json!({ "jobId": before, "status": "skipped" }))).await;
    }
    let back = follow_up("d", json!({ "status": "skipped" }));
    stage.add(back).await;
    stage.pass(MINUTE).await;
    let work = stage.begun.next().await;
    stage.pass(MINUTE).await;
    stage.settle().await;
    assert_eq!(stage.states_of(&slow).await, [RunState::Running, RunState::Skipped]);
    for _ in 0..2 {
        let next = stage.begun.next().await;
        assert_eq!(next.run.trigger, RunTrigger::Event);
        let cause = stage.store.cause(&next.run.id).await.expect("read").expect("a cause");
        assert_eq!(cause.fields["status"], "skipped");
        assert_eq!(cause.text, "The previous run was still running");
    }
    work.succeed();
}

/// Twelve jobs in every possible order would be half a billion rows.
#[tokio::test]
async fn crowd_that_matches_any_skip_gets_one_row_each() {
    let stage = Stage::new().await;
    let mut crowd = Vec::new();
    for number in 0..12 {
        let id = format!("listener-{number}");
        crowd.push(stage.add(follow_up(&id, json!({ "status": "skipped" }))).await);
    }
    let source =
        stage.add(named("source", json!({ "kind": "every", "everyMs": SECOND }), json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    stage.pass(SECOND).await;
    assert_eq!(stage.states_of(&source).await, [RunState::Skipped]);
    for job in &crowd {
        assert_eq!(stage.states_of(job).await, [RunState::Skipped], "{}", job.id);
    }
    stage.pass(SECOND).await;
    for job in &crowd {
        assert_eq!(stage.states_of(job).await.len(), 2, "{}", job.id);
    }
}

#[tokio::test]
async fn crowd_that_matches_any_job_runs_once_per_source() {
    let stage = Stage::new().await;
    let mut crowd = Vec::new();
    for number in 0..4 {
        let queue = json!({ "overlap": "queue" });
        let schedule = json!({ "kind": "event", "source": "job", "filters": { "status": "ok" } });
        crowd.push(stage.add(named(&format!("listener-{number}"), schedule, queue)).await);
    }
    let first = stage.add(manual_job("first")).await;
    let work = start_run(&stage, &first).await;
    succeed(&stage, work).await;
    for _ in &crowd {
        let work = stage.begun.next().await;
        succeed(&stage, work).await;
    }
    assert!(stage.begun.take_all().is_empty(), "the jobs fire each other");
    for job in &crowd {
        assert_eq!(stage.states_of(job).await, [RunState::Succeeded], "{}", job.id);
    }
}

/// A follow-up of a job does not fire triggers for all jobs again.
#[tokio::test]
async fn any_job_trigger_ignores_runs_it_caused() {
    let stage = Stage::new().await;
    let queue = json!({ "overlap": "queue" });
    let any = json!({ "kind": "event", "source": "job", "filters": { "status": "ok" } });
    let mut watchers = Vec::new();
    for id in ["watcher-1", "watcher-2"] {
        watchers.push(stage.add(named(id, any.clone(), queue.clone())).await);
    }
    let first = stage.add(manual_job("first")).await;
    stage.add(follow_up("second", json!({ "jobId": "first" }))).await;
    stage.add(follow_up("third", json!({ "jobId": "second" }))).await;
    stage.add(follow_up("behind", json!({ "jobId": "watcher-1" }))).await;
    let mut work = vec![start_run(&stage, &first).await];
    let mut ran = Vec::new();
    while let Some(next) = work.pop() {
        ran.push(next.run.job_id.as_ref().expect("a job's").as_str().to_owned());
        succeed(&stage, next).await;
        work.extend(stage.begun.take_all());
    }
    ran.sort();
    let each = |id: &str, times: usize| vec![id.to_owned(); times];
    let expected = [
        each("behind", 3),
        each("first", 1),
        each("second", 1),
        each("third", 1),
        each("watcher-1", 3),
        each("watcher-2", 3),
    ];
    assert_eq!(ran, expected.concat());
}

#[tokio::test]
async fn cancelled_queued_run_fires_follow_ups() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    let on_skip =
        stage.add(follow_up("told", json!({ "jobId": "first", "status": "skipped" }))).await;
    let on_state =
        stage.add(follow_up("exact", json!({ "jobId": "first", "state": "cancelled" }))).await;
    let plain = stage.add(follow_up("plain", json!({ "jobId": "first" }))).await;
    let busy = start_run(&stage, &first).await;
    let waiting = stage.handle.run_now(&first.id, ManualRunMode::Force).await.expect("taken");
    let waiting = waiting.expect("a run");
    drop(stage.events.take_all());
    assert!(stage.handle.cancel(&waiting, "Cancelled by you").await.expect("an answer"));
    let events = stage.events.take_all();
    let finished = events.iter().find(|event| event.data["action"] == "finished").expect("an end");
    assert_eq!(
        (&finished.data["runId"], &finished.data["status"]),
        (&json!(waiting), &json!("skipped"))
    );
    for job in [&on_skip, &on_state] {
        let run = only_run(&stage, job).await;
        assert_eq!(run.trigger, RunTrigger::Event);
        let cause = stage.store.cause(&run.id).await.expect("read").expect("a cause");
        assert_eq!(cause.text, "Cancelled by you");
        assert_eq!(
            (&cause.fields["runId"], &cause.fields["status"], &cause.fields["state"]),
            (&json!(waiting), &json!("skipped"), &json!("cancelled"))
        );
    }
    assert!(stage.runs_of(&plain.id).await.is_empty(), "the run did no work");
    for _ in 0..2 {
        stage.begun.next().await.succeed();
    }
    assert!(!stage.handle.cancel(&waiting, "Twice").await.expect("an answer"));
    busy.succeed();
}

#[tokio::test]
async fn pause_skips_a_follow_up_with_reason() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    let second = stage.add(follow_up("second", json!({ "jobId": "first" }))).await;
    let work = start_run(&stage, &first).await;
    stage.handle.pause(None).await.expect("paused");
    succeed(&stage, work).await;
    let run = only_run(&stage, &second).await;
    assert_eq!(
        (run.state, run.reason.as_deref()),
        (RunState::Skipped, Some("Everything was paused"))
    );
    assert_eq!(run.trigger, RunTrigger::Event);
    stage.handle.resume().await.expect("resumed");
    stage.pass(MINUTE).await;
    assert_eq!(stage.runs_of(&second.id).await.len(), 1, "no old event fires");
}

#[tokio::test]
async fn disabled_job_matches_no_event() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    let second = stage.add(follow_up("second", json!({ "jobId": "first" }))).await;
    let off = json!({ "enabled": false });
    stage.handle.update_job(&second.id, off, None).await.expect("switched off");
    succeed(&stage, start_run(&stage, &first).await).await;
    assert!(stage.runs_of(&second.id).await.is_empty());
    let on = json!({ "enabled": true });
    stage.handle.update_job(&second.id, on, None).await.expect("switched on");
    stage.pass(MINUTE).await;
    assert!(
        stage.runs_of(&second.id).await.is_empty(),
        "no run for an end before the job was enabled"
    );
    start_run(&stage, &first).await.succeed();
    stage.begun.next().await.succeed();
}

#[tokio::test]
async fn follow_up_has_its_own_overlap_policy() {
    let stage = Stage::new().await;
    let mut document = manual_job("first");
    document["policies"] = json!({ "overlap": "parallel", "maxConcurrent": 3 });
    let first = stage.add(document).await;
    let second = stage.add(follow_up("second", json!({ "jobId": "first" }))).await;
    start_run(&stage, &first).await.succeed();
    let busy = stage.begun.next().await;
    succeed(&stage, start_run(&stage, &first).await).await;
    assert_eq!(stage.states_of(&second).await, [RunState::Running, RunState::Skipped]);
    busy.succeed();
}

#[tokio::test]
async fn wake_fires_jobs_with_matching_pattern() {
    let stage = Stage::new().await;
    let listens = |id: &str, pattern: &str| {
        let schedule = json!({ "kind": "event", "source": "wake", "pattern": pattern });
        named(id, schedule, json!({}))
    };
    let tea = stage.add(listens("tea", "(?i)\\btea\\b")).await;
    let coffee = stage.add(listens("coffee", "coffee")).await;
    stage.handle.queue_wake("Your TEA is ready").await.expect("queued");
    let run = stage.begun.next().await;
    assert_eq!(run.run.job_id.as_ref(), Some(&tea.id));
    run.succeed();
    assert_eq!(stage.store.pending_system_events(1_000).await.expect("read").len(), 1);
    assert!(stage.runs_of(&coffee.id).await.is_empty());
    let patch = json!({ "schedule": { "pattern": "ready" } });
    stage.handle.update_job(&coffee.id, patch, None).await.expect("changed");
    stage.handle.queue_wake("ready").await.expect("queued");
    assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&coffee.id));
}

/// A job of an earlier version, or of a damaged file, which `Stage::add` would refuse.
async fn stored_job_with_pattern(stage: &Stage, id: &str, pattern: &str) -> Job {
    let schedule = json!({ "kind": "event", "source": "wake", "pattern": pattern });
    let job = stored_job_from_json(named(id, schedule, json!({}))).expect("a stored job");
    stage.store.insert_job(&job, stage.now()).await.expect("inserted");
    job
}

#[tokio::test]
async fn invalid_pattern_pauses_its_job_once() {
    for (pattern, words) in
        [(r"(?:\w{1,100}){1,9}z", "too large when compiled"), ("tea(", "unclosed group")]
    {
        let stage = Stage::new().await;
        let job = stored_job_with_pattern(&stage, "old", pattern).await;
        let tea = json!({ "kind": "event", "source": "wake", "pattern": "tea" });
        let tea = stage.add(named("tea", tea, json!({ "overlap": "parallel" }))).await;
        stage.handle.queue_wake("tea").await.expect("queued");
        assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&tea.id), "others match");
        stage.handle.queue_wake("more tea").await.expect("queued");
        assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&tea.id));
        // The first event may precede the compilation, and is then skipped; the second follows the compilation.
        let runs = stage.runs_of(&job.id).await;
        let (failed, skipped): (Vec<&Run>, Vec<&Run>) =
            runs.iter().partition(|run| run.state == RunState::Failed);
        assert!(failed.len() == 1 && skipped.len() <= 1, "{runs:#?}");
        let error = failed[0].error.as_deref().unwrap_or_default();
        assert!(error.contains(words) && error.contains("switch the job on again"), "{error}");
        for run in &skipped {
            let reason = run.reason.as_deref().unwrap_or_default();
            assert!(run.state == RunState::Skipped && reason.contains(words), "{run:?}");
        }
        let incidents = stage.store.open_incidents(Some(&job.id)).await.expect("incidents");
        assert_eq!(incidents.len(), 1, "{incidents:?}");
        assert!(incidents[0].paused_because.as_deref().is_some_and(|why| why.contains(words)));
        let deliveries = stage.store.deliveries_of(&failed[0].id).await.expect("read");
        assert_eq!(deliveries.len(), 1, "one notification");
    }
}

#[tokio::test]
async fn stored_invalid_pattern_is_found_at_start() {
    let stage = Stage::new().await;
    // The first process has read the triggers; the second must find the new trigger.
    stage.settle().await;
    let old = stored_job_with_pattern(&stage, "old", "tea(").await;
    let good = stored_job_with_pattern(&stage, "good", "tea").await;
    let stage = stage.killed_for(SECOND).await;
    let is_end = |event: &Event| event.data["jobId"] == "old" && event.data["state"] == "failed";
    stage.events.next_where(is_end).await;
    let paused = stage.stored(&old).await;
    assert!(!paused.enabled);
    assert!(paused.state.last_error.is_some_and(|error| error.contains("unclosed group")));
    assert!(stage.stored(&good).await.enabled);
    assert_eq!(stage.runs_of(&good.id).await.len(), 0);
}

#[tokio::test]
async fn undecided_pattern_match_is_skipped_with_reason() {
    let stage = Stage::new().await;
    let listens = |id: &str, pattern: &str| {
        named(id, json!({ "kind": "event", "source": "wake", "pattern": pattern }), json!({}))
    };
    let hostile = stage.add(listens("hostile", "(?:a|b)*a(?:a|b){900}c")).await;
    let mail = stage.add(listens("mail", "(urgent|asap).{0,80}(reply)")).await;
    let text = format!("urgent: I wait for a reply {}", "ab".repeat(30_000));
    stage.handle.queue_wake(&text).await.expect("queued");
    assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&mail.id), "the others match");
    let run = only_run(&stage, &hostile).await;
    assert_eq!(run.state, RunState::Skipped);
    let reason = run.reason.unwrap_or_default();
    assert!(reason.contains("too slow for this text"), "{reason}");
    assert!(stage.stored(&hostile).await.enabled, "another text may be decided");
}

#[tokio::test]
async fn system_event_of_a_job_fires_its_listeners() {
    let stage = Stage::new().await;
    let mut reminder = manual_job("reminder");
    reminder["payload"] = json!({ "kind": "systemEvent", "text": "Stand up." });
    let reminder = stage.add(reminder).await;
    let schedule = json!({ "kind": "event", "source": "cron", "filters": { "jobId": "reminder" } });
    let listener = stage.add(named("listener", schedule, json!({}))).await;
    start_run(&stage, &reminder).await.succeed();
    let run = stage.begun.next().await;
    assert_eq!(run.run.job_id.as_ref(), Some(&listener.id));
    let cause = stage.store.cause(&run.run.id).await.expect("read").expect("a cause");
    assert_eq!((cause.source.as_str(), cause.text.as_str()), ("cron", "Stand up."));
    run.succeed();
}

#[tokio::test]
async fn webhook_fires_its_job_with_the_body() {
    let stage = Stage::new().await;
    let job = stage.add(webhook_job("hook", json!({}))).await;
    let schedule = json!({ "kind": "event", "source": "webhook", "filters": { "type": "push" } });
    let listener = stage.add(named("listener", schedule, json!({}))).await;
    let body = r#"{"type":"push"}"#;
    let id = fired(stage.handle.call_webhook(call("hook", body, None)).await.expect("called"));
    let (first, second) = (stage.begun.next().await, stage.begun.next().await);
    assert_eq!((&first.run.id, first.run.trigger), (&id, RunTrigger::Webhook));
    assert_eq!(first.run.job_id.as_ref(), Some(&job.id));
    assert_eq!(
        (second.run.job_id.as_ref(), second.run.trigger),
        (Some(&listener.id), RunTrigger::Event)
    );
    let cause = stage.store.cause(&id).await.expect("read").expect("a cause");
    assert_eq!(cause.text, body);
    first.end(Outcome::failed("Once more."));
    second.succeed();
    stage.ended(&id).await;
    let again = stage.handle.retry(&id).await.expect("run again");
    let again = (again.clone(), stage.begun.next().await);
    assert_eq!(again.0, again.1.run.id);
    let kept = stage.store.cause(&again.0).await.expect("read").expect("the same cause");
    assert_eq!(kept.text, body);
}

#[tokio::test]
async fn repeated_webhook_call_makes_one_run() {
    let stage = Stage::new().await;
    stage.add(webhook_job("hook", json!({ "overlap": "queue" }))).await;
    let key = Some("order 7");
    let id = fired(stage.handle.call_webhook(call("hook", "a", key)).await.expect("called"));
    let twice = stage.handle.call_webhook(call("hook", "a", key)).await.expect("called");
    assert_eq!(twice, WebhookOutcome::Repeated { run_id: id.clone(), reason: None });
    let stage = stage.killed_for(MINUTE).await;
    let later = stage.handle.call_webhook(call("hook", "a", key)).await.expect("called");
    assert_eq!(later, WebhookOutcome::Repeated { run_id: id.clone(), reason: None });
    stage.begun.next().await.succeed();
    stage.pass(24 * 60 * MINUTE).await;
    let next_day = fired(stage.handle.call_webhook(call("hook", "a", key)).await.expect("called"));
    assert_ne!(next_day, id);
    let other =
        stage.handle.call_webhook(call("hook", "a", Some("order 8"))).await.expect("called");
    assert_ne!(fired(other), next_day);
}

#[tokio::test]
async fn webhook_of_paused_job_is_refused_with_reason() {
    let stage = Stage::new().await;
    let job = stage.add(webhook_job("hook", json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    let key = Some("once");
    let refused = stage.handle.call_webhook(call("hook", "", key)).await.expect("called");
    assert_eq!(refused, WebhookOutcome::Refused("Everything was paused".to_owned()));
    let run = only_run(&stage, &job).await;
    assert_eq!((run.state, run.trigger), (RunState::Skipped, RunTrigger::Webhook));
    stage.handle.resume().await.expect("resumed");
    let id = fired(stage.handle.call_webhook(call("hook", "", key)).await.expect("called"));
    assert_eq!(stage.begun.next().await.run.id, id, "a refused call may come again");
    let off = json!({ "enabled": false });
    stage.handle.update_job(&job.id, off, None).await.expect("switched off");
    let refused = stage.handle.call_webhook(call("hook", "", None)).await.expect("called");
    assert_eq!(refused, WebhookOutcome::Refused("The job is switched off.".to_owned()));
    let plain = stage.add(manual_job("plain")).await;
    assert!(stage.handle.call_webhook(call(plain.id.as_str(), "", None)).await.is_err());
    assert!(stage.handle.call_webhook(call("unknown", "", None)).await.is_err());
}

#[tokio::test]
async fn webhook_call_skipped_by_overlap_is_recorded() {
    let stage = Stage::new().await;
    let job = stage.add(webhook_job("hook", json!({}))).await;
    fired(stage.handle.call_webhook(call("hook", "1", None)).await.expect("called"));
    let busy = stage.begun.next().await;
    let skipped = stage.handle.call_webhook(call("hook", "2", None)).await.expect("called");
    let WebhookOutcome::Fired { run_id, reason } = skipped else { panic!("{skipped:?}") };
    assert_eq!(reason.as_deref(), Some("The previous run was still running"));
    assert_eq!(stage.run(&run_id).await.state, RunState::Skipped);
    assert_eq!(stage.runs_of(&job.id).await.len(), 2);
    busy.succeed();
}

#[tokio::test]
async fn two_causes_of_one_tick_meet_overlap_policy() {
    let stage = Stage::new().await;
    for id in ["one", "two"] {
        stage.add(every(MINUTE, json!({ "id": id, "name": id }))).await;
    }
    let listener = stage.add(follow_up("listener", json!({ "status": "skipped" }))).await;
    stage.pass(MINUTE).await;
    let work = [stage.begun.next().await, stage.begun.next().await];
    stage.pass(MINUTE).await;
    stage.settle().await;
    let mut states = stage.states_of(&listener).await;
    states.sort_by_key(|state| state.name());
    assert_eq!(states, [RunState::Running, RunState::Skipped]);
    for begun in work {
        begun.succeed();
    }
}

/// `document` with `deleteAfterRun`.
fn delete_after_run(mut document: Value) -> Value {
    document["deleteAfterRun"] = json!(true);
    document
}

#[tokio::test]
async fn skipped_event_keeps_a_delete_after_run_job() {
    let stage = Stage::new().await;
    let first = stage.add(manual_job("first")).await;
    let once = stage.add(delete_after_run(follow_up("once", json!({ "jobId": "first" })))).await;
    let work = start_run(&stage, &first).await;
    stage.handle.pause(None).await.expect("paused");
    succeed(&stage, work).await;
    assert_eq!(stage.states_of(&once).await, [RunState::Skipped]);
    assert!(stage.stored(&once).await.enabled, "the job has not run");
    stage.handle.resume().await.expect("resumed");

    start_run(&stage, &first).await.succeed();
    let follower = stage.begun.next().await;
    assert_eq!(follower.run.job_id.as_ref(), Some(&once.id));
    succeed(&stage, follower).await;
    assert_eq!(stage.store.job(&once.id).await.expect("read"), None);
    assert_eq!(stage.states_of(&once).await, [RunState::Skipped, RunState::Succeeded]);
    succeed(&stage, start_run(&stage, &first).await).await;
    assert_eq!(stage.runs_of(&once.id).await.len(), 2, "the job is deleted");
}

#[tokio::test]
async fn skipped_webhook_keeps_a_delete_after_run_job() {
    let stage = Stage::new().await;
    let once = stage.add(delete_after_run(webhook_job("once", json!({})))).await;
    stage.handle.pause(None).await.expect("paused");
    let refused = stage.handle.call_webhook(call("once", "", None)).await.expect("called");
    assert!(matches!(refused, WebhookOutcome::Refused(_)), "{refused:?}");
    assert_eq!(only_run(&stage, &once).await.state, RunState::Skipped);
    assert!(stage.stored(&once).await.enabled, "the job has not run");
    stage.handle.resume().await.expect("resumed");

    fired(stage.handle.call_webhook(call("once", "", None)).await.expect("called"));
    let work = stage.begun.next().await;
    succeed(&stage, work).await;
    assert_eq!(stage.store.job(&once.id).await.expect("read"), None);
    assert!(stage.handle.call_webhook(call("once", "", None)).await.is_err(), "the job is deleted");
    assert_eq!(stage.states_of(&once).await, [RunState::Skipped, RunState::Succeeded]);
}

#[tokio::test]
async fn queued_run_of_deleted_job_fires_follow_ups() {
    let stage = Stage::new().await;
    let job = stage.add(manual_job("removed")).await;
    let after_it =
        stage.add(follow_up("after", json!({ "jobId": "removed", "state": "cancelled" }))).await;
    let work = start_run(&stage, &job).await;
    let waits =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    assert_eq!(stage.run(&waits).await.state, RunState::Cancelled);
    let next = stage.begun.next_where(|begun| begun.run.job_id == Some(after_it.id.clone())).await;
    let cause = stage.store.cause(&next.run.id).await.expect("read").expect("a cause");
    assert_eq!(
        (cause.fields["runId"].as_str(), cause.text.as_str()),
        (Some(waits.as_str()), "The job was deleted")
    );
    next.succeed();
    work.try_end(Outcome::succeeded("Done."));
    stage.settle().await;
}

#[tokio::test]
async fn queued_run_of_finished_job_fires_follow_ups() {
    let stage = Stage::new().await;
    let mut once = manual_job("once");
    once["deleteAfterRun"] = json!(true);
    let job = stage.add(once).await;
    let after_it =
        stage.add(follow_up("after", json!({ "jobId": "once", "state": "cancelled" }))).await;
    let work = start_run(&stage, &job).await;
    let waits =
        stage.handle.run_now(&job.id, ManualRunMode::Force).await.expect("taken").expect("a run");
    work.succeed();
    let next = stage.begun.next_where(|begun| begun.run.job_id == Some(after_it.id.clone())).await;
    let cause = stage.store.cause(&next.run.id).await.expect("read").expect("a cause");
    assert_eq!(
        (cause.fields["runId"].as_str(), cause.text.as_str()),
        (Some(waits.as_str()), "The job is done")
    );
    next.succeed();
    stage.settle().await;
    assert_eq!(stage.store.job(&job.id).await.expect("read"), None);
    assert_eq!(stage.load().await, (0, 0));
}
