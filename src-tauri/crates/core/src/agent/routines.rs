//! The port to the jobs for tools: requests of an agent, and the limits on its changes.
//!
//! Owns the rule that only a person grants rights: hosts, folders, MCP servers, sandbox, approval policy, and calls in
//! the job document, which count as approved. An agent changes none of these rights, and a job with such rights keeps the task
//! of the grant.
//! Pitfall: judging only the agent's patch instead of the resulting job.

use serde_json::Value;

use crate::Clock;
use crate::future::BoxFuture;
use crate::job::{Job, JobError, Payload, Policies, ToolCall, client_signature, signature};
use crate::json_fields::FieldError;
use crate::tool::{Fault, ToolContext};

/// A request of an agent about jobs. Documents are in the job format.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineRequest {
    /// List jobs, soonest first.
    List {
        /// A text search.
        search: Option<String>,
        /// The maximum jobs.
        limit: u32,
        /// The cursor of the previous page.
        cursor: Option<String>,
    },
    /// Get a job.
    Get {
        /// The job.
        id: String,
    },
    /// Preview a schedule.
    Preview {
        /// The schedule.
        schedule: Value,
    },
    /// Create a job.
    Create {
        /// The job document.
        draft: Value,
    },
    /// Update a job.
    Update {
        /// The job.
        id: String,
        /// The merge patch.
        patch: Value,
        /// The revision that the agent read.
        revision: i64,
    },
    /// Delete a job.
    Delete {
        /// The job.
        id: String,
    },
    /// Run a job now.
    Fire {
        /// The job.
        id: String,
    },
    /// List the newest runs.
    History {
        /// The job.
        id: String,
        /// The maximum runs.
        limit: u32,
    },
}

/// The author of a request. Both are agents: neither gains a right that only a person grants.
#[derive(Clone, Copy)]
pub enum RoutineAuthor<'a> {
    /// A run of Rouse.
    Run(&'a ToolContext),
    /// A program outside Rouse.
    Client {
        /// The name that the program claims. Not an identity.
        name: &'a str,
        /// The clock for relative times.
        clock: &'a dyn Clock,
    },
}

impl<'a> RoutineAuthor<'a> {
    /// The clock of the request.
    #[must_use]
    pub fn clock(self) -> &'a dyn Clock {
        match self {
            Self::Run(context) => &*context.clock,
            Self::Client { clock, .. } => clock,
        }
    }

    /// The signature on a job or a message of the author.
    #[must_use]
    pub fn signature(self) -> Value {
        match self {
            Self::Run(context) => signature(&context.run_id, context.job_id.as_ref()),
            Self::Client { name, .. } => client_signature(name),
        }
    }
}

/// A refused request, with the message for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutineRefusal {
    /// The kind.
    pub fault: Fault,
    /// The reason, in sentences.
    pub message: String,
}

/// The jobs. Requests take the same path as a person's, under the rule of this module.
pub trait Routines: Send + Sync {
    /// Carries out a request of `author`.
    fn ask<'a>(
        &'a self,
        request: RoutineRequest,
        author: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<Value, RoutineRefusal>>;
    /// Checks in advance whether a request would be refused.
    fn check<'a>(
        &'a self,
        request: &'a RoutineRequest,
        author: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<(), RoutineRefusal>>;
}

/// Rights of a job that only a person grants.
#[derive(Clone, Copy)]
pub struct GrantedRights<'a> {
    /// Whether the job has grants.
    pub has_grants: bool,
    /// Whether a call needs approval or an attended turn.
    pub needs_person: &'a dyn Fn(&ToolCall) -> bool,
}

/// Checks a change by an agent from `before` to `after`, or a new job.
///
/// # Errors
/// Each field that only a person may set.
pub fn check_agent_change(
    before: Option<&Job>,
    after: &Job,
    rights: GrantedRights<'_>,
) -> Result<(), JobError> {
    let mut errors = Vec::new();
    let mut complain = |path: &str, message: &str| {
        errors.push(FieldError { path: path.to_owned(), message: message.to_owned() });
    };
    let usual = Policies::default();
    let (old, new) = (before.map_or(&usual, |job| &job.policies), &after.policies);
    if old.sandbox != new.sandbox {
        complain("policies.sandbox", "only a person can change the sandbox of a job");
    }
    if old.hosts != new.hosts {
        complain("policies.hosts", "only a person can let a job reach hosts");
    }
    if old.folders != new.folders {
        complain("policies.folders", "only a person can grant folders to a job");
    }
    if (old.approvals, old.approval_seconds) != (new.approvals, new.approval_seconds) {
        complain("policies.approvals", "only a person can set the approval policy of a job");
    }
    let servers = |job: &Job| match &job.payload {
        Payload::AgentTurn(turn) => turn.servers.clone(),
        Payload::SystemEvent { .. } | Payload::ToolCall(_) => Vec::new(),
    };
    if before.map(servers).unwrap_or_default() != servers(after) {
        complain("payload.servers", "only a person can let a job use MCP servers");
    }
    if old.extra != new.extra {
        complain("policies", "an agent can set no policy that this version does not know");
    }
    errors.extend(task_errors(before, after, rights));
    if errors.is_empty() { Ok(()) } else { Err(JobError(errors)) }
}

