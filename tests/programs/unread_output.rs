//! An engine with unread output: a full pipe, Ctrl+S or a stopped pager.

use std::time::Duration;

use crate::engine::TestHome;
use crate::probes::echo;

/// A limit for the wait on a blocked engine.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn jobs_fire_and_signal_works_with_full_output_pipe() {
    let home = TestHome::new();
    let engine = home.serve_with_small_pipe();
    // Each run logs two lines with this name: ten runs fill the pipe.
    let id = engine.add_job(echo(&"A long name ".repeat(16))).await;
    let fired = async {
        for count in 1..=20 {
            engine.start_run(&id).await;
            engine.finished_runs(&id, count).await;
        }
    };
    tokio::time::timeout(LONG, fired).await.expect("the engine stands still");
    assert!(engine.stop().success());
}
