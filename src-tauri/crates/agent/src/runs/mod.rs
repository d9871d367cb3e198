//! Runs of an agent: a job's turn, a heartbeat, a chat turn, a job's tool call, and a trial call of a person.
//!
//! Owns the five entry points. Each builds context, policy and budget of the run, calls `turn`, and answers an outcome
//! in any case. Never decides how a run may end (`core::turn`), whether a run is retried, or the announcement (the
//! scheduler). Pitfall: every wait needs the cancellation token too.

mod servers;
mod job_turn;
mod main_session;
mod heartbeat;
mod chat;
mod delegated_turn;
mod single_call;
mod call_outcome;
mod condition_verdict;
mod tool_call;
mod tool_trial;

use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::call_progress::{CallProgress, ProgressReporter};
use rouse_core::channel::SharedDirectory;
use rouse_core::extension::ToolServers;
use rouse_core::job::ScheduleSpec;
use rouse_core::message::Message;
use rouse_core::run::Run;
use rouse_core::schedule::Zone;
use rouse_core::text::{first_line, strip_invisible};
use rouse_core::tool::{PendingCleanup, SandboxMode, ToolContext};
use rouse_core::{Clock, Job};
use rouse_store::Store;

use crate::budget::{BudgetLedger, RunBudgets};
use crate::gate::Gate;
use crate::providers::model_choice::RunModels;
use crate::skills::SkillLibrary;
use crate::turn::conversation::has_answer;
use crate::turn::end::TurnEnd;
use crate::turn::scope::{AgentRuntime, AnswerObserver, ProgressObserver};

/// The most model turns that a setting or a job can ask for.
const MAX_STEPS: u32 = 50;

/// The most characters of a progress message.
const MAX_PROGRESS: usize = 200;

/// The sandbox of calls that a model chooses without a job: no network.
const SANDBOXED: SandboxMode = SandboxMode::Sandboxed { hosts: Vec::new() };

/// Settings of all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// The folder of the file tools and of HEARTBEAT.md.
    pub workspace: PathBuf,
    /// The most model turns of a run without a limit in the job (`MAX_MULTI_ACT_STEPS`).
    pub max_steps: u32,
}

/// Carries out runs. Cheap to clone and to rebuild when a setting changes.
#[derive(Clone)]
pub struct AgentDriver {
    runtime: AgentRuntime,
    settings: AgentSettings,
    /// The skills of the main session.
    main_skills: Vec<String>,
    ledger: Arc<BudgetLedger>,
    servers: Option<Arc<dyn ToolServers>>,
    /// Receives the progress of calls.
    progress: Option<ProgressObserver>,
}

impl AgentDriver {
    /// A driver over `store` and `gate`.
    #[must_use]
    pub fn new(
        store: Store,
        gate: Arc<Gate>,
        clock: Arc<dyn Clock>,
        settings: AgentSettings,
        observer: AnswerObserver,
    ) -> Self {
        let ledger = BudgetLedger::new(store.clone());
        let (channels, skills) = (SharedDirectory::default(), None);
        let runtime = AgentRuntime { store, gate, clock, channels, observer, skills };
        let (main_skills, servers, progress) = (Vec::new(), None, None);
        Self { runtime, settings, main_skills, ledger, servers, progress }
    }

    /// Offers these skills to runs.
    #[must_use]
    pub fn with_skills(mut self, skills: SkillLibrary) -> Self {
        self.runtime.skills = Some(skills);
        self
    }

    /// Sends the messages of runs to these channels.
    #[must_use]
    pub fn with_channels(mut self, channels: SharedDirectory) -> Self {
        self.runtime.channels = channels;
        self
    }

    /// Gives the skills of these names to turns of the main session.
    #[must_use]
    pub fn with_main_skills(self, main_skills: Vec<String>) -> Self {
        Self { main_skills, ..self }
    }

    /// Counts runs in this ledger.
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<BudgetLedger>) -> Self {
        Self { ledger, ..self }
    }

    /// Opens the servers of runs here.
    #[must_use]
    pub fn with_servers(self, servers: Arc<dyn ToolServers>) -> Self {
        Self { servers: Some(servers), ..self }
    }

    /// Reports the progress of calls to `observer`.
    #[must_use]
    pub fn with_progress(self, observer: ProgressObserver) -> Self {
        Self { progress: Some(observer), ..self }
    }

    /// The driver of a run, which keeps the current tools.
    fn for_run(&self) -> Self {
        let mut driver = self.clone();
        driver.runtime.gate = Arc::new(driver.runtime.gate.for_run());
        driver
    }

    fn account(&self, run: &Run, job: Option<&Job>) -> RunBudgets {
        let (ledger, clock) = (Arc::clone(&self.ledger), Arc::clone(&self.runtime.clock));
        RunBudgets::new(ledger, clock, run, job, self.zone_of(job))
    }

    fn max_steps(&self, wanted: Option<u32>) -> u32 {
        wanted.unwrap_or(self.settings.max_steps).clamp(1, MAX_STEPS)
    }

    fn tool_context(&self, run: &Run, job: Option<&Job>, sandbox: SandboxMode) -> ToolContext {
        ToolContext {
            run_id: run.id.clone(),
            job_id: run.job_id.clone(),
            job_name: self.runtime.gate.safety().redact_stored(&run.job_name),
            workspace: self.settings.workspace.clone(),
            sandbox,
            named_hosts: Vec::new(),
            folders: job.map(|job| job.policies.folders.clone()).unwrap_or_default(),
            clock: Arc::clone(&self.runtime.clock),
            zone: self.zone_of(job),
            skills: Vec::new(),
            event: None,
            requested_at: None,
            pending_cleanup: PendingCleanup::default(),
            searchable_tools: Arc::default(),
            progress: self.progress_reporter(run),
        }
    }

    /// Passes progress to the observer as one line. Redacts before the cut: a cut could leave half of a secret.
    fn progress_reporter(&self, run: &Run) -> ProgressReporter {
        let Some(observer) = self.progress.clone() else { return ProgressReporter::default() };
        let (run, safety) = (run.id.clone(), self.runtime.gate.safety().clone());
        ProgressReporter::new(move |progress: CallProgress<'_>| {
            let redacted = safety.redact_stored(&strip_invisible(progress.text));
            let text = first_line(&redacted, MAX_PROGRESS, str::to_owned);
            observer(&run, CallProgress { text: &text, ..progress });
        })
    }

    /// The zone of a job's cron schedule, else the local zone.
    fn zone_of(&self, job: Option<&Job>) -> Zone {
        let zones = self.runtime.clock.zones();
        let named = match job.map(|job| &job.schedule.spec) {
            Some(ScheduleSpec::Cron { tz, .. }) => zones.zone(tz),
            _ => None,
        };
        named.unwrap_or(zones.local())
    }
}

/// Ends a run without a model, unless a model has answered before a break.
fn require_model(models: &RunModels, earlier: &[Message]) -> Result<(), TurnEnd> {
    if models.first().is_some() || has_answer(earlier) {
        return Ok(());
    }
    Err(TurnEnd::no_model(models))
}
