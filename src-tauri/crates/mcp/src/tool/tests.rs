use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rouse_core::call_progress::ProgressReporter;
use rouse_core::extension::{
    ServerDefinition, ServerTransport, ToolAccess, ToolDefinition, ToolHints, ToolOrigin, tool_name,
};
use rouse_core::input_request::{InputBody, InputReply};
use rouse_core::policy::{PolicyVerdict, ToolPolicy};
use rouse_core::schedule::Zone;
use rouse_core::tool::{Annotations, PendingCleanup, SandboxMode, ToolEffect};
use rouse_core::{RunId, UnixMs};
use rouse_testkit::ManualClock;
use serde_json::{Map, json};

use super::*;
use crate::connection::{CallResult, ConnectionError, ContentPart, ProgressSink, RequestedInput};

/// A server that records its calls and answers each with the arguments as text.
#[derive(Default)]
struct EchoServer {
    calls: Mutex<Vec<(String, String, Value)>>,
    is_off: bool,
    /// The question in the place of the result of a first call.
    question: Option<Value>,
}

impl ServerCalls for EchoServer {
    fn call<'a>(
        &'a self,
        extension: &'a ExtensionName,
        raw_name: &'a str,
        arguments: Map<String, Value>,
        input: Option<&'a InputReply>,
        progress: ProgressSink,
    ) -> BoxFuture<'a, Result<CallResult, ConnectionError>> {
        progress("halfway");
        let arguments = Value::Object(arguments);
        let content = vec![ContentPart::Text(arguments.to_string())];
        let call = (extension.to_string(), raw_name.to_owned(), arguments);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        let answer = if self.is_off {
            Err(ConnectionError::Ended("The server exited with status 1.".to_owned()))
        } else if let (Some(params), None) = (&self.question, input) {
            let (key, request_state) = ("q".to_owned(), Some("state".to_owned()));
            let requested = RequestedInput { key, params: params.clone(), request_state };
            Err(ConnectionError::InputRequired(Box::new(requested)))
        } else {
            Ok(CallResult { content, structured: None, is_error: false })
        };
        Box::pin(ready(answer))
    }
}

fn name() -> ExtensionName {
    "cal".parse().expect("a name")
}

fn entry(transport: ServerTransport) -> Extension {
    Extension {
        server: ServerDefinition::new(transport),
        package: None,
        is_enabled: true,
        accepted_at_ms: UnixMs(0),
        reported_version: Some("calendar 1.2.3".to_owned()),
        tools: Vec::new(),
        held: Vec::new(),
        gone: Vec::new(),
    }
}

fn process(argument: &str, hosts: &[&str]) -> Extension {
    entry(ServerTransport::Stdio {
        command: "/usr/bin/node".to_owned(),
        arguments: vec![argument.to_owned()],
        environment: BTreeMap::new(),
        folder: None,
        folders: Vec::new(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        is_unconfined: false,
    })
}

fn http() -> Extension {
    let url = "https://mcp.example/mcp".to_owned();
    entry(ServerTransport::Http { url, headers: BTreeMap::new(), oauth: None })
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "list.events".to_owned(),
        title: Some("List\u{200b} events\nnow".to_owned()),
        description: "Lists the events.".to_owned(),
        input_schema: json!({"properties": {"day": {"type": ["string", "null"]}}}),
        output_schema: None,
        hints: ToolHints { read_only: Some(true), idempotent: Some(true), ..ToolHints::default() },
    }
}

fn pin(definition: ToolDefinition, access: ToolAccess) -> PinnedTool {
    PinnedTool::accept(definition, access, UnixMs(0))
}

fn tool_of(entry: &Extension, access: ToolAccess) -> Arc<dyn Tool> {
    let calls = Arc::new(EchoServer::default());
    server_tool(&name(), entry, &pin(definition(), access), calls).expect("a tool")
}

fn context() -> ToolContext {
    ToolContext {
        run_id: RunId::new("run-1"),
        job_id: None,
        job_name: "Test".to_owned(),
        workspace: PathBuf::from("/nonexistent-workspace"),
        sandbox: SandboxMode::Sandboxed { hosts: Vec::new() },
        named_hosts: Vec::new(),
        folders: Vec::new(),
        clock: Arc::new(ManualClock::new(UnixMs(0))),
        zone: Zone::UTC,
        skills: Vec::new(),
        event: None,
        requested_at: None,
        pending_cleanup: PendingCleanup::default(),
        searchable_tools: Arc::default(),
        progress: ProgressReporter::default(),
    }
}

