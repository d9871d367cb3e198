//! How often a run has asked, as far as that counts.
//!
//! Owns which questions are the same one: a crash between a yes and the end of its call has the call asked about again,
//! and that takes none of its questions from the run. One could get it wrong by counting calls: one whose yes has lost its
//! ground because a file changed is asked about again as well, and could be so without end. Or by the ids of calls: some
//! providers count them anew with every answer, so a call that has come to its end is not the one that is asked about later.

use super::Approval;
use crate::ApprovalId;

/// How many of the questions that a run has `asked`, the oldest first, count before the question `now`. One whose yes was
/// used and that is asked again in the same words, because its call was cut off, counts with the later one; `ended` are
/// those with a call on their ground that came to its end.
#[must_use]
pub fn asked_before(asked: &[Approval], now: &Approval, ended: &[ApprovalId]) -> usize {
    let is_asked_again = |place: &usize| {
        let mut later = asked[place + 1..].iter().chain([now]);
        !ended.contains(&asked[*place].id)
            && later.any(|later| is_same_again(&asked[*place], later))
    };
    (0..asked.len()).filter(|place| !is_asked_again(place)).count()
}

fn is_same_again(one: &Approval, later: &Approval) -> bool {
    one.used_at.is_some()
        && (&one.call_id, &one.tool, &one.arguments)
            == (&later.call_id, &later.tool, &later.arguments)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approval::{ApprovalState, Fingerprint, Surroundings};
    use crate::{ApprovalId, RunId, UnixMs};

    fn question(call: &str, number: i64, used_at: Option<UnixMs>) -> Approval {
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
            why: String::new(),
            is_highest: false,
            asked_at: UnixMs(0),
            expires_at: UnixMs(1),
            state: ApprovalState::Pending,
            answered_from: None,
            used_at,
        }
    }

    #[test]
    fn a_question_that_a_crash_has_asked_again_counts_once() {
        let (used, now) = (Some(UnixMs(1)), question("c3", 3, None));
        let cut_off = [question("c1", 1, used), question("c1", 1, used), question("c2", 2, used)];
        assert_eq!(asked_before(&cut_off, &now, &[]), 2);
        assert_eq!(asked_before(&cut_off, &question("c2", 2, None), &[]), 1);
        let unused = [question("c1", 1, None), question("c1", 1, None)];
        assert_eq!(asked_before(&unused, &now, &[]), 2, "its ground has changed, not its call");
        let same_id = [question("c", 1, used), question("c", 2, used)];
        assert_eq!(
            asked_before(&same_id, &question("c", 3, None), &[]),
            2,
            "those are three calls"
        );
    }

    #[test]
    fn a_question_whose_call_has_ended_is_not_asked_again() {
        let used = Some(UnixMs(1));
        let asked =
            ["a", "b"].map(|id| Approval { id: ApprovalId::new(id), ..question("c", 1, used) });
        let now = question("c", 1, None);
        assert_eq!(asked_before(&asked, &now, &[]), 0);
        assert_eq!(asked_before(&asked, &now, &[ApprovalId::new("a")]), 1);
        assert_eq!(asked_before(&asked, &now, &["a", "b"].map(ApprovalId::new)), 2);
    }
}
