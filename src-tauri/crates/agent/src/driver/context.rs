//! What a model is told at the start of a run.
//!
//! The standing instructions are files in `prompts/`. The time stands in the task and not in the instructions: there a
//! provider can keep what does not change, and here the transcript says when each run was.

use std::time::Duration;

use rouse_core::approval::Grant;
use rouse_core::job::{AgentTurn, FolderAccess, FolderGrant};
use rouse_core::message::Message;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::Run;
use rouse_core::schedule::Zone;
use rouse_core::tool::{SandboxMode, ToolContext, ToolSpec};
use rouse_core::{Cause, Job, UnixMs};

use super::sandbox_of;
use crate::gate::Gate;
use crate::safety::{Outside, Safety};

const UNATTENDED: &str = include_str!("../../prompts/unattended.md");
const TOOLS: &str = include_str!("../../prompts/tools.md");
const ENVIRONMENT: &str = include_str!("../../prompts/environment.md");
const ENVIRONMENT_TOOLS: &str = include_str!("../../prompts/environment_tools.md");
const ENVIRONMENT_COMMANDS: &str = include_str!("../../prompts/environment_commands.md");
const NO_TOOLS: &str = include_str!("../../prompts/no_tools.md");

/// How long a question waits when the job does not say.
const QUESTION_FOR: Duration = Duration::from_secs(30 * 60);

/// A slot this late is worth a word: the person expected the run at another time.
const LATE_MS: i64 = 60_000;

/// The standing instructions of a job.
pub(super) fn job_prompt(turn: &AgentTurn, context: &ToolContext, offered: &[ToolSpec]) -> String {
    let tools = if uses_tools(turn) { TOOLS } else { NO_TOOLS };
    format!("{UNATTENDED}{tools}{}", environment(context, offered))
}

/// The surroundings of a run: the app, the system, the workspace, and what approvals and the sandbox mean for the offered
/// tools. The same in every run of a job, so that a provider can cache it.
pub(super) fn environment(context: &ToolContext, offered: &[ToolSpec]) -> String {
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
        text.push_str(&commands.replace("{network}", &network_of(&context.sandbox)));
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

fn network_of(sandbox: &SandboxMode) -> String {
    match sandbox.hosts() {
        [] => "no network".to_owned(),
        hosts => format!("network access to {} only", hosts.join(", ")),
    }
}

/// What a job's model may call with these grants, and what becomes of calls that need a yes, before its skills.
#[must_use]
pub fn policy_of(job: &Job, turn: &AgentTurn, grants: &[Grant], now: UnixMs) -> ToolPolicy {
    // A job without tools lists none: what is not offered can be called all the same.
    let listed = if uses_tools(turn) { turn.tools.clone() } else { Some(Vec::new()) };
    ToolPolicy::of_tools(listed).asking(job.policies.approvals).granted(grants, now)
}

/// How long a question waits for its answer.
pub(super) fn question_for(job: Option<&Job>) -> Duration {
    let of_job = job.and_then(|job| job.policies.approval_seconds);
    of_job.map_or(QUESTION_FOR, |seconds| Duration::from_secs(seconds.into()))
}

/// The tools that a turn is offered under `policy`. Without tools there is no `complete_run` either: many local models
/// refuse a request that names any.
#[must_use]
pub fn offered(gate: &Gate, turn: &AgentTurn, policy: &ToolPolicy) -> Vec<ToolSpec> {
    if uses_tools(turn) { gate.tools().offered(policy) } else { Vec::new() }
}

/// `policy` of a turn of `job`, which offers nothing on the ground of a grant where each call of it would be refused.
pub async fn withholding(
    gate: &Gate,
    job: &Job,
    turn: &AgentTurn,
    policy: ToolPolicy,
) -> ToolPolicy {
    match uses_tools(turn) {
        true => gate.tools().withholding(policy, &sandbox_of(job)).await,
        false => policy,
    }
}

/// The hosts of the URLs in a text that a person has written, with their ports where those are written as well.
pub(super) fn named_hosts(text: &str) -> Vec<String> {
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

/// The task of one run, with the `parts` that belong to it: files, and what fired it. A job may be older than the secret
/// in it.
pub(super) fn task(
    safety: &Safety,
    run: &Run,
    job: &Job,
    turn: &AgentTurn,
    context: &ToolContext,
    parts: &[String],
) -> Message {
    let (name, message) = (safety.words(&job.name), safety.words(&turn.message));
    let mut text = format!("[cron:{}] {name}: {message}\n\n{}", job.id, time_line(run, context));
    text.push_str(&folders(&context.folders));
    for part in parts {
        text.push_str("\n\n");
        text.push_str(part);
    }
    Message::User { text }
}

/// The folders that a job grants, as its model is told of them; nothing when there are none.
fn folders(granted: &[FolderGrant]) -> String {
    if granted.is_empty() {
        return String::new();
    }
    let told = granted.iter().map(|FolderGrant { path, access }| match access {
        FolderAccess::Read => format!("{path} (read)"),
        FolderAccess::Write => format!("{path} (read and write)"),
    });
    let told = told.collect::<Vec<_>>().join(", ");
    format!(
        "\n\nBeside the workspace this job may use these folders, by their whole paths: {told}."
    )
}

/// What fired the run. Its text may come from anybody, and so may the fields of a webhook's body.
pub(super) fn cause(gate: &Gate, cause: &Cause) -> String {
    let fields = serde_json::Value::Object(cause.fields.clone());
    let text = format!("{fields}\n\n{}", cause.text);
    let told = gate.safety().incoming_text(Outside::Cause(&cause.source), &text).told;
    format!("An event fired this run:\n{told}")
}

/// When it is, and when it should have been.
pub(super) fn time_line(run: &Run, context: &ToolContext) -> String {
    let now = with_offset(context.clock.now(), context.zone);
    match run.slot().filter(|_| run.late_by_ms().is_some_and(|late| late > LATE_MS)) {
        Some(slot) => {
            format!("It is {now}. This run was due {} and is late.", in_words(slot, context.zone))
        }
        None => format!("It is {now}."),
    }
}

/// An instant with its UTC offset, so that a model can reckon with times of other zones.
fn with_offset(at: UnixMs, zone: Zone) -> String {
    let local = at.to_utc().with_timezone(&zone);
    format!("{} ({zone}, UTC{})", local.format("%A, %-d %B %Y, %H:%M"), local.format("%:z"))
}

pub(super) fn in_words(at: UnixMs, zone: Zone) -> String {
    format!("{} ({zone})", at.to_utc().with_timezone(&zone).format("%A, %-d %B %Y, %H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_is_told_of_granted_folders() {
        let granted = ["~/Notes", "/srv/out:write"].map(|text| text.parse().expect("a folder"));
        let told = folders(&granted);
        assert!(told.ends_with("paths: ~/Notes (read), /srv/out (read and write)."), "{told}");
        assert_eq!(folders(&[]), "");
    }
}
