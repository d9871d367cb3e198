//! Every provider carries a chat, a job with tools, a heartbeat and a web job, in whole programs over real sockets.
//!
//! The vendor doubles (`testkit::vendor`) refuse the requests that their vendors refuse. The second part compares the
//! bill of a long Claude run over its three routes.

use rouse_testkit::fake_model::{FakeModel, Reply};
use rouse_testkit::vendor::{
    ANTHROPIC, CLAUDE_AT_WORK, LM_STUDIO, ModelVendor, OLLAMA, OPENAI, OPENROUTER, PromptUsage,
    STRICT_TEXT, UNPARSED_REASONER, VENDOR_KEY, VENDORS, VendorDouble, VendorTurn,
};
use rouse_tests::{agent_job, is_finished};
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};

/// The steps of the long run.
const STEPS: usize = 10;

fn home_of(model: &VendorDouble, more: &str) -> TestHome {
    TestHome::new().env("VENDOR_KEY", VENDOR_KEY).config(&format!("{}{more}", model.settings()))
}

fn echo(text: &str) -> VendorTurn {
    VendorTurn::Calls("echo", json!({ "text": text }))
}

/// Four runs of different kinds with one provider.
async fn carries_every_kind_of_run(vendor: &'static ModelVendor) {
    let page = FakeModel::start(|_| {
        let rest = "<p>It comes in one size.</p>".repeat(9);
        Reply::page(
            200,
            format!(
                "<title>Kettle</title><main><h1>Kettle</h1><p>The price is 42 dollars.</p>{rest}</main>"
            ),
        )
    });
    let host = page.url().trim_start_matches("http://").to_owned();
    let model = vendor.start();
    let home = home_of(&model, &format!("[tools]\nallowPrivateHosts = [\"{host}\"]\n"));
    let engine = home.serve().await;
    chat_answers_with_a_tool(&home, &model);
    job_reports_after_a_tool(&engine, &model, vendor).await;
    heartbeat_has_nothing_to_report(&engine, &model).await;
    web_job_reads_the_page(&engine, &model, &page.url()).await;
    assert_eq!(model.refusals(), [""; 0], "{}", vendor.name);
}

fn chat_answers_with_a_tool(home: &TestHome, model: &VendorDouble) {
    model.will([echo("sunny, 21 degrees"), VendorTurn::says("It is fine.")]);
    let chat = home.rouse(["chat", "How is the weather?"]);
    assert_eq!((chat.ok().trim(), model.refusals()), ("It is fine.", vec![]), "{chat:#?}");
    assert!(last_body(model).contains("sunny, 21 degrees"));
    model.will([VendorTurn::says("21 degrees.")]);
    let chat = home.rouse(["chat", "How many degrees?"]);
    assert_eq!((chat.ok().trim(), model.refusals()), ("21 degrees.", vec![]), "{chat:#?}");
    assert!(last_body(model).contains("sunny, 21 degrees"), "the result stays in the context");
}

async fn job_reports_after_a_tool(
    engine: &EngineProcess<'_>,
    model: &VendorDouble,
    vendor: &ModelVendor,
) {
    model.will([echo("two files"), VendorTurn::says("Two files changed.")]);
    let id = engine.add_job(agent_job("What changed?")).await;
    let run = ended_run(engine, &id).await;
    expect_report(&run, "Two files changed.", model);
    let cost = &run["usage"]["costMicroUsd"];
    assert_eq!(*cost == 0, vendor.is_local, "{run:#}");
}

async fn heartbeat_has_nothing_to_report(engine: &EngineProcess<'_>, model: &VendorDouble) {
    model.will([VendorTurn::says("HEARTBEAT_OK")]);
    engine.call("wake", json!({ "text": "The build is green.", "mode": "now" })).await;
    let run = engine
        .wait_until(async |engine| {
            let runs = engine.call("runs.list", json!({ "triggers": ["heartbeat"] })).await;
            runs["runs"].as_array()?.first().filter(|run| is_finished(run)).cloned()
        })
        .await;
    assert_eq!(run["state"], "nothingToReport", "{run:#} {:?}", model.refusals());
}

