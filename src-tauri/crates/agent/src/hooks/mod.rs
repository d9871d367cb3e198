//! Hooks: programs that are notified of, or consulted about, a step of a run.
//!
//! Owns the hook points, the order of hooks and the handling of failures. Most hooks are notified in the background; their
//! failures are logged. Two points are consulted in the order of the settings, `before_tool_call` and `before_delivery`: an
//! error, an invalid answer or a timeout counts as deny (fail closed). Never allows more than the gate: a hook can deny,
//! require an approval, or rewrite the call, which then begins at the first check again. Pitfall: two hooks can rewrite each
//! other's calls for ever; the gate counts the rewrites.

mod command;
mod events;
mod hook;
mod process;
mod statistics;

#[cfg(all(test, unix))]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rouse_core::approval::HookDenial;
use rouse_core::text::strip_quote;
use rouse_core::tool::BoxFuture;
use serde_json::Value;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

pub use command::CommandHook;
pub use events::{
    DeliveryEvent, HookContext, RunFinishedEvent, RunStartedEvent, ToolCallEnded, ToolCallEvent,
    ToolMetadata, ToolsResolved,
};
pub use hook::{
    DeliveryDecision, Hook, HookCommand, HookDecision, HookError, HookNotification, HookReport,
};
pub use process::HookProcessConfig;
pub use rouse_core::settings::HookPoint;
pub use statistics::{HookStatistics, LastHookCall};

/// All hooks in their order. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hooks {
    all: Arc<[Arc<dyn Hook>]>,
    /// Running notifications.
    notifications: TaskTracker,
}

/// The decision of all hooks about a call: the strictest, and the first among equals.
#[derive(Debug, Clone, PartialEq)]
pub enum HookVerdict {
    /// No objection.
    Allow,
    /// The call is refused.
    Deny {
        /// The hook and the reason, as a sentence.
        text: String,
        /// The hook.
        hook: String,
        /// The kind of the refusal.
        kind: HookDenial,
    },
    /// A person must approve the call: the hook and the reason, as a sentence.
    RequireApproval(String),
    /// The call has other arguments and begins at the first check again.
    Rewritten {
        /// The new arguments.
        arguments: Value,
        /// The hook.
        hook: String,
    },
}

impl Hooks {
    /// These hooks in this order.
    #[must_use]
    pub fn new(all: Vec<Arc<dyn Hook>>) -> Self {
        Self { all: all.into(), notifications: TaskTracker::new() }
    }

    /// Whether there is no hook.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    /// The reports of the hooks of the settings, in their order.
    #[must_use]
    pub fn reports(&self) -> Vec<HookReport> {
        self.all.iter().filter_map(|hook| hook.report()).collect()
    }

    /// Notifies of the tools of an attempt, in the background.
    pub fn after_tools_resolved(&self, event: ToolsResolved) {
        self.notify(HookPoint::AfterToolsResolved, event, |hook, event| {
            hook.after_tools_resolved(event)
        });
    }

    /// Notifies of a call that was made or refused, in the background.
    pub fn after_tool_call(&self, call: ToolCallEnded) {
        self.notify(HookPoint::AfterToolCall, call, |hook, call| hook.after_tool_call(call));
    }

    /// Notifies of a run that begins, in the background.
    pub fn run_started(&self, run: RunStartedEvent) {
        self.notify(HookPoint::RunStarted, run, |hook, run| hook.run_started(run));
    }

    /// Notifies of a run that has ended, in the background.
    pub fn run_finished(&self, run: RunFinishedEvent) {
        self.notify(HookPoint::RunFinished, run, |hook, run| hook.run_finished(run));
    }

