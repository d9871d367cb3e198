//! How a run of these tests asks a person.

use rouse_core::approval::{
    Answer, AnsweredFrom, Approval, ApprovalState, Fingerprint, Surroundings,
};
use rouse_core::{ApprovalId, Outcome, Run, RunState, UnixMs};
use rouse_store::Decided;
use serde_json::json;

use super::stage::{Begun, MINUTE, Stage};

/// A question for which there is half an hour.
pub(crate) fn question(run: &Run, id: &str, now: UnixMs) -> Approval {
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
        why: "It changes things.".to_owned(),
        is_highest: false,
        asked_at: now,
        expires_at: now.plus_ms(30 * MINUTE),
        state: ApprovalState::Pending,
        answered_from: None,
        used_at: None,
    }
}

/// Ends the attempt with these questions.
pub(crate) fn asks(stage: &Stage, begun: Begun, questions: &[&str]) -> Run {
    let run = begun.run.clone();
    let asks = questions.iter().map(|id| question(&run, id, stage.now())).collect();
    begun.end(Outcome { asks, ..Outcome::of(RunState::AwaitingApproval) });
    run
}

/// Says yes to a question.
pub(crate) async fn yes(stage: &Stage, id: &str) -> Decided {
    let id = ApprovalId::new(id);
    stage.handle.decide(&id, Answer::Once, AnsweredFrom::Page).await.expect("decided")
}
