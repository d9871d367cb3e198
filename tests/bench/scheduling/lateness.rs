//! A job per second: the time from the slot to the start of the run.

use serde_json::json;

use super::baselines;
use super::fixture::{SchedulerFixture, wall_us};
use crate::report::{Report, quantile};

const SECONDS: usize = 60;
/// The allowed ratio of the lateness with and without other jobs.
const MAX_RATIO: f64 = 1.1;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let (plain, driver) = baselines::measure_wake_up_and_commit().await?;
    report.info(
        "baseline: wake-up by the kernel's timer, p50",
        baselines::measure_wake_up().await?,
        "ms",
    );
    for (label, baseline) in [
        ("wake-up and one durable row of plain SQLite", plain),
        ("the same through the store's driver", driver),
    ] {
        report.info(&format!("baseline: {label}, p50"), baseline.p50, "ms");
        report.info(&format!("baseline: {label}, p99"), baseline.p99, "ms");
    }
    let mut medians = Vec::new();
    let many = report.job_count() - 1;
    for others in [0, many] {
        let mut late = measure_lateness(others).await?;
        let label =
            |share: &str| format!("lateness of one job a second with {others} other jobs, {share}");
        medians.push(quantile(&mut late, 0.5));
        report.at_most(&label("p50"), quantile(&mut late, 0.5), 0.3, "ms");
        report.at_most(&label("p99"), quantile(&mut late, 0.99), 2.0, "ms");
    }
    let [alone, with_others] = medians[..] else { anyhow::bail!("two medians were measured") };
    let label = format!("lateness with {many} other jobs, relative to none, p50");
    report.at_most(&label, with_others / alone, MAX_RATIO, "times");
    Ok(())
}

/// The milliseconds from each slot to the start of its run, which follows a durable claim.
async fn measure_lateness(others: usize) -> anyhow::Result<Vec<f64>> {
    let fixture = SchedulerFixture::new(std::sync::Arc::new(|_| {})).await?;
    let far = (0..others).map(|_| json!({ "kind": "cron", "expr": "0 0 1 1 *", "tz": "UTC" }));
    fixture.store_jobs(far).await?;
    let anchor = wall_us() / 1_000_000 * 1_000 + 2_000;
    let every = json!({ "kind": "every", "everyMs": 1_000, "anchorMs": anchor });
    fixture.store_jobs(std::iter::once(every)).await?;
    let _engine = fixture.start(4).await?;
    let starts = fixture.starts.take(SECONDS).await;
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    Ok(starts
        .into_iter()
        .map(|(slot, started)| (started - slot * 1_000) as f64 / 1_000.0)
        .collect())
}
