//! The number of approval requests of a run, for its limit.
//!
//! Owns the rule for repeated requests: after a crash between an approval and the end of the call, the same call is
//! requested again, and the repetition does not count towards the limit. Nor do input requests, which have their own.
//! Pitfall: counting calls instead; a call is also requested again after a changed file, and that must count. Call ids
//! prove nothing either: some providers number calls anew in every answer, so a completed call is never the repeated
//! call.

use super::request::Approval;
use crate::ApprovalId;

/// Counts the `earlier` requests of a run (oldest first) that count towards the limit before `current`. A used request
/// that recurs after an interrupted call counts only with the repetition. `completed` are the requests with ended
/// calls.
#[must_use]
pub fn count_requests(earlier: &[Approval], current: &Approval, completed: &[ApprovalId]) -> usize {
    let earlier: Vec<&Approval> = earlier.iter().filter(|one| one.input.is_none()).collect();
    let recurs = |index: &usize| {
        let mut later = earlier[index + 1..].iter().copied().chain([current]);
        !completed.contains(&earlier[*index].id)
            && later.any(|later| is_repetition(earlier[*index], later))
    };
    (0..earlier.len()).filter(|index| !recurs(index)).count()
}

fn is_repetition(used: &Approval, later: &Approval) -> bool {
    used.used_at.is_some()
        && (&used.call_id, &used.tool, &used.arguments)
            == (&later.call_id, &later.tool, &later.arguments)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approval::{ApprovalState, Fingerprint, Surroundings};
    use crate::{ApprovalId, RunId, UnixMs};

    fn request(call: &str, number: i64, used_at: Option<UnixMs>) -> Approval {
        let (arguments, surroundings) = (json!({ "number": number }), Surroundings::default());
        Approval {
            id: ApprovalId::new("a"),
            run_id: RunId::new("r"),
            job_id: None,
            job_name: "Job".to_owned(),
            call_id: call.to_owned(),
            tool: "write_file".to_owned(),
            fingerprint: Fingerprint::of("write_file", &arguments, &surroundings),
            arguments,
            surroundings,
            preview: String::new(),
            reason: String::new(),
            is_highest: false,
            requested_at: UnixMs(0),
            expires_at: UnixMs(1),
            state: ApprovalState::Pending,
            decided_from: None,
            used_at,
            input: None,
        }
    }

    #[test]
    fn request_repeated_after_crash_counts_once() {
        let (used, now) = (Some(UnixMs(1)), request("c3", 3, None));
        let interrupted = [request("c1", 1, used), request("c1", 1, used), request("c2", 2, used)];
        assert_eq!(count_requests(&interrupted, &now, &[]), 2);
        assert_eq!(count_requests(&interrupted, &request("c2", 2, None), &[]), 1);
        let unused = [request("c1", 1, None), request("c1", 1, None)];
        assert_eq!(
            count_requests(&unused, &now, &[]),
            2,
            "a changed file, not an interrupted call"
        );
        let same_id = [request("c", 1, used), request("c", 2, used)];
        assert_eq!(count_requests(&same_id, &request("c", 3, None), &[]), 2, "three calls");
    }

    #[test]
    fn request_of_completed_call_counts() {
        let used = Some(UnixMs(1));
        let earlier =
            ["a", "b"].map(|id| Approval { id: ApprovalId::new(id), ..request("c", 1, used) });
        let now = request("c", 1, None);
        assert_eq!(count_requests(&earlier, &now, &[]), 0);
        assert_eq!(count_requests(&earlier, &now, &[ApprovalId::new("a")]), 1);
        assert_eq!(count_requests(&earlier, &now, &["a", "b"].map(ApprovalId::new)), 2);
    }
}