async fn call(tool: &dyn Tool, arguments: Value) -> ToolOutput {
    let policy = ToolPolicy::for_written_call(&tool.spec().name, &arguments);
    match policy.judge(tool.spec(), arguments) {
        PolicyVerdict::Allowed(call) => tool.call(call, &context()).await,
        other => panic!("the policy refused the call: {other:?}"),
    }
}

async fn surroundings(entry: &Extension, pin: &PinnedTool) -> Surroundings {
    let calls = Arc::new(EchoServer::default());
    let tool = server_tool(&name(), entry, pin, calls).expect("a tool");
    tool.surroundings(&json!({}), &context()).await.expect("surroundings")
}

#[test]
fn spec_follows_from_pin_and_definition() {
    let tool = tool_of(&process("a.js", &[]), ToolAccess::Ask);
    let spec = tool.spec();
    assert_eq!(spec.name, tool_name(&name(), "list.events"));
    assert_eq!(spec.label.as_deref(), Some("List events…"));
    assert_eq!(spec.description, "Lists the events.");
    let parameters = json!({"type": "object", "properties": {"day": {"type": "string"}}});
    assert_eq!(spec.parameters, parameters);
    assert_eq!(spec.call_for, Duration::from_secs(600));
    assert!(spec.untrusted_output && !spec.attended_only && !spec.listed_only);
    let origin = ToolOrigin {
        extension: name(),
        raw_name: "list.events".to_owned(),
        version: Some("calendar 1.2.3".to_owned()),
        hash: definition().hash(),
    };
    assert_eq!(spec.origin, Some(origin));
}

#[test]
fn missing_texts_are_replaced() {
    let plain = ToolDefinition { title: None, description: " ".to_owned(), ..definition() };
    let calls = Arc::new(EchoServer::default());
    let entry = Extension {
        server: ServerDefinition { call_timeout_seconds: Some(5), ..http().server },
        ..http()
    };
    let tool = server_tool(&name(), &entry, &pin(plain, ToolAccess::Ask), calls).expect("a tool");
    assert_eq!(tool.spec().label, None);
    assert_eq!(tool.spec().description, "The tool list.events of the server cal.");
    assert_eq!(tool.spec().call_for, Duration::from_secs(50));
}

#[test]
fn access_decides_rule_and_annotations() {
    let reads = |open_world| Annotations { open_world, ..Annotations::READS };
    let acts = |open_world| Annotations { open_world, ..Annotations::ANYTHING };
    let (closed, reaching, remote) =
        (process("a.js", &[]), process("a.js", &["b.example"]), http());
    for (entry, access, rule, annotations) in [
        (&closed, ToolAccess::ReadsOnly, ApprovalRule::Never, reads(false)),
        (&reaching, ToolAccess::ReadsOnly, ApprovalRule::Never, reads(true)),
        (&remote, ToolAccess::ReadsOnly, ApprovalRule::Never, reads(true)),
        (&closed, ToolAccess::Ask, ApprovalRule::UnlessGranted, acts(false)),
        (&remote, ToolAccess::Ask, ApprovalRule::UnlessGranted, acts(true)),
        (&closed, ToolAccess::AlwaysAsk, ApprovalRule::Always, acts(false)),
    ] {
        let tool = tool_of(entry, access);
        assert_eq!(tool.approval(&json!({}), &context()), rule, "{access:?}");
        assert_eq!(tool.spec().annotations, annotations, "{access:?}");
        assert_eq!(tool.has_egress(&json!({}), &context()), annotations.open_world);
    }
}

#[test]
fn switched_off_or_unusable_tool_is_absent() {
    let text = ToolDefinition { input_schema: json!({"type": "string"}), ..definition() };
    for pin in [pin(definition(), ToolAccess::Off), pin(text, ToolAccess::Ask)] {
        let calls = Arc::new(EchoServer::default());
        assert!(server_tool(&name(), &http(), &pin, calls).is_none());
    }
}

