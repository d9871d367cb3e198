//! The search for tools of servers: which tools a request offers, and which ones a search adds.

use std::sync::Arc;

use rouse_agent::{OfferedTools, ToolRegistry, ToolSet};
use rouse_core::extension::ToolServers;
use rouse_core::job::Job;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{Tool, ToolOutput};
use rouse_core::tool_search::{TOOL_SEARCH, search_tools};
use rouse_core::{RunId, RunState, RunTrigger};
use rouse_testkit::scripted_model::{Scripted, calls, says};
use serde_json::{Value, json};

use super::fixtures::done;
use super::run_fixture::{NOW, RunFixture, TestTool, agent_job, tools, turn_of};
use super::servers::{FakeServer, FakeServers, server_tool};

/// A window in which the tools of a test fit.
const LARGE_WINDOW: u32 = 1_000_000;

fn search_tool() -> Arc<dyn Tool> {
    let tool = TestTool::new(TOOL_SEARCH, |call, context| {
        let query = call.arguments()["query"].as_str().unwrap_or_default();
        let result = search_tools(&context.searchable_tools, query);
        Box::pin(std::future::ready(ToolOutput::ok(json!(result))))
    });
    Arc::new(tool.with(|spec| spec.parameters = json!({"type": "object"})))
}

/// The tools `tool0`, `tool1`, … of a server.
fn server_tools(server: &str, count: usize) -> Vec<Arc<dyn Tool>> {
    (0..count).map(|number| server_tool(server, &format!("tool{number}"))).collect()
}

/// A search, an own tool, and these tools of servers.
fn tool_set(server_tools: Vec<Arc<dyn Tool>>) -> Arc<ToolSet> {
    let own: Arc<dyn Tool> = Arc::new(TestTool::answering("echo", ToolOutput::ok("")));
    let registry = ToolRegistry::new(vec![search_tool(), own]).expect("a registry");
    registry.replace_server_tools(server_tools);
    registry.current()
}

/// The servers with searchable tools, and the number of the tools.
fn searchable(set: &ToolSet, policy: &ToolPolicy, window: u32) -> (Vec<String>, usize) {
    let tools = OfferedTools::new(set, set.offered(policy), policy, window);
    let origins = tools.searchable().iter().filter_map(|tool| tool.origin.as_ref());
    let mut servers: Vec<String> = origins.map(|origin| origin.extension.to_string()).collect();
    servers.dedup();
    (servers, tools.searchable().len())
}

/// A run with a server of 45 tools.
async fn fixture(script: Vec<Scripted>) -> RunFixture {
    let mut all = tools();
    all.push(search_tool());
    let fixture = RunFixture::with_tools(script, all).await;
    fixture.registry.replace_server_tools(server_tools("gh", 45));
    fixture
}

/// Begins or resumes the turn of a job with the server, with a new driver.
async fn go(fixture: &RunFixture, run: &Run, job: &Job) -> Outcome {
    let servers = FakeServers::with(&[("gh", FakeServer::Open { missing: Vec::new() })]);
    let driver = fixture.driver().with_servers(servers as Arc<dyn ToolServers>);
    driver.run_turn(run, job, turn_of(job), fixture.chosen(), &fixture.cancel).await
}

async fn begin(fixture: &RunFixture, payload: Value) -> (Run, Job, Outcome) {
    let job = agent_job(payload, json!({}));
    let run = fixture.run_of(Some(&job)).await;
    let outcome = go(fixture, &run, &job).await;
    (run, job, outcome)
}

fn searches(query: &str) -> Scripted {
    calls([("s1", TOOL_SEARCH, json!({ "query": query }))])
}

/// The names of the tools in a request.
fn sent(fixture: &RunFixture, request: usize) -> Vec<String> {
    fixture.model.requests()[request].tools.iter().map(|tool| tool.name.clone()).collect()
}

#[test]
fn forty_tools_need_no_search() {
    let policy = ToolPolicy::default();
    for (count, expected) in [(39, (Vec::new(), 0)), (40, (vec!["gh".to_owned()], 40))] {
        let set = tool_set(server_tools("gh", count));
        assert_eq!(searchable(&set, &policy, LARGE_WINDOW), expected, "{count}");
    }
}

#[test]
fn whole_servers_stay_as_long_as_they_fit() {
    let mut all = server_tools("cal", 10);
    all.extend(server_tools("gh", 45));
    all.extend(server_tools("mail", 28));
    let set = tool_set(all);
    let found = searchable(&set, &ToolPolicy::default(), LARGE_WINDOW);
    assert_eq!(found, (vec!["gh".to_owned()], 45));
}

#[test]
fn large_tools_fill_a_small_window() {
    let set = tool_set(server_tools("gh", 5));
    let policy = ToolPolicy::default();
    assert_eq!(searchable(&set, &policy, LARGE_WINDOW).1, 0);
    assert_eq!(searchable(&set, &policy, 1_000).1, 5);
}

#[test]
fn tool_that_the_job_names_stays() {
    let mut all = server_tools("cal", 2);
    all.extend(server_tools("gh", 45));
    let set = tool_set(all);
    let named: Vec<String> = (0..45).map(|number| format!("gh_tool{number}")).collect();
    let servers = ["cal", "gh"].map(|name| name.parse().expect("a name")).to_vec();
    let policy = ToolPolicy::for_tools(Some(named)).with_servers(servers);
    assert_eq!(searchable(&set, &policy, LARGE_WINDOW), (vec!["cal".to_owned()], 2));
}

