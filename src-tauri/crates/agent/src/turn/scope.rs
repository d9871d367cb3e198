//! The parts that all calls of a run share.

use std::sync::Arc;

use rouse_core::call_progress::CallProgress;
use rouse_core::channel::SharedDirectory;
use rouse_core::model::Delta;
use rouse_core::tool::ToolContext;
use rouse_core::{Clock, RunId, SessionKey, UnixMs};
use rouse_store::{Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::budget::RunBudgets;
use crate::gate::Gate;
use crate::safety::Safety;
use crate::skills::SkillLibrary;

/// A change of the model's answer, for a client that watches the run.
#[derive(Debug, Clone, Copy)]
pub enum AnswerEvent<'a> {
    /// A piece of the answer has arrived.
    Delta(&'a Delta),
    /// The answer is complete.
    Complete,
    /// The answer is about to be stored in the transcript.
    Stored,
    /// The answer broke off and is discarded.
    Discarded,
}

/// A callback for the answers of all runs.
pub type AnswerObserver = Arc<dyn Fn(&RunId, AnswerEvent<'_>) + Send + Sync>;

/// A callback for the progress of the calls of all runs.
pub type ProgressObserver = Arc<dyn Fn(&RunId, CallProgress<'_>) + Send + Sync>;

/// The parts that all runs share.
#[derive(Clone)]
pub(crate) struct AgentRuntime {
    pub(crate) store: Store,
    pub(crate) gate: Arc<Gate>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) channels: SharedDirectory,
    pub(crate) observer: AnswerObserver,
    pub(crate) skills: Option<SkillLibrary>,
}

/// A run: session, budgets, and cancellation token.
pub(crate) struct RunScope<'r> {
    pub(crate) runtime: &'r AgentRuntime,
    pub(crate) session: &'r SessionKey,
    pub(crate) tool_context: &'r ToolContext,
    pub(crate) account: RunBudgets,
    pub(crate) cancel: &'r CancellationToken,
}

impl AgentRuntime {
    pub(crate) fn now(&self) -> UnixMs {
        self.clock.now()
    }

    /// Whether a run that has written to the session has read untrusted input.
    pub(crate) async fn is_session_tainted(
        &self,
        session: &SessionKey,
    ) -> Result<bool, StoreError> {
        let tools = self.gate.tools();
        self.store.is_session_tainted(session, &tools.trusted_tools()).await
    }
}

impl<'r> RunScope<'r> {
    pub(crate) fn run_id(&self) -> &'r RunId {
        &self.tool_context.run_id
    }

    pub(crate) fn store(&self) -> &'r Store {
        &self.runtime.store
    }

    pub(crate) fn gate(&self) -> &'r Gate {
        &self.runtime.gate
    }

    pub(crate) fn safety(&self) -> &'r Safety {
        self.runtime.gate.safety()
    }

    pub(crate) fn now(&self) -> UnixMs {
        self.runtime.now()
    }

    /// Whether the run belongs to a job, not to the main session.
    pub(crate) fn is_job_run(&self) -> bool {
        self.session.job_id().is_some()
    }
}
