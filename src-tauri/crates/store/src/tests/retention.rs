//! Retention: pruned rows, kept rows, slots that never fire again.

use rouse_core::SessionKey;
use rouse_core::approval::GateDecision;
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::message::Message;

use super::call_attachments::call_with_files;
use super::steps::step;
use super::*;
use crate::{NewStep, StepKind};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A succeeded run for a slot of `job`.
async fn ended(fixture: &Fixture, job: &str, slot: UnixMs) -> RunId {
    let run = Run {
        state: RunState::Succeeded,
        finished_at: Some(slot),
        created_at: slot,
        ..slot_run(job, slot)
    };
    let run = Run { id: RunId::generate(slot), ..run };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    run.id
}

fn user(text: impl Into<String>) -> Message {
    Message::User { text: text.into() }
}

async fn runs_of(fixture: &Fixture, job: &str) -> Vec<UnixMs> {
    let query = crate::RunQuery { job_id: Some(JobId::new(job)), limit: 500, ..Default::default() };
    let page = fixture.store.runs(&query).await.unwrap();
    let mut slots: Vec<UnixMs> = page.runs.into_iter().filter_map(|run| run.slot_at).collect();
    slots.sort_unstable();
    slots
}

async fn prune(fixture: &Fixture, job: &str, keep: u32, now: UnixMs) {
    while fixture.store.prune_runs_of(Some(&JobId::new(job)), keep, now).await.unwrap() {}
}

/// Whether a run of this slot can be inserted.
async fn fires(fixture: &Fixture, job: &str, slot: UnixMs) -> bool {
    let run = Run { id: RunId::generate(slot), ..slot_run(job, slot) };
    let before = runs_of(fixture, job).await;
    fixture.store.insert_run(&run, NOW).await.unwrap();
    runs_of(fixture, job).await != before
}

async fn spans(fixture: &Fixture) -> Vec<(String, i64, i64)> {
    let sql = "SELECT job_id, from_at, through_at FROM pruned_slots ORDER BY job_id, through_at";
    sqlx::query_as(sql).fetch_all(&fixture.store.readers).await.unwrap()
}

