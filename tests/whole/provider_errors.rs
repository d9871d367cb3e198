//! Invalid answers of a model server: the run fails with cause, provider and fix, and retries only transient errors.

use std::path::Path;

use rouse_testkit::fake_model::{FakeModel, Reply};
use rouse_tests::{EngineBuilder, TestEngine, agent_job};
use serde_json::{Value, json};

use super::secret_redaction::files_with_value;

/// Runs a job on model `m-1` of provider `name` and returns the run and the request count.
async fn run_on(name: &str, message: &str, reply: Reply) -> (Value, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::start(move |_| reply.clone());
    let engine = engine_on(name, &server, folder.path()).await;
    let run = only_run(&engine, message).await;
    engine.host.stop().await;
    (run, server.requests().len())
}

/// An engine whose only model is `m-1` of `server`, configured as provider `name`.
async fn engine_on(name: &str, server: &FakeModel, folder: &Path) -> TestEngine {
    let settings = format!(
        "[providers.{name}]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"m-1\"\n",
        server.url()
    );
    std::fs::write(folder.join("config.toml"), settings).expect("a settings file");
    EngineBuilder::new(folder).build().await
}

async fn only_run(engine: &TestEngine, message: &str) -> Value {
    let id = engine.add_job(agent_job(message)).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await.remove(0)
}

/// Asserts that the run fails with `error` after `requests` requests.
async fn assert_fails(reply: Reply, error: &str, requests: usize) {
    let (run, sent) = run_on("openai", "Look", reply).await;
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(error)), "{run:#}");
    assert_eq!((&run["summary"], sent), (&Value::Null, requests), "{run:#}");
}

#[tokio::test]
async fn unknown_model_fails_after_one_request() {
    let reply = || {
        let body = r#"{"error":{"message":"The model `m-1` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#;
        Reply::json(404, body)
    };
    let error = "openai does not have the model m-1 (HTTP 404). Message: The model `m-1` does not exist. Load the model there first (Ollama: `ollama pull m-1`), or choose another model in the job or the settings.";
    assert_fails(reply(), error, 1).await;
    // A local server that runs without the model fails the run too.
    let (run, sent) = run_on("mine", "Look", reply()).await;
    let error = error.replace("openai", "mine");
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(error)), "{run:#}");
    assert_eq!(sent, 1);
}

#[tokio::test]
async fn web_page_answer_is_reported_as_web_page() {
    const PAGE: &str = "<!DOCTYPE html><html><body>Sign in</body></html>";
    let page = |status| Reply::page(status, PAGE);
    let error = "openai answered the request for m-1 with a web page. Check the address in the settings: the address may be wrong, or require a sign-in.";
    assert_fails(page(200), error, 1).await;
    let error = "openai has no such address for m-1 (HTTP 404). Check the provider's address in the settings.";
    assert_fails(page(404), error, 1).await;
}

#[tokio::test]
async fn empty_answer_is_retried_then_reported() {
    let error = "openai sent an empty answer for m-1. If this repeats, check the address and the model in the settings.";
    assert_fails(Reply::events(""), error, 3).await;
}

#[tokio::test]
async fn oversized_request_is_shortened_then_fails() {
    let body = r#"{"error":{"message":"This model's maximum context length is 100 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    let error = "The conversation is longer than the context window of m-1 at openai (HTTP 400). Message: This model's maximum context length is 100 tokens. Shorten the input, or choose a model with a larger context window.";
    assert_fails(Reply::json(400, body), error, 1).await;
    let (run, sent) = run_on("openai", &"Look at it. ".repeat(2_000), Reply::json(400, body)).await;
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(error)), "{run:#}");
    assert!((1..8).contains(&sent), "{sent} questions");
}

#[tokio::test]
async fn secret_echoed_by_server_is_redacted() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::start(|_| {
        // The last occurrence crosses the limit of a quoted text.
        let pad = "x".repeat(235);
        let message =
            format!("bad sunflower-42-Tango and c3VuZmxvd2VyLTQyLVRhbmdv {pad} sunflower-42-Tango");
        Reply::json(400, json!({ "error": { "message": message } }).to_string())
    });
    let engine = engine_on("mine", &server, folder.path()).await;
    let secret = json!({ "name": "mail", "value": "sunflower-42-Tango", "hosts": ["a.example"] });
    engine.call("secrets.set", secret).await;
    let run = only_run(&engine, "Look").await;
    let mark = "[redacted: secret:mail]";
    let error = run["error"].as_str().expect("words");
    assert!(error.contains(&format!("bad {mark} and {mark}")), "{error}");
    assert!(!error.contains("sun"), "{error}");
    engine.host.stop().await;
    assert_eq!(files_with_value(folder.path()), [folder.path().join("secrets.json")]);
}
