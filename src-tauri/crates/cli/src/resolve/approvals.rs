//! Approvals by id, id prefix, id suffix or job name.

use rouse_gateway::wire::{ApprovalStateKind, ApprovalView, ApprovalsListResult};
use serde_json::json;

use super::engine::EngineConnection;
use super::error::CliError;
use super::ids;

/// The pending approvals.
pub(crate) async fn pending_approvals(
    engine: &EngineConnection,
) -> Result<Vec<ApprovalView>, CliError> {
    Ok(engine.fetch::<ApprovalsListResult>("approvals.list", json!({})).await?.approvals)
}

pub(crate) async fn get_approval(
    engine: &EngineConnection,
    id: &str,
) -> Result<ApprovalView, CliError> {
    engine.fetch("approvals.get", json!({ "id": id })).await
}

/// The id of the approval that `wanted` names; without a name, of the only pending approval.
pub(crate) async fn find_approval(
    wanted: Option<&str>,
    engine: &EngineConnection,
) -> Result<String, CliError> {
    let Some(wanted) = wanted else { return single_pending(engine).await };
    if ids::is_full_id(wanted) {
        return Ok(wanted.to_owned());
    }
    let params = json!({ "all": true, "limit": 500 });
    let found: ApprovalsListResult = engine.fetch("approvals.list", params).await?;
    if let Some(id) = pending_of_job(wanted, &found.approvals)? {
        return Ok(id);
    }
    let known: Vec<String> = found.approvals.iter().map(|approval| approval.id.clone()).collect();
    let id = ids::complete_id(wanted, &known)?;
    if known.contains(&id) {
        return Ok(id);
    }
    let names = found.approvals.iter().map(|approval| approval.job_name.as_str());
    let names = names.chain(known.iter().map(String::as_str));
    Err(ids::unknown_name("approval", wanted, names, "rouse approvals list --all"))
}

async fn single_pending(engine: &EngineConnection) -> Result<String, CliError> {
    match pending_approvals(engine).await?.as_slice() {
        [approval] => Ok(approval.id.clone()),
        [] => Err(CliError::not_found("No approval is pending.")),
        approvals => Err(CliError::input(format!(
            "{} approvals are pending; name one: rouse approvals list",
            approvals.len()
        ))),
    }
}

/// The only pending approval of the job with this name.
fn pending_of_job(job: &str, approvals: &[ApprovalView]) -> Result<Option<String>, CliError> {
    let is_match = |approval: &&ApprovalView| {
        approval.state == ApprovalStateKind::Pending && approval.job_name == job
    };
    let ids: Vec<&str> =
        approvals.iter().filter(is_match).map(|approval| approval.id.as_str()).collect();
    ids::single_id(job, &ids)
}
