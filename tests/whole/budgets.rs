//! What may be spent, through the gateway: limits of jobs and of everything, one notification of each a day, what a job
//! costs a month, fallbacks, and local models that do not run.

use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_store::Store;
use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_testkit::scripted_model::{Scripted, large, says};
use serde_json::{Value, json};

use super::house::{HOUR, House, NOON, Plan, ask};

async fn force(house: &House, id: &str, so_far: usize) -> Value {
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(id, so_far + 1).await.remove(0)
}

/// A job whose question is some hundreds of tokens long: none of them goes on tools.
fn plain(message: &str) -> Value {
    let mut job = ask(message);
    job["payload"]["useTools"] = json!(false);
    job
}

fn bodies(house: &House) -> Vec<String> {
    house.notifier.shown.take_all().into_iter().map(|delivery| delivery.body).collect()
}

/// The next two notifications.
async fn two_bodies(house: &House) -> Vec<String> {
    let mut said = Vec::new();
    house
        .until(async |house| {
            said.extend(bodies(house));
            (said.len() >= 2).then_some(())
        })
        .await;
    said
}

#[tokio::test]
async fn a_budget_of_the_day_skips_what_comes_after_and_tells_it_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model((0..9).map(|_| large(says("Done.")))).build().await;
    let mut job = plain("Look");
    job["policies"] = json!({ "budget": { "tokensPerDay": 1_500 }, "pauseAfterFailures": 1 });
    let id = house.add(job).await;
    assert_eq!(force(&house, &id, 0).await["state"], "succeeded");
    for so_far in 1..4 {
        let run = force(&house, &id, so_far).await;
        assert_eq!((&run["state"], &run["usage"]["inputTokens"]), (&json!("skipped"), &json!(0)));
        let reason = run["reason"].as_str().unwrap_or_default();
        assert!(
            reason.starts_with("The job's budget of 1,500 tokens a day is used up"),
            "{reason}"
        );
    }
    assert_eq!(house.model.requests().len(), 1);
    let view = house.call("cron.get", json!({ "id": id })).await;
    assert_eq!((&view["job"]["enabled"], &view["incident"]), (&json!(true), &json!(null)));
    assert_eq!(view["job"]["state"]["lastState"], "skipped");
    let said = two_bodies(&house).await;
    assert_eq!(said[0], "Done.");
    assert!(said[1].contains("It is free again on 22 Nov 2026 at 00:00 (UTC)."), "{said:?}");
    house.clock.set(UnixMs(NOON).plus_ms(12 * 3_600_000));
    assert_eq!(force(&house, &id, 4).await["state"], "succeeded", "the next day");
    house.host.stop().await;
}

#[tokio::test]
async fn that_a_budget_pauses_its_job_is_told_whatever_was_told_of_the_budget() {
    for notify in ["findings", "never"] {
        let folder = tempfile::tempdir().expect("a folder");
        let script = (0..9).map(|_| large(says("Done.")));
        let house = Plan::new(folder.path()).model(script).build().await;
        let mut job = plain("Look");
        job["policies"] =
            json!({ "budget": { "tokensPerRun": 10 }, "pauseAfterFailures": 2, "notify": notify });
        let id = house.add(job).await;
        for so_far in 0..2 {
            assert_eq!(force(&house, &id, so_far).await["state"], "failed");
        }
        let view = house.call("cron.get", json!({ "id": id })).await;
        assert_eq!(view["job"]["enabled"], false, "{view:#}");
        let mut said = Vec::new();
        house
            .until(async |house| {
                said.extend(bodies(house));
                said.iter().any(|body| body.contains("aused after 2 failures")).then_some(())
            })
            .await;
        assert_eq!(said.len(), if notify == "never" { 1 } else { 2 }, "{said:?}");
        house.host.stop().await;
    }
}

