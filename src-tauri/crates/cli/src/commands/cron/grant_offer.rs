//! The offer of `rouse cron add` to grant the hosts and folders that a message names.
//!
//! Owns the only confirmation. Without a terminal, prints names and flags.

use std::io::{IsTerminal as _, Write as _, stderr, stdin};

use clap::ValueEnum;
use rouse_gateway::wire::{CronCheckResult, GrantOffers};
use serde_json::{Value, json};

use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::{is_confirmed, read_line};

/// The handling of hosts and folders that a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamedGrantsChoice {
    /// Grants hosts to reach and folders to read.
    Allow,
    /// Grants nothing.
    Skip,
}

/// Adds the named hosts and folders to the grants of `job` if the user agrees.
pub(super) async fn offer_named_grants(
    job: &mut Value,
    choice: Option<NamedGrantsChoice>,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    if choice == Some(NamedGrantsChoice::Skip) || job["payload"]["kind"] != "agentTurn" {
        return Ok(());
    }
    // Saving reports the problems of the job.
    let Ok(checked) = engine.call("cron.check", json!({ "job": job })).await else {
        return Ok(());
    };
    let CronCheckResult { offers, .. } = serde_json::from_value(checked)?;
    let Some(offers) = offers else { return Ok(()) };
    let is_interactive = !engine.json && stdin().is_terminal();
    let is_allowed = match choice {
        Some(choice) => choice == NamedGrantsChoice::Allow,
        None if is_interactive => confirm(&offers).await?,
        None => false,
    };
    if is_allowed {
        add_policy_entries(job, "hosts", offers.hosts);
        add_policy_entries(job, "folders", offers.folders);
    } else if choice.is_none() && !is_interactive && !engine.json {
        let (names, flags) = (names_text(&offers), grant_flags(&offers));
        anstream::eprintln!("{names} Not granted; to grant them: {flags}");
    }
    Ok(())
}

async fn confirm(offers: &GrantOffers) -> Result<bool, CliError> {
    anstream::eprint!("{} {} grant [y] / skip [n]: ", names_text(offers), question(offers));
    // An unflushed prompt appears with the next line.
    let _ = stderr().flush();
    Ok(is_confirmed(&read_line().await?))
}

fn names_text(offers: &GrantOffers) -> String {
    let names: Vec<&str> = offers.hosts.iter().chain(&offers.folders).map(String::as_str).collect();
    format!("This job names {}.", escape(&names.join(", ")))
}

fn question(offers: &GrantOffers) -> &'static str {
    match (offers.hosts.is_empty(), offers.folders.is_empty()) {
        (false, true) => "Allow commands and requests of the job to reach only these hosts?",
        (true, _) => "Allow the job to read these folders?",
        (false, false) => "Allow the job to reach only these hosts and to read these folders?",
    }
}

/// The flags that grant the same hosts and folders.
fn grant_flags(offers: &GrantOffers) -> String {
    let hosts = Some(offers.hosts.join(",")).filter(|hosts| !hosts.is_empty());
    let hosts = hosts.map(|hosts| format!("--hosts {hosts}"));
    let folders = offers.folders.iter().map(|folder| {
        if folder.contains(' ') {
            format!("--folder '{folder}'")
        } else {
            format!("--folder {folder}")
        }
    });
    escape(&hosts.into_iter().chain(folders).collect::<Vec<_>>().join(" "))
}

fn add_policy_entries(job: &mut Value, key: &str, entries: Vec<String>) {
    if entries.is_empty() {
        return;
    }
    if !job["policies"].is_object() {
        job["policies"] = json!({});
    }
    let present = job["policies"][key].as_array().cloned().unwrap_or_default();
    job["policies"][key] =
        present.into_iter().chain(entries.into_iter().map(Value::from)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offer_lists_names_and_flags() {
        let offers = GrantOffers {
            hosts: vec!["a.example".to_owned(), "b.example".to_owned()],
            folders: vec!["~/Notes".to_owned(), "~/My Notes".to_owned()],
        };
        assert_eq!(
            names_text(&offers),
            "This job names a.example, b.example, ~/Notes, ~/My Notes."
        );
        let expected = "--hosts a.example,b.example --folder ~/Notes --folder '~/My Notes'";
        assert_eq!(grant_flags(&offers), expected);
    }

    #[test]
    fn allowed_entries_extend_the_policies() {
        let mut job = json!({ "policies": { "folders": ["~/a"] } });
        add_policy_entries(&mut job, "folders", vec!["~/b".to_owned()]);
        add_policy_entries(&mut job, "hosts", Vec::new());
        assert_eq!(job, json!({ "policies": { "folders": ["~/a", "~/b"] } }));
    }
}
