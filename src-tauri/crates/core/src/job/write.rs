//! Job → JSON, the inverse of `parse`. Defaults are left out where the format makes them optional; kept keys return at
//! the end of their object.

use serde_json::{Map, Value, json};

use crate::model::Effort;
use crate::money::MicroUsd;

use super::{
    AgentTurn, Approvals, FolderGrant, Isolation, Job, JobState, Misfire, MisfireMode, Notify,
    NotifyWhen, Overlap, Payload, Policies, Runtime, Sandbox, Schedule, ScheduleSpec,
    SessionTarget, ToolCall, WakeMode,
};

/// An object under construction: sets keys, skips absent values.
struct Document(Map<String, Value>);

impl Document {
    fn new() -> Self {
        Self(Map::new())
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    fn set_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    fn set_unless_empty(self, key: &str, value: Value) -> Self {
        if value.as_object().is_some_and(Map::is_empty) { self } else { self.set(key, value) }
    }

    fn end(mut self, extra: &Map<String, Value>) -> Value {
        self.0.extend(extra.clone());
        Value::Object(self.0)
    }
}

/// Writes the whole job, its state included.
#[must_use]
pub fn job_to_json(job: &Job) -> Value {
    Document::new()
        .set("id", job.id.as_str())
        .set("name", job.name.as_str())
        .set_some("description", job.description.as_deref())
        .set("enabled", job.enabled)
        .set("createdAtMs", job.created_at.0)
        .set("updatedAtMs", job.updated_at.0)
        .set("schedule", schedule(&job.schedule))
        .set("sessionTarget", target_name(job.session_target))
        .set("wakeMode", wake_name(job.wake_mode))
        .set("payload", payload_to_json(&job.payload))
        .set_some("isolation", job.isolation.as_ref().map(isolation))
        .set_some("runtime", job.runtime.as_ref().map(runtime))
        .set_unless_empty("policies", policies(&job.policies))
        .set_some("deleteAfterRun", job.delete_after_run.then_some(true))
        .set("state", state_to_json(&job.state))
        .end(&job.extra)
}

/// Writes the state with the RFC's `lastStatus` beside the finer `lastState`.
#[must_use]
pub fn state_to_json(state: &JobState) -> Value {
    Document::new()
        .set_some("nextRunAtMs", state.next_run_at.map(|at| at.0))
        .set_some("lastRunAtMs", state.last_run_at.map(|at| at.0))
        .set_some("lastStatus", state.last_state.and_then(crate::RunState::rfc_status))
        .set_some("lastState", state.last_state.map(crate::RunState::name))
        .set_some("lastError", state.last_error.as_deref())
        .set_some("lastDurationMs", state.last_duration_ms)
        .set("consecutiveFailures", state.consecutive_failures)
        .set("revision", state.revision)
        .end(&state.extra)
}

fn schedule(schedule: &Schedule) -> Value {
    let document = match &schedule.spec {
        ScheduleSpec::At { at, tz } => {
            Document::new().set("kind", "at").set("atMs", at.0).set_some("tz", tz.as_deref())
        }
        ScheduleSpec::Every { every_ms, anchor } => {
            Document::new().set("kind", "every").set("everyMs", *every_ms).set("anchorMs", anchor.0)
        }
        ScheduleSpec::Cron { expr, tz } => {
            Document::new().set("kind", "cron").set("expr", expr.as_str()).set("tz", tz.as_str())
        }
        ScheduleSpec::Event(trigger) => Document::new()
            .set("kind", "event")
            .set("source", trigger.source.as_str())
            .set_some("pattern", trigger.pattern.as_deref())
            .set_unless_empty("filters", Value::Object(trigger.filters.clone())),
        ScheduleSpec::Webhook => Document::new().set("kind", "webhook"),
        ScheduleSpec::Manual => Document::new().set("kind", "manual"),
    };
    document.set_some("jitterMs", schedule.jitter_ms).end(&schedule.extra)
}

/// Writes a payload, as it stands in the job.
#[must_use]
pub fn payload_to_json(payload: &Payload) -> Value {
    match payload {
        Payload::SystemEvent { text, extra } => {
            Document::new().set("kind", "systemEvent").set("text", text.as_str()).end(extra)
        }
        Payload::AgentTurn(turn) => agent_turn(turn),
        Payload::ToolCall(call) => tool_call(call),
    }
}

fn agent_turn(turn: &AgentTurn) -> Value {
    let paths = (!turn.context_paths.is_empty()).then(|| json!(turn.context_paths));
    Document::new()
        .set("kind", "agentTurn")
        .set("message", turn.message.as_str())
        .set_some("deliver", turn.deliver)
        .set_some("channel", turn.channel.as_deref())
        .set_some("to", turn.to.as_deref())
        .set_some("timeoutSeconds", turn.timeout_seconds)
        .set_some("model", turn.model.as_deref())
        .set_some("fallbacks", (!turn.fallbacks.is_empty()).then(|| json!(turn.fallbacks)))
        .set_some("useTools", turn.use_tools)
        .set_some("tools", turn.tools.as_ref().map(|tools| json!(tools)))
        .set_some("maxSteps", turn.max_steps)
        .set_some("maxTokens", turn.max_tokens)
        .set_some("effort", turn.effort.map(Effort::name))
        .set_some("contextPaths", paths)
        .set_some("skills", (!turn.skills.is_empty()).then(|| json!(turn.skills)))
        .end(&turn.extra)
}

fn tool_call(call: &ToolCall) -> Value {
    let when = match &call.notify_when {
        NotifyWhen::Always => json!("always"),
        NotifyWhen::Failure => json!("failure"),
        NotifyWhen::Changed => json!("changed"),
        NotifyWhen::Cel { source, extra } => Document::new().set("cel", source.as_str()).end(extra),
    };
    Document::new()
        .set("kind", "toolCall")
        .set("tool", call.tool.as_str())
        .set("arguments", call.arguments.clone())
        .set("notifyWhen", when)
        .end(&call.extra)
}

fn isolation(isolation: &Isolation) -> Value {
    Document::new()
        .set_some("postToMainPrefix", isolation.post_to_main_prefix.as_deref())
        .end(&isolation.extra)
}

fn runtime(runtime: &Runtime) -> Value {
    Document::new()
        .set_some("maxAttempts", runtime.max_attempts)
        .set_some("retryBackoffMs", runtime.retry_backoff_ms)
        .end(&runtime.extra)
}

fn policies(policies: &Policies) -> Value {
    let overlap = match policies.overlap {
        Overlap::Skip => None,
        Overlap::Queue => Some("queue"),
        Overlap::Parallel => Some("parallel"),
        Overlap::CancelOther => Some("cancelOther"),
    };
    let notify = policies.notify.map(|notify| match notify {
        Notify::Always => "always",
        Notify::Findings => "findings",
        Notify::Failure => "failure",
        Notify::Never => "never",
    });
    let budget = policies.budget.as_ref().map(|budget| {
        Document::new()
            .set_some("tokensPerRun", budget.tokens_per_run)
            .set_some("tokensPerDay", budget.tokens_per_day)
            .set_some("usdPerRun", budget.usd_per_run.map(MicroUsd::to_json))
            .set_some("usdPerDay", budget.usd_per_day.map(MicroUsd::to_json))
            .end(&budget.extra)
    });
    let approvals =
        Some(policies.approvals).filter(|asks| *asks != Approvals::Ask).map(Approvals::name);
    let sandbox = match policies.sandbox {
        Sandbox::Required => None,
        Sandbox::Open => Some("open"),
    };
    Document::new()
        .set_unless_empty("misfire", misfire(&policies.misfire))
        .set_some("overlap", overlap)
        .set_some("maxConcurrent", policies.max_concurrent)
        .set_some("cooldownSeconds", policies.cooldown_seconds)
        .set_some("timeoutSeconds", policies.timeout_seconds)
        .set_some("pauseAfterFailures", policies.pause_after_failures)
        .set_some("budget", budget)
        .set_some("notify", notify)
        .set_some("quietHours", policies.quiet_hours.to_json())
        .set_some("approvals", approvals)
        .set_some("approvalSeconds", policies.approval_seconds)
        .set_some("hosts", (!policies.hosts.is_empty()).then(|| json!(policies.hosts)))
        .set_some("folders", folders(&policies.folders))
        .set_some("sandbox", sandbox)
        .end(&policies.extra)
}

fn folders(folders: &[FolderGrant]) -> Option<Value> {
    let texts: Vec<String> = folders.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| json!(texts))
}

fn misfire(misfire: &Misfire) -> Value {
    let mode = match misfire.mode {
        MisfireMode::RunOnce => None,
        MisfireMode::Skip => Some("skip"),
        MisfireMode::RunAll => Some("runAll"),
    };
    Document::new()
        .set_some("mode", mode)
        .set_some("maxLatenessSeconds", misfire.max_lateness_seconds)
        .set_some("limit", misfire.limit)
        .end(&misfire.extra)
}

const fn target_name(target: SessionTarget) -> &'static str {
    match target {
        SessionTarget::Main => "main",
        SessionTarget::Isolated => "isolated",
    }
}

const fn wake_name(mode: WakeMode) -> &'static str {
    match mode {
        WakeMode::Now => "now",
        WakeMode::NextHeartbeat => "next-heartbeat",
    }
}
