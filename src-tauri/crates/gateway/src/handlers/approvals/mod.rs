//! `approvals.*`: approvals and the person's decisions.

mod blocked_work;
mod input_answer;

use std::collections::BTreeMap;

use rouse_core::approval::{
    Approval, ApprovalDecision, ArgumentRule, DecisionSource, DecisionSurface, GrantError,
    GrantScope, NewGrant,
};
use rouse_core::input_request::InputAnswer;
use rouse_core::{ApprovalId, UnixMs};
use rouse_store::DecisionResult;
use serde_json::json;

use self::blocked_work::blocked_work;
use self::input_answer::parse_input_answer;
use crate::context::Context;
use crate::convert::approval_view;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    ApprovalRef, ApprovalView, ApprovalsDecideParams, ApprovalsDecideResult, ApprovalsListParams,
    ApprovalsListResult, DecisionDraft,
};

/// The maximum length of a reason, which a model reads.
const MAX_REASON_CHARS: usize = 1_000;

pub(crate) async fn list(
    context: &Context,
    params: ApprovalsListParams,
) -> Result<ApprovalsListResult, RpcError> {
    let approvals = if params.all == Some(true) {
        context.store.newest_approvals(params.limit.unwrap_or(50).clamp(1, 500)).await?
    } else {
        context.store.pending_approvals().await?
    };
    Ok(ApprovalsListResult { approvals: views(context, &approvals).await? })
}

pub(crate) async fn get(context: &Context, params: ApprovalRef) -> Result<ApprovalView, RpcError> {
    view(context, &find(context, &params.id).await?).await
}

pub(crate) async fn decide(
    context: &Context,
    params: ApprovalsDecideParams,
) -> Result<ApprovalsDecideResult, RpcError> {
    if params.from == DecisionSurface::Channel {
        return Err(RpcError::field("from", "must be a surface of this computer"));
    }
    let from = params.from.into();
    decide_from(context, params, from).await
}

/// Takes a decision on a page of a paired device, whatever surface the page names.
pub(crate) async fn decide_on_device(
    context: &Context,
    params: ApprovalsDecideParams,
    device: String,
) -> Result<ApprovalsDecideResult, RpcError> {
    let from = DecisionSource { surface: DecisionSurface::Page, name: Some(device) };
    decide_from(context, params, from).await
}

async fn decide_from(
    context: &Context,
    params: ApprovalsDecideParams,
    from: DecisionSource,
) -> Result<ApprovalsDecideResult, RpcError> {
    let approval = find(context, &params.id).await?;
    if let DecisionDraft::Always { rules, .. } = &params.decision {
        super::input::check_secrets(context, "decision.rules", &json!(rules)).await?;
    }
    let decision = match approval.input_prompt() {
        Some(prompt) => {
            ApprovalDecision::Answer(parse_input_answer(context, params.decision, prompt).await?)
        }
        None => parse_decision(context, params.decision, &approval)?,
    };
    check_surface(&approval, &decision, from.surface)?;
    let decided = context.scheduler.decide(&approval.id, decision, from).await?;
    let (applied, approval) = match &decided {
        DecisionResult::Counts { approval, .. } => (true, approval),
        DecisionResult::TooLate(approval) => (false, approval),
    };
    Ok(ApprovalsDecideResult { applied, approval: view(context, approval).await? })
}

/// Takes a decision of a paired recipient. `by` names the channel and the recipient.
pub(crate) async fn decide_on_channel(
    context: &Context,
    id: &ApprovalId,
    decision: ApprovalDecision,
    by: String,
) -> Result<DecisionResult, RpcError> {
    let approval = find(context, id.as_str()).await?;
    check_surface(&approval, &decision, DecisionSurface::Channel)?;
    let from = DecisionSource { surface: DecisionSurface::Channel, name: Some(by) };
    Ok(context.scheduler.decide(id, decision, from).await?)
}

/// Refuses to allow a call of the highest rule from a surface that cannot show the whole call.
fn check_surface(
    approval: &Approval,
    decision: &ApprovalDecision,
    from: DecisionSurface,
) -> Result<(), RpcError> {
    let is_partial = matches!(
        from,
        DecisionSurface::Notification | DecisionSurface::Tray | DecisionSurface::Channel
    );
    let is_deny = match decision {
        ApprovalDecision::Deny { .. } => true,
        ApprovalDecision::Answer(answer) => !matches!(answer, InputAnswer::Accept { .. }),
        _ => false,
    };
    if !approval.is_highest || !is_partial || is_deny {
        return Ok(());
    }
    let message =
        format!("Open the approval to allow {}: the whole call must be visible.", approval.tool);
    Err(RpcError::new(ErrorCode::Conflict, message))
}