#[tokio::test]
async fn pruning_keeps_newest_runs_of_each_job() {
    let fixture = Fixture::new().await;
    for minute in 0..120 {
        ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
    }
    ended(&fixture, "b", NOW).await;
    let now = NOW.plus_ms(DAY);
    assert_eq!(fixture.store.jobs_over_limit(10).await.unwrap(), [Some(JobId::new("a"))]);
    prune(&fixture, "a", 10, now).await;
    let kept: Vec<UnixMs> = (110..120).map(|minute| NOW.plus_ms(minute * MINUTE)).collect();
    assert_eq!(runs_of(&fixture, "a").await, kept);
    assert_eq!(runs_of(&fixture, "b").await.len(), 1);
    assert!(fixture.store.jobs_over_limit(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn pruning_keeps_runs_within_rate_limit_window() {
    let fixture = Fixture::new().await;
    for minute in 0..4 {
        let run = ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
        let gate = match minute {
            0 => Some(GateDecision::Refused { refusal: None, rewritten_by: None }),
            _ => None,
        };
        let call = NewStep { gate, ..step(&run, StepKind::ToolCall, true) };
        fixture.store.begin_step(&call, NOW.plus_ms(minute * MINUTE)).await.unwrap();
    }
    let called =
        async |now: UnixMs| fixture.store.tool_calls_since(now.plus_ms(-HOUR)).await.unwrap().len();
    let soon = NOW.plus_ms(5 * MINUTE);
    prune(&fixture, "a", 1, soon).await;
    while fixture.store.prune_oldest_runs(soon).await.unwrap() {}
    assert_eq!((runs_of(&fixture, "a").await.len(), called(soon).await), (3, 3));
    let later = NOW.plus_ms(HOUR + 2 * MINUTE);
    prune(&fixture, "a", 1, later).await;
    assert_eq!((runs_of(&fixture, "a").await.len(), called(later).await), (1, 1));
}

#[tokio::test]
async fn pruning_deletes_the_files_of_the_runs() {
    let fixture = Fixture::new().await;
    let old = ended(&fixture, "a", NOW).await;
    let new = ended(&fixture, "a", NOW.plus_ms(MINUTE)).await;
    let file = Attachment::new("chart.png", MediaKind::Png, vec![1]);
    for run in [&old, &new] {
        call_with_files(&fixture.store, run, std::slice::from_ref(&file)).await;
    }
    prune(&fixture, "a", 1, NOW.plus_ms(DAY)).await;
    assert!(fixture.store.run(&old).await.unwrap().is_none());
    assert_eq!(fixture.store.call_attachments(&old).await.unwrap(), []);
    assert_eq!(fixture.store.call_attachments(&new).await.unwrap().len(), 1);
}

#[tokio::test]
async fn pruning_step_is_limited() {
    let fixture = Fixture::new().await;
    for minute in 0..120 {
        ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
    }
    let id = JobId::new("a");
    assert!(fixture.store.prune_runs_of(Some(&id), 10, NOW.plus_ms(DAY)).await.unwrap());
    assert_eq!(runs_of(&fixture, "a").await.len(), 70);
}

#[tokio::test]
async fn pruned_slot_never_fires_again() {
    let fixture = Fixture::new().await;
    let day = |n: i64| NOW.plus_ms(n * DAY);
    for n in 0..12 {
        ended(&fixture, "a", day(n)).await;
    }
    prune(&fixture, "a", 4, day(20)).await;
    for n in 0..12 {
        assert!(!fires(&fixture, "a", day(n)).await, "day {n}");
    }
    assert!(fires(&fixture, "b", day(2)).await, "another job's slot");
    assert!(fires(&fixture, "a", day(2).plus_ms(-6 * HOUR)).await, "a slot that never fired");
    assert!(fires(&fixture, "a", day(12)).await, "the next slot");

    // By a claim after a clock rollback.
    fixture.insert_job("a", Some(day(3))).await;
    let again = claim("a", day(3), Some(day(4)), vec![slot_run("a", day(3))]);
    assert!(fixture.store.claim(&[again], day(3)).await.unwrap().runs.is_empty());
    assert_eq!(fixture.job("a").await.state.next_run_at, Some(day(4)), "the next slot moves on");
    // Nor after the job was deleted and restored.
    fixture.store.remove_job(&JobId::new("a"), NOW).await.unwrap();
    fixture.insert_job("a", Some(day(3))).await;
    assert!(!fires(&fixture, "a", day(3)).await);
}

#[tokio::test]
async fn near_pruned_slots_share_a_span() {
    let fixture = Fixture::new().await;
    for minute in 0..200 {
        ended(&fixture, "often", NOW.plus_ms(minute * MINUTE)).await;
    }
    prune(&fixture, "often", 10, NOW.plus_ms(DAY)).await;
    let last = NOW.plus_ms(189 * MINUTE).0;
    assert_eq!(spans(&fixture).await, [("often".to_owned(), NOW.0, last)]);

    for day in 0..500 {
        ended(&fixture, "daily", NOW.plus_ms(day * DAY)).await;
    }
    prune(&fixture, "daily", 10, NOW.plus_ms(500 * DAY)).await;
    let daily: Vec<_> =
        spans(&fixture).await.into_iter().filter(|(job, ..)| job == "daily").collect();
    assert_eq!(daily[0], ("daily".to_owned(), NOW.0, NOW.plus_ms(100 * DAY).0));
    assert_eq!(daily.len(), 1 + 389, "a row for each day of the last 400");
    assert!(!fires(&fixture, "daily", NOW.plus_ms(50 * DAY)).await);
    assert!(!fires(&fixture, "daily", NOW.plus_ms(450 * DAY)).await);
}

#[tokio::test]
async fn clock_jump_does_not_block_slots_in_between() {
    let fixture = Fixture::new().await;
    let far = NOW.plus_ms(400 * DAY);
    for minute in 0..30 {
        ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
    }
    for minute in 0..30 {
        ended(&fixture, "a", far.plus_ms(minute * MINUTE)).await;
    }
    // Runs of both times are pruned while the clock is wrong; then the clock is corrected.
    prune(&fixture, "a", 10, far.plus_ms(HOUR)).await;
    assert!(fires(&fixture, "a", NOW.plus_ms(40 * MINUTE)).await, "the present");
    assert!(fires(&fixture, "a", NOW.plus_ms(30 * DAY)).await, "the time in between");
    assert!(!fires(&fixture, "a", NOW.plus_ms(5 * MINUTE)).await, "fired before");
    assert!(
        !fires(&fixture, "a", far.plus_ms(5 * MINUTE)).await,
        "fired while the clock was wrong"
    );
}

#[tokio::test]
async fn pruning_keeps_slots_in_the_future() {
    let fixture = Fixture::new().await;
    let future = NOW.plus_ms(DAY);
    ended(&fixture, "a", future).await;
    for minute in 0..5 {
        ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
    }
    prune(&fixture, "a", 2, NOW.plus_ms(HOUR)).await;
    assert_eq!(runs_of(&fixture, "a").await.len(), 3);
    assert!(!fires(&fixture, "a", future).await);
}

/// An idle row of `job`.
async fn idle(fixture: &Fixture, job: &str, slot: UnixMs, state: RunState) {
    let run = Run { id: RunId::generate(slot), created_at: slot, ..slot_run(job, slot) };
    let run = Run { state, reason: Some("Everything was paused".to_owned()), ..run };
    fixture.store.insert_run(&run, slot).await.unwrap();
}

#[tokio::test]
async fn idle_rows_do_not_displace_executed_runs() {
    let fixture = Fixture::new().await;
    for minute in 0..5 {
        ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
    }
    for minute in 5..405 {
        let state = if minute < 390 { RunState::Skipped } else { RunState::Missed };
        idle(&fixture, "a", NOW.plus_ms(minute * MINUTE), state).await;
    }
    let now = NOW.plus_ms(DAY);
    assert_eq!(fixture.store.jobs_over_limit(300).await.unwrap(), [Some(JobId::new("a"))]);
    prune(&fixture, "a", 300, now).await;
    let minutes = |range: std::ops::Range<i64>| range.map(|minute| NOW.plus_ms(minute * MINUTE));
    let kept: Vec<UnixMs> = minutes(0..5).chain(minutes(205..405)).collect();
    assert_eq!(runs_of(&fixture, "a").await, kept, "executed runs, and the newest idle rows");
    assert!(fixture.store.jobs_over_limit(300).await.unwrap().is_empty());
    assert!(!fires(&fixture, "a", NOW.plus_ms(100 * MINUTE)).await, "the slot was skipped");

    // Neither kind exceeds the limit.
    prune(&fixture, "a", 3, now).await;
    let kept: Vec<UnixMs> = minutes(2..5).chain(minutes(402..405)).collect();
    assert_eq!(runs_of(&fixture, "a").await, kept);
    assert!(fixture.store.jobs_over_limit(3).await.unwrap().is_empty());
}

#[tokio::test]
async fn run_cancelled_before_start_is_idle() {
    let fixture = Fixture::new().await;
    ended(&fixture, "a", NOW).await;
    for minute in 1..4 {
        idle(&fixture, "a", NOW.plus_ms(minute * MINUTE), RunState::Cancelled).await;
    }
    prune(&fixture, "a", 1, NOW.plus_ms(DAY)).await;
    assert_eq!(runs_of(&fixture, "a").await, [NOW, NOW.plus_ms(3 * MINUTE)]);
}

#[tokio::test]
async fn size_pruning_keeps_newest_executed_run() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    for minute in 0..3 {
        ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
    }
    for minute in 3..6 {
        idle(&fixture, "a", NOW.plus_ms(minute * MINUTE), RunState::Skipped).await;
    }
    while fixture.store.prune_oldest_runs(NOW.plus_ms(DAY)).await.unwrap() {}
    let kept = [NOW.plus_ms(2 * MINUTE), NOW.plus_ms(5 * MINUTE)];
    assert_eq!(runs_of(&fixture, "a").await, kept);
}

#[tokio::test]
async fn pruned_run_takes_its_rows_open_delivery_keeps_run() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let session = SessionKey::of_job(&JobId::new("a"));
    let (mut ids, count) = (Vec::new(), 4);
    for n in 0..count {
        let id = ended(&fixture, "a", NOW.plus_ms(n)).await;
        let step = NewStep {
            gate: None,
            call_id: None,
            run_id: id.clone(),
            kind: StepKind::ToolCall,
            name: "echo".to_owned(),
            repeatable: true,
            input: json!({}),
        };
        store.begin_step(&step, NOW).await.unwrap();
        let said = [user("Hello")];
        store.append_messages(&session, Some(&id), &said, NOW).await.unwrap();
        store.enqueue_delivery(Some(&id), &delivery(&format!("d{n}")), NOW).await.unwrap();
        ids.push(id);
    }
    let settled = rouse_core::delivery::DeliveryState::Delivered;
    store.settle_delivery(&DeliveryId::new("d0"), settled, None, NOW).await.unwrap();
    store.hold_delivery(&DeliveryId::new("d2"), NOW.plus_ms(DAY), NOW).await.unwrap();
    prune(&fixture, "a", 1, NOW.plus_ms(DAY)).await;
    assert!(store.run(&ids[0]).await.unwrap().is_none());
    assert!(store.delivery(&DeliveryId::new("d0")).await.unwrap().is_none());
    assert!(store.steps(&ids[0]).await.unwrap().is_empty());
    assert!(store.run(&ids[1]).await.unwrap().is_some(), "the delivery is pending");
    assert!(store.delivery(&DeliveryId::new("d1")).await.unwrap().is_some());
    assert!(store.run(&ids[2]).await.unwrap().is_some(), "the delivery is held");
    assert!(store.delivery(&DeliveryId::new("d2")).await.unwrap().is_some());
    assert_eq!(store.messages(&session, 100).await.unwrap().len(), 3);
    assert_eq!(sessions(store).await[0].3, 3);
}

#[tokio::test]
async fn pruning_keeps_last_result() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", None).await;
    ended(&fixture, "a", NOW).await;
    let with_result = [r#"UPDATE runs SET result = '{"battery":20}'"#];
    fixture.store.writers.acquire().await.execute_outside_transaction(&with_result).await.unwrap();
    for minute in 1..10 {
        let slot = NOW.plus_ms(minute * MINUTE);
        let failed = Run {
            state: RunState::Failed,
            finished_at: Some(slot),
            id: RunId::generate(slot),
            ..slot_run("a", slot)
        };
        fixture.store.insert_run(&failed, NOW).await.unwrap();
    }
    prune(&fixture, "a", 2, NOW.plus_ms(DAY)).await;
    let last = fixture.store.last_result(&JobId::new("a")).await.unwrap();
    assert_eq!(last, Some(json!({ "battery": 20 })));
    assert_eq!(runs_of(&fixture, "a").await.len(), 3);
}

#[tokio::test]
async fn open_runs_are_never_pruned() {
    let fixture = Fixture::new().await;
    let waiting = fixture.running("a").await;
    for minute in 1..10 {
        ended(&fixture, "a", NOW.plus_ms(minute * MINUTE)).await;
    }
    prune(&fixture, "a", 1, NOW.plus_ms(DAY)).await;
    while fixture.store.prune_oldest_runs(NOW.plus_ms(DAY)).await.unwrap() {}
    assert_eq!(fixture.run(&waiting).await.state, RunState::Running);
}

#[tokio::test]
async fn size_pruning_takes_oldest_and_keeps_newest_of_job() {
    let fixture = Fixture::new().await;
    for job in ["a", "b"] {
        fixture.insert_job(job, None).await;
        for n in 0..40 {
            ended(&fixture, job, NOW.plus_ms(n)).await;
        }
    }
    ended(&fixture, "gone", NOW).await;
    let now = NOW.plus_ms(DAY);
    assert!(fixture.store.prune_oldest_runs(now).await.unwrap());
    assert_eq!(runs_of(&fixture, "a").await.len(), 30);
    assert_eq!(runs_of(&fixture, "b").await.len(), 40);
    while fixture.store.prune_oldest_runs(now).await.unwrap() {}
    assert_eq!(fixture.store.job_counts().await.unwrap().all, 2);
    for (job, runs) in [("a", 1), ("b", 1), ("gone", 0)] {
        assert_eq!(runs_of(&fixture, job).await.len(), runs, "{job}");
    }
}

#[tokio::test]
async fn message_pruning_is_per_run_and_spares_main() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let job = SessionKey::of_job(&JobId::new("a"));
    let said: Vec<Message> = (0..3).map(|n| user(format!("Line {n}"))).collect();
    for session in [&job, &SessionKey::main()] {
        for n in 0..5 {
            let run = RunId::new(format!("{session}-{n}"));
            store.append_messages(session, Some(&run), &said, NOW).await.unwrap();
        }
    }
    let kept = json!(said[0]).to_string().len() as u64;
    assert_eq!(store.main_session_bytes().await.unwrap(), 15 * kept, "of main alone");
    while store.prune_messages(4, NOW).await.unwrap() {}
    let left = store.messages(&job, 100).await.unwrap();
    let runs: Vec<&str> =
        left.iter().filter_map(|message| message.run_id.as_ref().map(RunId::as_str)).collect();
    assert_eq!(runs, ["cron:a-3", "cron:a-3", "cron:a-3", "cron:a-4", "cron:a-4", "cron:a-4"]);
    let sessions = sessions(store).await;
    let counts: Vec<_> = sessions.iter().map(|(key, _, _, count)| (key.as_str(), *count)).collect();
    assert_eq!(counts, [("cron:a", 6), ("main", 15)]);
}

