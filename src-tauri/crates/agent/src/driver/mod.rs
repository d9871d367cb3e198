//! The driver: carries out what the turn machine of `core` decides.
//!
//! Owns the five ways in: a job's turn, a heartbeat of the main session, an answer to a person there, a single tool call
//! of a job, and one that a person tries. It puts the context together, asks the model, sends calls through the gate,
//! journals every step and stores the transcript, also of a run that failed. It refuses to decide how a run may end
//! (`core::turn`), whether it may be retried, and who is told (the scheduler). It answers with an outcome whatever
//! happens; a run never ends in silence.
//!
//! One could get it wrong by waiting for something without the cancellation token beside it, or by returning early
//! without storing what was said.

mod asking;
mod chat;
mod context;
mod conversation;
mod calls;
mod bound;
mod answer_room;
mod history;
mod compaction;
mod main_session;
mod main_turn;
mod one_call;
mod resume;
mod skilled;
mod tool_call;
mod trial;
mod used;
mod verdict;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::job::{AgentTurn, Sandbox, ScheduleSpec};
use rouse_core::message::Message;
use rouse_core::model::Delta;
use rouse_core::run::{Outcome, Run};
use rouse_core::schedule::Zone;
use rouse_core::tool::{LooseEnds, SandboxMode, ToolContext};
use rouse_core::turn::TurnLimits;
use rouse_core::{Cause, Clock, Job, RunId, RunState, SessionKey};
use rouse_store::{RunStep, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::gate::{Gate, Terms};
use crate::models::Lineup;
use crate::money::{Account, Ledger};
use crate::skills::SkillShelf;
use asking::Asked;
use compaction::SUMMARY_FOR;
pub use context::{offered, policy_of, withholding};
use conversation::{Conversation, Opening, has_answer};
use resume::Journal;
use skilled::Told;

/// What whoever looks on at a run hears of the answers of its model.
#[derive(Debug, Clone, Copy)]
pub enum Heard<'a> {
    /// A piece of one on its way.
    Piece(&'a Delta),
    /// It has come to its end.
    Whole,
    /// It goes into the transcript.
    Kept,
    /// It broke off, and nothing of it is kept.
    Lost,
}

/// Told about every answer on its way.
pub type Observer = Arc<dyn Fn(&RunId, Heard<'_>) + Send + Sync>;

/// The most model turns that a setting can ask for.
const MOST_STEPS: u32 = 50;

/// The longest that a run waits for one call over a tool's rate limit.
const MOST_RATE_LIMIT_WAIT: Duration = Duration::from_secs(600);

/// What runs have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// The folder that file tools may see, and where HEARTBEAT.md is.
    pub workspace: PathBuf,
    /// Most model turns of one run when the job names none (`MAX_MULTI_ACT_STEPS`).
    pub max_steps: u32,
}

/// The driver. Cheap to make anew when a setting changes.
#[derive(Clone)]
pub struct AgentDriver {
    store: Store,
    gate: Arc<Gate>,
    clock: Arc<dyn Clock>,
    settings: AgentSettings,
    observer: Observer,
    skills: Option<SkillShelf>,
    /// Those of the main session.
    main_skills: Vec<String>,
    ledger: Arc<Ledger>,
}

/// What a model has chosen runs in the sandbox, without a network.
const CONFINED: SandboxMode = SandboxMode::Sandboxed { hosts: Vec::new() };

/// How what the model of a job has chosen is confined, as the person has written it into the job.
#[must_use]
pub fn sandbox_of(job: &Job) -> SandboxMode {
    let hosts = job.policies.hosts.clone();
    match job.policies.sandbox {
        Sandbox::Required => SandboxMode::Sandboxed { hosts },
        Sandbox::Open => SandboxMode::OpenedByPerson { hosts },
    }
}

/// Said when there is nobody to ask.
const NO_MODEL: &str = "No model is set up. Start Ollama or LM Studio on this computer, or add a provider under Settings.";

impl AgentDriver {
    /// A driver over `store` and `gate`.
    #[must_use]
    pub fn new(
        store: Store,
        gate: Arc<Gate>,
        clock: Arc<dyn Clock>,
        settings: AgentSettings,
        observer: Observer,
    ) -> Self {
        let ledger = Ledger::new(store.clone());
        Self {
            store,
            gate,
            clock,
            settings,
            observer,
            skills: None,
            main_skills: Vec::new(),
            ledger,
        }
    }

    /// The same driver, whose runs may be told of these skills.
    #[must_use]
    pub fn with_skills(self, skills: SkillShelf) -> Self {
        Self { skills: Some(skills), ..self }
    }

    /// The same driver, whose turns of the main session are told of the skills of these names.
    #[must_use]
    pub fn telling_main_of(self, main_skills: Vec<String>) -> Self {
        Self { main_skills, ..self }
    }

    /// The same driver, whose runs draw on this ledger.
    #[must_use]
    pub fn paid_from(self, ledger: Arc<Ledger>) -> Self {
        Self { ledger, ..self }
    }

    fn account(&self, run: &Run, job: Option<&Job>) -> Account {
        let (ledger, clock) = (Arc::clone(&self.ledger), Arc::clone(&self.clock));
        Account::new(ledger, clock, run, job, self.zone_of(job))
    }

    /// Carries out an `agentTurn` of `job` in its own session.
    pub async fn run_turn(
        &self,
        run: &Run,
        job: &Job,
        turn: &AgentTurn,
        models: impl Into<Lineup>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let models = models.into();
        let session = SessionKey::of_job(&job.id);
        let said = match self.said_by(run, &session, &models).await {
            Ok(said) => said,
            Err(outcome) => return outcome,
        };
        let Before { steps, cause, told, knows } = match self.before(run, job, turn, &session).await
        {
            Ok(before) => before,
            Err(outcome) => return outcome,
        };
        let context = self.turn_context(run, job, turn, &told);
        let account = self.account(run, Some(job));
        let terms = match self.terms(job, turn, &told, &account, knows).await {
            Ok(terms) => terms,
            Err(error) => return not_written(&error),
        };
        let offered = context::offered(&self.gate, turn, &terms.policy);
        let journal = Journal::of(steps, run.attempt);
        let mut conversation = Conversation {
            driver: self,
            session: &session,
            asked: Asked::of(&journal, &models),
            journal,
            models: &models,
            account,
            system: context::job_prompt(turn, &context, &offered)
                + &told.instructions(&offered, self.gate.safety()),
            offered,
            terms,
            limits: self.limits(turn.max_steps),
            summary_for: summary_for(job),
            max_tokens: turn.max_tokens,
            effort: turn.effort,
            quiet_hours: job.policies.quiet_hours.clone(),
            context: &context,
            cancel,
        };
        let opened = async {
            if !said.is_empty() {
                return Ok((conversation.recall(false).await?, Opening::Again(said)));
            }
            let mut parts = conversation.read_skills(&told.skills).await?;
            parts.extend(conversation.read_context_files(&turn.context_paths).await?);
            parts.extend(cause.as_ref().map(|cause| context::cause(&self.gate, cause)));
            let task = context::task(self.gate.safety(), run, job, turn, &context, &parts);
            Ok((conversation.recall(true).await?, Opening::Fresh(task)))
        };
        match opened.await {
            Ok((recalled, opening)) => conversation.conduct(recalled, opening).await,
            Err(end) => conversation::ended_early(&end),
        }
    }

    /// What the run has said, or how it ends because there is no model that it could begin with.
    async fn said_by(
        &self,
        run: &Run,
        session: &SessionKey,
        models: &Lineup,
    ) -> Result<Vec<Message>, Outcome> {
        let said = self.store.messages_of(session, &run.id).await;
        let said = said.map_err(|error| not_written(&error))?;
        let can_begin = models.first().is_some() || has_answer(&said);
        if can_begin { Ok(said) } else { Err(without_model(models)) }
    }

    /// On what terms a run of `job` calls tools; `knows` is whether it began with text from outside.
    async fn terms(
        &self,
        job: &Job,
        turn: &AgentTurn,
        told: &Told,
        account: &Account,
        knows: bool,
    ) -> Result<Terms, StoreError> {
        let time_limit = Duration::from_secs(job.timeout_seconds().into());
        let grants = self.store.grants_of(&job.id).await?;
        let policy = told.lower(policy_of(job, turn, &grants, self.clock.now()));
        let policy = withholding(&self.gate, job, turn, policy).await;
        Ok(Terms {
            rate_limit_wait: MOST_RATE_LIMIT_WAIT.min(time_limit / 2),
            account: Some(account.clone()),
            policy,
            question_for: context::question_for(Some(job)),
            knows_outside: knows || told.is_from_outside(),
        })
    }

    /// With what a run begins, or how it ends without it.
    async fn before(
        &self,
        run: &Run,
        job: &Job,
        turn: &AgentTurn,
        session: &SessionKey,
    ) -> Result<Before, Outcome> {
        let unread = |error: StoreError| not_written(&error);
        let steps = self.store.whole_journal(&run.id).await.map_err(unread)?;
        let cause = self.store.cause(&run.id).await.map_err(unread)?;
        let knows = cause.is_some() || !job.is_message_by_person();
        let told = self.told_of(&turn.skills, session, &steps).await?;
        Ok(Before { steps, cause, told, knows })
    }

    /// Whether a run that has written to the session has read text that somebody else may have written.
    async fn remembers_outside(&self, session: &SessionKey) -> Result<bool, StoreError> {
        self.store.session_knows_outside(session, &self.gate.tools().outside()).await
    }

    /// Hosts count as named where a person has named them.
    fn turn_context(&self, run: &Run, job: &Job, turn: &AgentTurn, told: &Told) -> ToolContext {
        let named = job.is_message_by_person().then(|| context::named_hosts(&turn.message));
        let named_hosts = named.unwrap_or_default();
        let skills = told.in_run();
        ToolContext { named_hosts, skills, ..self.tool_context(run, Some(job), sandbox_of(job)) }
    }

    fn limits(&self, wanted_steps: Option<u32>) -> TurnLimits {
        TurnLimits { max_steps: self.max_steps(wanted_steps), is_attended: false }
    }

    fn max_steps(&self, wanted: Option<u32>) -> u32 {
        wanted.unwrap_or(self.settings.max_steps).clamp(1, MOST_STEPS)
    }

    fn tool_context(&self, run: &Run, job: Option<&Job>, sandbox: SandboxMode) -> ToolContext {
        ToolContext {
            run_id: run.id.clone(),
            job_id: run.job_id.clone(),
            job_name: self.gate.safety().words(&run.job_name),
            workspace: self.settings.workspace.clone(),
            sandbox,
            named_hosts: Vec::new(),
            folders: job.map(|job| job.policies.folders.clone()).unwrap_or_default(),
            clock: Arc::clone(&self.clock),
            zone: self.zone_of(job),
            skills: Vec::new(),
            event: None,
            asked_at: None,
            loose_ends: LooseEnds::default(),
        }
    }

    /// The zone that a job's schedule names, else the local one.
    fn zone_of(&self, job: Option<&Job>) -> Zone {
        let zones = self.clock.zones();
        let named = match job.map(|job| &job.schedule.spec) {
            Some(ScheduleSpec::Cron { tz, .. }) => zones.zone(tz),
            _ => None,
        };
        named.unwrap_or(zones.local())
    }
}

/// With what a run of a job begins.
struct Before {
    /// What it has done before.
    steps: Vec<RunStep>,
    /// What fired it.
    cause: Option<Cause>,
    /// The skills it is told of.
    told: Told,
    /// Whether it begins with text from outside: with what fired it, or with its task, which an agent has worded who may
    /// have been told it. What its session has read comes with what that is told (`Conversation::recall`).
    knows: bool,
}

/// How long summing up the session of a job may take: what is left of the run's time is for the run.
fn summary_for(job: &Job) -> Duration {
    SUMMARY_FOR.min(Duration::from_secs(job.timeout_seconds().into()) / 4)
}

/// A run that nobody can answer.
fn without_model(models: &Lineup) -> Outcome {
    match models.why_absent() {
        Some(why) => Outcome { may_pass: true, ..Outcome::skipped(why) },
        None => Outcome::failed(models.why_misnamed().unwrap_or(NO_MODEL)),
    }
}

/// A run that was cancelled, with what it cost until then.
fn cancelled() -> Outcome {
    Outcome { reason: Some("cancelled".to_owned()), ..Outcome::of(RunState::Cancelled) }
}

/// A run that stopped because Rouse could not write down what it did.
fn not_written(error: &StoreError) -> Outcome {
    tracing::error!(%error, "a run stopped because the store failed");
    let why = if error.is_full() {
        "the disk is full or cannot be written".to_owned()
    } else {
        error.to_string()
    };
    Outcome { may_pass: true, ..Outcome::failed(format!("The run could not be recorded: {why}.")) }
}