async fn find(context: &Context, id: &str) -> Result<Approval, RpcError> {
    let approval = context.store.approval(&ApprovalId::new(id)).await?;
    approval
        .ok_or_else(|| RpcError::new(ErrorCode::NotFound, format!("There is no approval {id}.")))
}

pub(crate) async fn views(
    context: &Context,
    approvals: &[Approval],
) -> Result<Vec<ApprovalView>, RpcError> {
    let mut views = Vec::with_capacity(approvals.len());
    for approval in approvals {
        views.push(view(context, approval).await?);
    }
    Ok(views)
}

async fn view(context: &Context, approval: &Approval) -> Result<ApprovalView, RpcError> {
    let tool = context.gate.tools().get(&approval.tool);
    let spec = tool.as_ref().map(|tool| tool.spec());
    Ok(approval_view(approval, spec, blocked_work(context, approval).await?))
}

fn parse_decision(
    context: &Context,
    draft: DecisionDraft,
    approval: &Approval,
) -> Result<ApprovalDecision, RpcError> {
    match draft {
        DecisionDraft::Once => Ok(ApprovalDecision::Once),
        DecisionDraft::Run if approval.is_highest => {
            let message = format!("must be `once`: each call of {} needs approval", approval.tool);
            Err(RpcError::field("decision.kind", &message))
        }
        DecisionDraft::Run => Ok(ApprovalDecision::Run),
        DecisionDraft::Submit { .. } | DecisionDraft::Cancel => {
            let message = "must be `once`, `run`, `always` or `deny`: the call requests no input";
            Err(RpcError::field("decision.kind", message))
        }
        DecisionDraft::Deny { reason } => Ok(ApprovalDecision::Deny {
            reason: parse_reason(reason)?
                .map(|reason| context.gate.safety().redact_stored(&reason)),
        }),
        DecisionDraft::Always { rules, expires_at_ms, uses } => {
            parse_grant(context, approval, rules, expires_at_ms, uses).map(ApprovalDecision::Always)
        }
    }
}

fn parse_reason(reason: Option<String>) -> Result<Option<String>, RpcError> {
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let length = reason.as_ref().map_or(0, |reason| reason.chars().count());
    if length > MAX_REASON_CHARS {
        let message = format!("must be at most {MAX_REASON_CHARS} characters, found {length}");
        return Err(RpcError::field("decision.reason", &message));
    }
    Ok(reason)
}

fn parse_grant(
    context: &Context,
    approval: &Approval,
    rules: Option<BTreeMap<String, ArgumentRule>>,
    expires_at_ms: Option<i64>,
    uses: Option<u32>,
) -> Result<NewGrant, RpcError> {
    let covers = match rules {
        None => GrantScope::exact_call(approval),
        Some(rules) => GrantScope::matching(approval, rules),
    };
    let expires_at = expires_at_ms.map(UnixMs);
    if expires_at.is_some_and(|end| end <= context.clock.now()) {
        return Err(RpcError::field("decision.expiresAtMs", "must be in the future"));
    }
    if uses == Some(0) {
        return Err(RpcError::field("decision.uses", "must be at least 1"));
    }
    let grant = NewGrant { covers, expires_at, uses };
    let Some(tool) = context.gate.tools().get(&approval.tool) else {
        let message = format!("The tool {} was removed.", approval.tool);
        return Err(RpcError::new(ErrorCode::Conflict, message));
    };
    grant
        .check(approval, tool.spec())
        .map_err(|error| RpcError::field(invalid_field(&error), &error.to_string()))?;
    Ok(grant)
}

/// The field behind a grant error: the kind of the decision, or the rules.
const fn invalid_field(error: &GrantError) -> &'static str {
    match error {
        GrantError::Highest(_) | GrantError::Ungranted(_) | GrantError::NoJob => "decision.kind",
        GrantError::ShellText { .. } | GrantError::DoesNotCover(_) => "decision.rules",
    }
}
