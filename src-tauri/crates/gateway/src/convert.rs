//! Conversion of core and store values to wire types, and of errors of other rooms to RPC errors.

use rouse_core::Cause;
use rouse_core::approval::{Approval, ApprovalState, GateDecision};
use rouse_core::channel::ChannelDirectory;
use rouse_core::delivery::Delivery;
use rouse_core::event::{Event, EventKind};
use rouse_core::incident::Incident;
use rouse_core::run::Run;
use rouse_core::tool::ToolSpec;
use rouse_scheduler::SchedulerError;
use rouse_store::{CallAttachment, RunStep, StoreError};

use crate::error::{ErrorCode, RpcError};
use crate::wire;

pub(crate) fn event_view(event: &Event) -> wire::EventView {
    let kind = match event.kind {
        EventKind::Cron => wire::EventKindView::Cron,
        EventKind::Run => wire::EventKindView::Run,
        EventKind::Approval => wire::EventKindView::Approval,
        EventKind::Delivery => wire::EventKindView::Delivery,
        EventKind::Session => wire::EventKindView::Session,
        EventKind::Heartbeat => wire::EventKindView::Heartbeat,
        EventKind::Config => wire::EventKindView::Config,
    };
    wire::EventView { seq: event.seq, at_ms: event.at.0, kind, data: event.data.clone() }
}

pub(crate) fn run_view(run: &Run) -> wire::RunView {
    wire::RunView {
        id: run.id.to_string(),
        job_id: run.job_id.as_ref().map(ToString::to_string),
        job_name: run.job_name.clone(),
        slot_at_ms: run.slot_at.map(|at| at.0),
        first_slot_at_ms: run.first_slot_at.map(|at| at.0),
        catch_up_slot_at_ms: run.catch_up_slot_at.map(|at| at.0),
        trigger: run.trigger,
        state: run.state,
        reason: run.reason.clone(),
        slot_count: run.slot_count,
        created_at_ms: run.created_at.0,
        started_at_ms: run.started_at.map(|at| at.0),
        finished_at_ms: run.finished_at.map(|at| at.0),
        late_by_ms: run.late_by_ms(),
        duration_ms: run.duration_ms(),
        attempt: run.attempt,
        next_attempt_at_ms: run.next_attempt_at.map(|at| at.0),
        waits_for: run.waits_for,
        retry_of: run.retry_of.as_ref().map(ToString::to_string),
        summary: run.summary.clone(),
        error: run.error.clone(),
        session: run.session.as_ref().map(ToString::to_string),
        model: run.model.clone(),
        fallback_reason: run.fallback_reason.clone(),
        usage: run.usage,
    }
}

/// A step with its files among the `files` of the run.
pub(crate) fn step_view(step: &RunStep, files: &[CallAttachment]) -> wire::StepView {
    let files = files.iter().filter(|file| file.step == step.seq);
    wire::StepView {
        seq: step.seq,
        kind: step.kind,
        name: step.name.clone(),
        status: step.status,
        input: step.input.clone(),
        output: step.output.clone(),
        is_error: step.is_error,
        usage: step.usage,
        started_at_ms: step.started_at.0,
        duration_ms: step.duration_ms,
        gate: step.gate.as_ref().map(gate_view),
        gate_text: step.gate.as_ref().map(GateDecision::describe),
        call_id: step.call_id.clone(),
        attachments: files.map(attachment_view).collect(),
    }
}

fn attachment_view(file: &CallAttachment) -> wire::StepAttachmentView {
    wire::StepAttachmentView {
        name: file.name.clone(),
        media_type: file.kind.media_type().to_owned(),
        bytes: file.size,
        is_kept: file.is_kept,
    }
}

