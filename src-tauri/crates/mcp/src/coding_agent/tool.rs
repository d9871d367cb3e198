//! The tool `delegate`: a task for a coding agent.
//!
//! Owns the start of a task, the request for a permission, and the continuation with the decision. A decision is given
//! to the waiting session; after a restart, to the loaded session; without either, the person decides whether the task
//! starts again. Never claims an effect that nobody knows. Pitfall: a process that outlives a cancelled call;
//! `RunningTask` ends it on every path.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::StopReason;
use rouse_core::approval::{Surroundings, canonical};
use rouse_core::extension::{AgentPreset, DELEGATE, Extension, ExtensionName};
use rouse_core::input_request::{
    InputAnswer, InputReply, InputRequest, PermissionPrompt, RequestSubject,
};
use rouse_core::policy::ApprovedCall;
use rouse_core::text::{escape_invisible, hex_digits};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, PendingCleanup, RateLimit, Tool, ToolContext,
    ToolDomain, ToolEffect, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::agents::CodingAgents;
use super::connection::{AgentConnection, AgentError};
use super::permission::PermissionDecision;
use super::session::{AgentSession, WorkEnd};
use super::task_state::TaskState;
use crate::tool::{network_reach, progress_sink, receiver_text};

/// The key of the request to start a lost task again.
const START_AGAIN: &str = "start again";

/// The time without an update after which a task is cancelled, in seconds, unless the definition has one.
const DEFAULT_SILENCE_SECONDS: u32 = 600;

/// How a person signs in at an agent that Rouse does not know.
const SIGN_IN: &str =
    "Sign in with the agent's own program, and let it write to its settings folder.";

/// The longest task. The time limit of the run ends it earlier.
const LONGEST_TASK: Duration = Duration::from_hours(168);

/// The tool.
pub(super) struct DelegateTool {
    spec: ToolSpec,
    agents: CodingAgents,
}

/// The arguments of a call.
struct TaskArguments<'a> {
    agent: &'a str,
    task: &'a str,
    folder: &'a str,
}

impl<'a> TaskArguments<'a> {
    fn parse(arguments: &'a Value) -> Self {
        let text = |key: &str| arguments[key].as_str().unwrap_or_default();
        let folder = arguments["cwd"].as_str().unwrap_or(".");
        Self { agent: text("agent"), task: text("task"), folder }
    }
}

impl DelegateTool {
    pub(super) fn new(agents: CodingAgents, names: &[ExtensionName]) -> Self {
        Self { spec: spec(names), agents }
    }
}

fn spec(names: &[ExtensionName]) -> ToolSpec {
    ToolSpec {
        name: DELEGATE.to_owned(),
        label: Some("Delegate to a coding agent".to_owned()),
        description: "Gives a task to a coding agent, which works on it in a folder: reads and changes files, runs commands, and answers with a report. The agent knows nothing of this conversation, so the task must say everything.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "agent": { "type": "string", "enum": names, "description": "The coding agent." },
                "task": { "type": "string", "minLength": 1, "description": "The whole task." },
                "cwd": { "type": "string", "description": "Folder of the task; the workspace when absent." },
            },
            "required": ["agent", "task"],
            "additionalProperties": false,
        }),
        annotations: Annotations::ANYTHING,
        approval: ApprovalRule::UnlessGranted,
        domain: ToolDomain::InProcess,
        rate: RateLimit::USUAL,
        call_for: LONGEST_TASK,
        untrusted_output: true,
        sensitive: Vec::new(),
        shell_text: Vec::new(),
        attended_only: false,
        listed_only: false,
        origin: None,
    }
}

