//! `approvals.*`: the questions, and the answers of a person.

mod holds_up;

use rouse_core::approval::{Answer, Approval, Cover, GrantError, NewGrant};
use rouse_core::{ApprovalId, UnixMs};
use rouse_store::Decided;
use serde_json::json;

use crate::context::Context;
use crate::convert::{answered_from, approval_view};
use crate::error::{ErrorCode, RpcError};
use crate::wire;
use crate::wire::{
    ApprovalRef, ApprovalView, ApprovalsDecideParams, ApprovalsDecideResult, ApprovalsListParams,
    ApprovalsListResult,
};

/// The longest reason: a model reads it.
const MOST_REASON: usize = 1_000;

pub(crate) async fn list(
    context: &Context,
    params: ApprovalsListParams,
) -> Result<ApprovalsListResult, RpcError> {
    let found = if params.all == Some(true) {
        context.store.newest_approvals(params.limit.unwrap_or(50).clamp(1, 500)).await?
    } else {
        context.store.pending_approvals().await?
    };
    Ok(ApprovalsListResult { approvals: views(context, &found).await? })
}

pub(crate) async fn get(context: &Context, params: ApprovalRef) -> Result<ApprovalView, RpcError> {
    view(context, &find(context, &params.id).await?).await
}

pub(crate) async fn decide(
    context: &Context,
    params: ApprovalsDecideParams,
) -> Result<ApprovalsDecideResult, RpcError> {
    let approval = find(context, &params.id).await?;
    if let wire::Answer::Always { rules, .. } = &params.answer {
        super::check_secrets(context, "answer.rules", &json!(rules)).await?;
    }
    let answer = read(context, params.answer, &approval)?;
    let is_in_passing =
        matches!(params.from, wire::AnsweredFrom::Notification | wire::AnsweredFrom::Tray);
    if approval.is_highest && is_in_passing && !matches!(answer, Answer::Deny { .. }) {
        let message = format!(
            "A call of {} is allowed only where all of it is seen; open the question.",
            approval.tool
        );
        return Err(RpcError::new(ErrorCode::Conflict, message));
    }
    let from = answered_from(params.from);
    let decided = context.scheduler.decide(&approval.id, answer, from).await?;
    let (counts, approval) = match &decided {
        Decided::Counts { approval, .. } => (true, approval),
        Decided::TooLate(approval) => (false, approval),
    };
    Ok(ApprovalsDecideResult { counts, approval: view(context, approval).await? })
}

async fn find(context: &Context, id: &str) -> Result<Approval, RpcError> {
    let found = context.store.approval(&ApprovalId::new(id)).await?;
    found.ok_or_else(|| RpcError::new(ErrorCode::NotFound, format!("There is no question {id}.")))
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
    let tool = context.gate.tools().get(&approval.tool).map(|tool| tool.spec());
    Ok(approval_view(approval, tool, holds_up::of(context, approval).await?))
}

fn read(context: &Context, answer: wire::Answer, about: &Approval) -> Result<Answer, RpcError> {
    match answer {
        wire::Answer::Once => Ok(Answer::Once),
        wire::Answer::Run if about.is_highest => {
            let message = format!("{} is asked for each time; say yes once", about.tool);
            Err(RpcError::field("answer.kind", &message))
        }
        wire::Answer::Run => Ok(Answer::Run),
        wire::Answer::Deny { reason } => {
            let reason = reason.map(|reason| reason.trim().to_owned());
            let reason = reason.filter(|reason| !reason.is_empty());
            let length = reason.as_ref().map_or(0, |reason| reason.chars().count());
            if length > MOST_REASON {
                let message = format!("must be at most {MOST_REASON} characters, found {length}");
                return Err(RpcError::field("answer.reason", &message));
            }
            Ok(Answer::Deny { reason: reason.map(|reason| context.gate.safety().words(&reason)) })
        }
        wire::Answer::Always { rules, expires_at_ms, uses } => {
            let covers = match rules {
                None => Cover::exactly(about),
                Some(rules) => {
                    let rules = rules.into_iter().map(|(name, rule)| (name, rule.into()));
                    Cover::like(about, rules.collect())
                }
            };
            let expires_at = expires_at_ms.map(UnixMs);
            if expires_at.is_some_and(|end| end <= context.clock.now()) {
                return Err(RpcError::field("answer.expiresAtMs", "must be in the future"));
            }
            if uses == Some(0) {
                return Err(RpcError::field("answer.uses", "must be at least 1"));
            }
            let grant = NewGrant { covers, expires_at, uses };
            let Some(tool) = context.gate.tools().get(&about.tool) else {
                let message = format!("There is no tool {} any more.", about.tool);
                return Err(RpcError::new(ErrorCode::Conflict, message));
            };
            grant
                .check(about, tool.spec())
                .map_err(|error| RpcError::field(refused_field(&error), &error.to_string()))?;
            Ok(Answer::Always(grant))
        }
    }
}

/// What of an answer is wrong: that it is a standing one, or its rules.
const fn refused_field(error: &GrantError) -> &'static str {
    match error {
        GrantError::Highest(_) | GrantError::Ungranted(_) | GrantError::NoJob => "answer.kind",
        GrantError::ShellText { .. } | GrantError::DoesNotCover(_) => "answer.rules",
    }
}