fn gate_view(gate: &GateDecision) -> wire::GateView {
    match gate {
        GateDecision::Written => wire::GateView::Written,
        GateDecision::Approved { approval_id, rewritten_by } => wire::GateView::Approved {
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
        GateDecision::Refused { refusal, rewritten_by } => {
            wire::GateView::Refused { refusal: refusal.clone(), rewritten_by: rewritten_by.clone() }
        }
    }
}

pub(crate) fn delivery_view(
    channels: &ChannelDirectory,
    delivery: &Delivery,
) -> wire::DeliveryView {
    wire::DeliveryView {
        id: delivery.id.to_string(),
        run_id: delivery.run_id.as_ref().map(ToString::to_string),
        channel: delivery.route.channel.to_string(),
        channel_kind: channels.channels.get(&delivery.route.channel).map(|entry| entry.kind),
        to: delivery.route.to.clone(),
        title: delivery.title.clone(),
        body: delivery.body.clone(),
        state: delivery.state,
        attempts: delivery.attempts,
        reason: delivery.reason.clone(),
        created_at_ms: delivery.created_at.0,
        next_attempt_at_ms: delivery.next_attempt_at.map(|at| at.0),
        settled_at_ms: delivery.settled_at.map(|at| at.0),
        held_until_ms: delivery.held_until.map(|at| at.0),
        digest_id: delivery.digest.as_ref().map(ToString::to_string),
    }
}

/// Converts an approval. `tool` is none for a removed tool.
pub(crate) fn approval_view(
    approval: &Approval,
    tool: Option<&ToolSpec>,
    blocked_work: Option<wire::BlockedWork>,
) -> wire::ApprovalView {
    let (scope, reason, decided_at) = match &approval.state {
        ApprovalState::Pending => (None, None, None),
        ApprovalState::Approved { scope, at } => (Some(*scope), None, Some(at)),
        ApprovalState::Denied { reason, at } => (None, reason.clone(), Some(at)),
        ApprovalState::Expired { at }
        | ApprovalState::Withdrawn { at }
        | ApprovalState::Covered { at } => (None, None, Some(at)),
    };
    let surroundings = &approval.surroundings;
    wire::ApprovalView {
        id: approval.id.to_string(),
        run_id: approval.run_id.to_string(),
        job_id: approval.job_id.as_ref().map(ToString::to_string),
        job_name: approval.job_name.clone(),
        tool: approval.tool.clone(),
        tool_label: tool.and_then(|tool| tool.label.clone()),
        arguments: approval.arguments.clone(),
        directory: surroundings.directory.clone(),
        files: surroundings.existing_files().map(str::to_owned).collect(),
        replaced_files: surroundings.existing_replaced_files().map(str::to_owned).collect(),
        fires_once_at_ms: surroundings.fires_once_at().map(|at| at.0),
        preview: approval.preview.clone(),
        request_reason: approval.reason.clone(),
        is_highest: approval.is_highest,
        shell_text: tool.map(|tool| tool.shell_text.clone()).unwrap_or_default(),
        no_grant_reason: surroundings.ungranted.clone().filter(|_| !approval.is_highest),
        requested_at_ms: approval.requested_at.0,
        expires_at_ms: approval.expires_at.0,
        state: approval.state.kind(),
        scope,
        reason,
        decided_at_ms: decided_at.map(|at| at.0),
        decided_from: approval.decided_from.as_ref().map(|source| source.surface),
        decided_by: approval.decided_from.as_ref().and_then(|source| source.name.clone()),
        blocked_work,
        input: approval.input_prompt().cloned(),
        agent: approval.permission().map(|permission| permission.agent.clone()),
        input_answer: approval.input.as_ref().and_then(|input| input.answer.clone()),
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

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Stale { found, .. } => Self {
                code: ErrorCode::Stale.number(),
                message: "This job was changed elsewhere since you opened it. Review the new version first.".to_owned(),
                data: serde_json::json!({ "revision": found }),
            },
            StoreError::NotFound { .. } => Self::new(ErrorCode::NotFound, error.to_string()),
            StoreError::InUse { .. } => Self::new(ErrorCode::Conflict, error.to_string()),
            StoreError::Exists { .. } => Self::new(ErrorCode::Exists, error.to_string()),
            StoreError::Unreadable { what: "job", reason, .. } => {
                tracing::error!(%error, "unreadable job");
                Self::new(
                    ErrorCode::Storage,
                    format!("This job cannot be read ({reason}). Nothing was changed. Delete the job and add it again."),
                )
            }
            StoreError::Gone { .. } => Self::new(ErrorCode::Storage, error.to_string()),
            _ if error.is_damaged() => {
                tracing::error!(%error, "the database is damaged");
                Self::new(ErrorCode::Storage, rouse_store::DAMAGED_WHILE_RUNNING)
            }
            _ if error.is_full() => Self::new(
                ErrorCode::Storage,
                "The disk is full or cannot be written. Nothing was changed. Free some space and try again.",
            ),
            _ if error.is_busy() => {
                tracing::warn!(%error, "the database is busy");
                Self::new(
                    ErrorCode::Storage,
                    "The database is busy (timed out after 5 s). Nothing was changed. Try again.",
                )
            }
            _ if error.is_closed() => Self::new(
                ErrorCode::Conflict,
                "Rouse is stopping. Try again after the restart.",
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
    fn unreadable_job_error_names_cause_and_fix() {
        let (what, id) = ("job", "a".to_owned());
        let error = StoreError::Unreadable { what, id, reason: "its name is a number".to_owned() };
        let error = RpcError::from(error);
        assert_eq!(error.code, ErrorCode::Storage.number());
        assert!(error.message.contains("its name is a number"), "{}", error.message);
        assert!(error.message.contains("Delete the job"), "{}", error.message);
    }
}
