//! Work that waits for a pending approval.
//!
//! Owns the count and the summary, so that all surfaces show the same. A parked run releases its permit and does not count
//! for the overlap policy, so later slots are not blocked; blocked are the run and the jobs that start after it.
//! Pitfall: deriving the blocked work from the overlap policy, which is about active runs.

use rouse_core::approval::{Approval, ApprovalState};
use rouse_core::text::capitalize;
use rouse_core::{JobId, RunState};
use rouse_store::RunQuery;

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::cron::followers;
use crate::wire::{BlockedWork, Follower};

/// The states of runs that were not blocked. Skipped and missed slots never ran.
const UNBLOCKED_STATES: [RunState; 9] = [
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

/// The work that waits for `approval`; none once decided.
pub(super) async fn blocked_work(
    context: &Context,
    approval: &Approval,
) -> Result<Option<BlockedWork>, RpcError> {
    if approval.state != ApprovalState::Pending {
        return Ok(None);
    }
    let approvals = context.store.approvals_of_run(&approval.run_id).await?;
    let is_other =
        |other: &&Approval| other.state == ApprovalState::Pending && other.id != approval.id;
    let other_approvals =
        u32::try_from(approvals.iter().filter(is_other).count()).unwrap_or(u32::MAX);
    let (followers, later_runs, fires_again) = match &approval.job_id {
        None => (Vec::new(), 0, false),
        Some(job) => (
            followers(context, job).await?,
            count_later_runs(context, job, approval).await?,
            fires_again(context, job).await?,
        ),
    };
    let subject = match &approval.job_id {
        Some(_) => "this run",
        None => match context.store.run(&approval.run_id).await? {
            Some(run) if run.trigger.is_main_turn() => "this turn of the main session",
            _ => "this call",
        },
    };
    let text = summary(subject, other_approvals, &followers, later_runs, fires_again);
    Ok(Some(BlockedWork { text, other_approvals, followers, later_runs }))
}

/// The number of runs of `job` since the request.
async fn count_later_runs(
    context: &Context,
    job: &JobId,
    approval: &Approval,
) -> Result<u32, RpcError> {
    let query = RunQuery {
        job_id: Some(job.clone()),
        states: UNBLOCKED_STATES.to_vec(),
        from: Some(approval.requested_at.plus_ms(1)),
        limit: 1,
        ..RunQuery::default()
    };
    Ok(context.store.runs(&query).await?.total)
}

async fn fires_again(context: &Context, job: &JobId) -> Result<bool, RpcError> {
    let job = context.store.job(job).await?;
    Ok(job.is_some_and(|job| job.enabled && job.state.next_run_at.is_some()))
}

fn summary(
    subject: &str,
    other_approvals: u32,
    followers: &[Follower],
    later_runs: u32,
    fires_again: bool,
) -> String {
    let capitalized = capitalize(subject);
    let mut text = match followers {
        [] => format!("Only {subject}."),
        [job] => format!("{capitalized}, and “{}”, which starts after it.", job.name),
        [first, second] => format!(
            "{capitalized}, and “{}” and “{}”, which start after it.",
            first.name, second.name
        ),
        jobs => format!("{capitalized}, and {} jobs that start after it.", jobs.len()),
    };
    text += &match (later_runs, fires_again) {
        (0, false) => String::new(),
        (0, true) => " Later runs of the job are not blocked.".to_owned(),
        (1, _) => " One later run of the job was not blocked.".to_owned(),
        (count, _) => format!(" {count} later runs of the job were not blocked."),
    };
    text += &match other_approvals {
        0 => String::new(),
        1 => " One other approval of this run is pending.".to_owned(),
        count => format!(" {count} other approvals of this run are pending."),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follower(name: &str) -> Follower {
        Follower { id: name.to_lowercase(), name: name.to_owned() }
    }

    #[test]
    fn summary_names_all_blocked_work() {
        let all = [follower("Report"), follower("Mail"), follower("Backup")];
        for (other_approvals, followers, later_runs, fires_again, expected) in [
            (0, 0, 0, false, "Only this run."),
            (0, 0, 0, true, "Only this run. Later runs of the job are not blocked."),
            (0, 0, 1, true, "Only this run. One later run of the job was not blocked."),
            (0, 0, 3, false, "Only this run. 3 later runs of the job were not blocked."),
            (0, 1, 0, false, "This run, and “Report”, which starts after it."),
            (0, 2, 0, false, "This run, and “Report” and “Mail”, which start after it."),
            (0, 3, 0, false, "This run, and 3 jobs that start after it."),
            (1, 0, 0, false, "Only this run. One other approval of this run is pending."),
            (2, 0, 0, false, "Only this run. 2 other approvals of this run are pending."),
        ] {
            let followers = &all[..followers];
            let text = summary("this run", other_approvals, followers, later_runs, fires_again);
            assert_eq!(text, expected);
        }
    }
}
