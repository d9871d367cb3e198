//! `rouse config …`: the settings of the engine that runs, read and changed as the settings page does it.
//!
//! A value is written as a person says it (`30m`, `22:00-07:00`, `none`) and becomes what the gateway takes; what is
//! wrong with it the gateway says, by key. It also tells when the file was changed by hand since the engine read it. One
//! could get it wrong by laying new hours over old ones: the nights and the zone of those before would stay.

use std::fs;

use clap::Subcommand;
use rouse_core::schedule::parse_duration;
use rouse_core::stable_hash::stable_hash;
use rouse_gateway::wire::ConfigView;
use serde_json::{Map, Value, json};

use crate::cron::replacing;
use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show all settings, or one: `rouse config get cron.enabled`.
    Get {
        /// Which one, as `rouse config get` shows it.
        key: Option<String>,
    },
    /// Change a setting: `rouse config set cron.enabled false`.
    Set {
        /// Which one.
        key: String,
        /// The new value; `none` for the default. Durations as `30m`, hours as `22:00-07:00`, lists with commas.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::Get { key: None }
    }
}

/// What the answer holds beside settings.
const NO_SETTINGS: [&str; 5] = ["path", "revision", "changedByHand", "problem", "overridden"];
/// Hours of a day, which are set as a whole.
const HOURS: [&str; 2] = ["quietHours", "heartbeat.activeHours"];

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    let answer = session.call("config.get", json!({})).await?;
    match command {
        Command::Get { key: None } => session.tell(answer.clone(), |_, view: ConfigView| {
            print_all(&answer, &view);
            Ok(())
        }),
        Command::Get { key: Some(key) } => get(&answer, &key, session),
        Command::Set { key, value } => set(&answer, &key, &value, session).await,
    }
}

fn get(answer: &Value, key: &str, session: &Session) -> Result<(), Failure> {
    let key = on_the_wire(key);
    let value = found(answer, key)?;
    if session.json {
        anstream::println!("{}", serde_json::to_string_pretty(value)?);
    } else if value.is_object() {
        leaves(value, key).iter().for_each(|(key, value)| print_one(key, value, ""));
    } else {
        anstream::println!("{}", plain(&words(value)));
    }
    Ok(())
}

async fn set(answer: &Value, key: &str, value: &str, session: &Session) -> Result<(), Failure> {
    let key = on_the_wire(key);
    if !is_part_of_hours(key) {
        found(answer, key)?;
    }
    let value = read(key, value)?;
    let value = if HOURS.contains(&key) { replacing(found(answer, key)?, value) } else { value };
    let patch = key.rsplit('.').fold(value, |inner, part| json!({ part: inner }));
    let params = json!({ "patch": patch, "expectedRevision": answer["revision"] });
    let after = session.call("config.patch", params).await?;
    session.tell(after.clone(), |_, view: ConfigView| {
        let now = found(&after, key).unwrap_or(&Value::Null);
        let shown = if now.is_object() { leaves(now, key) } else { vec![(key.to_owned(), now)] };
        shown.iter().for_each(|(key, value)| print_one(key, value, variable(&view, key)));
        Ok(())
    })
}

/// The file's word for the interval is taken as well.
fn on_the_wire(key: &str) -> &str {
    if key == "heartbeat.every" { "heartbeat.everyMs" } else { key }
}

/// What a person wrote, as the gateway takes it.
fn read(key: &str, text: &str) -> Result<Value, Failure> {
    if text == "none" {
        return Ok(Value::Null);
    }
    if key == "heartbeat.everyMs" && text.parse::<i64>().is_err() {
        let ms = parse_duration(text).map_err(|error| Failure::input(format!("{key}: {error}")))?;
        return Ok(json!(ms));
    }
    if key == "quietHours.days" {
        return Ok(text.split(',').map(str::trim).collect());
    }
    if HOURS.contains(&key) {
        let wanted =
            || Failure::input(format!("{key}: expected hours such as 22:00-07:00, or none"));
        let (from, to) = text.split_once(['-', '–']).ok_or_else(wanted)?;
        return Ok(json!({ "from": from.trim(), "to": to.trim() }));
    }
    let plain = serde_json::from_str(text).ok();
    let plain = plain.filter(|value: &Value| value.is_number() || value.is_boolean());
    Ok(plain.unwrap_or_else(|| json!(text)))
}

/// The setting called `key`.
fn found<'a>(answer: &'a Value, key: &str) -> Result<&'a Value, Failure> {
    let of_provider = key.strip_prefix("providers.").and_then(|rest| rest.split_once('.'));
    let at = match of_provider {
        Some((name, key)) => provider(answer, name).and_then(|provider| provider.get(key)),
        None if NO_SETTINGS.contains(&key) => None,
        None => key.split('.').try_fold(answer, |value, part| value.get(part)),
    };
    at.ok_or_else(|| {
        let known: Vec<String> = settings(answer).into_iter().map(|(key, _)| key).collect();
        Failure::input(format!(
            "{key}: there is no such setting; expected one of {}",
            known.join(", ")
        ))
    })
}

/// A provider stands in a list of the answer, under its name in the file.
fn provider<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    answer["model"]["providers"].as_array()?.iter().find(|provider| provider["name"] == name)
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
        print_one(&key, value, variable(view, &key));
    }
    anstream::println!("File: {}", plain(&view.path));
}

fn print_one(key: &str, value: &Value, variable: &str) {
    let by = if variable.is_empty() { String::new() } else { format!("  (by {variable})") };
    anstream::println!("{key} = {}{by}", plain(&words(value)));
}

/// The variable that a setting comes from, whatever the file says.
fn variable<'a>(view: &'a ConfigView, key: &str) -> &'a str {
    let by = view.overridden.iter().find(|by| on_the_wire(&by.key) == key);
    by.map_or("", |by| &by.variable)
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A sentence when the file was changed since the engine read it.
pub(crate) async fn changed_by_hand(session: &Session) -> Result<Option<String>, Failure> {
    let view: ConfigView = serde_json::from_value(session.call("config.get", json!({})).await?)?;
    let text = match fs::read(&view.path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        // The engine has read it, so that this command cannot says nothing about a change.
        Err(_) => return Ok(None),
    };
    let is_the_same = format!("{:016x}", stable_hash(&text)) == view.revision;
    let path = plain(&view.path);
    Ok((!is_the_same)
        .then(|| format!("{path} was changed since the start; restart Rouse to use it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        let read = |key: &str, text: &str| read(key, text).expect("a value");
        assert_eq!(read("cron.enabled", "false"), json!(false));
        assert_eq!(read("cron.maxConcurrentRuns", "4"), json!(4));
        assert_eq!(read("heartbeat.everyMs", "30m"), json!(1_800_000));
        assert_eq!(read("heartbeat.everyMs", "60000"), json!(60_000));
        assert_eq!(read("quietHours", "22:00-07:00"), json!({ "from": "22:00", "to": "07:00" }));
        assert_eq!(read("quietHours.days", "fri, sat"), json!(["fri", "sat"]));
        assert_eq!(read("model.name", "none"), Value::Null);
        assert_eq!(read("heartbeat.prompt", "[1]"), json!("[1]"));
        assert!(super::read("quietHours", "soon").is_err());
    }
}
