//! Sessions of the double: a script of steps, and the file that outlives the process.
//!
//! Owns the order of a turn. A session is stored before each permission request, so a later process asks again for the
//! same action, as agents of the field do. Pitfall: a cancellation while the double waits for a permission.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::wire::AgentWire;

/// The code of a missing sign-in.
const AUTH_REQUIRED: i32 = -32_000;

/// The code of an unknown session.
const NOT_FOUND: i32 = -32_002;

const UNKNOWN_METHOD: i32 = -32_601;

/// What the double can do.
#[derive(Default)]
pub(crate) struct DoubleAbilities {
    pub(crate) is_unable_to_load: bool,
    pub(crate) is_forgetful: bool,
    pub(crate) is_signed_out: bool,
    pub(crate) sessions: PathBuf,
}

/// A session.
#[derive(Default)]
struct DoubleSession {
    id: String,
    folder: PathBuf,
    steps: VecDeque<String>,
    actions: u64,
}

/// The end of a step.
enum StepEnd {
    Done,
    Turn(String),
    Exit(ExitCode),
}

/// The answer to a permission request.
enum PermissionAnswer {
    Allowed,
    Rejected,
    Cancelled,
    Exit(ExitCode),
}

pub(crate) struct AgentDouble {
    wire: AgentWire,
    abilities: DoubleAbilities,
    session: DoubleSession,
}

impl AgentDouble {
    pub(crate) fn new(abilities: DoubleAbilities) -> Self {
        Self { wire: AgentWire::new(), abilities, session: DoubleSession::default() }
    }

    /// Answers requests until the end of the input or of the script.
    pub(crate) fn run(mut self) -> io::Result<ExitCode> {
        while let Some(message) = self.wire.read()? {
            let (id, params) = (message["id"].clone(), message["params"].clone());
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => AgentWire::answer(&id, &self.introduction())?,
                "session/new" => self.begin(&id, &params)?,
                "session/load" => self.load(&id, &params)?,
                "session/set_mode" if params["modeId"] == "default" => {
                    AgentWire::answer(&id, &json!({}))?;
                }
                "session/prompt" => {
                    if let Some(status) = self.turn(&id, &params)? {
                        return Ok(status);
                    }
                }
                "session/cancel" | "" => {}
                method => {
                    let text = format!("there is no method {method}");
                    AgentWire::refuse(&id, UNKNOWN_METHOD, &text)?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn introduction(&self) -> Value {
        json!({
            "protocolVersion": 1,
            "agentCapabilities": { "loadSession": !self.abilities.is_unable_to_load },
            "agentInfo": { "name": "acp-double", "version": "1.0.0" },
            "authMethods": [],
        })
    }

    fn begin(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        if self.abilities.is_signed_out {
            return AgentWire::refuse(id, AUTH_REQUIRED, "Authentication required");
        }
        let folder = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
        let session = format!("session-{}", std::process::id());
        self.session = DoubleSession { id: session.clone(), folder, ..DoubleSession::default() };
        AgentWire::answer(id, &json!({ "sessionId": session }))
    }

    /// Loads a stored session and replays its report.
    fn load(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let stored = fs::read_to_string(self.file_of(session));
        let stored = stored.ok().filter(|_| !self.abilities.is_forgetful);
        let Some(stored) = stored.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
            return AgentWire::refuse(id, NOT_FOUND, "Resource not found");
        };
        let steps = stored["steps"].as_array().into_iter().flatten();
        self.session = DoubleSession {
            id: session.to_owned(),
            folder: PathBuf::from(stored["folder"].as_str().unwrap_or_default()),
            steps: steps.filter_map(|step| step.as_str().map(str::to_owned)).collect(),
            actions: stored["actions"].as_u64().unwrap_or_default(),
        };
        self.say("This was said before.")?;
        AgentWire::answer(id, &json!({}))
    }

    fn file_of(&self, session: &str) -> PathBuf {
        self.abilities.sessions.join(format!("{session}.json"))
    }

    fn store(&self) -> io::Result<()> {
        let DoubleSession { id, folder, steps, actions } = &self.session;
        let stored = json!({ "folder": folder, "steps": steps, "actions": actions });
        fs::write(self.file_of(id), stored.to_string())
    }

    /// Carries out the steps of the task, or the rest of a loaded session. Returns the status of an exit.
    fn turn(&mut self, id: &Value, params: &Value) -> io::Result<Option<ExitCode>> {
        let parts = params["prompt"].as_array().into_iter().flatten();
        let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
        if self.session.steps.is_empty() {
            self.session.steps = text.lines().map(|line| line.trim().to_owned()).collect();
        }
        while let Some(step) = self.session.steps.front().cloned() {
            match self.step(&step)? {
                StepEnd::Done => drop(self.session.steps.pop_front()),
                StepEnd::Turn(reason) => {
                    AgentWire::answer(id, &json!({ "stopReason": reason }))?;
                    return Ok(None);
                }
                StepEnd::Exit(status) => return Ok(Some(status)),
            }
        }
        AgentWire::answer(id, &json!({ "stopReason": "end_turn" }))?;
        Ok(None)
    }

    fn step(&mut self, step: &str) -> io::Result<StepEnd> {
        let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
        match verb {
            "say" => self.say(rest)?,
            "read" => self.act(rest, "read")?,
            "append" => {
                let (file, text) = rest.split_once(' ').unwrap_or((rest, ""));
                self.append(file, text)?;
            }
            "ask" => return self.ask(rest, "allow_once"),
            "ask-always" => return self.ask(rest, "allow_always"),
            "cost" => {
                let amount: f64 = rest.parse().map_err(io::Error::other)?;
                let cost = json!({ "amount": amount, "currency": "USD" });
                let update =
                    json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost });
                AgentWire::update(&self.session.id, &update)?;
            }
            "variable" => self.say(&std::env::var(rest).unwrap_or_else(|_| "unset".to_owned()))?,
            "folder" => self.say(&self.session.folder.display().to_string())?,
            "stop" => return Ok(StepEnd::Turn(rest.to_owned())),
            "die" => return Ok(StepEnd::Exit(ExitCode::from(3))),
            "hang" => return self.hang(),
            "gate" => drop(fs::read(self.session.folder.join(rest))?),
            _ => {}
        }
        Ok(StepEnd::Done)
    }

