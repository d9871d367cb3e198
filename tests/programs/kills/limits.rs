//! What the policies of a job allow, against what its rows say: how late, how many at once, how often in vain, and whether
//! there still is a job.
//!
//! One could get it wrong by asking the engine what it has counted: it is counted anew here, from the rows alone.

use serde_json::Value;

use super::books::{Row, Saved};

/// The runs of a job beside each other, where its policy says nothing.
const BESIDE_EACH_OTHER: i64 = 2;

/// Whether a job goes with its run.
pub(super) fn goes(job: &Value) -> bool {
    job["deleteAfterRun"] == true
}

/// That a job which is there keeps to its limits.
pub(super) fn check(saved: &Saved, rows: &[&Row]) -> Result<(), String> {
    let (job, policies) = (&saved.job, &saved.job["policies"]);
    if let Some(row) = rows.iter().find(|row| goes(job) && row.has_ended_its_work()) {
        return Err(format!("its work is done, and it is still there: {row:?}"));
    }
    let misfire = &policies["misfire"];
    if let Some(most) = misfire["maxLatenessSeconds"].as_i64() {
        let is_late = |row: &&&Row| row.begun() > 0 && row.claimed_late() > most * 1_000;
        if let Some(row) = rows.iter().find(is_late) {
            return Err(format!("it was claimed later than {most} s: {row:?}"));
        }
    }
    if let Some(most) = misfire["limit"].as_i64() {
        for row in rows {
            let together = rows.iter().filter(|other| other.is_claimed_with(row)).count();
            if i64::try_from(together).expect("few") > most {
                return Err(format!("{together} of {most} slots were made up for: {row:?}"));
            }
        }
    }
    // What a person starts by hand is started.
    if policies["overlap"] == "parallel" && job["schedule"]["kind"] != "manual" {
        let most = policies["maxConcurrent"].as_i64().unwrap_or(BESIDE_EACH_OTHER);
        let found = beside_each_other(rows);
        if i64::try_from(found).expect("few") > most {
            return Err(format!("{found} of {most} runs were at work at the same time"));
        }
    }
    match policies["pauseAfterFailures"].as_u64() {
        Some(most) if (failures_that_pause(rows) >= most) == saved.is_enabled => Err(format!(
            "{} failures in a row of {most}, and enabled: {}",
            failures_that_pause(rows),
            saved.is_enabled
        )),
        None if !saved.is_enabled => Err("nothing pauses it, and it is not enabled".to_owned()),
        _ => Ok(()),
    }
}

/// How many runs were at work at the same time, at most.
pub(super) fn beside_each_other(rows: &[&Row]) -> usize {
    let worked: Vec<_> = rows.iter().filter_map(|row| row.at_work()).collect();
    let going = |at: i64| worked.iter().filter(|(from, to)| *from <= at && at < *to).count();
    worked.iter().map(|(from, _)| going(*from)).max().unwrap_or(0)
}

/// The most failures in a row, in the order in which runs ended, that a failure which can pause its job brought to an end:
/// one that was kept from its further attempts counts, and pauses nothing; one whose place a newer run took can pause.
fn failures_that_pause(rows: &[&Row]) -> u64 {
    let (mut most, mut now) = (0, 0);
    for row in rows {
        if row.has_worked() {
            now = 0;
        }
        if row.has_failed() {
            now += 1;
            most = if row.is_kept_back() { most } else { most.max(now) };
        }
    }
    most
}
