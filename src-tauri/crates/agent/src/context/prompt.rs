//! The prompt of a run: standing instructions, task, and tool offer.
//!
//! The standing instructions are files in `prompts/`. The time is in the task: instructions that stay the same can be
//! cached by a provider, and the transcript records the time of each run.

use std::time::Duration;

use rouse_core::approval::Grant;
use rouse_core::job::{AgentTurn, FolderAccess, FolderGrant, Sandbox};
use rouse_core::message::Message;
use rouse_core::model::Effort;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::Run;
use rouse_core::schedule::Zone;
use rouse_core::tool::{SandboxMode, ToolContext, ToolSpec};
use rouse_core::{Cause, Job, UnixMs};

use super::offered_tools::{OfferedTools, tool_tokens};
use crate::gate::Gate;
use crate::safety::{Safety, UntrustedSource};

const UNATTENDED: &str = include_str!("../../prompts/unattended.md");
const TOOLS: &str = include_str!("../../prompts/tools.md");
const ENVIRONMENT: &str = include_str!("../../prompts/environment.md");
const ENVIRONMENT_TOOLS: &str = include_str!("../../prompts/environment_tools.md");
const ENVIRONMENT_COMMANDS: &str = include_str!("../../prompts/environment_commands.md");
const NO_TOOLS: &str = include_str!("../../prompts/no_tools.md");

/// The default time limit of an approval request.
const APPROVAL_TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

/// The minimum lateness that the task mentions, in milliseconds.
const LATE_MS: i64 = 60_000;

/// The part of a request that is the same in all model calls of a run.
pub(crate) struct ModelPrompt {
    pub(crate) system: String,
    pub(crate) tools: OfferedTools,
    /// The job's output limit.
    pub(crate) max_tokens: Option<u32>,
    pub(crate) effort: Option<Effort>,
}

impl ModelPrompt {
    /// The estimated tokens.
    pub(super) fn tokens(&self) -> usize {
        self.system.len() / 3 + self.tools.fixed().iter().map(tool_tokens).sum::<usize>()
    }
}

/// The sandbox of a model's calls, as set in the job.
#[must_use]
pub fn sandbox_of(job: &Job) -> SandboxMode {
    let hosts = job.policies.hosts.clone();
    match job.policies.sandbox {
        Sandbox::Required => SandboxMode::Sandboxed { hosts },
        Sandbox::Open => SandboxMode::OpenedByPerson { hosts },
    }
}

/// The standing instructions of a job.
pub(crate) fn job_prompt(turn: &AgentTurn, context: &ToolContext, offered: &[ToolSpec]) -> String {
    let tools = if uses_tools(turn) { TOOLS } else { NO_TOOLS };
    format!("{UNATTENDED}{tools}{}", environment(context, offered))
}

/// The environment of a run: the app, the system, the workspace, and the meaning of approvals and sandbox for the
/// offered tools. The same in every run of a job, so that a provider can cache the text.
pub(crate) fn environment(context: &ToolContext, offered: &[ToolSpec]) -> String {
    let system = format!("{} ({})", system_name(), std::env::consts::ARCH);
    let mut text = ENVIRONMENT
        .replace("{system}", &system)
        .replace("{workspace}", &context.workspace.display().to_string());
    if !offered.is_empty() {
        text.push_str(ENVIRONMENT_TOOLS);
    }
    let is_confined = matches!(context.sandbox, SandboxMode::Sandboxed { .. });
    if is_confined && offered.iter().any(|tool| tool.name == "run_command") {
        let shell = if cfg!(windows) { "cmd" } else { "sh" };
        let commands = ENVIRONMENT_COMMANDS.replace("{shell}", shell);
        text.push_str(&commands.replace("{network}", &network_text(&context.sandbox)));
    }
    text
}

fn system_name() -> &'static str {
    match std::env::consts::OS {
        "macos" => "macOS",
        "windows" => "Windows",
        "linux" => "Linux",
        other => other,
    }
}

fn network_text(sandbox: &SandboxMode) -> String {
    match sandbox.hosts() {
        [] => "no network".to_owned(),
        hosts => format!("network access to {} only", hosts.join(", ")),
    }
}

/// The tool policy of a job's agent turn with these grants, before the skills.
#[must_use]
pub fn policy_of(job: &Job, turn: &AgentTurn, grants: &[Grant], now: UnixMs) -> ToolPolicy {
    // An empty list, because a model can call a tool that is not offered.
    let listed = if uses_tools(turn) { turn.tools.clone() } else { Some(Vec::new()) };
    let servers = turn.servers.iter().map(|server| server.name.clone()).collect();
    let policy = ToolPolicy::for_tools(listed).with_servers(servers);
    policy.with_approvals(job.policies.approvals).with_grants(grants, now)
}

