//! The interface of a hook: its settings, events, decisions and report.
//!
//! Never runs a hook. `Hooks` consults all hooks, `command` runs a hook of the settings.

use std::time::Duration;

use rouse_core::settings::HookPoint;
use rouse_core::tool::BoxFuture;
use serde_json::Value;

use super::events::{
    DeliveryEvent, RunFinishedEvent, RunStartedEvent, ToolCallEnded, ToolCallEvent, ToolsResolved,
};
use super::statistics::HookStatistics;

/// A hook in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// The step at which the command runs.
    pub on: HookPoint,
    /// The program and the arguments.
    pub command: Vec<String>,
    /// The time limit.
    pub timeout: Duration,
}

/// A hook of the settings with the statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// The hook.
    pub hook: HookCommand,
    /// The statistics.
    pub statistics: HookStatistics,
}

/// The decision of a hook about a call.
#[derive(Debug, Clone, PartialEq)]
pub enum HookDecision {
    /// No objection.
    Allow,
    /// The call is refused, for this reason.
    Deny(String),
    /// A person must approve the call, for this reason.
    RequireApproval(String),
    /// The call gets these arguments and begins at the first check again.
    Rewrite(Value),
}

/// The decision of a hook about a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryDecision {
    /// No objection.
    Allow,
    /// The delivery is suppressed, for this reason.
    Suppress(String),
    /// The delivery gets another text.
    Rewrite {
        /// The title.
        title: String,
        /// The text.
        body: String,
    },
}

/// The failure of a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// A notification of a hook.
pub type HookNotification<'h> = BoxFuture<'h, Result<(), HookError>>;

pub(super) fn ignored<'h>() -> HookNotification<'h> {
    Box::pin(std::future::ready(Ok(())))
}

/// A hook. Ignores notifications and allows everything by default.
pub trait Hook: Send + Sync {
    /// The name, for the log and for reasons.
    fn name(&self) -> &str;

    /// The report of a hook of the settings.
    fn report(&self) -> Option<HookReport> {
        None
    }

    /// Notifies of the tools of an attempt, once for each attempt, with its first model call. A retry and a resumption after
    /// a crash are new attempts; a resumption after an approval is not.
    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> HookNotification<'h> {
        let _ = event;
        ignored()
    }

    /// Decides about a call.
    fn before_tool_call<'h>(
        &'h self,
        call: &'h ToolCallEvent,
    ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
        let _ = call;
        Box::pin(std::future::ready(Ok(HookDecision::Allow)))
    }

    /// Notifies of a call that was made or refused.
    fn after_tool_call<'h>(&'h self, call: &'h ToolCallEnded) -> HookNotification<'h> {
        let _ = call;
        ignored()
    }

    /// Notifies of the first attempt of a run.
    fn run_started<'h>(&'h self, run: &'h RunStartedEvent) -> HookNotification<'h> {
        let _ = run;
        ignored()
    }

    /// Notifies of the end of a run that had begun.
    fn run_finished<'h>(&'h self, run: &'h RunFinishedEvent) -> HookNotification<'h> {
        let _ = run;
        ignored()
    }

    /// Decides about a delivery.
    fn before_delivery<'h>(
        &'h self,
        delivery: &'h DeliveryEvent,
    ) -> BoxFuture<'h, Result<DeliveryDecision, HookError>> {
        let _ = delivery;
        Box::pin(std::future::ready(Ok(DeliveryDecision::Allow)))
    }
}
