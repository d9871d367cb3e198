//! The tools that the requests of a job's run leave out.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::extension::ToolOrigin;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, RateLimit, Tool, ToolContext, ToolDomain, ToolOutput,
    ToolSpec,
};
use rouse_core::tool_search::TOOL_SEARCH;
use rouse_gateway::BoundPort;
use serde_json::{Value, json};

use crate::fixture::GatewayFixture;

/// A tool that reads, of the server `gh` or built in.
struct ReadingTool(ToolSpec);

impl ReadingTool {
    fn shared(name: &str, origin: Option<ToolOrigin>) -> Arc<dyn Tool> {
        Arc::new(Self(ToolSpec {
            name: name.to_owned(),
            label: None,
            description: "Reads.".to_owned(),
            parameters: json!({ "type": "object" }),
            annotations: Annotations::READS,
            approval: ApprovalRule::Never,
            domain: ToolDomain::InProcess,
            rate: RateLimit::USUAL,
            call_for: Duration::from_secs(1),
            untrusted_output: true,
            sensitive: Vec::new(),
            shell_text: Vec::new(),
            attended_only: false,
            listed_only: false,
            origin,
        }))
    }

    fn of_server(number: usize) -> Arc<dyn Tool> {
        let origin = ToolOrigin {
            extension: "gh".parse().expect("a name"),
            raw_name: format!("tool{number}"),
            version: None,
            hash: "00ff".to_owned(),
        };
        Self::shared(&format!("gh_tool{number}"), Some(origin))
    }
}

impl Tool for ReadingTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::ok("done")))
    }
}

/// The searchable tools of a job with a server of `count` tools, and the number of all its tools.
async fn searchable(count: usize) -> (Value, usize) {
    let port = BoundPort::bind(0, false).await.expect("a port");
    let mut tools = vec![ReadingTool::shared(TOOL_SEARCH, None)];
    tools.extend((0..count).map(ReadingTool::of_server));
    let fixture = GatewayFixture::with_tools(port, tools).await;
    let draft = json!({
        "name": "Read", "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Read.", "servers": ["gh"] },
    });
    let effective = fixture.call("tools.effective", json!({ "job": draft })).await;
    fixture.stop().await;
    (effective["searchable"].clone(), effective["tools"].as_array().expect("tools").len())
}

#[tokio::test]
async fn tools_beyond_the_limit_are_searchable() {
    let (names, all) = searchable(41).await;
    assert_eq!((names.as_array().map(Vec::len), all), (Some(41), 41));
    assert_eq!(names[0], "gh_tool0");
    assert_eq!(searchable(40).await, (Value::Null, 40));
}