impl Tool for DelegateTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let task = arguments["task"].as_str().unwrap_or_default();
        task.trim().is_empty().then(|| "The task is empty.".to_owned())
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let TaskArguments { agent, task, folder } = TaskArguments::parse(arguments);
            let found = self.agents.config.folders.find(folder, context);
            let folder = found.map_or_else(|why| why, |folder| folder.display().to_string());
            let receiver = match self.agents.find(agent) {
                Ok((_, entry)) => {
                    let transport = &entry.server.transport;
                    let (receiver, reach) = (receiver_text(transport), network_reach(transport));
                    format!("It runs as {receiver}. {reach} {}", entry.server.unasked_limit())
                }
                Err(why) => why,
            };
            escape_invisible(&format!("Coding agent {agent} in {folder}\n{receiver}\n\n{task}"))
        })
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(async move {
            let TaskArguments { agent, folder, .. } = TaskArguments::parse(arguments);
            let (_, entry) = self.agents.find(agent).map_err(refused)?;
            let folder = self.agents.config.folders.find(folder, context).map_err(refused)?;
            let definition =
                serde_json::to_value(&entry.server).expect("BUG: a definition is JSON");
            let hash = hex_digits(&Sha256::digest(canonical(&definition).as_bytes()));
            let receiver = receiver_text(&entry.server.transport);
            Ok(Surroundings {
                confinement: Some(format!("by the coding agent {agent}: {receiver}")),
                environment: [("agent definition".to_owned(), hash)].into(),
                ..Surroundings::in_folder(&folder)
            })
        })
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = TaskArguments::parse(call.arguments());
            let found = self.agents.find(arguments.agent).map_err(refused);
            let folder = self.agents.config.folders.find(arguments.folder, context);
            let (found, folder) = match (found, folder.map_err(refused)) {
                (Ok(found), Ok(folder)) => (found, folder),
                (Err(output), _) | (_, Err(output)) => return output,
            };
            let (name, entry) = found;
            let agents = &self.agents;
            let task = AgentTask { agents, name, entry, folder, text: arguments.task, context };
            let worked = match call.input() {
                None => task.begin().await,
                Some(reply) => task.go_on(reply).await,
            };
            worked.unwrap_or_else(|end| end)
        })
    }
}

/// A task on its way.
struct AgentTask<'a> {
    agents: &'a CodingAgents,
    name: ExtensionName,
    entry: Extension,
    folder: PathBuf,
    text: &'a str,
    context: &'a ToolContext,
}

/// A session with its process during a call. Dropping ends both.
struct RunningTask {
    session: Option<AgentSession>,
    cleanup: PendingCleanup,
}

impl RunningTask {
    fn session(&mut self) -> &mut AgentSession {
        self.session.as_mut().expect("BUG: the session leaves with the task")
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.cleanup.add(Box::pin(session.end()));
        }
    }
}

