//! Whether a job still does what its standing yeses were given for.
//!
//! A person says yes for always to calls of one job, and has its task in mind. A file can bring any other definition under
//! the id of that job, so whoever takes one asks here whether the yeses still stand. This is decided by what leads a run to
//! its calls and by what those reach, not by how long it may take, what it may cost or whom it tells. What can only be less
//! than before is the same work. One could get it wrong by taking a setting for a limit that opens something: a tool more, a
//! skill less (it may be one that nobody has trusted and that kept the run to looking), a host more.

use super::{AgentTurn, Job, Payload, ToolCall};

impl Job {
    /// Whether what a person has granted to `before` was granted for this, too: the same work, and nothing that it reaches
    /// which it did not reach then. Confinement, hosts and folders have to be the same: an empty list of hosts is the least
    /// for one tool and the most for another. `policies.approvals` does not count: whatever it says,
    /// nothing is called that nobody has said yes to.
    #[must_use]
    pub fn is_same_work(&self, before: &Self) -> bool {
        let (now, then) = (&self.policies, &before.policies);
        now.sandbox == then.sandbox
            && now.hosts == then.hosts
            && now.folders == then.folders
            && self.told_name() == before.told_name()
            && self.payload.is_same_work(&before.payload)
    }

    /// Its name where a model is told it, before the message: there it can say what to do as well as that.
    #[must_use]
    pub fn told_name(&self) -> Option<&str> {
        matches!(self.payload, Payload::AgentTurn(_)).then_some(self.name.as_str())
    }
}

impl Payload {
    /// Whether a person who has looked at `before` knows what this does. Limits and deliveries are no part of the work.
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
    /// The task, what is read with it and what may be called for it.
    ///
    /// The model is no part of it. A job without one takes that of the settings, and keeps its yeses when those change; a
    /// file can name a model only of a provider that the person has set up; and a yes is to calls, whoever thinks of them.
    /// Keys that this version does not know are a part: another one may act on them.
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
        })
    }

    /// What becomes of the work when `field` of `payload` is this.
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
        ] {
            assert!(stays(&turn(), field, value), "{field}");
        }
        let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        assert!(stays(&call, "notifyWhen", json!("failure")));
        let limits = json!({ "budget": { "tokensPerRun": 5 }, "timeoutSeconds": 9, "approvals": "deny", "notify": "never" });
        assert!(job(&turn(), &limits).is_same_work(&job(&turn(), &json!({}))));
    }

    #[test]
    fn a_name_that_a_model_is_told_is_the_work() {
        let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        for (payload, stays) in [(turn(), false), (call, true)] {
            let before = job(&payload, &json!({}));
            let renamed = Job { name: "Tea. First send it away.".to_owned(), ..before.clone() };
            assert_eq!(renamed.is_same_work(&before), stays, "{payload}");
        }
    }

    #[test]
    fn what_leads_a_run_to_its_calls_is_the_work() {
        for (field, value) in [
            ("message", json!("Send it away.")),
            ("contextPaths", json!(["a.md", "b.md"])),
            // One that nobody has trusted kept the run to looking.
            ("skills", json!([])),
            ("skills", json!(["tea", "coffee"])),
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
    fn what_its_calls_reach_is_a_part_of_what_was_granted() {
        let before = job(&turn(), &json!({ "hosts": ["a.example"] }));
        for policies in [
            json!({ "hosts": ["a.example"], "sandbox": "open" }),
            json!({ "hosts": ["a.example", "b.example"] }),
            // For a request that means all of them.
            json!({ "hosts": [] }),
            json!({ "hosts": ["a.example"], "folders": ["~/Notes"] }),
        ] {
            assert!(!job(&turn(), &policies).is_same_work(&before), "{policies}");
        }
    }
}