#[tokio::test]
async fn call_reaches_the_server_by_raw_name() {
    let server = Arc::new(EchoServer::default());
    let calls = Arc::clone(&server) as Arc<dyn ServerCalls>;
    let pin = pin(definition(), ToolAccess::Ask);
    let tool = server_tool(&name(), &http(), &pin, calls).expect("a tool");
    let output = call(tool.as_ref(), json!({"day": "today"})).await;
    assert_eq!(output, ToolOutput::ok(r#"{"day":"today"}"#));
    let expected = ("cal".to_owned(), "list.events".to_owned(), json!({"day": "today"}));
    assert_eq!(*server.calls.lock().expect("the calls"), [expected]);
}

#[tokio::test]
async fn arguments_other_than_object_reach_no_server() {
    let tool = tool_of(&http(), ToolAccess::Ask);
    let output = call(tool.as_ref(), json!(["today"])).await;
    assert_eq!(output.fault, Some(Fault::InvalidParameters));
}

#[tokio::test]
async fn lost_call_is_doubtful_unless_read_only() {
    for (access, is_doubtful) in [(ToolAccess::Ask, true), (ToolAccess::ReadsOnly, false)] {
        let calls = Arc::new(EchoServer { is_off: true, ..EchoServer::default() });
        let pin = pin(definition(), access);
        let tool = server_tool(&name(), &http(), &pin, calls).expect("a tool");
        let output = call(tool.as_ref(), json!({})).await;
        assert_eq!(output.fault, Some(Fault::ExternalService));
        assert_eq!(output.text().contains("anyway"), is_doubtful, "{}", output.text());
    }
}

#[tokio::test]
async fn preview_shows_receiver_and_whole_arguments() {
    let long = "x".repeat(5_000);
    let arguments = json!({"day": "a\u{202e}b", "list": [long]});
    let remote = tool_of(&http(), ToolAccess::Ask);
    let shown = remote.preview(&arguments, &context()).await;
    assert!(shown.starts_with("Server cal, tool list.events\n"), "{shown}");
    for part in ["mcp.example:443. The call goes over the network.", "a⟨U+202E⟩b", long.as_str()]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let local = tool_of(&process("a.js", &[]), ToolAccess::Ask);
    assert!(local.preview(&arguments, &context()).await.contains("`/usr/bin/node a.js`"));
}

#[test]
fn secrets_go_to_the_host_of_an_http_server_only() {
    let remote = tool_of(&http(), ToolAccess::Ask).destination(&json!({})).expect("a host");
    assert_eq!(
        (remote.host.as_str(), remote.port, remote.is_encrypted),
        ("mcp.example", 443, true)
    );
    assert_eq!(tool_of(&process("a.js", &[]), ToolAccess::Ask).destination(&json!({})), None);
}

#[tokio::test]
async fn surroundings_bind_tool_and_server() {
    let accepted = pin(definition(), ToolAccess::Ask);
    let base = surroundings(&process("a.js", &[]), &accepted).await;
    assert_eq!(surroundings(&process("a.js", &[]), &accepted).await, base);
    let other = ToolDefinition { description: "Lists.".to_owned(), ..definition() };
    let mut variable = process("a.js", &[]);
    if let ServerTransport::Stdio { environment, .. } = &mut variable.server.transport {
        environment.insert("A".to_owned(), "1".to_owned());
    }
    for changed in [
        surroundings(&process("b.js", &[]), &accepted).await,
        surroundings(&process("a.js", &["b.example"]), &accepted).await,
        surroundings(&http(), &accepted).await,
        surroundings(&variable, &accepted).await,
        surroundings(&process("a.js", &[]), &pin(other, ToolAccess::Ask)).await,
    ] {
        assert_ne!(changed, base);
    }
}

#[tokio::test]
async fn question_of_the_server_is_a_request_to_the_person() {
    let properties = json!({"name": {"type": "string"}});
    let schema = json!({"type": "object", "properties": properties});
    let question = Some(json!({"message": "Who?", "requestedSchema": schema}));
    let server = Arc::new(EchoServer { question, ..EchoServer::default() });
    let pin = pin(definition(), ToolAccess::ReadsOnly);
    let tool = server_tool(&name(), &http(), &pin, server).expect("a tool");
    let output = call(tool.as_ref(), json!({})).await;
    let Some(ToolEffect::RequestInput(request)) = output.effect else { panic!("no request") };
    let prompt = request.prompt().expect("input");
    assert_eq!((prompt.server.as_str(), request.key.as_str()), ("cal", "q"));
    assert!(matches!(prompt.body, InputBody::Form { .. }));
}