    fn say(&self, text: &str) -> io::Result<()> {
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        AgentWire::update(&self.session.id, &update)
    }

    fn act(&mut self, title: &str, kind: &str) -> io::Result<()> {
        self.session.actions += 1;
        let update = json!({
            "sessionUpdate": "tool_call", "toolCallId": format!("call-{}", self.session.actions),
            "title": title, "kind": kind, "status": "completed",
        });
        AgentWire::update(&self.session.id, &update)
    }

    /// Appends a line, then reports the action, so that whoever sees the report finds the line.
    fn append(&mut self, file: &str, text: &str) -> io::Result<()> {
        let path = self.session.folder.join(file);
        writeln!(File::options().append(true).create(true).open(path)?, "{text}")?;
        self.act(&format!("Append to {file}"), "edit")
    }

    fn ask(&mut self, rest: &str, allow: &str) -> io::Result<StepEnd> {
        self.store()?;
        let (file, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let path = self.session.folder.join(file);
        let old = fs::read_to_string(&path).ok();
        let new = format!("{}{text}\n", old.clone().unwrap_or_default());
        let diff = json!({ "type": "diff", "path": path, "oldText": old, "newText": new });
        let call = json!({
            "toolCallId": format!("call-{}", self.session.actions + 1),
            "title": format!("Append to {file}"), "kind": "edit", "status": "pending",
            "content": [diff], "locations": [{ "path": path, "line": 1 }],
            "rawInput": { "file": file, "text": text },
        });
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": allow },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let params = json!({ "sessionId": self.session.id, "toolCall": call, "options": options });
        let request = self.wire.request("session/request_permission", &params)?;
        match self.await_permission(&request)? {
            PermissionAnswer::Allowed => {
                self.append(file, text)?;
                Ok(StepEnd::Done)
            }
            PermissionAnswer::Rejected => {
                self.say(&format!("The change of {file} was rejected. "))?;
                Ok(StepEnd::Done)
            }
            PermissionAnswer::Cancelled => Ok(StepEnd::Turn("cancelled".to_owned())),
            PermissionAnswer::Exit(status) => Ok(StepEnd::Exit(status)),
        }
    }

    fn await_permission(&mut self, request: &Value) -> io::Result<PermissionAnswer> {
        while let Some(message) = self.wire.read()? {
            if message["method"] == "session/cancel" {
                return Ok(PermissionAnswer::Cancelled);
            }
            if message["id"] != *request {
                continue;
            }
            let outcome = &message["result"]["outcome"];
            return Ok(match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
                (Some("selected"), Some("yes")) => PermissionAnswer::Allowed,
                (Some("selected"), Some(_)) => PermissionAnswer::Rejected,
                _ => PermissionAnswer::Cancelled,
            });
        }
        Ok(PermissionAnswer::Exit(ExitCode::SUCCESS))
    }

    /// Waits for a cancellation.
    fn hang(&mut self) -> io::Result<StepEnd> {
        while let Some(message) = self.wire.read()? {
            if message["method"] == "session/cancel" {
                return Ok(StepEnd::Turn("cancelled".to_owned()));
            }
        }
        Ok(StepEnd::Exit(ExitCode::SUCCESS))
    }
}
