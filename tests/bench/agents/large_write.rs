//! `write_file` with a long text: the approval card (diff and leak scan), and the write after the approval.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rouse_gateway::wire::EventKindView;
use rouse_testkit::fake_model::sse;
use serde_json::json;

use super::bench_host::BenchHost;
use super::model_server::{ModelServer, ServerReply};
use crate::report::{Report, millis_of, quantile};

const LONG: usize = 500_000;
const ROUNDS: usize = 5;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    for (label, changed) in [("every tenth line changed", 10), ("every line changed", 1)] {
        let long = measure_length(LONG, changed).await?;
        let half = measure_length(LONG / 2, changed).await?;
        report.info(
            &format!("write_file of 500,000 characters, {label}: until the approval card"),
            long.card,
            "ms",
        );
        report.info("the same, from the approval to the end of the run", long.write, "ms");
        report.info(
            &format!("write_file of 250,000 characters, {label}: both"),
            half.card + half.write,
            "ms",
        );
        let ratio = (long.card + long.write) / (half.card + half.write);
        report.at_most("500,000 characters, relative to 250,000", ratio, 2.5, "times");
    }
    Ok(())
}

/// Median milliseconds.
struct WriteTimes {
    card: f64,
    write: f64,
}

async fn measure_length(length: usize, changed: usize) -> anyhow::Result<WriteTimes> {
    let (old, new) = (text(length, usize::MAX), text(length, changed));
    let content = new.clone();
    let server = ModelServer::start(move |body| {
        let arguments = json!({ "path": "long.txt", "content": content });
        let task = body.rfind("[cron:").unwrap_or_default();
        let events = if body[task..].contains("\"role\":\"tool\"") {
            sse::chat_calls(
                "call_2",
                "complete_run",
                &json!({ "outcome": "report", "summary": "Written." }),
            )
        } else {
            sse::chat_calls("call_1", "write_file", &arguments)
        };
        ServerReply { delay: Duration::ZERO, events }
    })?;
    let mut host = BenchHost::start(&server, "").await?;
    let file = host.folder.path().join("workspace").join("long.txt");
    let (mut cards, mut writes) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        std::fs::create_dir_all(host.folder.path().join("workspace"))?;
        std::fs::write(&file, &old)?;
        // A new job per round, because a growing transcript would be measured too.
        let job = host.add_agent_job(&format!("Write {round}")).await?;
        host.start_run(&job).await?;
        let (id, requested) = approval_request(&mut host).await?;
        let answered = server.take()[0].answered;
        cards.push(millis_of(requested - answered));
        #[expect(clippy::disallowed_methods, reason = "a bench measures")]
        let started = Instant::now();
        let decision = json!({ "id": id, "decision": { "kind": "once" }, "from": "page" });
        host.call("approvals.decide", decision).await?;
        let ended = host.wait_for_state(&job, "succeeded").await?;
        writes.push(millis_of(ended - started));
        anyhow::ensure!(std::fs::read_to_string(&file)? == new, "the file was not written");
        server.take();
    }
    host.stop();
    Ok(WriteTimes { card: quantile(&mut cards, 0.5), write: quantile(&mut writes, 0.5) })
}

/// The id of the next approval request, and the time of its event.
async fn approval_request(host: &mut BenchHost) -> anyhow::Result<(String, Instant)> {
    loop {
        let (event, at) = host.next_event().await?;
        anyhow::ensure!(event.data["state"] != "failed", "a run failed: {}", event.data);
        let id = event.data["approvalId"].as_str().unwrap_or_default();
        if event.kind == EventKindView::Approval && event.data["state"] == "pending" {
            return Ok((id.to_owned(), at));
        }
    }
}

/// Lines of about fifty characters; every `changed`-th line differs.
fn text(length: usize, changed: usize) -> String {
    let mut text = String::with_capacity(length + 100);
    let mut number = 0;
    while text.len() < length {
        number += 1;
        let verb = if number % changed == 0 { "rewrote" } else { "read" };
        writeln!(text, "On day {number} the agent {verb} note {} again.", number * 7919 % 10_007)
            .expect("BUG: writing to a string failed");
    }
    text.truncate(length);
    text
}