#[tokio::test]
async fn message_pruning_keeps_open_runs() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let waiting = fixture.running("a").await;
    let job = SessionKey::of_job(&JobId::new("a"));
    let said: Vec<Message> = (0..3).map(|n| user(format!("Line {n}"))).collect();
    let runs = (0..3).map(|n| RunId::new(format!("later-{n}")));
    for run in std::iter::once(waiting.clone()).chain(runs) {
        store.append_messages(&job, Some(&run), &said, NOW).await.unwrap();
    }
    while store.prune_messages(3, NOW).await.unwrap() {}
    let left = store.messages(&job, 100).await.unwrap();
    let runs: Vec<&str> =
        left.iter().filter_map(|message| message.run_id.as_ref().map(RunId::as_str)).collect();
    let id = waiting.as_str();
    assert_eq!(runs, [id, id, id, "later-2", "later-2", "later-2"]);
}

#[tokio::test]
async fn settled_lines_are_bounded_pending_ones_stay() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let waiting = store.queue_system_event("Wait for me", "wake", &[], NOW).await.unwrap();
    let mut seen = Vec::new();
    for n in 0..1_300 {
        seen.push(store.queue_system_event(&format!("Line {n}"), "wake", &[], NOW).await.unwrap());
    }
    store.drain_system_events(&RunId::new("r"), &seen, NOW).await.unwrap();
    while store.prune_settled_rows(NOW).await.unwrap() {}
    let sql = "SELECT count(*) FROM system_events";
    let left: i64 = sqlx::query_scalar(sql).fetch_one(&store.readers).await.unwrap();
    assert_eq!(left, 1_001);
    let pending = store.pending_system_events(1_000).await.unwrap();
    assert_eq!(pending.iter().map(|event| event.id).collect::<Vec<_>>(), [waiting]);
}

