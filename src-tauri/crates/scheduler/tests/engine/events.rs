//! Events, webhooks and chains of jobs: each fires once, also across a crash, and none goes on for ever.

use rouse_core::event::Event;
use rouse_core::job::{Job, stored_job_from_json};
use rouse_core::{JobId, Outcome, Run, RunId, RunState, RunTrigger};
use rouse_scheduler::{Call, Called, RunMode};
use serde_json::{Value, json};

use crate::stage::{Begun, MINUTE, SECOND, Stage, every};

fn named(id: &str, schedule: Value, policies: Value) -> Value {
    every(SECOND, json!({ "id": id, "name": id, "schedule": schedule, "policies": policies }))
}

fn by_hand(id: &str) -> Value {
    named(id, json!({ "kind": "manual" }), json!({}))
}

fn after(id: &str, filters: Value) -> Value {
    named(id, json!({ "kind": "event", "source": "job", "filters": filters }), json!({}))
}

fn hook(id: &str, policies: Value) -> Value {
    named(id, json!({ "kind": "webhook" }), policies)
}

fn call(id: &str, body: &str, key: Option<&str>) -> Call {
    Call { job_id: JobId::new(id), body: body.to_owned(), key: key.map(str::to_owned) }
}

/// Runs a job by hand and answers its work.
async fn begun(stage: &Stage, job: &Job) -> Begun {
    stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    stage.begun.next().await
}

async fn only_run(stage: &Stage, job: &Job) -> Run {
    let mut runs = stage.runs_of(&job.id).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

/// Ends a run well, and waits until that is on record with all that follows.
async fn done(stage: &Stage, begun: Begun) {
    let id = begun.run.id.clone();
    begun.succeed();
    stage.ended(&id).await;
    stage.settle().await;
}

fn fired(called: Called) -> RunId {
    match called {
        Called::Fired { run_id, reason: None } => run_id,
        other => panic!("it did not fire: {other:?}"),
    }
}

#[tokio::test]
async fn who_waits_for_a_failure_is_told_why_it_failed_before_what_was_said() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    stage.add(after("second", json!({ "jobId": "first", "status": "error" }))).await;
    let summary = Some("I look at the disks.".to_owned());
    let failed = Outcome { summary, ..Outcome::failed("The network is down.") };
    begun(&stage, &first).await.end(failed);
    let follower = stage.begun.next().await;
    let cause = stage.store.cause(&follower.run.id).await.expect("read").expect("a cause");
    assert_eq!(cause.text, "The network is down.\nI look at the disks.");
}

#[tokio::test]
async fn a_job_runs_after_another_one() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    let second = stage.add(after("second", json!({ "jobId": "first", "status": "ok" }))).await;
    let on_failure = stage.add(after("third", json!({ "name": "first", "status": "error" }))).await;
    let work = begun(&stage, &first).await;
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
    done(&stage, follower).await;
    assert!(stage.runs_of(&on_failure.id).await.is_empty());

    begun(&stage, &first).await.end(Outcome::failed("The disk is full."));
    let follower = stage.begun.next().await;
    assert_eq!(follower.run.job_id.as_ref(), Some(&on_failure.id));
    follower.succeed();
}

#[tokio::test]
async fn a_crash_between_the_two_loses_nothing_and_doubles_nothing() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    let second = stage.add(after("second", json!({ "jobId": "first" }))).await;
    let work = begun(&stage, &first).await;
    let id = work.run.id.clone();
    work.succeed();
    let started = stage.begun.next().await;
    // Both are on the disk in one transaction: whoever sees the first one over sees the second one.
    assert_eq!(stage.run(&id).await.state, RunState::Succeeded);
    drop(started);
    let stage = stage.killed_for(MINUTE).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.job_id.as_ref(), Some(&second.id));
    assert_eq!(again.run.trigger, RunTrigger::CatchUp, "the first attempt was cut off");
    let cause = stage.store.cause(&again.run.id).await.expect("read").expect("the same cause");
    assert_eq!(cause.fields["runId"], id.as_str());
    done(&stage, again).await;
    assert_eq!(
        stage.states_of(&second).await,
        [RunState::Interrupted, RunState::Succeeded],
        "{:?}",
        stage.runs_of(&second.id).await
    );
}

