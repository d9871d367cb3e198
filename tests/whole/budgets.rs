//! Budgets over the gateway: limits per job and in total, notices, monthly estimates, fallback models and unreachable
//! local models.

use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_store::Store;
use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_testkit::scripted_model::{Scripted, large, says};
use rouse_tests::{EngineBuilder, HOUR, NOON, TestEngine, agent_job};
use serde_json::{Value, json};

async fn run_job(engine: &TestEngine, id: &str, so_far: usize) -> Value {
    engine.start_run(id).await;
    engine.finished_runs(id, so_far + 1).await.remove(0)
}

/// An agent job without tools, so that the prompt has some hundred tokens.
fn small_job(message: &str) -> Value {
    let mut job = agent_job(message);
    job["payload"]["useTools"] = json!(false);
    job
}

fn bodies(engine: &TestEngine) -> Vec<String> {
    engine.notifier.shown.take_all().into_iter().map(|delivery| delivery.body).collect()
}

async fn two_bodies(engine: &TestEngine) -> Vec<String> {
    let mut bodies_so_far = Vec::new();
    engine
        .wait_until(async |engine| {
            bodies_so_far.extend(bodies(engine));
            (bodies_so_far.len() >= 2).then_some(())
        })
        .await;
    bodies_so_far
}

#[tokio::test]
async fn used_up_daily_budget_skips_runs_and_notifies_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine =
        EngineBuilder::new(folder.path()).model((0..9).map(|_| large(says("Done.")))).build().await;
    let mut job = small_job("Look");
    job["policies"] = json!({ "budget": { "tokensPerDay": 1_500 }, "pauseAfterFailures": 1 });
    let id = engine.add_job(job).await;
    assert_eq!(run_job(&engine, &id, 0).await["state"], "succeeded");
    for so_far in 1..4 {
        let run = run_job(&engine, &id, so_far).await;
        assert_eq!((&run["state"], &run["usage"]["inputTokens"]), (&json!("skipped"), &json!(0)));
        let reason = run["reason"].as_str().unwrap_or_default();
        assert!(
            reason.starts_with("The job's budget of 1,500 tokens a day is used up"),
            "{reason}"
        );
    }
    assert_eq!(engine.model.requests().len(), 1);
    let view = engine.call("cron.get", json!({ "id": id })).await;
    assert_eq!((&view["job"]["enabled"], &view["incident"]), (&json!(true), &json!(null)));
    assert_eq!(view["job"]["state"]["lastState"], "skipped");
    let bodies = two_bodies(&engine).await;
    assert_eq!(bodies[0], "Done.");
    assert!(bodies[1].contains("Resets on 22 Nov 2026 at 00:00 (UTC)."), "{bodies:?}");
    engine.clock.set(UnixMs(NOON).plus_ms(12 * 3_600_000));
    assert_eq!(run_job(&engine, &id, 4).await["state"], "succeeded", "the next day");
    engine.host.stop().await;
}

#[tokio::test]
async fn pause_by_budget_is_announced() {
    for notify in ["findings", "never"] {
        let folder = tempfile::tempdir().expect("a folder");
        let script = (0..9).map(|_| large(says("Done.")));
        let engine = EngineBuilder::new(folder.path()).model(script).build().await;
        let mut job = small_job("Look");
        job["policies"] =
            json!({ "budget": { "tokensPerRun": 10 }, "pauseAfterFailures": 2, "notify": notify });
        let id = engine.add_job(job).await;
        for so_far in 0..2 {
            assert_eq!(run_job(&engine, &id, so_far).await["state"], "failed");
        }
        let view = engine.call("cron.get", json!({ "id": id })).await;
        assert_eq!(view["job"]["enabled"], false, "{view:#}");
        let mut announced = Vec::new();
        engine
            .wait_until(async |engine| {
                announced.extend(bodies(engine));
                announced.iter().any(|body| body.contains("aused after 2 failures")).then_some(())
            })
            .await;
        assert_eq!(announced.len(), if notify == "never" { 1 } else { 2 }, "{announced:?}");
        engine.host.stop().await;
    }
}

