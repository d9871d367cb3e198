//! One run's conversation with a model: the loop around the turn machine.
//!
//! Owns the order of things (journal, ask, journal; then the calls) and the ends that the machine does not know: a cancelled run, a provider that fails, a journal that cannot be written.

use std::sync::atomic::{AtomicBool, Ordering};

use rouse_core::approval::Approval;
use rouse_core::job::Approvals;
use rouse_core::message::{Message, ModelAnswer, ToolCallRequest};
use rouse_core::model::{Delta, ModelRequest, ProviderError};
use rouse_core::policy::ToolPolicy;
use rouse_core::quiet::QuietPolicy;
use rouse_core::run::{Outcome, Usage};
use rouse_core::tool::{ToolContext, ToolSpec};
use rouse_core::turn::{Next, Turn, TurnLimits};
use rouse_core::{RunState, SessionKey};
use rouse_store::{NewStep, StepEnd, StepKind, StepStatus, StoreError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::resume::Journal;
use super::{AgentDriver, cancelled, not_written};
use crate::gate::guard::hook_context;
use crate::gate::{GateError, Passage, Terms};
use crate::hooks::{ToolMetadata, ToolsResolved};
use crate::models::ChosenModel;
use crate::retry::{pause, wait_before_next};
use crate::safety::Written;

/// The most questions of one run.
pub(super) const MOST_QUESTIONS: usize = 3;

/// Everything that stays the same while a run talks.
pub(super) struct Conversation<'r> {
    pub(super) driver: &'r AgentDriver,
    /// Where what is said is kept step by step; none when the caller stores it as a whole at the end.
    pub(super) session: Option<&'r SessionKey>,
    /// What was begun before a break.
    pub(super) journal: Journal,
    pub(super) model: &'r ChosenModel,
    pub(super) system: String,
    pub(super) offered: Vec<ToolSpec>,
    pub(super) terms: Terms,
    pub(super) limits: TurnLimits,
    pub(super) max_tokens: Option<u32>,
    pub(super) quiet_hours: QuietPolicy,
    pub(super) context: &'r ToolContext,
    pub(super) cancel: &'r CancellationToken,
}

/// How a conversation begins.
pub(super) enum Opening {
    /// With a task.
    Fresh(Message),
    /// With what the run had said before a break, and what it had cost.
    Again(Vec<Message>, Usage),
}

/// A conversation that has ended.
pub(super) struct Conducted {
    pub(super) outcome: Outcome,
    /// What was said in this run, the task included.
    pub(super) said: Vec<Message>,
}

/// An end that the turn machine does not know.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("the run was cancelled")]
    Cancelled,
    #[error("it waits for a person")]
    Asks(Vec<Approval>),
    #[error("it asked too often")]
    AskedTooOften(String),
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

/// The outcome of a run that ended before its conversation began.
pub(super) fn ended_early(end: &End) -> Outcome {
    match end {
        End::Cancelled => cancelled(),
        End::Asks(asks) => {
            Outcome { asks: asks.clone(), ..Outcome::of(RunState::AwaitingApproval) }
        }
        End::AskedTooOften(tool) => asked_too_often(tool),
        End::Provider(error) => {
            Outcome { may_pass: error.may_pass(), ..Outcome::failed(error.to_string()) }
        }
        End::Store(error) => not_written(error),
    }
}

/// A job that has to be asked about so often is not ready to run while nobody is there.
fn asked_too_often(tool: &str) -> Outcome {
    let error = format!(
        "It has asked {MOST_QUESTIONS} times in one run and wanted to ask about {tool} as well. Grant what it needs always, or give it less to do."
    );
    let pauses = Some("Paused because one run asked too often".to_owned());
    Outcome { pauses, ..Outcome::failed(error) }
}

impl Conducted {
    /// The outcome, once it is known whether the transcript was stored.
    pub(super) fn outcome_after(self, stored: Result<(), StoreError>) -> Outcome {
        match stored {
            Ok(()) => self.outcome,
            Err(error) => {
                let Outcome { usage, model, .. } = self.outcome;
                // Its calls were made; another attempt would make them again.
                Outcome { usage, model, may_pass: false, ..not_written(&error) }
            }
        }
    }
}

