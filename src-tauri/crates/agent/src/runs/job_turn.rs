//! The agent turn of a job, in the job's own session.

use std::time::Duration;

use rouse_core::job::AgentTurn;
use rouse_core::message::Message;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use rouse_core::turn::TurnLimits;
use rouse_core::{Cause, Job, SessionKey};
use rouse_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::servers::RunServers;
use super::{AgentDriver, require_model};
use crate::budget::RunBudgets;
use crate::context::offered_tools::OfferedTools;
use crate::context::prompt::{
    ModelPrompt, approval_time_limit, event_part, job_prompt, named_hosts, offered_tools,
    policy_of, sandbox_of, task, without_unusable_grants,
};
use crate::context::skills::TurnSkills;
use crate::context::window::first_context_tokens;
use crate::gate::{Gate, RunPolicy};
use crate::providers::model_choice::RunModels;
use crate::turn::conversation::{Conversation, Opening};
use crate::turn::end::TurnEnd;
use crate::turn::journal::Journal;
use crate::turn::scope::RunScope;
use crate::turn::summary_call::SUMMARY_TIME_LIMIT;

/// The longest wait for a tool's rate limit.
const MAX_RATE_LIMIT_WAIT: Duration = Duration::from_secs(600);

/// A run of a job's agent turn.
struct JobTurn<'r> {
    run: &'r Run,
    job: &'r Job,
    turn: &'r AgentTurn,
    skills: TurnSkills,
    cause: Option<Cause>,
    servers: RunServers,
}

impl AgentDriver {
    /// Carries out an `agentTurn` of `job`.
    pub async fn run_turn(
        &self,
        run: &Run,
        job: &Job,
        turn: &AgentTurn,
        models: impl Into<RunModels>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let models = models.into();
        let outcome = self.job_turn(run, job, turn, &models, cancel).await;
        outcome.unwrap_or_else(TurnEnd::into_outcome)
    }

    async fn job_turn(
        &self,
        run: &Run,
        job: &Job,
        turn: &AgentTurn,
        models: &RunModels,
        cancel: &CancellationToken,
    ) -> Result<Outcome, TurnEnd> {
        let session = &SessionKey::of_job(&job.id);
        let earlier = self.runtime.store.messages_of_run(session, &run.id).await?;
        require_model(models, &earlier)?;
        let servers = self.open_servers(turn, cancel).await?;
        // The servers may have changed the current tools.
        let driver = &self.for_run();
        servers.check_listed_tools(turn, &driver.runtime.gate.tools())?;
        let store = &driver.runtime.store;
        let steps = store.complete_journal(&run.id).await?;
        let cause = store.cause(&run.id).await?;
        let library = driver.runtime.skills.as_ref();
        let skills = TurnSkills::load(library, &turn.skills, session, &steps).await?;
        let job_turn = JobTurn { run, job, turn, skills, cause, servers };
        let account = driver.account(run, Some(job));
        let mut policy = driver.job_policy(&job_turn, &account).await?;
        let tools = job_turn.offered_tools(&driver.runtime.gate, models, &policy.tools);
        policy.tools = policy.tools.with_tool_search(tools.has_search());
        let tool_context = &ToolContext {
            searchable_tools: tools.searchable_texts(),
            ..driver.job_context(&job_turn)
        };
        let scope = RunScope { runtime: &driver.runtime, session, tool_context, account, cancel };
        let mut conversation = Conversation {
            models,
            prompt: job_turn.prompt(&scope, tools),
            policy,
            limits: TurnLimits { max_steps: driver.max_steps(turn.max_steps), is_attended: false },
            job: Some(job),
            journal: Journal::new(steps, run.attempt),
            summary_time_limit: summary_time_limit(job),
            scope,
        };
        let opening = if earlier.is_empty() {
            Opening::Task(job_turn.task(&conversation).await?)
        } else {
            Opening::Resumed(earlier)
        };
        let history = conversation.load_history(!opening.is_resumed()).await?;
        Ok(conversation.run(history, opening).await)
    }

    /// URLs in the message name hosts only if a person has written the message.
    fn job_context(&self, job_turn: &JobTurn<'_>) -> ToolContext {
        let JobTurn { run, job, turn, skills, .. } = job_turn;
        let hosts = job.is_message_by_person().then(|| named_hosts(&turn.message));
        ToolContext {
            named_hosts: hosts.unwrap_or_default(),
            skills: skills.in_run(),
            ..self.tool_context(run, Some(job), sandbox_of(job))
        }
    }

    async fn job_policy(
        &self,
        job_turn: &JobTurn<'_>,
        account: &RunBudgets,
    ) -> Result<RunPolicy, StoreError> {
        let JobTurn { job, turn, skills, .. } = job_turn;
        let grants = self.runtime.store.grants_of_job(&job.id).await?;
        let policy = skills.restrict(policy_of(job, turn, &grants, self.runtime.now()));
        let policy = without_unusable_grants(&self.runtime.gate, job, turn, policy).await;
        Ok(RunPolicy {
            budgets: Some(account.clone()),
            tools: policy,
            approval_timeout: approval_time_limit(Some(job)),
            is_tainted: job_turn.is_tainted(),
            rate_limit_wait: MAX_RATE_LIMIT_WAIT.min(time_limit(job) / 2),
        })
    }
}

impl JobTurn<'_> {
    /// Whether the run begins with untrusted input: an event, a message by an agent, or a skill. The taint of the
    /// session's history comes with the history.
    fn is_tainted(&self) -> bool {
        self.cause.is_some() || !self.job.is_message_by_person() || self.skills.is_tainted()
    }

    fn offered_tools(&self, gate: &Gate, models: &RunModels, policy: &ToolPolicy) -> OfferedTools {
        let offered = offered_tools(gate, self.turn, policy);
        OfferedTools::new(&gate.tools(), offered, policy, first_context_tokens(models))
    }

    fn prompt(&self, scope: &RunScope<'_>, tools: OfferedTools) -> ModelPrompt {
        let system = job_prompt(self.turn, scope.tool_context, tools.fixed())
            + &self.skills.instructions(tools.fixed(), scope.safety())
            + &tools.search_instructions();
        let (max_tokens, effort) = (self.turn.max_tokens, self.turn.effort);
        ModelPrompt { system, tools, max_tokens, effort }
    }

    /// The task with the untrusted skills, the context files and the event.
    async fn task(&self, conversation: &Conversation<'_>) -> Result<Message, TurnEnd> {
        let (scope, tools) = (&conversation.scope, conversation.tool_caller());
        let mut parts = tools.read_skills(&self.skills).await?;
        parts.extend(tools.read_context_files(&self.turn.context_paths).await?);
        parts.extend(self.servers.notes().iter().cloned());
        parts.extend(self.cause.as_ref().map(|cause| event_part(scope.gate(), cause)));
        let JobTurn { run, job, turn, .. } = *self;
        Ok(task(scope.safety(), run, job, turn, scope.tool_context, &parts))
    }
}

fn time_limit(job: &Job) -> Duration {
    Duration::from_secs(job.timeout_seconds().into())
}

/// A quarter of the run's time at most: the rest is for the run itself.
fn summary_time_limit(job: &Job) -> Duration {
    SUMMARY_TIME_LIMIT.min(time_limit(job) / 4)
}
