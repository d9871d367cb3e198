//! Agents as authors of a job.
//!
//! Never names other authors: other programs may write any value under the same keys.

use rouse_core::job::JobFact;
use serde_json::Value;

use super::facts::fact;
use super::text::escape;

/// The suffix of the job's name in a list.
pub(crate) fn name_suffix(job: &Value) -> &'static str {
    if is_agent(&job["createdBy"]) {
        " (by an agent)"
    } else if is_agent(message_author(job)) {
        " (task by an agent)"
    } else {
        ""
    }
}

/// The agents that created the job and wrote its message.
pub(crate) fn author_facts(job: &Value) -> Vec<JobFact> {
    let (creator, author) = (&job["createdBy"], message_author(job));
    let mut facts = Vec::new();
    if is_agent(creator) {
        facts.push(fact("Created by", agent_text(creator)));
    }
    if is_agent(author) {
        let flag = message_flag(job).unwrap_or_default();
        let agent = agent_text(author);
        facts.push(fact(
            "Message by",
            format!("{agent}; to take over, write the message again with {flag}"),
        ));
    }
    facts
}

/// The last author of the message; null for a job without a message.
fn message_author(job: &Value) -> &Value {
    match (message_flag(job), &job["messageBy"]) {
        (None, _) => &Value::Null,
        (Some(_), Value::Null) => &job["createdBy"],
        (Some(_), author) => author,
    }
}

/// The flag that sets the message.
fn message_flag(job: &Value) -> Option<&'static str> {
    match job["payload"]["kind"].as_str() {
        Some("agentTurn") => Some("--message"),
        Some("systemEvent") => Some("--system-event"),
        _ => None,
    }
}

fn is_agent(author: &Value) -> bool {
    author["kind"] == "agent"
}

/// The agent: in a run of Rouse, or outside by the name that the program claims.
fn agent_text(author: &Value) -> String {
    match (author["runId"].as_str(), author["client"].as_str()) {
        (Some(run), _) => format!("an agent, in run {}", escape(run)),
        (None, Some(client)) => format!("the agent `{}`, over MCP", escape(client)),
        (None, None) => "an agent".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn author_names_run_or_outside_agent() {
        for (author, text) in [
            (json!({ "kind": "agent", "runId": "r-1" }), "an agent, in run r-1"),
            (json!({ "kind": "agent", "client": "codex" }), "the agent `codex`, over MCP"),
            (json!({ "kind": "agent" }), "an agent"),
        ] {
            assert_eq!(agent_text(&author), text);
        }
    }
}
