//! Claims: slots fire once, skipped slots are coalesced.

use super::*;

fn ended(state: RunState, reason: &str, run: Run) -> Run {
    Run { state, reason: Some(reason.to_owned()), ..run }
}

#[tokio::test]
async fn due_jobs_are_ordered_by_slot_with_their_load() {
    let fixture = Fixture::new().await;
    fixture.insert_job("later", Some(NOW.plus_ms(1))).await;
    fixture.insert_job("b", Some(NOW)).await;
    fixture.insert_job("a", Some(NOW.plus_ms(-5))).await;
    let mut going = slot_run("a", UnixMs(1));
    going.state = RunState::Running;
    let mut parked = slot_run("a", UnixMs(2));
    parked.state = RunState::AwaitingApproval;
    let waiting = slot_run("a", UnixMs(3));
    let over = Run { finished_at: Some(NOW), state: RunState::Failed, ..slot_run("a", UnixMs(4)) };
    for run in [going, parked, waiting, over] {
        fixture.store.insert_run(&run, NOW).await.unwrap();
    }
    let due = fixture.due().await;
    let found: Vec<_> =
        due.iter().map(|due| (due.job.id.as_str(), due.queued, due.active)).collect();
    assert_eq!(found, [("a", 1, 1), ("b", 0, 0)]);
    assert_eq!(due[0].job, fixture.job("a").await);
    assert_eq!(fixture.store.first_due_job(NOW).await.unwrap(), Some(fixture.job("a").await));
}

#[tokio::test]
async fn running_run_begins_with_its_claim() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    fixture.insert_job("b", Some(NOW)).await;
    fixture.take_events();
    let now = NOW.plus_ms(3);
    let begins = |id: &str| Run {
        state: RunState::Running,
        started_at: Some(now),
        attempt: 1,
        ..slot_run(id, NOW)
    };
    let (run, fired) = (begins("a"), begins("b"));
    fixture
        .store
        .insert_run(&Run { id: RunId::new("earlier"), ..slot_run("b", NOW) }, NOW)
        .await
        .unwrap();
    fixture.take_events();
    let claims = [claim("a", NOW, None, vec![run.clone()]), claim("b", NOW, None, vec![fired])];
    let begun = fixture.store.claim(&claims, now).await.unwrap().runs;
    assert_eq!(begun, std::slice::from_ref(&run.id));
    assert_eq!(fixture.run(&run.id).await, run);
    assert_eq!(fixture.job("a").await.state.last_run_at, Some(now));
    assert_eq!(fixture.job("b").await.state.last_run_at, None, "the slot had fired already");
    let id = run.id.as_str();
    assert_eq!(
        fixture.take_events(),
        [
            (EventKind::Run, json!({ "runId": id, "state": "running", "jobId": "a" })),
            (EventKind::Cron, json!({ "jobId": "a", "action": "started", "runId": id })),
        ]
    );
}

#[tokio::test]
async fn claim_advances_job_and_inserts_runs() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    fixture.take_events();
    let missed = ended(RunState::Missed, "Too late", slot_run("a", NOW.plus_ms(-1)));
    let run = slot_run("a", NOW);
    let next = NOW.plus_ms(60_000);
    let claims = [claim("a", NOW, Some(next), vec![missed.clone(), run.clone()])];
    let now = NOW.plus_ms(3);
    let claimed = fixture.store.claim(&claims, now).await.unwrap().runs;
    assert_eq!(claimed, [missed.id.clone(), run.id.clone()]);

    assert_eq!(fixture.run(&run.id).await, run);
    assert_eq!(fixture.run(&missed.id).await, Run { finished_at: Some(now), ..missed.clone() });
    let state = fixture.job("a").await.state;
    assert_eq!(state.next_run_at, Some(next));
    assert_eq!(state.last.state, Some(RunState::Missed));
    assert_eq!(state.last_error.as_deref(), Some("Too late"));
    assert_eq!(
        fixture.take_events(),
        [
            (
                EventKind::Run,
                json!({ "runId": missed.id.as_str(), "state": "missed", "jobId": "a" })
            ),
            (
                EventKind::Cron,
                json!({
                    "jobId": "a", "action": "finished", "nextRunAtMs": next.0, "runId": missed.id.as_str(),
                    "state": "missed", "status": "skipped", "error": "Too late"
                })
            ),
            (EventKind::Run, json!({ "runId": run.id.as_str(), "state": "queued", "jobId": "a" })),
        ]
    );
}