#[tokio::test]
async fn a_follower_that_waited_when_rouse_was_killed_starts_once() {
    let stage = Stage::of_places(1).await;
    let first = stage.add(by_hand("first")).await;
    let other = stage.add(by_hand("other")).await;
    let second = stage.add(after("second", json!({ "jobId": "first" }))).await;
    let work = begun(&stage, &first).await;
    stage.handle.run_now(&other.id, RunMode::Force).await.expect("asked");
    work.succeed();
    let in_the_way = stage.begun.next().await;
    assert_eq!(in_the_way.run.job_id.as_ref(), Some(&other.id));
    assert_eq!(only_run(&stage, &second).await.state, RunState::Queued);
    drop(in_the_way);
    let stage = stage.killed_for(MINUTE).await;
    stage.settle().await;
    let runs = stage.runs_of(&second.id).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    for _ in 0..2 {
        let next = stage.begun.next().await;
        done(&stage, next).await;
    }
    assert_eq!(stage.states_of(&second).await, [RunState::Succeeded]);
}

#[tokio::test]
async fn a_follower_that_a_start_fires_takes_the_place_of_one_that_waited() {
    let stage = Stage::of_places(2).await;
    let mut first = by_hand("first");
    first["policies"] = json!({ "misfire": { "mode": "skip" } });
    let first = stage.add(first).await;
    let other = stage.add(by_hand("other")).await;
    let mut second = after("second", json!({ "jobId": "first" }));
    second["policies"] = json!({ "overlap": "cancelOther" });
    let second = stage.add(second).await;
    let work = begun(&stage, &first).await;
    let _in_the_way = begun(&stage, &other).await;
    stage.handle.run_now(&first.id, RunMode::Force).await.expect("asked");
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
async fn what_was_cut_off_fires_when_its_successor_ends() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    let second = stage.add(after("second", json!({ "jobId": "first" }))).await;
    drop(begun(&stage, &first).await);
    let stage = stage.killed_for(SECOND).await;
    let again = stage.begun.next().await;
    assert_eq!(again.run.job_id.as_ref(), Some(&first.id));
    assert!(stage.runs_of(&second.id).await.is_empty(), "the work is not over yet");
    again.succeed();
    assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&second.id));

    let mut left = by_hand("left");
    left["policies"] = json!({ "misfire": { "mode": "skip" } });
    let left = stage.add(left).await;
    let third =
        stage.add(after("third", json!({ "jobId": "left", "status": "interrupted" }))).await;
    drop(begun(&stage, &left).await);
    let stage = stage.killed_for(SECOND).await;
    stage.settle().await;
    assert_eq!(only_run(&stage, &third).await.trigger, RunTrigger::Event);
}

#[tokio::test]
async fn two_jobs_that_fire_each_other_come_to_an_end_that_says_so() {
    let stage = Stage::new().await;
    let ping = stage.add(after("ping", json!({ "jobId": "pong" }))).await;
    let pong = stage.add(after("pong", json!({ "jobId": "ping" }))).await;
    begun(&stage, &ping).await.succeed();
    for _ in 0..8 {
        let next = stage.begun.next().await;
        done(&stage, next).await;
    }
    let last = stage.runs_of(&pong.id).await.pop().expect("runs");
    assert_eq!(last.state, RunState::Skipped);
    let reason = last.reason.expect("a reason");
    assert_eq!(reason, "It comes after 9 jobs that fired each other, and a chain ends there");
    let all = stage.runs_of(&ping.id).await.len() + stage.runs_of(&pong.id).await.len();
    assert_eq!((all, stage.load().await), (10, (0, 0)));
}

#[tokio::test]
async fn jobs_that_fire_each_other_by_being_skipped_come_to_an_end() {
    let stage = Stage::new().await;
    let slow = stage.add(every(MINUTE, json!({ "id": "slow", "name": "slow" }))).await;
    for (id, before) in [("a", "slow"), ("b", "a"), ("c", "b")] {
        stage.add(after(id, json!({ "jobId": before, "status": "skipped" }))).await;
    }
    let back = after("d", json!({ "status": "skipped" }));
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
        assert_eq!(cause.text, "The previous run was still going");
    }
    work.succeed();
}

