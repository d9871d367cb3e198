//! `rouse models`: a piped key, the provider's model list, the test and its verdict, and a pull into Ollama.

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use serde_json::{Value, json};

use crate::engine::TestHome;

const KEY: &str = "sk-test-0123456789abcdefghijklmnop";

/// A provider that lists two models and passes the tool test.
fn provider() -> FakeModel {
    FakeModel::start(|request: &Recorded| {
        if request.header("authorization") != Some(&format!("Bearer {KEY}")) {
            return Reply::json(401, r#"{"error":{"message":"Incorrect API key"}}"#);
        }
        if request.path == "/v1/models" {
            let models = json!([{ "id": "older", "created": 1 }, { "id": "newer", "created": 2 }]);
            return Reply::json(200, json!({ "data": models }).to_string());
        }
        let asks_for_sum = request.body.contains("3174");
        let stream = if asks_for_sum {
            sse::chat_calls("1", "add_numbers", &json!({ "a": 3174, "b": 2689 }))
        } else {
            sse::chat_says("ready")
        };
        Reply::events(stream)
    })
}

fn add<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["models", "add", "work", "--url", url][..], more].concat()
}

#[tokio::test]
async fn models_add_with_piped_key_connects_and_tests_model() {
    let (home, server) = (TestHome::new(), provider());
    let engine = home.serve().await;
    let url = server.url() + "/v1";
    assert!(home.rouse(["models"]).ok().starts_with("No model yet. Connect one: rouse models add"));
    home.rouse_with_input(add(&url, &[]), "sk-wrong-0123456789\n")
        .assert_error(2, "Incorrect API key");
    home.rouse_with_input(add(&url, &[]), KEY)
        .assert_error(2, "name a model with --model, such as newer");
    home.rouse_with_input(add(&url, &["--model", "newer"]), "").assert_error(2, "no key was given");
    let added = home.rouse_with_input(add(&url, &["--model", "newer"]), &format!("{KEY}\n"));
    assert!(added.ok().contains("newer · work: works"), "{added:#?}");
    assert!(added.ok().contains("The key is in a file that only you can read"), "{added:#?}");
    let list = home.rouse(["models"]);
    assert!(list.ok().contains("in use") && list.ok().contains("works"), "{list:#?}");
    assert_eq!(home.rouse(["models", "list", "work"]).ok(), "newer\nolder\n");
    let config = std::fs::read_to_string(home.data().join("config.toml")).expect("settings");
    assert!(config.contains("keySecret = \"work\"") && !config.contains(KEY), "{config}");
    let secrets = home.rouse(["secrets", "list", "--json"]).json();
    assert_eq!(secrets["secrets"][0]["hosts"], json!([server.url()]));
    let spending = engine.call("spending.get", json!({})).await;
    assert_eq!(spending["today"]["tokens"], 240, "both turns of the test: {spending:#}");
    let removed = home.rouse(["models", "remove", "work"]);
    assert_eq!(removed.ok(), "Removed work. The stored key stays: rouse secrets list\n");
}

#[tokio::test]
async fn address_without_scheme_is_refused_as_url() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let expected =
        "--url: expected an address that begins with http:// or https://, found `127.0.0.1:9/v1`";
    for model in [&["--no-key"][..], &["--no-key", "--model", "m"]] {
        home.rouse(add("127.0.0.1:9/v1", model)).assert_error(2, expected);
    }
}

#[tokio::test]
async fn chosen_model_is_listed_with_its_own_state() {
    let (home, server) = (TestHome::new(), provider());
    let _engine = home.serve().await;
    let url = server.url() + "/v1";
    home.rouse_with_input(add(&url, &["--model", "newer"]), &format!("{KEY}\n")).ok();
    home.rouse(["config", "set", "model.name", "unknown"]).ok();
    let list = home.rouse(["models", "list", "--refresh"]).single_spaced();
    assert!(list.contains("work unknown chosen, not tried yet"), "{list}");
}

#[tokio::test]
async fn failed_provider_leaves_working_provider_in_use() {
    let (home, server) = (TestHome::new(), provider());
    let engine = home.serve().await;
    let url = server.url() + "/v1";
    let good = format!("{KEY}\n");
    home.rouse_with_input(add(&url, &["--model", "newer"]), &good).ok();
    let other = |name| ["models", "add", name, "--url", &url, "--model", "older"];
    let failed = home.rouse_with_input(other("home"), "sk-wrong-0123456789\n");
    assert_eq!(failed.code, 5, "{failed:#?}");
    assert!(failed.out.contains("A provider that answers stays in use."), "{failed:#?}");
    let active = async || engine.call("providers.list", json!({})).await["active"].clone();
    assert_eq!(active().await, "work");
    let added = home.rouse_with_input(other("lab"), &good);
    assert!(added.ok().ends_with("lab is in use now.\n"), "{added:#?}");
    assert_eq!(active().await, "lab");
}