#[tokio::test]
async fn concurrent_claims_fire_a_slot_once() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let attempts = (0..8).map(|_| {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            let run = slot_run("a", NOW);
            store
                .claim(&[claim("a", NOW, Some(NOW.plus_ms(1)), vec![run])], NOW)
                .await
                .unwrap()
                .runs
        })
    });
    let mut inserted = Vec::new();
    for attempt in attempts.collect::<Vec<_>>() {
        inserted.extend(attempt.await.unwrap());
    }
    assert_eq!(inserted.len(), 1);

    // A claim of the stored slot cannot fire a slot that has a run.
    let again = slot_run("a", NOW);
    let claims = [claim("a", NOW.plus_ms(1), Some(NOW.plus_ms(2)), vec![again])];
    assert_eq!(fixture.store.claim(&claims, NOW).await.unwrap().runs, []);
    assert_eq!(fixture.job("a").await.state.next_run_at, Some(NOW.plus_ms(2)));
    assert_eq!(fixture.store.queued_runs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn claim_of_another_slot_is_dropped() {
    let fixture = Fixture::new().await;
    fixture.insert_job("moved", Some(NOW.plus_ms(1))).await;
    let mut off = Job { enabled: false, ..job("off") };
    off.state.next_run_at = Some(NOW);
    fixture.store.insert_job(&off, NOW).await.unwrap();
    fixture.insert_job("good", Some(NOW)).await;
    let good = slot_run("good", NOW);
    let claims = [
        claim("moved", NOW, None, vec![slot_run("moved", NOW)]),
        claim("off", NOW, None, vec![slot_run("off", NOW)]),
        claim("gone", NOW, None, vec![slot_run("gone", NOW)]),
        claim("good", NOW, None, vec![good.clone()]),
    ];
    assert_eq!(fixture.store.claim(&claims, NOW).await.unwrap().runs, [good.id]);
    assert_eq!(fixture.job("moved").await.state.next_run_at, Some(NOW.plus_ms(1)));
    assert_eq!(fixture.store.queued_runs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn claim_sets_last_state_from_newest_final_run() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let runs = vec![
        ended(RunState::Missed, "Too late", slot_run("a", UnixMs(1))),
        ended(RunState::Skipped, "Still going", slot_run("a", NOW)),
    ];
    fixture.store.claim(&[claim("a", NOW, None, runs)], NOW).await.unwrap();
    let state = fixture.job("a").await.state;
    assert_eq!(state.last.state, Some(RunState::Skipped));
    assert_eq!(state.last_error.as_deref(), Some("Still going"));
    assert_eq!(state.consecutive_failures, 0);
}

#[tokio::test]
async fn thousands_of_claims_keep_their_order() {
    let fixture = Fixture::new().await;
    let ids: Vec<String> = (0..2_000).map(|n| format!("job-{n}")).collect();
    let mut tx = fixture.store.begin("fill", crate::sql::Durability::Normal, NOW).await.unwrap();
    let rows = Value::Array(ids.iter().map(|id| json!(id)).collect()).to_string();
    let insert = "INSERT INTO jobs (id, name, enabled, revision, next_run_at, consecutive_failures, definition)
        SELECT value, value, 1, 1, $1, 0, '{}' FROM json_each($2)";
    tx.execute(sqlx::query(insert).bind(NOW.0).bind(rows)).await.unwrap();
    tx.commit().await.unwrap();

    let claims: Vec<Claim> =
        ids.iter().map(|id| claim(id, NOW, None, vec![slot_run(id, NOW)])).collect();
    let wanted: Vec<RunId> = claims.iter().map(|claim| claim.runs[0].id.clone()).collect();
    assert_eq!(fixture.store.claim(&claims, NOW).await.unwrap().runs, wanted);
    let queued: Vec<RunId> =
        fixture.store.queued_runs().await.unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(queued, wanted);
    assert_eq!(fixture.store.start_runs(&wanted, NOW).await.unwrap(), wanted);
    assert_eq!(fixture.store.running_runs().await.unwrap().len(), 2_000);
}

#[tokio::test]
async fn empty_claim_writes_nothing() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.claim(&[], NOW).await.unwrap().runs, []);
    assert_eq!(fixture.store.start_runs(&[], NOW).await.unwrap(), []);
    assert_eq!(fixture.store.last_seq().await.unwrap(), 0);
}

