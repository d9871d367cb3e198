//! A start after the clock was set back while nobody was there, cut off at every call in turn.
//!
//! The engine tells such a step by the time of its newest event. Whatever the start that is cut off has written by
//! then, the next one must still bring the slots that a clock far ahead had planned as near as they belong.

use rouse_core::JobId;
use rouse_core::time::Clock as _;
use rouse_testkit::faulty_disk::{Fault, Lasts};
use rouse_testkit::{FaultyDisk, ManualClock};
use serde_json::json;

use super::hands::{Ledger, start};
use super::lives::job;
use super::script::NOW;
use super::{folder, open};
use crate::world::shape::{DAY, HOUR};

/// Cuts the start off from its call `at` on; answers how many calls it had, and how far the job's next slot is away.
async fn next_after_a_start_cut_off(at: Option<u64>) -> (u64, i64) {
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    let (clock, ledger) = (ManualClock::new(NOW), Ledger::default());
    let id = JobId::new("daily");
    {
        let store = open(folder.path()).await.expect("a store");
        let handle = start(&store, &clock, &ledger).await.expect("started");
        let daily = json!({ "kind": "every", "everyMs": DAY, "anchorMs": 0 });
        handle.add_job(job(&id, "Daily", 0, daily, NOW.0)).await.expect("saved");
        clock.set(NOW.plus_ms(400 * DAY));
        handle.status().await.expect("it has seen the clock");
        // A run that never began: the next start has something to write before it plans.
        disk.fail_now(Fault::Broken);
        drop(handle.run_now(&id, rouse_scheduler::RunMode::Force).await);
        disk.mend();
        store.close().await;
    }
    leave_a_run_at_work(folder.path(), &id).await;
    clock.set(NOW.plus_ms(HOUR));
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
    (calls, next.expect("it has one").since(clock.now()))
}
