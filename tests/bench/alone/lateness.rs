//! One job a second: how long after its instant its run begins.

use serde_json::json;

use super::floor;
use super::stage::{Stage, wall_us};
use crate::report::{Report, quantile};

const SECONDS: usize = 60;
/// How many times the lateness of one that is alone still passes for that.
const AS_ALONE: f64 = 1.1;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let (plain, driver) = floor::wake_and_commit_ms().await?;
    report.known("floor: the kernel's timer wakes a task, p50", floor::wake_ms().await?, "ms");
    for (what, floor) in [
        ("the same and one durable row of plain SQLite", plain),
        ("the same through the driver of the store", driver),
    ] {
        report.known(&format!("floor: {what}, p50"), floor.p50, "ms");
        report.known(&format!("floor: {what}, p99"), floor.p99, "ms");
    }
    let mut medians = Vec::new();
    for others in [0, 9_999] {
        let mut late = beside(others).await?;
        let what =
            |share: &str| format!("lateness of one job a second beside {others} others, {share}");
        medians.push(quantile(&mut late, 0.5));
        report.at_most(&what("p50"), quantile(&mut late, 0.5), 0.3, "ms");
        report.at_most(&what("p99"), quantile(&mut late, 0.99), 2.0, "ms");
    }
    let [alone, crowded] = medians[..] else { anyhow::bail!("two medians were measured") };
    let what = "the same beside 9,999 others, of what it is alone, p50";
    report.at_most(what, crowded / alone, AS_ALONE, "times");
    Ok(())
}

/// Milliseconds from each slot to the begin of its run, which comes after a durable claim.
async fn beside(others: usize) -> anyhow::Result<Vec<f64>> {
    let stage = Stage::new(std::sync::Arc::new(|_| {})).await?;
    let far = (0..others).map(|_| json!({ "kind": "cron", "expr": "0 0 1 1 *", "tz": "UTC" }));
    stage.store_jobs(far).await?;
    let anchor = wall_us() / 1_000_000 * 1_000 + 2_000;
    let every = json!({ "kind": "every", "everyMs": 1_000, "anchorMs": anchor });
    stage.store_jobs(std::iter::once(every)).await?;
    let _engine = stage.start(4).await?;
    let begins = stage.begins.take(SECONDS).await;
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    Ok(begins.into_iter().map(|(slot, begun)| (begun - slot * 1_000) as f64 / 1_000.0).collect())
}
