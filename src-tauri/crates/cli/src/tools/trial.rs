//! `rouse tools try`: one call of a tool, and what came of it.
//!
//! The call is a run like any other; the command looks on until it is over. A question is put to whoever sits at the
//! terminal; where nobody does, it is told how to answer it elsewhere, and the command waits. One could get it wrong by
//! listening only after the call: its question would be missed.

use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{RunDetail, RunState, StepKind, StepView, ToolsTryResult};
use serde_json::{Value, json};

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
    let events = runs::from_now_on(session).await?;
    let params = json!({ "tool": args.tool, "arguments": arguments });
    let begun: ToolsTryResult = serde_json::from_value(session.call("tools.try", params).await?)?;
    runs::look_on(events, &begun.run_id, session, |_| ()).await?;
    let answer = session.call("runs.get", json!({ "id": begun.run_id })).await?;
    let ended: RunDetail = serde_json::from_value(answer.clone())?;
    session.tell(answer, |_, detail: RunDetail| {
        print_end(&detail)?;
        Ok(())
    })?;
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        RunState::Failed | RunState::TimedOut => {
            Err(anyhow::anyhow!("The call {}.", runs::state(ended.run.state)).into())
        }
        state => Err(anyhow::anyhow!("The call was {}.", runs::state(state)).into()),
    }
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
