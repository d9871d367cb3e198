//! `rouse config …`: the settings of the engine that runs, read and changed as the settings page does it.
//!
//! Keys are those of the file. A value is written as a person says it (`30m`, `22:00-07:00`, `none`) and becomes what the
//! gateway takes; what is wrong with it the gateway says, by key. It also tells what is wrong with the file itself, and
//! when it was changed by hand since the engine read it. One could get it wrong by laying new hours over old ones: the
//! nights and the zone of those before would stay.

use std::fs;

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_core::near::nearest;
use rouse_core::schedule::format_duration;
use rouse_core::stable_hash::stable_hash;
use rouse_gateway::ClientError;
use rouse_gateway::wire::ConfigView;
use rouse_host::{ConfigFile, OfMachine, is_setting, setting_meant};
use serde_json::{Map, Value, json};

use crate::cron::replacing;
use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show all settings, or one: `rouse config get cron.enabled`.
    Get {
        /// Which one, as `rouse config get` shows it; a part of its name shows all below it (`heartbeat`).
        key: Option<String>,
    },
    /// Change a setting: `rouse config set cron.enabled false`.
    #[command(after_help = EXAMPLES)]
    Set {
        /// Which one, as `rouse config get` shows it.
        key: String,
        /// The new value; `none` for the default. Durations as `30m` or `1h30m`, hours as `22:00-07:00`, yes or no as
        /// `true` or `false`, lists with commas.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::Get { key: None }
    }
}

const EXAMPLES: &str = "\
Examples:
  rouse config set heartbeat.every 45m
  rouse config set heartbeat.activeHours 08:00-20:00
  rouse config set heartbeat.activeHours.tz Europe/Berlin
  rouse config set quietHours 22:00-07:00
  rouse config set quietHours.days fri,sat
  rouse config set budget.usdPerDay 0.50
  rouse config set model.name none

The change is in force at once, unless the answer says that it counts from the next start on. It is written to the settings file, which `rouse config get` names. Comments stay.";

/// What the answer holds beside settings.
const NO_SETTINGS: [&str; 8] = [
    "path",
    "revision",
    "changedByHand",
    "problem",
    "unknownKeys",
    "troubles",
    "fromNextStart",
    "overridden",
];
/// Settings that are lists of names.
const LISTS: [&str; 2] = ["quietHours.days", "heartbeat.skills"];
/// Hours of a day, which are set as a whole.
const HOURS: [&str; 2] = ["quietHours", "heartbeat.activeHours"];

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    let mut answer = session.call("config.get", json!({})).await?;
    let view: ConfigView = serde_json::from_value(answer.clone())?;
    // What a change mends is not told first.
    if !session.json && matches!(command, Command::Get { .. }) {
        warn_of(&view);
    }
    match command {
        Command::Get { key: None } => session.tell(answer.clone(), |_, view: ConfigView| {
            as_in_the_file(&mut answer);
            print_all(&answer, &view);
            Ok(())
        }),
        Command::Get { key: Some(key) } => get(answer, &view, &key, session),
        Command::Set { key, value } => {
            let set_once = set(&answer, &view, &key, &value, session).await;
            if !set_once.as_ref().is_err_and(Failure::is_stale) {
                return set_once;
            }
            // The file was changed by hand: the engine has read it again, and so does this command.
            let answer = session.call("config.get", json!({})).await?;
            let view: ConfigView = serde_json::from_value(answer.clone())?;
            set(&answer, &view, &key, &value, session).await
        }
    }
}

/// What is wrong with the file, on standard error: what was asked for is answered all the same.
fn warn_of(view: &ConfigView) {
    let unknown =
        view.unknown_keys.iter().map(|unknown| format!("{}: {}", view.path, unknown.text));
    let troubles = view.troubles.iter().map(|trouble| format!("{}: {}", view.path, trouble.text));
    for trouble in view.problem.iter().cloned().chain(unknown).chain(troubles) {
        anstream::eprintln!("Warning: {}", plain(&trouble));
    }
}

fn get(mut answer: Value, view: &ConfigView, key: &str, session: &Session) -> Result<(), Failure> {
    if session.json {
        let key = if key == EVERY { EVERY_MS } else { key };
        anstream::println!("{}", serde_json::to_string_pretty(found(&answer, view, key)?)?);
        return Ok(());
    }
    as_in_the_file(&mut answer);
    let value = found(&answer, view, key)?;
    if value.is_object() {
        leaves(value, key).iter().for_each(|(key, value)| print_one(view, key, value, ""));
    } else {
        anstream::println!("{}{}", plain(&words(value)), later(view, key));
    }
    Ok(())
}