/// Naming another provider in a job is consent to the use.
#[tokio::test]
async fn own_model_and_fallback_work_without_default_provider() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::start(|_| Reply::events(sse::chat_says("Done.")));
    with_providers(folder.path(), &[("work", format!("{}/v1", server.url()), "our-model")]);
    let file = folder.path().join("config.toml");
    let settings = std::fs::read_to_string(&file).expect("settings");
    let settings = settings.replace("[model]\n", "[model]\nprovider = \"ollama\"\n");
    std::fs::write(&file, settings).expect("written");
    let engine = EngineBuilder::new(folder.path()).build().await;
    for (part, value) in
        [("model", json!("work:our-model")), ("fallbacks", json!(["work:our-model"]))]
    {
        let mut job = agent_job("Look");
        job["payload"][part] = value;
        let id = engine.add_job(job).await;
        let run = run_job(&engine, &id, 0).await;
        assert_eq!(run["state"], "succeeded", "{part}: {run:#}");
    }
    let before = server.requests().len();
    let id = engine.add_job(agent_job("Look")).await;
    assert_eq!(run_job(&engine, &id, 0).await["state"], "skipped", "no other provider is named");
    assert_eq!(server.requests().len(), before);
    engine.host.stop().await;
}

#[tokio::test]
async fn used_up_budget_survives_restart_without_second_notice() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = || (0..9).map(|_| large(says("Done.")));
    let engine = EngineBuilder::new(folder.path()).model(script()).build().await;
    let mut job = small_job("Look");
    job["policies"] = json!({ "budget": { "tokensPerDay": 1_500 } });
    let id = engine.add_job(job).await;
    run_job(&engine, &id, 0).await;
    run_job(&engine, &id, 1).await;
    let bodies = two_bodies(&engine).await;
    assert_eq!(bodies.len(), 2);
    let clock = engine.clock.clone();
    engine.host.stop().await;
    let engine = EngineBuilder::new(folder.path()).clock(&clock).model(script()).build().await;
    assert_eq!(run_job(&engine, &id, 2).await["state"], "skipped");
    let detail = engine.run_detail(&engine.runs(&id).await[0]).await;
    assert_eq!(detail["deliveries"], json!([]), "already announced");
    engine.host.stop().await;
}

#[tokio::test]
async fn global_budget_stops_jobs_and_chat_until_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine =
        EngineBuilder::new(folder.path()).model((0..9).map(|_| large(says("Done.")))).build().await;
    let budget = json!({ "patch": { "budget": { "tokensPerDay": 1_500, "usdPerDay": 0.5 } } });
    let config = engine.call("config.patch", budget).await;
    assert_eq!(config["budget"], json!({ "tokensPerDay": 1_500, "usdPerDay": 0.5 }));
    let id = engine.add_job(small_job("Look")).await;
    let other = engine.add_job(small_job("Look as well")).await;
    assert_eq!(run_job(&engine, &id, 0).await["state"], "succeeded");
    assert_eq!(run_job(&engine, &other, 0).await["state"], "skipped");
    let sent = engine.call("chat.send", json!({ "text": "Hello" })).await;
    let run = engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": sent["runId"] })).await;
            let state = detail["run"]["state"].as_str().unwrap_or_default().to_owned();
            (!matches!(state.as_str(), "queued" | "running")).then_some(detail)
        })
        .await;
    let error = format!("{}{}", run["run"]["reason"], run["run"]["error"]);
    assert!(error.contains("Rouse's budget of 1,500 tokens a day is used up"), "{error}");
    let spending = engine.call("spending.get", json!({})).await;
    assert_eq!(spending["today"]["tokens"], json!(1_500));
    assert_eq!(spending["tokensPerDay"], json!(1_500));
    engine.call("config.patch", json!({ "patch": { "budget": { "tokensPerDay": null } } })).await;
    engine
        .wait_until(async |engine| {
            let spending = engine.call("spending.get", json!({})).await;
            spending["tokensPerDay"].is_null().then_some(())
        })
        .await;
    engine.host.stop().await;
}

