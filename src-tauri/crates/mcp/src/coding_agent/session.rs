//! A session of a coding agent that works on one task.
//!
//! Owns the order of events: an update is recorded before a later permission request is passed on, and all updates of a
//! turn before its end. Never answers a request without a decision. Pitfall: several requests at the same time; the
//! others wait until the first one is answered.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, LoadSessionRequest, NewSessionRequest, PermissionOption,
    PromptRequest, PromptResponse, RequestPermissionRequest, RequestPermissionResponse, SessionId,
    SessionModeId, SetSessionModeRequest, StopReason, TextContent, ToolCall,
};
use tokio_util::task::AbortOnDropHandle;

use super::connection::{AgentConnection, AgentError, AgentEvent, PermissionEvent};
use super::permission::{PermissionDecision, action_hash, answer_of, details_of};
use super::task_record::{TaskRecord, title_of};
use super::task_state::TaskState;
use crate::connection::ProgressSink;

/// Time for the agent to end its turn after a cancellation.
const CANCEL_TIME: Duration = Duration::from_secs(1);

/// A permission request that waits for its answer.
struct WaitingRequest {
    action: ToolCall,
    options: Vec<PermissionOption>,
    responder: Responder<RequestPermissionResponse>,
}

/// What ends a part of the work.
pub(super) enum WorkEnd {
    /// The agent asks for permission: hash and text of the action.
    Permission {
        hash: String,
        details: String,
    },
    /// The turn ended.
    Turn(StopReason),
    /// No update for the time limit.
    Silent,
    Failed(AgentError),
}

/// A session in its process. Dropping ends the process.
pub(super) struct AgentSession {
    connection: AgentConnection,
    id: SessionId,
    turn: Option<AbortOnDropHandle<Result<PromptResponse, Error>>>,
    waiting: VecDeque<WaitingRequest>,
    /// Decisions about actions by hash: taken while the session was not loaded, or for the rest of the task.
    decided: HashMap<String, PermissionDecision>,
    pub(super) record: TaskRecord,
}

impl AgentSession {
    /// Begins a session in `folder`.
    ///
    /// # Errors
    /// The agent refused, for example without a sign-in.
    pub(super) async fn begin(
        connection: AgentConnection,
        folder: &Path,
    ) -> Result<Self, AgentError> {
        let request = NewSessionRequest::new(folder);
        let begun = connection.to_agent.send_request(request).block_task().await;
        let id = begun.map_err(|error| connection.explain(&error))?.session_id;
        Ok(Self::new(connection, id))
    }

    /// Sets the mode of the session, such as `default` or `acceptEdits`.
    ///
    /// # Errors
    /// The agent does not know the mode.
    pub(super) async fn set_mode(&mut self, mode: &str) -> Result<(), AgentError> {
        let request = SetSessionModeRequest::new(self.id.clone(), SessionModeId::new(mode));
        let set = self.connection.to_agent.send_request(request).block_task().await;
        set.map(drop).map_err(|error| self.connection.explain(&error))
    }

    /// Continues the session of an earlier process with the answer about the action that waited.
    ///
    /// # Errors
    /// The agent does not know the session any more.
    pub(super) async fn load(
        connection: AgentConnection,
        folder: &Path,
        state: &TaskState,
        answered: (String, PermissionDecision),
    ) -> Result<Self, AgentError> {
        let mut session = Self::new(connection, SessionId::new(&*state.session));
        let request = LoadSessionRequest::new(session.id.clone(), folder);
        let mut loading = Box::pin(session.connection.to_agent.send_request(request).block_task());
        // The agent replays the conversation before it answers.
        let loaded = loop {
            tokio::select! {
                biased;
                Some(event) = session.connection.events.recv() => {
                    if let AgentEvent::Update(update) = event {
                        drop(session.record.apply(update.update));
                    }
                }
                loaded = &mut loading => break loaded,
            }
        };
        drop(loading);
        loaded.map_err(|error| session.connection.explain(&error))?;
        session.record.resume(state.steps.clone());
        let allowed =
            state.allowed.iter().map(|hash| (hash.clone(), PermissionDecision::AllowForRun));
        session.decided = allowed.chain([answered]).collect();
        Ok(session)
    }

    fn new(connection: AgentConnection, id: SessionId) -> Self {
        Self {
            connection,
            id,
            turn: None,
            waiting: VecDeque::new(),
            decided: HashMap::new(),
            record: TaskRecord::default(),
        }
    }

    pub(super) fn id(&self) -> String {
        self.id.to_string()
    }

    /// The hashes of the actions that are allowed for the rest of the task.
    pub(super) fn allowed_for_task(&self) -> Vec<String> {
        let is_allowed = |(_, decision): &(&String, &PermissionDecision)| {
            **decision == PermissionDecision::AllowForRun
        };
        let mut hashes: Vec<String> =
            self.decided.iter().filter(is_allowed).map(|(hash, _)| hash.clone()).collect();
        hashes.sort_unstable();
        hashes
    }

