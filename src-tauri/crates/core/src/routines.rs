//! The port to the jobs, for tools: what an agent can wish for, and what it may not make of a job.
//!
//! A person decides what a job may do: which hosts it reaches, whether its commands leave the sandbox, what becomes of
//! calls that need a yes, and which calls stand in it word for word, because such a call is as good as a yes. An agent
//! has no part in that, neither in a new job nor in a changed one; and a job that a person gave such rights keeps doing
//! what they were given for. One could get it wrong by judging only what an agent writes, and not what the job is then.

use serde_json::Value;

use crate::job::{Job, JobError, Payload, Policies, ToolCall};
use crate::json_fields::FieldError;
use crate::tool::{BoxFuture, Fault, ToolContext};

/// What an agent wants of the jobs. Documents are in the job format.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// Jobs, soonest first.
    List {
        /// Words in them.
        search: Option<String>,
        /// At most so many.
        limit: u32,
        /// Where an earlier answer ended.
        cursor: Option<String>,
    },
    /// One job.
    Get {
        /// Which.
        id: String,
    },
    /// When a schedule would fire.
    Preview {
        /// The schedule.
        schedule: Value,
    },
    /// A new job.
    Create {
        /// The job as it shall be.
        draft: Value,
    },
    /// A change of a job.
    Update {
        /// Which.
        id: String,
        /// Laid over it.
        patch: Value,
        /// The one that the agent has seen.
        revision: i64,
    },
    /// The end of a job.
    Delete {
        /// Which.
        id: String,
    },
    /// A run at once.
    Fire {
        /// Of which job.
        id: String,
    },
    /// The newest runs.
    History {
        /// Of which job.
        id: String,
        /// At most so many.
        limit: u32,
    },
}

/// A wish that was not granted, in words for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Of which kind.
    pub fault: Fault,
    /// Why, as sentences.
    pub message: String,
}

/// The jobs. Every wish is carried out as if a person had asked for it, under the rules above.
pub trait Routines: Send + Sync {
    /// Carries a wish out, for the run of `context`.
    fn ask<'a>(
        &'a self,
        wish: Wish,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, Refusal>>;
    /// Why a wish would be refused, as far as that can be said without carrying it out.
    fn check<'a>(
        &'a self,
        wish: &'a Wish,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<(), Refusal>>;
}

/// What a job may do because a person said so.
#[derive(Clone, Copy)]
pub struct Rights<'a> {
    /// Whether it has grants.
    pub has_grants: bool,
    /// Whether a call would need a person's yes, or a person.
    pub needs_person: &'a dyn Fn(&ToolCall) -> bool,
}

/// Whether an agent may make `after` of `before`, or as a new job.
///
/// # Errors
/// Every field that only a person may set.
pub fn judge(before: Option<&Job>, after: &Job, rights: Rights<'_>) -> Result<(), JobError> {
    let mut complaints = Vec::new();
    let mut complain = |path: &str, message: &str| {
        complaints.push(FieldError { path: path.to_owned(), message: message.to_owned() });
    };
    let usual = Policies::default();
    let (old, new) = (before.map_or(&usual, |job| &job.policies), &after.policies);
    if old.sandbox != new.sandbox {
        complain(
            "policies.sandbox",
            "only a person can decide how the commands of a job are confined",
        );
    }
    if old.hosts != new.hosts {
        complain("policies.hosts", "only a person can let a job reach hosts");
    }
    if old.folders != new.folders {
        complain("policies.folders", "only a person can grant folders to a job");
    }
    if (old.approvals, old.approval_seconds) != (new.approvals, new.approval_seconds) {
        complain(
            "policies.approvals",
            "only a person can decide what becomes of calls that need a yes",
        );
    }
    if old.extra != new.extra {
        complain("policies", "an agent can set no policy that this version does not know");
    }
    if before.is_none_or(|before| before.payload != after.payload) {
        if let Payload::ToolCall(call) = &after.payload
            && (rights.needs_person)(call)
        {
            let tool = &call.tool;
            complain(
                "payload.tool",
                &format!(
                    "{tool} asks a person before it does this, and a call that stands in a job is as good as a yes. Let the job's agent call it, or let the person write this job"
                ),
            );
        }
        if let Some(right) = before.and_then(|before| right_of(before, rights)) {
            complain(
                "payload",
                &format!(
                    "a person gave this job {right} for what it does now. Only a person can change what it does; make another job instead"
                ),
            );
        }
    }
    if let Some(before) = before.filter(|before| before.told_name() != after.told_name())
        && let Some(right) = right_of(before, rights)
    {
        complain(
            "name",
            &format!(
                "a person gave this job {right}, and its model is told its name. Only a person can change that"
            ),
        );
    }
    if complaints.is_empty() { Ok(()) } else { Err(JobError(complaints)) }
}

/// What a person gave a job beyond the usual.
fn right_of(job: &Job, rights: Rights<'_>) -> Option<&'static str> {
    let usual = Policies::default();
    if rights.has_grants {
        Some("a standing yes")
    } else if job.policies.sandbox != usual.sandbox {
        Some("commands outside the sandbox")
    } else if job.policies.hosts != usual.hosts {
        Some("hosts that it may reach")
    } else if job.policies.folders != usual.folders {
        Some("folders that it may use")
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
        match judge(before, after, Rights { has_grants, needs_person }) {
            Ok(()) => Vec::new(),
            Err(error) => error.0.into_iter().map(|complaint| complaint.path).collect(),
        }
    }

    fn call(tool: &str) -> Value {
        json!({ "payload": { "kind": "toolCall", "tool": tool, "arguments": {} } })
    }

    #[test]
    fn a_new_job_of_an_agent_has_no_rights_of_its_own() {
        for (change, expected) in [
            (json!({}), None),
            (json!({ "policies": { "notify": "never", "maxConcurrent": 2 } }), None),
            (json!({ "policies": { "sandbox": "open" } }), Some("policies.sandbox")),
            (json!({ "policies": { "hosts": ["example.com"] } }), Some("policies.hosts")),
            (json!({ "policies": { "folders": ["~/Notes"] } }), Some("policies.folders")),
            (json!({ "policies": { "approvals": "skip" } }), Some("policies.approvals")),
            (json!({ "policies": { "approvalSeconds": 86_400 } }), Some("policies.approvals")),
            (json!({ "policies": { "rightsOfTomorrow": true } }), Some("policies")),
            (call("http"), None),
            (call("run_command"), Some("payload.tool")),
        ] {
            let found = complaints(None, &job(change.clone()), false);
            assert_eq!(found, Vec::from_iter(expected.map(str::to_owned)), "{change}");
        }
    }

    #[test]
    fn a_job_with_rights_keeps_them_and_does_what_it_did() {
        let reaches = job(json!({ "policies": { "hosts": ["example.com"] } }));
        let open = job(json!({ "policies": { "sandbox": "open" } }));
        let other = json!({ "payload": { "message": "Send it there" } });
        for with_rights in [&reaches, &open] {
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
    fn a_call_that_a_person_wrote_stays_as_it_is() {
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
