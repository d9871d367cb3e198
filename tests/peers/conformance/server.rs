//! The engine as a server of the suites' clients.

use std::process::Command;

use rouse_tests::{EngineBuilder, TestEngine};
use serde_json::json;

use super::authorizing_proxy::AuthorizingProxy;
use super::suite::{ConformanceSuite, ExpectedFailures, run, write_expected_failures};

/// Failures in both suites.
const REFERENCE_TOOLS: ExpectedFailures = ExpectedFailures {
    reason: "The scenario calls a tool of the suite's own example server.",
    scenarios: &[
        "tools-call-simple-text",
        "tools-call-image",
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-mixed-content",
        "tools-call-error",
        "tools-call-with-progress",
    ],
};

const ABSENT_FEATURES: ExpectedFailures = ExpectedFailures {
    reason: "Rouse offers tools only: no resources, no prompts, no completions.",
    scenarios: &[
        "completion-complete",
        "resources-list",
        "resources-read-text",
        "resources-read-binary",
        "resources-templates-read",
        "prompts-list",
        "prompts-get-simple",
        "prompts-get-with-args",
        "prompts-get-embedded-resource",
        "prompts-get-with-image",
    ],
};

/// Failures in the suite of 2025-11-25.
const HANDSHAKE_ABSENT: ExpectedFailures = ExpectedFailures {
    reason: "Rouse offers no logging, no subscriptions and no sessions, and asks a client nothing.",
    scenarios: &[
        "logging-set-level",
        "tools-call-with-logging",
        "tools-call-sampling",
        "tools-call-elicitation",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "resources-subscribe",
        "resources-unsubscribe",
        "server-sse-multiple-streams",
    ],
};

/// Failures in the suite of 2026-07-28.
const PER_REQUEST_TOOLS: ExpectedFailures = ExpectedFailures {
    reason: "The check calls a tool of the suite's own example server.",
    scenarios: &[
        "server-stateless:sep-2575-server-rejects-undeclared-capability",
        "server-stateless:sep-2575-missing-capability-http-400",
        "server-stateless:sep-2575-http-server-no-independent-requests-on-stream",
        "server-stateless:sep-2575-server-no-log-without-loglevel",
    ],
};

const PER_REQUEST_ABSENT: ExpectedFailures = ExpectedFailures {
    reason: "Rouse offers no resources and no prompts.",
    scenarios: &[
        "caching:sep-2549-prompts-list-caching-hints",
        "caching:sep-2549-resources-list-caching-hints",
        "caching:sep-2549-resources-templates-list-caching-hints",
        "sep-2164-resource-not-found",
    ],
};

const PER_REQUEST_QUESTIONS: ExpectedFailures = ExpectedFailures {
    reason: "No tool of Rouse asks the client for input.",
    scenarios: &[
        "input-required-result-basic-elicitation",
        "input-required-result-basic-sampling",
        "input-required-result-basic-list-roots",
        "input-required-result-request-state",
        "input-required-result-multiple-input-requests",
        "input-required-result-multi-round",
        "input-required-result-missing-input-response",
        "input-required-result-non-tool-request",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
    ],
};

#[tokio::test]
async fn server_passes_the_scenarios_of_2025_11_25() {
    let expected = [&REFERENCE_TOOLS, &ABSENT_FEATURES, &HANDSHAKE_ABSENT];
    serve(ConformanceSuite::Handshake, &["--suite", "active"], &expected).await;
}

#[tokio::test]
async fn server_passes_the_scenarios_of_2026_07_28() {
    let expected = [
        &REFERENCE_TOOLS,
        &ABSENT_FEATURES,
        &PER_REQUEST_TOOLS,
        &PER_REQUEST_ABSENT,
        &PER_REQUEST_QUESTIONS,
    ];
    serve(ConformanceSuite::PerRequest, &["--requirements", "2026-07-28"], &expected).await;
}

/// Runs the suite's selected scenarios against an engine.
async fn serve(suite: ConformanceSuite, selection: &[&str], expected: &[&ExpectedFailures]) {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let proxy = AuthorizingProxy::start(engine.host.address(), create_token(&engine).await).await;
    let proxy = proxy.expect("a proxy");
    let file = folder.path().join("expected.yml");
    write_expected_failures(&file, "server", expected);
    let mut command: Command = suite.command();
    command.args(["server", "--url", &format!("http://{}/mcp", proxy.address)]);
    command.args(selection).arg("--expected-failures").arg(&file);
    let finished = tokio::task::spawn_blocking(move || run(command)).await.expect("no panic");
    if let Err(output) = finished {
        panic!("{output}");
    }
    engine.host.stop().await;
}

async fn create_token(engine: &TestEngine) -> String {
    let params = json!({ "name": "conformance", "scope": "write" });
    let created = engine.call("mcpAccess.create", params).await;
    created["token"].as_str().expect("a token").to_owned()
}
