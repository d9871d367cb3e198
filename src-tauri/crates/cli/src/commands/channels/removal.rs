//! `rouse channels remove`: a channel with its secrets, in jobs, default channels and settings.
//!
//! Changes the jobs first: after an error the channel still works. Removes only secrets that `rouse channels add` names;
//! a secret with another name may belong to another channel. Pitfall: a job that names the channel by its kind.

use rouse_core::text::escape_line;
use rouse_gateway::wire::{ChannelView, ChannelsListResult};
use serde_json::{Map, Value, json};

use super::default_channels::{lists_without, remaining};
use super::kind_setup::secret_names;
use super::secret_storage::remove_existing;
use super::{find_channel, list_channels};
use crate::commands::extensions::{ask_line, is_interactive};
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::list_jobs;
use crate::resolve::keyboard::is_confirmed;
use crate::resolve::settings::patch_settings;

/// Everything that names a channel.
struct ChannelUses {
    /// The jobs, each with its change.
    jobs: Vec<JobChange>,
    /// The change of the default channels.
    defaults: Map<String, Value>,
}

/// The change of a job that names a channel.
struct JobChange {
    name: String,
    /// The parameters of `cron.update`.
    params: Value,
}

/// Removes a channel after a confirmation, because its secrets cannot be restored.
pub(super) async fn remove_channel(
    name: &str,
    yes: bool,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    let list = list_channels(engine).await?;
    let channel = find_channel(&list, name)?;
    let uses = find_uses(&list, channel, engine).await?;
    if !yes && !is_interactive(engine) {
        return Err(CliError::Refused(format!(
            "The secrets of {name} cannot be restored. To remove the channel: rouse channels remove {name} --yes"
        )));
    }
    if !yes {
        let lines = uses.lines();
        if !lines.is_empty() {
            anstream::eprintln!("{name} is used in:\n{}", lines.join("\n"));
        }
        let prompt = format!("Remove {name} there, and its settings and secrets? [y/N] ");
        if !is_confirmed(&ask_line(&prompt).await?) {
            anstream::eprintln!("Nothing was removed.");
            return Ok(());
        }
    }
    for recipient in channel.recipients.iter().filter(|recipient| recipient.is_paired) {
        let params = json!({ "name": name, "address": recipient.address });
        engine.call("channels.unpair", params).await?;
    }
    let cleanups = remove(name, &uses, engine).await?;
    if engine.json {
        let jobs: Vec<&str> = uses.jobs.iter().map(|job| job.name.as_str()).collect();
        let answer = json!({
            "removed": name,
            "jobs": jobs,
            "defaults": uses.defaults,
            "manualCleanup": cleanups,
        });
        anstream::println!("{}", serde_json::to_string_pretty(&answer)?);
        return Ok(());
    }
    match uses.lines().as_slice() {
        [] => anstream::println!("Removed {name}."),
        lines => anstream::println!("Removed {name}, also from:\n{}", lines.join("\n")),
    }
    cleanups.iter().for_each(|cleanup| anstream::println!("{}", escape(cleanup)));
    Ok(())
}

/// Removes the channel from jobs and settings, then its secrets. Returns what the person must delete, as sentences.
async fn remove(
    name: &str,
    uses: &ChannelUses,
    engine: &EngineConnection,
) -> Result<Vec<String>, CliError> {
    for job in &uses.jobs {
        engine.call("cron.update", job.params.clone()).await?;
    }
    let mut patch = uses.defaults.clone();
    patch.insert("channels".to_owned(), json!({ name: null }));
    patch_settings(engine, Value::Object(patch)).await?;
    remove_existing(&secret_names(name), engine).await
}

impl ChannelUses {
    /// The jobs and settings that name the channel, as lines.
    fn lines(&self) -> Vec<String> {
        let jobs: Vec<String> = self.jobs.iter().map(|job| escape_line(&job.name)).collect();
        let settings: Vec<&str> = self.defaults.keys().map(String::as_str).collect();
        let line =
            |what: &str, names: String| (!names.is_empty()).then(|| format!("  {what}: {names}"));
        let lines = [line("jobs", jobs.join(", ")), line("settings", settings.join(", "))];
        lines.into_iter().flatten().collect()
    }
}

