//! An agent's job from the command to the provider's wire and back, in both formats and however the provider is named.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use serde_json::{Value, json};

use crate::engine::{Engine, Home};
use crate::probes::ask;

const KEY: &str = "sk-test-0123456789abcdefghijklmnop";

/// The two wire formats, as far as a test has to know them.
struct Format {
    kind: &'static str,
    /// The name and the variables of the vendor in the environment.
    vendor: &'static str,
    key_variable: &'static str,
    base_variable: &'static str,
    /// What the base address ends in.
    base: &'static str,
    path: &'static str,
    says: fn(&str) -> String,
    calls: fn(&str, &str, &Value) -> String,
    key_shown: fn(&Recorded) -> Option<String>,
}

const FORMATS: [Format; 2] = [
    Format {
        kind: "openai",
        vendor: "openai",
        key_variable: "OPENAI_API_KEY",
        base_variable: "OPENAI_BASE_URL",
        base: "/v1",
        path: "/v1/chat/completions",
        says: sse::chat_says,
        calls: sse::chat_calls,
        key_shown: |request| {
            request.header("authorization")?.strip_prefix("Bearer ").map(str::to_owned)
        },
    },
    Format {
        kind: "anthropic",
        vendor: "anthropic",
        key_variable: "ANTHROPIC_API_KEY",
        base_variable: "ANTHROPIC_BASE_URL",
        base: "",
        path: "/v1/messages",
        says: sse::messages_says,
        calls: sse::messages_calls,
        key_shown: |request| request.header("x-api-key").map(str::to_owned),
    },
];

impl Format {
    /// Calls a tool, reads its result and ends the run.
    fn server(&self) -> FakeModel {
        FakeModel::replying([
            Reply::events((self.calls)("call_1", "echo", &json!({ "text": "the weather" }))),
            Reply::events((self.says)("It is fine.")),
        ])
    }

    fn in_settings(&self, server: &FakeModel) -> Home {
        Home::new().env("MY_KEY", KEY).config(&format!(
            "[providers.mine]\nkind = \"{}\"\nbaseUrl = \"{}{}\"\nmodel = \"fake-1\"\nkeyEnv = \"MY_KEY\"\n",
            self.kind,
            server.url(),
            self.base
        ))
    }

    fn in_environment(&self, server: &FakeModel) -> Home {
        Home::new()
            .env(self.key_variable, KEY)
            .env(self.base_variable, &format!("{}{}", server.url(), self.base))
    }
}

/// Waits until the engine has found its model; its name for people.
async fn model(engine: &Engine<'_>) -> String {
    // The first run looks for a model by itself when there is none yet; status has to be told by looking.
    engine.call("providers.list", json!({ "refresh": true })).await;
    engine.call("system.status", json!({})).await["model"].as_str().expect("a model").to_owned()
}

async fn works(format: &Format, home: &Home, server: &FakeModel, name: &str) {
    let engine = home.serve().await;
    assert!(model(&engine).await.contains(name), "{}", model(&engine).await);
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
    let run = &engine.ended(id, 1).await[0];
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
        assert_eq!((format.key_shown)(request).as_deref(), Some(KEY));
    }
    // Four bytes a token, as everywhere: a tiny job must stay cheap and quick, also on a small model at home.
    let tokens = requests[0].body.len() / 4;
    assert!(tokens <= 2_000, "{tokens} tokens for a tiny job");
    assert!(
        requests[0].body.contains(&format!("[cron:{id}] Weather: How is it?")),
        "{}",
        requests[0].body
    );
    assert!(
        requests[1].body.contains("the weather"),
        "the tool's result is told: {}",
        requests[1].body
    );
}

#[tokio::test]
async fn a_provider_in_the_settings_works() {
    for format in &FORMATS {
        let server = format.server();
        works(format, &format.in_settings(&server), &server, "fake-1 · mine").await;
    }
}

#[tokio::test]
async fn a_key_in_the_environment_works() {
    for format in &FORMATS {
        let server = format.server();
        works(format, &format.in_environment(&server), &server, format.vendor).await;
    }
}