    /// Whether another process can continue the session.
    pub(super) const fn can_load(&self) -> bool {
        self.connection.facts.agent_capabilities.load_session
    }

    /// Sends a message to the agent.
    pub(super) fn prompt(&mut self, text: &str) {
        let content = vec![ContentBlock::Text(TextContent::new(text))];
        let request = PromptRequest::new(self.id.clone(), content);
        let turn = self.connection.to_agent.send_request(request).block_task();
        self.turn = Some(AbortOnDropHandle::new(tokio::spawn(turn)));
    }

    /// Answers the request that waits, if its action has this hash.
    pub(super) fn answer(&mut self, hash: &str, decision: PermissionDecision) {
        let is_asked = |first: &mut WaitingRequest| action_hash(&first.action) == hash;
        if let Some(request) = self.waiting.pop_front_if(is_asked) {
            respond(request, decision);
        }
        if decision == PermissionDecision::AllowForRun {
            self.decided.insert(hash.to_owned(), decision);
        }
    }

    /// Works until the agent asks, ends its turn, or is silent for `limit`. `report` gets a line for each action.
    pub(super) async fn work(&mut self, limit: Duration, report: &ProgressSink) -> WorkEnd {
        loop {
            if let Some(end) = self.next_request() {
                return end;
            }
            let Some(turn) = &mut self.turn else { return WorkEnd::Failed(self.connection.end()) };
            let ended = tokio::select! {
                biased;
                Some(event) = self.connection.events.recv() => {
                    self.take(event, report);
                    continue;
                }
                ended = turn => ended,
                () = silence(limit) => return WorkEnd::Silent,
            };
            self.turn = None;
            while let Ok(event) = self.connection.events.try_recv() {
                self.take(event, report);
            }
            return match ended {
                Ok(Ok(response)) => WorkEnd::Turn(response.stop_reason),
                Ok(Err(error)) => WorkEnd::Failed(self.connection.explain(&error)),
                Err(_) => WorkEnd::Failed(self.connection.end()),
            };
        }
    }

    /// Cancels a turn, gives the agent a moment, and ends its process.
    pub(super) async fn end(mut self) {
        for request in self.waiting.drain(..) {
            respond(request, PermissionDecision::Cancel);
        }
        let cancel = CancelNotification::new(self.id.clone());
        if let Some(turn) = self.turn.take()
            && self.connection.to_agent.send_notification(cancel).is_ok()
        {
            let mut events =
                std::pin::pin!(async { while self.connection.events.recv().await.is_some() {} });
            tokio::select! {
                _ = turn => {}
                () = &mut events => {}
                () = silence(CANCEL_TIME) => {}
            }
        }
        self.connection.stop().await;
    }

    fn take(&mut self, event: AgentEvent, report: &ProgressSink) {
        match event {
            AgentEvent::Update(update) if update.session_id == self.id => {
                if let Some(line) = self.record.apply(update.update) {
                    report(&line);
                }
            }
            AgentEvent::Update(_) => {}
            AgentEvent::Permission(event) => {
                let PermissionEvent { request, responder } = *event;
                let RequestPermissionRequest { tool_call, options, .. } = request;
                let action = self.record.merged(&tool_call);
                self.waiting.push_back(WaitingRequest { action, options, responder });
            }
        }
    }

    /// The first waiting request that needs a person. Rejects requests that no person can decide.
    fn next_request(&mut self) -> Option<WorkEnd> {
        while let Some(request) = self.waiting.front() {
            let hash = action_hash(&request.action);
            let decided = self.decided.remove(&hash);
            if decided == Some(PermissionDecision::AllowForRun) {
                self.decided.insert(hash.clone(), PermissionDecision::AllowForRun);
            }
            let details = details_of(&request.action, &request.options);
            let decision = match (decided, details) {
                (None, Ok(details)) => return Some(WorkEnd::Permission { hash, details }),
                (Some(decision), _) => decision,
                (None, Err(why)) => {
                    let title = title_of(&request.action.title);
                    self.record
                        .add_refused(&format!("Rejected, because the request {why}: {title}"));
                    PermissionDecision::Deny
                }
            };
            if let Some(request) = self.waiting.pop_front() {
                respond(request, decision);
            }
        }
        None
    }
}

fn respond(request: WaitingRequest, decision: PermissionDecision) {
    let answer = answer_of(&request.options, decision);
    if let Err(error) = request.responder.respond(answer) {
        tracing::debug!(%error, "a coding agent did not take an answer");
    }
}

#[expect(clippy::disallowed_methods, reason = "runs only while an agent works")]
async fn silence(limit: Duration) {
    tokio::time::sleep(limit).await;
}
