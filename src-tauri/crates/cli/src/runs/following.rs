//! Looking on at a run until it is over, and how a command ends that did.
//!
//! It listens before the run is started, so that nothing is missed, and puts the run's questions to whoever sits there.
//! The run goes on when the command ends. One could get it wrong by calling a run that did nothing a success: a script
//! would go on.

use rouse_gateway::EventStream;
use rouse_gateway::wire::{EventKind, EventView, RunDetail, RunState, SystemStatus};
use serde_json::{Value, json};

use super::state;
use crate::approvals::{self, Asking};
use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

/// The run that this command is a part of, which tells it so.
pub(crate) fn inside_of() -> Option<String> {
    std::env::var("ROUSE_RUN_ID").ok()
}

/// The events from this moment on.
pub(crate) async fn from_now_on(session: &Session) -> Result<EventStream, Failure> {
    let status = session.call("system.status", json!({})).await?;
    let status: SystemStatus = serde_json::from_value(status)?;
    Ok(session.client()?.events(Some(status.seq)).await?)
}

/// Looks on until the run is over or the person leaves. Hands on each event of the run, says why the run waits, and asks the
/// questions of the run.
pub(crate) async fn look_on(
    mut events: EventStream,
    run: &str,
    session: &Session,
    mut see: impl FnMut(&EventView),
) -> Result<(), Failure> {
    if let Some(by) = inside_of() {
        // The run of this command lends its place to the one that it waits for.
        session.call("runs.await", json!({ "id": run, "by": by })).await?;
    }
    let looking = async {
        let mut asking = Asking::new(session);
        let mut told = None;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                said = asking.line() => {
                    asking.answer(&said?).await?;
                    continue;
                }
            };
            let Some(event) = event else { break };
            if event.data.get("runId").and_then(Value::as_str) != Some(run) {
                continue;
            }
            if let Some(wait) = words_of_wait(&event).filter(|wait| told.as_ref() != Some(wait)) {
                anstream::eprintln!("{wait}");
                told = Some(wait);
            }
            see(&event);
            asking.hear(&event).await?;
            if is_over(&event) {
                return Ok(());
            }
        }
        Err(Failure::Refused(format!(
            "Rouse has ended. What came of it, when it runs again: rouse runs show {run}"
        )))
    };
    approvals::until_left(session, run, looking).await
}

/// Waits for the end of the run and prints how it was; the command ends as the run did.
pub(crate) async fn wait(events: EventStream, run: &str, session: &Session) -> Result<(), Failure> {
    look_on(events, run, session, |_| ()).await?;
    let answer = session.call("runs.get", json!({ "id": run })).await?;
    let ended: RunDetail = serde_json::from_value(answer.clone())?;
    session.tell(answer, |_, detail: RunDetail| {
        let run = &detail.run;
        anstream::println!("{}  {}", plain(&run.job_name), state(run.state));
        let said = run.error.as_ref().or(run.reason.as_ref()).or(run.summary.as_ref());
        if let Some(said) = said {
            anstream::println!("{}", plain(said.trim()));
        }
        Ok(())
    })?;
    match ended.run.state {
        RunState::Succeeded | RunState::NothingToReport => Ok(()),
        RunState::Skipped | RunState::Missed => {
            Err(Failure::Refused(format!("The run was {}.", state(ended.run.state))))
        }
        other => Err(anyhow::anyhow!("The run ended as: {}.", state(other)).into()),
    }
}

/// What the run waits for, and why, if the event says so.
fn words_of_wait(event: &EventView) -> Option<String> {
    let text = |key: &str| event.data.get(key).and_then(Value::as_str);
    let what = match text("waitsFor")? {
        "model" => "the model",
        _ => "a rate limit",
    };
    Some(format!("Waiting for {what}. {}", plain(text("why").unwrap_or_default())))
}

/// Whether an event tells the end of a run.
fn is_over(event: &EventView) -> bool {
    let state = event.data.get("state").and_then(Value::as_str);
    let waits = ["queued", "running", "awaitingApproval"];
    event.kind == EventKind::Run && state.is_some_and(|state| !waits.contains(&state))
}
