//! Following a run until the end, with approvals at the terminal.
//!
//! Subscribes before the run starts, so that no event is missed. The run continues when the command ends. Pitfall: exit
//! code 0 for a run without work; a script would continue.

mod prompt;

use rouse_gateway::EventStream;
use rouse_gateway::wire::{EventKindView, EventView, RunDetail, RunState, SystemStatus, WaitsFor};
use serde_json::{Value, json};

use self::prompt::ApprovalPrompt;
use crate::render::approval::decision_commands;
use crate::render::run_state::state_name;
use crate::render::text::escape;
use crate::resolve::approvals::pending_approvals;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::runs::calling_run_id;

/// The events from now on.
pub(super) async fn subscribe(engine: &EngineConnection) -> Result<EventStream, CliError> {
    let status: SystemStatus = engine.fetch("system.status", json!({})).await?;
    Ok(engine.client()?.events(Some(status.seq)).await?)
}

/// Follows the run until the end or Ctrl+C. Passes each event of the run to `on_event`, prints why the run waits and
/// the progress of calls, and prompts for approvals.
pub(super) async fn follow_run(
    events: EventStream,
    run: &str,
    engine: &EngineConnection,
    on_event: impl FnMut(&EventView),
) -> Result<(), CliError> {
    if let Some(by) = calling_run_id(engine) {
        // The gateway refuses a deadlock of two runs.
        engine.call("runs.await", json!({ "id": run, "waitingRunId": by })).await?;
    }
    tokio::select! {
        ended = read_events(events, run, engine, on_event) => ended,
        Ok(()) = tokio::signal::ctrl_c() => Err(detach_error(engine, run).await?),
    }
}

async fn read_events(
    mut events: EventStream,
    run: &str,
    engine: &EngineConnection,
    mut on_event: impl FnMut(&EventView),
) -> Result<(), CliError> {
    let mut prompt = ApprovalPrompt::new(engine);
    let mut last_note = None;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            line = prompt.line() => {
                prompt.decide(&line?).await?;
                continue;
            }
        };
        let Some(event) = event else { break };
        if event.data.get("runId").and_then(Value::as_str) != Some(run) {
            continue;
        }
        let note = wait_text(&event).or_else(|| progress_text(&event));
        if let Some(note) = note.filter(|note| last_note.as_ref() != Some(note)) {
            anstream::eprintln!("{note}");
            last_note = Some(note);
        }
        on_event(&event);
        prompt.handle_event(&event).await?;
        if is_end(&event) {
            return Ok(());
        }
    }
    if engine.is_elsewhere() {
        return Err(CliError::Unreachable(format!(
            "The connection has ended; the run continues there. See the outcome: rouse runs show {run}"
        )));
    }
    Err(CliError::Refused(format!(
        "Rouse has ended. See the outcome when it runs again: rouse runs show {run}"
    )))
}

/// The error after Ctrl+C: the commands that show, decide or cancel the run.
async fn detach_error(engine: &EngineConnection, run: &str) -> Result<CliError, CliError> {
    let pending = pending_approvals(engine).await?;
    let mut lines = vec![format!("\nThe run continues: rouse runs show {run}")];
    let of_run = pending.iter().filter(|approval| approval.run_id == run);
    lines.extend(
        of_run.map(|approval| {
            format!("An approval is still pending:\n{}", decision_commands(approval))
        }),
    );
    if lines.len() == 1 {
        lines.push(format!("To cancel: rouse runs cancel {run}"));
    }
    Ok(CliError::Other(anyhow::anyhow!(lines.join("\n"))))
}

/// Follows the run, prints the outcome, and ends with the exit code of the final state.
pub(super) async fn wait_for_end(
    events: EventStream,
    run: &str,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    follow_run(events, run, engine, |_| ()).await?;
    let answer = engine.call("runs.get", json!({ "id": run })).await?;
    let ended: RunDetail = serde_json::from_value(answer.clone())?;
    engine.print_answer(answer, |_, detail: RunDetail| {
        let run = &detail.run;
        anstream::println!("{}  {}", escape(&run.job_name), state_name(run.state));
        let outcome = run.error.as_ref().or(run.reason.as_ref()).or(run.summary.as_ref());
        if let Some(outcome) = outcome {
            anstream::println!("{}", escape(outcome.trim()));
        }
    })?;
    let state = state_name(ended.run.state);
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        RunState::Skipped | RunState::Missed => {
            Err(CliError::Refused(format!("The run was {state}.")))
        }
        _ => Err(anyhow::anyhow!("The run ended as: {state}.").into()),
    }
}

/// The reason of a wait in a run event.
fn wait_text(event: &EventView) -> Option<String> {
    let text = |key: &str| event.data.get(key).and_then(Value::as_str);
    let wait = WaitsFor::from_name(text("waitsFor")?)?;
    Some(format!("{}. {}", wait.label(), escape(text("why").unwrap_or_default())))
}

/// The progress of a call in a run event.
fn progress_text(event: &EventView) -> Option<String> {
    let text = |key: &str| event.data.get(key).and_then(Value::as_str).map(escape);
    let is_progress = event.kind == EventKindView::RunProgress;
    Some(format!("{}: {} …", text("tool").filter(|_| is_progress)?, text("text")?))
}

/// Whether the event reports a final state.
fn is_end(event: &EventView) -> bool {
    let state = event.data.get("state").and_then(Value::as_str);
    let open_states = ["queued", "running", "awaitingApproval"];
    event.kind == EventKindView::Run && state.is_some_and(|state| !open_states.contains(&state))
}
