//! A provider key is sent to its provider only: not to the database, logs, settings or any output, even if the
//! provider echoes it and the log is verbose.

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_tests::agent_job;
use serde_json::json;

use crate::engine::{EngineProcess, TestHome};

const KEY: &str = "sk-ant-SENTINEL-q7f3/b9d2+c8e1a4";
/// No output may contain this part of the key.
const PART: &str = "SENTINEL-q7f3";

/// The most verbose log filter.
const VERBOSE: &str = "trace,hyper=trace,hyper_util=trace,reqwest=trace,rig_core=trace,h2=trace";

async fn ask_and_end(engine: &EngineProcess<'_>) -> String {
    let id = engine.add_job(agent_job("Say a word.")).await;
    let run = engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    run
}

/// Asserts that neither commands nor files contain the key.
#[track_caller]
fn assert_not_leaked(home: &TestHome, run: &str) {
    let commands = [
        vec!["runs", "show", run],
        vec!["runs", "list"],
        vec!["cron", "list", "--all"],
        vec!["cron", "export"],
        vec!["status"],
        vec!["doctor"],
    ];
    for args in commands {
        for json in [&[][..], &["--json"]] {
            let output = home.rouse(args.iter().chain(json));
            let all = format!("{}{}", output.out, output.err);
            assert!(!all.contains(PART), "rouse {args:?} prints the key: {all}");
        }
    }
    for (path, bytes) in home.written_files() {
        let found = bytes.windows(PART.len()).any(|window| window == PART.as_bytes());
        assert!(!found, "{} holds the key", path.display());
    }
}

#[tokio::test]
async fn provider_key_is_sent_to_its_provider_only() {
    for (key, base, path, stream) in [
        ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", sse::messages_says("A word.")),
        ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", sse::chat_says("A word.")),
    ] {
        let server = FakeModel::replying([Reply::events(stream)]);
        let home = TestHome::new()
            .env(key, KEY)
            .env(base, &format!("{}{path}", server.url()))
            .env("ROUSE_LOG", VERBOSE);
        let engine = home.serve().await;
        let run = ask_and_end(&engine).await;
        let detail = engine.call("runs.get", json!({ "id": run })).await;
        assert_eq!(detail["run"]["state"], "succeeded", "{detail:#}");
        let request = &server.requests()[0];
        assert!(
            request.headers.iter().any(|(_, value)| value.contains(KEY)),
            "the server received the key"
        );
        engine.call("providers.list", json!({ "refresh": true })).await;
        assert_not_leaked(&home, &run);
        assert!(engine.stop().success());
        assert_written_without(&home);
    }
}

/// Repeats the check of files after all logs are flushed.
#[track_caller]
fn assert_written_without(home: &TestHome) {
    let written = home.written_files();
    assert!(
        written
            .iter()
            .any(|(path, bytes)| path.extension().is_some_and(|end| end == "jsonl")
                && !bytes.is_empty()),
        "something was logged"
    );
    for (path, bytes) in written {
        let found = bytes.windows(PART.len()).any(|window| window == PART.as_bytes());
        assert!(!found, "{} holds the key", path.display());
    }
}

#[tokio::test]
async fn key_echoed_by_provider_is_redacted() {
    let refusals = [
        Reply::json(
            401,
            format!(
                r#"{{"error":{{"message":"Incorrect API key provided: {KEY}. You can find your key elsewhere.","type":"invalid_request_error"}}}}"#
            ),
        ),
        Reply::json(
            401,
            format!(
                r#"{{"type":"error","error":{{"type":"authentication_error","message":"invalid x-api-key {KEY}"}}}}"#
            ),
        ),
        Reply::json(403, format!("not JSON, but {KEY} all the same")),
        Reply::json(
            400,
            format!(r#"{{"error":{{"message":"bad header authorization: Bearer {KEY}"}}}}"#),
        )
        .header("x-echo", KEY),
        // JSON with unnecessary escapes.
        Reply::json(
            401,
            format!(r#"{{"error":{{"message":"wrong key {}"}}}}"#, KEY.replace('/', r"\/")),
        ),
        Reply::json(
            401,
            format!(r#"{{"error":{{"message":"wrong key {}"}}}}"#, KEY.replace('+', r"\u002B")),
        ),
        // Longer than the read limit of a refusal: the limit cuts the key.
        Reply::json(401, "x".repeat((64 << 10) - 20) + KEY),
        Reply::json(200, format!(r#"{{"key": "{KEY}"}}"#)),
        Reply::events(format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"invalid_request_error\",\"message\":\"for {KEY}\"}}}}\n\n"
        )),
    ];
    for refusal in refusals {
        for (key, base, path) in [
            ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
            ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
        ] {
            let answer = refusal.clone();
            let server = FakeModel::start(move |_| answer.clone());
            let home = TestHome::new()
                .env(key, KEY)
                .env(base, &format!("{}{path}", server.url()))
                .env("ROUSE_LOG", VERBOSE);
            let engine = home.serve().await;
            let run = ask_and_end(&engine).await;
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            assert_eq!(detail["run"]["state"], "failed", "{detail:#}");
            assert_not_leaked(&home, &run);
            assert!(engine.stop().success());
            assert_written_without(&home);
        }
    }
}

#[tokio::test]
async fn gateway_token_is_in_its_file_only() {
    let home = TestHome::new().env("ROUSE_LOG", VERBOSE);
    let engine = home.serve().await;
    let token = engine.token();
    home.rouse(["status"]).ok();
    let code = home
        .rouse(["open", "--print"])
        .ok()
        .trim()
        .split_once("#code=")
        .expect("a code")
        .1
        .to_owned();
    assert!(engine.stop().success());
    for (path, bytes) in home.written_files() {
        let holds =
            |secret: &str| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert_eq!(holds(&token), path.ends_with("gateway.token"), "{}", path.display());
        assert!(!holds(&code), "{} holds a code", path.display());
    }
}
