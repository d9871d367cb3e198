//! A JavaScript tool in Rouse's own sandbox, in the real programs.
//!
//! Owns the parts `wasm_calls` and `wasm_memory`. A call is a run with one call, without a model. Pitfall: an engine that
//! has compiled or called the tool before; each first call has a new engine.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use rouse_testkit::fake_model::sse;
use serde_json::{Value, json};

use crate::agents::bench_host::BenchHost;
use crate::agents::model_server::{ModelServer, ServerReply};
use crate::engine::wait;
use crate::memory::proportional_mb;
use crate::report::{Report, millis_of, quantile};

const BUILT_IN_TOOL: &str = "echo";
const TOOL: &str = "repeater";

/// Timed calls, below the rate limit of a tool.
const TIMED_CALLS: usize = 50;

/// Calls before a measurement of memory. Twice as many are below the rate limit.
const MEMORY_CALLS: usize = 25;

/// After this time, an idle engine has released its memory.
const REST: Duration = Duration::from_secs(30);

const MANIFEST: &str = r#"
    name = "repeater"
    description = "Returns its text."
    language = "javascript"
    reads_only = true
    parameters = { type = "object", properties = { text = { type = "string" } } }
    [[tests]]
    name = "a text"
    arguments = { text = "x" }
    expected = "x"
"#;

const SCRIPT: &str = "function run(args) { return args.text; }";

/// Measures the selected parts. Each has an engine of its own, because a tool has a rate limit.
pub(crate) async fn measure(
    is_selected: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    // The runs have no model; an engine needs one to be ready.
    let model = ModelServer::start(|_| ServerReply {
        delay: Duration::ZERO,
        events: sse::chat_says("Nothing."),
    })?;
    if is_selected("wasm_calls") {
        let host = BenchHost::start(&model, "").await?;
        let tool = write_tool(&host)?;
        measure_checks(&host, &tool, report).await?;
        install(&host, tool).await?;
        measure_calls(host, report).await?;
    }
    if is_selected("wasm_memory") {
        let host = BenchHost::start(&model, "").await?;
        let tool = write_tool(&host)?;
        install(&host, tool).await?;
        measure_memory(host, report).await?;
    }
    Ok(())
}

/// Writes the folder of the tool. Returns the request of its installation.
fn write_tool(host: &BenchHost) -> anyhow::Result<Value> {
    let folder = host.folder.path().join("repeater-source");
    std::fs::create_dir(&folder)?;
    std::fs::write(folder.join("tool.toml"), MANIFEST)?;
    std::fs::write(folder.join("tool.js"), SCRIPT)?;
    Ok(json!({
        "name": TOOL, "server": { "transport": { "kind": "wasm" } },
        "source": { "kind": "tool", "path": folder },
    }))
}

async fn measure_checks(host: &BenchHost, tool: &Value, report: &mut Report) -> anyhow::Result<()> {
    for label in ["the first, with the compilation in a child process", "another"] {
        #[expect(clippy::disallowed_methods, reason = "a bench measures")]
        let started = Instant::now();
        host.call("extensions.preview", tool.clone()).await?;
        let elapsed = millis_of(started.elapsed());
        report.info(&format!("check of a JavaScript tool, {label}"), elapsed, "ms");
    }
    Ok(())
}

async fn install(host: &BenchHost, mut tool: Value) -> anyhow::Result<()> {
    let page = host.call("extensions.preview", tool.clone()).await?;
    tool["accept"] = page["hash"].clone();
    let tools = host.call("extensions.install", tool).await?;
    anyhow::ensure!(tools["error"].is_null(), "not installed: {}", tools["error"]);
    let accept = json!({ "name": TOOL, "accept": tools["page"]["hash"] });
    host.call("extensions.accept", accept).await?;
    Ok(())
}

async fn measure_calls(host: BenchHost, report: &mut Report) -> anyhow::Result<()> {
    std::fs::remove_dir_all(host.folder.path().join("compiled-tools"))
        .context("the compiled engine of scripts")?;
    let mut host = host.restart().await?;
    let tool = host.add_call_job(TOOL).await?;
    let first = run_millis(&mut host, &tool).await?;
    report.info("run with the first call, with the compilation in a child process", first, "ms");
    let mut host = host.restart().await?;
    let built_in = host.add_call_job(BUILT_IN_TOOL).await?;
    let built_in = quantile(&mut run_many(&mut host, &built_in, TIMED_CALLS).await?, 0.5);
    report.info("baseline: run with one call of a built-in tool, p50", built_in, "ms");
    let first = run_millis(&mut host, &tool).await? - built_in;
    let label = "call of a JavaScript tool, above the built-in tool";
    report.info(&format!("{label}, the first of an engine"), first, "ms");
    let runs = run_many(&mut host, &tool, TIMED_CALLS).await?;
    let mut calls: Vec<f64> = runs.into_iter().map(|run| run - built_in).collect();
    report.info(&format!("{label}, p50"), quantile(&mut calls, 0.5), "ms");
    report.info(&format!("{label}, p99"), quantile(&mut calls, 0.99), "ms");
    host.stop();
    Ok(())
}

/// The memory of an engine before, with and after calls of the tool.
async fn measure_memory(host: BenchHost, report: &mut Report) -> anyhow::Result<()> {
    let label = "memory of rouse serve with a JavaScript tool";
    if !cfg!(target_os = "linux") {
        report.note(label, "not measured on this system".to_owned());
        host.stop();
        return Ok(());
    }
    let mut host = host.restart().await?;
    let built_in = host.add_call_job(BUILT_IN_TOOL).await?;
    let tool = host.add_call_job(TOOL).await?;
    run_many(&mut host, &built_in, MEMORY_CALLS).await?;
    wait(REST).await;
    let before = proportional_mb(host.pid())?;
    report.info(&format!("{label}, at rest before the first call"), before, "MB PSS");
    run_many(&mut host, &built_in, MEMORY_CALLS).await?;
    let busy = proportional_mb(host.pid())?;
    report.info(&format!("{label}, after 25 calls of a built-in tool"), busy, "MB PSS");
    run_many(&mut host, &tool, MEMORY_CALLS).await?;
    let after = proportional_mb(host.pid())?;
    report.info(&format!("{label}, after 25 calls"), after, "MB PSS");
    wait(REST).await;
    let at_rest = proportional_mb(host.pid())?;
    report.info(&format!("{label}, at rest after the calls"), at_rest, "MB PSS");
    let label = format!("{label}, at rest, above the time before the first call");
    report.at_most(&label, at_rest - before, 1.0, "MB PSS");
    host.stop();
    Ok(())
}

/// The milliseconds of each run.
async fn run_many(host: &mut BenchHost, job: &str, count: usize) -> anyhow::Result<Vec<f64>> {
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        samples.push(run_millis(host, job).await?);
    }
    Ok(samples)
}

async fn run_millis(host: &mut BenchHost, job: &str) -> anyhow::Result<f64> {
    let run = host.run(job).await?;
    Ok(millis_of(run.ended - run.started))
}
