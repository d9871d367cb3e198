//! The tokens of a small job's first request, with many installed tools of which the job names two.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use rouse_testkit::fake_model::sse;
use serde_json::{Value, json};

use super::http_double::{HttpDouble, TOOLS};
use super::install;
use crate::agents::bench_host::BenchHost;
use crate::agents::model_server::{ModelServer, ServerReply};
use crate::report::Report;

const SERVERS: usize = 5;
/// The tools that the job names.
const NAMED: [&str; 2] = ["server0_tool_0", "server1_tool_1"];
/// The estimate that Rouse uses too.
const BYTES_PER_TOKEN: usize = 4;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let bodies: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = Arc::clone(&bodies);
    let model = ModelServer::start(move |body| {
        record.lock().unwrap_or_else(PoisonError::into_inner).push(body.to_owned());
        let arguments = json!({ "outcome": "report", "summary": "All is well." });
        let events = sse::chat_calls("call_1", "complete_run", &arguments);
        ServerReply { delay: Duration::ZERO, events }
    })?;
    let server = HttpDouble::start()?;
    let mut host = BenchHost::start(&model, "").await?;
    for number in 0..SERVERS {
        install(host.client(), &format!("server{number}"), server.definition()).await?;
    }
    let job = host
        .add_job(json!({
            "name": "Two tools",
            "schedule": { "kind": "manual" },
            "payload": {
                "kind": "agentTurn", "message": "Look at the registers.",
                "servers": ["server0", "server1"], "tools": NAMED,
            },
        }))
        .await?;
    host.run(&job).await?;
    host.stop();
    let first = bodies.lock().unwrap_or_else(PoisonError::into_inner).first().cloned();
    let request: Value = serde_json::from_str(&first.context("the model was not called")?)?;
    let tools = request["tools"].as_array().context("tools")?;
    let is_named = |tool: &&Value| NAMED.iter().any(|name| tool["function"]["name"] == *name);
    let named: Vec<&Value> = tools.iter().filter(is_named).collect();
    anyhow::ensure!(named.len() == NAMED.len(), "the request has {} of the two tools", named.len());
    let is_of_server = |tool: &&Value| {
        tool["function"]["name"].as_str().is_some_and(|name| name.starts_with("server"))
    };
    let offered = tools.iter().filter(is_of_server).count();
    anyhow::ensure!(offered == NAMED.len(), "the request has {offered} tools of servers");
    let named: usize = named.iter().map(|tool| tool.to_string().len()).sum();
    let rest = request.to_string().len() - named;
    let all = SERVERS * TOOLS;
    report.at_most(
        &format!("first request of a small job with {all} installed tools of servers, without the two named"),
        tokens(rest),
        2_000.0,
        "tokens",
    );
    report.info("the two named tools in that request", tokens(named), "tokens");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn tokens(bytes: usize) -> f64 {
    bytes as f64 / BYTES_PER_TOKEN as f64
}