/// Inserts runs of 100 kB each.
async fn fill(fixture: &Fixture, count: i64) {
    for n in 0..count {
        let run = Run {
            state: RunState::Succeeded,
            finished_at: Some(NOW),
            summary: Some("x".repeat(100_000)),
            id: RunId::generate(NOW),
            ..slot_run("a", NOW.plus_ms(n * MINUTE))
        };
        fixture.store.insert_run(&run, NOW).await.unwrap();
    }
}

fn bytes(fixture: &Fixture) -> u64 {
    std::fs::metadata(fixture.path()).unwrap().len()
}

#[tokio::test]
async fn released_pages_shrink_the_file() {
    let fixture = Fixture::new().await;
    fill(&fixture, 60).await;
    let before = fixture.store.file_size().await.unwrap();
    assert!(before.can_shrink && before.used > 6_000_000, "{before:?}");
    prune(&fixture, "a", 5, NOW.plus_ms(DAY)).await;
    let pruned = fixture.store.file_size().await.unwrap();
    assert!(pruned.free > 5_000_000, "{pruned:?}");
    while fixture.store.file_size().await.unwrap().free > 0 {
        fixture.store.release_free_pages(NOW).await.unwrap();
    }
    fixture.store.close().await;
    assert!(bytes(&fixture) < 1_500_000, "{}", bytes(&fixture));
}