async fn set(
    answer: &Value,
    view: &ConfigView,
    key: &str,
    value: &str,
    session: &Session,
) -> Result<(), Failure> {
    let in_ms = (key == EVERY_MS).then(|| format!("{value}ms"));
    let (key, value) = in_ms.as_deref().map_or((key, value), |value| (EVERY, value));
    if key != EVERY && !is_part_of_hours(key) {
        found(answer, view, key)?;
    }
    let value = read(key, value)?;
    let value =
        if HOURS.contains(&key) { replacing(found(answer, view, key)?, value) } else { value };
    let patch = key.rsplit('.').fold(value, |inner, part| json!({ part: inner }));
    let params = json!({ "patch": patch, "expectedRevision": answer["revision"] });
    let mut after = session.call("config.patch", params).await?;
    session.tell(after.clone(), |_, view: ConfigView| {
        warn_of(&view);
        as_in_the_file(&mut after);
        let now = found(&after, &view, key).unwrap_or(&Value::Null);
        let shown = if now.is_object() { leaves(now, key) } else { vec![(key.to_owned(), now)] };
        shown.iter().for_each(|(key, value)| print_one(&view, key, value, variable(&view, key)));
        Ok(())
    })
}

/// The interval is a number on the wire and a duration in the file.
const EVERY: &str = "heartbeat.every";
const EVERY_MS: &str = "heartbeat.everyMs";

/// Makes `answer` say what the file would, so that what is shown can be set.
fn as_in_the_file(answer: &mut Value) {
    let Some(heartbeat) = answer["heartbeat"].as_object_mut() else { return };
    let shown = heartbeat.iter().map(|(key, value)| match (key.as_str(), value.as_i64()) {
        ("everyMs", Some(ms)) => ("every".to_owned(), json!(format_duration(ms))),
        _ => (key.clone(), value.clone()),
    });
    *heartbeat = shown.collect();
}

/// What a person wrote, as the gateway takes it.
fn read(key: &str, text: &str) -> Result<Value, Failure> {
    if text == "none" {
        return Ok(Value::Null);
    }
    if key == EVERY {
        return Ok(json!(text));
    }
    if LISTS.contains(&key) {
        return Ok(text.split(',').map(str::trim).collect());
    }
    if HOURS.contains(&key) {
        let wanted = || {
            Failure::input(format!(
                "{key}: expected hours such as 22:00-07:00, or none, found `{text}`"
            ))
        };
        let (from, to) = text.split_once(['-', '–']).ok_or_else(wanted)?;
        return Ok(json!({ "from": from.trim(), "to": to.trim() }));
    }
    let plain = serde_json::from_str(text).ok();
    let plain = plain.filter(|value: &Value| value.is_number() || value.is_boolean());
    Ok(plain.unwrap_or_else(|| json!(text)))
}

/// The setting called `key`.
fn found<'a>(answer: &'a Value, view: &ConfigView, key: &str) -> Result<&'a Value, Failure> {
    let of_provider = key.strip_prefix("providers.").and_then(|rest| rest.split_once('.'));
    let at = match of_provider {
        Some((name, key)) => provider(answer, name).and_then(|provider| provider.get(key)),
        None if NO_SETTINGS.contains(&key) => None,
        None => key.split('.').try_fold(answer, |value, part| value.get(part)),
    };
    at.ok_or_else(|| {
        let path = &view.path;
        let unknown = view.unknown_keys.iter().find(|unknown| unknown.key == key);
        Failure::input(match (unknown, of_provider) {
            (Some(unknown), _) => format!("{}. It stands in {path}.", unknown.text),
            (None, Some((name, _))) if is_setting(key) => {
                let names = providers(answer).filter_map(|provider| provider["name"].as_str());
                let meant = nearest(name, names).map(|near| format!("; did you mean {near}?"));
                let meant = meant.unwrap_or_default();
                format!("{key}: there is no such setting: {path} has no [providers.{name}]{meant}")
            }
            _ if is_setting(key) => {
                format!("{key}: this setting is read and changed only in the file {path}")
            }
            _ => format!("{key}: there is no such setting; {}", setting_meant(key)),
        })
    })
}

/// A provider stands in a list of the answer, under its name in the file.
fn provider<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    providers(answer).find(|provider| provider["name"] == name)
}

