//! One run's conversation with a model: the loop around the turn machine.
//!
//! Owns the order of things (ask, then the calls, then ask again) and the ends that the machine does not know: a cancelled
//! run, a provider that fails, a budget that is used up, a journal that cannot be written.

use std::time::Duration;

use rouse_core::approval::{Approval, Refusal as Refused};
use rouse_core::message::{Message, ToolCallRequest};
use rouse_core::model::{Effort, ProviderError, ProviderErrorKind};
use rouse_core::money::BudgetStop;
use rouse_core::policy::ToolPolicy;
use rouse_core::quiet::QuietPolicy;
use rouse_core::run::{Outcome, WaitsFor};
use rouse_core::tool::{ToolContext, ToolOutput, ToolSpec};
use rouse_core::turn::{Next, Turn, TurnLimits};
use rouse_core::{RunState, SessionKey};
use rouse_store::{Inherited, SkillText, StoreError};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::answer_room::BoundBy;
use super::asking::Asked;
use super::compaction::Recalled;
use super::resume::Journal;
use super::{AgentDriver, Heard, cancelled, not_written, without_model};
use crate::gate::guard::hook_context;
use crate::gate::{Called, GateError, Passage, Question, Terms};
use crate::hooks::{ToolMetadata, ToolsResolved};
use crate::models::{ChosenModel, Lineup};
use crate::money::{Account, Refusal};
use crate::safety::Written;

/// The most questions of one run.
pub(super) const MOST_QUESTIONS: usize = 3;

/// Everything that stays the same while a run talks.
pub(super) struct Conversation<'r> {
    pub(super) driver: &'r AgentDriver,
    /// Where what is said is kept, step by step.
    pub(super) session: &'r SessionKey,
    /// What was begun before a break.
    pub(super) journal: Journal,
    pub(super) models: &'r Lineup,
    /// Where it is in their order.
    pub(super) asked: Asked,
    /// What it may spend.
    pub(super) account: Account,
    pub(super) system: String,
    pub(super) offered: Vec<ToolSpec>,
    pub(super) terms: Terms,
    pub(super) limits: TurnLimits,
    /// How long summing up the session may take.
    pub(super) summary_for: Duration,
    pub(super) max_tokens: Option<u32>,
    pub(super) effort: Option<Effort>,
    pub(super) quiet_hours: QuietPolicy,
    pub(super) context: &'r ToolContext,
    pub(super) cancel: &'r CancellationToken,
}

/// How a conversation begins.
pub(super) enum Opening {
    /// With a task.
    Fresh(Message),
    /// With what the run had said before a break.
    Again(Vec<Message>),
}

impl Opening {
    /// Whether a model has said anything in it.
    fn has_answer(&self) -> bool {
        matches!(self, Self::Again(said) if has_answer(said))
    }
}

/// Whether a model has answered in what a run has said: an attempt that found none has left nothing but its task. One that
/// has begins no more, so it goes on as far as it can without a model.
pub(super) fn has_answer(said: &[Message]) -> bool {
    said.iter().any(|message| matches!(message, Message::Assistant { .. }))
}

/// An end that the turn machine does not know.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("the run was cancelled")]
    Cancelled,
    #[error("it waits for a person")]
    Asks(Vec<Approval>),
    #[error("it asked too often")]
    AskedTooOften(Box<Question>),
    #[error("{tool} is over its rate limit")]
    OverLimit { tool: String, wait: Duration },
    #[error("{}", .0.words)]
    Budget(BudgetStop),
    /// What the run was to be told of when it begins cannot be read, for this reason.
    #[error("{0}")]
    Untold(String),
    /// With what that means for a run.
    #[error("there is no model")]
    NoModel(Box<Outcome>),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<GateError> for End {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Cancelled => Self::Cancelled,
            GateError::Journal(error) => Self::Store(error),
        }
    }
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Budget(stop) => Self::Budget(stop),
            Refusal::Cancelled => Self::Cancelled,
            Refusal::Store(error) => Self::Store(error),
        }
    }
}

/// The outcome of a run that ended before its conversation began.
pub(super) fn ended_early(end: &End) -> Outcome {
    match end {
        End::Cancelled => cancelled(),
        End::Asks(asks) => {
            Outcome { asks: asks.clone(), ..Outcome::of(RunState::AwaitingApproval) }
        }
        End::AskedTooOften(question) => asked_too_often(question),
        End::OverLimit { tool, wait } => over_limit(tool, *wait),
        End::Budget(stop) => stopped(stop),
        End::Untold(why) => Outcome::failed(why.clone()),
        End::NoModel(outcome) => (**outcome).clone(),
        End::Provider(error) => {
            // Nothing is wrong with a job whose model on this computer does not run.
            let outcome = match error.kind {
                ProviderErrorKind::NotRunning => Outcome::skipped(error.to_string()),
                _ => Outcome::failed(error.to_string()),
            };
            let wish = error.retry_after.map(|wait| wait.as_millis());
            Outcome {
                may_pass: error.may_pass(),
                waits_for: error.is_outage().then_some(WaitsFor::Model),
                error_for_log: Some(error.for_log().to_owned()),
                retry_after_ms: wish.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX)),
                ..outcome
            }
        }
        End::Store(error) => not_written(error),
    }
}