#[tokio::test]
async fn rebuild_converts_an_older_file() {
    let fixture = Fixture::new().await;
    fill(&fixture, 30).await;
    {
        let mut writer = fixture.store.writers.acquire().await;
        writer.execute_outside_transaction(&["PRAGMA auto_vacuum = NONE", "VACUUM"]).await.unwrap();
    }
    prune(&fixture, "a", 5, NOW.plus_ms(DAY)).await;
    assert!(!fixture.store.file_size().await.unwrap().can_shrink);
    fixture.store.rebuild_file().await.unwrap();
    let size = fixture.store.file_size().await.unwrap();
    assert!(size.can_shrink && size.free == 0, "{size:?}");
    assert_eq!(runs_of(&fixture, "a").await.len(), 5);
    fixture.insert_job("b", None).await;
    fixture.store.close().await;
    assert!(bytes(&fixture) < 1_500_000, "{}", bytes(&fixture));
    let store = Store::open(&fixture.path(), listener(&fixture.events)).await.unwrap();
    assert!(store.job(&JobId::new("b")).await.unwrap().is_some());
}

#[tokio::test]
async fn coalesced_slots_never_fire_again_after_pruning() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let minute = |n: i64| NOW.plus_ms(n * MINUTE);
    for n in 0..100 {
        let reason = Some("Everything was paused".to_owned());
        let run = Run { state: RunState::Skipped, reason, ..slot_run("a", minute(n)) };
        let claim = claim("a", minute(n), Some(minute(n + 1)), vec![run]);
        let claim = Claim { coalesce_key: Some("1".to_owned()), ..claim };
        fixture.store.claim(&[claim], minute(n)).await.unwrap();
    }
    assert_eq!(runs_of(&fixture, "a").await, [minute(99)]);
    assert!(!fires(&fixture, "a", minute(50)).await);
    assert!(fires(&fixture, "a", minute(50).plus_ms(-HOUR)).await, "the slot before");
    assert!(fires(&fixture, "a", minute(100)).await, "the next slot");
    prune(&fixture, "a", 0, NOW.plus_ms(DAY)).await;
    assert!(!fires(&fixture, "a", minute(50)).await);
    assert_eq!(spans(&fixture).await, [("a".to_owned(), NOW.0, minute(99).0)]);
}
