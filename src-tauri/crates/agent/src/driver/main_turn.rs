//! A turn of the main session: the heartbeat, and what was queued for it.
//!
//! Owns the reading of HEARTBEAT.md and the fate of the queued lines: they leave the queue when the turn that was shown
//! them has come to its end. A turn that failed leaves them for the next; one that waits for a person keeps them for
//! itself, so that no other deals with them meanwhile. What is said is stored step by step, like a job's: the turn asks
//! about a call that needs a yes, and goes on where it was after the answer, and after a break.

use std::io;

use rouse_core::message::Message;
use rouse_core::policy::ToolPolicy;
use rouse_core::quiet::QuietPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use rouse_core::turn::TurnLimits;
use rouse_core::{RunState, SessionKey};
use rouse_store::{StoreError, SystemEvent};
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use super::asking::Asked;
use super::chat::shown_before;
use super::context::{question_for, time_line};
use super::conversation::{Conversation, Opening, ended_early};
use super::resume::Journal;
use super::skilled::{self, Told};
use super::{AgentDriver, history, not_written, without_model};
use crate::gate::Terms;
use crate::models::Lineup;

const MAIN: &str = include_str!("../../prompts/main.md");

/// The person's list for the heartbeat, in the workspace.
const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The most bytes of it that are read.
const HEARTBEAT_BYTES: u64 = 64 << 10;

/// Lines and characters that one turn is shown. What is left waits for the next turn, which follows at once.
const MOST_LINES: usize = 100;
const MOST_CHARACTERS: usize = 40_000;

/// How a turn begins, and what of the queue it was shown.
struct Begun {
    opening: Opening,
    shown: Vec<i64>,
    told: Told,
    journal: Journal,
    context: ToolContext,
}

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
        let session = SessionKey::main();
        let before = async {
            let remembers = self.remembers_outside(&session).await?;
            Ok((remembers, history::of_session(&self.store, &session, &run.id).await?))
        };
        let (remembers, history) = match before.await {
            Ok(before) => before,
            Err(end) => return ended_early(&end),
        };
        let told = &begun.told;
        let knows_outside = remembers || !begun.shown.is_empty() || told.is_from_outside();
        let policy = told.lower(ToolPolicy::default());
        let account = self.account(run, None);
        let conversation = Conversation {
            driver: self,
            session: &session,
            journal: begun.journal,
            models: &models,
            asked: Asked::default(),
            account: account.clone(),
            system: system(wishes) + &told.instructions(self.gate.safety()),
            offered: self.gate.tools().offered(&policy),
            terms: Terms {
                account: Some(account),
                policy,
                question_for: question_for(None),
                knows_outside,
            },
            limits: TurnLimits { max_steps: self.max_steps(None), is_attended: false },
            max_tokens: None,
            quiet_hours: QuietPolicy::Respect,
            context: &begun.context,
            cancel,
        };
        let opening = match begun.opening {
            Opening::Fresh(task) => match conversation.read_skills(&told.skills).await {
                Ok(texts) => Opening::Fresh(skilled::with(task, &texts)),
                Err(end) => return ended_early(&end),
            },
            again @ Opening::Again(..) => again,
        };
        let outcome = conversation.conduct(history, opening).await;
        match outcome.state {
            RunState::Succeeded | RunState::NothingToReport => {
                self.drained(run, &begun.shown, outcome).await
            }
            _ => outcome,
        }
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

/// The oldest lines that fit into one turn; at least one.
pub(super) fn bounded(mut events: Vec<SystemEvent>) -> Vec<SystemEvent> {
    let mut left = MOST_CHARACTERS;
    let fitting = events.iter().take(MOST_LINES).take_while(|event| {
        let before = left;
        left = left.saturating_sub(event.text.chars().count());
        before > 0
    });
    let count = fitting.count();
    events.truncate(count);
    events
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

/// The queued lines, as a model is shown them.
pub(super) fn lines(events: &[SystemEvent]) -> impl Iterator<Item = String> {
    // A line break inside an event must not look like the beginning of another one.
    events.iter().map(|event| format!("System: {}", event.text.trim().replace('\n', "\n  ")))
}

fn task(events: &[SystemEvent], list: Option<&str>, run: &Run, context: &ToolContext) -> Message {
    let list = list.map(|list| format!("{HEARTBEAT_FILE}:\n{list}"));
    let parts: Vec<String> = lines(events).chain(list).chain([time_line(run, context)]).collect();
    Message::User { text: parts.join("\n\n") }
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;

    use super::*;

    #[test]
    fn a_turn_is_shown_the_oldest_lines_that_fit() {
        let events = |lengths: &[usize]| -> Vec<SystemEvent> {
            let event = |length: &usize| SystemEvent {
                id: 0,
                text: "x".repeat(*length),
                source: "wake".to_owned(),
                queued_at: UnixMs(0),
            };
            lengths.iter().map(event).collect()
        };
        assert_eq!(bounded(events(&[1; 500])).len(), MOST_LINES);
        assert_eq!(bounded(events(&[30_000, 9_999, 9_999, 9_999])).len(), 3);
        assert_eq!(bounded(events(&[90_000, 1])).len(), 1, "one line is always shown");
    }

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
