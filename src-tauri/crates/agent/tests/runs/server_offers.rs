//! The offer of server tools: by the servers and the tools that a job names.

use std::sync::Arc;

use rouse_agent::ToolRegistry;
use rouse_core::policy::ToolPolicy;
use rouse_core::tool::{Tool, ToolOutput};
use serde_json::json;

use super::run_fixture::{RunFixture, TestTool, tools};
use super::servers::server_tool;

fn registry() -> ToolRegistry {
    let builtin: Vec<Arc<dyn Tool>> =
        vec![Arc::new(TestTool::answering("echo", ToolOutput::ok("")))];
    let registry = ToolRegistry::new(builtin).expect("a registry");
    registry.replace_server_tools(vec![
        server_tool("cal", "list"),
        server_tool("cal", "delete"),
        server_tool("mail", "send"),
    ]);
    registry
}

fn offered(servers: Option<&[&str]>, tools: Option<&[&str]>) -> Vec<String> {
    let tools = tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect());
    let policy = ToolPolicy::for_tools(tools);
    let policy = match servers {
        Some(servers) => {
            policy.with_servers(servers.iter().map(|name| name.parse().expect("a name")).collect())
        }
        None => policy,
    };
    registry().current().offered(&policy).into_iter().map(|spec| spec.name).collect()
}

#[test]
fn job_is_offered_the_tools_of_its_servers_only() {
    assert_eq!(offered(Some(&[]), None), ["echo"]);
    assert_eq!(offered(Some(&["cal"]), None), ["echo", "cal_list", "cal_delete"]);
    assert_eq!(offered(None, None), ["echo", "cal_list", "cal_delete", "mail_send"]);
}

#[test]
fn tool_list_narrows_the_servers_that_it_names() {
    let servers: Option<&[&str]> = Some(&["cal", "mail"]);
    assert_eq!(offered(servers, Some(&["cal_list"])), ["cal_list", "mail_send"]);
    assert_eq!(offered(servers, Some(&["echo"])), ["echo", "cal_list", "cal_delete", "mail_send"]);
    assert_eq!(offered(Some(&[]), Some(&["cal_list"])), [] as [&str; 0]);
}

#[tokio::test]
async fn call_of_a_server_that_the_job_does_not_name_is_refused() {
    let fixture = RunFixture::with_tools([], tools()).await;
    fixture.registry.replace_server_tools(vec![server_tool("mail", "send")]);
    let policy = ToolPolicy::default().with_servers(Vec::new());
    let (_, called) = fixture.pass(&policy, "mail_send", json!({})).await;
    assert!(!called.reached_tool && called.output.is_error(), "{called:?}");
}

#[test]
fn refused_tool_leaves_the_others() {
    let registry = registry();
    let broken = TestTool::answering("bad", ToolOutput::ok(""))
        .with(|spec| spec.parameters = json!({"type": "nonsense"}));
    let shadow = TestTool::answering("echo", ToolOutput::ok("mine"));
    registry.replace_server_tools(vec![
        Arc::new(broken),
        Arc::new(shadow),
        server_tool("mail", "send"),
    ]);
    let tools = registry.current();
    let names: Vec<&str> = tools.specs().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["echo", "mail_send"]);
    let refused: Vec<String> =
        tools.refused().iter().map(|tool| format!("{}: {}", tool.name, tool.error)).collect();
    assert!(refused[0].starts_with("bad: the schema of bad is not valid"), "{refused:?}");
    assert_eq!(refused[1], "echo: there is another tool called echo");
}
