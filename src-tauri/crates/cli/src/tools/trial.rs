//! `rouse tools try`: one call of a tool, and what came of it.
//!
//! The call is a run like any other; the command looks on until it is over. A question is put to whoever sits at the
//! terminal; where nobody does, it is told how to answer it elsewhere, and the command waits. One could get it wrong by
//! listening only after the call: its question would be missed.

use rouse_core::schedule::format_duration;
use rouse_gateway::EventStream;
use rouse_gateway::wire::{
    EventKind, RunDetail, RunState, StepKind, StepView, SystemStatus, ToolsTryResult,
};
use serde_json::{Value, json};

use crate::approvals;
use crate::exit::Failure;
use crate::output::plain;
use crate::runs;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The tool's name.
    tool: String,
    /// Its arguments as a JSON object; none when absent.
    #[arg(value_name = "JSON")]
    arguments: Option<String>,
}

pub(super) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let arguments: Value = match &args.arguments {
        None => json!({}),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| Failure::input(format!("arguments: expected JSON: {error}")))?,
    };
    let status: SystemStatus =
        serde_json::from_value(session.call("system.status", json!({})).await?)?;
    // It listens before it calls, so that nothing is missed.
    let mut events = session.client()?.events(Some(status.seq)).await?;
    let params = json!({ "tool": args.tool, "arguments": arguments });
    let begun: ToolsTryResult = serde_json::from_value(session.call("tools.try", params).await?)?;
    let looking = look_on(&mut events, &begun.run_id, session);
    approvals::until_left(session, &begun.run_id, looking).await?;
    let answer = session.call("runs.get", json!({ "id": begun.run_id })).await?;
    let ended: RunDetail = serde_json::from_value(answer.clone())?;
    session.tell(answer, |_, detail: RunDetail| {
        print_end(&detail)?;
        Ok(())
    })?;
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        state => Err(anyhow::anyhow!("The call {}.", runs::state(state)).into()),
    }
}

/// Shows questions until the run is over.
async fn look_on(events: &mut EventStream, run: &str, session: &Session) -> Result<(), Failure> {
    while let Some(event) = events.next().await {
        if event.data.get("runId").and_then(Value::as_str) != Some(run) {
            continue;
        }
        if event.kind == EventKind::Approval && event.data["state"] == "pending" {
            approvals::ask(session, event.data["approvalId"].as_str().unwrap_or_default()).await?;
        }
        if runs::is_over(&event) {
            return Ok(());
        }
    }
    Err(Failure::Refused("Rouse has ended, and the call with it.".to_owned()))
}

fn print_end(detail: &RunDetail) -> Result<(), Failure> {
    let run = &detail.run;
    if let Some(reason) = &run.reason {
        anstream::println!("{}.", plain(reason));
        return Ok(());
    }
    let call = detail.steps.iter().rev().find(|step| step.kind == StepKind::ToolCall);
    match call.and_then(|call| call.output.as_ref()) {
        Some(Value::String(text)) => anstream::println!("{}", plain(text)),
        Some(other) => anstream::println!("{}", plain(&serde_json::to_string_pretty(other)?)),
        None => anstream::println!("{}", plain(run.error.as_deref().unwrap_or_default())),
    }
    if let Some(line) = call.and_then(took) {
        anstream::eprintln!("{line}");
    }
    Ok(())
}

/// Beside the answer, which may be read by a program.
fn took(call: &StepView) -> Option<String> {
    call.duration_ms.map(|ms| format!("took {}", format_duration(ms)))
}
