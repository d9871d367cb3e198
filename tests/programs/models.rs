//! Agent jobs from the command to the provider's wire format and back, for both formats and every configuration.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use rouse_tests::agent_job;
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};

const KEY: &str = "sk-test-0123456789abcdefghijklmnop";

/// The two wire formats.
struct WireFormat {
    kind: &'static str,
    /// Vendor name and environment variables.
    vendor: &'static str,
    key_variable: &'static str,
    base_variable: &'static str,
    /// The path of the base URL.
    base: &'static str,
    path: &'static str,
    final_text: fn(&str) -> String,
    tool_call: fn(&str, &str, &Value) -> String,
    sent_key: fn(&Recorded) -> Option<String>,
}

const WIRE_FORMATS: [WireFormat; 2] = [
    WireFormat {
        kind: "openai",
        vendor: "openai",
        key_variable: "OPENAI_API_KEY",
        base_variable: "OPENAI_BASE_URL",
        base: "/v1",
        path: "/v1/chat/completions",
        final_text: sse::chat_says,
        tool_call: sse::chat_calls,
        sent_key: |request| {
            request.header("authorization")?.strip_prefix("Bearer ").map(str::to_owned)
        },
    },
    WireFormat {
        kind: "anthropic",
        vendor: "anthropic",
        key_variable: "ANTHROPIC_API_KEY",
        base_variable: "ANTHROPIC_BASE_URL",
        base: "",
        path: "/v1/messages",
        final_text: sse::messages_says,
        tool_call: sse::messages_calls,
        sent_key: |request| request.header("x-api-key").map(str::to_owned),
    },
];

impl WireFormat {
    /// A model that calls a tool, reads the result and ends the run.
    fn server(&self) -> FakeModel {
        FakeModel::replying([
            Reply::events((self.tool_call)("call_1", "echo", &json!({ "text": "the weather" }))),
            Reply::events((self.final_text)("It is fine.")),
        ])
    }

    fn in_settings(&self, server: &FakeModel) -> TestHome {
        TestHome::new().env("MY_KEY", KEY).config(&format!(
            "[providers.mine]\nkind = \"{}\"\nbaseUrl = \"{}{}\"\nmodel = \"fake-1\"\nkeyEnv = \"MY_KEY\"\n",
            self.kind,
            server.url(),
            self.base
        ))
    }

    fn in_environment(&self, server: &FakeModel) -> TestHome {
        TestHome::new()
            .env(self.key_variable, KEY)
            .env(self.base_variable, &format!("{}{}", server.url(), self.base))
    }
}

/// Refreshes the providers and returns the display name of the model.
async fn model_name(engine: &EngineProcess<'_>) -> String {
    // The first run finds a model by itself. The status needs a refresh.
    engine.call("providers.list", json!({ "refresh": true })).await;
    engine.call("system.status", json!({})).await["model"].as_str().expect("a model").to_owned()
}

async fn assert_works(format: &WireFormat, home: &TestHome, server: &FakeModel, name: &str) {
    let engine = home.serve().await;
    assert!(model_name(&engine).await.contains(name), "{}", model_name(&engine).await);
    let added = home
        .rouse([
            "cron",
            "add",
            "--json",
            "--name",
            "Weather",
            "--manual",
            "--message",
            "How is it?",
        ])
        .json();
    let id = added["job"]["id"].as_str().expect("an id");
    home.rouse(["cron", "run", "Weather", "--force"]).ok();
    let run = &engine.finished_runs(id, 1).await[0];
    assert_eq!(
        (&run["state"], &run["summary"]),
        (&json!("succeeded"), &json!("It is fine.")),
        "{run:#}"
    );
    assert_eq!(run["usage"]["outputTokens"], 40, "{run:#}");

    let detail = home.rouse(["runs", "show", run["id"].as_str().expect("an id"), "--json"]).json();
    let steps: Vec<(&str, &str)> = detail["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| (step["kind"].as_str().unwrap_or(""), step["status"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        steps,
        [("modelTurn", "finished"), ("toolCall", "finished"), ("modelTurn", "finished")],
        "{detail:#}"
    );
    assert_eq!(detail["steps"][1]["name"], "echo");

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", format.path));
        assert_eq!((format.sent_key)(request).as_deref(), Some(KEY));
    }
    // Four bytes per token. A small job must stay cheap, also on a small local model.
    let tokens = requests[0].body.len() / 4;
    assert!(tokens <= 2_000, "{tokens} tokens for a tiny job");
    assert!(
        requests[0].body.contains(&format!("[cron:{id}] Weather: How is it?")),
        "{}",
        requests[0].body
    );
    assert!(requests[1].body.contains("the weather"), "the tool result: {}", requests[1].body);
}

#[tokio::test]
async fn provider_in_settings_runs_agent_job() {
    for format in &WIRE_FORMATS {
        let server = format.server();
        assert_works(format, &format.in_settings(&server), &server, "fake-1 · mine").await;
    }
}

#[tokio::test]
async fn key_in_environment_runs_agent_job() {
    for format in &WIRE_FORMATS {
        let server = format.server();
        assert_works(format, &format.in_environment(&server), &server, format.vendor).await;
    }
}

