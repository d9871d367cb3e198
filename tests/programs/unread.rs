//! An engine whose terminal nobody reads: a full pipe, Ctrl+S, a pager that stands still.

use std::time::Duration;

use crate::engine::Home;
use crate::probes::echo;

/// More than any of this takes; without it an engine that stands still would be waited for.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn jobs_fire_and_a_signal_ends_it_although_nobody_reads_its_terminal() {
    let home = Home::new();
    let engine = home.serve_unread();
    // Two lines a run with this name: after ten runs the pipe is full, and some more find no room either.
    let id = engine.add(echo(&"A long name ".repeat(16))).await;
    let fired = async {
        for count in 1..=20 {
            engine.run_now(&id).await;
            engine.ended(&id, count).await;
        }
    };
    tokio::time::timeout(LONG, fired).await.expect("the engine stands still");
    assert!(engine.stop().success());
}