/// The errors of a changed task or name: calls that count as approved, and tasks for which a person granted rights.
fn task_errors(before: Option<&Job>, after: &Job, rights: GrantedRights<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut complain = |path: &str, message: &str| {
        errors.push(FieldError { path: path.to_owned(), message: message.to_owned() });
    };
    if before.is_none_or(|before| before.payload != after.payload) {
        if let Payload::ToolCall(call) = &after.payload
            && (rights.needs_person)(call)
        {
            let tool = &call.tool;
            complain(
                "payload.tool",
                &format!(
                    "{tool} needs approval for this call, and a call written into a job counts as approved. Let the job's agent call it, or let the person write this job"
                ),
            );
        }
        if let Some(right) = before.and_then(|before| right_of(before, rights)) {
            complain(
                "payload",
                &format!(
                    "a person granted this job {right} for the present task. Only a person can change the task; create another job instead"
                ),
            );
        }
    }
    if let Some(before) =
        before.filter(|before| before.model_visible_name() != after.model_visible_name())
        && let Some(right) = right_of(before, rights)
    {
        complain(
            "name",
            &format!(
                "a person granted this job {right}, and the model receives the name. Only a person can change the name"
            ),
        );
    }
    errors
}

/// The first right that a person granted the job; none when all rights are defaults.
fn right_of(job: &Job, rights: GrantedRights<'_>) -> Option<&'static str> {
    let usual = Policies::default();
    if rights.has_grants {
        Some("a grant")
    } else if job.policies.sandbox != usual.sandbox {
        Some("commands outside the sandbox")
    } else if job.policies.hosts != usual.hosts {
        Some("access to hosts")
    } else if job.policies.folders != usual.folders {
        Some("access to folders")
    } else if matches!(&job.payload, Payload::AgentTurn(turn) if !turn.servers.is_empty()) {
        Some("access to MCP servers")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::UnixMs;
    use crate::job::{job_from_json, patch_job};

    use super::*;

    fn job(change: Value) -> Job {
        let mut draft = json!({
            "name": "A", "schedule": { "kind": "manual" },
            "payload": { "kind": "agentTurn", "message": "Look" },
        });
        for (key, value) in change.as_object().cloned().unwrap_or_default() {
            draft[key] = value;
        }
        job_from_json(draft, UnixMs(0), chrono_tz::UTC).expect("a job")
    }

    fn patched(job: &Job, patch: Value) -> Job {
        patch_job(job, patch, UnixMs(1), chrono_tz::UTC).expect("a job")
    }

    fn complaints(before: Option<&Job>, after: &Job, has_grants: bool) -> Vec<String> {
        let needs_person: &dyn Fn(&ToolCall) -> bool = &|call| call.tool == "run_command";
        match check_agent_change(before, after, GrantedRights { has_grants, needs_person }) {
            Ok(()) => Vec::new(),
            Err(error) => error.0.into_iter().map(|complaint| complaint.path).collect(),
        }
    }

    fn call(tool: &str) -> Value {
        json!({ "payload": { "kind": "toolCall", "tool": tool, "arguments": {} } })
    }

    #[test]
    fn new_job_of_an_agent_has_no_rights() {
        for (change, expected) in [
            (json!({}), None),
            (json!({ "policies": { "notify": "never", "maxConcurrent": 2 } }), None),
            (json!({ "policies": { "sandbox": "open" } }), Some("policies.sandbox")),
            (json!({ "policies": { "hosts": ["example.com"] } }), Some("policies.hosts")),
            (json!({ "policies": { "folders": ["~/Notes"] } }), Some("policies.folders")),
            (json!({ "policies": { "approvals": "skip" } }), Some("policies.approvals")),
            (json!({ "policies": { "approvalSeconds": 86_400 } }), Some("policies.approvals")),
            (json!({ "policies": { "rightsOfTomorrow": true } }), Some("policies")),
            (
                json!({ "payload": { "kind": "agentTurn", "message": "Look", "servers": ["cal"] } }),
                Some("payload.servers"),
            ),
            (call("http"), None),
            (call("run_command"), Some("payload.tool")),
        ] {
            let found = complaints(None, &job(change.clone()), false);
            assert_eq!(found, Vec::from_iter(expected.map(str::to_owned)), "{change}");
        }
    }

    #[test]
    fn job_with_rights_keeps_its_task_and_name() {
        let reaches = job(json!({ "policies": { "hosts": ["example.com"] } }));
        let open = job(json!({ "policies": { "sandbox": "open" } }));
        let served = json!({ "kind": "agentTurn", "message": "Look", "servers": ["cal"] });
        let served = job(json!({ "payload": served }));
        let other = json!({ "payload": { "message": "Send it there" } });
        for with_rights in [&reaches, &open, &served] {
            assert_eq!(
                complaints(Some(with_rights), &patched(with_rights, other.clone()), false),
                ["payload"]
            );
            let renamed = patched(with_rights, json!({ "name": "B. First send it there" }));
            assert_eq!(complaints(Some(with_rights), &renamed, false), ["name"]);
            let off = patched(with_rights, json!({ "enabled": false }));
            assert_eq!(complaints(Some(with_rights), &off, false), [""; 0]);
        }
        let usual = job(json!({}));
        assert_eq!(complaints(Some(&usual), &patched(&usual, other.clone()), false), [""; 0]);
        assert_eq!(complaints(Some(&usual), &patched(&usual, other), true), ["payload"]);
        let looser = patched(&reaches, json!({ "policies": { "hosts": null } }));
        assert_eq!(complaints(Some(&reaches), &looser, false), ["policies.hosts"], "nor fewer");
    }

    #[test]
    fn written_call_cannot_be_changed_by_an_agent() {
        let written = job(call("run_command"));
        let moved =
            patched(&written, json!({ "schedule": { "kind": "every", "everyMs": 60_000 } }));
        assert_eq!(complaints(Some(&written), &moved, false), [""; 0]);
        let rewritten =
            patched(&written, json!({ "payload": { "arguments": { "command": "rm" } } }));
        assert_eq!(complaints(Some(&written), &rewritten, false), ["payload.tool"]);
        let read = patched(&job(json!({})), call("run_command"));
        assert_eq!(complaints(Some(&job(json!({}))), &read, false), ["payload.tool"]);
    }
}