/// Twelve jobs in every order there is would be half a milliard rows.
#[tokio::test]
async fn a_crowd_that_waits_for_any_skipped_job_gets_one_row_each() {
    let stage = Stage::new().await;
    let mut crowd = Vec::new();
    for number in 0..12 {
        let id = format!("listener-{number}");
        crowd.push(stage.add(after(&id, json!({ "status": "skipped" }))).await);
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
async fn a_crowd_that_waits_for_any_job_runs_once_each_for_all_that_came_of_one_run() {
    let stage = Stage::new().await;
    let mut crowd = Vec::new();
    for number in 0..4 {
        let queue = json!({ "overlap": "queue" });
        let schedule = json!({ "kind": "event", "source": "job", "filters": { "status": "ok" } });
        crowd.push(stage.add(named(&format!("listener-{number}"), schedule, queue)).await);
    }
    let first = stage.add(by_hand("first")).await;
    let work = begun(&stage, &first).await;
    done(&stage, work).await;
    for _ in &crowd {
        let work = stage.begun.next().await;
        done(&stage, work).await;
    }
    assert!(stage.begun.take_all().is_empty(), "they fire each other");
    for job in &crowd {
        assert_eq!(stage.states_of(job).await, [RunState::Succeeded], "{}", job.id);
    }
}

/// What was made to come after one job is no answer to whoever waits for all of them.
#[tokio::test]
async fn who_waits_for_any_job_hears_its_followers_and_nothing_of_what_it_set_off() {
    let stage = Stage::new().await;
    let queue = json!({ "overlap": "queue" });
    let any = json!({ "kind": "event", "source": "job", "filters": { "status": "ok" } });
    let mut watchers = Vec::new();
    for id in ["watcher-1", "watcher-2"] {
        watchers.push(stage.add(named(id, any.clone(), queue.clone())).await);
    }
    let first = stage.add(by_hand("first")).await;
    stage.add(after("second", json!({ "jobId": "first" }))).await;
    stage.add(after("third", json!({ "jobId": "second" }))).await;
    stage.add(after("behind", json!({ "jobId": "watcher-1" }))).await;
    let mut work = vec![begun(&stage, &first).await];
    let mut ran = Vec::new();
    while let Some(next) = work.pop() {
        ran.push(next.run.job_id.as_ref().expect("a job's").as_str().to_owned());
        done(&stage, next).await;
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
async fn a_waiting_run_that_somebody_cancels_ends_as_any_other() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    let on_skip = stage.add(after("told", json!({ "jobId": "first", "status": "skipped" }))).await;
    let on_state =
        stage.add(after("exact", json!({ "jobId": "first", "state": "cancelled" }))).await;
    let plain = stage.add(after("plain", json!({ "jobId": "first" }))).await;
    let busy = begun(&stage, &first).await;
    let waiting = stage.handle.run_now(&first.id, RunMode::Force).await.expect("asked");
    let waiting = waiting.expect("a run");
    drop(stage.events.take_all());
    assert!(stage.handle.cancel(&waiting, "Cancelled by you").await.expect("an answer"));
    let told = stage.events.take_all();
    let finished = told.iter().find(|event| event.data["action"] == "finished").expect("an end");
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
    assert!(stage.runs_of(&plain.id).await.is_empty(), "it did nothing");
    for _ in 0..2 {
        stage.begun.next().await.succeed();
    }
    assert!(!stage.handle.cancel(&waiting, "Twice").await.expect("an answer"));
    busy.succeed();
}

#[tokio::test]
async fn a_paused_engine_records_why_a_follower_did_not_run() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    let second = stage.add(after("second", json!({ "jobId": "first" }))).await;
    let work = begun(&stage, &first).await;
    stage.handle.pause(None).await.expect("paused");
    done(&stage, work).await;
    let run = only_run(&stage, &second).await;
    assert_eq!(
        (run.state, run.reason.as_deref()),
        (RunState::Skipped, Some("Everything was paused"))
    );
    assert_eq!(run.trigger, RunTrigger::Event);
    stage.handle.resume().await.expect("resumed");
    stage.pass(MINUTE).await;
    assert_eq!(stage.runs_of(&second.id).await.len(), 1, "nothing old fires");
}

#[tokio::test]
async fn a_job_that_is_switched_off_hears_nothing() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    let second = stage.add(after("second", json!({ "jobId": "first" }))).await;
    let off = json!({ "enabled": false });
    stage.handle.update_job(&second.id, off, None).await.expect("switched off");
    done(&stage, begun(&stage, &first).await).await;
    assert!(stage.runs_of(&second.id).await.is_empty());
    let on = json!({ "enabled": true });
    stage.handle.update_job(&second.id, on, None).await.expect("switched on");
    stage.pass(MINUTE).await;
    assert!(
        stage.runs_of(&second.id).await.is_empty(),
        "what was before it was switched on is past"
    );
    begun(&stage, &first).await.succeed();
    stage.begun.next().await.succeed();
}

#[tokio::test]
async fn the_overlap_of_the_follower_is_its_own() {
    let stage = Stage::new().await;
    let mut document = by_hand("first");
    document["policies"] = json!({ "overlap": "parallel", "maxConcurrent": 3 });
    let first = stage.add(document).await;
    let second = stage.add(after("second", json!({ "jobId": "first" }))).await;
    begun(&stage, &first).await.succeed();
    let busy = stage.begun.next().await;
    done(&stage, begun(&stage, &first).await).await;
    assert_eq!(stage.states_of(&second).await, [RunState::Running, RunState::Skipped]);
    busy.succeed();
}

#[tokio::test]
async fn a_wake_fires_those_who_listen_for_its_words() {
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

/// A job as an earlier version took it, or as a disk has garbled it: `Stage::add` would refuse it.
async fn with_pattern(stage: &Stage, id: &str, pattern: &str) -> Job {
    let schedule = json!({ "kind": "event", "source": "wake", "pattern": pattern });
    let job = stored_job_from_json(named(id, schedule, json!({}))).expect("a stored job");
    stage.store.insert_job(&job, stage.now()).await.expect("inserted");
    job
}

#[tokio::test]
async fn a_pattern_that_cannot_be_read_pauses_its_job_once_and_only_that() {
    for (pattern, words) in
        [(r"(?:\w{1,100}){1,9}z", "too large once it is read"), ("tea(", "unclosed group")]
    {
        let stage = Stage::new().await;
        let job = with_pattern(&stage, "old", pattern).await;
        let tea = json!({ "kind": "event", "source": "wake", "pattern": "tea" });
        let tea = stage.add(named("tea", tea, json!({ "overlap": "parallel" }))).await;
        stage.handle.queue_wake("tea").await.expect("queued");
        assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&tea.id), "others hear it");
        stage.handle.queue_wake("more tea").await.expect("queued");
        assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&tea.id));
        // The first event may come before the pattern is read, then it is on record as skipped; the second comes later.
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
        let told = stage.store.deliveries_of(&failed[0].id).await.expect("read");
        assert_eq!(told.len(), 1, "one notification");
    }
}

