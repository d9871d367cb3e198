//! The overhead of a call through a server: the time of a run with the call, without the time of a run with a built-in
//! tool and without the time of the bare server.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use rouse_testkit::fake_model::sse;
use rouse_tests::program_path;
use serde_json::{Value, json};

use super::http_double::HttpDouble;
use super::install;
use crate::agents::bench_host::BenchHost;
use crate::agents::model_server::{ModelServer, ServerReply};
use crate::report::{Report, millis_of, quantile};
use crate::scheduling::timed;

/// Servers of each kind, because a tool has a rate limit.
const SERVERS: usize = 4;
/// The calls of each tool, below the rate limit.
const CALLS: usize = 50;

const BUILT_IN_TOOL: &str = "echo";

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let double = program_path("ROUSE_MCP_DOUBLE", "mcp-double");
    anyhow::ensure!(double.exists(), "{} is missing; run `cargo xtask bench`", double.display());
    let http = HttpDouble::start()?;
    // The runs have no model; an engine needs one to be ready.
    let model = ModelServer::start(|_| ServerReply {
        delay: Duration::ZERO,
        events: sse::chat_says("Nothing."),
    })?;
    let mut host = BenchHost::start(&model, "").await?;
    let built_in = quantile(&mut measure_runs(&mut host, BUILT_IN_TOOL).await?, 0.5);
    report.info("baseline: run with one call of a built-in tool, p50", built_in, "ms");

    let stdio = json!({ "transport": {
        "kind": "stdio", "command": double, "arguments": ["--stdio"], "isUnconfined": true,
    } });
    let bare = quantile(&mut measure_bare_stdio(&double)?, 0.5);
    report.info("baseline: one call of the bare server over stdio, p50", bare, "ms");
    let runs = measure_servers(&mut host, "stdio", &stdio, "echo").await?;
    report_overhead(report, "stdio", runs, built_in + bare);

    let bare = quantile(&mut measure_bare_http(http.address)?, 0.5);
    report.info("baseline: one call of the bare server over HTTP, p50", bare, "ms");
    let runs = measure_servers(&mut host, "http", &http.definition(), "tool_0").await?;
    report_overhead(report, "HTTP", runs, built_in + bare);
    host.stop();
    Ok(())
}

fn report_overhead(report: &mut Report, way: &str, runs: Vec<f64>, baseline: f64) {
    let mut overheads: Vec<f64> = runs.into_iter().map(|run| run - baseline).collect();
    let label =
        format!("call of a server's tool over {way}, above the built-in tool and the bare server");
    report.info(&format!("{label}, p50"), quantile(&mut overheads, 0.5), "ms");
    report.info(&format!("{label}, p99"), quantile(&mut overheads, 0.99), "ms");
}

/// The milliseconds of runs with one call of `tool`, over several servers of one definition.
async fn measure_servers(
    host: &mut BenchHost,
    prefix: &str,
    server: &Value,
    tool: &str,
) -> anyhow::Result<Vec<f64>> {
    let mut all = Vec::with_capacity(SERVERS * CALLS);
    for number in 0..SERVERS {
        let name = format!("{prefix}{number}");
        install(host.client(), &name, server.clone()).await?;
        all.extend(measure_runs(host, &format!("{name}_{tool}")).await?);
    }
    Ok(all)
}

/// The milliseconds of runs with one call of `tool`. The first run is a warm-up.
async fn measure_runs(host: &mut BenchHost, tool: &str) -> anyhow::Result<Vec<f64>> {
    let job = host.add_call_job(tool).await?;
    let mut samples = Vec::with_capacity(CALLS);
    for number in 0..=CALLS {
        let run = host.run(&job).await?;
        if number > 0 {
            samples.push(millis_of(run.ended - run.started));
        }
    }
    Ok(samples)
}

/// The milliseconds of calls that go to the server without Rouse.
fn measure_bare_stdio(double: &Path) -> anyhow::Result<Vec<f64>> {
    let mut process = Command::new(double)
        .arg("--stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the server double starts")?;
    let mut input = process.stdin.take().context("a pipe")?;
    let mut output = BufReader::new(process.stdout.take().context("a pipe")?);
    let start = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    });
    exchange_line(&mut input, &mut output, &request("initialize", start))?;
    let call = request("tools/call", json!({ "name": "echo", "arguments": { "text": "x" } }));
    let mut samples = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let (answer, elapsed) = timed(|| exchange_line(&mut input, &mut output, &call));
        anyhow::ensure!(answer?.contains("result"), "the server double refused a call");
        samples.push(millis_of(elapsed));
    }
    // The end of the input ends the server.
    drop(input);
    process.wait()?;
    Ok(samples)
}

fn exchange_line(
    input: &mut ChildStdin,
    output: &mut BufReader<ChildStdout>,
    message: &Value,
) -> io::Result<String> {
    writeln!(input, "{message}")?;
    let mut line = String::new();
    output.read_line(&mut line)?;
    Ok(line)
}

/// The milliseconds of calls over a new connection each.
fn measure_bare_http(address: SocketAddr) -> anyhow::Result<Vec<f64>> {
    let body = request("tools/call", json!({ "name": "tool_0", "arguments": { "text": "x" } }));
    let body = body.to_string();
    let message = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut samples = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let (answer, elapsed) = timed(|| -> io::Result<String> {
            let mut stream = TcpStream::connect(address)?;
            stream.write_all(message.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        });
        anyhow::ensure!(answer?.contains("result"), "the server double refused a call");
        samples.push(millis_of(elapsed));
    }
    Ok(samples)
}

fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
