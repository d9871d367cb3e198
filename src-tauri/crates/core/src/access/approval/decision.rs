//! Decisions of the gate, in the journal's form.
//!
//! Owns the closed set of refusals. `decision_text` has their texts for people; the gate has those for the model.
//! Never makes a row unreadable: a refusal from an older version has no kind, and an unknown kind reads as none.
//! Pitfall: storing the end of a rate limit as a time of day; the limiter knows only a duration.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;
use ts_rs::TS;

use super::request::Authorization;
use crate::job::Approvals;
use crate::{ApprovalId, GrantId};

/// The gate's decision about a call. Calls without an approval rule have none, unless a hook rewrote the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "decision", rename_all_fields = "camelCase")]
pub enum GateDecision {
    /// The person wrote the call into the job.
    Written,
    /// The person approved it. Older versions stored `answered`.
    #[serde(alias = "answered")]
    Approved {
        /// The approval.
        approval_id: ApprovalId,
        /// The hook that rewrote the call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewritten_by: Option<String>,
    },
    /// A grant of the job covers the call.
    Granted {
        /// The grant.
        grant_id: GrantId,
        /// The hook that rewrote the call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewritten_by: Option<String>,
    },
    /// No approval needed, but a hook rewrote the call.
    Rewritten {
        /// The hook.
        rewritten_by: String,
    },
    /// Not allowed.
    Refused {
        /// The kind; none when unknown. Older versions stored `why`.
        #[serde(
            default,
            alias = "why",
            deserialize_with = "known_kind",
            skip_serializing_if = "Option::is_none"
        )]
        refusal: Option<Refusal>,
        /// The hook that rewrote the call before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewritten_by: Option<String>,
    },
}

impl GateDecision {
    /// The decision about a call that is made; none when there is nothing to record.
    #[must_use]
    pub fn for_made_call(
        authorization: Option<&Authorization>,
        is_written: bool,
        rewritten_by: Option<String>,
    ) -> Option<Self> {
        match authorization {
            Some(Authorization::Approval(id)) => {
                Some(Self::Approved { approval_id: id.clone(), rewritten_by })
            }
            Some(Authorization::Grant(id)) => {
                Some(Self::Granted { grant_id: id.clone(), rewritten_by })
            }
            None if is_written => Some(Self::Written),
            None => rewritten_by.map(|rewritten_by| Self::Rewritten { rewritten_by }),
        }
    }
}

/// The kind of a refusal. The aliases are names of older versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Refusal {
    /// No tool has this name.
    UnknownTool,
    /// The arguments violate the schema.
    #[serde(alias = "misfit")]
    InvalidArguments,
    /// Over the tool's rate limit.
    RateLimited {
        /// Milliseconds until the next permitted call.
        wait_ms: i64,
    },
    /// The tool is not on the run's list.
    NotListed,
    /// The run is read-only because of untrusted skills in the context.
    Ceiling {
        /// Their names.
        skills: Vec<String>,
    },
    /// The tool needs an attended turn.
    Unattended,
    /// Approval is needed, and the job's policy is `deny` or `skip`.
    #[serde(alias = "unasked")]
    ApprovalDisabled {
        /// The policy.
        approvals: Approvals,
    },
    /// Denied by a hook.
    Hook {
        /// The hook.
        hook: String,
        /// How the hook denied the call.
        how: HookDenial,
    },
    /// Denied by the person.
    Denied {
        /// The person's reason.
        reason: Option<String>,
    },
    /// The approval expired.
    Expired,
    /// Approval is needed, and the job is deleted.
    #[serde(alias = "jobGone")]
    JobDeleted,
    /// Approval is needed, and approvals of earlier runs of the job are pending.
    #[serde(alias = "earlierAsks")]
    EarlierApprovals,
    /// The call would have leaked a secret.
    Leak {
        /// The detected secrets: `secret:NAME` for a stored secret, else the pattern.
        found: Vec<String>,
    },
    /// A secret handle cannot be resolved: unknown secret, or bound to another host.
    Secret {
        /// The secret's name.
        name: String,
    },
    /// The arguments hold the value of a stored secret.
    #[serde(alias = "unkept")]
    StoredSecret {
        /// The secrets' names.
        #[serde(default)]
        names: Vec<String>,
    },
    /// Over budget.
    Budget,
    /// No sandbox is available on this computer.
    NoSandbox,
    /// The tool cannot carry out the call.
    Impossible,
}

impl Refusal {
    /// The name of the kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// The way a hook denied a call. The aliases are names of older versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum HookDenial {
    /// The hook denied the call.
    #[serde(alias = "saidNo")]
    Denied,
    /// The hook failed or timed out, which counts as deny.
    #[serde(alias = "didNotAnswer")]
    Failed,
    /// The hook rewrote the call repeatedly.
    #[serde(alias = "keptRewriting")]
    RewriteLimit,
}