#[tokio::test]
async fn a_stored_pattern_that_cannot_be_read_is_found_at_a_start_before_any_event() {
    let stage = Stage::new().await;
    // The first life has read who listens; the second is to find it.
    stage.settle().await;
    let old = with_pattern(&stage, "old", "tea(").await;
    let good = with_pattern(&stage, "good", "tea").await;
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
async fn what_cannot_be_decided_in_its_time_is_skipped_with_the_reason() {
    let stage = Stage::new().await;
    let listens = |id: &str, pattern: &str| {
        named(id, json!({ "kind": "event", "source": "wake", "pattern": pattern }), json!({}))
    };
    let hostile = stage.add(listens("hostile", "(?:a|b)*a(?:a|b){900}c")).await;
    let mail = stage.add(listens("mail", "(urgent|asap).{0,80}(reply)")).await;
    let text = format!("urgent: I wait for a reply {}", "ab".repeat(30_000));
    stage.handle.queue_wake(&text).await.expect("queued");
    assert_eq!(stage.begun.next().await.run.job_id.as_ref(), Some(&mail.id), "the others hear it");
    let run = only_run(&stage, &hostile).await;
    assert_eq!(run.state, RunState::Skipped);
    let reason = run.reason.unwrap_or_default();
    assert!(reason.contains("takes too long in such a text"), "{reason}");
    assert!(stage.stored(&hostile).await.enabled, "another text may be decided");
}

#[tokio::test]
async fn a_line_of_a_job_fires_those_who_listen_for_it() {
    let stage = Stage::new().await;
    let mut reminder = by_hand("reminder");
    reminder["payload"] = json!({ "kind": "systemEvent", "text": "Stand up." });
    let reminder = stage.add(reminder).await;
    let schedule = json!({ "kind": "event", "source": "cron", "filters": { "jobId": "reminder" } });
    let listener = stage.add(named("listener", schedule, json!({}))).await;
    begun(&stage, &reminder).await.succeed();
    let run = stage.begun.next().await;
    assert_eq!(run.run.job_id.as_ref(), Some(&listener.id));
    let cause = stage.store.cause(&run.run.id).await.expect("read").expect("a cause");
    assert_eq!((cause.source.as_str(), cause.text.as_str()), ("cron", "Stand up."));
    run.succeed();
}

#[tokio::test]
async fn a_webhook_fires_its_job_with_what_was_sent() {
    let stage = Stage::new().await;
    let job = stage.add(hook("hook", json!({}))).await;
    let schedule = json!({ "kind": "event", "source": "webhook", "filters": { "type": "push" } });
    let listener = stage.add(named("listener", schedule, json!({}))).await;
    let body = r#"{"type":"push"}"#;
    let id = fired(stage.handle.call_webhook(call("hook", body, None)).await.expect("called"));
    let (one, two) = (stage.begun.next().await, stage.begun.next().await);
    assert_eq!((&one.run.id, one.run.trigger), (&id, RunTrigger::Webhook));
    assert_eq!(one.run.job_id.as_ref(), Some(&job.id));
    assert_eq!((two.run.job_id.as_ref(), two.run.trigger), (Some(&listener.id), RunTrigger::Event));
    let cause = stage.store.cause(&id).await.expect("read").expect("a cause");
    assert_eq!(cause.text, body);
    one.end(Outcome::failed("Once more."));
    two.succeed();
    stage.ended(&id).await;
    let again = stage.handle.retry(&id).await.expect("run again");
    let again = (again.clone(), stage.begun.next().await);
    assert_eq!(again.0, again.1.run.id);
    let kept = stage.store.cause(&again.0).await.expect("read").expect("the same cause");
    assert_eq!(kept.text, body);
}

#[tokio::test]
async fn the_same_call_twice_makes_one_run_also_after_a_restart() {
    let stage = Stage::new().await;
    stage.add(hook("hook", json!({ "overlap": "queue" }))).await;
    let key = Some("order 7");
    let id = fired(stage.handle.call_webhook(call("hook", "a", key)).await.expect("called"));
    let twice = stage.handle.call_webhook(call("hook", "a", key)).await.expect("called");
    assert_eq!(twice, Called::Before { run_id: id.clone(), reason: None });
    let stage = stage.killed_for(MINUTE).await;
    let later = stage.handle.call_webhook(call("hook", "a", key)).await.expect("called");
    assert_eq!(later, Called::Before { run_id: id.clone(), reason: None });
    stage.begun.next().await.succeed();
    stage.pass(24 * 60 * MINUTE).await;
    let next_day = fired(stage.handle.call_webhook(call("hook", "a", key)).await.expect("called"));
    assert_ne!(next_day, id);
    let other =
        stage.handle.call_webhook(call("hook", "a", Some("order 8"))).await.expect("called");
    assert_ne!(fired(other), next_day);
}

#[tokio::test]
async fn a_webhook_of_a_job_that_does_not_fire_is_refused_with_the_reason() {
    let stage = Stage::new().await;
    let job = stage.add(hook("hook", json!({}))).await;
    stage.handle.pause(None).await.expect("paused");
    let key = Some("once");
    let refused = stage.handle.call_webhook(call("hook", "", key)).await.expect("called");
    assert_eq!(refused, Called::Refused("Everything was paused".to_owned()));
    let run = only_run(&stage, &job).await;
    assert_eq!((run.state, run.trigger), (RunState::Skipped, RunTrigger::Webhook));
    stage.handle.resume().await.expect("resumed");
    let id = fired(stage.handle.call_webhook(call("hook", "", key)).await.expect("called"));
    assert_eq!(stage.begun.next().await.run.id, id, "a refused call may come again");
    let off = json!({ "enabled": false });
    stage.handle.update_job(&job.id, off, None).await.expect("switched off");
    let refused = stage.handle.call_webhook(call("hook", "", None)).await.expect("called");
    assert_eq!(refused, Called::Refused("The job is switched off.".to_owned()));
    let plain = stage.add(by_hand("plain")).await;
    assert!(stage.handle.call_webhook(call(plain.id.as_str(), "", None)).await.is_err());
    assert!(stage.handle.call_webhook(call("nobody", "", None)).await.is_err());
}

#[tokio::test]
async fn a_call_that_overlap_skips_is_on_record() {
    let stage = Stage::new().await;
    let job = stage.add(hook("hook", json!({}))).await;
    fired(stage.handle.call_webhook(call("hook", "1", None)).await.expect("called"));
    let busy = stage.begun.next().await;
    let skipped = stage.handle.call_webhook(call("hook", "2", None)).await.expect("called");
    let Called::Fired { run_id, reason } = skipped else { panic!("{skipped:?}") };
    assert_eq!(reason.as_deref(), Some("The previous run was still going"));
    assert_eq!(stage.run(&run_id).await.state, RunState::Skipped);
    assert_eq!(stage.runs_of(&job.id).await.len(), 2);
    busy.succeed();
}

#[tokio::test]
async fn two_rows_of_one_tick_meet_the_overlap_of_the_job_that_they_fire() {
    let stage = Stage::new().await;
    for id in ["one", "two"] {
        stage.add(every(MINUTE, json!({ "id": id, "name": id }))).await;
    }
    let listener = stage.add(after("listener", json!({ "status": "skipped" }))).await;
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

/// `document` as a job for one run.
fn for_one_run(mut document: Value) -> Value {
    document["deleteAfterRun"] = json!(true);
    document
}

#[tokio::test]
async fn a_job_for_one_event_stays_when_it_is_skipped_and_goes_when_it_has_worked() {
    let stage = Stage::new().await;
    let first = stage.add(by_hand("first")).await;
    let once = stage.add(for_one_run(after("once", json!({ "jobId": "first" })))).await;
    let work = begun(&stage, &first).await;
    stage.handle.pause(None).await.expect("paused");
    done(&stage, work).await;
    assert_eq!(stage.states_of(&once).await, [RunState::Skipped]);
    assert!(stage.stored(&once).await.enabled, "it has not had its run");
    stage.handle.resume().await.expect("resumed");

    begun(&stage, &first).await.succeed();
    let follower = stage.begun.next().await;
    assert_eq!(follower.run.job_id.as_ref(), Some(&once.id));
    done(&stage, follower).await;
    assert_eq!(stage.store.job(&once.id).await.expect("read"), None);
    assert_eq!(stage.states_of(&once).await, [RunState::Skipped, RunState::Succeeded]);
    done(&stage, begun(&stage, &first).await).await;
    assert_eq!(stage.runs_of(&once.id).await.len(), 2, "nobody is left to fire");
}

#[tokio::test]
async fn a_job_for_one_call_stays_when_it_is_skipped_and_goes_when_it_has_worked() {
    let stage = Stage::new().await;
    let once = stage.add(for_one_run(hook("once", json!({})))).await;
    stage.handle.pause(None).await.expect("paused");
    let refused = stage.handle.call_webhook(call("once", "", None)).await.expect("called");
    assert!(matches!(refused, Called::Refused(_)), "{refused:?}");
    assert_eq!(only_run(&stage, &once).await.state, RunState::Skipped);
    assert!(stage.stored(&once).await.enabled, "it has not had its run");
    stage.handle.resume().await.expect("resumed");

    fired(stage.handle.call_webhook(call("once", "", None)).await.expect("called"));
    let work = stage.begun.next().await;
    done(&stage, work).await;
    assert_eq!(stage.store.job(&once.id).await.expect("read"), None);
    assert!(stage.handle.call_webhook(call("once", "", None)).await.is_err(), "it is gone");
    assert_eq!(stage.states_of(&once).await, [RunState::Skipped, RunState::Succeeded]);
}

#[tokio::test]
async fn a_waiting_run_whose_job_is_removed_ends_as_any_other() {
    let stage = Stage::new().await;
    let job = stage.add(by_hand("removed")).await;
    let after_it =
        stage.add(after("after", json!({ "jobId": "removed", "state": "cancelled" }))).await;
    let work = begun(&stage, &job).await;
    let waits = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
    stage.handle.remove_job(&job.id, None).await.expect("removed");
    assert_eq!(stage.run(&waits).await.state, RunState::Cancelled);
    let next = stage.begun.next_where(|begun| begun.run.job_id == Some(after_it.id.clone())).await;
    let cause = stage.store.cause(&next.run.id).await.expect("read").expect("a cause");
    assert_eq!(
        (cause.fields["runId"].as_str(), cause.text.as_str()),
        (Some(waits.as_str()), "Its job was deleted")
    );
    next.succeed();
    work.try_end(Outcome::succeeded("Done."));
    stage.settle().await;
}

#[tokio::test]
async fn a_waiting_run_of_a_job_for_one_run_ends_as_any_other_when_that_is_done() {
    let stage = Stage::new().await;
    let mut once = by_hand("once");
    once["deleteAfterRun"] = json!(true);
    let job = stage.add(once).await;
    let after_it =
        stage.add(after("after", json!({ "jobId": "once", "state": "cancelled" }))).await;
    let work = begun(&stage, &job).await;
    let waits = stage.handle.run_now(&job.id, RunMode::Force).await.expect("asked").expect("a run");
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
