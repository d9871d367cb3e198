//! The commands of a chat: `/stop`, `/status` and `/runs`. None changes a policy.

use chrono::TimeZone as _;
use rouse_channels::TelegramCommand;
use rouse_gateway::RpcError;
use rouse_gateway::wire::{
    ApprovalsListResult, ChangeResult, RunView, RunsListResult, SystemStatus,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::ReceiverParts;

/// The runs that `/runs` lists.
const LISTED_RUNS: u32 = 8;

const HELP: &str =
    "Write to Rouse, or send /status, /runs or /stop. Reports and approval requests arrive here.";

impl ReceiverParts {
    /// Executes a command. Returns the answer in Markdown.
    pub(super) async fn command_answer(&self, command: &TelegramCommand) -> String {
        let answer = match command {
            TelegramCommand::Stop => self.stop().await,
            TelegramCommand::Status => self.status_text().await,
            TelegramCommand::Runs => self.runs_text().await,
            TelegramCommand::Unknown(_) => Ok(HELP.to_owned()),
        };
        answer.unwrap_or_else(|error| error.message)
    }

    /// Stops all unanswered messages of the main session.
    async fn stop(&self) -> Result<String, RpcError> {
        let stopped: ChangeResult = self.call("chat.abort", json!({})).await?;
        Ok(if stopped.changed { "Stopped." } else { "Nothing is running." }.to_owned())
    }

    async fn status_text(&self) -> Result<String, RpcError> {
        let status: SystemStatus = self.call("system.status", json!({})).await?;
        let pending: ApprovalsListResult = self.call("approvals.list", json!({})).await?;
        let cron = &status.cron;
        let mut lines = vec![match (&cron.off_reason, &cron.pause, &cron.next) {
            (Some(reason), ..) => format!("Jobs are off: {reason}"),
            (None, Some(_), _) => "All jobs are paused.".to_owned(),
            (None, None, Some(next)) => {
                format!("Next: **{}** at {}.", next.name, self.local_time(next.at_ms))
            }
            (None, None, None) => "No job is planned.".to_owned(),
        }];
        lines.push(format!("{} running, {} queued.", cron.running, cron.queued));
        match pending.approvals.len() {
            0 => {}
            1 => lines.push("1 approval is pending.".to_owned()),
            count => lines.push(format!("{count} approvals are pending.")),
        }
        if cron.failing_jobs > 0 {
            lines.push(format!("Failing jobs: {}.", cron.failing_jobs));
        }
        lines.extend(status.problem);
        Ok(lines.join("\n\n"))
    }

    async fn runs_text(&self) -> Result<String, RpcError> {
        let runs: RunsListResult = self.call("runs.list", json!({ "limit": LISTED_RUNS })).await?;
        if runs.runs.is_empty() {
            return Ok("There are no runs yet.".to_owned());
        }
        let lines: Vec<String> = runs.runs.iter().map(|run| self.run_line(run)).collect();
        Ok(lines.join("\n"))
    }

    fn run_line(&self, run: &RunView) -> String {
        let at = self.local_time(run.started_at_ms.unwrap_or(run.created_at_ms));
        format!("- {at} **{}**: {}", run.job_name, run.state.label())
    }

    /// The weekday and time of an instant in the zone of this computer.
    fn local_time(&self, at_ms: i64) -> String {
        let at = self.clock.zone().timestamp_millis_opt(at_ms).single();
        at.map_or_else(String::new, |at| at.format("%a %H:%M").to_string())
    }

    async fn call<R: DeserializeOwned>(&self, method: &str, params: Value) -> Result<R, RpcError> {
        let result = self.gateway.call(method, params).await?;
        serde_json::from_value(result).map_err(|error| RpcError::internal(&error))
    }
}
