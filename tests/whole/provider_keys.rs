//! A key of a provider that is a stored secret: sent to that provider alone, as it is at that moment, and kept nowhere else.

use std::fs;
use std::path::Path;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use serde_json::{Value, json};

use crate::house::{House, Plan, ask};

const FIRST: &str = "first-key-0123456789";
const SECOND: &str = "second-key-9876543210";

fn server() -> FakeModel {
    FakeModel::start(|_| Reply::events(sse::chat_says("Hello from the wire.")))
}

fn of_settings(server: &FakeModel) -> Value {
    let base_url = format!("{}/v1", server.url());
    let mine =
        json!({ "kind": "openai", "baseUrl": base_url, "model": "tiny", "keySecret": "work" });
    json!({ "patch": { "providers": { "mine": mine } } })
}

async fn with_provider(house: &House, server: &FakeModel) {
    house.call("config.patch", of_settings(server)).await;
    house
        .until(async |house| {
            (!house.call("system.status", json!({})).await["model"].is_null()).then_some(())
        })
        .await;
}

async fn keep(house: &House, value: &str, hosts: Value) {
    let secret = json!({ "name": "work", "value": value, "hosts": hosts });
    house.call("secrets.set", secret).await;
}

async fn ran(house: &House, id: &str, count: usize) -> Value {
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(id, count).await.remove(0)
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
async fn a_stored_key_goes_to_its_provider_and_one_stored_anew_counts_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let house = Plan::new(folder.path()).build().await;
    keep(&house, FIRST, json!([server.url()])).await;
    with_provider(&house, &server).await;
    let id = house.add(ask("Hello?")).await;
    let run = ran(&house, &id, 1).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    house.call("secrets.set", json!({ "name": "work", "value": SECOND })).await;
    let run = ran(&house, &id, 2).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    let keys: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization").expect("a key").to_owned())
        .collect();
    assert_eq!(keys, [FIRST, SECOND].map(|key| format!("Bearer {key}")));

    let config = house.call("config.get", json!({})).await;
    assert_eq!(config["model"]["providers"][0]["keySecret"], "work");
    let listed = house.call("providers.list", json!({})).await;
    let provider = &listed["providers"][0];
    assert_eq!((&provider["keySecret"], &provider["problem"]), (&json!("work"), &Value::Null));
    let told = format!("{config}{listed}{}", house.detail(&run).await);
    assert!(!told.contains(FIRST) && !told.contains(SECOND), "{told}");
    house.host.stop().await;
    let kept = folder.path().join("secrets.json");
    assert_eq!(holders(folder.path(), FIRST), Vec::<String>::new());
    assert_eq!(holders(folder.path(), SECOND), [kept.display().to_string()]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&kept).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_secret_that_is_not_for_the_provider_s_host_is_refused_and_never_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let house = Plan::new(folder.path()).build().await;
    let missing = "the secret work is not stored;";
    let refused = house.try_call("config.patch", of_settings(&server)).await.expect_err("refused");
    let field = &refused.data["fields"][0];
    assert_eq!(field["path"], "providers.mine.keySecret", "{refused}");
    assert!(field["message"].as_str().is_some_and(|why| why.starts_with(missing)), "{refused}");

    keep(&house, FIRST, json!(["other.example"])).await;
    let elsewhere =
        format!("the secret work goes to other.example alone and not to {}", server.url());
    let refused = house.try_call("config.patch", of_settings(&server)).await.expect_err("refused");
    let field = &refused.data["fields"][0];
    assert!(field["message"].as_str().is_some_and(|why| why.starts_with(&elsewhere)), "{refused}");

    keep(&house, FIRST, json!([server.url()])).await;
    with_provider(&house, &server).await;
    keep(&house, FIRST, json!(["other.example"])).await;
    let id = house.add(ask("Hello?")).await;
    let run = ran(&house, &id, 1).await;
    let why = run["error"].as_str().expect("an error");
    assert!(run["state"] == "failed" && why.contains(&elsewhere), "{run}");
    let troubles = house.call("config.get", json!({})).await["troubles"].clone();
    assert_eq!(troubles[0]["key"], "providers.mine.keySecret", "{troubles}");
    assert!(
        troubles[0]["text"].as_str().is_some_and(|text| text.contains(&elsewhere)),
        "{troubles}"
    );

    house.call("secrets.remove", json!({ "name": "work" })).await;
    let run = ran(&house, &id, 2).await;
    assert!(run["error"].as_str().is_some_and(|why| why.contains(missing)), "{run}");
    let listed = house.call("providers.list", json!({})).await;
    let problem = &listed["providers"][0]["problem"];
    assert!(problem.as_str().is_some_and(|problem| problem.contains(missing)), "{listed}");
    assert!(server.requests().is_empty(), "nothing was sent");
    house.host.stop().await;
}

