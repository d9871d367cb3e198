//! What the gate decided about a call, and of which kind a refusal was, as both stand in the journal.
//!
//! Owns the kinds of refusals: what a surface says of one it makes out of the kind, never out of the words that a model was
//! told. A kind holds what people want to know of it later and nothing that must not be written down. It refuses to make a
//! row unreadable: a refusal that an earlier version has written has no kind, and one whose kind only a newer version knows
//! is read as one without. One could get it wrong by keeping when a tool could be called again as a time of day: what counts
//! calls knows only how long that is.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Permit;
use crate::job::Approvals;
use crate::{ApprovalId, GrantId};

/// What the gate decided about a call, as it stands in the journal. A call that needs nobody's yes has none, but where a
/// hook has made it of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "decision", rename_all_fields = "camelCase")]
pub enum GateDecision {
    /// The person has written the call into the job.
    Written,
    /// The person said yes to it.
    Answered {
        /// The question.
        approval_id: ApprovalId,
        /// The hook that had made it of another call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewritten_by: Option<String>,
    },
    /// A grant of the job covers it.
    Granted {
        /// The grant.
        grant_id: GrantId,
        /// The hook that had made it of another call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewritten_by: Option<String>,
    },
    /// It needs nobody's yes. A hook has made it of another call.
    Rewritten {
        /// The hook.
        rewritten_by: String,
    },
    /// It was not let through.
    Refused {
        /// Of which kind that was; none where it is not known.
        #[serde(default, deserialize_with = "known_kind", skip_serializing_if = "Option::is_none")]
        why: Option<Refusal>,
        /// The hook that had made it of another call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewritten_by: Option<String>,
    },
}

impl GateDecision {
    /// The one about a call that is made, on this ground; none where there is nothing to say of it.
    #[must_use]
    pub fn of_made(
        permit: Option<&Permit>,
        is_written: bool,
        rewritten_by: Option<String>,
    ) -> Option<Self> {
        match permit {
            Some(Permit::Answer(id)) => {
                Some(Self::Answered { approval_id: id.clone(), rewritten_by })
            }
            Some(Permit::Grant(id)) => Some(Self::Granted { grant_id: id.clone(), rewritten_by }),
            None if is_written => Some(Self::Written),
            None => rewritten_by.map(|rewritten_by| Self::Rewritten { rewritten_by }),
        }
    }
}

/// Of which kind a refusal is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum Refusal {
    /// There is no tool of that name.
    UnknownTool,
    /// The arguments do not fit the tool's parameters.
    Misfit,
    /// The tool was called too often.
    RateLimited {
        /// How long from then until it may be called again.
        wait_ms: i64,
    },
    /// The tool is not among those that the run may call.
    NotListed,
    /// The run may only look, because it is told of these skills that nobody has trusted.
    Ceiling {
        /// Their names.
        skills: Vec<String>,
    },
    /// The tool is for turns that a person has started.
    Unattended,
    /// It needs a yes, and the job asks nobody.
    Unasked {
        /// The job's setting.
        approvals: Approvals,
    },
    /// A hook stands against it.
    Hook {
        /// Its name.
        hook: String,
        /// In which way.
        how: HookNo,
    },
    /// The person said no.
    Denied {
        /// In the person's words.
        reason: Option<String>,
    },
    /// Nobody answered the question in time.
    Expired,
    /// It needs a yes, and the job is not there any more to ask for it.
    JobGone,
    /// It needs a yes, and earlier runs of the job wait for answers.
    EarlierAsks,
    /// It would have carried a secret away.
    Leak {
        /// What was found: `secret:NAME` of a stored one, or what it looked like.
        found: Vec<String>,
    },
    /// A handle in it cannot be filled: there is no such secret, or it may not go there.
    Secret {
        /// The secret's name.
        name: String,
    },
    /// It holds the value of a stored secret that neither a question nor the journal may hold.
    Unkept,
    /// A budget has no room for it.
    Budget,
    /// There is no sandbox for it on this computer.
    NoSandbox,
    /// Its tool says that it could not be carried out.
    Impossible,
}

/// How a hook stands against a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HookNo {
    /// It says no.
    SaidNo,
    /// It did not answer, which counts as a no.
    DidNotAnswer,
    /// It makes another call of it again and again.
    KeptRewriting,
}

