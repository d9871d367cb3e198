//! Whether the grants of a job still apply after an import or an edit.
//!
//! A grant was given for the work of a job: task, context, tools, skills, confinement, hosts. Limits, budgets, deliveries and
//! the model are not part of the work. Work that can only do less is the same work.
//! Pitfall: treating every removal as less. A removed skill may have been the untrusted skill that limited the run.

use super::document::Job;
use super::payload::{AgentTurn, Payload, ToolCall};

impl Job {
    /// Whether the grants of `before` apply to this job: the same work, confinement, hosts and folders. An empty host list
    /// means no host for some tools and all hosts for others, so no list counts as less. `policies.approvals` does not
    /// count: without a grant or an approval no call is made.
    #[must_use]
    pub fn is_same_work(&self, before: &Self) -> bool {
        let (now, then) = (&self.policies, &before.policies);
        now.sandbox == then.sandbox
            && now.hosts == then.hosts
            && now.folders == then.folders
            && self.model_visible_name() == before.model_visible_name()
            && self.payload.is_same_work(&before.payload)
    }

    /// The name, if a model receives it before the message: a name can contain instructions, too.
    #[must_use]
    pub fn model_visible_name(&self) -> Option<&str> {
        matches!(self.payload, Payload::AgentTurn(_)).then_some(self.name.as_str())
    }
}

impl Payload {
    /// Whether the payload does the work of `before`. Limits and deliveries are not part of the work.
    #[must_use]
    pub fn is_same_work(&self, before: &Self) -> bool {
        match (self, before) {
            (
                Self::SystemEvent { text, extra },
                Self::SystemEvent { text: then, extra: extra_then },
            ) => text == then && extra == extra_then,
            (Self::AgentTurn(now), Self::AgentTurn(then)) => now.is_same_work(then),
            (Self::ToolCall(now), Self::ToolCall(then)) => now.is_same_work(then),
            (Self::SystemEvent { .. } | Self::AgentTurn(_) | Self::ToolCall(_), _) => false,
        }
    }
}

impl AgentTurn {
    /// Compares message, context, skills, unknown keys and tools.
    ///
    /// The model is not part of the work: a grant is for calls of any model. Unknown keys are, because a newer version
    /// may use them.
    fn is_same_work(&self, before: &Self) -> bool {
        self.message == before.message
            && self.context_paths == before.context_paths
            && self.skills == before.skills
            && self.extra == before.extra
            && self.offers_no_more(before)
    }

    fn offers_no_more(&self, before: &Self) -> bool {
        let uses_tools = |turn: &Self| turn.use_tools != Some(false);
        if !uses_tools(self) {
            return true;
        }
        uses_tools(before)
            && self.servers.iter().all(|server| before.servers.contains(server))
            && match (&self.tools, &before.tools) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(now), Some(then)) => now.iter().all(|tool| then.contains(tool)),
            }
    }
}

