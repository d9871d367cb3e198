//! Hooks: who is told about, or asked about, a step of a run.
//!
//! Owns the points there are, the order in which hooks are asked, and what becomes of one that fails. Some are only told:
//! nobody waits for them, and a failure is a line in the log. Two are asked, `before_tool_call` and `before_delivery`: they
//! are asked one after the other in the order of the settings, and one that fails, says nonsense or takes too long counts
//! as a no, because a guard that has fallen over guards nothing.
//!
//! It refuses to let anything through that the gate does not: a hook can make the answer stricter, and a call that it
//! rewrites is a new call, which the gate judges from the beginning. One could get it wrong by letting two hooks rewrite
//! each other's calls for ever: whoever calls counts the rewrites.

mod command;
mod events;
mod group;
mod record;

#[cfg(all(test, unix))]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rouse_core::approval::HookNo;
use rouse_core::said::own_words;
use rouse_core::tool::BoxFuture;
use serde_json::Value;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

pub use command::{CommandHook, HookCommand};
pub use events::{
    CallEnded, CallSeen, DeliverySeen, HookContext, RunEnded, RunSeen, ToolMetadata, ToolsResolved,
};
pub use group::HookPlace;
pub use record::{HookRecord, HookReport, LastCall};

/// The steps at which somebody can be told or asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookPoint {
    /// The tools of an attempt are known.
    AfterToolsResolved,
    /// A call is about to be made.
    BeforeToolCall,
    /// A call was made.
    AfterToolCall,
    /// A run begins.
    RunStarted,
    /// A run has ended.
    RunFinished,
    /// Something is about to be handed to a channel.
    BeforeDelivery,
}

impl HookPoint {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("after_tools_resolved", Self::AfterToolsResolved),
        ("before_tool_call", Self::BeforeToolCall),
        ("after_tool_call", Self::AfterToolCall),
        ("run_started", Self::RunStarted),
        ("run_finished", Self::RunFinished),
        ("before_delivery", Self::BeforeDelivery),
    ];

    /// Whether a hook there is asked and waited for; else it is only told.
    #[must_use]
    pub const fn is_asked(self) -> bool {
        matches!(self, Self::BeforeToolCall | Self::BeforeDelivery)
    }

    /// Its name in settings and on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, point)| *point == self).map_or("", |(name, _)| name)
    }
}

/// What a hook says to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallAnswer {
    /// Nothing against it.
    Allow,
    /// It is not made.
    Deny(String),
    /// A person is asked first.
    Ask(String),
    /// It is made with these arguments instead, when the gate lets that call through.
    Rewrite(Value),
}

/// What a hook says to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryAnswer {
    /// Nothing against it.
    Allow,
    /// It is suppressed, for this reason.
    Suppress(String),
    /// It says this instead.
    Rewrite {
        /// The first line.
        title: String,
        /// The text.
        body: String,
    },
}

/// Why a hook did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Somebody who is told or asked. What it does not care for it leaves as it is.
pub trait Hook: Send + Sync {
    /// Its name, for the log and the reasons.
    fn name(&self) -> &str;

    /// What it is and how it does, where a person has set it up.
    fn report(&self) -> Option<HookReport> {
        None
    }

    /// The tools of an attempt, after every policy. Told once for each attempt, when its first model is asked, also for
    /// one that follows a failure or the end of the process; a run that goes on after a person's answer goes on with the
    /// same one. Nobody waits.
    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> Told<'h> {
        let _ = event;
        nothing()
    }

    /// Whether a call may be made.
    fn before_tool_call<'h>(
        &'h self,
        call: &'h CallSeen,
    ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
        let _ = call;
        Box::pin(std::future::ready(Ok(CallAnswer::Allow)))
    }

    /// A call was made, or refused; nobody waits.
    fn after_tool_call<'h>(&'h self, call: &'h CallEnded) -> Told<'h> {
        let _ = call;
        nothing()
    }

    /// The first attempt of a run begins; nobody waits.
    fn run_started<'h>(&'h self, run: &'h RunSeen) -> Told<'h> {
        let _ = run;
        nothing()
    }

    /// A run that had begun is over, whatever ended it; nobody waits.
    fn run_finished<'h>(&'h self, run: &'h RunEnded) -> Told<'h> {
        let _ = run;
        nothing()
    }

    /// Whether something may be handed to a channel.
    fn before_delivery<'h>(
        &'h self,
        delivery: &'h DeliverySeen,
    ) -> BoxFuture<'h, Result<DeliveryAnswer, HookError>> {
        let _ = delivery;
        Box::pin(std::future::ready(Ok(DeliveryAnswer::Allow)))
    }
}

/// What a hook does that nobody waits for.
pub type Told<'h> = BoxFuture<'h, Result<(), HookError>>;

fn nothing<'h>() -> Told<'h> {
    Box::pin(std::future::ready(Ok(())))
}

/// All hooks, in their order. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hooks {
    all: Arc<[Arc<dyn Hook>]>,
    /// Those that are being told something.
    told: TaskTracker,
}

/// What all hooks together say to a call: the strictest word, and the first of several.
#[derive(Debug, Clone, PartialEq)]
pub enum CallRuling {
    /// It may be made, as far as hooks go.
    Allow,
    /// It is not made.
    Deny {
        /// Which hook and why, in words.
        words: String,
        /// Which hook.
        by: String,
        /// In which way it stands against the call.
        how: HookNo,
    },
    /// A person is asked; which hook and why.
    Ask(String),
    /// It is a call with other arguments, to be judged from the beginning.
    Rewritten {
        /// What was made of the arguments.
        arguments: Value,
        /// Which hook has made it.
        by: String,
    },
}