/// What a newer version calls a refusal is no reason not to know that it was one.
fn known_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Refusal>, D::Error> {
    let why = Option::<Value>::deserialize(deserializer)?;
    Ok(why.and_then(|why| serde_json::from_value(why).ok()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(why: Refusal) -> GateDecision {
        GateDecision::Refused { why: Some(why), rewritten_by: None }
    }

    fn read(stored: Value) -> GateDecision {
        serde_json::from_value(stored).expect("a decision")
    }

    #[test]
    fn what_earlier_versions_have_written_reads_as_it_was() {
        let plain = GateDecision::Refused { why: None, rewritten_by: None };
        assert_eq!(read(json!({ "decision": "refused" })), plain);
        assert_eq!(json!(plain), json!({ "decision": "refused" }));
        let id = ApprovalId::new("a");
        assert_eq!(
            read(json!({ "decision": "answered", "approvalId": "a" })),
            GateDecision::Answered { approval_id: id, rewritten_by: None }
        );
        let id = GrantId::new("g");
        assert_eq!(
            read(json!({ "decision": "granted", "grantId": "g" })),
            GateDecision::Granted { grant_id: id, rewritten_by: None }
        );
        assert_eq!(read(json!({ "decision": "written" })), GateDecision::Written);
    }

    #[test]
    fn a_kind_that_only_a_newer_version_knows_is_a_plain_refusal() {
        let newer =
            json!({ "decision": "refused", "why": { "kind": "later" }, "rewrittenBy": "a" });
        let rewritten_by = Some("a".to_owned());
        assert_eq!(read(newer), GateDecision::Refused { why: None, rewritten_by });
    }

    #[test]
    fn every_kind_is_read_as_it_was_written() {
        let name = || "n".to_owned();
        for (why, stored) in [
            (Refusal::UnknownTool, json!({ "kind": "unknownTool" })),
            (Refusal::Misfit, json!({ "kind": "misfit" })),
            (
                Refusal::RateLimited { wait_ms: 40_000 },
                json!({ "kind": "rateLimited", "waitMs": 40_000 }),
            ),
            (Refusal::NotListed, json!({ "kind": "notListed" })),
            (
                Refusal::Ceiling { skills: vec![name()] },
                json!({ "kind": "ceiling", "skills": ["n"] }),
            ),
            (Refusal::Unattended, json!({ "kind": "unattended" })),
            (
                Refusal::Unasked { approvals: Approvals::Deny },
                json!({ "kind": "unasked", "approvals": "deny" }),
            ),
            (
                Refusal::Hook { hook: name(), how: HookNo::SaidNo },
                json!({ "kind": "hook", "hook": "n", "how": "saidNo" }),
            ),
            (Refusal::Denied { reason: Some(name()) }, json!({ "kind": "denied", "reason": "n" })),
            (Refusal::Expired, json!({ "kind": "expired" })),
            (Refusal::JobGone, json!({ "kind": "jobGone" })),
            (Refusal::EarlierAsks, json!({ "kind": "earlierAsks" })),
            (Refusal::Leak { found: vec![name()] }, json!({ "kind": "leak", "found": ["n"] })),
            (Refusal::Secret { name: name() }, json!({ "kind": "secret", "name": "n" })),
            (Refusal::Unkept, json!({ "kind": "unkept" })),
            (Refusal::Budget, json!({ "kind": "budget" })),
            (Refusal::NoSandbox, json!({ "kind": "noSandbox" })),
            (Refusal::Impossible, json!({ "kind": "impossible" })),
        ] {
            let decision = refused(why);
            assert_eq!(json!(decision), json!({ "decision": "refused", "why": stored }));
            assert_eq!(read(json!(decision)), decision);
        }
    }

    #[test]
    fn a_call_that_is_made_says_on_what_ground_and_who_has_rewritten_it() {
        let by = || Some("guard".to_owned());
        let answer = Permit::Answer(ApprovalId::new("a"));
        let made = |permit: Option<&Permit>, is_written, by| {
            GateDecision::of_made(permit, is_written, by).map(|made| json!(made))
        };
        assert_eq!(made(None, false, None), None);
        assert_eq!(made(None, true, None), Some(json!({ "decision": "written" })));
        assert_eq!(
            made(None, false, by()),
            Some(json!({ "decision": "rewritten", "rewrittenBy": "guard" }))
        );
        assert_eq!(
            made(Some(&answer), true, by()),
            Some(json!({ "decision": "answered", "approvalId": "a", "rewrittenBy": "guard" }))
        );
        let grant = Permit::Grant(GrantId::new("g"));
        assert_eq!(
            made(Some(&grant), false, None),
            Some(json!({ "decision": "granted", "grantId": "g" }))
        );
    }
}
