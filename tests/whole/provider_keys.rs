//! Provider keys from stored secrets: sent to their provider only, current at each request, and stored nowhere else.

use std::fs;
use std::path::Path;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_tests::{EngineBuilder, TestEngine, agent_job};
use serde_json::{Value, json};

const FIRST: &str = "first-key-0123456789";
const SECOND: &str = "second-key-9876543210";

fn server() -> FakeModel {
    FakeModel::start(|_| Reply::events(sse::chat_says("Hello from the wire.")))
}

fn provider_patch(server: &FakeModel) -> Value {
    let base_url = format!("{}/v1", server.url());
    let mine =
        json!({ "kind": "openai", "baseUrl": base_url, "model": "tiny", "keySecret": "work" });
    json!({ "patch": { "providers": { "mine": mine } } })
}

async fn add_provider(engine: &TestEngine, server: &FakeModel) {
    engine.call("config.patch", provider_patch(server)).await;
    engine
        .wait_until(async |engine| {
            (!engine.call("system.status", json!({})).await["model"].is_null()).then_some(())
        })
        .await;
}

async fn store_key(engine: &TestEngine, value: &str, hosts: Value) {
    let secret = json!({ "name": "work", "value": value, "hosts": hosts });
    engine.call("secrets.set", secret).await;
}

async fn run_job(engine: &TestEngine, id: &str, count: usize) -> Value {
    engine.start_run(id).await;
    engine.finished_runs(id, count).await.remove(0)
}

/// The files below `folder` that hold `text`.
fn holders(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(holders(&path, text));
        } else if let Ok(bytes) = fs::read(&path) {
            let is_there = bytes.windows(text.len()).any(|part| part == text.as_bytes());
            found.extend(is_there.then(|| path.display().to_string()));
        }
    }
    found
}

#[tokio::test]
async fn replaced_provider_key_is_used_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let engine = EngineBuilder::new(folder.path()).build().await;
    store_key(&engine, FIRST, json!([server.url()])).await;
    add_provider(&engine, &server).await;
    let id = engine.add_job(agent_job("Hello?")).await;
    let run = run_job(&engine, &id, 1).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    engine.call("secrets.set", json!({ "name": "work", "value": SECOND })).await;
    let run = run_job(&engine, &id, 2).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    let keys: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization").expect("a key").to_owned())
        .collect();
    assert_eq!(keys, [FIRST, SECOND].map(|key| format!("Bearer {key}")));

    let config = engine.call("config.get", json!({})).await;
    assert_eq!(config["model"]["providers"][0]["keySecret"], "work");
    let listed = engine.call("providers.list", json!({})).await;
    let provider = &listed["providers"][0];
    assert_eq!((&provider["keySecret"], &provider["problem"]), (&json!("work"), &Value::Null));
    let answers = format!("{config}{listed}{}", engine.run_detail(&run).await);
    assert!(!answers.contains(FIRST) && !answers.contains(SECOND), "{answers}");
    engine.host.stop().await;
    let store = folder.path().join("secrets.json");
    assert_eq!(holders(folder.path(), FIRST), Vec::<String>::new());
    assert_eq!(holders(folder.path(), SECOND), [store.display().to_string()]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&store).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn key_bound_to_other_host_is_refused_and_not_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let engine = EngineBuilder::new(folder.path()).build().await;
    let missing = "the secret work is not stored;";
    let refused =
        engine.try_call("config.patch", provider_patch(&server)).await.expect_err("refused");
    let field = &refused.data["fields"][0];
    assert_eq!(field["path"], "providers.mine.keySecret", "{refused}");
    assert!(
        field["message"].as_str().is_some_and(|reason| reason.starts_with(missing)),
        "{refused}"
    );

    store_key(&engine, FIRST, json!(["other.example"])).await;
    let misbound =
        format!("the secret work goes to other.example alone and not to {}", server.url());
    let refused =
        engine.try_call("config.patch", provider_patch(&server)).await.expect_err("refused");
    let field = &refused.data["fields"][0];
    assert!(
        field["message"].as_str().is_some_and(|reason| reason.starts_with(&misbound)),
        "{refused}"
    );

    store_key(&engine, FIRST, json!([server.url()])).await;
    add_provider(&engine, &server).await;
    store_key(&engine, FIRST, json!(["other.example"])).await;
    let id = engine.add_job(agent_job("Hello?")).await;
    let run = run_job(&engine, &id, 1).await;
    let reason = run["error"].as_str().expect("an error");
    assert!(run["state"] == "failed" && reason.contains(&misbound), "{run}");
    let troubles = engine.call("config.get", json!({})).await["unmetSettings"].clone();
    assert_eq!(troubles[0]["key"], "providers.mine.keySecret", "{troubles}");
    assert!(
        troubles[0]["text"].as_str().is_some_and(|text| text.contains(&misbound)),
        "{troubles}"
    );

    engine.call("secrets.remove", json!({ "name": "work" })).await;
    let run = run_job(&engine, &id, 2).await;
    assert!(run["error"].as_str().is_some_and(|reason| reason.contains(missing)), "{run}");
    let listed = engine.call("providers.list", json!({})).await;
    let problem = &listed["providers"][0]["problem"];
    assert!(problem.as_str().is_some_and(|problem| problem.contains(missing)), "{listed}");
    assert!(server.requests().is_empty(), "nothing was sent");
    engine.host.stop().await;
}

