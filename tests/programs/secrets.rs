//! A key goes to its provider and nowhere else: not into the database, the logs, the settings, or any answer; also when
//! the provider says it back, and when everything is logged.

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use serde_json::json;

use crate::engine::{Engine, Home};
use crate::probes::ask;

const KEY: &str = "sk-ant-SENTINEL-q7f3/b9d2+c8e1a4";
/// What a provider shows of a key is little enough; this much of it must never be anywhere.
const PART: &str = "SENTINEL-q7f3";

/// As much as can be logged, and more than anybody should ask for.
const LOUD: &str = "trace,hyper=trace,hyper_util=trace,reqwest=trace,rig_core=trace,h2=trace";

async fn ask_and_end(engine: &Engine<'_>) -> String {
    let id = engine.add(ask("Say a word.")).await;
    let run = engine.run_now(&id).await;
    engine.ended(&id, 1).await;
    run
}

/// Everything that can be asked and everything that was written, without the key.
#[track_caller]
fn assert_kept(home: &Home, run: &str) {
    let asked = [
        vec!["runs", "show", run],
        vec!["runs", "list"],
        vec!["cron", "list", "--all"],
        vec!["cron", "export"],
        vec!["status"],
        vec!["doctor"],
    ];
    for args in asked {
        for json in [&[][..], &["--json"]] {
            let said = home.rouse(args.iter().chain(json));
            let all = format!("{}{}", said.out, said.err);
            assert!(!all.contains(PART), "rouse {args:?} says the key: {all}");
        }
    }
    for (path, bytes) in home.everything_written() {
        let found = bytes.windows(PART.len()).any(|window| window == PART.as_bytes());
        assert!(!found, "{} holds the key", path.display());
    }
}

#[tokio::test]
async fn a_key_is_shown_to_its_provider_alone() {
    for (key, base, path, stream) in [
        ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", sse::messages_says("A word.")),
        ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", sse::chat_says("A word.")),
    ] {
        let server = FakeModel::replying([Reply::events(stream)]);
        let home = Home::new()
            .env(key, KEY)
            .env(base, &format!("{}{path}", server.url()))
            .env("ROUSE_LOG", LOUD);
        let engine = home.serve().await;
        let run = ask_and_end(&engine).await;
        let detail = engine.call("runs.get", json!({ "id": run })).await;
        assert_eq!(detail["run"]["state"], "succeeded", "{detail:#}");
        let request = &server.requests()[0];
        assert!(request.headers.iter().any(|(_, value)| value.contains(KEY)), "it did get there");
        engine.call("providers.list", json!({ "refresh": true })).await;
        assert_kept(&home, &run);
        assert!(engine.stop().success());
        assert_written_without(&home);
    }
}

/// The last look, when every log is flushed.
#[track_caller]
fn assert_written_without(home: &Home) {
    let written = home.everything_written();
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
async fn a_provider_that_says_the_key_back_is_not_repeated() {
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
        // As servers write JSON that escape more than they must.
        Reply::json(
            401,
            format!(r#"{{"error":{{"message":"wrong key {}"}}}}"#, KEY.replace('/', r"\/")),
        ),
        Reply::json(
            401,
            format!(r#"{{"error":{{"message":"wrong key {}"}}}}"#, KEY.replace('+', r"\u002B")),
        ),
        // Longer than what is read of a refusal: the key stands where the reading stops.
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
            let home = Home::new()
                .env(key, KEY)
                .env(base, &format!("{}{path}", server.url()))
                .env("ROUSE_LOG", LOUD);
            let engine = home.serve().await;
            let run = ask_and_end(&engine).await;
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            assert_eq!(detail["run"]["state"], "failed", "{detail:#}");
            assert_kept(&home, &run);
            assert!(engine.stop().success());
            assert_written_without(&home);
        }
    }
}

#[tokio::test]
async fn the_token_is_in_its_file_and_nowhere_else() {
    let home = Home::new().env("ROUSE_LOG", LOUD);
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
    for (path, bytes) in home.everything_written() {
        let holds =
            |secret: &str| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert_eq!(holds(&token), path.ends_with("gateway.token"), "{}", path.display());
        assert!(!holds(&code), "{} holds a code", path.display());
    }
}