/// A person who names another provider in a job has agreed to it.
#[tokio::test]
async fn a_job_s_own_model_and_its_fallbacks_answer_although_the_usual_provider_is_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::start(|_| Reply::events(sse::chat_says("Done.")));
    with_providers(folder.path(), &[("work", format!("{}/v1", server.url()), "our-model")]);
    let file = folder.path().join("config.toml");
    let settings = std::fs::read_to_string(&file).expect("settings");
    let settings = settings.replace("[model]\n", "[model]\nprovider = \"ollama\"\n");
    std::fs::write(&file, settings).expect("written");
    let house = Plan::new(folder.path()).build().await;
    for (part, value) in
        [("model", json!("work:our-model")), ("fallbacks", json!(["work:our-model"]))]
    {
        let mut job = ask("Look");
        job["payload"][part] = value;
        let id = house.add(job).await;
        let run = force(&house, &id, 0).await;
        assert_eq!(run["state"], "succeeded", "{part}: {run:#}");
    }
    let before = server.requests().len();
    let id = house.add(ask("Look")).await;
    assert_eq!(force(&house, &id, 0).await["state"], "skipped", "nobody has named another");
    assert_eq!(server.requests().len(), before);
    house.host.stop().await;
}

#[tokio::test]
async fn a_budget_outlives_a_restart_and_is_not_told_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = || (0..9).map(|_| large(says("Done.")));
    let house = Plan::new(folder.path()).model(script()).build().await;
    let mut job = plain("Look");
    job["policies"] = json!({ "budget": { "tokensPerDay": 1_500 } });
    let id = house.add(job).await;
    force(&house, &id, 0).await;
    force(&house, &id, 1).await;
    let said = two_bodies(&house).await;
    assert_eq!(said.len(), 2);
    let clock = house.clock.clone();
    house.host.stop().await;
    let house = Plan::new(folder.path()).clock(&clock).model(script()).build().await;
    assert_eq!(force(&house, &id, 2).await["state"], "skipped");
    let detail = house.detail(&house.runs(&id).await[0]).await;
    assert_eq!(detail["deliveries"], json!([]), "it was told already");
    house.host.stop().await;
}

#[tokio::test]
async fn the_budget_of_everything_stops_jobs_heartbeat_and_chat_and_is_changed_in_the_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model((0..9).map(|_| large(says("Done.")))).build().await;
    let budget = json!({ "patch": { "budget": { "tokensPerDay": 1_500, "usdPerDay": 0.5 } } });
    let config = house.call("config.patch", budget).await;
    assert_eq!(config["budget"], json!({ "tokensPerDay": 1_500, "usdPerDay": 0.5 }));
    let id = house.add(plain("Look")).await;
    let other = house.add(plain("Look as well")).await;
    assert_eq!(force(&house, &id, 0).await["state"], "succeeded");
    assert_eq!(force(&house, &other, 0).await["state"], "skipped");
    let sent = house.call("chat.send", json!({ "text": "Hello" })).await;
    let run = house
        .until(async |house| {
            let detail = house.call("runs.get", json!({ "id": sent["runId"] })).await;
            let state = detail["run"]["state"].as_str().unwrap_or_default().to_owned();
            (!matches!(state.as_str(), "queued" | "running")).then_some(detail)
        })
        .await;
    let said = format!("{}{}", run["run"]["reason"], run["run"]["error"]);
    assert!(said.contains("Rouse's budget of 1,500 tokens a day is used up"), "{said}");
    let spending = house.call("spending.get", json!({})).await;
    assert_eq!(spending["today"]["tokens"], json!(1_500));
    assert_eq!(spending["tokensPerDay"], json!(1_500));
    house.call("config.patch", json!({ "patch": { "budget": { "tokensPerDay": null } } })).await;
    house
        .until(async |house| {
            let spending = house.call("spending.get", json!({})).await;
            spending["tokensPerDay"].is_null().then_some(())
        })
        .await;
    house.host.stop().await;
}