/// A run that a budget has kept from beginning: it waits for a new day, or for a person who mends the budget.
pub(super) fn stopped(stop: &BudgetStop) -> Outcome {
    let words = stop.words.clone();
    let outcome = match stop.passes_with_the_day {
        true => Outcome::skipped(words),
        false => Outcome::failed(words),
    };
    Outcome { budget: Some(stop.clone()), ..outcome }
}

/// A run that waits for a tool's rate limit; the failure where its time limit leaves no time for that.
fn over_limit(tool: &str, wait: Duration) -> Outcome {
    let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let error = format!(
        "{tool} is over its rate limit for another {} s, and the run has no time left to wait. Give the job a longer time limit, or fewer calls to make.",
        ms.div_ceil(1_000)
    );
    Outcome {
        waits_for: Some(WaitsFor::RateLimit),
        retry_after_ms: Some(ms),
        may_pass: true,
        ..Outcome::failed(error)
    }
}

/// The outcome of a run that came to such an end in the middle of its work: it is not skipped any more, and what it had
/// said by then is its report.
fn in_the_middle(turn: &Turn, outcome: Outcome) -> Outcome {
    if !matches!(outcome.state, RunState::Skipped | RunState::Failed) {
        return outcome;
    }
    let error = outcome.reason.or(outcome.error);
    Outcome { state: RunState::Failed, error, reason: None, summary: turn.last_words(), ..outcome }
}

/// Whether a call was refused because the person would be asked about it and is not.
const fn needs_yes(called: &Called) -> bool {
    matches!(called.refusal, Some(Refused::EarlierAsks | Refused::JobGone))
}

/// That something which a run begins with needs a yes.
pub(super) fn untold(what: &str, question: &Question) -> String {
    let why = question.approval.why.trim_end_matches('.');
    format!("{what} could not be read. {why}. Nobody is asked about what a run begins with.")
}

/// A job that has to be asked about so often is not ready to run while nobody is there. A grant is advised where one would
/// have helped.
fn asked_too_often(question: &Question) -> Outcome {
    let Approval { tool, job_id, .. } = &question.approval;
    let advice = match (job_id.is_some(), question.had_yes) {
        (true, true) => "Grant what it needs always, or give it less to do.",
        (true, false) => {
            "Not all of that got a yes: say in its task what it is to leave alone, or give it less to do."
        }
        (false, _) => "Give it less to do at once.",
    };
    let error = format!(
        "It has asked {MOST_QUESTIONS} times in one run and wanted to ask about {tool} as well. {advice}"
    );
    let pauses = Some("Paused because one run asked too often".to_owned());
    Outcome { pauses, ..Outcome::failed(error) }
}