#[tokio::test]
async fn provider_that_never_answered_is_not_in_use() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let nobody = FakeModel::replying([]).url() + "/v1";
    let untested = ["--model", "m", "--no-key", "--no-test"];
    home.rouse(add(&nobody, &untested)).ok();
    let list = home.rouse(["models"]);
    assert!(list.ok().contains("chosen, not tried yet"), "{list:#?}");
    assert!(!list.ok().contains("in use"), "{list:#?}");
    let test = home.rouse(["models", "test"]);
    assert_eq!(test.code, 5, "{test:#?}");
    assert!(test.out.contains("m · work: no answer"), "{test:#?}");
    assert!(home.rouse(["models"]).ok().contains("does not answer"));
    let listed = engine.call("providers.list", json!({})).await;
    assert_eq!(listed["providers"][0]["state"], "failing");
    assert_eq!(listed["providers"][0]["tests"][0]["verdict"], "failed");
}

#[tokio::test]
async fn failed_test_of_unused_model_is_not_reported() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let nobody = FakeModel::replying([]).url() + "/v1";
    home.rouse(add(&nobody, &["--model", "m", "--no-key", "--no-test"])).ok();
    assert_eq!(home.rouse(["models", "test", "work", "--model", "typo"]).code, 5);
    assert_eq!(engine.call("system.status", json!({})).await["failingModels"], json!([]));
}

#[tokio::test]
async fn removed_provider_disappears_from_list_and_status() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let nobody = FakeModel::replying([]).url() + "/v1";
    home.rouse(add(&nobody, &["--model", "m", "--no-key", "--no-test"])).ok();
    home.rouse(["models", "test"]);
    let failing = async || engine.call("system.status", json!({})).await["failingModels"].clone();
    assert_eq!(failing().await[0]["provider"], "work");
    home.rouse(["models", "remove", "wrok"]).assert_error(4, "work");
    assert_eq!(home.rouse(["models", "remove", "work"]).ok(), "Removed work.\n");
    assert_eq!(engine.call("providers.list", json!({})).await["providers"], json!([]));
    assert_eq!(failing().await, json!([]));
}

#[tokio::test]
async fn key_of_refused_provider_is_not_stored() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let server =
        json!({ "name": "a.b", "kind": "openai", "baseUrl": "https://x.example/v1", "key": KEY });
    let refused = engine.client.call("models.add", json!({ "server": server, "model": "m" })).await;
    refused.expect_err("no name of a provider");
    assert_eq!(engine.call("secrets.list", json!({})).await["secrets"], json!([]));
}

#[tokio::test]
async fn refused_change_keeps_stored_key() {
    let (home, server) = (TestHome::new(), provider());
    let engine = home.serve().await;
    let url = server.url() + "/v1";
    home.rouse_with_input(add(&url, &["--model", "newer"]), &format!("{KEY}\n")).ok();
    let draft =
        json!({ "name": "work", "kind": "nonsense", "baseUrl": url, "key": "sk-typo-0123456789" });
    let refused = engine.client.call("models.add", json!({ "server": draft, "model": "m" })).await;
    refused.expect_err("no kind of a provider");
    let test = home.rouse(["models", "test"]);
    assert!(test.ok().contains("newer · work: works"), "{test:#?}");
}

#[tokio::test]
async fn unknown_provider_error_lists_known_providers() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    home.rouse(["models", "add", "chatty"])
        .assert_error(2, "anthropic, openai, openrouter, ollama, lmstudio");
    home.rouse(["models", "test"]).assert_error(4, "No model is set up yet. Add one first.");
    let suggested = home.rouse(["models", "pull"]);
    assert!(suggested.ok().contains("qwen3.5:4b") && suggested.ok().contains("Apache 2.0"));
    let known: Value = home.rouse(["models", "pull", "--json"]).json();
    assert_eq!(known["presets"].as_array().map(Vec::len), Some(5));
}

#[tokio::test]
async fn chat_on_failing_model_prints_reason_for_wait() {
    let busy = Reply::json(529, r#"{"error":{"message":"Overloaded"}}"#).header("retry-after", "0");
    let server = FakeModel::replying([busy, Reply::events(sse::chat_says("Good morning."))]);
    let home = TestHome::new();
    let _engine = home.serve().await;
    let url = server.url() + "/v1";
    home.rouse(add(&url, &["--model", "m", "--no-key", "--no-test"])).ok();
    let chat = home.rouse(["chat", "Hello"]);
    assert_eq!(chat.ok().trim(), "Good morning.");
    assert!(
        chat.err.contains("Waiting for the model.") && chat.err.contains("Overloaded"),
        "{chat:#?}"
    );
}