async fn web_job_reads_the_page(engine: &EngineProcess<'_>, model: &VendorDouble, url: &str) {
    let fetch = VendorTurn::Calls("web_fetch", json!({ "url": url }));
    model.will([fetch, VendorTurn::says("The kettle costs 42 dollars.")]);
    let id = engine.add_job(agent_job(&format!("What is the price at {url} today?"))).await;
    let run = ended_run(engine, &id).await;
    expect_report(&run, "The kettle costs 42 dollars.", model);
    assert!(last_body(model).contains("The price is 42 dollars."), "{}", last_body(model));
}

async fn ended_run(engine: &EngineProcess<'_>, id: &str) -> Value {
    engine.start_run(id).await;
    engine.finished_runs(id, 1).await.remove(0)
}

#[track_caller]
fn expect_report(run: &Value, report: &str, model: &VendorDouble) {
    let outcome = (&run["state"], &run["summary"]);
    assert_eq!(outcome, (&json!("succeeded"), &json!(report)), "{run:#} {:?}", model.refusals());
    assert!(run["usage"]["inputTokens"].as_u64().is_some_and(|tokens| tokens > 100), "{run:#}");
}

fn last_body(model: &VendorDouble) -> String {
    model.bodies().last().expect("a request").to_string()
}

/// One test per provider.
macro_rules! providers {
    ($($name:ident: $vendor:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $name() {
            carries_every_kind_of_run(&$vendor).await;
        })*

        #[test]
        fn every_vendor_in_table_has_a_test() {
            let tried = [$($vendor.name),*];
            assert!(VENDORS.iter().map(|vendor| vendor.name).eq(tried));
        }
    };
}

providers! {
    openai_responses_carries_every_kind_of_run: OPENAI,
    text_only_server_carries_every_kind_of_run: STRICT_TEXT,
    claude_at_work_carries_every_kind_of_run: CLAUDE_AT_WORK,
    anthropic_carries_every_kind_of_run: ANTHROPIC,
    openrouter_carries_every_kind_of_run: OPENROUTER,
    ollama_carries_every_kind_of_run: OLLAMA,
    lm_studio_carries_every_kind_of_run: LM_STUDIO,
    unparsed_reasoner_carries_every_kind_of_run: UNPARSED_REASONER,
}

/// The vendor's bill and the booked cost of a run of ten steps.
async fn long_run(vendor: &'static ModelVendor) -> (PromptUsage, u64) {
    let model = vendor.start();
    let home = home_of(&model, "");
    let engine = home.serve().await;
    for step in 1..STEPS {
        let text = format!("Part {step}.\n{}", "A line of the log.\n".repeat(300));
        std::fs::write(home.data().join(format!("workspace/log-{step}.md")), text).expect("a file");
    }
    let read = |step| VendorTurn::Calls("read_file", json!({ "path": format!("log-{step}.md") }));
    model.will((1..STEPS).map(read));
    model.will([VendorTurn::says("All ten steps are done.")]);
    let id = engine.add_job(agent_job("Go through the log in ten steps.")).await;
    let run = ended_run(&engine, &id).await;
    expect_report(&run, "All ten steps are done.", &model);
    assert_eq!((model.bodies().len(), model.refusals().len()), (STEPS, 0));
    assert!(last_body(&model).contains("A line of the log."));
    (model.usage(), run["usage"]["costMicroUsd"].as_u64().expect("a cost"))
}

#[tokio::test]
async fn claude_costs_the_same_over_every_route() {
    let (direct, _) = long_run(&ANTHROPIC).await;
    assert!(direct.read > direct.input() * 3 / 4, "{direct:?}");
    for route in [&CLAUDE_AT_WORK, &OPENROUTER] {
        let (bill, _) = long_run(route).await;
        let (cost, directly) = (bill.micro_usd(), direct.micro_usd());
        let text = format!("{}: {cost}, directly {directly}: {bill:?}, {direct:?}", route.name);
        assert!(cost.abs_diff(directly) * 10 <= directly, "{text}");
    }
}

#[tokio::test]
async fn booked_cost_of_claude_equals_vendor_bill() {
    for route in [&ANTHROPIC, &CLAUDE_AT_WORK, &OPENROUTER] {
        let (bill, booked) = long_run(route).await;
        // The cost of each call is rounded.
        let is_equal = booked.abs_diff(bill.micro_usd()) <= STEPS as u64;
        assert!(is_equal, "{}: {booked} booked, {} billed: {bill:?}", route.name, bill.micro_usd());
    }
}