impl AgentTask<'_> {
    /// Starts the task in a new session.
    async fn begin(&self) -> Result<ToolOutput, ToolOutput> {
        let connection = self.open().await?;
        let session = AgentSession::begin(connection, &self.folder).await;
        let mut session = session.map_err(|error| self.failed(&error, None))?;
        self.set_mode(&mut session).await?;
        session.prompt(self.text);
        self.work(session).await
    }

    /// Continues with the decision of the person.
    async fn go_on(&self, reply: &InputReply) -> Result<ToolOutput, ToolOutput> {
        let Some(state) = TaskState::parse(reply.request_state.as_deref()) else {
            return Err(ToolOutput::error(format!(
                "The task of {} cannot continue: its state is unreadable. What it did remains.",
                self.name
            )));
        };
        let decision = match &reply.answer {
            InputAnswer::Accept { .. } if reply.is_for_run => PermissionDecision::AllowForRun,
            InputAnswer::Accept { .. } => PermissionDecision::AllowOnce,
            InputAnswer::Decline => PermissionDecision::Deny,
            InputAnswer::Cancel => return Err(self.expired(&state).await),
        };
        if reply.key == START_AGAIN {
            return match decision {
                PermissionDecision::AllowOnce | PermissionDecision::AllowForRun => {
                    self.begin().await
                }
                PermissionDecision::Deny | PermissionDecision::Cancel => {
                    Err(self.not_started_again(&state))
                }
            };
        }
        if let Some(mut session) = self.agents.waiting.take(&state.token) {
            session.answer(&reply.key, decision);
            return self.work(session).await;
        }
        if !state.can_load {
            return Ok(self.ask_to_start_again(state));
        }
        let connection = self.open().await?;
        let answered = (reply.key.clone(), decision);
        match AgentSession::load(connection, &self.folder, &state, answered).await {
            Ok(mut session) => {
                self.set_mode(&mut session).await?;
                session.prompt(&continuation(&state.action, decision));
                self.work(session).await
            }
            Err(error) => {
                tracing::info!(agent = %self.name, %error, "a session could not be continued");
                Ok(self.ask_to_start_again(state))
            }
        }
    }

    async fn set_mode(&self, session: &mut AgentSession) -> Result<(), ToolOutput> {
        let Some(mode) = &self.entry.server.mode else { return Ok(()) };
        session.set_mode(mode).await.map_err(|error| {
            let why = trimmed(&error.to_string());
            let name = &self.name;
            ToolOutput::faulty(
                Fault::InvalidParameters,
                format!("{name} does not accept the mode `{mode}`. {why}. Install it again with another `--mode`, or without one."),
            )
        })
    }

    /// Works until the end of the turn or a permission request.
    async fn work(&self, session: AgentSession) -> Result<ToolOutput, ToolOutput> {
        let cleanup = self.context.pending_cleanup.clone();
        let mut running = RunningTask { session: Some(session), cleanup };
        let seconds = self.entry.server.call_timeout_seconds.unwrap_or(DEFAULT_SILENCE_SECONDS);
        let limit = Duration::from_secs(seconds.into());
        let clock = Arc::clone(&self.context.clock);
        let report = progress_sink(self.context.progress.clone(), clock);
        let end = running.session().work(limit, &report).await;
        match end {
            WorkEnd::Turn(StopReason::EndTurn) => Ok(self.report(running.session(), None)),
            WorkEnd::Turn(reason) => {
                let why = stop_text(reason);
                Err(self.report(running.session(), Some(&format!("{} {why}", self.name))))
            }
            WorkEnd::Permission { hash, details } => {
                let session = running.session.take().expect("BUG: the session is there");
                Ok(self.ask(session, hash, details))
            }
            WorkEnd::Silent => {
                let why = format!(
                    "{} reported nothing for {seconds} s, so its task was cancelled. It may still have done its work",
                    self.name
                );
                let output = self.report(running.session(), Some(&why));
                Err(ToolOutput { fault: Some(Fault::Timeout), ..output })
            }
            WorkEnd::Failed(error) => Err(self.failed(&error, Some(running.session()))),
        }
    }

    /// Ends the call with a request to the person; the session waits for the answer.
    fn ask(&self, mut session: AgentSession, hash: String, details: String) -> ToolOutput {
        let token = Uuid::new_v4().to_string();
        let state = TaskState {
            token: token.clone(),
            session: session.id(),
            can_load: session.can_load(),
            action: details.lines().next().unwrap_or_default().to_owned(),
            steps: session.record.titles(),
            allowed: session.allowed_for_task(),
        };
        let cost_micro_usd = session.record.take_cost();
        let value = self.value(&mut session, "waiting for permission");
        self.agents.waiting.add(&token, &self.context.run_id, session);
        ToolOutput { cost_micro_usd, ..self.request(value, hash, details, &state) }
    }

    /// Asks whether a lost task starts again.
    fn ask_to_start_again(&self, state: TaskState) -> ToolOutput {
        let done = if state.steps.is_empty() {
            "It had reported no action.".to_owned()
        } else {
            format!("It had reported these actions:\n- {}", state.steps.join("\n- "))
        };
        let details = format!(
            "Rouse asks: start the task again from the beginning?\n{} lost its session while it waited for you, because its process ended and it cannot continue an earlier session. Your answer about “{}” has no receiver any more. {done}\nTheir effects remain, and may happen again.",
            self.name, state.action
        );
        let details = escape_invisible(&details);
        let value = json!({ "agent": self.name, "state": "session lost", "steps": [] });
        self.request(value, START_AGAIN.to_owned(), details, &state)
    }

    fn request(&self, value: Value, key: String, details: String, state: &TaskState) -> ToolOutput {
        let permission = PermissionPrompt { agent: self.name.to_string(), details };
        let subject = RequestSubject::Permission(permission);
        let request_state = Some(state.to_text());
        let request = Box::new(InputRequest { subject, key, request_state });
        ToolOutput::ok(value).with_effect(ToolEffect::RequestInput(request))
    }

    async fn open(&self) -> Result<AgentConnection, ToolOutput> {
        let opened = self.agents.open(&self.name, &self.entry, Some(self.folder.clone())).await;
        opened.map_err(|error| self.failed(&error, None))
    }

    /// The report of the agent; with a fault for the reason `why`.
    fn report(&self, session: &mut AgentSession, why: Option<&str>) -> ToolOutput {
        let cost_micro_usd = session.record.take_cost();
        let mut value = self.value(session, if why.is_some() { "stopped" } else { "finished" });
        let message = value["result"].as_str().unwrap_or_default().to_owned();
        let Some(why) = why else {
            let words =
                if message.is_empty() { "Finished without a report.".to_owned() } else { message };
            return ToolOutput { cost_micro_usd, ..ToolOutput::ok(value).in_words(&words) };
        };
        let words = match message.as_str() {
            "" => format!("{why}."),
            message => format!("{why}. Its last message: {message}"),
        };
        value["error"] = words.clone().into();
        let fault = Some(Fault::Execution);
        ToolOutput { cost_micro_usd, fault, ..ToolOutput::ok(value).in_words(&words) }
    }

    fn value(&self, session: &mut AgentSession, state: &str) -> Value {
        let mut value = session.record.take_report();
        value["agent"] = self.name.as_str().into();
        value["state"] = state.into();
        value
    }

    /// The failure of the agent. Without a session, nothing was done.
    fn failed(&self, error: &AgentError, session: Option<&mut AgentSession>) -> ToolOutput {
        let name = &self.name;
        let (fault, why) = match error {
            AgentError::NeedsSignIn(text) => {
                let source = self.entry.package.as_ref().map(|package| &package.source);
                let preset = AgentPreset::of(name.as_str(), &self.entry.server, source);
                let sign_in = preset.map_or(SIGN_IN, |preset| preset.sign_in);
                let why = format!("{name} is not signed in. {text} {}", trimmed(sign_in));
                (Fault::NotAuthorised, why)
            }
            AgentError::NotStarted(text) => (Fault::Unreached, trimmed(text)),
            AgentError::Refused(text) => (Fault::ExternalService, trimmed(text)),
            AgentError::Ended(text) => (
                Fault::ExternalService,
                format!("{name} ended before its task did. {}", trimmed(text)),
            ),
        };
        match session {
            None => ToolOutput::faulty(fault, format!("{why}.")),
            Some(session) => {
                let why = format!("{why}. What it did until then remains");
                ToolOutput { fault: Some(fault), ..self.report(session, Some(&why)) }
            }
        }
    }

    /// The end of a task whose request expired.
    async fn expired(&self, state: &TaskState) -> ToolOutput {
        if let Some(session) = self.agents.waiting.take(&state.token) {
            session.end().await;
        }
        ToolOutput::faulty(
            Fault::NotAuthorised,
            format!(
                "Nobody answered {} in time about “{}”, so its task was cancelled. What it did until then remains.",
                self.name, state.action
            ),
        )
    }

    fn not_started_again(&self, state: &TaskState) -> ToolOutput {
        let count = state.steps.len();
        ToolOutput::faulty(
            Fault::NotAuthorised,
            format!(
                "{} lost its session after {count} reported actions, and the user chose not to start the task again. What it did remains.",
                self.name
            ),
        )
    }
}

fn refused(why: String) -> ToolOutput {
    ToolOutput::faulty(Fault::InvalidParameters, why)
}

fn trimmed(text: &str) -> String {
    text.trim_end().trim_end_matches('.').to_owned()
}

/// The message to a loaded session, which does not know the decision.
fn continuation(action: &str, decision: PermissionDecision) -> String {
    match decision {
        PermissionDecision::AllowOnce | PermissionDecision::AllowForRun => format!(
            "The user allowed this action: {action}. Carry it out now, then continue with the task."
        ),
        PermissionDecision::Deny | PermissionDecision::Cancel => format!(
            "The user denied this action: {action}. Continue with the task without it, or end with a report."
        ),
    }
}

/// Why a turn ended early, as the predicate of a sentence.
const fn stop_text(reason: StopReason) -> &'static str {
    match reason {
        StopReason::MaxTokens => "stopped at its limit of tokens",
        StopReason::MaxTurnRequests => "stopped at its limit of model calls",
        StopReason::Refusal => "refused the task",
        StopReason::Cancelled => "was cancelled",
        _ => "stopped",
    }
}
