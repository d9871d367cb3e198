//! A turn of the main session: the heartbeat, and what was queued for it.
//!
//! Owns the reading of HEARTBEAT.md and the fate of the queued lines: they leave the queue in the transaction that
//! stores the turn which saw them, and only when that turn came to an end. A turn that failed leaves them for the next.

use std::io;

use rouse_core::message::Message;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use rouse_core::turn::TurnLimits;
use rouse_core::{RunState, SessionKey};
use rouse_store::SystemEvent;
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use super::context::time_line;
use super::conversation::{Conversation, ended_early};
use super::{AgentDriver, NO_MODEL, history, not_written};
use crate::models::ChosenModel;

const MAIN: &str = include_str!("../../prompts/main.md");

/// The person's list for the heartbeat, in the workspace.
const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The most bytes of it that are read.
const HEARTBEAT_BYTES: u64 = 64 << 10;

impl AgentDriver {
    /// Carries out a turn of the main session. With nothing in HEARTBEAT.md and nothing queued there is nothing to
    /// ask a model for, and the run is skipped.
    pub async fn run_main_turn(
        &self,
        run: &Run,
        model: Option<ChosenModel>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let events = match self.store.pending_system_events().await {
            Ok(events) => events,
            Err(error) => return not_written(&error),
        };
        let list = match self.heartbeat_list().await {
            Ok(list) => list,
            Err(error) => {
                return Outcome::failed(format!("{HEARTBEAT_FILE} could not be read: {error}."));
            }
        };
        if events.is_empty() && list.is_none() {
            return Outcome::skipped(format!("{HEARTBEAT_FILE} is empty and nothing is queued"));
        }
        let Some(model) = model else { return Outcome::failed(NO_MODEL) };
        let context = self.tool_context(run, None);
        let task = task(&events, list.as_deref(), run, &context);
        self.conduct_main(run, &model, &context, (task, &events), cancel).await
    }

    async fn conduct_main(
        &self,
        run: &Run,
        model: &ChosenModel,
        context: &ToolContext,
        (task, events): (Message, &[SystemEvent]),
        cancel: &CancellationToken,
    ) -> Outcome {
        let policy = ToolPolicy::default();
        let conversation = Conversation {
            driver: self,
            model,
            system: MAIN.to_owned(),
            offered: self.gate.tools().offered(&policy),
            policy,
            limits: TurnLimits { max_steps: self.max_steps(None), max_tokens: None },
            max_tokens: None,
            context,
            cancel,
        };
        let history = match history::of_session(&self.store, &SessionKey::main(), &run.id).await {
            Ok(history) => history,
            Err(end) => return ended_early(&end),
        };
        let conducted = conversation.conduct(history, task).await;
        let seen: Vec<i64> = match conducted.outcome.state {
            RunState::Succeeded | RunState::NothingToReport => {
                events.iter().map(|event| event.id).collect()
            }
            _ => Vec::new(),
        };
        let stored =
            self.store.store_main_turn(&run.id, &conducted.said, &seen, self.clock.now()).await;
        conducted.outcome_after(stored)
    }

    /// Whether HEARTBEAT.md gives a beat anything to do. One that cannot be read does: the turn says what is wrong.
    pub async fn heartbeat_says_something(&self) -> bool {
        !matches!(self.heartbeat_list().await, Ok(None))
    }

    /// HEARTBEAT.md; none when it is not there or says nothing.
    async fn heartbeat_list(&self) -> io::Result<Option<String>> {
        let file = match tokio::fs::File::open(self.settings.workspace.join(HEARTBEAT_FILE)).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        file.take(HEARTBEAT_BYTES).read_to_end(&mut bytes).await?;
        let list = String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok(Some(list).filter(|list| says_something(list)))
    }
}

/// Headings and empty boxes are the frame of a list, not its content.
fn says_something(list: &str) -> bool {
    list.lines().map(str::trim).any(|line| {
        let bare = line.trim_start_matches(['-', '*', ' ']).trim_start_matches("[ ]").trim();
        !bare.is_empty() && !line.starts_with('#')
    })
}

fn task(events: &[SystemEvent], list: Option<&str>, run: &Run, context: &ToolContext) -> Message {
    // A line break inside an event must not look like the beginning of another one.
    let lines =
        events.iter().map(|event| format!("System: {}", event.text.trim().replace('\n', "\n  ")));
    let list = list.map(|list| format!("{HEARTBEAT_FILE}:\n{list}"));
    let parts: Vec<String> = lines.chain(list).chain([time_line(run, context)]).collect();
    Message::User { text: parts.join("\n\n") }
}

#[cfg(test)]
mod tests {
    use super::says_something;

    #[test]
    fn a_frame_without_content_says_nothing() {
        for nothing in ["", "# Heartbeat\n", "# A\n\n- \n* \n- [ ] \n## B"] {
            assert!(!says_something(nothing), "{nothing:?}");
        }
        for something in ["- [ ] water the plants", "# A\nlook at the disk", "- [x] done"] {
            assert!(says_something(something), "{something:?}");
        }
    }
}