#[tokio::test]
async fn what_a_month_will_cost_is_told_from_past_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model((0..9).map(|_| says("Done."))).build().await;
    let daily = json!({ "kind": "cron", "expr": "0 9 * * *", "tz": "UTC" });
    let new = house.call("cron.estimate", json!({ "schedule": daily })).await;
    assert_eq!(new["text"], "No finished runs yet, so nobody knows what it will cost.");
    assert_eq!(new["runsPerMonth"], json!(30));
    let id = house.add(ask("Look")).await;
    for so_far in 0..3 {
        force(&house, &id, so_far).await;
    }
    let told = house.call("cron.estimate", json!({ "id": id, "schedule": daily })).await;
    assert_eq!(
        told["text"],
        "About 0.00003 USD a month: 30 runs at about 0.000001 USD, by its last 3 runs."
    );
    let hourly = json!({ "kind": "every", "everyMs": HOUR });
    let told = house.call("cron.estimate", json!({ "id": id, "schedule": hourly })).await;
    assert_eq!((&told["runsPerMonth"], &told["tokensPerMonth"]), (&json!(720), &json!(10_800)));
    let view = house.call("cron.get", json!({ "id": id })).await;
    let spent = json!({ "tokens": 45, "costMicroUsd": 3, "unpricedTokens": 0 });
    assert_eq!(view["spentThisMonth"], spent);
    house.host.stop().await;
}

/// A port of this computer on which nobody listens.
fn nobody() -> String {
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
async fn a_local_model_that_does_not_run_skips_is_no_failure_and_is_told_once() {
    let folder = tempfile::tempdir().expect("a folder");
    with_providers(folder.path(), &[("mine", nobody(), "llama3.2:3b")]);
    let house = Plan::new(folder.path()).build().await;
    let mut job = ask("Look");
    job["policies"] = json!({ "pauseAfterFailures": 1 });
    job["runtime"] = json!({ "maxAttempts": 2, "retryBackoffMs": 0 });
    let id = house.add(job).await;
    for so_far in 0..2 {
        let run = force(&house, &id, so_far).await;
        assert_eq!(run["attempt"], 2, "{run}");
        assert_eq!(run["state"], "skipped");
        let reason = run["reason"].as_str().unwrap_or_default();
        assert!(reason.starts_with("mine could not be reached"), "{reason}");
    }
    let view = house.call("cron.get", json!({ "id": id })).await;
    // It is not among the failing ones.
    assert_eq!((&view["job"]["enabled"], &view["incident"]), (&json!(true), &json!(null)));
    let state = &view["job"]["state"];
    assert_eq!(
        (&state["consecutiveFailures"], &state["lastState"]),
        (&json!(0), &json!("skipped"))
    );
    assert!(state["lastError"].as_str().is_some_and(|why| why.contains("mine")), "{state}");
    let told = bodies(&house);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("Skipped: mine could not be reached"), "{told:?}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_fallback_is_asked_first_and_the_run_says_who_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::events(sse::chat_says("Done."))]);
    let other = format!("{}/v1", server.url());
    with_providers(folder.path(), &[("mine", nobody(), "llama3.2:3b"), ("other", other, "m-2")]);
    let house = Plan::new(folder.path()).build().await;
    let mut job = ask("Look");
    job["payload"]["model"] = json!("mine:llama3.2:3b");
    job["payload"]["fallbacks"] = json!(["ollama:gone", "other:m-2"]);
    let id = house.add(job).await;
    let run = force(&house, &id, 0).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    let why = run["fellBack"].as_str().unwrap_or_default();
    assert!(why.starts_with("mine could not be reached"), "{why}");
    assert_eq!(run["usage"]["costMicroUsd"], json!(0), "it is on this computer");
    let steps = house.detail(&run).await["steps"].clone();
    let names: Vec<&str> =
        steps.as_array().into_iter().flatten().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(names, ["llama3.2:3b", "Another model", "m-2"]);
    house.host.stop().await;
}

#[tokio::test]
async fn a_server_that_was_used_last_and_is_gone_is_not_a_missing_set_up() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.toml"), "[model]\nprovider = \"ollama\"\n")
        .expect("a settings file");
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(ask("Look")).await;
    let run = force(&house, &id, 0).await;
    assert_eq!(run["state"], "skipped");
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("Ollama, whose model is to do this, is not running"), "{reason}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_job_whose_provider_is_missing_says_which_and_asks_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = FakeModel::replying([Reply::events(sse::chat_says("Done."))]);
    with_providers(folder.path(), &[("mine", format!("{}/v1", server.url()), "m-1")]);
    let house = Plan::new(folder.path()).build().await;
    let mut job = ask("Look");
    job["payload"]["model"] = json!("openai:foo");
    let id = house.add(job).await;
    let run = force(&house, &id, 0).await;
    assert_eq!((&run["state"], server.requests().len()), (&json!("failed"), 0), "{run:#}");
    let error = run["error"].as_str().unwrap_or_default();
    let expected = "`openai:foo` is of the provider openai, which is not set up or not running.";
    assert!(error.starts_with(expected), "{error}");
    house.host.stop().await;
}

