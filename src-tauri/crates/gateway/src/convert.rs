//! Core and store values → wire shapes, and the errors of other rooms → errors on the wire.

use rouse_core::Cause;
use rouse_core::approval::{
    AnsweredFrom, Approval, ApprovalState, GateDecision, HookNo, Refusal, Scope,
};
use rouse_core::delivery::{Delivery, DeliveryState};
use rouse_core::event::{Event, EventKind};
use rouse_core::incident::Incident;
use rouse_core::run::{Run, RunState, RunTrigger, Usage};
use rouse_core::tool::ToolSpec;
use rouse_scheduler::SchedulerError;
use rouse_store::{RunStep, StepKind, StepStatus, StoreError};

use crate::error::{ErrorCode, RpcError};
use crate::wire;

pub(crate) fn event_view(event: &Event) -> wire::EventView {
    let kind = match event.kind {
        EventKind::Cron => wire::EventKind::Cron,
        EventKind::Run => wire::EventKind::Run,
        EventKind::Approval => wire::EventKind::Approval,
        EventKind::Delivery => wire::EventKind::Delivery,
        EventKind::Session => wire::EventKind::Session,
        EventKind::Heartbeat => wire::EventKind::Heartbeat,
        EventKind::Config => wire::EventKind::Config,
    };
    wire::EventView { seq: event.seq, at_ms: event.at.0, kind, data: event.data.clone() }
}

const fn wire_waits_for(waits_for: rouse_core::run::WaitsFor) -> wire::WaitsFor {
    match waits_for {
        rouse_core::run::WaitsFor::Model => wire::WaitsFor::Model,
        rouse_core::run::WaitsFor::RateLimit => wire::WaitsFor::RateLimit,
    }
}

pub(crate) fn run_view(run: &Run) -> wire::RunView {
    wire::RunView {
        id: run.id.to_string(),
        job_id: run.job_id.as_ref().map(ToString::to_string),
        job_name: run.job_name.clone(),
        slot_at_ms: run.slot_at.map(|at| at.0),
        first_slot_at_ms: run.first_slot_at.map(|at| at.0),
        makes_up_for_ms: run.makes_up_for.map(|at| at.0),
        trigger: wire_trigger(run.trigger),
        state: wire_state(run.state),
        reason: run.reason.clone(),
        stands_for: run.stands_for,
        created_at_ms: run.created_at.0,
        started_at_ms: run.started_at.map(|at| at.0),
        finished_at_ms: run.finished_at.map(|at| at.0),
        late_by_ms: run.late_by_ms(),
        duration_ms: run.took_ms(),
        attempt: run.attempt,
        next_attempt_at_ms: run.next_attempt_at.map(|at| at.0),
        waits_for: run.waits_for.map(wire_waits_for),
        retry_of: run.retry_of.as_ref().map(ToString::to_string),
        summary: run.summary.clone(),
        error: run.error.clone(),
        session: run.session.as_ref().map(ToString::to_string),
        model: run.model.clone(),
        fell_back: run.fell_back.clone(),
        usage: usage_view(run.usage),
    }
}

pub(crate) fn step_view(step: &RunStep) -> wire::StepView {
    wire::StepView {
        seq: step.seq,
        kind: match step.kind {
            StepKind::ModelTurn => wire::StepKind::ModelTurn,
            StepKind::ToolCall => wire::StepKind::ToolCall,
            StepKind::Note => wire::StepKind::Note,
            StepKind::Summary => wire::StepKind::Summary,
        },
        name: step.name.clone(),
        status: match step.status {
            StepStatus::Started => wire::StepStatus::Started,
            StepStatus::Finished => wire::StepStatus::Finished,
            StepStatus::Failed => wire::StepStatus::Failed,
            StepStatus::Unknown => wire::StepStatus::Unknown,
        },
        input: step.input.clone(),
        output: step.output.clone(),
        is_error: step.is_error,
        usage: usage_view(step.usage),
        started_at_ms: step.started_at.0,
        duration_ms: step.duration_ms,
        gate: step.gate.as_ref().map(gate_view),
    }
}

fn gate_view(gate: &GateDecision) -> wire::GateView {
    match gate {
        GateDecision::Written => wire::GateView::Written,
        GateDecision::Answered { approval_id, rewritten_by } => wire::GateView::Answered {
            approval_id: approval_id.to_string(),
            rewritten_by: rewritten_by.clone(),
        },
        GateDecision::Granted { grant_id, rewritten_by } => wire::GateView::Granted {
            grant_id: grant_id.to_string(),
            rewritten_by: rewritten_by.clone(),
        },
        GateDecision::Rewritten { rewritten_by } => {
            wire::GateView::Rewritten { rewritten_by: rewritten_by.clone() }
        }
        GateDecision::Refused { why, rewritten_by } => wire::GateView::Refused {
            why: why.as_ref().map(refusal_view),
            rewritten_by: rewritten_by.clone(),
        },
    }
}

