//! The MCP servers of enabled jobs, by their known state.
//!
//! Owns the findings with the command of each fix. Never starts a server. Pitfall: the state of a server that no job
//! uses; no run misses it.

use std::collections::BTreeMap;

use rouse_core::extension::{
    ExtensionName, RESERVED_EXTENSION_NAMES, ServerState, extension_of_tool,
};
use rouse_core::job::Payload;
use rouse_core::text::escape_line;
use rouse_gateway::wire::{ExtensionView, ExtensionsListResult};
use serde_json::{Value, json};

use super::{Finding, healthy, unhealthy, with_fix};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::list_jobs;

/// The names of the jobs that use a server, by server.
type JobsByServer = BTreeMap<String, Vec<String>>;

/// The servers of enabled jobs; none without such a server.
pub(super) async fn check_servers(engine: &EngineConnection) -> Vec<Finding> {
    match fetch_servers(engine).await {
        Ok((jobs, extensions)) => server_findings(&jobs, &extensions),
        Err(error) => error.lines().into_iter().map(unhealthy).collect(),
    }
}

async fn fetch_servers(
    engine: &EngineConnection,
) -> Result<(JobsByServer, Vec<ExtensionView>), CliError> {
    let list = list_jobs(engine, false, None, usize::MAX).await?;
    let jobs = list["jobs"].as_array().into_iter().flatten().map(|view| &view["job"]);
    let jobs = jobs_by_server(jobs);
    let found: ExtensionsListResult = engine.fetch("extensions.list", json!({})).await?;
    Ok((jobs, found.extensions))
}

fn jobs_by_server<'j>(jobs: impl Iterator<Item = &'j Value>) -> JobsByServer {
    let mut by_server = JobsByServer::new();
    for job in jobs {
        let name = escape_line(job["name"].as_str().unwrap_or_default());
        for server in servers_of(&job["payload"]) {
            by_server.entry(server.to_string()).or_default().push(name.clone());
        }
    }
    by_server
}

/// The servers that a run of `payload` uses. A tool whose name begins like those of Rouse has no server.
fn servers_of(payload: &Value) -> Vec<ExtensionName> {
    match serde_json::from_value::<Payload>(payload.clone()) {
        Ok(Payload::AgentTurn(turn)) => {
            turn.servers.into_iter().map(|server| server.name).collect()
        }
        Ok(Payload::ToolCall(call)) => {
            let server = extension_of_tool(&call.tool).into_iter();
            server.filter(|name| !RESERVED_EXTENSION_NAMES.contains(&name.as_str())).collect()
        }
        // silent-ok: the engine lists only jobs with a readable payload.
        Ok(Payload::SystemEvent { .. }) | Err(_) => Vec::new(),
    }
}

fn server_findings(jobs: &JobsByServer, extensions: &[ExtensionView]) -> Vec<Finding> {
    let unusable: Vec<Finding> = jobs
        .iter()
        .filter_map(|(server, jobs)| {
            let found = extensions.iter().find(|extension| extension.name.as_str() == server);
            let (problem, fix) = problem_of(server, found)?;
            let text =
                format!("The MCP server {server} {problem}. Jobs with it: {}", jobs.join(", "));
            Some(with_fix(false, text, fix))
        })
        .collect();
    let usable = jobs.len() - unusable.len();
    let usable = (usable > 0).then(|| healthy(format!("MCP servers of jobs: {usable}")));
    usable.into_iter().chain(unusable).collect()
}

/// Why no run can use a server, and the fix.
fn problem_of(server: &str, extension: Option<&ExtensionView>) -> Option<(&'static str, String)> {
    let Some(extension) = extension else {
        let fix = format!("rouse mcp add {server} -- COMMAND, or rouse mcp add {server} --url URL");
        return Some(("is not installed", fix));
    };
    if !extension.is_enabled {
        return Some(("is switched off", format!("rouse extensions enable {server}")));
    }
    let problem = match extension.state {
        ServerState::Off | ServerState::Starting | ServerState::Ready => return None,
        ServerState::NeedsSignIn => "needs a sign-in",
        ServerState::Broken => "is broken",
        ServerState::Quarantined => "is quarantined",
    };
    let fix = match &extension.reason {
        Some(reason) => escape_line(reason),
        None => format!("See its state with `rouse extensions show {server}`."),
    };
    Some((problem, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extension(name: &str, state: ServerState, reason: Option<&str>) -> ExtensionView {
        ExtensionView {
            is_coding_agent: false,
            name: name.parse().expect("a name"),
            transport: String::new(),
            is_enabled: name != "disabled",
            state,
            label: String::new(),
            reason: reason.map(str::to_owned),
            accepted: 1,
            held: 0,
            off: 0,
            reported_version: None,
        }
    }

    #[test]
    fn unusable_servers_of_jobs_have_a_fix() {
        let servers = json!(["broken", "cal", "disabled", "mail:optional", "missing"]);
        let turn = json!({ "kind": "agentTurn", "message": "x", "servers": servers });
        let call = |tool: &str| json!({ "kind": "toolCall", "tool": tool });
        let jobs = [
            json!({ "name": "Daily\n", "payload": turn }),
            json!({ "name": "Post", "payload": call("mail_send") }),
            json!({ "name": "Own tool", "payload": call("web_fetch") }),
            json!({ "name": "Short name", "payload": call("http") }),
            json!({ "name": "Event", "payload": { "kind": "systemEvent", "text": "mail_send" } }),
        ];
        let extensions = [
            extension("broken", ServerState::Broken, Some("It ended. Read `it`.")),
            extension("cal", ServerState::Off, None),
            extension("disabled", ServerState::Off, None),
            extension("mail", ServerState::NeedsSignIn, Some("Sign in.")),
            extension("unused", ServerState::Broken, None),
        ];
        let found = server_findings(&jobs_by_server(jobs.iter()), &extensions);
        let found = found.iter().map(|Finding { ok, text, fix }| (*ok, &**text, fix.as_deref()));
        let daily =
            |problem: &str| format!("The MCP server {problem}. Jobs with it: Daily⟨U+000A⟩");
        let texts = ["broken is broken", "disabled is switched off", "missing is not installed"];
        let [broken, disabled, missing] = texts.map(daily);
        let mail = "The MCP server mail needs a sign-in. Jobs with it: Daily⟨U+000A⟩, Post";
        let add = "rouse mcp add missing -- COMMAND, or rouse mcp add missing --url URL";
        let expected = [
            (true, "MCP servers of jobs: 1", None),
            (false, &*broken, Some("It ended. Read `it`.")),
            (false, &*disabled, Some("rouse extensions enable disabled")),
            (false, mail, Some("Sign in.")),
            (false, &*missing, Some(add)),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(server_findings(&JobsByServer::new(), &extensions).is_empty());
    }
}
