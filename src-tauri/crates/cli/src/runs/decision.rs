//! What the gate decided about a call, in the words of the terminal.
//!
//! Owns what each kind of refusal is called; nobody else says it here. What a hook is called or a person has said is cut
//! and made visible. One could get it wrong by saying when a tool may be called again as if that were to come: a run is
//! read hours later.

use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{GateView, HookNoView, RefusalView};

use crate::output::short;

/// Letters of a name or a reason.
const NAME: usize = 60;

/// What the gate decided, and which hook had made the call of another one.
pub(super) fn decision(gate: &GateView) -> String {
    let (words, by) = match gate {
        GateView::Written => ("written into the job".to_owned(), &None),
        GateView::Answered { rewritten_by, .. } => ("allowed by you".to_owned(), rewritten_by),
        GateView::Granted { rewritten_by, .. } => ("covered by a grant".to_owned(), rewritten_by),
        GateView::Rewritten { rewritten_by } => return rewritten(rewritten_by),
        GateView::Refused { why, rewritten_by } => {
            (why.as_ref().map_or_else(|| "refused".to_owned(), refusal), rewritten_by)
        }
    };
    match by {
        Some(hook) => format!("{words} · {}", rewritten(hook)),
        None => words,
    }
}

fn rewritten(hook: &str) -> String {
    format!("rewritten by the hook {}", short(hook, NAME))
}

fn refusal(why: &RefusalView) -> String {
    let words = match why {
        RefusalView::UnknownTool => "refused: there is no such tool",
        RefusalView::Misfit => "refused: did not fit the tool's parameters",
        RefusalView::RateLimited { wait_ms } => return over_rate(*wait_ms),
        RefusalView::NotListed => "refused: not on the list of tools",
        RefusalView::Ceiling { skills } => {
            let skills = short(&skills.join(", "), NAME);
            return format!("refused: may only look, told of what nobody has trusted ({skills})");
        }
        RefusalView::Unattended => "refused: only while you are there",
        RefusalView::Unasked { approvals } => {
            return format!("refused: needs a yes, and approvals are set to {approvals}");
        }
        RefusalView::Hook { hook, how } => return by_hook(&short(hook, NAME), *how),
        RefusalView::Denied { reason: Some(reason) } => {
            return format!("refused by you: {}", short(reason, NAME));
        }
        RefusalView::Denied { reason: None } => "refused by you",
        RefusalView::Expired => "question expired",
        RefusalView::JobGone => "refused: needs a yes, and the job was deleted",
        RefusalView::EarlierAsks => "refused: earlier runs wait for an answer",
        RefusalView::Leak { found } => {
            let found = short(&found.join(", "), NAME);
            return format!("refused by the safety layer, which found {found}");
        }
        RefusalView::Secret { name } => {
            return format!("refused: the secret {} could not be filled in", short(name, NAME));
        }
        RefusalView::Unkept => "refused: holds a stored secret that must not be written down",
        RefusalView::Budget => "refused: over budget",
        RefusalView::NoSandbox => "refused: no sandbox for it here",
        RefusalView::Impossible => "refused: could not be carried out",
    };
    words.to_owned()
}

fn over_rate(wait_ms: i64) -> String {
    let seconds = (wait_ms + 999) / 1_000;
    format!("refused: over its rate, may be tried again after {}", format_duration(seconds * 1_000))
}

fn by_hook(hook: &str, how: HookNoView) -> String {
    match how {
        HookNoView::SaidNo => format!("refused by the hook {hook}"),
        HookNoView::DidNotAnswer => format!("refused: the hook {hook} did not answer"),
        HookNoView::KeptRewriting => {
            format!("refused: the hook {hook} rewrote it again and again")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(gate: Value) -> String {
        decision(&serde_json::from_value(gate).expect("a decision"))
    }

    #[test]
    fn every_kind_of_refusal_has_its_words() {
        for (why, words) in [
            (Value::Null, "refused"),
            (json!({ "kind": "unknownTool" }), "refused: there is no such tool"),
            (json!({ "kind": "misfit" }), "refused: did not fit the tool's parameters"),
            (
                json!({ "kind": "rateLimited", "waitMs": 39_001 }),
                "refused: over its rate, may be tried again after 40 s",
            ),
            (json!({ "kind": "notListed" }), "refused: not on the list of tools"),
            (
                json!({ "kind": "ceiling", "skills": ["notes", "mail"] }),
                "refused: may only look, told of what nobody has trusted (notes, mail)",
            ),
            (json!({ "kind": "unattended" }), "refused: only while you are there"),
            (
                json!({ "kind": "unasked", "approvals": "deny" }),
                "refused: needs a yes, and approvals are set to deny",
            ),
            (
                json!({ "kind": "hook", "hook": "guard", "how": "saidNo" }),
                "refused by the hook guard",
            ),
            (
                json!({ "kind": "hook", "hook": "guard", "how": "didNotAnswer" }),
                "refused: the hook guard did not answer",
            ),
            (
                json!({ "kind": "hook", "hook": "guard", "how": "keptRewriting" }),
                "refused: the hook guard rewrote it again and again",
            ),
            (
                json!({ "kind": "denied", "reason": "Not \u{1b}[2J that.\nNever." }),
                "refused by you: Not ⟨U+001B⟩[2J that.…",
            ),
            (json!({ "kind": "denied", "reason": null }), "refused by you"),
            (json!({ "kind": "expired" }), "question expired"),
            (json!({ "kind": "jobGone" }), "refused: needs a yes, and the job was deleted"),
            (json!({ "kind": "earlierAsks" }), "refused: earlier runs wait for an answer"),
            (
                json!({ "kind": "leak", "found": ["secret:mail", "stripe-access-token"] }),
                "refused by the safety layer, which found secret:mail, stripe-access-token",
            ),
            (
                json!({ "kind": "secret", "name": "mail" }),
                "refused: the secret mail could not be filled in",
            ),
            (
                json!({ "kind": "unkept" }),
                "refused: holds a stored secret that must not be written down",
            ),
            (json!({ "kind": "budget" }), "refused: over budget"),
            (json!({ "kind": "noSandbox" }), "refused: no sandbox for it here"),
            (json!({ "kind": "impossible" }), "refused: could not be carried out"),
        ] {
            assert_eq!(said(json!({ "decision": "refused", "why": why })), words);
        }
    }

    #[test]
    fn which_hook_has_rewritten_a_call_is_said_beside_what_was_decided() {
        let hook = "guard";
        for (gate, words) in [
            (
                json!({ "decision": "rewritten", "rewrittenBy": hook }),
                "rewritten by the hook guard",
            ),
            (
                json!({ "decision": "answered", "approvalId": "a", "rewrittenBy": hook }),
                "allowed by you · rewritten by the hook guard",
            ),
            (
                json!({ "decision": "refused", "why": { "kind": "misfit" }, "rewrittenBy": hook }),
                "refused: did not fit the tool's parameters · rewritten by the hook guard",
            ),
        ] {
            assert_eq!(said(gate), words);
        }
    }
}
