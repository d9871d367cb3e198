//! A turn of the main session: the heartbeat, and what was queued for it.
//!
//! Owns the reading of HEARTBEAT.md, and what a beat is about. What is said is stored step by step, like a job's: the
//! turn asks about a call that needs a yes, and goes on where it was after the answer, and after a break.

use std::io;

use rouse_core::SessionKey;
use rouse_core::message::Message;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use rouse_store::{StoreError, SystemEvent};
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use super::context::time_line;
use super::conversation::Opening;
use super::main_session::{Begun, Manner, bounded, lines, shown_before};
use super::resume::Journal;
use super::{AgentDriver, not_written, without_model};
use crate::models::Lineup;

const MAIN: &str = include_str!("../../prompts/main.md");

/// The person's list for the heartbeat, in the workspace.
const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The most bytes of it that are read.
const HEARTBEAT_BYTES: u64 = 64 << 10;

impl AgentDriver {
    /// Carries out a turn of the main session; `wishes` are the person's own words about all of them. With nothing in
    /// HEARTBEAT.md and nothing queued there is nothing to ask a model for, and the run is skipped.
    pub async fn run_main_turn(
        &self,
        run: &Run,
        models: impl Into<Lineup>,
        wishes: Option<&str>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let models = models.into();
        let begun = match self.begin_beat(run, &models).await {
            Ok(begun) => begun,
            Err(outcome) => return *outcome,
        };
        let manner = Manner { system: system(wishes), is_attended: false };
        self.talk_in_main(run, &models, begun, manner, cancel).await
    }

    /// What the turn is about: what it had said before a break, or else what waits for it now.
    async fn begin_beat(&self, run: &Run, models: &Lineup) -> Result<Begun, Box<Outcome>> {
        let unread = |error: StoreError| Box::new(not_written(&error));
        let steps = self.store.steps(&run.id).await.map_err(unread)?;
        let said = self.store.messages_of(&SessionKey::main(), &run.id).await.map_err(unread)?;
        let waits = if said.is_empty() { Some(self.what_waits().await?) } else { None };
        if models.first().is_none() {
            return Err(Box::new(without_model(models)));
        }
        let told = self.told_of(&self.main_skills, &steps).await.map_err(Box::new)?;
        let skills = told.in_run();
        let context = ToolContext { skills, ..self.tool_context(run, None, super::CONFINED) };
        let (opening, shown) = match waits {
            None => (Opening::Again(said), shown_before(&steps)),
            Some((events, list)) => {
                let shown: Vec<i64> = events.iter().map(|event| event.id).collect();
                self.note_shown(run, &shown).await.map_err(unread)?;
                (Opening::Fresh(task(&events, list.as_deref(), run, &context)), shown)
            }
        };
        Ok(Begun { opening, shown, told, journal: Journal::of(steps, run.attempt), context })
    }

    /// The queued lines and the person's list; the end of the turn when there are neither.
    async fn what_waits(&self) -> Result<(Vec<SystemEvent>, Option<String>), Box<Outcome>> {
        let events = match self.store.pending_system_events().await {
            Ok(events) => bounded(events),
            Err(error) => return Err(Box::new(not_written(&error))),
        };
        let list = self.heartbeat_list().await.map_err(|error| {
            Box::new(Outcome::failed(format!("{HEARTBEAT_FILE} could not be read: {error}.")))
        })?;
        if events.is_empty() && list.is_none() {
            let why = format!("{HEARTBEAT_FILE} is empty and nothing is queued");
            return Err(Box::new(Outcome::skipped(why)));
        }
        Ok((events, list))
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

fn system(wishes: Option<&str>) -> String {
    match wishes.map(str::trim).filter(|wishes| !wishes.is_empty()) {
        Some(wishes) => format!("{MAIN}\nThe person says about all of these turns:\n{wishes}\n"),
        None => MAIN.to_owned(),
    }
}

/// Headings, comments and empty boxes are the frame of a list, not its content.
fn says_something(list: &str) -> bool {
    without_comments(list).lines().map(str::trim).any(|line| {
        let bare = line.trim_start_matches(['-', '*', '+', ' ']).trim_start_matches("[ ]").trim();
        !bare.is_empty() && !is_heading(line)
    })
}

/// As Markdown has it: up to six `#`, and then a space or nothing. `#call mum` is something to do.
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The text without `<!-- … -->`. A comment that never ends is none.
fn without_comments(mut text: &str) -> String {
    let mut rest = String::new();
    while let Some((before, after)) = text.split_once("<!--") {
        let Some((_, behind)) = after.split_once("-->") else { break };
        rest.push_str(before);
        text = behind;
    }
    rest + text
}

fn task(events: &[SystemEvent], list: Option<&str>, run: &Run, context: &ToolContext) -> Message {
    let list = list.map(|list| format!("{HEARTBEAT_FILE}:\n{list}"));
    let parts: Vec<String> = lines(events).chain(list).chain([time_line(run, context)]).collect();
    Message::User { text: parts.join("\n\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_persons_own_words_stand_last() {
        assert_eq!(system(Some("  ")), MAIN);
        assert!(system(Some("Be brief.")).ends_with("\nBe brief.\n"));
    }

    #[test]
    fn a_frame_without_content_says_nothing() {
        for nothing in [
            "",
            "# Heartbeat\n",
            "# A\n\n- \n* \n+ [ ]\n- [ ] \n## B",
            "#\n######\tSix\n##",
            "<!-- write here\nwhat to look after -->\n- [ ]\n---",
        ] {
            assert!(!says_something(nothing), "{nothing:?}");
        }
        for something in [
            "- [ ] water the plants",
            "# A\nlook at the disk",
            "- [x] done",
            "<!-- a --> the disk <!-- b -->",
            "<!-- never ends",
            "#call mum",
            "####### seven are no heading",
        ] {
            assert!(says_something(something), "{something:?}");
        }
    }
}
