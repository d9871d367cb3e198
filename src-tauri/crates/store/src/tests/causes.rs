//! Events, webhooks and fired runs.

use rouse_core::job::ScheduleSpec;
use rouse_core::{Cause, Outcome};

use super::*;
use crate::{FiredRun, Interruption, PriorWebhookCall, RunEnd, WebhookCall};

fn fired(job: &str, cause: &Cause) -> FiredRun {
    let run = Run { slot_at: None, trigger: RunTrigger::Event, ..slot_run(job, NOW) };
    FiredRun { run, cause: cause.clone() }
}

fn end_of(run_id: &RunId, fired: Vec<FiredRun>) -> RunEnd {
    RunEnd { fired, ..super::finish::end_of(run_id, Outcome::succeeded("ok")) }
}

#[tokio::test]
async fn event_fires_a_job_once() {
    let fixture = Fixture::new().await;
    for job in ["a", "b"] {
        fixture.insert_job(job, None).await;
    }
    let cause = Cause::wake("tea", NOW);
    let first = fired("a", &cause);
    let store = &fixture.store;
    let inserted = store.fire_webhook(std::slice::from_ref(&first), None, NOW).await.unwrap();
    assert!(inserted.contains(&first.run.id));
    let (twice, other) = (fired("a", &cause), fired("b", &cause));
    let inserted = store.fire_webhook(&[twice.clone(), other.clone()], None, NOW).await.unwrap();
    assert_eq!(inserted, [other.run.id.clone()].into());
    assert!(store.run(&twice.run.id).await.unwrap().is_none());
    assert_eq!(store.cause(&first.run.id).await.unwrap(), Some(cause));
    assert_eq!(store.cause(&RunId::new("missing")).await.unwrap(), None);
}

#[tokio::test]
async fn run_end_and_fired_runs_commit_together() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    fixture.insert_job("b", None).await;
    let run = fixture.run(&id).await;
    let cause = Cause::end_of_run(&run, RunState::Succeeded, None, None, NOW).unwrap();
    let next = fired("b", &cause);
    let end = end_of(&id, vec![next.clone()]);
    assert!(fixture.store.finish_run(&end).await.unwrap().is_some());
    assert_eq!(fixture.run(&next.run.id).await.state, RunState::Queued);
    assert!(
        fixture.store.finish_run(&end_of(&id, vec![fired("b", &cause)])).await.unwrap().is_none()
    );
    assert_eq!(fixture.store.queued_runs().await.unwrap().len(), 1, "a late end fires nothing");
}

#[tokio::test]
async fn fired_skipped_run_is_final_at_once() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let mut skipped = fired("a", &Cause::wake("tea", NOW));
    (skipped.run.state, skipped.run.reason) = (RunState::Skipped, Some("why".to_owned()));
    fixture
        .store
        .queue_system_event("tea", "wake", std::slice::from_ref(&skipped), NOW)
        .await
        .unwrap();
    assert_eq!(fixture.run(&skipped.run.id).await.finished_at, Some(NOW));
    let job = fixture.job("a").await;
    assert_eq!(job.state.last.state, Some(RunState::Skipped));
    assert_eq!(job.state.last_error.as_deref(), Some("why"));
}

#[tokio::test]
async fn rerun_copies_the_cause() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    let cause = Cause::wake("tea", NOW);
    let first = fired("a", &cause);
    fixture.store.fire_webhook(std::slice::from_ref(&first), None, NOW).await.unwrap();
    fixture.store.start_runs(std::slice::from_ref(&first.run.id), NOW).await.unwrap();
    let retry_of = Some(first.run.id.clone());
    let again = Run { slot_at: None, retry_of, ..slot_run("a", NOW) };
    let interruption = Interruption {
        run_id: first.run.id.clone(),
        reason: "interrupted".to_owned(),
        deliveries: Vec::new(),
        reminders: Vec::new(),
        rerun: Some(again.clone()),
        fired: Vec::new(),
        now: NOW,
    };
    fixture.store.interrupt_run(&interruption).await.unwrap();
    assert_eq!(fixture.store.cause(&again.id).await.unwrap().as_ref(), Some(&cause));
    let by_hand = Run { slot_at: None, retry_of: Some(again.id), ..slot_run("a", NOW) };
    fixture.store.insert_run(&by_hand, NOW).await.unwrap();
    assert_eq!(fixture.store.cause(&by_hand.id).await.unwrap(), Some(cause));
}