/// The session grows with each run, the prompt does not.
#[tokio::test]
async fn prompt_of_small_job_stays_small_over_many_runs() {
    const RUNS: usize = 12;
    for format in &WIRE_FORMATS {
        let server = FakeModel::replying(
            (0..RUNS).map(|_| Reply::events((format.final_text)("It is fine, nothing has changed since the last look, and nothing needs to be done about it."))),
        );
        let home = format.in_settings(&server);
        let engine = home.serve().await;
        let id = engine.add_job(agent_job("How is it?")).await;
        for run in 1..=RUNS {
            engine.start_run(&id).await;
            assert_eq!(engine.finished_runs(&id, run).await[0]["state"], "succeeded");
        }
        let requests = server.requests();
        assert_eq!(requests.len(), RUNS, "nothing is summed up");
        let tokens: Vec<usize> = requests.iter().map(|request| request.body.len() / 4).collect();
        assert!(tokens.iter().all(|tokens| *tokens <= 2_000), "{tokens:?}");
        let last = &requests[RUNS - 1].body;
        assert!(last.contains("What I reported in some of those runs"), "{last}");
    }
}

#[tokio::test]
async fn provider_without_key_is_named_and_not_called() {
    let format = &WIRE_FORMATS[0];
    let server = format.server();
    let home = format.in_settings(&server).without_env("MY_KEY");
    let engine = home.serve().await;
    let list = engine.call("providers.list", json!({ "refresh": true })).await;
    assert!(
        list["providers"][0]["problem"].as_str().is_some_and(|problem| problem.contains("MY_KEY")),
        "{list:#}"
    );
}

#[tokio::test]
async fn run_without_model_fails_with_its_reason() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(agent_job("Anybody there?")).await;
    engine.start_run(&id).await;
    let run = &engine.finished_runs(&id, 1).await[0];
    assert_eq!(run["state"], "failed");
    assert!(run["error"].as_str().is_some_and(|error| error.contains("model")), "{run:#}");
    assert!(home.rouse(["status"]).ok().contains("No model yet"));
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.ok().contains("No model yet"), "{doctor:#?}");
}

/// An expired key: the engine has a model, and every run fails.
#[tokio::test]
async fn failing_model_is_reported_until_it_answers() {
    let format = &WIRE_FORMATS[0];
    let accepts = Arc::new(AtomicBool::new(false));
    let accepts_key = Arc::clone(&accepts);
    let server = FakeModel::start(move |_| {
        if accepts_key.load(Ordering::SeqCst) {
            Reply::events(sse::chat_says("It is fine."))
        } else {
            Reply::json(401, r#"{"error":{"message":"No such key here"}}"#)
        }
    });
    let home = format.in_settings(&server);
    let engine = home.serve().await;
    assert!(model_name(&engine).await.contains("fake-1 · mine"));
    let healthy = home.rouse(["doctor"]);
    assert!(healthy.ok().contains("✓ Model: fake-1 · mine"), "{healthy:#?}");
    let id = engine.add_job(agent_job("How is it?")).await;
    engine.start_run(&id).await;
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "failed");

    let assert_reported = |home: &TestHome| {
        let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
        assert_eq!(doctor.code, 1, "{doctor:#?}");
        for printed in [&doctor.out, status.ok()] {
            let line = printed.lines().find(|line| line.starts_with("✗ Model: fake-1 · mine"));
            let line = line.unwrap_or_else(|| panic!("nothing of the model in {printed}"));
            assert!(line.contains("has not answered since"), "{line}");
            assert!(line.contains("mine does not accept the key (HTTP 401)"), "{line}");
            assert!(line.contains("Message: No such key here"), "{line}");
            assert!(!printed.contains("✓ Model") && !printed.contains("\nModel:"), "{printed}");
            assert!(!printed.contains(KEY), "{printed}");
        }
        assert!(
            doctor.out.contains("The key comes from the environment variable MY_KEY."),
            "{doctor:#?}"
        );
    };
    assert_reported(&home);
    assert!(engine.stop().success());
    let engine = home.serve().await;
    model_name(&engine).await;
    assert_reported(&home);

    accepts.store(true, Ordering::SeqCst);
    engine.start_run(&id).await;
    assert_eq!(engine.finished_runs(&id, 2).await[0]["state"], "succeeded");
    let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
    assert!(doctor.ok().contains("✓ Model: fake-1 · mine"), "{doctor:#?}");
    assert!(!doctor.out.contains('✗') && !status.ok().contains('✗'), "{doctor:#?} {status:#?}");
    assert!(status.out.contains("\nModel: fake-1 · mine"), "{status:#?}");
}

#[tokio::test]
async fn scheduled_agent_job_runs_to_success() {
    let format = &WIRE_FORMATS[1];
    let server = format.server();
    let home = format.in_settings(&server);
    let engine = home.serve().await;
    let args = [
        "cron",
        "add",
        "--json",
        "--at",
        "1s",
        "--message",
        "How is it?",
        "--deliver",
        "--channel",
        "last",
    ];
    let id = home.rouse(args).json()["job"]["id"].as_str().expect("an id").to_owned();
    let run = &engine.finished_runs(&id, 1).await[0];
    assert_eq!(
        (&run["state"], &run["trigger"]),
        (&json!("succeeded"), &json!("schedule")),
        "{run:#}"
    );
    let job = home.rouse(["cron", "show", &id, "--json"]).json();
    assert_eq!(job["job"]["state"]["lastStatus"], "ok", "{job:#}");
    assert_eq!(job["job"]["state"]["nextRunAtMs"], Value::Null, "once is once");
}
