//! `rouse heartbeat …`.

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_core::schedule::format_duration;
use rouse_gateway::wire::HeartbeatStatus;
use serde_json::json;

use crate::exit::Failure;
use crate::output::{instant, plain, relative};
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
                None => ("heartbeat.status", json!({})),
            }
        }
    };
    session.show(method, params, print).await
}

/// The content of a list that nobody has looked at.
async fn changed(session: &Session) -> Result<Option<String>, Failure> {
    let status: HeartbeatStatus =
        serde_json::from_value(session.call("heartbeat.status", json!({})).await?)?;
    Ok(status.changed_list.map(|list| list.digest))
}

fn print(session: &Session, status: HeartbeatStatus) -> Result<(), Failure> {
    let now = session.clock.now().0;
    let every = format_duration(status.every_ms);
    let hours = status.active_hours.map(|hours| format!(" · {hours}")).unwrap_or_default();
    let switch = if status.enabled { "on" } else { "off" };
    anstream::println!("Heartbeat {switch} · every {every}{hours}");
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
    Ok(())
}