/// A claim of a skipped slot with this key.
fn skipped(slot: UnixMs, reason: &str, coalesce_key: &str) -> Claim {
    let run = ended(RunState::Skipped, reason, slot_run("a", slot));
    let next = Some(slot.plus_ms(60_000));
    Claim { coalesce_key: Some(coalesce_key.to_owned()), ..claim("a", slot, next, vec![run]) }
}

#[tokio::test]
async fn skipped_slot_is_coalesced_with_one_event() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let minute = |n: i64| NOW.plus_ms(n * 60_000);
    let first = skipped(NOW, "Paused", "1");
    let row = first.runs[0].id.clone();
    assert_eq!(fixture.store.claim(&[first], NOW).await.unwrap().runs, std::slice::from_ref(&row));
    fixture.take_events();
    let second = skipped(minute(1), "Paused", "1");
    let planned = second.runs[0].id.clone();
    let claimed = fixture.store.claim(&[second], minute(1)).await.unwrap();
    assert_eq!(claimed.runs, []);
    assert_eq!(claimed.coalesced, [crate::CoalescedSlot { planned, into: row.clone() }]);
    let event = json!({ "runId": row.as_str(), "state": "skipped", "jobId": "a" });
    assert_eq!(fixture.take_events(), [(EventKind::Run, event)]);
    let run = fixture.run(&row).await;
    assert_eq!((run.first_slot_at, run.slot_at), (Some(NOW), Some(minute(1))));
    assert_eq!((run.slot_count, run.created_at), (2, minute(1)));
    assert_eq!(fixture.job("a").await.state.next_run_at, Some(minute(2)));

    // A late claim changes nothing and does not affect a valid claim in the same batch.
    fixture.insert_job("b", Some(NOW)).await;
    let late = skipped(minute(1), "Paused", "1");
    let good = slot_run("b", NOW);
    let both = [late, claim("b", NOW, None, vec![good.clone()])];
    let claimed = fixture.store.claim(&both, minute(1)).await.unwrap();
    assert_eq!((claimed.runs, claimed.coalesced), (vec![good.id], Vec::new()));
    let again = skipped(minute(2), "Paused", "1");
    let moved = claim("b", NOW, None, vec![slot_run("b", NOW)]);
    let claimed = fixture.store.claim(&[again, moved], minute(2)).await.unwrap();
    assert_eq!((claimed.runs.len(), claimed.coalesced.len()), (0, 1));
    assert_eq!(fixture.run(&row).await.slot_count, 3);
}

#[tokio::test]
async fn different_reason_state_or_key_is_not_coalesced() {
    let fixture = Fixture::new().await;
    fixture.insert_job("a", Some(NOW)).await;
    let minute = |n: i64| NOW.plus_ms(n * 60_000);
    let mut missed = skipped(minute(4), "Busy", "2");
    missed.runs[0].state = RunState::Missed;
    let claims = [
        skipped(minute(0), "Paused", "1"),
        skipped(minute(1), "Busy", "1"),
        skipped(minute(2), "Busy", "2"),
        Claim { coalesce_key: None, ..skipped(minute(3), "Busy", "2") },
        missed,
    ];
    for (n, claim) in (0..).zip(claims) {
        let id = claim.runs[0].id.clone();
        assert_eq!(fixture.store.claim(&[claim], minute(n)).await.unwrap().runs, [id], "{n}");
    }
}