async fn find_uses(
    list: &ChannelsListResult,
    channel: &ChannelView,
    engine: &EngineConnection,
) -> Result<ChannelUses, CliError> {
    let names = names_of(list, channel);
    let is_target = |target: &str| is_target_of(target, &names);
    let jobs = list_jobs(engine, true, None, usize::MAX).await?;
    let jobs = jobs["jobs"].as_array().into_iter().flatten().map(|view| &view["job"]);
    let jobs = jobs.filter_map(|job| job_change(job, is_target)).collect();
    Ok(ChannelUses { jobs, defaults: lists_without(list, is_target) })
}

/// The names of a channel in jobs and settings: its own, and the kind if no other channel has it.
pub(super) fn names_of<'c>(list: &ChannelsListResult, channel: &'c ChannelView) -> Vec<&'c str> {
    let kind = channel.kind;
    let is_other = |other: &ChannelView| {
        other.name != channel.name && (other.kind == kind || other.name == kind.name())
    };
    let mut names = vec![channel.name.as_str()];
    names.extend((!list.channels.iter().any(is_other)).then(|| kind.name()));
    names
}

/// Whether `NAME` or `NAME:RECIPIENT` has one of the names.
pub(super) fn is_target_of(target: &str, names: &[&str]) -> bool {
    let name = target.split_once(':').map_or(target, |(name, _)| name);
    names.contains(&name)
}

/// The change that takes a channel out of a job; none if the job does not name the channel.
fn job_change(job: &Value, is_target: impl Fn(&str) -> bool) -> Option<JobChange> {
    let mut patch = Map::new();
    if job["payload"]["channel"].as_str().is_some_and(&is_target) {
        patch.insert("payload".to_owned(), json!({ "channel": null, "to": null }));
    }
    let targets = job["policies"]["deliverTo"].as_array().into_iter().flatten();
    let targets: Vec<String> = targets.filter_map(Value::as_str).map(str::to_owned).collect();
    if targets.iter().any(|target| is_target(target)) {
        let rest = remaining(&targets, &is_target);
        patch.insert("policies".to_owned(), json!({ "deliverTo": rest }));
    }
    let params = json!({
        "id": job["id"],
        "patch": patch,
        "expectedRevision": job["state"]["revision"],
    });
    let name = job["name"].as_str().unwrap_or_default().to_owned();
    (!patch.is_empty()).then_some(JobChange { name, params })
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::{ChannelDetails, ChannelKind, MessageRoutes, WrittenDefaults};

    use super::*;

    fn channel(name: &str, kind: ChannelKind) -> ChannelView {
        ChannelView {
            name: name.to_owned(),
            kind,
            label: kind.label().to_owned(),
            details: ChannelDetails::Full,
            recipients: Vec::new(),
            problem: None,
            receiving: None,
            newest_failure: None,
            last_delivered_at_ms: None,
        }
    }

    fn list(channels: Vec<ChannelView>) -> ChannelsListResult {
        ChannelsListResult {
            channels,
            deliver_to: MessageRoutes::default(),
            written: WrittenDefaults::default(),
            last: "notification".to_owned(),
            is_headless: false,
        }
    }

    #[test]
    fn kind_names_only_a_single_channel() {
        let (phone, team) =
            (channel("phone", ChannelKind::Telegram), channel("team", ChannelKind::Slack));
        let single = list(vec![phone.clone(), team.clone()]);
        assert_eq!(names_of(&single, &single.channels[0]), ["phone", "telegram"]);
        let two = list(vec![phone, team, channel("work", ChannelKind::Telegram)]);
        assert_eq!(names_of(&two, &two.channels[0]), ["phone"]);
    }

    #[test]
    fn job_loses_only_the_removed_channel() {
        let is_target = |target: &str| is_target_of(target, &["phone", "telegram"]);
        let change = |payload: Value, targets: Value| {
            let job = json!({
                "id": "j", "name": "Tea", "state": { "revision": 3 },
                "payload": payload, "policies": { "deliverTo": targets },
            });
            job_change(&job, is_target).map(|change| change.params["patch"].clone())
        };
        let turn = json!({ "kind": "agentTurn", "channel": "telegram", "to": "7" });
        let both = change(turn, json!(["mail", "phone:7"])).expect("a change");
        let payload = json!({ "channel": null, "to": null });
        assert_eq!(both, json!({ "payload": payload, "policies": { "deliverTo": ["mail"] } }));
        let only = change(Value::Null, json!(["phone"])).expect("a change");
        assert_eq!(only, json!({ "policies": { "deliverTo": null } }));
        let last = json!({ "kind": "agentTurn", "channel": "last" });
        assert_eq!(change(last, json!(["phones"])), None);
    }
}