#[tokio::test]
async fn unavailable_key_differs_from_missing_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let in_keyring = json!({ "hosts": [server.url()], "setAtMs": 1 });
    let store = json!({ "keyringId": "1", "secrets": { "work": in_keyring } });
    rouse_tests::make_database(folder.path()).await;
    fs::write(folder.path().join("secrets.json"), store.to_string()).expect("written");
    let text = format!(
        "[providers.mine]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"tiny\"\nkeySecret = \"work\"\n",
        server.url()
    );
    fs::write(folder.path().join("config.toml"), text).expect("written");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let reason = "the secret work is not at hand, because it is in the system's keyring, which is switched off";
    let id = engine.add_job(agent_job("Hello?")).await;
    let run = run_job(&engine, &id, 1).await;
    assert!(run["error"].as_str().is_some_and(|error| error.contains(reason)), "{run}");
    let status = engine.call("system.status", json!({})).await;
    let failing = &status["failingModels"][0];
    assert!(
        failing["message"].as_str().is_some_and(|fragment| fragment.contains(reason)),
        "{status}"
    );
    let expected =
        "The key is the stored secret work. The key is unavailable: it is in the system's";
    assert!(failing["fix"].as_str().is_some_and(|fix| fix.starts_with(expected)), "{status}");
    let troubles = engine.call("config.get", json!({})).await["unmetSettings"].clone();
    assert!(troubles[0]["text"].as_str().is_some_and(|text| text.contains(reason)), "{troubles}");
    let listed = engine.call("providers.list", json!({})).await["providers"][0].clone();
    assert!(listed["problem"].as_str().is_some_and(|text| text.contains(reason)), "{listed}");
    engine.host.stop().await;
}

/// A missing key does not block changes of unrelated provider fields.
#[tokio::test]
async fn provider_without_key_allows_unrelated_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let engine = EngineBuilder::new(folder.path()).build().await;
    store_key(&engine, FIRST, json!([server.url()])).await;
    add_provider(&engine, &server).await;
    engine.call("secrets.remove", json!({ "name": "work" })).await;

    // The settings page sends a provider as a whole.
    let mut full_patch = provider_patch(&server);
    let mine = &mut full_patch["patch"]["providers"]["mine"];
    (mine["model"], mine["contextTokens"]) = (json!("larger"), json!(32_000));
    for patch in [json!({ "patch": { "providers": { "mine": { "model": "other" } } } }), full_patch]
    {
        engine.call("config.patch", patch).await;
    }
    let provider = engine.call("config.get", json!({})).await["model"]["providers"][0].clone();
    assert_eq!(
        (&provider["model"], &provider["contextTokens"]),
        (&json!("larger"), &json!(32_000))
    );

    for (key, value) in [("keySecret", "another"), ("baseUrl", "https://llm.example.com/v1")] {
        let patch = json!({ "patch": { "providers": { "mine": { key: value } } } });
        let refused = engine.try_call("config.patch", patch).await.expect_err(key);
        assert_eq!(refused.data["fields"][0]["path"], "providers.mine.keySecret", "{refused}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn provider_key_has_one_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut both = provider_patch(&server);
    both["patch"]["providers"]["mine"]["keyEnv"] = json!("WORK_KEY");
    let refused = engine.try_call("config.patch", both).await.expect_err("refused");
    let message = refused.message;
    assert!(message.contains("keySecret: cannot be combined with keyEnv"), "{message}");
    for key in ["sk-ABC/1", "sk-abc", "0123456789abcdef0123456789abcdef"] {
        let mut wrong = provider_patch(&server);
        wrong["patch"]["providers"]["mine"]["keySecret"] = json!(key);
        let refused = engine.try_call("config.patch", wrong).await.expect_err("refused");
        let message = refused.message;
        assert!(message.contains("expected the name of a stored secret"), "{message}");
        assert!(!message.contains(key), "a possible key: {message}");
    }
    engine.host.stop().await;
}