/// A server on this computer that was used last is not whom the run names.
#[tokio::test]
async fn a_job_whose_provider_is_missing_says_which_though_another_one_was_used_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = rouse_host::Home::at(folder.path()).database();
    let store = Store::open(&database, Arc::new(|_| ())).await.expect("a store");
    store.put_setting("models.lastLocal", &json!("ollama"), None, UnixMs(1)).await.expect("kept");
    store.close().await;
    let house = Plan::new(folder.path()).build().await;
    let mut job = ask("Look");
    job["payload"]["model"] = json!("openai:foo");
    let id = house.add(job).await;
    let run = force(&house, &id, 0).await;
    let error = run["error"].as_str().unwrap_or_default();
    let expected = "`openai:foo` is of the provider openai, which is not set up or not running.";
    assert!(error.starts_with(expected), "{run:#}");
    house.host.stop().await;
}

/// A name in the settings that leads nowhere keeps nothing from a run whose own provider is missing.
#[tokio::test]
async fn a_job_whose_provider_is_missing_says_which_though_the_settings_name_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.toml"), "[model]\nprovider = \"wrok\"\n")
        .expect("a settings file");
    let house = Plan::new(folder.path()).build().await;
    let mut job = ask("Look");
    for (wish, expected) in [
        ("openai:foo", "`openai:foo` is of the provider openai, which is not set up"),
        ("foo", "No model answers. model.provider in the settings: "),
    ] {
        job["payload"]["model"] = json!(wish);
        let id = house.add(job.clone()).await;
        let run = force(&house, &id, 0).await;
        let error = run["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(expected), "{run:#}");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn a_budget_in_dollars_refuses_a_model_without_a_price_until_it_has_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model((0..9).map(|_| says("Done."))).build().await;
    let mut job = ask("Look");
    job["policies"] = json!({ "budget": { "usdPerDay": 1 } });
    let id = house.add(job).await;
    let run = force(&house, &id, 0).await;
    assert_eq!(run["state"], "failed");
    let error = run["error"].as_str().unwrap_or_default();
    assert!(error.contains("the price of scripted-1 is not known"), "{error}");
    assert_eq!(house.model.requests().len(), 0);
    let clock = house.clock.clone();
    house.host.stop().await;
    let prices = "[prices.\"scripted-*\"]\ninput = 2\noutput = 4\n";
    std::fs::write(folder.path().join("config.toml"), prices).expect("a settings file");
    let script = [says("Done.")];
    let house = Plan::new(folder.path()).clock(&clock).model(script).build().await;
    let run = force(&house, &id, 1).await;
    // Ten tokens sent at two dollars a million, five received at four.
    assert_eq!((&run["state"], &run["usage"]["costMicroUsd"]), (&json!("succeeded"), &json!(40)));
    let own = house.call("config.get", json!({})).await["prices"]["own"].clone();
    assert_eq!(own[0]["model"], "scripted-*");
    house.host.stop().await;
}

/// A job with a budget of 2,000 tokens a day on a model behind `server`, which is asked a question of more than half of it.
async fn small_budget(
    folder: &std::path::Path,
    replies: impl IntoIterator<Item = Reply>,
) -> (House, FakeModel, String) {
    let server = FakeModel::replying(replies);
    with_providers(folder, &[("mine", format!("{}/v1", server.url()), "m-1")]);
    let house = Plan::new(folder).build().await;
    let mut job = plain(&"Look at it. ".repeat(400));
    job["policies"] = json!({ "budget": { "tokensPerDay": 3_000 } });
    let id = house.add(job).await;
    (house, server, id)
}

/// An answer whose provider says nothing of what it has used.
fn without_usage() -> Reply {
    let told = sse::chat_says("Done.");
    let untold: Vec<&str> =
        told.split_inclusive("\n\n").filter(|it| !it.contains("\"prompt_tokens\"")).collect();
    Reply::events(untold.concat())
}

/// An answer that breaks off behind its first words.
fn broken() -> Reply {
    let told = sse::chat_says("Done.");
    let first = told.split_inclusive("\n\n").next().expect("an event").to_owned();
    Reply::events(told).cut_after(&first)
}

/// The first run ends in `state` and is counted, and no second one begins.
async fn is_counted(house: House, server: FakeModel, id: String, state: &str) {
    let run = force(&house, &id, 0).await;
    assert_eq!(run["state"], state, "{run:#}");
    let used = run["usage"]["inputTokens"].as_u64().expect("a count");
    assert!((1_000..2_000).contains(&used), "{run:#}");
    let step = house.detail(&run).await["steps"][0].clone();
    assert_eq!(step["output"]["usageIsEstimated"], true, "{step:#}");
    let asked = server.requests().len();
    let next = force(&house, &id, 1).await;
    assert_eq!((&next["state"], server.requests().len()), (&json!("skipped"), asked), "{next:#}");
    let view = house.call("cron.get", json!({ "id": id })).await;
    assert!(view["spentThisMonth"]["tokens"].as_u64() >= Some(used), "{view:#}");
    house.host.stop().await;
}

#[tokio::test]
async fn an_answer_without_its_usage_counts_by_its_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let (house, server, id) = small_budget(folder.path(), (0..3).map(|_| without_usage())).await;
    is_counted(house, server, id, "succeeded").await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_counts_by_what_was_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let (house, server, id) = small_budget(folder.path(), (0..3).map(|_| broken())).await;
    is_counted(house, server, id, "failed").await;
}

#[tokio::test]
async fn an_answer_that_the_time_runs_out_on_counts_by_what_was_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([Scripted::Silence]).build().await;
    let mut job = plain(&"Look at it. ".repeat(400));
    job["policies"] = json!({ "budget": { "tokensPerDay": 2_000 }, "timeoutSeconds": 60 });
    let id = house.add(job).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.model.asked(1).await;
    house.clock.advance(60_000);
    let run = house.ended(&id, 1).await.remove(0);
    assert_eq!(run["state"], "timedOut");
    assert!(run["usage"]["inputTokens"].as_u64() > Some(1_000), "{run:#}");
    assert_eq!(force(&house, &id, 1).await["state"], "skipped");
    assert_eq!(house.model.requests().len(), 1);
    house.host.stop().await;
}

#[tokio::test]
async fn a_model_is_not_asked_again_on_a_budget_that_its_broken_answer_has_used_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (house, server, id) = small_budget(folder.path(), (0..3).map(|_| broken())).await;
    let run = force(&house, &id, 0).await;
    assert_eq!((&run["state"], server.requests().len()), (&json!("failed"), 1), "{run:#}");
    let error = run["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("The job's budget of 3,000 tokens a day has "), "{error}");
    house.host.stop().await;
}
