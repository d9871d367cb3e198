//! Turns of the main session: the common part of a heartbeat and of a chat turn.

use std::time::Duration;

use rouse_core::SessionKey;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::ToolContext;
use rouse_core::turn::{COMPLETE_RUN, TurnLimits};
use rouse_store::RunStep;
use tokio_util::sync::CancellationToken;

use super::AgentDriver;
use crate::context::offered_tools::OfferedTools;
use crate::context::prompt::{ModelPrompt, approval_time_limit, environment};
use crate::context::queued_events::EventBatch;
use crate::context::skills::{TurnSkills, task_with};
use crate::context::window::first_context_tokens;
use crate::gate::RunPolicy;
use crate::providers::model_choice::RunModels;
use crate::turn::conversation::{Conversation, Opening};
use crate::turn::end::{TurnEnd, not_recorded};
use crate::turn::journal::Journal;
use crate::turn::scope::RunScope;
use crate::turn::summary_call::SUMMARY_TIME_LIMIT;

/// A turn of the main session before the first step.
pub(super) struct MainTurn {
    pub(super) opening: Opening,
    /// The queued events of the turn.
    pub(super) events: EventBatch,
    /// Whether the task holds untrusted input.
    pub(super) is_tainted: bool,
    pub(super) skills: TurnSkills,
    pub(super) journal: Journal,
    pub(super) tool_context: ToolContext,
}

/// The kind of a turn of the main session.
pub(super) struct MainTurnKind {
    /// The standing instructions.
    pub(super) instructions: String,
    /// Whether the person is there. Then tools for attended turns are offered, and `complete_run` is not needed.
    pub(super) is_attended: bool,
}

impl AgentDriver {
    /// The skills of the main session, for a run with these steps.
    pub(super) async fn load_main_skills(&self, steps: &[RunStep]) -> Result<TurnSkills, TurnEnd> {
        let library = self.runtime.skills.as_ref();
        let skills = TurnSkills::load(library, &self.main_skills, &SessionKey::main(), steps).await;
        Ok(skills?)
    }

    /// Talks until the turn ends, fails or parks. Removes the drained events from the queue after a success.
    pub(super) async fn run_in_main(
        &self,
        run: &Run,
        models: &RunModels,
        turn: MainTurn,
        kind: MainTurnKind,
        cancel: &CancellationToken,
    ) -> Outcome {
        let MainTurn { opening, events, is_tainted, skills, journal, tool_context } = turn;
        let MainTurnKind { instructions, is_attended } = kind;
        let session = SessionKey::main();
        let account = self.account(run, None);
        let policy = ToolPolicy::default();
        // A heartbeat comes often; the tools of servers would cost tokens each time.
        let policy = if is_attended { policy } else { policy.with_servers(Vec::new()) };
        let policy = skills.restrict(if is_attended { policy.for_attended_turn() } else { policy });
        let tools = self.main_tools(&policy, is_attended, models);
        let policy = policy.with_tool_search(tools.has_search());
        let searchable_tools = tools.searchable_texts();
        let tool_context = ToolContext { searchable_tools, ..tool_context };
        let system = instructions
            + &environment(&tool_context, tools.fixed())
            + &skills.instructions(tools.fixed(), self.runtime.gate.safety())
            + &tools.search_instructions();
        let conversation = Conversation {
            models,
            prompt: ModelPrompt { system, tools, max_tokens: None, effort: None },
            policy: RunPolicy {
                budgets: Some(account.clone()),
                tools: policy,
                approval_timeout: approval_time_limit(None),
                is_tainted: is_tainted || skills.is_tainted(),
                rate_limit_wait: Duration::ZERO,
            },
            limits: TurnLimits { max_steps: self.max_steps(None), is_attended },
            job: None,
            journal,
            summary_time_limit: SUMMARY_TIME_LIMIT,
            scope: RunScope {
                runtime: &self.runtime,
                session: &session,
                tool_context: &tool_context,
                account,
                cancel,
            },
        };
        let outcome = converse(conversation, opening, &skills).await;
        match outcome {
            Ok(outcome) => self.drain_events(run, &events, outcome).await,
            Err(end) => end.into_outcome(),
        }
    }

    fn main_tools(
        &self,
        policy: &ToolPolicy,
        is_attended: bool,
        models: &RunModels,
    ) -> OfferedTools {
        let set = self.runtime.gate.tools();
        let mut offered = set.offered(policy);
        offered.retain(|tool| !is_attended || tool.name != COMPLETE_RUN);
        OfferedTools::new(&set, offered, policy, first_context_tokens(models))
    }

    async fn drain_events(&self, run: &Run, events: &EventBatch, outcome: Outcome) -> Outcome {
        let store = &self.runtime.store;
        match events.drain(store, run, &outcome, self.runtime.now()).await {
            Ok(()) => outcome,
            Err(error) => {
                let Outcome { usage, model, .. } = outcome;
                Outcome { usage, model, is_transient: false, ..not_recorded(&error) }
            }
        }
    }
}

async fn converse(
    mut conversation: Conversation<'_>,
    opening: Opening,
    skills: &TurnSkills,
) -> Result<Outcome, TurnEnd> {
    let opening = match opening {
        Opening::Task(task) => {
            let texts = conversation.tool_caller().read_skills(skills).await?;
            Opening::Task(task_with(task, &texts))
        }
        resumed @ Opening::Resumed(_) => resumed,
    };
    // Last, because a summary is paid for: only when the turn can begin.
    let history = conversation.load_history(!opening.is_resumed()).await?;
    Ok(conversation.run(history, opening).await)
}