    /// Consults the hooks about a call. The first denial or rewrite ends the consultation: the hooks after a rewrite are
    /// consulted about the new call.
    pub async fn before_tool_call(&self, call: &ToolCallEvent) -> HookVerdict {
        let mut verdict = HookVerdict::Allow;
        for hook in self.all.iter() {
            let name = hook.name();
            match catch_panic(hook.before_tool_call(call)).await {
                Ok(HookDecision::Allow) => {}
                Ok(HookDecision::Deny(reason)) => {
                    let text = format!("The hook {name} denied the call: {reason}");
                    return HookVerdict::Deny {
                        text,
                        hook: name.to_owned(),
                        kind: HookDenial::Denied,
                    };
                }
                Ok(HookDecision::RequireApproval(reason)) => {
                    if verdict == HookVerdict::Allow {
                        let text = format!("The hook {name} requires an approval: {reason}");
                        verdict = HookVerdict::RequireApproval(text);
                    }
                }
                Ok(HookDecision::Rewrite(arguments)) if arguments == call.arguments => {}
                Ok(HookDecision::Rewrite(arguments)) => {
                    return HookVerdict::Rewritten { arguments, hook: name.to_owned() };
                }
                Err(error) => {
                    log_failure(HookPoint::BeforeToolCall, name, &error);
                    let text = format!("The hook {name} failed, so the call was denied: {error}");
                    let (hook, kind) = (name.to_owned(), HookDenial::Failed);
                    return HookVerdict::Deny { text, hook, kind };
                }
            }
        }
        verdict
    }

    /// Consults the hooks about a delivery. Each hook sees the text of the hook before.
    ///
    /// # Errors
    /// When a hook failed. The delivery is to be retried.
    pub async fn before_delivery(
        &self,
        mut delivery: DeliveryEvent,
    ) -> Result<DeliveryDecision, HookError> {
        let mut decision = DeliveryDecision::Allow;
        for hook in self.all.iter() {
            let name = hook.name();
            match catch_panic(hook.before_delivery(&delivery)).await {
                Ok(DeliveryDecision::Allow) => {}
                Ok(DeliveryDecision::Suppress(reason)) => {
                    let reason = format!("The hook {name} suppressed the delivery: {reason}");
                    return Ok(DeliveryDecision::Suppress(reason));
                }
                Ok(DeliveryDecision::Rewrite { title, body }) => {
                    delivery.title.clone_from(&title);
                    delivery.body.clone_from(&body);
                    decision = DeliveryDecision::Rewrite { title, body };
                }
                Err(error) => {
                    log_failure(HookPoint::BeforeDelivery, name, &error);
                    return Err(HookError(format!("The hook {name} failed: {error}")));
                }
            }
        }
        Ok(decision)
    }

    /// Waits for the running notifications, for at most `timeout`.
    pub async fn drain(&self, timeout: Duration) {
        self.notifications.close();
        if tokio::time::timeout(timeout, self.notifications.wait()).await.is_err() {
            tracing::warn!(
                hooks = self.notifications.len(),
                "hooks were cancelled by the shutdown"
            );
        }
    }

    /// Notifies each hook in a separate task, with a copy of the event.
    fn notify<E: Clone + Send + Sync + 'static>(
        &self,
        point: HookPoint,
        event: E,
        notify: for<'h> fn(&'h dyn Hook, &'h E) -> HookNotification<'h>,
    ) {
        for hook in self.all.iter() {
            let (hook, event) = (Arc::clone(hook), event.clone());
            let notification = async move {
                if let Err(error) = catch_panic(notify(hook.as_ref(), &event)).await {
                    log_failure(point, hook.name(), &error);
                }
            };
            self.notifications.spawn(notification.in_current_span());
        }
    }
}

/// The result of a hook. A panic counts as a failure.
async fn catch_panic<T>(result: BoxFuture<'_, Result<T, HookError>>) -> Result<T, HookError> {
    let result = std::panic::AssertUnwindSafe(result).catch_unwind().await;
    result.unwrap_or_else(|_| Err(HookError("panicked".to_owned())))
}

fn log_failure(point: HookPoint, hook: &str, error: &HookError) {
    tracing::warn!(hook, point = point.name(), error = strip_quote(&error.0), "a hook failed");
}
