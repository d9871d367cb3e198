//! `rouse heartbeat …`.

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_core::schedule::format_duration;
use rouse_gateway::wire::{HeartbeatStatus, RunTrigger, RunsListResult};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{instant, plain, relative, short};
use crate::runs;
use crate::session::Session;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// The next beat, and why the last one did nothing.
    #[default]
    Status,
    /// Switch the periodic turn on.
    On,
    /// Switch the periodic turn off.
    Off,
    /// Take HEARTBEAT.md for your own words again, after you have looked at it: an agent was at work when it changed.
    Trust {
        /// The content that you have looked at, as `rouse heartbeat` names it; what stands there now when it is left out.
        #[arg(long)]
        digest: Option<String>,
    },
}

pub(crate) async fn run(command: &Command, session: &Session) -> Result<(), Failure> {
    let (method, params) = match command {
        Command::Status => ("heartbeat.status", json!({})),
        Command::On => ("set-heartbeats", json!({ "enabled": true })),
        Command::Off => ("set-heartbeats", json!({ "enabled": false })),
        Command::Trust { digest } => {
            let shown = match digest {
                Some(digest) => Some(digest.clone()),
                None => changed(session).await?,
            };
            match shown {
                Some(digest) => ("heartbeat.trust", json!({ "digest": digest })),
                // It is the person's already.
                None => {
                    if !session.json {
                        anstream::println!("Nothing to trust: HEARTBEAT.md is yours already.");
                    }
                    ("heartbeat.status", json!({}))
                }
            }
        }
    };
    let answer = session.call(method, params).await?;
    let asked_by = job_behind(session, &answer["lastRequest"]["reason"]).await;
    session.tell(answer, |session, status| {
        print(session, status, asked_by.as_deref());
        Ok(())
    })
}

/// The name of the job that asked for a turn: the reason of one that did is its lane.
async fn job_behind(session: &Session, reason: &Value) -> Option<String> {
    // Programs get the reason as it is.
    let id = reason.as_str().filter(|_| !session.json)?.strip_prefix("cron:")?;
    let job = session.call("cron.get", json!({ "id": id })).await.ok()?;
    job["job"]["name"].as_str().map(str::to_owned)
}

/// The content of a list that nobody has looked at.
async fn changed(session: &Session) -> Result<Option<String>, Failure> {
    let status: HeartbeatStatus =
        serde_json::from_value(session.call("heartbeat.status", json!({})).await?)?;
    Ok(status.changed_list.map(|list| list.digest))
}

/// The heartbeat in one line, as a list of what fires ends with it.
pub(crate) async fn line(session: &Session, status: &HeartbeatStatus) -> Result<String, Failure> {
    if !status.enabled {
        return Ok(rhythm(status));
    }
    let now = session.clock.now().0;
    let next = status.next_at_ms.map(|at| {
        format!("next {} ({})", instant(at, now, session.clock.zone()), relative(at, now))
    });
    let last = match &status.last_skip_reason {
        // Where none comes, this is why.
        Some(reason) if next.is_none() => Some(format!("none now: {}", short(reason, 80))),
        Some(reason) => Some(format!("last: {}", short(reason, 80))),
        None => last_beat(session).await?,
    };
    let parts: Vec<String> = [Some(rhythm(status)), next, last].into_iter().flatten().collect();
    Ok(parts.join(" \u{b7} "))
}

/// How the newest beat that ran ended; nothing where none has run.
async fn last_beat(session: &Session) -> Result<Option<String>, Failure> {
    let params = json!({ "triggers": [RunTrigger::Heartbeat], "limit": 1 });
    let found: RunsListResult = serde_json::from_value(session.call("runs.list", params).await?)?;
    Ok(found.runs.first().map(|run| format!("last: {}", runs::state(run.state))))
}

/// `Heartbeat on · every 30 min · 08:00–22:00`.
fn rhythm(status: &HeartbeatStatus) -> String {
    let switch = if status.enabled { "on" } else { "off" };
    let hours = status.active_hours.as_ref().map(|hours| format!(" \u{b7} {hours}"));
    let every = format_duration(status.every_ms);
    format!("Heartbeat {switch} \u{b7} every {every}{}", hours.unwrap_or_default())
}

fn print(session: &Session, status: HeartbeatStatus, asked_by: Option<&str>) {
    let now = session.clock.now().0;
    anstream::println!("{}", rhythm(&status));
    if let Some(at) = status.next_at_ms {
        anstream::println!(
            "Next beat {} ({})",
            instant(at, now, session.clock.zone()),
            relative(at, now)
        );
    }
    if let Some(reason) = status.last_skip_reason {
        let which = if status.next_at_ms.is_some() { "Last beat did nothing" } else { "No beat" };
        anstream::println!("{which}: {reason}");
    } else if let Some(skip) = status.last_skip {
        let (at, reason) = (instant(skip.at_ms, now, session.clock.zone()), plain(&skip.reason));
        anstream::println!("Last left out {at}: {reason}");
    }
    if status.queued_events > 0 {
        let lines = match status.queued_events {
            1 => "1 line waits".to_owned(),
            count => format!("{count} lines wait"),
        };
        anstream::println!("{lines} for the main session");
    }
    if let Some(reason) = status.pending {
        anstream::println!("A turn was asked for. {reason}.");
    }
    if let Some(asked) = status.last_request {
        let at = instant(asked.at_ms, now, session.clock.zone());
        let reason = asked_by.map_or(asked.reason, |job| format!("by the job {job}"));
        anstream::println!("Last asked for {at}: {}", short(&reason, 200));
    }
    if let Some(list) = status.changed_list {
        anstream::println!(
            "{}. It counts as information and not as your instruction. It says:",
            plain(&list.why)
        );
        for line in list.text.lines() {
            anstream::println!("  {}", plain(line));
        }
        anstream::println!(
            "Yours? rouse heartbeat trust --digest {}. Otherwise change the file.",
            list.digest
        );
    }
}