fn refusal_view(why: &Refusal) -> wire::RefusalView {
    match why {
        Refusal::UnknownTool => wire::RefusalView::UnknownTool,
        Refusal::Misfit => wire::RefusalView::Misfit,
        Refusal::RateLimited { wait_ms } => wire::RefusalView::RateLimited { wait_ms: *wait_ms },
        Refusal::NotListed => wire::RefusalView::NotListed,
        Refusal::Ceiling { skills } => wire::RefusalView::Ceiling { skills: skills.clone() },
        Refusal::Unattended => wire::RefusalView::Unattended,
        Refusal::Unasked { approvals } => {
            wire::RefusalView::Unasked { approvals: approvals.name().to_owned() }
        }
        Refusal::Hook { hook, how } => wire::RefusalView::Hook {
            hook: hook.clone(),
            how: match how {
                HookNo::SaidNo => wire::HookNoView::SaidNo,
                HookNo::DidNotAnswer => wire::HookNoView::DidNotAnswer,
                HookNo::KeptRewriting => wire::HookNoView::KeptRewriting,
            },
        },
        Refusal::Denied { reason } => wire::RefusalView::Denied { reason: reason.clone() },
        Refusal::Expired => wire::RefusalView::Expired,
        Refusal::JobGone => wire::RefusalView::JobGone,
        Refusal::EarlierAsks => wire::RefusalView::EarlierAsks,
        Refusal::Leak { found } => wire::RefusalView::Leak { found: found.clone() },
        Refusal::Secret { name } => wire::RefusalView::Secret { name: name.clone() },
        Refusal::Unkept => wire::RefusalView::Unkept,
        Refusal::Budget => wire::RefusalView::Budget,
        Refusal::NoSandbox => wire::RefusalView::NoSandbox,
        Refusal::Impossible => wire::RefusalView::Impossible,
    }
}

pub(crate) fn delivery_view(delivery: &Delivery) -> wire::DeliveryView {
    wire::DeliveryView {
        id: delivery.id.to_string(),
        run_id: delivery.run_id.as_ref().map(ToString::to_string),
        channel: delivery.channel.name().to_owned(),
        title: delivery.title.clone(),
        body: delivery.body.clone(),
        state: match delivery.state {
            DeliveryState::Pending => wire::DeliveryState::Pending,
            DeliveryState::Held => wire::DeliveryState::Held,
            DeliveryState::Delivered => wire::DeliveryState::Delivered,
            DeliveryState::Failed => wire::DeliveryState::Failed,
            DeliveryState::Suppressed => wire::DeliveryState::Suppressed,
        },
        attempts: delivery.attempts,
        reason: delivery.reason.clone(),
        created_at_ms: delivery.created_at.0,
        next_attempt_at_ms: delivery.next_attempt_at.map(|at| at.0),
        settled_at_ms: delivery.settled_at.map(|at| at.0),
        held_until_ms: delivery.held_until.map(|at| at.0),
        digest_id: delivery.digest.as_ref().map(ToString::to_string),
    }
}

/// A question about a call of `tool`, where that is still here, and what waits for the answer.
pub(crate) fn approval_view(
    approval: &Approval,
    tool: Option<&ToolSpec>,
    holds_up: Option<wire::HoldsUp>,
) -> wire::ApprovalView {
    let (state, scope, reason, decided_at) = match &approval.state {
        ApprovalState::Pending => (wire::ApprovalState::Pending, None, None, None),
        ApprovalState::Approved { scope, at } => {
            (wire::ApprovalState::Approved, Some(wire_scope(*scope)), None, Some(at))
        }
        ApprovalState::Denied { reason, at } => {
            (wire::ApprovalState::Denied, None, reason.clone(), Some(at))
        }
        ApprovalState::Expired { at } => (wire::ApprovalState::Expired, None, None, Some(at)),
        ApprovalState::Withdrawn { at } => (wire::ApprovalState::Withdrawn, None, None, Some(at)),
        ApprovalState::Covered { at } => (wire::ApprovalState::Covered, None, None, Some(at)),
    };
    wire::ApprovalView {
        id: approval.id.to_string(),
        run_id: approval.run_id.to_string(),
        job_id: approval.job_id.as_ref().map(ToString::to_string),
        job_name: approval.job_name.clone(),
        tool: approval.tool.clone(),
        tool_label: tool.and_then(|tool| tool.label.clone()),
        arguments: approval.arguments.clone(),
        writes_values: approval.values(),
        directory: approval.surroundings.directory.clone(),
        files: approval.surroundings.files_there().map(str::to_owned).collect(),
        replaces: approval.surroundings.replaced_there().map(str::to_owned).collect(),
        fires_once_at_ms: approval.surroundings.fires_once_at().map(|at| at.0),
        preview: approval.preview.clone(),
        why: approval.why.clone(),
        is_highest: approval.is_highest,
        shell_text: tool.map(|tool| tool.shell_text.clone()).unwrap_or_default(),
        ungranted: approval.surroundings.ungranted.clone().filter(|_| !approval.is_highest),
        asked_at_ms: approval.asked_at.0,
        expires_at_ms: approval.expires_at.0,
        state,
        scope,
        reason,
        decided_at_ms: decided_at.map(|at| at.0),
        answered_from: approval.answered_from.map(wire_answered_from),
        holds_up,
    }
}

