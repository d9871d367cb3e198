//! What the log says of the end of a run.
//!
//! Owns the words of the cron RFC for it, one line an end. It refuses what jobs are told and answer, unless payloads were
//! asked for: the names that are safe to write down are those of `name_for_log`.

use rouse_core::{Outcome, Run, RunState, UnixMs};
use tracing::field::display;

/// How much of an error is in the log.
const ERROR_BYTES: usize = 300;

/// The end of a run that has done nothing.
pub(crate) fn log_end(run: &Run, state: RunState, reason: Option<&str>, now: UnixMs) {
    let outcome = Outcome { reason: reason.map(str::to_owned), ..Outcome::of(state) };
    log_finish(run, &outcome, None, now);
}

/// The words are the cron RFC's. Why a run failed is told in one line of Rouse's own words; what it said is for those who
/// asked for payloads.
pub(crate) fn log_finish(run: &Run, outcome: &Outcome, next_run_at: Option<UnixMs>, now: UnixMs) {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    let name = run.name_for_log();
    let duration_ms = run.started_at.map(|at| now.since(at).max(0));
    let (status, state) = (outcome.state.rfc_status(), outcome.state.name());
    let error = outcome.error_for_log.as_deref().or(outcome.error.as_deref()).map(in_one_line);
    let reason = outcome.reason.as_deref();
    let next_run_at_ms = next_run_at.map(|at| at.0);
    match status {
        Some("error") => {
            tracing::warn!(
                job_id,
                run_id,
                name,
                status,
                state,
                error,
                duration_ms,
                next_run_at_ms,
                "cron: job finished"
            );
        }
        // One that had begun has a line that says so, and gets another for its end.
        Some("skipped") if run.started_at.is_none() => {
            tracing::info!(job_id, run_id, name, status, state, reason, "cron: job skipped");
        }
        _ => tracing::info!(
            job_id,
            run_id,
            name,
            status,
            state,
            reason,
            duration_ms,
            next_run_at_ms,
            "cron: job finished"
        ),
    }
}

/// The first line of an error, which says what happened; the lines below it may be all that a command wrote.
fn in_one_line(error: &str) -> &str {
    let line = error.lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(ERROR_BYTES)]
}

pub(crate) fn log_outcome(run: &Run, outcome: &Outcome) {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    let (name, summary) = (run.job_name.as_str(), outcome.summary.as_deref());
    let error = outcome.error.as_deref();
    tracing::info!(target: "rouse::payloads", module = "cron", job_id, run_id, name, summary, error, "cron: job outcome");
}
