//! Log lines of the start and the end of a run, in the words of the cron RFC.
//!
//! Payloads and results are logged only to a separate target. Everywhere else a run has its `name_for_log`.

use rouse_core::job::Job;
use rouse_core::{Outcome, Run, RunState, UnixMs};
use tracing::field::display;

/// Maximum bytes of an error in the log.
const MAX_ERROR_BYTES: usize = 300;

pub(super) fn log_start(run: &Run, job: Option<&Job>) {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    let (name, trigger) = (run.name_for_log(), run.trigger.name());
    let kind = job.map(|job| job.payload.kind());
    let schedule_kind = job.map(|job| job.schedule.spec.kind());
    let session_target = job.map(|job| <&str>::from(job.session_target));
    let wake_mode = job.map(|job| <&str>::from(job.wake_mode));
    tracing::info!(
        job_id,
        run_id,
        name,
        trigger,
        kind,
        schedule_kind,
        session_target,
        wake_mode,
        "cron: job started"
    );
    let (name, payload) = (run.job_name.as_str(), display(&run.payload));
    tracing::info!(target: "rouse::payloads", module = "cron", job_id, run_id, name, payload, "cron: job payload");
}

/// Logs the end of a run without work.
pub(super) fn log_unstarted_end(run: &Run, state: RunState, reason: Option<&str>, now: UnixMs) {
    let outcome = Outcome { reason: reason.map(str::to_owned), ..Outcome::of(state) };
    log_end(run, &outcome, None, now);
}

/// Logs the end of a run, with the first line of the error.
pub(super) fn log_end(run: &Run, outcome: &Outcome, next_run_at: Option<UnixMs>, now: UnixMs) {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    let name = run.name_for_log();
    let duration_ms = run.started_at.map(|at| now.since(at).max(0));
    let (status, state) = (outcome.state.rfc_status().map(<&str>::from), outcome.state.name());
    let error = outcome.error_for_log.as_deref().or(outcome.error.as_deref()).map(first_line);
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
        // A run with a start line gets an end line.
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

/// Later lines may be the whole output of a command.
fn first_line(error: &str) -> &str {
    let line = error.lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(MAX_ERROR_BYTES)]
}

/// Logs summary and error to the payload target.
pub(super) fn log_outcome(run: &Run, outcome: &Outcome) {
    let (job_id, run_id) = (run.job_id.as_ref().map(display), display(&run.id));
    let (name, summary) = (run.job_name.as_str(), outcome.summary.as_deref());
    let error = outcome.error.as_deref();
    tracing::info!(target: "rouse::payloads", module = "cron", job_id, run_id, name, summary, error, "cron: job outcome");
}
