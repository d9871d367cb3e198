//! A start after the clock was set back while nobody was there, cut off at every call in turn.
//!
//! The engine tells such a step by the time of its newest event. Whatever the start that is cut off has written by
//! then, the next one must still bring the slots that a clock far ahead had planned as near as they belong.

use rouse_core::{JobId, Run, RunId, RunState, RunTrigger};
use rouse_testkit::faulty_disk::{Fault, Lasts};
use rouse_testkit::{FaultyDisk, ManualClock};
use serde_json::json;

use super::hands::{Ledger, start};
use super::lives::job;
use super::script::NOW;
use super::{folder, open};
use crate::world::shape::{DAY, HOUR};

/// Cuts the start off from its call `at` on; answers how many calls it had, and how far away the next slot is after the
/// start that follows.
async fn start_cut_off(at: Option<u64>) -> (u64, i64) {
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    let (clock, ledger) = (ManualClock::new(NOW), Ledger::default());
    let id = JobId::new("daily");
    let far = NOW.plus_ms(400 * DAY);
    {
        let store = open(folder.path()).await.expect("a store");
        // A first start of all plans anew in any case.
        let handle = start(&store, &clock, &ledger).await.expect("started");
        handle.status().await.expect("it has started");
        handle.shutdown().await;
        let mut daily =
            job(&id, "Daily", 0, json!({ "kind": "every", "everyMs": DAY, "anchorMs": 0 }), NOW.0);
        daily.state.next_run_at = Some(far.plus_ms(DAY));
        store.insert_job(&daily, far).await.expect("saved");
        // The start has something to write before it plans.
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
    disk.mend();
    let store = open(folder.path()).await.expect("a store");
    let handle = start(&store, &clock, &ledger).await.expect("started");
    handle.status().await.expect("it goes on");
    let next = store.job(&id).await.expect("read").expect("there").state.next_run_at;
    handle.shutdown().await;
    store.close().await;
    (calls, next.expect("it has one").since(now))
}

#[tokio::test]
async fn a_start_that_is_cut_off_after_the_clock_was_set_back_holds_up_no_job() {
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
