//! The servers of a run: opened before the first model call, held until the run ends or parks.
//!
//! Owns the decision about a missing server: a required one ends the run as failed, an optional one is told to the
//! model. Never starts a server of a run that the job does not name. Pitfall: calling a run without a required server a
//! success because the model reported something.

use futures_util::future::join_all;
use rouse_core::extension::{OpenServer, ServerLease, ServerUnavailable};
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
        let opening = join_all(turn.servers.iter().map(|server| self.open_server(server)));
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

    async fn open_server(&self, server: &JobServer) -> Result<OpenServer, ServerUnavailable> {
        match &self.servers {
            Some(servers) => servers.open(&server.name).await,
            None => Err(ServerUnavailable::not_installed(&server.name)),
        }
    }
}

impl RunServers {
    fn add(&mut self, server: &JobServer, open: OpenServer) {
        if !open.missing.is_empty() {
            self.notes.push(format!(
                "These tools of the MCP server {} have changed or are gone, and wait for the user's review: {}. If the task needs one of them, end the run as failed.",
                server.name,
                open.missing.join(", ")
            ));
        }
        self._leases.push(open.lease);
    }

    /// The facts for the model, as parts of the task.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The end of a run whose required servers are missing. Retried only if every cause may pass.
fn missing_servers(missing: &[ServerUnavailable]) -> TurnEnd {
    let is_transient = missing.iter().all(|server| server.kind.is_transient());
    let reasons: Vec<String> = missing.iter().map(ToString::to_string).collect();
    TurnEnd::with(Outcome { is_transient, ..Outcome::failed(reasons.join(" ")) })
}

/// Ends the run if the job lists a tool of a required server that `tools` does not have.
pub(super) fn check_listed_tools(turn: &AgentTurn, tools: &ToolSet) -> Result<(), TurnEnd> {
    let required = turn.servers.iter().filter(|server| !server.is_optional);
    for server in required {
        let prefix = format!("{}_", server.name);
        let mut listed = turn.tools.iter().flatten().filter(|tool| tool.starts_with(&prefix));
        if let Some(gone) = listed.find(|tool| tools.get(tool).is_none()) {
            let name = &server.name;
            return Err(TurnEnd::with(Outcome::failed(format!(
                "The job lists the tool {gone}, which the MCP server {name} no longer offers or which waits for your review. Read `rouse extensions show {name}`, then accept the tool or remove it from the job."
            ))));
        }
    }
    Ok(())
}
