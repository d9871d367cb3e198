//! A start after a clock rollback while Rouse was off, cut at every disk call in turn.
//!
//! The engine detects the rollback by the newest event. Whatever the cut start has written, the next start must still
//! advance the slots that a clock far ahead had planned.

use rouse_core::{JobId, Run, RunId, RunState, RunTrigger};
use rouse_testkit::faulty_disk::{Fault, Lasts};
use rouse_testkit::{FaultyDisk, ManualClock};
use serde_json::json;

use super::engine::{EffectLedger, start};
use super::lives::job;
use super::script::NOW;
use super::{folder, open};
use crate::world::shape::{DAY, HOUR};

/// Cuts the start at call `at`. Returns the number of calls, and the distance of the next slot after the following
/// start.
async fn start_cut_off(at: Option<u64>) -> (u64, i64) {
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    let (clock, ledger) = (ManualClock::new(NOW), EffectLedger::default());
    let id = JobId::new("daily");
    let far = NOW.plus_ms(400 * DAY);
    {
        let store = open(folder.path()).await.expect("a store");
        // A first start of all plans anew in any case.
        let handle = start(&store, &clock, &ledger).await.expect("started");
        handle.status().await.expect("the engine has started");
        handle.shutdown().await;
        let mut daily =
            job(&id, "Daily", 0, json!({ "kind": "every", "everyMs": DAY, "anchorMs": 0 }), NOW.0);
        daily.state.next_run_at = Some(far.plus_ms(DAY));
        store.insert_job(&daily, far).await.expect("saved");
        // Makes the start write before replanning.
        let cut_off = Run {
            state: RunState::Running,
            started_at: Some(far),
            ..Run::queued(RunId::generate(far), RunTrigger::Heartbeat, far)
        };
        store.insert_run(&cut_off, far).await.expect("saved");
        store.close().await;
    }
    let now = NOW.plus_ms(HOUR);
    clock.set(now);
    let before = disk.calls();
    if let Some(at) = at {
        disk.fail_at(before + at, Fault::Broken, Lasts::UntilMended);
    }
    if let Ok(store) = open(folder.path()).await {
        if let Some(handle) = start(&store, &clock, &ledger).await {
            drop(handle.status().await);
        }
        store.close().await;
    }
    let calls = disk.calls() - before;
    disk.repair();
    let store = open(folder.path()).await.expect("a store");
    let handle = start(&store, &clock, &ledger).await.expect("started");
    handle.status().await.expect("still missing slots");
    let next = store.job(&id).await.expect("read").expect("there").state.next_run_at;
    handle.shutdown().await;
    store.close().await;
    (calls, next.expect("a next slot").since(now))
}

#[tokio::test]
async fn cut_start_after_rollback_delays_no_job() {
    let (calls, away) = start_cut_off(None).await;
    assert!(away <= DAY, "{away} ms away after a whole start");
    assert!(calls > 10, "the start made {calls} calls");
    for at in 0..calls {
        let (_, away) = start_cut_off(Some(at)).await;
        assert!(
            away <= DAY,
            "{away} ms away after a start that was cut off at call {at} of {calls}"
        );
    }
}
