//! The connection to the process of a coding agent.
//!
//! Owns the start with `initialize`, and the order of the agent's updates and permission requests. Offers the agent no
//! file and no terminal of the client: the agent works in its sandbox. Pitfall: an agent that writes faster than the
//! task reads; the queue is bounded, so the agent waits.

use std::io;
use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    ErrorCode, Implementation, InitializeRequest, InitializeResponse, RequestPermissionRequest,
    RequestPermissionResponse, SessionNotification,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
};
use futures_util::{sink, stream};
use rouse_core::extension::{ServerCommand, ServerLine, ServerProcesses};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::task_record::title_of;
use crate::connection::{LineProcess, StartAttempt, with_last_lines};

/// Updates that wait for the task; a full queue stops the agent. Each has at most 4 MB.
const QUEUED_EVENTS: usize = 8;

/// The name under which Rouse introduces itself.
const CLIENT_NAME: &str = "rouse";

/// A message of the agent.
pub(super) enum AgentEvent {
    Update(Box<SessionNotification>),
    Permission(Box<PermissionEvent>),
}

/// A permission request with the way of its answer.
pub(super) struct PermissionEvent {
    pub(super) request: RequestPermissionRequest,
    pub(super) responder: Responder<RequestPermissionResponse>,
}

/// Why a coding agent does not work, as sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum AgentError {
    /// The process did not start.
    #[error("{0}")]
    NotStarted(String),
    /// The process ended.
    #[error("{0}")]
    Ended(String),
    /// The agent is not signed in.
    #[error("{0}")]
    NeedsSignIn(String),
    /// The agent refused a request.
    #[error("{0}")]
    Refused(String),
}

/// An open connection. Dropping ends the process.
pub(super) struct AgentConnection {
    pub(super) to_agent: ConnectionTo<Agent>,
    pub(super) events: mpsc::Receiver<AgentEvent>,
    pub(super) facts: InitializeResponse,
    process: Arc<LineProcess>,
    _closing: DropGuard,
    _driver: AbortOnDropHandle<()>,
}

impl AgentConnection {
    /// Starts the process and introduces Rouse.
    ///
    /// # Errors
    /// The process did not start, ended, or speaks another protocol.
    pub(super) async fn open(
        processes: &dyn ServerProcesses,
        command: ServerCommand,
    ) -> Result<Self, AgentError> {
        let attempt = StartAttempt::default();
        let process = attempt.launch(processes, command).await;
        let process = process.map_err(|error| AgentError::NotStarted(error.to_string()))?;
        let (sender, events) = mpsc::channel(QUEUED_EVENTS);
        let (connected, connection) = oneshot::channel();
        let closing = CancellationToken::new();
        let driver = drive(Arc::clone(&process), sender, connected, closing.clone());
        let driver = AbortOnDropHandle::new(tokio::spawn(driver));
        let ended = |_| AgentError::Ended(end_of(&process));
        let to_agent = connection.await.map_err(ended)?;
        let version = env!("CARGO_PKG_VERSION");
        let introduction = InitializeRequest::new(ProtocolVersion::V1)
            .client_info(Implementation::new(CLIENT_NAME, version));
        let facts = to_agent.send_request(introduction).block_task().await;
        let facts = facts.map_err(|error| explain(&process, &error))?;
        if facts.protocol_version != ProtocolVersion::V1 {
            return Err(AgentError::Refused(format!(
                "The agent speaks version {} of the Agent Client Protocol, and Rouse speaks version 1. Install a version of the agent that speaks version 1.",
                facts.protocol_version
            )));
        }
        Ok(Self {
            to_agent,
            events,
            facts,
            process,
            _closing: closing.drop_guard(),
            _driver: driver,
        })
    }

    /// The error of a request, with the end of the process and its error output.
    pub(super) fn explain(&self, error: &Error) -> AgentError {
        explain(&self.process, error)
    }

    /// The name and the version that the agent reported.
    pub(super) fn version(&self) -> Option<String> {
        let info = self.facts.agent_info.as_ref()?;
        Some(title_of(&format!("{} {}", info.name, info.version)))
    }

    /// The end of the process, as a sentence.
    pub(super) fn end(&self) -> AgentError {
        AgentError::Ended(end_of(&self.process))
    }

    /// Ends the process.
    pub(super) async fn stop(&self) {
        self.process.stop().await;
    }
}

/// Runs the protocol until the connection is dropped or the process ends.
async fn drive(
    process: Arc<LineProcess>,
    sender: mpsc::Sender<AgentEvent>,
    connected: oneshot::Sender<ConnectionTo<Agent>>,
    closing: CancellationToken,
) {
    let outgoing = sink::unfold(Arc::clone(&process), |process, line: String| async move {
        let sent = process.send_line(line.into_bytes()).await;
        sent.map(|()| process).map_err(io::Error::other)
    });
    let incoming = stream::unfold(Arc::clone(&process), |process| async move {
        let line = next_message(&process).await?;
        Some((Ok::<String, io::Error>(line), process))
    });
    let permissions = sender.clone();
    let ended = Client
        .v1()
        .name(CLIENT_NAME)
        .on_receive_notification(
            async move |update: SessionNotification, _| {
                // A closed queue means that the task is over.
                drop(sender.send(AgentEvent::Update(Box::new(update))).await);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let event = Box::new(PermissionEvent { request, responder });
                drop(permissions.send(AgentEvent::Permission(event)).await);
                Ok(())
            },
            on_receive_request!(),
        )
        .connect_with(Lines::new(Box::pin(outgoing), Box::pin(incoming)), async move |to_agent| {
            let closed = to_agent.clone();
            if connected.send(to_agent).is_ok() {
                tokio::select! {
                    () = closing.cancelled() => {}
                    () = closed.incoming_closed() => {}
                }
            }
            Ok(())
        })
        .await;
    if let Err(error) = ended {
        tracing::debug!(%error, "the connection to a coding agent broke");
    }
}

/// The next line that is a JSON object; none at the end of the output.
async fn next_message(process: &LineProcess) -> Option<String> {
    loop {
        let ServerLine::Text(line) = process.next_line().await? else { continue };
        let is_message = serde_json::from_slice::<Value>(&line).is_ok_and(|line| line.is_object());
        match String::from_utf8(line) {
            Ok(line) if is_message => return Some(line),
            _ => tracing::debug!("a coding agent wrote a line that is no message"),
        }
    }
}

fn explain(process: &LineProcess, error: &Error) -> AgentError {
    if process.end().is_some() {
        return AgentError::Ended(end_of(process));
    }
    let text =
        format!("The agent answered with an error: {}.", error.message.trim_end_matches('.'));
    if i32::from(error.code) == i32::from(ErrorCode::AuthRequired) {
        AgentError::NeedsSignIn(text)
    } else {
        AgentError::Refused(with_last_lines(&text, &process.stderr_tail()))
    }
}

fn end_of(process: &LineProcess) -> String {
    let sentence = process.end().unwrap_or("The agent closed the connection.");
    with_last_lines(&sentence.replacen("The server", "The agent", 1), &process.stderr_tail())
}