impl Conversation<'_> {
    /// Talks until the run is over.
    pub(super) async fn conduct(&self, mut history: Vec<Message>, opening: Opening) -> Conducted {
        self.tell_tools();
        let before = history.len();
        let (mut kept, (mut turn, mut next)) = match opening {
            Opening::Fresh(task) => {
                history.push(task);
                (before, (Turn::new(history, self.limits), Next::AskModel))
            }
            Opening::Again(said, spent) => {
                let kept = before + said.len();
                (kept, Turn::resumed(history, said, spent, self.limits))
            }
        };
        let mut written = Written::default();
        let outcome = loop {
            let step = match (self.keep(&turn, &mut kept).await, next) {
                (Err(end), _) => Err(end),
                (Ok(()), Next::Finish(outcome)) => break *outcome,
                (Ok(()), Next::AskModel) => self.ask(&turn).await.map(|(answer, as_said)| {
                    written = as_said;
                    turn.answered(answer)
                }),
                (Ok(()), Next::CallTools(calls)) => {
                    self.call_all(calls, &written).await.map(|results| turn.called(results))
                }
            };
            match step {
                Ok(following) => next = following,
                Err(end) => {
                    let model =
                        turn.model().map_or_else(|| self.model.model.clone(), str::to_owned);
                    break Outcome { usage: turn.usage(), model: Some(model), ..ended_early(&end) };
                }
            }
        };
        Conducted { outcome, said: turn.messages()[before..].to_vec() }
    }

    /// Stores what was said since the last time.
    async fn keep(&self, turn: &Turn, kept: &mut usize) -> Result<(), End> {
        let (Some(session), new) = (self.session, turn.messages().get(*kept..).unwrap_or_default())
        else {
            return Ok(());
        };
        if !new.is_empty() {
            let (driver, run) = (self.driver, &self.context.run_id);
            driver.store.append_messages(session, Some(run), new, driver.clock.now()).await?;
            *kept = turn.messages().len();
        }
        Ok(())
    }

    /// One turn of the model, in the journal from its beginning to its end.
    async fn ask(&self, turn: &Turn) -> Result<(ModelAnswer, Written), End> {
        let driver = self.driver;
        let step = NewStep {
            gate: None,
            call_id: None,
            run_id: self.context.run_id.clone(),
            kind: StepKind::ModelTurn,
            name: self.model.model.clone(),
            repeatable: true,
            input: json!({"provider": self.model.provider.name(), "messages": turn.messages().len()}),
        };
        let seq = driver.store.begin_step(&step, driver.clock.now()).await?;
        let began = driver.clock.monotonic();
        let safety = driver.gate.safety();
        let answered = self.ask_patiently(turn).await.map(|answer| safety.kept_answer(answer));
        let took = driver.clock.monotonic().saturating_sub(began).as_millis();
        let end = StepEnd { duration_ms: i64::try_from(took).ok(), ..end_of(&answered) };
        driver.store.end_step(&self.context.run_id, seq, &end, driver.clock.now()).await?;
        answered
    }

    /// Asks, and asks again where that may help and nothing was shown yet.
    async fn ask_patiently(&self, turn: &Turn) -> Result<ModelAnswer, End> {
        let shown = AtomicBool::new(false);
        let on_delta = |delta: Delta| {
            shown.store(true, Ordering::Relaxed);
            (self.driver.observer)(&self.context.run_id, &delta);
        };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let asking = self.model.provider.stream(self.request(turn), &on_delta);
            let error = match self.cancel.run_until_cancelled(asking).await {
                None => return Err(End::Cancelled),
                Some(Ok(answer)) => return Ok(answer),
                Some(Err(error)) => error,
            };
            let Some(wait) = wait_before_next(attempt, &error, shown.load(Ordering::Relaxed))
            else {
                return Err(End::Provider(error));
            };
            tracing::info!(attempt, ?wait, %error, "asking the model again");
            if self.cancel.run_until_cancelled(pause(wait)).await.is_none() {
                return Err(End::Cancelled);
            }
        }
    }

    /// Tells the hooks which tools this attempt offers, after every policy. Nobody waits.
    fn tell_tools(&self) {
        self.driver.gate.hooks().after_tools_resolved(ToolsResolved {
            tools: ToolMetadata::of_all(&self.offered),
            provider: self.model.provider.name().to_owned(),
            model: self.model.model.clone(),
            context: hook_context(self.context),
        });
    }

    fn request(&self, turn: &Turn) -> ModelRequest {
        ModelRequest {
            model: self.model.model.clone(),
            system: self.system.clone(),
            messages: turn.messages().to_vec(),
            tools: self.offered.clone(),
            max_tokens: self.max_tokens,
        }
    }

    /// The files that the job puts into its context, read through the gate like everything else.
    pub(super) async fn read_context_files(&self, paths: &[String]) -> Result<Vec<String>, End> {
        let policy = ToolPolicy::of_tools(Some(vec!["read_file".to_owned()]));
        let terms = Terms { policy: policy.asking(Approvals::Deny), ..self.terms.clone() };
        let mut files = Vec::with_capacity(paths.len());
        for (number, path) in paths.iter().enumerate() {
            let request = ToolCallRequest {
                id: format!("context-{number}"),
                tool: "read_file".to_owned(),
                arguments: json!({ "path": path }),
            };
            if let Passage::Called(called) = self.pass(&terms, &request).await? {
                files.push(format!("{path}:\n{}", called.told.text()));
            }
        }
        Ok(files)
    }
}

/// How a model's turn stands in the journal.
fn end_of(answered: &Result<(ModelAnswer, Written), End>) -> StepEnd {
    let failed = |output: Value| StepEnd {
        status: StepStatus::Failed,
        output: Some(output),
        is_error: false,
        usage: Usage::default(),
        duration_ms: None,
    };
    match answered {
        Ok((answer, _)) => StepEnd {
            status: StepStatus::Finished,
            output: Some(said(answer)),
            usage: answer.usage,
            ..failed(Value::Null)
        },
        Err(end) => failed(json!({ "error": end.to_string() })),
    }
}

fn said(answer: &ModelAnswer) -> Value {
    let calls: Vec<Value> = answer
        .calls()
        .map(|call| json!({"tool": call.tool, "arguments": call.arguments}))
        .collect();
    json!({"text": answer.text(), "calls": calls, "model": answer.model})
}