fn providers(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["model"]["providers"].as_array().into_iter().flatten()
}

/// Where no hours are set, their parts are not in the answer, and can be set all the same.
fn is_part_of_hours(key: &str) -> bool {
    key.rsplit_once('.').is_some_and(|(hours, part)| {
        HOURS.contains(&hours) && ["from", "to", "tz", "days"].contains(&part)
    })
}

fn settings(answer: &Value) -> Vec<(String, &Value)> {
    let all = leaves(answer, "").into_iter();
    all.filter(|(key, _)| !NO_SETTINGS.contains(&key.as_str())).collect()
}

/// Everything in `value` that is no object, by its dotted key.
fn leaves<'a>(value: &'a Value, key: &str) -> Vec<(String, &'a Value)> {
    let empty = Map::new();
    let Some(fields) = value.as_object().filter(|fields| **fields != empty) else {
        return vec![(key.to_owned(), value)];
    };
    let inner = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    fields.iter().flat_map(|(name, value)| leaves(value, &inner(name))).collect()
}

fn print_all(answer: &Value, view: &ConfigView) {
    for (key, value) in settings(answer) {
        print_one(view, &key, value, variable(view, &key));
    }
    anstream::println!("File: {}", plain(&view.path));
}

fn print_one(view: &ConfigView, key: &str, value: &Value, variable: &str) {
    let by = if variable.is_empty() { String::new() } else { format!("  (by {variable})") };
    anstream::println!("{key} = {}{by}{}", plain(&words(value)), later(view, key));
}

/// What is said beside a value that is not in force yet.
fn later(view: &ConfigView, key: &str) -> &'static str {
    let waits = view.from_next_start.iter().any(|waiting| waiting == key);
    if waits { "  (from the next start on)" } else { "" }
}

/// The variable that a setting comes from, whatever the file says.
fn variable<'a>(view: &'a ConfigView, key: &str) -> &'a str {
    let by =
        view.overridden.iter().find(|by| by.key == key || (by.key == EVERY_MS && key == EVERY));
    by.map_or("", |by| &by.variable)
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The settings in force.
pub(crate) async fn in_force(session: &Session) -> Result<ConfigView, Failure> {
    Ok(serde_json::from_value(session.call("config.get", json!({})).await?)?)
}

/// The settings with what is wrong with their file: as the engine sees it, or, when none runs, as this command does.
pub(crate) async fn of_file(session: &Session) -> Result<ConfigView, Failure> {
    match in_force(session).await {
        Err(Failure::Client(ClientError::NotRunning | ClientError::Unproven { .. })) => {
            let (env, zones) = (|name: &str| std::env::var(name).ok(), session.clock.zones());
            let machine = OfMachine { env: &env, zones: &zones, secrets: None };
            let (path, workspace) = (session.home.config(), session.home.workspace());
            let file = ConfigFile::open(&path, &workspace, machine).map_err(anyhow::Error::from)?;
            Ok(file.view(machine))
        }
        view => view,
    }
}

/// A sentence when the file was changed since the engine read it.
pub(crate) fn changed_by_hand(view: &ConfigView) -> Option<String> {
    if let Some(problem) = &view.problem {
        return Some(format!("{}. What was in force stays in force.", plain(problem)));
    }
    let text = match fs::read(&view.path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        // The engine has read it, so that this command cannot says nothing about a change.
        Err(_) => return None,
    };
    let is_the_same = format!("{:016x}", stable_hash(&text)) == view.revision;
    let path = plain(&view.path);
    (!is_the_same).then(|| format!("{path} was changed since the start; restart Rouse to use it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        let read = |key: &str, text: &str| read(key, text).expect("a value");
        assert_eq!(read("cron.enabled", "false"), json!(false));
        assert_eq!(read("cron.maxConcurrentRuns", "4"), json!(4));
        assert_eq!(read("heartbeat.every", "30m"), json!("30m"));
        assert_eq!(read("heartbeat.every", "60000"), json!("60000"));
        assert_eq!(read("heartbeat.skills", "a, b"), json!(["a", "b"]));
        assert_eq!(read("quietHours", "22:00-07:00"), json!({ "from": "22:00", "to": "07:00" }));
        assert_eq!(read("quietHours.days", "fri, sat"), json!(["fri", "sat"]));
        assert_eq!(read("model.name", "none"), Value::Null);
        assert_eq!(read("heartbeat.prompt", "[1]"), json!("[1]"));
        assert!(super::read("quietHours", "soon").is_err());
    }
}