#[tokio::test]
async fn monthly_estimate_uses_past_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine =
        EngineBuilder::new(folder.path()).model((0..9).map(|_| says("Done."))).build().await;
    let daily = json!({ "kind": "cron", "expr": "0 9 * * *", "tz": "UTC" });
    let new = engine.call("cron.estimate", json!({ "schedule": daily })).await;
    assert_eq!(new["text"], "No finished runs yet, so there is no estimate.");
    assert_eq!(new["runsPerMonth"], json!(30));
    let id = engine.add_job(agent_job("Look")).await;
    for so_far in 0..3 {
        run_job(&engine, &id, so_far).await;
    }
    let estimate = engine.call("cron.estimate", json!({ "id": id, "schedule": daily })).await;
    assert_eq!(
        estimate["text"],
        "About 0.00003 USD per month: 30 runs at about 0.000001 USD, based on the last 3 runs."
    );
    let hourly = json!({ "kind": "every", "everyMs": HOUR });
    let estimate = engine.call("cron.estimate", json!({ "id": id, "schedule": hourly })).await;
    assert_eq!(
        (&estimate["runsPerMonth"], &estimate["tokensPerMonth"]),
        (&json!(720), &json!(10_800))
    );
    let view = engine.call("cron.get", json!({ "id": id })).await;
    let spent = json!({ "tokens": 45, "costMicroUsd": 3, "unpricedTokens": 0 });
    assert_eq!(view["spentThisMonth"], spent);
    engine.host.stop().await;
}

/// The base URL of a closed local port.
fn closed_port_url() -> String {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}/v1", port.local_addr().expect("an address"))
}

fn with_providers(folder: &std::path::Path, providers: &[(&str, String, &str)]) {
    let entry = |(name, url, model): &(&str, String, &str)| {
        format!("[providers.{name}]\nkind = \"openai\"\nbaseUrl = \"{url}\"\nmodel = \"{model}\"\n")
    };
    let text: String = providers.iter().map(entry).collect();
    let text = format!("[model]\npatienceSeconds = 0\n{text}");
    std::fs::write(folder.join("config.toml"), text).expect("a settings file");
}

#[tokio::test]
async fn unreachable_local_model_skips_run_and_notifies_once() {
    let folder = tempfile::tempdir().expect("a folder");
    with_providers(folder.path(), &[("mine", closed_port_url(), "llama3.2:3b")]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = agent_job("Look");
    job["policies"] = json!({ "pauseAfterFailures": 1 });
    job["runtime"] = json!({ "maxAttempts": 2, "retryBackoffMs": 0 });
    let id = engine.add_job(job).await;
    for so_far in 0..2 {
        let run = run_job(&engine, &id, so_far).await;
        assert_eq!(run["attempt"], 2, "{run}");
        assert_eq!(run["state"], "skipped");
        let reason = run["reason"].as_str().unwrap_or_default();
        assert!(reason.starts_with("mine could not be reached"), "{reason}");
    }
    let view = engine.call("cron.get", json!({ "id": id })).await;
    // A skipped run opens no incident.
    assert_eq!((&view["job"]["enabled"], &view["incident"]), (&json!(true), &json!(null)));
    let state = &view["job"]["state"];
    assert_eq!(
        (&state["consecutiveFailures"], &state["lastState"]),
        (&json!(0), &json!("skipped"))
    );
    assert!(state["lastError"].as_str().is_some_and(|reason| reason.contains("mine")), "{state}");
    let notices = bodies(&engine);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].starts_with("Skipped: mine could not be reached"), "{notices:?}");
    engine.host.stop().await;
}

