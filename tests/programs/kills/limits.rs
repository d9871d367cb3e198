//! The policies of a job against the rows: lateness, concurrency, failures and deletion.
//!
//! Pitfall: asking the engine for its counters. All numbers come from the rows.

use serde_json::Value;

use super::records::{CurrentJob, RunRow};

/// The default concurrency of a job.
const DEFAULT_CONCURRENCY: i64 = 2;

/// Whether a job is deleted after the run.
pub(super) fn is_deleted_after_run(job: &Value) -> bool {
    job["deleteAfterRun"] == true
}

/// Checks the limits of a job.
pub(super) fn check(saved: &CurrentJob, rows: &[&RunRow]) -> Result<(), String> {
    let (job, policies) = (&saved.job, &saved.job["policies"]);
    if let Some(row) = rows.iter().find(|row| is_deleted_after_run(job) && row.has_own_result()) {
        return Err(format!("the finished job was not deleted: {row:?}"));
    }
    let misfire = &policies["misfire"];
    if let Some(limit) = misfire["maxLatenessSeconds"].as_i64() {
        let is_late = |row: &&&RunRow| row.attempts() > 0 && row.claim_delay() > limit * 1_000;
        if let Some(row) = rows.iter().find(is_late) {
            return Err(format!("claimed later than {limit} s: {row:?}"));
        }
    }
    if let Some(limit) = misfire["limit"].as_i64() {
        for row in rows {
            let together = rows.iter().filter(|other| other.is_claimed_with(row)).count();
            if i64::try_from(together).expect("few") > limit {
                return Err(format!("{together} of {limit} slots were caught up: {row:?}"));
            }
        }
    }
    // Manual runs are not limited.
    if policies["overlap"] == "parallel" && job["schedule"]["kind"] != "manual" {
        let limit = policies["maxConcurrent"].as_i64().unwrap_or(DEFAULT_CONCURRENCY);
        let found = max_parallel_runs(rows);
        if i64::try_from(found).expect("few") > limit {
            return Err(format!("{found} of {limit} runs were at work at the same time"));
        }
    }
    match policies["pauseAfterFailures"].as_u64() {
        Some(limit) if (max_pausing_failures(rows) >= limit) == saved.is_enabled => Err(format!(
            "{} failures in a row of {limit}, and enabled: {}",
            max_pausing_failures(rows),
            saved.is_enabled
        )),
        None if !saved.is_enabled => Err("disabled without a pause".to_owned()),
        _ => Ok(()),
    }
}

/// The maximum number of parallel runs.
pub(super) fn max_parallel_runs(rows: &[&RunRow]) -> usize {
    let worked: Vec<_> = rows.iter().filter_map(|row| row.work_span()).collect();
    let going = |at: i64| worked.iter().filter(|(from, to)| *from <= at && at < *to).count();
    worked.iter().map(|(from, _)| going(*from)).max().unwrap_or(0)
}

/// The longest failure streak, by end time, that can pause the job. A run whose retries were withheld counts but does
/// not pause its job, unless a newer slot replaced it.
fn max_pausing_failures(rows: &[&RunRow]) -> u64 {
    let (mut longest, mut now) = (0, 0);
    for row in rows {
        if row.has_worked() {
            now = 0;
        }
        if row.has_failed() {
            now += 1;
            longest = if row.is_held_back() { longest } else { longest.max(now) };
        }
    }
    longest
}
