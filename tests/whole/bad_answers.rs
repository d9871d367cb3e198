//! What a server answers that is no answer of a model: the run fails, says what happened, who was asked and what to do,
//! and asks again only where that may help.

use std::path::Path;

use rouse_testkit::fake_model::{FakeModel, Reply};
use serde_json::{Value, json};

use super::house::{House, Plan, ask};
use super::own_words::found_in;

/// The end of a job's run on the model `m-1` of the provider called `name`, which always replies so, and how often that
/// was asked.
async fn told(name: &str, message: &str, reply: Reply) -> (Value, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::start(move |_| reply.clone());
    let house = asking(name, &server, folder.path()).await;
    let run = only_run(&house, message).await;
    house.host.stop().await;
    (run, server.requests().len())
}

/// A house whose one model is `m-1` of `server`, which is called `name`.
async fn asking(name: &str, server: &FakeModel, folder: &Path) -> House {
    let settings = format!(
        "[providers.{name}]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"m-1\"\n",
        server.url()
    );
    std::fs::write(folder.join("config.toml"), settings).expect("a settings file");
    Plan::new(folder).build().await
}

async fn only_run(house: &House, message: &str) -> Value {
    let id = house.add(ask(message)).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await.remove(0)
}

/// It failed in these words, after so many questions.
async fn failed(reply: Reply, words: &str, questions: usize) {
    let (run, asked) = told("openai", "Look", reply).await;
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(words)), "{run:#}");
    assert_eq!((&run["summary"], asked), (&Value::Null, questions), "{run:#}");
}

#[tokio::test]
async fn an_unknown_model_is_named_and_asked_for_once() {
    let reply = || {
        let said = r#"{"error":{"message":"The model `m-1` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#;
        Reply::json(404, said)
    };
    let words = "openai does not have the model m-1 (HTTP 404). It said: The model `m-1` does not exist. Load it there first (Ollama: `ollama pull m-1`), or choose another model in the job or the settings.";
    failed(reply(), words, 1).await;
    // Nor is that of a server on this computer passed over in silence: it runs, and does not have it.
    let (run, asked) = told("mine", "Look", reply()).await;
    let words = words.replace("openai", "mine");
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(words)), "{run:#}");
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_web_page_in_the_place_of_an_answer_is_told_as_one() {
    const PAGE: &str = "<!DOCTYPE html><html><body>Sign in</body></html>";
    let page = |status| Reply::page(status, PAGE);
    let words = "openai answered the request for m-1 with a web page. Check its address in the settings: it may be wrong, or ask for a sign-in first.";
    failed(page(200), words, 1).await;
    let words = "openai has no such address for m-1 (HTTP 404). Check the provider's address in the settings.";
    failed(page(404), words, 1).await;
}

#[tokio::test]
async fn an_answer_of_nothing_is_asked_for_again_and_then_told() {
    let words = "openai sent an empty answer for m-1. If this repeats, check the address and the model in the settings.";
    failed(Reply::events(""), words, 3).await;
}

#[tokio::test]
async fn a_question_that_is_too_long_is_shortened_as_long_as_that_helps() {
    let said = r#"{"error":{"message":"This model's maximum context length is 100 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    let words = "The conversation is longer than the context window of m-1 at openai (HTTP 400). It said: This model's maximum context length is 100 tokens. Give it less to read, or choose a model with a larger window.";
    failed(Reply::json(400, said), words, 1).await;
    let (run, asked) = told("openai", &"Look at it. ".repeat(2_000), Reply::json(400, said)).await;
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(words)), "{run:#}");
    assert!((1..8).contains(&asked), "{asked} questions");
}

#[tokio::test]
async fn a_server_that_repeats_a_secret_brings_it_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::start(|_| {
        // The last one goes over what is quoted at the most.
        let pad = "x".repeat(235);
        let said =
            format!("bad sunflower-42-Tango and c3VuZmxvd2VyLTQyLVRhbmdv {pad} sunflower-42-Tango");
        Reply::json(400, json!({ "error": { "message": said } }).to_string())
    });
    let house = asking("mine", &server, folder.path()).await;
    let secret = json!({ "name": "mail", "value": "sunflower-42-Tango", "hosts": ["a.example"] });
    house.call("secrets.set", secret).await;
    let run = only_run(&house, "Look").await;
    let mark = "[redacted: secret:mail]";
    let error = run["error"].as_str().expect("words");
    assert!(error.contains(&format!("bad {mark} and {mark}")), "{error}");
    assert!(!error.contains("sun"), "{error}");
    house.host.stop().await;
    assert_eq!(found_in(folder.path()), [folder.path().join("secrets.json")]);
}
