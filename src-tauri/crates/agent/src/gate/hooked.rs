//! What stands between a call that may be made and its beginning: a look at the rate limit, the budgets and the hooks.
//!
//! Owns what becomes of a call on that way, and takes nothing of the rate: only a call that has passed here does. A hook can
//! make it stricter, and can make another call of it, which is judged from the beginning. One could get it wrong by asking
//! the hooks again about a call that a person was asked about because of them, for ever, or by never asking them about one
//! that a person has said yes to for another reason.

use rouse_core::approval::{HookNo, Refusal};
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{Tool, ToolContext};
use rouse_core::turn::COMPLETE_RUN;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::judge::ByHooks;
use super::refused::Refused;
use super::{Gate, GateError, Terms, guard};
use crate::hooks::CallRuling;
use crate::money::{self, Seat, Wanted};

/// How often hooks may make another call of one before it is refused.
const MOST_REWRITES: usize = 4;

/// What is asked of the gate, and what has become of it on the way.
pub(super) struct Asked {
    /// The call, as the hooks have made it.
    pub(super) request: ToolCallRequest,
    rewrites: usize,
    /// Why somebody wants a person's yes to it, which it does not need by itself.
    pub(super) wants_yes: Option<String>,
    /// Whether a person has said yes to it, for whatever reason they were asked.
    pub(super) has_yes: bool,
    /// Whether a hook has wanted that just now. A person has been asked because of it, and has said yes, when the call
    /// comes to the hooks again.
    is_hook_answered: bool,
    /// Which hook has made it of another call.
    pub(super) made_by: Option<String>,
    /// Its place among the calls that are paid for.
    pub(super) seat: Option<Seat>,
}

impl Asked {
    pub(super) fn of(request: &ToolCallRequest) -> Self {
        Self {
            request: request.clone(),
            rewrites: 0,
            wants_yes: None,
            has_yes: false,
            is_hook_answered: false,
            made_by: None,
            seat: None,
        }
    }

    /// From now on it is the call that a hook has made of it. Whoever was asked about the one is asked about the other.
    fn becomes(&mut self, arguments: Value, by: String) {
        self.rewrites += 1;
        self.request.arguments = arguments;
        let was_asked = self.wants_yes.is_some() || self.has_yes;
        self.has_yes = false;
        self.wants_yes = was_asked.then(|| {
            format!("The hook {by} has made it of another call, which a person was asked about.")
        });
        self.made_by = Some(by);
    }

    pub(super) fn by_hooks(&self) -> ByHooks<'_> {
        ByHooks { wanted: self.wants_yes.as_deref(), made: self.made_by.as_deref() }
    }
}

/// What the rate limit and the hooks make of a call that may be made.
pub(super) enum Hooked {
    /// It goes on.
    Go,
    /// It is judged once more.
    Again,
    /// It is not made.
    Refused(Box<Refused>),
}

impl Gate {
    /// What the rate limit, the budgets and the hooks say to a call that may be made as far as everybody else goes. No
    /// hook is asked about one that is over its rate.
    pub(super) async fn held_up(
        &self,
        terms: &Terms,
        asked: &mut Asked,
        (tool, call): (&dyn Tool, &ApprovedCall),
        context: &ToolContext,
    ) -> Result<Hooked, GateError> {
        if let Some(refusal) = self.over_rate(terms, &asked.request, &context.run_id).await? {
            return Ok(Hooked::Refused(Box::new(refusal)));
        }
        // What hooks have made of the call may cost something else.
        asked.seat = None;
        if let (Some(cost), Some(account)) =
            (tool.estimated_cost_micro_usd(call.arguments()), &terms.account)
        {
            match account.admit(Wanted::of_cost(cost), &CancellationToken::new()).await {
                Ok((seat, _)) => asked.seat = Some(seat),
                Err(money::Refusal::Budget(stop)) => {
                    let refused = Refused::new(Refusal::Budget, stop.words);
                    return Ok(Hooked::Refused(Box::new(refused)));
                }
                Err(money::Refusal::Cancelled) => return Err(GateError::Cancelled),
                Err(money::Refusal::Store(error)) => return Err(error.into()),
            }
        }
        Ok(self.ask_hooks(asked, context).await)
    }

    /// The end of a run is not theirs to refuse: it would only go on without one. What it says is asked about before it is
    /// delivered.
    async fn ask_hooks(&self, asked: &mut Asked, context: &ToolContext) -> Hooked {
        let ends_run = asked.request.tool == COMPLETE_RUN;
        if ends_run || asked.is_hook_answered || self.hooks.are_none() {
            return Hooked::Go;
        }
        let denied = |hook, how, words| {
            Hooked::Refused(Box::new(Refused::new(Refusal::Hook { hook, how }, words)))
        };
        let shown = self.shown_to_hooks(&asked.request).await;
        let seen = guard::seen(&asked.request.tool, &shown.arguments, context);
        match self.hooks.before_tool_call(&seen).await {
            CallRuling::Allow => Hooked::Go,
            CallRuling::Deny { words, by, how } => denied(by, how, words),
            // It goes already by the yes of a person to this very call.
            CallRuling::Ask(_) if asked.wants_yes.is_some() => Hooked::Go,
            CallRuling::Ask(reason) => {
                asked.is_hook_answered = true;
                asked.wants_yes = Some(reason);
                Hooked::Again
            }
            CallRuling::Rewritten { by, .. } if asked.rewrites == MOST_REWRITES => {
                let words = "Hooks make another call of this one again and again.".to_owned();
                denied(by, HookNo::KeptRewriting, words)
            }
            CallRuling::Rewritten { arguments, by } => {
                asked.becomes(self.made_of(&shown, &arguments), by);
                Hooked::Again
            }
        }
    }
}
