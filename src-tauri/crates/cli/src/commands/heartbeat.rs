//! `rouse heartbeat …`.

use clap::Subcommand;
use rouse_gateway::wire::HeartbeatStatus;
use serde_json::{Value, json};

use crate::render::heartbeat::interval_text;
use crate::render::text::{escape, shorten};
use crate::render::time::{local_time, local_time_with_distance};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// Show the next turn, and why the last turn was skipped
    #[default]
    Status,
    /// Enable the heartbeat
    On,
    /// Disable the heartbeat
    Off,
    /// Trust HEARTBEAT.md again after a change during an agent's run
    Trust {
        /// Digest of the reviewed content, from `rouse heartbeat` [default: the present content]
        #[arg(long)]
        digest: Option<String>,
    },
}

pub(crate) async fn run(command: &Command, engine: &EngineConnection) -> Result<(), CliError> {
    let answer = match command {
        Command::Status => engine.call("heartbeat.status", json!({})).await?,
        Command::On => engine.call("set-heartbeats", json!({ "enabled": true })).await?,
        Command::Off => engine.call("set-heartbeats", json!({ "enabled": false })).await?,
        Command::Trust { digest } => trust(digest.clone(), engine).await?,
    };
    let requester = requesting_job(engine, &answer["lastRequest"]["reason"]).await;
    engine.print_answer(answer, |engine, status| print_status(engine, status, requester.as_deref()))
}

async fn trust(digest: Option<String>, engine: &EngineConnection) -> Result<Value, CliError> {
    let digest = match digest {
        Some(digest) => Some(digest),
        None => {
            let status: HeartbeatStatus = engine.fetch("heartbeat.status", json!({})).await?;
            status.untrusted_list.map(|list| list.digest)
        }
    };
    if let Some(digest) = digest {
        return engine.call("heartbeat.trust", json!({ "digest": digest })).await;
    }
    if !engine.json {
        anstream::println!("Nothing to trust: HEARTBEAT.md is trusted already.");
    }
    engine.call("heartbeat.status", json!({})).await
}

/// The name of the job that requested a turn: the reason of such a request is the job's lane.
async fn requesting_job(engine: &EngineConnection, reason: &Value) -> Option<String> {
    // With --json the reason stays unchanged.
    let id = reason.as_str().filter(|_| !engine.json)?.strip_prefix("cron:")?;
    let job = engine.call("cron.get", json!({ "id": id })).await.ok()?;
    job["job"]["name"].as_str().map(str::to_owned)
}

fn print_status(engine: &EngineConnection, status: HeartbeatStatus, requester: Option<&str>) {
    anstream::println!("{}", interval_text(&status));
    if let Some(at) = status.next_at_ms {
        anstream::println!("Next turn {}", local_time_with_distance(engine, at));
    }
    if let Some(reason) = status.last_skip_reason {
        let turn = if status.next_at_ms.is_some() { "Last turn skipped" } else { "No next turn" };
        anstream::println!("{turn}: {reason}");
    } else if let Some(skip) = status.last_skip {
        let at = local_time(engine, skip.at_ms);
        anstream::println!("Last skip {at}: {}", escape(&skip.reason));
    }
    match status.queued_events {
        0 => {}
        1 => anstream::println!("1 system event is queued for the main session"),
        count => anstream::println!("{count} system events are queued for the main session"),
    }
    if let Some(reason) = status.pending {
        anstream::println!("A turn is requested. {reason}.");
    }
    if let Some(request) = status.last_request {
        let at = local_time(engine, request.at_ms);
        let reason = requester.map_or(request.reason, |job| format!("by the job {job}"));
        anstream::println!("Last request {at}: {}", shorten(&reason, 200));
    }
    if let Some(list) = status.untrusted_list {
        anstream::println!(
            "{}. The model reads HEARTBEAT.md as untrusted input, not as instructions. Its content:",
            escape(&list.changed_by)
        );
        for line in list.text.lines() {
            anstream::println!("  {}", escape(line));
        }
        anstream::println!(
            "If the content is yours: rouse heartbeat trust --digest {}. Otherwise change the file.",
            list.digest
        );
    }
}
