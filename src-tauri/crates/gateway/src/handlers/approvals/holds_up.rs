//! What an open question holds up.
//!
//! A parked run has given its place back and does not count for its job's overlap, so later slots go by, whatever the
//! policy. What does wait is the run itself, and every job that starts when it has ended. Counted here from what is
//! stored, and put into words here, so that the window and the command line say the same. One could get it wrong by
//! reading it off the overlap policy: that speaks of runs at work.

use rouse_core::approval::{Approval, ApprovalState};
use rouse_core::words::capitalised;
use rouse_core::{JobId, RunState};
use rouse_store::RunQuery;

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::cron::followers;
use crate::wire::{Follower, HoldsUp};

/// Runs in these states are not held up by anything but themselves. What was skipped or missed has not gone by.
const WENT_ON: [RunState; 9] = [
    RunState::Queued,
    RunState::Running,
    RunState::AwaitingApproval,
    RunState::Succeeded,
    RunState::NothingToReport,
    RunState::Failed,
    RunState::TimedOut,
    RunState::Cancelled,
    RunState::Interrupted,
];

/// What waits for an answer to `approval`; nothing once it has one.
pub(super) async fn of(
    context: &Context,
    approval: &Approval,
) -> Result<Option<HoldsUp>, RpcError> {
    if approval.state != ApprovalState::Pending {
        return Ok(None);
    }
    let of_run = context.store.approvals_of(&approval.run_id).await?;
    let is_other = |one: &&Approval| one.state == ApprovalState::Pending && one.id != approval.id;
    let questions = u32::try_from(of_run.iter().filter(is_other).count()).unwrap_or(u32::MAX);
    let (followers, passed_by, fires_again) = match &approval.job_id {
        None => (Vec::new(), 0, false),
        Some(job) => (
            followers(context, job).await?,
            passed_by(context, job, approval).await?,
            fires_again(context, job).await?,
        ),
    };
    let itself = match &approval.job_id {
        Some(_) => "this run",
        None => match context.store.run(&approval.run_id).await? {
            Some(run) if run.trigger.is_main_turn() => "this turn of the main session",
            _ => "this call",
        },
    };
    let text = words(itself, questions, &followers, passed_by, fires_again);
    Ok(Some(HoldsUp { text, questions, followers, passed_by }))
}

/// Runs of `job` that were made after the question was asked.
async fn passed_by(context: &Context, job: &JobId, approval: &Approval) -> Result<u32, RpcError> {
    let query = RunQuery {
        job_id: Some(job.clone()),
        states: WENT_ON.to_vec(),
        from: Some(approval.asked_at.plus_ms(1)),
        limit: 1,
        ..RunQuery::default()
    };
    Ok(context.store.runs(&query).await?.total)
}

async fn fires_again(context: &Context, job: &JobId) -> Result<bool, RpcError> {
    let job = context.store.job(job).await?;
    Ok(job.is_some_and(|job| job.enabled && job.state.next_run_at.is_some()))
}

fn words(
    itself: &str,
    questions: u32,
    followers: &[Follower],
    passed_by: u32,
    fires_again: bool,
) -> String {
    let mut text = match followers {
        [] => format!("Only {itself}."),
        [one] => {
            format!(
                "{}, and \u{201c}{}\u{201d}, which starts after it.",
                capitalised(itself),
                one.name
            )
        }
        [one, other] => format!(
            "{}, and \u{201c}{}\u{201d} and \u{201c}{}\u{201d}, which start after it.",
            capitalised(itself),
            one.name,
            other.name
        ),
        several => {
            format!("{}, and {} jobs that start after it.", capitalised(itself), several.len())
        }
    };
    text += &match (passed_by, fires_again) {
        (0, false) => String::new(),
        (0, true) => " Later runs of the job do not wait for it.".to_owned(),
        (1, _) => " One later run of the job did not wait for it.".to_owned(),
        (many, _) => format!(" {many} later runs of the job did not wait for it."),
    };
    match questions {
        0 => {}
        1 => text += " One more question of this run needs an answer, too.",
        many => text += &format!(" {many} more questions of this run need an answer, too."),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follower(name: &str) -> Follower {
        Follower { id: name.to_lowercase(), name: name.to_owned() }
    }

    #[test]
    fn what_waits_is_said_and_nothing_else() {
        let all = [follower("Report"), follower("Mail"), follower("Backup")];
        for (questions, followers, passed_by, fires_again, said) in [
            (0, 0, 0, false, "Only this run."),
            (0, 0, 0, true, "Only this run. Later runs of the job do not wait for it."),
            (0, 0, 1, true, "Only this run. One later run of the job did not wait for it."),
            (0, 0, 3, false, "Only this run. 3 later runs of the job did not wait for it."),
            (0, 1, 0, false, "This run, and “Report”, which starts after it."),
            (0, 2, 0, false, "This run, and “Report” and “Mail”, which start after it."),
            (0, 3, 0, false, "This run, and 3 jobs that start after it."),
            (1, 0, 0, false, "Only this run. One more question of this run needs an answer, too."),
            (2, 0, 0, false, "Only this run. 2 more questions of this run need an answer, too."),
        ] {
            let followers = &all[..followers];
            assert_eq!(words("this run", questions, followers, passed_by, fires_again), said);
        }
    }
}
