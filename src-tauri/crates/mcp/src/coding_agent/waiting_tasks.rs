//! The sessions that wait for a person, each with its process.
//!
//! Owns their end: the answer, the end of the run, the time limit, or the end of the engine. A session that another
//! process can continue ends after ten minutes, because an idle agent uses much memory. Pitfall: a process without an
//! owner; every path out of the map either returns the session or stops the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rouse_core::RunId;

use super::session::AgentSession;

/// How long a process waits whose session another process can continue.
const RESUMABLE_WAIT: Duration = Duration::from_mins(10);

/// How long a process waits whose session would be lost.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

struct WaitingTask {
    run: RunId,
    session: AgentSession,
}

/// The sessions that wait for a person, by token.
#[derive(Clone, Default)]
pub(super) struct WaitingTasks(Arc<Mutex<HashMap<String, WaitingTask>>>);

impl WaitingTasks {
    /// Keeps a session until its answer.
    pub(super) fn add(&self, token: &str, run: &RunId, session: AgentSession) {
        let wait = if session.can_load() { RESUMABLE_WAIT } else { LONGEST_WAIT };
        let task = WaitingTask { run: run.clone(), session };
        self.tasks().insert(token.to_owned(), task);
        let (tasks, token) = (self.clone(), token.to_owned());
        tokio::spawn(async move {
            pause(wait).await;
            tasks.end(|of_task, _| of_task == token).await;
        });
    }

    /// Takes the session of this token; none if its process has ended.
    pub(super) fn take(&self, token: &str) -> Option<AgentSession> {
        self.tasks().remove(token).map(|task| task.session)
    }

    /// The runs of the sessions.
    pub(super) fn runs(&self) -> Vec<RunId> {
        self.tasks().values().map(|task| task.run.clone()).collect()
    }

    /// Ends the sessions of a run.
    pub(super) async fn end_run(&self, run: &RunId) {
        self.end(|_, task| task.run == *run).await;
    }

    /// Ends all sessions.
    pub(super) async fn end_all(&self) {
        self.end(|_, _| true).await;
    }

    async fn end(&self, is_ended: impl Fn(&str, &WaitingTask) -> bool) {
        let ended: Vec<WaitingTask> = {
            let mut tasks = self.tasks();
            tasks.extract_if(|token, task| is_ended(token, task)).map(|(_, task)| task).collect()
        };
        join_all(ended.into_iter().map(|task| task.session.end())).await;
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<String, WaitingTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::disallowed_methods, reason = "runs only while a task waits")]
async fn pause(period: Duration) {
    tokio::time::sleep(period).await;
}
