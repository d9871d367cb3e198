//! The flags that say what a job's model may do, and whether anybody is asked.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use super::draft::{NONE, names, seconds, set, word};
use crate::exit::Failure;

/// What its model may do by itself, and what becomes of the rest.
#[derive(Debug, Args)]
pub(crate) struct MayArgs {
    /// What becomes of calls that need your yes: `ask` waits for it, `deny` tells the model no at once, `skip` does not
    /// even offer what would ask. A job that calls a tool by itself fails with both when a hook wants its call asked.
    #[arg(long, value_enum)]
    approvals: Option<Approvals>,
    /// How long a question waits for its answer: `2h`, or `none` for half an hour.
    #[arg(long, value_name = "DURATION")]
    approval_time: Option<String>,
    /// The only hosts that its calls may reach (`api.example.org,nas:8080`); `none` for no such list.
    #[arg(long, value_name = "HOSTS")]
    hosts: Option<String>,
    /// Whether its model's commands have to run in the sandbox. `open` lets them run with your own rights, on all of
    /// your files and your network; each one is asked for.
    #[arg(long, value_enum)]
    sandbox: Option<Sandbox>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Approvals {
    Ask,
    Deny,
    Skip,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sandbox {
    Required,
    Open,
}

impl MayArgs {
    /// Lays what is named over `policies`.
    pub(super) fn apply(&self, policies: &mut Map<String, Value>) -> Result<(), Failure> {
        set(policies, "approvals", self.approvals.map(word));
        if let Some(time) = &self.approval_time {
            policies.insert("approvalSeconds".to_owned(), seconds(time, "approval-time")?);
        }
        set(policies, "hosts", names(self.hosts.as_deref(), NONE));
        set(policies, "sandbox", self.sandbox.map(word));
        Ok(())
    }
}
