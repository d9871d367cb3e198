//! Short texts of gate decisions, for run pages and the CLI.
//!
//! Owns the text of every refusal. Names and reasons are cut to a line and escaped. Pitfall: a wait in the present tense; a
//! run is read hours later.

use super::decision::{GateDecision, HookDenial, Refusal};
use crate::text::{escape_invisible, first_line};
use crate::time::format_duration;

/// Maximum characters of a name or a reason.
const MAX_NAME: usize = 60;

impl GateDecision {
    /// The decision, and the hook that rewrote the call: `refused: unknown tool`.
    #[must_use]
    pub fn describe(&self) -> String {
        let (decision, hook) = match self {
            Self::Written => ("fixed by the job".to_owned(), None),
            Self::Approved { rewritten_by, .. } => {
                ("allowed by you".to_owned(), rewritten_by.as_deref())
            }
            Self::Granted { rewritten_by, .. } => {
                ("covered by a grant".to_owned(), rewritten_by.as_deref())
            }
            Self::Rewritten { rewritten_by } => return rewrite_text(rewritten_by),
            Self::Refused { refusal, rewritten_by } => (
                refusal.as_ref().map_or_else(|| "refused".to_owned(), refusal_text),
                rewritten_by.as_deref(),
            ),
        };
        match hook {
            Some(hook) => format!("{decision} · {}", rewrite_text(hook)),
            None => decision,
        }
    }
}

fn rewrite_text(hook: &str) -> String {
    format!("rewritten by hook {}", shorten(hook, MAX_NAME))
}

fn refusal_text(refusal: &Refusal) -> String {
    let text = match refusal {
        Refusal::UnknownTool => "refused: unknown tool",
        Refusal::InvalidArguments => "refused: invalid arguments",
        Refusal::RateLimited { wait_ms } => return rate_limit_text(*wait_ms),
        Refusal::NotListed => "refused: not in the job's tools",
        Refusal::Ceiling { skills } => {
            let skills = shorten(&skills.join(", "), MAX_NAME);
            return format!("refused: read-only because of an untrusted skill ({skills})");
        }
        Refusal::Unattended => "refused: only available in chat",
        Refusal::ApprovalDisabled { approvals } => {
            return format!(
                "refused: needs approval, and approvals are set to {}",
                approvals.name()
            );
        }
        Refusal::Hook { hook, how } => return hook_text(&shorten(hook, MAX_NAME), *how),
        Refusal::Denied { reason: Some(reason) } => {
            return format!("denied by you: {}", shorten(reason, MAX_NAME));
        }
        Refusal::Denied { reason: None } => "denied by you",
        Refusal::Expired => "approval expired",
        Refusal::JobDeleted => "refused: needs approval, and the job was deleted",
        Refusal::EarlierApprovals => "refused: earlier runs await approval",
        Refusal::Leak { found } => {
            let found = shorten(&found.join(", "), MAX_NAME);
            return format!("refused: would leak {found}");
        }
        Refusal::Secret { name } => {
            return format!("refused: secret {} is not available", shorten(name, MAX_NAME));
        }
        Refusal::StoredSecret { .. } => "refused: contains the value of a stored secret",
        Refusal::Budget => "refused: over budget",
        Refusal::NoSandbox => "refused: no sandbox available",
        Refusal::Impossible => "refused: could not run",
    };
    text.to_owned()
}

fn rate_limit_text(wait_ms: i64) -> String {
    let seconds = (wait_ms + 999) / 1_000;
    format!("refused: rate limit reached, retry after {}", format_duration(seconds * 1_000))
}

fn hook_text(hook: &str, how: HookDenial) -> String {
    match how {
        HookDenial::Denied => format!("refused by hook {hook}"),
        HookDenial::Failed => format!("refused: hook {hook} did not respond"),
        HookDenial::RewriteLimit => {
            format!("refused: hook {hook} kept rewriting the call")
        }
    }
}

fn shorten(text: &str, max: usize) -> String {
    first_line(text, max, escape_invisible)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn text(gate: Value) -> String {
        serde_json::from_value::<GateDecision>(gate).expect("a decision").describe()
    }

    #[test]
    fn each_refusal_has_its_text() {
        for (why, expected) in [
            (Value::Null, "refused"),
            (json!({ "kind": "unknownTool" }), "refused: unknown tool"),
            (json!({ "kind": "invalidArguments" }), "refused: invalid arguments"),
            (
                json!({ "kind": "rateLimited", "waitMs": 39_001 }),
                "refused: rate limit reached, retry after 40 s",
            ),
            (json!({ "kind": "notListed" }), "refused: not in the job's tools"),
            (
                json!({ "kind": "ceiling", "skills": ["notes", "mail"] }),
                "refused: read-only because of an untrusted skill (notes, mail)",
            ),
            (json!({ "kind": "unattended" }), "refused: only available in chat"),
            (
                json!({ "kind": "approvalDisabled", "approvals": "deny" }),
                "refused: needs approval, and approvals are set to deny",
            ),
            (json!({ "kind": "hook", "hook": "guard", "how": "denied" }), "refused by hook guard"),
            (
                json!({ "kind": "hook", "hook": "guard", "how": "failed" }),
                "refused: hook guard did not respond",
            ),
            (
                json!({ "kind": "hook", "hook": "guard", "how": "rewriteLimit" }),
                "refused: hook guard kept rewriting the call",
            ),
            (
                json!({ "kind": "denied", "reason": "Not \u{1b}[2J that.\nNever." }),
                "denied by you: Not ⟨U+001B⟩[2J that.…",
            ),
            (json!({ "kind": "denied", "reason": null }), "denied by you"),
            (json!({ "kind": "expired" }), "approval expired"),
            (json!({ "kind": "jobDeleted" }), "refused: needs approval, and the job was deleted"),
            (json!({ "kind": "earlierApprovals" }), "refused: earlier runs await approval"),
            (
                json!({ "kind": "leak", "found": ["secret:mail", "stripe-access-token"] }),
                "refused: would leak secret:mail, stripe-access-token",
            ),
            (json!({ "kind": "secret", "name": "mail" }), "refused: secret mail is not available"),
            (
                json!({ "kind": "storedSecret", "names": ["mail"] }),
                "refused: contains the value of a stored secret",
            ),
            (json!({ "kind": "budget" }), "refused: over budget"),
            (json!({ "kind": "noSandbox" }), "refused: no sandbox available"),
            (json!({ "kind": "impossible" }), "refused: could not run"),
        ] {
            assert_eq!(text(json!({ "decision": "refused", "refusal": why })), expected);
        }
    }

    #[test]
    fn hook_that_rewrote_a_call_is_named() {
        let hook = "guard";
        for (gate, expected) in [
            (json!({ "decision": "rewritten", "rewrittenBy": hook }), "rewritten by hook guard"),
            (
                json!({ "decision": "approved", "approvalId": "a", "rewrittenBy": hook }),
                "allowed by you · rewritten by hook guard",
            ),
            (
                json!({ "decision": "refused", "refusal": { "kind": "invalidArguments" }, "rewrittenBy": hook }),
                "refused: invalid arguments · rewritten by hook guard",
            ),
        ] {
            assert_eq!(text(gate), expected);
        }
    }
}