impl Hooks {
    /// These hooks, in this order.
    #[must_use]
    pub fn new(all: Vec<Arc<dyn Hook>>) -> Self {
        Self { all: all.into(), told: TaskTracker::new() }
    }

    /// Whether nobody is told or asked.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// The hooks that a person has set up, in their order, and how they do.
    #[must_use]
    pub fn reports(&self) -> Vec<HookReport> {
        self.all.iter().filter_map(|hook| hook.report()).collect()
    }

    /// Tells of the tools of an attempt. Nobody waits.
    pub fn after_tools_resolved(&self, event: ToolsResolved) {
        self.tell(HookPoint::AfterToolsResolved, event, |hook, event| {
            hook.after_tools_resolved(event)
        });
    }

    /// Tells of a call that was made or refused. Nobody waits.
    pub fn after_tool_call(&self, call: CallEnded) {
        self.tell(HookPoint::AfterToolCall, call, |hook, call| hook.after_tool_call(call));
    }

    /// Tells of a run that begins. Nobody waits.
    pub fn run_started(&self, run: RunSeen) {
        self.tell(HookPoint::RunStarted, run, |hook, run| hook.run_started(run));
    }

    /// Tells of a run that has ended. Nobody waits.
    pub fn run_finished(&self, run: RunEnded) {
        self.tell(HookPoint::RunFinished, run, |hook, run| hook.run_finished(run));
    }

    /// Asks about a call. The first no ends the asking; a rewritten call is not shown to the hooks after it, which are
    /// asked about it when it comes back.
    pub async fn before_tool_call(&self, call: &CallSeen) -> CallRuling {
        let mut ruling = CallRuling::Allow;
        for hook in self.all.iter() {
            let name = hook.name();
            match caught(hook.before_tool_call(call)).await {
                Ok(CallAnswer::Allow) => {}
                Ok(CallAnswer::Deny(reason)) => {
                    let words = format!("The hook {name} says no: {reason}");
                    return CallRuling::Deny { words, by: name.to_owned(), how: HookNo::SaidNo };
                }
                Ok(CallAnswer::Ask(reason)) if ruling == CallRuling::Allow => {
                    ruling = CallRuling::Ask(format!("The hook {name} wants it asked: {reason}"));
                }
                Ok(CallAnswer::Ask(_)) => {}
                Ok(CallAnswer::Rewrite(arguments)) if arguments == call.arguments => {}
                Ok(CallAnswer::Rewrite(arguments)) => {
                    return CallRuling::Rewritten { arguments, by: name.to_owned() };
                }
                Err(error) => {
                    failed(HookPoint::BeforeToolCall, name, &error);
                    let words = format!(
                        "The hook {name} gave no usable answer, so the call was not made: {error}"
                    );
                    let (by, how) = (name.to_owned(), HookNo::DidNotAnswer);
                    return CallRuling::Deny { words, by, how };
                }
            }
        }
        ruling
    }

    /// Asks about a delivery; each hook sees what the one before has made of it.
    ///
    /// # Errors
    /// When a hook did not answer; the delivery is to be tried again.
    pub async fn before_delivery(
        &self,
        mut delivery: DeliverySeen,
    ) -> Result<DeliveryAnswer, HookError> {
        let mut answer = DeliveryAnswer::Allow;
        for hook in self.all.iter() {
            let name = hook.name();
            match caught(hook.before_delivery(&delivery)).await {
                Ok(DeliveryAnswer::Allow) => {}
                Ok(DeliveryAnswer::Suppress(reason)) => {
                    let reason = format!("The hook {name} held it back: {reason}");
                    return Ok(DeliveryAnswer::Suppress(reason));
                }
                Ok(DeliveryAnswer::Rewrite { title, body }) => {
                    delivery.title.clone_from(&title);
                    delivery.body.clone_from(&body);
                    answer = DeliveryAnswer::Rewrite { title, body };
                }
                Err(error) => {
                    failed(HookPoint::BeforeDelivery, name, &error);
                    return Err(HookError(format!(
                        "The hook {name} gave no usable answer: {error}"
                    )));
                }
            }
        }
        Ok(answer)
    }

    /// Waits until every hook has done with what it was told, at most for `most`.
    pub async fn settle(&self, most: Duration) {
        self.told.close();
        if tokio::time::timeout(most, self.told.wait()).await.is_err() {
            tracing::warn!(hooks = self.told.len(), "hooks were still at work and are cut off");
        }
    }

    /// Tells every hook in a task of its own.
    fn tell<E: Clone + Send + Sync + 'static>(
        &self,
        point: HookPoint,
        event: E,
        tell: for<'h> fn(&'h dyn Hook, &'h E) -> Told<'h>,
    ) {
        for hook in self.all.iter() {
            // Its own copy: what one hook does to it is nobody else's business.
            let (hook, event) = (Arc::clone(hook), event.clone());
            let told = async move {
                if let Err(error) = caught(tell(hook.as_ref(), &event)).await {
                    failed(point, hook.name(), &error);
                }
            };
            self.told.spawn(told.in_current_span());
        }
    }
}

/// What came of asking; a hook that falls over has failed and takes nobody with it.
async fn caught<T>(asked: BoxFuture<'_, Result<T, HookError>>) -> Result<T, HookError> {
    let asked = std::panic::AssertUnwindSafe(asked).catch_unwind().await;
    asked.unwrap_or_else(|_| Err(HookError("it fell over".to_owned())))
}

fn failed(point: HookPoint, hook: &str, error: &HookError) {
    tracing::warn!(hook, point = point.name(), error = own_words(&error.0), "a hook failed");
}
