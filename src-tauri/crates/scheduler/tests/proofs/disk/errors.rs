//! A failing disk call, or failing calls from an instant on: every acknowledged write survives, and the store recovers
//! with the disk.

use rouse_testkit::FaultyDisk;
use rouse_testkit::dice::is_long;
use rouse_testkit::faulty_disk::{Fault, Hits, Lasts};

use super::script::{Script, broken};
use super::{folder, integrity, open};

const ROUNDS: i64 = 2;
/// The short form fails every n-th call; each fault has another offset.
const STRIDE: u64 = 7;

/// Plays the script while call `at` fails. Returns the number of calls and the hits of the fault.
async fn play(at: Option<u64>, fault: Fault, lasts: Lasts) -> (u64, Hits) {
    let place = format!("call {at:?}, {fault:?}, {lasts:?}");
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    let mut script = Script::new(&disk);
    if let Some(at) = at {
        disk.fail_at(at, fault, lasts);
    }
    let mut store = open(folder.path()).await.ok();
    for round in 0..ROUNDS {
        if store.is_none() {
            store = open(folder.path()).await.ok();
        }
        if let Some(store) = &store {
            script.round(store, round).await;
        }
    }
    let (calls, hits) = (disk.calls(), disk.hits());
    disk.repair();
    let healed = match store {
        Some(store) => store,
        None => open(folder.path()).await.unwrap_or_else(|error| panic!("{place}: {error}")),
    };
    let refused = script.refused;
    script.round(&healed, 50).await;
    assert_eq!(script.refused, refused, "{place}: the store goes on by itself");
    healed.close().await;
    let store = open(folder.path()).await.unwrap_or_else(|error| panic!("{place}: {error}"));
    let broken = broken(&store, &script.acknowledged).await;
    assert_eq!(broken.unwrap_or_else(|error| panic!("{place}: {error}")), [], "{place}");
    store.close().await;
    assert_eq!(integrity(folder.path()).await, "ok", "{place}");
    (calls, hits)
}

#[tokio::test]
async fn failed_disk_call_keeps_every_acknowledged_write() {
    let (all, _) = play(None, Fault::Broken, Lasts::Once).await;
    let faults = [
        (Fault::Broken, Lasts::Once),
        (Fault::Broken, Lasts::UntilMended),
        (Fault::Full, Lasts::Once),
        (Fault::Full, Lasts::UntilMended),
    ];
    let (mut tried, mut broken, mut full) = (0, 0, 0);
    for (n, (fault, lasts)) in (0_u64..).zip(faults) {
        let (first, stride) = if is_long() { (0, 1) } else { (n * 2 % STRIDE, STRIDE) };
        let mut at = first;
        while at < all {
            let (calls, hits) = play(Some(at), fault, lasts).await;
            assert!(calls > at, "call {at} of {all} was not made");
            let struck = hits.broken + hits.full + hits.spared;
            assert!(struck > 0, "nothing was struck at call {at}, {fault:?}");
            assert!(fault == Fault::Full || hits.broken == struck, "{hits:?} at call {at}");
            (broken, full) = (broken + u64::from(hits.broken > 0), full + u64::from(hits.full > 0));
            (at, tried) = (at + stride, tried + 1);
        }
    }
    println!("{tried} faults in a script of {all} calls: {broken} times broken, {full} times full");
    assert!(broken * 5 > tried * 2, "{broken} of {tried} times the disk was broken");
    assert!(full * 5 > tried, "{full} of {tried} times the disk was full");
}