/// An unknown kind from a newer version reads as none: the refusal itself stays known.
fn known_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Refusal>, D::Error> {
    let refusal = Option::<Value>::deserialize(deserializer)?;
    Ok(refusal.and_then(|refusal| serde_json::from_value(refusal).ok()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(refusal: Refusal) -> GateDecision {
        GateDecision::Refused { refusal: Some(refusal), rewritten_by: None }
    }

    fn read(stored: Value) -> GateDecision {
        serde_json::from_value(stored).expect("a decision")
    }

    #[test]
    fn decisions_of_earlier_versions_are_read() {
        let plain = GateDecision::Refused { refusal: None, rewritten_by: None };
        assert_eq!(read(json!({ "decision": "refused" })), plain);
        assert_eq!(json!(plain), json!({ "decision": "refused" }));
        let id = ApprovalId::new("a");
        assert_eq!(
            read(json!({ "decision": "approved", "approvalId": "a" })),
            GateDecision::Approved { approval_id: id, rewritten_by: None }
        );
        let id = GrantId::new("g");
        assert_eq!(
            read(json!({ "decision": "granted", "grantId": "g" })),
            GateDecision::Granted { grant_id: id, rewritten_by: None }
        );
        assert_eq!(read(json!({ "decision": "written" })), GateDecision::Written);
        let hook = |how| Refusal::Hook { hook: "guard".to_owned(), how };
        let stored_hook = |how: &str| json!({ "kind": "hook", "hook": "guard", "how": how });
        for (stored, refusal) in [
            (json!({ "kind": "misfit" }), Refusal::InvalidArguments),
            (
                json!({ "kind": "unasked", "approvals": "skip" }),
                Refusal::ApprovalDisabled { approvals: Approvals::Skip },
            ),
            (json!({ "kind": "jobGone" }), Refusal::JobDeleted),
            (json!({ "kind": "earlierAsks" }), Refusal::EarlierApprovals),
            (json!({ "kind": "unkept" }), Refusal::StoredSecret { names: Vec::new() }),
            (stored_hook("saidNo"), hook(HookDenial::Denied)),
            (stored_hook("didNotAnswer"), hook(HookDenial::Failed)),
            (stored_hook("keptRewriting"), hook(HookDenial::RewriteLimit)),
        ] {
            assert_eq!(read(json!({ "decision": "refused", "why": stored })), refused(refusal));
        }
    }

    #[test]
    fn unknown_kind_reads_as_plain_refusal() {
        let newer =
            json!({ "decision": "refused", "refusal": { "kind": "later" }, "rewrittenBy": "a" });
        let rewritten_by = Some("a".to_owned());
        assert_eq!(read(newer), GateDecision::Refused { refusal: None, rewritten_by });
    }

    #[test]
    fn every_kind_round_trips() {
        let name = || "n".to_owned();
        for (why, stored) in [
            (Refusal::UnknownTool, json!({ "kind": "unknownTool" })),
            (Refusal::InvalidArguments, json!({ "kind": "invalidArguments" })),
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
                Refusal::ApprovalDisabled { approvals: Approvals::Deny },
                json!({ "kind": "approvalDisabled", "approvals": "deny" }),
            ),
            (
                Refusal::Hook { hook: name(), how: HookDenial::Denied },
                json!({ "kind": "hook", "hook": "n", "how": "denied" }),
            ),
            (Refusal::Denied { reason: Some(name()) }, json!({ "kind": "denied", "reason": "n" })),
            (Refusal::Expired, json!({ "kind": "expired" })),
            (Refusal::JobDeleted, json!({ "kind": "jobDeleted" })),
            (Refusal::EarlierApprovals, json!({ "kind": "earlierApprovals" })),
            (Refusal::Leak { found: vec![name()] }, json!({ "kind": "leak", "found": ["n"] })),
            (Refusal::Secret { name: name() }, json!({ "kind": "secret", "name": "n" })),
            (
                Refusal::StoredSecret { names: vec![name()] },
                json!({ "kind": "storedSecret", "names": ["n"] }),
            ),
            (Refusal::Budget, json!({ "kind": "budget" })),
            (Refusal::NoSandbox, json!({ "kind": "noSandbox" })),
            (Refusal::Impossible, json!({ "kind": "impossible" })),
        ] {
            let decision = refused(why);
            assert_eq!(json!(decision), json!({ "decision": "refused", "refusal": stored }));
            assert_eq!(read(json!(decision)), decision);
        }
    }

    #[test]
    fn made_call_records_authorization_and_hook() {
        let by = || Some("guard".to_owned());
        let approval = Authorization::Approval(ApprovalId::new("a"));
        let made = |authorization: Option<&Authorization>, is_written, by| {
            GateDecision::for_made_call(authorization, is_written, by).map(|made| json!(made))
        };
        assert_eq!(made(None, false, None), None);
        assert_eq!(made(None, true, None), Some(json!({ "decision": "written" })));
        assert_eq!(
            made(None, false, by()),
            Some(json!({ "decision": "rewritten", "rewrittenBy": "guard" }))
        );
        assert_eq!(
            made(Some(&approval), true, by()),
            Some(json!({ "decision": "approved", "approvalId": "a", "rewrittenBy": "guard" }))
        );
        let grant = Authorization::Grant(GrantId::new("g"));
        assert_eq!(
            made(Some(&grant), false, None),
            Some(json!({ "decision": "granted", "grantId": "g" }))
        );
    }
}
