//! Approvals of test runs.

use rouse_core::approval::{
    Approval, ApprovalDecision, ApprovalState, DecisionSurface, Fingerprint, Surroundings,
};
use rouse_core::{ApprovalId, Outcome, Run, RunState, UnixMs};
use rouse_store::DecisionResult;
use serde_json::json;

use super::stage::{MINUTE, ScriptedRun, Stage};

/// An approval that expires in half an hour.
pub(crate) fn approval(run: &Run, id: &str, now: UnixMs) -> Approval {
    let arguments = json!({ "command": id });
    Approval {
        id: ApprovalId::new(id),
        run_id: run.id.clone(),
        job_id: run.job_id.clone(),
        job_name: run.job_name.clone(),
        call_id: id.to_owned(),
        tool: "run_command".to_owned(),
        fingerprint: Fingerprint::of("run_command", &arguments, &Surroundings::default()),
        arguments,
        surroundings: Surroundings::default(),
        preview: id.to_owned(),
        reason: "It changes things.".to_owned(),
        is_highest: false,
        requested_at: now,
        expires_at: now.plus_ms(30 * MINUTE),
        state: ApprovalState::Pending,
        decided_from: None,
        used_at: None,
        input: None,
    }
}

/// Ends the attempt with these approvals.
pub(crate) fn end_with_approvals(stage: &Stage, begun: ScriptedRun, ids: &[&str]) -> Run {
    let run = begun.run.clone();
    let approvals = ids.iter().map(|id| approval(&run, id, stage.now())).collect();
    begun.end(Outcome { approvals, ..Outcome::of(RunState::AwaitingApproval) });
    run
}

/// Allows a call once.
pub(crate) async fn approve(stage: &Stage, id: &str) -> DecisionResult {
    let id = ApprovalId::new(id);
    stage.handle.decide(&id, ApprovalDecision::Once, DecisionSurface::Page).await.expect("decided")
}
