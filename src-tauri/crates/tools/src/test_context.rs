//! Test fixtures of every tool: a context, and calls through the policy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use rouse_core::call_progress::ProgressReporter;
use rouse_core::policy::{PolicyVerdict, ToolPolicy};
use rouse_core::schedule::Zones;
use rouse_core::tool::{PendingCleanup, SandboxMode, Tool, ToolContext, ToolOutput, ToolSpec};
use rouse_core::{Clock, JobId, RunId, UnixMs};
use serde_json::Value;

/// 2026-03-28T23:30:00Z, the night in which Berlin's clock goes forward.
pub(crate) const NOW: UnixMs = UnixMs(1_774_740_600_000);

struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> UnixMs {
        NOW
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn zones(&self) -> Zones {
        Tz::UTC.into()
    }
}

/// A context of a job in Berlin with this workspace.
pub(crate) fn context(workspace: &Path) -> ToolContext {
    ToolContext {
        run_id: RunId::new("run-1"),
        job_id: Some(JobId::new("job-1")),
        job_name: "Test".to_owned(),
        workspace: workspace.to_owned(),
        sandbox: SandboxMode::ByPersonUnsandboxed { hosts: Vec::new() },
        named_hosts: Vec::new(),
        folders: Vec::new(),
        clock: Arc::new(StoppedClock),
        zone: Tz::Europe__Berlin.into(),
        skills: Vec::new(),
        event: None,
        requested_at: None,
        pending_cleanup: PendingCleanup::default(),
        searchable_tools: Arc::default(),
        progress: ProgressReporter::default(),
    }
}

/// Calls a tool without a workspace.
pub(crate) async fn call(tool: &dyn Tool, arguments: Value) -> ToolOutput {
    call_in(tool, &PathBuf::from("/nonexistent-workspace"), arguments).await
}

/// Calls a tool in a workspace, through the policy.
pub(crate) async fn call_in(tool: &dyn Tool, workspace: &Path, arguments: Value) -> ToolOutput {
    call_with(tool, &context(workspace), arguments).await
}

/// Calls a tool with a context of the test's own, attended.
pub(crate) async fn call_with(
    tool: &dyn Tool,
    context: &ToolContext,
    arguments: Value,
) -> ToolOutput {
    let policy = ToolPolicy::for_written_call(&tool.spec().name, &arguments);
    // The driver checks `attended_only`; the policy here counts every call as attended.
    let spec = ToolSpec { attended_only: false, ..tool.spec().clone() };
    match policy.judge(&spec, arguments) {
        PolicyVerdict::Allowed(call) => tool.call(call, context).await,
        other => panic!("the policy refused the call: {other:?}"),
    }
}
