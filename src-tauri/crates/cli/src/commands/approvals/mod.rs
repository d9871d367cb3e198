//! `rouse approvals …`: pending approvals and decisions.

mod argument_rules;
mod input_answers;

use std::io::{IsTerminal as _, Write as _};
use std::slice::from_ref;

use clap::Subcommand;
use rouse_gateway::wire::{
    ApprovalStateKind, ApprovalView, ApprovalsDecideResult, ApprovalsListResult, DecisionSurface,
    GrantScopeView, GrantView, GrantsListResult, InputAnswer,
};
use serde_json::{Value, json};

use crate::render::approval::{
    call_text, late_decision, print_approval, print_approval_table, print_request,
};
use crate::render::grants::grant_lines;
use crate::render::text::escape;
use crate::resolve::approvals::{find_approval, get_approval, pending_approvals};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;
use crate::resolve::keyboard::{is_confirmed, read_line};

/// The default number of rows.
const DEFAULT_LIMIT: u32 = 20;
/// Field paths of a decision and their flags.
const FIELD_NAMES: [(&str, &str); 5] = [
    ("decision.kind", "This decision is not possible"),
    ("decision.rules", "--rule"),
    ("decision.expiresAtMs", "--until"),
    ("decision.uses", "--uses"),
    ("decision.reason", "--reason"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List pending approvals
    List {
        /// Include decided approvals, newest first
        #[arg(long)]
        all: bool,
        /// Maximum number of approvals with --all
        #[arg(long, default_value_t = DEFAULT_LIMIT, requires = "all", value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show an approval: reason and whole call
    Show {
        /// Approval: id, start or end of the id, or job name [default: the only pending one]
        id: Option<String>,
    },
    /// Allow a call once
    Allow {
        /// Approval: id, start or end of the id, or job name [default: the only pending one, with confirmation]
        id: Option<String>,
        /// Allow equal calls for the whole run
        #[arg(long, conflicts_with = "always")]
        run: bool,
        /// Grant the call to this job; equal calls only, unless --rule widens the grant
        #[arg(long)]
        always: bool,
        /// Rule for an argument: NAME=any, NAME=below:VALUE, NAME=equals:JSON or NAME=oneOf:JSON-LIST [default: equals]
        #[arg(long = "rule", value_name = "RULE", requires = "always")]
        rules: Vec<String>,
        /// End of the grant: an ISO 8601 time, milliseconds or `30d`
        #[arg(long, value_name = "WHEN", requires = "always")]
        until: Option<String>,
        /// Number of calls that the grant covers
        #[arg(long, value_name = "COUNT", requires = "always", value_parser = clap::value_parser!(u32).range(1..))]
        uses: Option<u32>,
    },
    /// Answer the input request of an MCP server: one prompt per field, or --answer
    Answer {
        /// Approval: id, start or end of the id, or job name [default: the only pending one]
        id: Option<String>,
        /// Value of a field; several values of a field are separated by commas
        #[arg(long = "answer", value_name = "KEY=VALUE", conflicts_with = "cancel")]
        answers: Vec<String>,
        /// Give no answer; the server is told that you chose neither
        #[arg(long)]
        cancel: bool,
    },
    /// Deny a call, or decline an input request
    Deny {
        /// Approval: id, start or end of the id, or job name [default: the only pending one]
        id: Option<String>,
        /// Reason for the model
        #[arg(long)]
        reason: Option<String>,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::List { all: false, limit: DEFAULT_LIMIT }
    }
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List { all, limit } => list(all, limit, engine).await,
        Command::Show { id } => {
            let id = find_approval(id.as_deref(), engine).await?;
            engine
                .show("approvals.get", json!({ "id": id }), |engine, approval: ApprovalView| {
                    print_approval(engine, &approval)
                })
                .await
        }
        Command::Allow { id, run, always: false, .. } => {
            let id = confirm_approval(id, engine).await?;
            let kind = if run { "run" } else { "once" };
            decide(engine, &id, json!({ "kind": kind })).await
        }
        Command::Allow { id, rules, until, uses, .. } => {
            let id = confirm_approval(id, engine).await?;
            let rules = if rules.is_empty() {
                None
            } else {
                Some(argument_rules::complete_rules(engine, &id, &rules).await?)
            };
            let until = until.map(|text| engine.parse_instant("--until", &text)).transpose()?;
            let decision =
                json!({ "kind": "always", "rules": rules, "expiresAtMs": until, "uses": uses });
            decide(engine, &id, decision).await?;
            if engine.json { Ok(()) } else { print_new_grant(engine, &id).await }
        }
        Command::Answer { id, cancel: true, .. } => {
            let id = find_approval(id.as_deref(), engine).await?;
            decide(engine, &id, json!({ "kind": "cancel" })).await
        }
        Command::Answer { id, answers, .. } => {
            let id = find_approval(id.as_deref(), engine).await?;
            let approval = get_approval(engine, &id).await?;
            let answers = input_answers::collect(engine, &approval, &answers).await?;
            decide(engine, &id, json!({ "kind": "submit", "answers": answers })).await
        }
        Command::Deny { id, reason } => {
            let id = find_approval(id.as_deref(), engine).await?;
            decide(engine, &id, json!({ "kind": "deny", "reason": reason })).await
        }
    }
}

async fn list(all: bool, limit: u32, engine: &EngineConnection) -> Result<(), CliError> {
    let params = json!({ "all": all, "limit": limit });
    engine
        .show("approvals.list", params, |engine, found: ApprovalsListResult| {
            match found.approvals.as_slice() {
                [] if all => anstream::println!("No approvals yet."),
                [] => anstream::println!("Nothing needs you."),
                approvals => print_approval_table(engine, approvals),
            }
        })
        .await
}

/// The id of the approval to allow. Without an id in `wanted`, shows the approval and asks for confirmation, because
/// another approval may be pending since.
async fn confirm_approval(
    wanted: Option<String>,
    engine: &EngineConnection,
) -> Result<String, CliError> {
    let id = find_approval(wanted.as_deref(), engine).await?;
    let is_named =
        |wanted: String| ids::complete_id(&wanted, from_ref(&id)).is_ok_and(|it| it == id);
    if wanted.is_some_and(is_named) {
        return Ok(id);
    }
    let approval = get_approval(engine, &id).await?;
    if engine.json || !std::io::stdin().is_terminal() {
        return Err(CliError::input(format!(
            "Name the approval. Pending: {}. To allow this call: rouse approvals allow {id}",
            escape(&call_text(&approval))
        )));
    }
    print_request(&approval);
    anstream::eprint!("Allow it? [y/N] ");
    // An unflushed prompt appears with the next line.
    let _ = std::io::stderr().flush();
    if is_confirmed(&read_line().await?) {
        Ok(id)
    } else {
        Err(CliError::Refused("Nothing was allowed; the approval is still pending.".to_owned()))
    }
}

async fn decide(engine: &EngineConnection, id: &str, decision: Value) -> Result<(), CliError> {
    let params = json!({ "id": id, "decision": decision, "from": DecisionSurface::Cli });
    let answer = engine.call("approvals.decide", params).await;
    let answer = answer.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    let decided: ApprovalsDecideResult = serde_json::from_value(answer.clone())?;
    if let Some(refusal) = late_decision(&decided) {
        return Err(CliError::Refused(refusal));
    }
    // The decision counts, also if the engine has ended since.
    let pending = if engine.json { None } else { pending_approvals(engine).await.ok() };
    engine.print_answer(answer, |_, decided: ApprovalsDecideResult| {
        let is_of_run = |approval: &&ApprovalView| approval.run_id == decided.approval.run_id;
        let others = pending.map(|pending| pending.iter().filter(is_of_run).count());
        anstream::println!("{}", decision_text(&decided.approval, others));
    })
}

/// The decision and the effect: the run continues when none of its approvals is pending.
fn decision_text(approval: &ApprovalView, others: Option<usize>) -> String {
    let (decision, effect) = match (approval.state, &approval.input_answer) {
        (_, Some(InputAnswer::Accept { .. })) => ("Answered", "The run continues."),
        (_, Some(InputAnswer::Decline)) => ("Declined", "The server gets your refusal."),
        (_, Some(InputAnswer::Cancel)) => ("Cancelled", "The server gets no answer."),
        (ApprovalStateKind::Approved, None) => ("Allowed", "The run continues."),
        (_, None) => ("Denied", "The run continues without the call."),
    };
    match others {
        None => format!("{decision}."),
        Some(0) => format!("{decision}. {effect}"),
        Some(1) => format!("{decision}. One more approval of this run is pending."),
        Some(count) => format!("{decision}. {count} more approvals of this run are pending."),
    }
}

/// Prints the grant of a decision and the command that revokes it.
async fn print_new_grant(engine: &EngineConnection, id: &str) -> Result<(), CliError> {
    let approval = get_approval(engine, id).await?;
    let params = json!({ "jobId": approval.job_id });
    let found: GrantsListResult = engine.fetch("grants.list", params).await?;
    let is_new = |grant: &&GrantView| grant.is_valid && grant.tool == approval.tool;
    let Some(grant) = found.grants.iter().find(is_new) else { return Ok(()) };
    anstream::println!("Granted to {}:", escape(&approval.job_name));
    for line in grant_lines(from_ref(grant)) {
        anstream::println!("  {line}");
    }
    if matches!(grant.covers, GrantScopeView::Exact { .. }) {
        for file in &approval.files {
            anstream::println!("  valid for this file version: {}", escape(file));
        }
    }
    anstream::println!("To revoke: rouse grants revoke {}", grant.id);
    Ok(())
}