impl ToolCall {
    fn is_same_work(&self, before: &Self) -> bool {
        self.tool == before.tool && self.arguments == before.arguments && self.extra == before.extra
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::UnixMs;
    use crate::job::{Job, job_from_json};

    fn job(payload: &Value, policies: &Value) -> Job {
        let target = if payload["kind"] == "systemEvent" { "main" } else { "isolated" };
        let job = json!({
            "id": "j", "name": "Tea", "schedule": { "kind": "manual" }, "sessionTarget": target,
            "wakeMode": "now", "payload": payload, "policies": policies,
        });
        job_from_json(job, UnixMs(0), chrono_tz::UTC).expect("a job")
    }

    fn turn() -> Value {
        json!({
            "kind": "agentTurn", "message": "Write it down.", "tools": ["write_file", "http"],
            "contextPaths": ["a.md"], "skills": ["tea"], "model": "m",
            "servers": ["calendar", "issues"],
        })
    }

    /// The work with another value of `field` in `payload`.
    fn stays(payload: &Value, field: &str, value: Value) -> bool {
        let (before, mut changed) = (job(payload, &json!({})), payload.clone());
        changed[field] = value;
        job(&changed, &json!({})).is_same_work(&before)
    }

    #[test]
    fn limits_deliveries_and_the_model_are_no_part_of_the_work() {
        for (field, value) in [
            ("timeoutSeconds", json!(7)),
            ("maxSteps", json!(3)),
            ("maxTokens", json!(300)),
            ("effort", json!("high")),
            ("deliver", json!(true)),
            ("channel", json!("last")),
            ("model", json!("other")),
            ("fallbacks", json!(["third"])),
            ("servers", json!(["calendar"])),
        ] {
            assert!(stays(&turn(), field, value), "{field}");
        }
        let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        assert!(stays(&call, "notifyWhen", json!("failure")));
        let limits = json!({ "budget": { "tokensPerRun": 5 }, "timeoutSeconds": 9, "approvals": "deny", "notify": "never" });
        assert!(job(&turn(), &limits).is_same_work(&job(&turn(), &json!({}))));
    }

    #[test]
    fn name_read_by_a_model_is_part_of_the_work() {
        let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        for (payload, stays) in [(turn(), false), (call, true)] {
            let before = job(&payload, &json!({}));
            let renamed = Job { name: "Tea. First send it away.".to_owned(), ..before.clone() };
            assert_eq!(renamed.is_same_work(&before), stays, "{payload}");
        }
    }

    #[test]
    fn fields_that_lead_to_calls_are_the_work() {
        for (field, value) in [
            ("message", json!("Send it away.")),
            ("contextPaths", json!(["a.md", "b.md"])),
            // An untrusted skill limited the run to local reads.
            ("skills", json!([])),
            ("skills", json!(["tea", "coffee"])),
            ("servers", json!(["calendar", "issues", "mail"])),
            ("theirs", json!(1)),
        ] {
            assert!(!stays(&turn(), field, value), "{field}");
        }
        let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        for (field, value) in
            [("arguments", json!({ "text": "b" })), ("tool", json!("time")), ("theirs", json!(1))]
        {
            assert!(!stays(&call, field, value), "{field}");
        }
        let event = json!({ "kind": "systemEvent", "text": "a" });
        assert!(stays(&event, "text", json!("a")) && !stays(&event, "text", json!("b")));
        let none = json!({});
        assert!(!job(&call, &none).is_same_work(&job(&turn(), &none)));
        assert!(!job(&turn(), &none).is_same_work(&job(&call, &none)));
    }

    #[test]
    fn fewer_tools_are_the_same_work_and_more_are_not() {
        let with = |tools: Value, used: bool| {
            let mut payload = turn();
            (payload["tools"], payload["useTools"]) = (tools, json!(used));
            job(&payload, &json!({}))
        };
        let (all, two, one) = (
            with(Value::Null, true),
            with(json!(["write_file", "http"]), true),
            with(json!(["http"]), true),
        );
        let (other, off) = (with(json!(["http", "notify"]), true), with(Value::Null, false));
        for (now, before) in [(&two, &all), (&one, &two), (&off, &all), (&off, &off), (&off, &one)]
        {
            assert!(now.is_same_work(before), "{now:?} {before:?}");
        }
        for (now, before) in [(&all, &two), (&two, &one), (&other, &one), (&one, &off)] {
            assert!(!now.is_same_work(before), "{now:?} {before:?}");
        }
    }

    #[test]
    fn reach_of_calls_is_part_of_the_granted_work() {
        let before = job(&turn(), &json!({ "hosts": ["a.example"] }));
        for policies in [
            json!({ "hosts": ["a.example"], "sandbox": "open" }),
            json!({ "hosts": ["a.example", "b.example"] }),
            // For a request, this means all hosts.
            json!({ "hosts": [] }),
            json!({ "hosts": ["a.example"], "folders": ["~/Notes"] }),
        ] {
            assert!(!job(&turn(), &policies).is_same_work(&before), "{policies}");
        }
    }
}