impl Conversation<'_> {
    /// Talks until the run is over.
    pub(super) async fn conduct(&self, recalled: Recalled, opening: Opening) -> Outcome {
        let Recalled { messages: mut history, usage, skill_texts } = recalled;
        let before = history.len();
        let has_spoken = opening.has_answer();
        let tools = self.offered.iter().map(|tool| tool.name.clone()).collect();
        let (mut kept, (mut turn, mut next)) = match opening {
            Opening::Fresh(task) => {
                history.push(task);
                (before, (Turn::new(history, self.limits, tools), Next::AskModel))
            }
            Opening::Again(said) => {
                let kept = before + said.len();
                (kept, Turn::resumed(history, said, self.limits, tools))
            }
        };
        let begun = match self.keep(&turn, &mut kept).await {
            Ok(()) => self.record_taint(skill_texts).await.map_err(End::Store),
            Err(end) => Err(end),
        };
        if let Err(end) = begun {
            return ended_early(&end);
        }
        turn.spend(usage);
        let asked = self.models.at(self.asked.place());
        let mut sent = asked.map(|model| self.sent_to(model, before));
        let mut written = Written::default();
        let outcome = loop {
            let step = match (self.keep(&turn, &mut kept).await, next) {
                (Err(end), _) => Err(end),
                (Ok(()), Next::Finish(outcome)) => break self.as_cut(&turn, *outcome),
                (Ok(()), Next::AskModel) => match &mut sent {
                    Some(sent) => self.ask(&turn, before, sent).await.map(|(answer, as_said)| {
                        written = as_said;
                        turn.answered(answer)
                    }),
                    None => Err(End::NoModel(Box::new(without_model(self.models)))),
                },
                (Ok(()), Next::CallTools(calls)) => {
                    self.call_and_leave_word(calls, &written).await.map(|it| turn.called(it))
                }
            };
            match step {
                Ok(following) => next = following,
                Err(end) => {
                    let has_asked = turn.model().is_some() || self.asked.spoiled().tokens() > 0;
                    let has_worked = has_spoken || has_asked;
                    let outcome = match (ended_early(&end), has_worked) {
                        (outcome, true) => in_the_middle(&turn, outcome),
                        (outcome, false) => outcome,
                    };
                    let model = turn.model().or(asked.map(|model| model.model.as_str()));
                    let model = model.map(str::to_owned);
                    break Outcome { usage: turn.usage(), model, ..outcome };
                }
            }
        };
        let usage = outcome.usage.plus(self.asked.spoiled());
        Outcome { usage, fell_back: self.asked.fell_back(), ..outcome }
    }

    /// A run that failed because a budget has cut its last answer off has met that budget; one whose answer Rouse has
    /// bounded says that.
    fn as_cut(&self, turn: &Turn, outcome: Outcome) -> Outcome {
        match self.asked.cut_by().filter(|_| outcome.state == RunState::Failed) {
            Some(BoundBy::Budget(stop)) => {
                let met = in_the_middle(turn, stopped(&stop));
                Outcome { usage: outcome.usage, model: outcome.model, ..met }
            }
            Some(BoundBy::Usual(bound)) => {
                let words = BoundBy::words_of(bound, self.session.job_id().is_some());
                Outcome { error: Some(words), ..outcome }
            }
            None => outcome,
        }
    }

    /// Makes the calls. What they bring in from outside is known of the session before any of it stands there: the journal of
    /// this run may be kept for less long than what it said.
    async fn call_and_leave_word(
        &self,
        calls: Vec<ToolCallRequest>,
        written: &Written,
    ) -> Result<Vec<(ToolCallRequest, ToolOutput)>, End> {
        let outside = self.driver.gate.tools().outside();
        let may_read = calls.iter().any(|call| outside.contains(&call.tool.as_str()));
        let results = self.call_all(calls, written).await?;
        if may_read {
            let skill_texts = match &self.driver.skills {
                Some(shelf) => shelf.remembered(self.session).await?.texts,
                None => Vec::new(),
            };
            self.record_taint(skill_texts).await?;
        }
        Ok(results)
    }

    /// Marks the session with the taint of this run, for later runs that outlive its journal. `skill_texts` are the untrusted
    /// skill texts of the session.
    async fn record_taint(&self, skill_texts: Vec<SkillText>) -> Result<(), StoreError> {
        let driver = self.driver;
        let from_outside = driver.gate.knows_outside(&self.terms, self.context).await?.is_some();
        let left = Inherited { from_outside, skill_texts };
        driver.store.bequeath(self.session, &left, driver.clock.now()).await
    }

    /// Stores what was said since the last time.
    async fn keep(&self, turn: &Turn, kept: &mut usize) -> Result<(), End> {
        let new = turn.messages().get(*kept..).unwrap_or_default();
        if !new.is_empty() {
            let (driver, run) = (self.driver, &self.context.run_id);
            // Before whoever reads the transcript anew finds the same words in it.
            (driver.observer)(run, Heard::Kept);
            driver.store.append_messages(self.session, Some(run), new, driver.clock.now()).await?;
            *kept = turn.messages().len();
        }
        Ok(())
    }

    /// Tells the hooks which tools this attempt offers, after every policy. Nobody waits. It is told when the first model
    /// of the attempt is asked: an attempt that waits for a person is the same one after the answer, whatever happens to
    /// Rouse meanwhile, and one that follows a failure or a break is another.
    pub(super) fn tell_tools(&self, model: &ChosenModel) {
        self.driver.gate.hooks().after_tools_resolved(ToolsResolved {
            tools: ToolMetadata::of_all(&self.offered),
            provider: model.provider.name().to_owned(),
            model: model.model.clone(),
            context: hook_context(self.context),
        });
    }

    /// The files that the job puts into its context, read through the gate like everything else. One that a hook wants
    /// asked ends the run: nobody is asked before it has begun.
    pub(super) async fn read_context_files(&self, paths: &[String]) -> Result<Vec<String>, End> {
        let policy = ToolPolicy::of_tools(Some(vec!["read_file".to_owned()]));
        let terms = Terms { policy, ..self.terms.clone() };
        let mut files = Vec::with_capacity(paths.len());
        for (number, path) in paths.iter().enumerate() {
            let request = ToolCallRequest {
                id: format!("context-{number}"),
                tool: "read_file".to_owned(),
                arguments: json!({ "path": path }),
            };
            let path = self.driver.gate.safety().words(path);
            let what = format!("The file {path}");
            match self.pass(&terms, &request).await? {
                Passage::Called(called) if needs_yes(&called) => {
                    let why = format!("{what} could not be read. {}", called.output.text());
                    return Err(End::Untold(why));
                }
                Passage::Called(called) => files.push(format!("{path}:\n{}", called.told.text())),
                Passage::Asks(question) => return Err(End::Untold(untold(&what, &question))),
            }
        }
        Ok(files)
    }
}