#[tokio::test]
async fn reachable_fallback_answers_and_run_names_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::events(sse::chat_says("Done."))]);
    let other = format!("{}/v1", server.url());
    with_providers(
        folder.path(),
        &[("mine", closed_port_url(), "llama3.2:3b"), ("other", other, "m-2")],
    );
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = agent_job("Look");
    job["payload"]["model"] = json!("mine:llama3.2:3b");
    job["payload"]["fallbacks"] = json!(["ollama:gone", "other:m-2"]);
    let id = engine.add_job(job).await;
    let run = run_job(&engine, &id, 0).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    let reason = run["fallbackReason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("mine could not be reached"), "{reason}");
    assert_eq!(run["usage"]["costMicroUsd"], json!(0), "it is on this computer");
    let steps = engine.run_detail(&run).await["steps"].clone();
    let names: Vec<&str> =
        steps.as_array().into_iter().flatten().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(names, ["llama3.2:3b", "Another model", "m-2"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn stopped_local_server_skips_run_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.toml"), "[model]\nprovider = \"ollama\"\n")
        .expect("a settings file");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(agent_job("Look")).await;
    let run = run_job(&engine, &id, 0).await;
    assert_eq!(run["state"], "skipped");
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("Ollama has the model for this run but is not running"), "{reason}");
    engine.host.stop().await;
}

#[tokio::test]
async fn missing_provider_fails_run_without_other_provider() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::events(sse::chat_says("Done."))]);
    with_providers(folder.path(), &[("mine", format!("{}/v1", server.url()), "m-1")]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = agent_job("Look");
    job["payload"]["model"] = json!("openai:foo");
    let id = engine.add_job(job).await;
    let run = run_job(&engine, &id, 0).await;
    assert_eq!((&run["state"], server.requests().len()), (&json!("failed"), 0), "{run:#}");
    let error = run["error"].as_str().unwrap_or_default();
    let expected = "`openai:foo` is of the provider openai, which is not set up or not running.";
    assert!(error.starts_with(expected), "{error}");
    engine.host.stop().await;
}

/// The error names the missing provider, not the local server of the last run.
#[tokio::test]
async fn missing_provider_is_named_despite_last_local_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = rouse_host::Home::at(folder.path()).database();
    let store = Store::open(&database, Arc::new(|_| ())).await.expect("a store");
    store.put_setting("models.lastLocal", &json!("ollama"), None, UnixMs(1)).await.expect("kept");
    store.close().await;
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = agent_job("Look");
    job["payload"]["model"] = json!("openai:foo");
    let id = engine.add_job(job).await;
    let run = run_job(&engine, &id, 0).await;
    let error = run["error"].as_str().unwrap_or_default();
    let expected = "`openai:foo` is of the provider openai, which is not set up or not running.";
    assert!(error.starts_with(expected), "{run:#}");
    engine.host.stop().await;
}

