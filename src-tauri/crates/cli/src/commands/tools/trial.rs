//! `rouse tools try`: a call of a tool and the outcome.
//!
//! The call is a run; the command follows the run until the end, with approvals at the terminal. Pitfall: subscribing
//! after the call; an approval would be missed.

use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{RunDetail, RunState, StepKind, ToolsTryResult};
use serde_json::{Value, json};

use crate::commands::follow;
use crate::render::run_state::state_name;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Tool
    tool: String,
    /// Arguments as a JSON object [default: none]
    #[arg(value_name = "JSON")]
    arguments: Option<String>,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let arguments: Value = match &args.arguments {
        None => json!({}),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| CliError::input(format!("arguments: expected JSON: {error}")))?,
    };
    let events = follow::subscribe(engine).await?;
    let params = json!({ "tool": args.tool, "arguments": arguments });
    let started: ToolsTryResult = engine.fetch("tools.try", params).await?;
    follow::follow_run(events, &started.run_id, engine, |_| ()).await?;
    let answer = engine.call("runs.get", json!({ "id": started.run_id })).await?;
    let ended: RunDetail = serde_json::from_value(answer.clone())?;
    engine.print_answer(answer, |_, detail: RunDetail| print_outcome(&detail))?;
    let state = state_name(ended.run.state);
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        RunState::Failed | RunState::TimedOut => Err(anyhow::anyhow!("The call {state}.").into()),
        _ => Err(anyhow::anyhow!("The call was {state}.").into()),
    }
}

/// Prints the output, and the duration on standard error, because a program may read standard output.
fn print_outcome(detail: &RunDetail) {
    let run = &detail.run;
    if let Some(reason) = &run.reason {
        anstream::println!("{}.", escape(reason));
        return;
    }
    let call = detail.steps.iter().rev().find(|step| step.kind == StepKind::ToolCall);
    match call.and_then(|call| call.output.as_ref()) {
        Some(Value::String(text)) => anstream::println!("{}", escape(text)),
        Some(other) => anstream::println!("{}", escape(&format!("{other:#}"))),
        None => anstream::println!("{}", escape(run.error.as_deref().unwrap_or_default())),
    }
    if let Some(ms) = call.and_then(|call| call.duration_ms) {
        anstream::eprintln!("took {}", format_duration(ms));
    }
}