/// The time limit of an approval request.
pub(crate) fn approval_time_limit(job: Option<&Job>) -> Duration {
    let of_job = job.and_then(|job| job.policies.approval_seconds);
    of_job.map_or(APPROVAL_TIME_LIMIT, |seconds| Duration::from_secs(seconds.into()))
}

/// The tools that an agent turn offers under `policy`. A turn without tools offers no `complete_run` either: many local
/// models refuse a request with any tool.
#[must_use]
pub fn offered_tools(gate: &Gate, turn: &AgentTurn, policy: &ToolPolicy) -> Vec<ToolSpec> {
    if uses_tools(turn) { gate.tools().offered(policy) } else { Vec::new() }
}

/// `policy` without granted tools that the sandbox of `job` refuses in every call.
pub async fn without_unusable_grants(
    gate: &Gate,
    job: &Job,
    turn: &AgentTurn,
    policy: ToolPolicy,
) -> ToolPolicy {
    if !uses_tools(turn) {
        return policy;
    }
    gate.tools().without_unusable_grants(policy, &sandbox_of(job)).await
}

/// The hosts of the URLs in a person's text, with the ports that stand there.
pub(crate) fn named_hosts(text: &str) -> Vec<String> {
    let starts = text.match_indices("http").map(|(at, _)| &text[at..]);
    let urls = starts.filter(|rest| rest.starts_with("http://") || rest.starts_with("https://"));
    let mut hosts: Vec<String> = Vec::new();
    for rest in urls {
        let ends = |c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | ')' | ']' | '|')
        };
        let written = rest.split(ends).next().unwrap_or_default();
        let Ok(url) = reqwest::Url::parse(written.trim_end_matches(['.', ',', ';', '!', '?', ':']))
        else {
            continue;
        };
        let Some(host) = url.host_str() else { continue };
        let host = url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"));
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

fn uses_tools(turn: &AgentTurn) -> bool {
    turn.use_tools != Some(false)
}

/// The task of a run with its `parts`: skills, files and the event. Redacted, because a secret may be newer than the
/// job.
pub(crate) fn task(
    safety: &Safety,
    run: &Run,
    job: &Job,
    turn: &AgentTurn,
    context: &ToolContext,
    parts: &[String],
) -> Message {
    let (name, message) = (safety.redact_stored(&job.name), safety.redact_stored(&turn.message));
    let mut text = format!("[cron:{}] {name}: {message}\n\n{}", job.id, time_line(run, context));
    text.push_str(&folder_grants(&context.folders));
    for part in parts {
        text.push_str("\n\n");
        text.push_str(part);
    }
    Message::User { text }
}

/// The sentence about the folders that a job grants; empty without any.
fn folder_grants(granted: &[FolderGrant]) -> String {
    if granted.is_empty() {
        return String::new();
    }
    let folders = granted.iter().map(|FolderGrant { path, access }| match access {
        FolderAccess::Read => format!("{path} (read)"),
        FolderAccess::Write => format!("{path} (read and write)"),
    });
    let folders = folders.collect::<Vec<_>>().join(", ");
    format!(
        "\n\nBeside the workspace this job may use these folders, by their whole paths: {folders}."
    )
}

/// The event that fired the run. Text and fields of a webhook's body are untrusted input.
pub(crate) fn event_part(gate: &Gate, cause: &Cause) -> String {
    let fields = serde_json::Value::Object(cause.fields.clone());
    let text = format!("{fields}\n\n{}", cause.text);
    let event = gate.safety().fence_text(UntrustedSource::Cause(&cause.source), &text);
    format!("An event fired this run:\n{event}")
}

/// The current time, and the slot of a late run.
pub(crate) fn time_line(run: &Run, context: &ToolContext) -> String {
    let now = with_offset(context.clock.now(), context.zone);
    match run.slot().filter(|_| run.late_by_ms().is_some_and(|late| late > LATE_MS)) {
        Some(slot) => {
            format!(
                "It is {now}. This run was due {} and is late.",
                instant_text(slot, context.zone)
            )
        }
        None => format!("It is {now}."),
    }
}

/// An instant with its UTC offset, for calculations with times of other zones.
fn with_offset(at: UnixMs, zone: Zone) -> String {
    let local = at.to_utc().with_timezone(&zone);
    format!("{} ({zone}, UTC{})", local.format("%A, %-d %B %Y, %H:%M"), local.format("%:z"))
}

pub(crate) fn instant_text(at: UnixMs, zone: Zone) -> String {
    format!("{} ({zone})", at.to_utc().with_timezone(&zone).format("%A, %-d %B %Y, %H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granted_folders_are_in_the_task() {
        let granted = ["~/Notes", "/srv/out:write"].map(|text| text.parse().expect("a folder"));
        let text = folder_grants(&granted);
        assert!(text.ends_with("paths: ~/Notes (read), /srv/out (read and write)."), "{text}");
        assert_eq!(folder_grants(&[]), "");
    }
}