#[tokio::test]
async fn a_stored_key_that_cannot_be_fetched_is_told_as_such_and_not_as_one_that_nobody_has_stored()
{
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let in_keyring = json!({ "hosts": [server.url()], "setAtMs": 1 });
    let kept = json!({ "keyringId": "1", "secrets": { "work": in_keyring } });
    rouse_tests::make_database(folder.path()).await;
    fs::write(folder.path().join("secrets.json"), kept.to_string()).expect("written");
    let text = format!(
        "[providers.mine]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"tiny\"\nkeySecret = \"work\"\n",
        server.url()
    );
    fs::write(folder.path().join("config.toml"), text).expect("written");
    let house = Plan::new(folder.path()).build().await;
    let why = "the secret work is not at hand, because it is in the system's keyring, which is switched off";
    let id = house.add(ask("Hello?")).await;
    let run = ran(&house, &id, 1).await;
    assert!(run["error"].as_str().is_some_and(|error| error.contains(why)), "{run}");
    let status = house.call("system.status", json!({})).await;
    let failing = &status["failingModels"][0];
    assert!(failing["words"].as_str().is_some_and(|words| words.contains(why)), "{status}");
    let mend =
        "Its key is the stored secret work. It is not at hand, because it is in the system's";
    assert!(failing["mend"].as_str().is_some_and(|told| told.starts_with(mend)), "{status}");
    let troubles = house.call("config.get", json!({})).await["troubles"].clone();
    assert!(troubles[0]["text"].as_str().is_some_and(|text| text.contains(why)), "{troubles}");
    let listed = house.call("providers.list", json!({})).await["providers"][0].clone();
    assert!(listed["problem"].as_str().is_some_and(|text| text.contains(why)), "{listed}");
    house.host.stop().await;
}

/// A key that is missing is no reason to refuse a change of what it does not hang on.
#[tokio::test]
async fn a_provider_without_its_key_can_be_changed_in_all_but_what_the_key_hangs_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let house = Plan::new(folder.path()).build().await;
    keep(&house, FIRST, json!([server.url()])).await;
    with_provider(&house, &server).await;
    house.call("secrets.remove", json!({ "name": "work" })).await;

    // The settings page sends a provider whole.
    let mut whole = of_settings(&server);
    let mine = &mut whole["patch"]["providers"]["mine"];
    (mine["model"], mine["contextTokens"]) = (json!("larger"), json!(32_000));
    for patch in [json!({ "patch": { "providers": { "mine": { "model": "other" } } } }), whole] {
        house.call("config.patch", patch).await;
    }
    let provider = house.call("config.get", json!({})).await["model"]["providers"][0].clone();
    assert_eq!(
        (&provider["model"], &provider["contextTokens"]),
        (&json!("larger"), &json!(32_000))
    );

    for (key, value) in [("keySecret", "another"), ("baseUrl", "https://llm.example.com/v1")] {
        let patch = json!({ "patch": { "providers": { "mine": { key: value } } } });
        let refused = house.try_call("config.patch", patch).await.expect_err(key);
        assert_eq!(refused.data["fields"][0]["path"], "providers.mine.keySecret", "{refused}");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn a_key_comes_from_one_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server();
    let house = Plan::new(folder.path()).build().await;
    let mut both = of_settings(&server);
    both["patch"]["providers"]["mine"]["keyEnv"] = json!("WORK_KEY");
    let refused = house.try_call("config.patch", both).await.expect_err("refused");
    let said = refused.message;
    assert!(said.contains("keySecret: stands beside keyEnv"), "{said}");
    for key in ["sk-ABC/1", "sk-abc", "0123456789abcdef0123456789abcdef"] {
        let mut wrong = of_settings(&server);
        wrong["patch"]["providers"]["mine"]["keySecret"] = json!(key);
        let refused = house.try_call("config.patch", wrong).await.expect_err("refused");
        let said = refused.message;
        assert!(said.contains("expected the name of a stored secret"), "{said}");
        assert!(!said.contains(key), "it may be a key: {said}");
    }
    house.host.stop().await;
}