#[tokio::test]
async fn tools_beyond_the_limit_are_not_sent() {
    let fixture = fixture(vec![done()]).await;
    let (_, _, outcome) = begin(&fixture, json!({"message": "Go.", "servers": ["gh"]})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let sent = sent(&fixture, 0);
    assert!(sent.iter().all(|name| !name.starts_with("gh_")), "{sent:?}");
    assert_eq!(sent.iter().filter(|name| *name == TOOL_SEARCH).count(), 1, "{sent:?}");
    let system = &fixture.model.requests()[0].system;
    assert!(system.contains("gh (45 tools)"), "{system}");
}

#[tokio::test]
async fn job_that_lists_all_tools_gets_exactly_these() {
    let fixture = fixture(vec![done()]).await;
    let named: Vec<String> = (0..45).map(|number| format!("gh_tool{number}")).collect();
    let payload = json!({"message": "Go.", "servers": ["gh"], "tools": named.clone()});
    begin(&fixture, payload).await;
    let sent = sent(&fixture, 0);
    assert_eq!(sent, [vec!["complete_run".to_owned()], named].concat());
}

#[tokio::test]
async fn found_tools_follow_at_the_end_and_stay() {
    let again = calls([("s2", TOOL_SEARCH, json!({ "query": "tool8 tool7" }))]);
    let call = calls([("c1", "gh_tool7", json!({}))]);
    let fixture = fixture(vec![searches("tool7"), again, call, done()]).await;
    let (run, _, outcome) = begin(&fixture, json!({"message": "Go.", "servers": ["gh"]})).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let first = sent(&fixture, 0);
    let with = |found: &[&str]| {
        let found = found.iter().map(|&name| name.to_owned());
        first.iter().cloned().chain(found).collect::<Vec<_>>()
    };
    assert_eq!(sent(&fixture, 1), with(&["gh_tool7"]));
    assert_eq!(sent(&fixture, 2), with(&["gh_tool7", "gh_tool8"]));
    assert_eq!(sent(&fixture, 3), sent(&fixture, 2));
    let steps = fixture.steps(&run).await;
    assert!(steps.iter().any(|step| step.name == "gh_tool7" && !step.is_error), "{steps:?}");
}

#[tokio::test]
async fn resumed_run_offers_found_tools_again() {
    let asks = calls([("c1", "asks", json!({}))]);
    let fixture = fixture(vec![searches("tool7"), asks, done()]).await;
    let (run, job, outcome) = begin(&fixture, json!({"message": "Go.", "servers": ["gh"]})).await;
    fixture.say_yes(&run, &outcome).await;
    let outcome = go(&fixture, &run, &job).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert_eq!(sent(&fixture, 2), sent(&fixture, 1));
    assert_eq!(sent(&fixture, 2).last().map(String::as_str), Some("gh_tool7"));
}

#[tokio::test]
async fn tool_that_was_not_found_can_be_called() {
    let fixture = fixture(vec![calls([("c1", "gh_tool3", json!({}))]), done()]).await;
    let (run, ..) = begin(&fixture, json!({"message": "Go.", "servers": ["gh"]})).await;
    let steps = fixture.steps(&run).await;
    let step = steps.iter().find(|step| step.name == "gh_tool3").expect("journalled");
    assert_eq!(step.output, Some(json!("three events")));
}

#[tokio::test]
async fn search_offers_no_tool_of_another_server() {
    let fixture = fixture(vec![searches("tool7"), done()]).await;
    let mut all = server_tools("gh", 45);
    all.extend(server_tools("mail", 45));
    fixture.registry.replace_server_tools(all);
    begin(&fixture, json!({"message": "Go.", "servers": ["gh"]})).await;
    assert_eq!(sent(&fixture, 1).last().map(String::as_str), Some("gh_tool7"));
    assert!(!sent(&fixture, 1).contains(&"mail_tool7".to_owned()));
}

#[tokio::test]
async fn chat_searches_the_tools_of_all_servers() {
    let fixture = fixture(vec![searches("tool7"), says("Done.")]).await;
    let run = Run {
        job_name: "Chat".to_owned(),
        state: RunState::Running,
        started_at: Some(NOW),
        attempt: 1,
        payload: json!({ "text": "Go." }),
        ..Run::queued(RunId::new("chat-1"), RunTrigger::Chat, NOW)
    };
    fixture.store.insert_run(&run, NOW).await.expect("inserted");
    let driver = fixture.driver();
    let outcome = driver.run_chat_turn(&run, "Go.", fixture.chosen(), &fixture.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    assert!(!sent(&fixture, 0).contains(&"gh_tool7".to_owned()));
    assert_eq!(sent(&fixture, 1).last().map(String::as_str), Some("gh_tool7"));
}

#[tokio::test]
async fn run_without_searchable_tools_is_offered_no_search() {
    let fixture = fixture(vec![done()]).await;
    begin(&fixture, json!({"message": "Go."})).await;
    assert!(!sent(&fixture, 0).contains(&TOOL_SEARCH.to_owned()));
}