#[tokio::test]
async fn runs_fired_by_a_skipped_slot_are_claimed_together() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    fixture.insert_job("b", None).await;
    let skipped = Run { state: RunState::Skipped, ..slot_run("a", NOW) };
    let cause = Cause::end_of_run(&skipped, RunState::Skipped, None, None, NOW).unwrap();
    let next = fired("b", &cause);
    let mut end = next.run.clone();
    end.state = RunState::Skipped;
    let mut claim = claim("a", NOW, None, vec![skipped.clone()]);
    claim.fired = vec![next.clone()];
    let ids = fixture.store.claim(std::slice::from_ref(&claim), NOW).await.unwrap().runs;
    assert_eq!(ids, [skipped.id.clone(), next.run.id.clone()]);
    // The job no longer has this slot: neither the row nor the fired runs are inserted again.
    let other = Cause { id: "run:else".to_owned(), ..cause };
    claim.fired = vec![fired("b", &other)];
    assert_eq!(fixture.store.claim(&[claim], NOW).await.unwrap().runs, []);
    assert_eq!(fixture.store.queued_runs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn event_jobs_are_enabled_jobs_with_event_trigger() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    fixture.insert_job("plain", Some(NOW)).await;
    for (id, enabled) in [("on", true), ("off", false)] {
        let mut listener = job(id);
        listener.enabled = enabled;
        listener.schedule.spec =
            rouse_core::job::ScheduleSpec::Event(rouse_core::job::EventTrigger {
                source: "wake".to_owned(),
                pattern: None,
                filters: serde_json::Map::new(),
            });
        store.insert_job(&listener, NOW).await.unwrap();
    }
    let ids =
        |jobs: Vec<Job>| -> Vec<String> { jobs.iter().map(|job| job.id.to_string()).collect() };
    assert_eq!(ids(store.event_jobs().await.unwrap()), ["on"]);
    let asked = ["on", "off", "plain", "gone"].map(JobId::new);
    let mut with_load = store.jobs_with_load(&asked).await.unwrap();
    with_load.sort_by(|a, b| a.job.id.cmp(&b.job.id));
    assert_eq!(ids(with_load.into_iter().map(|due| due.job).collect()), ["on", "plain"]);
}

#[tokio::test]
async fn webhook_secret_survives_its_job_until_the_next_secret() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for job in ["a", "b"] {
        fixture.insert_job(job, None).await;
        store.put_webhook_secret(&JobId::new(job), "one", NOW).await.unwrap();
    }
    let secret = async |job: &str| store.webhook_secret(&JobId::new(job)).await.unwrap();
    store.put_webhook_secret(&JobId::new("a"), "two", NOW.plus_ms(1)).await.unwrap();
    let kept = secret("a").await.unwrap();
    assert_eq!((kept.hash.as_str(), kept.made_at), ("two", NOW.plus_ms(1)));
    store.remove_job(&JobId::new("b"), NOW).await.unwrap();
    assert!(secret("b").await.is_some(), "deleting can be undone");
    store.put_webhook_secret(&JobId::new("a"), "three", NOW).await.unwrap();
    assert!(secret("b").await.is_none());
}

#[tokio::test]
async fn has_webhooks_ignores_deleted_jobs() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    fixture.insert_job("a", None).await;
    assert!(!store.has_webhooks().await.unwrap());
    let mut called = job("b");
    called.schedule.spec = ScheduleSpec::Webhook;
    store.insert_job(&called, NOW).await.unwrap();
    assert!(store.has_webhooks().await.unwrap());
    store.remove_job(&called.id, NOW).await.unwrap();
    assert!(!store.has_webhooks().await.unwrap(), "webhooks of deleted jobs do not count");
}

#[tokio::test]
async fn webhook_call_is_known_by_key_for_a_day() {
    let fixture = Fixture::new().await;
    let (store, job_id) = (&fixture.store, JobId::new("a"));
    let call = |run: &str| WebhookCall {
        job_id: job_id.clone(),
        key: "k".to_owned(),
        body: "hi".to_owned(),
        run_id: RunId::new(run),
        reason: Some("Late".to_owned()),
    };
    let known_call = |run: &str, has_same_body| {
        let (run_id, reason) = (RunId::new(run), Some("Late".to_owned()));
        Some(PriorWebhookCall { run_id, has_same_body, reason })
    };
    store.fire_webhook(&[], Some(&call("r1")), NOW).await.unwrap();
    let known = async |key: &str, now| store.webhook_call(&job_id, key, "hi", now).await.unwrap();
    let day = 24 * 3_600_000;
    assert_eq!(known("k", NOW.plus_ms(day - 1)).await, known_call("r1", true));
    let another = store.webhook_call(&job_id, "k", "ho", NOW).await.unwrap();
    assert_eq!(another, known_call("r1", false), "another body under the same key");
    assert_eq!(known("k", NOW.plus_ms(day)).await, None);
    assert_eq!(known("other", NOW).await, None);
    assert_eq!(store.webhook_call(&JobId::new("b"), "k", "hi", NOW).await.unwrap(), None);
    store.fire_webhook(&[], Some(&call("r2")), NOW.plus_ms(day)).await.unwrap();
    assert_eq!(known("k", NOW.plus_ms(day)).await, known_call("r2", true));
}