/// A job's session grows with each run; what is told of it does not.
#[tokio::test]
async fn a_tiny_job_stays_small_however_often_it_has_run() {
    const RUNS: usize = 12;
    for format in &FORMATS {
        let server = FakeModel::replying(
            (0..RUNS).map(|_| Reply::events((format.says)("It is fine, nothing has changed since the last look, and nothing needs to be done about it."))),
        );
        let home = format.in_settings(&server);
        let engine = home.serve().await;
        let id = engine.add(ask("How is it?")).await;
        for run in 1..=RUNS {
            engine.run_now(&id).await;
            assert_eq!(engine.ended(&id, run).await[0]["state"], "succeeded");
        }
        let requests = server.requests();
        assert_eq!(requests.len(), RUNS, "nothing is summed up");
        let tokens: Vec<usize> = requests.iter().map(|it| it.body.len() / 4).collect();
        assert!(tokens.iter().all(|tokens| *tokens <= 2_000), "{tokens:?}");
        let last = &requests[RUNS - 1].body;
        assert!(last.contains("What I reported in some of those runs"), "{last}");
    }
}

#[tokio::test]
async fn a_provider_whose_key_is_missing_is_named_and_asked_nothing() {
    let format = &FORMATS[0];
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
async fn without_a_model_the_run_says_so_and_nothing_breaks() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(ask("Anybody there?")).await;
    engine.run_now(&id).await;
    let run = &engine.ended(&id, 1).await[0];
    assert_eq!(run["state"], "failed");
    assert!(run["error"].as_str().is_some_and(|error| error.contains("model")), "{run:#}");
    assert!(home.rouse(["status"]).ok().contains("No model yet"));
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.ok().contains("No model yet"), "{doctor:#?}");
}

/// A key that ran out: the engine has a model, and no run gets an answer.
#[tokio::test]
async fn a_model_that_does_not_answer_is_told_until_it_does() {
    let format = &FORMATS[0];
    let accepts = Arc::new(AtomicBool::new(false));
    let door = Arc::clone(&accepts);
    let server = FakeModel::start(move |_| match door.load(Ordering::SeqCst) {
        true => Reply::events(sse::chat_says("It is fine.")),
        false => Reply::json(401, r#"{"error":{"message":"No such key here"}}"#),
    });
    let home = format.in_settings(&server);
    let engine = home.serve().await;
    assert!(model(&engine).await.contains("fake-1 · mine"));
    let healthy = home.rouse(["doctor"]);
    assert!(healthy.ok().contains("✓ Model: fake-1 · mine"), "{healthy:#?}");
    let id = engine.add(ask("How is it?")).await;
    engine.run_now(&id).await;
    assert_eq!(engine.ended(&id, 1).await[0]["state"], "failed");

    let told = |home: &Home| {
        let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
        assert_eq!(doctor.code, 1, "{doctor:#?}");
        for said in [&doctor.out, status.ok()] {
            let line = said.lines().find(|line| line.starts_with("✗ Model: fake-1 · mine"));
            let line = line.unwrap_or_else(|| panic!("nothing of the model in {said}"));
            assert!(line.contains("has not answered since"), "{line}");
            assert!(line.contains("mine does not accept the key (HTTP 401)"), "{line}");
            assert!(line.contains("It said: No such key here"), "{line}");
            assert!(!said.contains("✓ Model") && !said.contains("\nModel:"), "{said}");
            assert!(!said.contains(KEY), "{said}");
        }
        assert!(doctor.out.contains("Its key comes from the variable MY_KEY."), "{doctor:#?}");
    };
    told(&home);
    assert!(engine.stop().success());
    let engine = home.serve().await;
    model(&engine).await;
    told(&home);

    accepts.store(true, Ordering::SeqCst);
    engine.run_now(&id).await;
    assert_eq!(engine.ended(&id, 2).await[0]["state"], "succeeded");
    let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
    assert!(doctor.ok().contains("✓ Model: fake-1 · mine"), "{doctor:#?}");
    assert!(!doctor.out.contains('✗') && !status.ok().contains('✗'), "{doctor:#?} {status:#?}");
    assert!(status.out.contains("\nModel: fake-1 · mine"), "{status:#?}");
}

#[tokio::test]
async fn a_job_by_its_own_schedule_runs_to_its_end() {
    let format = &FORMATS[1];
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
    let run = &engine.ended(&id, 1).await[0];
    assert_eq!(
        (&run["state"], &run["trigger"]),
        (&json!("succeeded"), &json!("schedule")),
        "{run:#}"
    );
    let job = home.rouse(["cron", "show", &id, "--json"]).json();
    assert_eq!(job["job"]["state"]["lastStatus"], "ok", "{job:#}");
    assert_eq!(job["job"]["state"]["nextRunAtMs"], Value::Null, "once is once");
}
