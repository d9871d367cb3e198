//! The servers of a run: opened before the first model call or the single call, held until the run ends or parks.
//!
//! Owns the decision about a missing server: a required one ends the run as failed, an optional one is told to the
//! model. Never starts a server of a run that the job does not name. Pitfall: calling a run without a required server a
//! success because the model reported something; judging a tool by an earlier listing, which only an opening renews.

use futures_util::future::join_all;
use rouse_core::extension::{
    ExtensionName, MissingTool, MissingToolCause, OpenServer, ServerLease, ServerUnavailable,
    UnavailableKind, extension_of_tool,
};
use rouse_core::job::{AgentTurn, JobServer};
use rouse_core::run::Outcome;
use tokio_util::sync::CancellationToken;

use super::AgentDriver;
use crate::tool_registry::ToolSet;
use crate::turn::end::TurnEnd;

/// The open servers of a run.
#[derive(Default)]
pub(super) struct RunServers {
    _leases: Vec<ServerLease>,
    /// Facts for the model: missing optional servers, and missing tools.
    notes: Vec<String>,
    missing: Vec<MissingTool>,
}

impl AgentDriver {
    /// Opens the servers of `turn` at the same time.
    ///
    /// # Errors
    /// A required server is not available, or the run was cancelled.
    pub(super) async fn open_servers(
        &self,
        turn: &AgentTurn,
        cancel: &CancellationToken,
    ) -> Result<RunServers, TurnEnd> {
        if turn.use_tools == Some(false) {
            return Ok(RunServers::default());
        }
        let opening = join_all(turn.servers.iter().map(|server| self.open_server(&server.name)));
        let results = cancel.run_until_cancelled(opening).await.ok_or(TurnEnd::Cancelled)?;
        let (mut servers, mut missing) = (RunServers::default(), Vec::new());
        for (server, result) in turn.servers.iter().zip(results) {
            match result {
                Ok(open) => servers.add(server, open),
                Err(unavailable) if server.is_optional => servers.notes.push(format!(
                    "The MCP server {} is not available: {} Continue without its tools, and say so in the report.",
                    server.name, unavailable.reason
                )),
                Err(unavailable) => missing.push(unavailable),
            }
        }
        if missing.is_empty() { Ok(servers) } else { Err(missing_servers(&missing)) }
    }

    /// Opens the server of `tool` for a single call, so that the present state of the server counts. None for a tool
    /// without a server.
    ///
    /// # Errors
    /// The server or the tool is not available, or the run was cancelled.
    pub(super) async fn open_server_of(
        &self,
        tool: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<ServerLease>, TurnEnd> {
        let known = self.runtime.gate.tools().get(tool);
        let server = match &known {
            Some(known) => known.spec().origin.as_ref().map(|origin| origin.extension.clone()),
            None => extension_of_tool(tool),
        };
        let Some(server) = server else { return Ok(None) };
        let opening = self.open_server(&server);
        let opened = cancel.run_until_cancelled(opening).await.ok_or(TurnEnd::Cancelled)?;
        // The name alone does not prove that the tool is of a server.
        let is_unnamed = |error: &ServerUnavailable| {
            known.is_none() && error.kind == UnavailableKind::NotInstalled
        };
        // A single word is rather a misspelt tool of Rouse; the gate suggests one.
        if !tool.contains('_') && opened.as_ref().is_err_and(is_unnamed) {
            return Ok(None);
        }
        let OpenServer { missing, lease } = opened.map_err(|unavailable| {
            let is_unknown = is_unnamed(&unavailable);
            let unknown = is_unknown.then(|| format!("There is no tool called {tool}. "));
            let reason = unknown.unwrap_or_default() + &unavailable.reason;
            missing_servers(&[ServerUnavailable { reason, ..unavailable }])
        })?;
        let is_missing = missing.iter().any(|missing| missing.name == tool);
        // The listing may have changed the current tools.
        if is_missing || self.runtime.gate.tools().get(tool).is_none() {
            let missing = MissingTool::find(&server, tool, missing);
            return Err(TurnEnd::with(Outcome::failed(missing.to_string())));
        }
        Ok(Some(lease))
    }

    async fn open_server(&self, name: &ExtensionName) -> Result<OpenServer, ServerUnavailable> {
        match &self.servers {
            Some(servers) => servers.open(name).await,
            None => Err(ServerUnavailable::not_installed(name)),
        }
    }
}

impl RunServers {
    fn add(&mut self, server: &JobServer, open: OpenServer) {
        let names = |cause: MissingToolCause| {
            let missing = open.missing.iter().filter(|tool| tool.cause == cause);
            let names: Vec<&str> = missing.map(|tool| tool.name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        if let Some(names) = names(MissingToolCause::Changed) {
            self.notes.push(format!(
                "These tools of the MCP server {} have changed and wait for the user's review: {names}. If the task needs one of them, end the run as failed.",
                server.name
            ));
        }
        if let Some(names) = names(MissingToolCause::Gone) {
            self.notes.push(format!(
                "The MCP server {} does not offer these tools now: {names}. If the task needs one of them, end the run as failed.",
                server.name
            ));
        }
        self.missing.extend(open.missing);
        self._leases.push(open.lease);
    }

    /// The facts for the model, as parts of the task.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Ends the run if the job lists a tool of a required server that `tools` does not have.
    pub(super) fn check_listed_tools(
        &self,
        turn: &AgentTurn,
        tools: &ToolSet,
    ) -> Result<(), TurnEnd> {
        let required = turn.servers.iter().filter(|server| !server.is_optional);
        for server in required {
            let is_of = |tool: &&String| extension_of_tool(tool).as_ref() == Some(&server.name);
            let mut listed = turn.tools.iter().flatten().filter(is_of);
            if let Some(lost) = listed.find(|tool| tools.get(tool).is_none()) {
                let missing = MissingTool::find(&server.name, lost, self.missing.clone());
                return Err(TurnEnd::with(Outcome::failed(format!(
                    "The job lists the tool {lost}, which this run does not get. {missing}"
                ))));
            }
        }
        Ok(())
    }
}

/// The end of a run whose required servers are missing. Retried only if every cause may pass.
fn missing_servers(missing: &[ServerUnavailable]) -> TurnEnd {
    let is_transient = missing.iter().all(|server| server.kind.is_transient());
    let reasons: Vec<String> = missing.iter().map(ToString::to_string).collect();
    TurnEnd::with(Outcome { is_transient, ..Outcome::failed(reasons.join(" ")) })
}