const fn wire_scope(scope: Scope) -> wire::ApprovalScope {
    match scope {
        Scope::Once => wire::ApprovalScope::Once,
        Scope::Run => wire::ApprovalScope::Run,
        Scope::Always => wire::ApprovalScope::Always,
    }
}

pub(crate) fn cause_view(cause: Cause) -> wire::CauseView {
    let Cause { source, text, fields, at, .. } = cause;
    wire::CauseView { source, text, fields, at_ms: at.0 }
}

pub(crate) fn incident_view(incident: &Incident) -> wire::IncidentView {
    wire::IncidentView {
        cause: incident.cause.clone(),
        opened_at_ms: incident.opened_at.0,
        count: incident.count,
        first_run_id: incident.first_run.to_string(),
        last_run_id: incident.last_run.to_string(),
        last_at_ms: incident.last_at.0,
        paused_because: incident.paused_because.clone(),
    }
}

fn usage_view(usage: Usage) -> wire::UsageView {
    wire::UsageView {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        output_tokens: usage.output_tokens,
        cost_micro_usd: usage.cost_micro_usd,
    }
}

macro_rules! same_words {
    ($to_wire:ident, $from_wire:ident, $core:ty, $wire:ty, [$($variant:ident),+]) => {
        pub(crate) const fn $to_wire(value: $core) -> $wire {
            match value { $(<$core>::$variant => <$wire>::$variant),+ }
        }
        pub(crate) const fn $from_wire(value: $wire) -> $core {
            match value { $(<$wire>::$variant => <$core>::$variant),+ }
        }
    };
}

same_words!(
    wire_state,
    run_state,
    RunState,
    wire::RunState,
    [
        Queued,
        Running,
        AwaitingApproval,
        Succeeded,
        NothingToReport,
        Failed,
        TimedOut,
        Cancelled,
        Skipped,
        Missed,
        Interrupted
    ]
);
same_words!(
    wire_trigger,
    run_trigger,
    RunTrigger,
    wire::RunTrigger,
    [Schedule, CatchUp, Event, Webhook, Manual, Heartbeat, Chat]
);

same_words!(
    wire_answered_from,
    answered_from,
    AnsweredFrom,
    wire::AnsweredFrom,
    [Page, Cli, Notification, Tray]
);

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Stale { found, .. } => Self {
                code: ErrorCode::Stale.number(),
                message: "This job was changed elsewhere since you opened it. Look at the new version first.".to_owned(),
                data: serde_json::json!({ "revision": found }),
            },
            StoreError::NotFound { .. } => Self::new(ErrorCode::NotFound, error.to_string()),
            StoreError::InUse { .. } => Self::new(ErrorCode::Conflict, error.to_string()),
            StoreError::Exists { .. } => Self::new(ErrorCode::Exists, error.to_string()),
            StoreError::Unreadable { what: "job", reason, .. } => {
                tracing::error!(%error, "a job cannot be read");
                Self::new(
                    ErrorCode::Storage,
                    format!("What is stored of this job cannot be read ({reason}), and nothing was changed. Delete the job and add it again."),
                )
            }
            StoreError::Gone { .. } => Self::new(ErrorCode::Storage, error.to_string()),
            _ if error.is_damaged() => {
                tracing::error!(%error, "the database is damaged");
                Self::new(ErrorCode::Storage, rouse_store::DAMAGED)
            }
            _ if error.is_full() => Self::new(
                ErrorCode::Storage,
                "The disk is full or cannot be written. Nothing was changed. Free some space and try again.",
            ),
            _ if error.is_busy() => {
                tracing::warn!(%error, "the database was busy for too long");
                Self::new(
                    ErrorCode::Storage,
                    "The database was busy for longer than Rouse waits for it, as on a computer that has much to do. Nothing was changed. Try again in a moment.",
                )
            }
            _ if error.is_closed() => Self::new(
                ErrorCode::Conflict,
                "Rouse is stopping. Try again when it runs.",
            ),
            _ => Self::internal(&error),
        }
    }
}

impl From<SchedulerError> for RpcError {
    fn from(error: SchedulerError) -> Self {
        match error {
            SchedulerError::Store(error) => error.into(),
            SchedulerError::Job(error) => error.into(),
            other => Self::new(ErrorCode::Conflict, other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_cannot_be_read_says_why_and_what_to_do() {
        let (what, id) = ("job", "a".to_owned());
        let error = StoreError::Unreadable { what, id, reason: "its name is a number".to_owned() };
        let error = RpcError::from(error);
        assert_eq!(error.code, ErrorCode::Storage.number());
        assert!(error.message.contains("its name is a number"), "{}", error.message);
        assert!(error.message.contains("Delete the job"), "{}", error.message);
    }
}
