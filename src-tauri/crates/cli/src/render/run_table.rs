//! Runs as a table.

use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{RunTrigger, RunView};

use super::run_state::{run_state, trigger_name};
use super::table::{fit_id, new_table, print_rows};
use super::text::shorten;
use super::time::local_time;
use crate::resolve::engine::EngineConnection;

pub(crate) fn print_run_table(engine: &EngineConnection, runs: &[RunView]) {
    if runs.is_empty() {
        anstream::println!("No runs yet.");
        return;
    }
    let mut table = new_table(&["WHEN", "JOB", "STATE", "TRIGGER", "DURATION", "OUTCOME", "RUN"]);
    for run in runs {
        let at = run.started_at_ms.or(run.slot_at_ms).unwrap_or(run.created_at_ms);
        let outcome = run.error.as_deref().or(run.reason.as_deref()).or(run.summary.as_deref());
        let id = fit_id(&table, &run.id);
        table.add_row([
            local_time(engine, at),
            shorten(&run.job_name, 28),
            state_cell(engine, run),
            trigger_cell(run.trigger, run.late_by_ms),
            run.duration_ms.map(format_duration).unwrap_or_default(),
            shorten(outcome.unwrap_or_default(), 48),
            id,
        ]);
    }
    print_rows(&table);
}

/// The state; for a row of several slots with their number and the first slot.
fn state_cell(engine: &EngineConnection, run: &RunView) -> String {
    let state = run_state(run);
    match (run.slot_count, run.first_slot_at_ms) {
        (0 | 1, _) => state,
        (slots, Some(first)) => {
            format!("{state} for {slots} slots since {}", local_time(engine, first))
        }
        (slots, None) => format!("{state} for {slots} slots"),
    }
}

/// The trigger; for a catch-up run with the lateness of the slot.
fn trigger_cell(trigger: RunTrigger, late_by_ms: Option<i64>) -> String {
    let name = trigger_name(trigger);
    match late_by_ms.filter(|_| trigger == RunTrigger::CatchUp) {
        Some(late) => format!("{name}, {} late", format_duration(late)),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catch_up_run_shows_its_lateness() {
        assert_eq!(trigger_cell(RunTrigger::CatchUp, Some(7_200_000)), "catch-up, 2 h late");
        assert_eq!(trigger_cell(RunTrigger::CatchUp, None), "catch-up");
        assert_eq!(trigger_cell(RunTrigger::Schedule, Some(3)), "schedule");
    }
}