/// An invalid default provider does not matter for a job that names a provider.
#[tokio::test]
async fn missing_provider_is_named_despite_invalid_default() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.toml"), "[model]\nprovider = \"wrok\"\n")
        .expect("a settings file");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = agent_job("Look");
    for (wish, expected) in [
        ("openai:foo", "`openai:foo` is of the provider openai, which is not set up"),
        ("foo", "No model answers. model.provider in the settings: "),
    ] {
        job["payload"]["model"] = json!(wish);
        let id = engine.add_job(job.clone()).await;
        let run = run_job(&engine, &id, 0).await;
        let error = run["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(expected), "{run:#}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn usd_budget_refuses_model_without_price() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine =
        EngineBuilder::new(folder.path()).model((0..9).map(|_| says("Done."))).build().await;
    let mut job = agent_job("Look");
    job["policies"] = json!({ "budget": { "usdPerDay": 1 } });
    let id = engine.add_job(job).await;
    let run = run_job(&engine, &id, 0).await;
    assert_eq!(run["state"], "failed");
    let error = run["error"].as_str().unwrap_or_default();
    assert!(error.contains("the price of scripted-1 is unknown"), "{error}");
    assert_eq!(engine.model.requests().len(), 0);
    let clock = engine.clock.clone();
    engine.host.stop().await;
    let prices = "[prices.\"scripted-*\"]\ninput = 2\noutput = 4\n";
    std::fs::write(folder.path().join("config.toml"), prices).expect("a settings file");
    let script = [says("Done.")];
    let engine = EngineBuilder::new(folder.path()).clock(&clock).model(script).build().await;
    let run = run_job(&engine, &id, 1).await;
    // 10 tokens sent at 2 USD and 5 received at 4 USD per million.
    assert_eq!((&run["state"], &run["usage"]["costMicroUsd"]), (&json!("succeeded"), &json!(40)));
    let own = engine.call("config.get", json!({})).await["prices"]["own"].clone();
    assert_eq!(own[0]["model"], "scripted-*");
    engine.host.stop().await;
}

/// A job with a budget of 3,000 tokens a day whose prompt needs more than half of that.
async fn small_budget(
    folder: &std::path::Path,
    replies: impl IntoIterator<Item = Reply>,
) -> (TestEngine, FakeModel, String) {
    let server = FakeModel::replying(replies);
    with_providers(folder, &[("mine", format!("{}/v1", server.url()), "m-1")]);
    let engine = EngineBuilder::new(folder).build().await;
    let mut job = small_job(&"Look at it. ".repeat(400));
    job["policies"] = json!({ "budget": { "tokensPerDay": 3_000 } });
    let id = engine.add_job(job).await;
    (engine, server, id)
}

/// An answer without the usage event.
fn without_usage() -> Reply {
    let events = sse::chat_says("Done.");
    let events_without_usage: Vec<&str> = events
        .split_inclusive("\n\n")
        .filter(|event| !event.contains("\"prompt_tokens\""))
        .collect();
    Reply::events(events_without_usage.concat())
}

/// An answer that is cut after the first event.
fn truncated() -> Reply {
    let events = sse::chat_says("Done.");
    let first = events.split_inclusive("\n\n").next().expect("an event").to_owned();
    Reply::events(events).cut_after(&first)
}

/// Asserts that the first run ends in `state` with estimated usage and the second is skipped.
async fn assert_estimated(engine: TestEngine, server: FakeModel, id: String, state: &str) {
    let run = run_job(&engine, &id, 0).await;
    assert_eq!(run["state"], state, "{run:#}");
    let used = run["usage"]["inputTokens"].as_u64().expect("a count");
    assert!((1_000..2_000).contains(&used), "{run:#}");
    let step = engine.run_detail(&run).await["steps"][0].clone();
    assert_eq!(step["output"]["usageIsEstimated"], true, "{step:#}");
    let requests = server.requests().len();
    let next = run_job(&engine, &id, 1).await;
    assert_eq!(
        (&next["state"], server.requests().len()),
        (&json!("skipped"), requests),
        "{next:#}"
    );
    let view = engine.call("cron.get", json!({ "id": id })).await;
    assert!(view["spentThisMonth"]["tokens"].as_u64() >= Some(used), "{view:#}");
    engine.host.stop().await;
}

#[tokio::test]
async fn answer_without_usage_is_estimated_by_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, server, id) = small_budget(folder.path(), (0..3).map(|_| without_usage())).await;
    assert_estimated(engine, server, id, "succeeded").await;
}

#[tokio::test]
async fn truncated_answer_is_estimated_by_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, server, id) = small_budget(folder.path(), (0..3).map(|_| truncated())).await;
    assert_estimated(engine, server, id, "failed").await;
}

#[tokio::test]
async fn timed_out_answer_is_estimated_by_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([Scripted::Silence]).build().await;
    let mut job = small_job(&"Look at it. ".repeat(400));
    job["policies"] = json!({ "budget": { "tokensPerDay": 2_000 }, "timeoutSeconds": 60 });
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    engine.model.asked(1).await;
    engine.clock.advance(60_000);
    let run = engine.finished_runs(&id, 1).await.remove(0);
    assert_eq!(run["state"], "timedOut");
    assert!(run["usage"]["inputTokens"].as_u64() > Some(1_000), "{run:#}");
    assert_eq!(run_job(&engine, &id, 1).await["state"], "skipped");
    assert_eq!(engine.model.requests().len(), 1);
    engine.host.stop().await;
}

#[tokio::test]
async fn truncated_answer_over_budget_is_not_retried() {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, server, id) = small_budget(folder.path(), (0..3).map(|_| truncated())).await;
    let run = run_job(&engine, &id, 0).await;
    assert_eq!((&run["state"], server.requests().len()), (&json!("failed"), 1), "{run:#}");
    let error = run["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("The job's budget of 3,000 tokens a day has "), "{error}");
    engine.host.stop().await;
}
