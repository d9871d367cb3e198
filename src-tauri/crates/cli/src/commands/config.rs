//! `rouse config …`: the settings of the running engine.
//!
//! Keys are the keys of the file. Values have their text form (`30m`, `22:00-07:00`, `none`); the gateway validates
//! them by key. Warns about problems of the file. Pitfall: new hours must replace the old days and the old zone.

use clap::Subcommand;
use rouse_core::schedule::format_duration;
use rouse_core::text::nearest;
use rouse_gateway::wire::ConfigView;
use rouse_host::{is_setting, suggest_setting};
use serde_json::{Value, json};

use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::merge_patch::replacement_patch;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show all settings, or one: `rouse config get cron.enabled`
    Get {
        /// Setting, or a group of settings such as `heartbeat` [default: all]
        key: Option<String>,
    },
    /// Change a setting: `rouse config set cron.enabled false`
    #[command(after_help = EXAMPLES)]
    Set {
        /// Setting
        key: String,
        /// Value, or `none` for the default: `30m`, `22:00-07:00`, `true`, `false`, comma-separated lists
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
  rouse config set deliverTo notification,phone
  rouse config set model.name none
  rouse config set computers.box.address anna@box

A change applies at once, unless the answer names the next start. It is written to the settings file, which `rouse config get` names. Comments stay.";

/// Keys of the answer that are not settings.
const METADATA_KEYS: [&str; 8] = [
    "path",
    "revision",
    "changedByHand",
    "problem",
    "unknownKeys",
    "unmetSettings",
    "pendingRestart",
    "overridden",
];
/// Settings that are lists of names.
const LISTS: [&str; 5] =
    ["quietHours.days", "heartbeat.skills", "deliverTo", "deliverFailuresTo", "deliverApprovalsTo"];
/// Daily hours, which are set as a whole.
const HOURS: [&str; 2] = ["quietHours", "heartbeat.activeHours"];
/// The interval: a duration in the file, milliseconds in the answer.
const INTERVAL: &str = "heartbeat.every";
const INTERVAL_MS: &str = "heartbeat.everyMs";
/// The table of the channels, which the answer does not have.
const CHANNELS: &str = "channels";
/// The providers: the key in the file, and the key of the list in the answer.
const PROVIDER_LISTS: [&str; 2] = ["providers", "model.providers"];

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    let (mut answer, view) = fetch_settings(engine).await?;
    // A change may fix the problems, so `set` warns afterwards.
    if !engine.json && matches!(command, Command::Get { .. }) {
        print_warnings(&view);
    }
    match command {
        Command::Get { key: None } => engine.print_answer(answer.clone(), |_, view: ConfigView| {
            use_file_keys(&mut answer);
            print_all(&answer, &view);
        }),
        Command::Get { key: Some(key) } => get(answer, &view, &key, engine),
        Command::Set { key, value } => {
            let changed = set(&answer, &view, &key, &value, engine).await;
            if !changed.as_ref().is_err_and(CliError::is_stale) {
                return changed;
            }
            // The file was edited; the engine has read the file again.
            let (answer, view) = fetch_settings(engine).await?;
            set(&answer, &view, &key, &value, engine).await
        }
    }
}

async fn fetch_settings(engine: &EngineConnection) -> Result<(Value, ConfigView), CliError> {
    let answer = engine.call("config.get", json!({})).await?;
    let view = serde_json::from_value(answer.clone())?;
    Ok((answer, view))
}

/// Prints the problems of the file on standard error.
fn print_warnings(view: &ConfigView) {
    let unknown = view.unknown_keys.iter().map(|unknown| &unknown.text);
    let texts = unknown.chain(view.unmet_settings.iter().map(|problem| &problem.text));
    let texts = texts.map(|text| format!("{}: {text}", view.path));
    for text in view.problem.iter().cloned().chain(texts) {
        anstream::eprintln!("Warning: {}", escape(&text));
    }
}

fn get(
    mut answer: Value,
    view: &ConfigView,
    key: &str,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    if engine.json {
        let key = if key == INTERVAL { INTERVAL_MS } else { key };
        anstream::println!("{}", serde_json::to_string_pretty(find_group(&answer, view, key)?)?);
        return Ok(());
    }
    use_file_keys(&mut answer);
    let value = find_group(&answer, view, key)?;
    let value = if *value == json!({}) { &Value::Null } else { value };
    if value.is_object() || PROVIDER_LISTS.contains(&key) {
        flatten(value, key).iter().for_each(|(key, value)| print_setting(view, key, value, ""));
    } else {
        anstream::println!("{}{}", escape(&value_text(value)), restart_note(view, key));
    }
    Ok(())
}

async fn set(
    answer: &Value,
    view: &ConfigView,
    key: &str,
    value: &str,
    engine: &EngineConnection,
) -> Result<(), CliError> {
    let in_ms = (key == INTERVAL_MS).then(|| format!("{value}ms"));
    let (key, value) = in_ms.as_deref().map_or((key, value), |value| (INTERVAL, value));
    if key != INTERVAL && !is_part_of_hours(key) && !may_be_absent(key) {
        find_setting(answer, view, key)?;
    }
    let value = parse_value(key, value)?;
    let value = if HOURS.contains(&key) {
        replacement_patch(find_setting(answer, view, key)?, value)
    } else {
        value
    };
    let sent = value.clone();
    let patch = key.rsplit('.').fold(value, |inner, part| json!({ part: inner }));
    let params = json!({ "patch": patch, "expectedRevision": answer["revision"] });
    let mut changed = engine.call("config.patch", params).await?;
    engine.print_answer(changed.clone(), |_, view: ConfigView| {
        print_warnings(&view);
        use_file_keys(&mut changed);
        let absent = may_be_absent(key).then_some(&sent);
        let value = find_setting(&changed, &view, key).ok().or(absent).unwrap_or(&Value::Null);
        let settings =
            if value.is_object() { flatten(value, key) } else { vec![(key.to_owned(), value)] };
        for (key, value) in settings {
            print_setting(&view, &key, value, variable_of(&view, &key));
        }
    })
}

/// Renames the keys of `answer` to the keys of the file, so that each shown setting can be set.
fn use_file_keys(answer: &mut Value) {
    let Some(heartbeat) = answer["heartbeat"].as_object_mut() else { return };
    let renamed = heartbeat.iter().map(|(key, value)| match (key.as_str(), value.as_i64()) {
        ("everyMs", Some(ms)) => ("every".to_owned(), json!(format_duration(ms))),
        _ => (key.clone(), value.clone()),
    });
    *heartbeat = renamed.collect();
}

/// Parses the text form of a value.
fn parse_value(key: &str, text: &str) -> Result<Value, CliError> {
    if text == "none" {
        return Ok(Value::Null);
    }
    if key == INTERVAL {
        return Ok(json!(text));
    }
    if LISTS.contains(&key) {
        return Ok(text.split(',').map(str::trim).collect());
    }
    if HOURS.contains(&key) {
        let error = || {
            CliError::input(format!(
                "{key}: expected hours such as 22:00-07:00, or none, found `{text}`"
            ))
        };
        let (from, to) = text.split_once(['-', '–']).ok_or_else(error)?;
        return Ok(json!({ "from": from.trim(), "to": to.trim() }));
    }
    let scalar = serde_json::from_str(text).ok();
    let scalar = scalar.filter(|value: &Value| value.is_number() || value.is_boolean());
    Ok(scalar.unwrap_or_else(|| json!(text)))
}

/// The setting or the group `key`, a provider, or all providers.
fn find_group<'a>(answer: &'a Value, view: &ConfigView, key: &str) -> Result<&'a Value, CliError> {
    let group = match key.strip_prefix("providers.") {
        Some(name) => find_provider(answer, name),
        None => (key == "providers").then(|| &answer["model"]["providers"]),
    };
    group.map_or_else(|| find_setting(answer, view, key), Ok)
}

/// The setting `key`. An error explains an unknown key, an unknown provider and a setting only in the file.
fn find_setting<'a>(
    answer: &'a Value,
    view: &ConfigView,
    key: &str,
) -> Result<&'a Value, CliError> {
    let provider_key = key.strip_prefix("providers.");
    let provider_key = provider_key.map(|rest| rest.split_once('.').unwrap_or((rest, "")));
    let value = match provider_key {
        Some((name, key)) => find_provider(answer, name).and_then(|provider| provider.get(key)),
        None if METADATA_KEYS.contains(&key) => None,
        None => key.split('.').try_fold(answer, |value, part| value.get(part)),
    };
    value.ok_or_else(|| {
        let path = &view.path;
        let unknown = view.unknown_keys.iter().find(|unknown| unknown.key == key);
        CliError::input(match (unknown, provider_key) {
            (Some(unknown), _) => format!("{}. See {path}.", unknown.text),
            (None, Some((name, _))) if find_provider(answer, name).is_none() => {
                let names = providers(answer).filter_map(|provider| provider["name"].as_str());
                let suggestion = nearest(name, names).map(|near| format!("; did you mean {near}?"));
                let suggestion = suggestion.unwrap_or_default();
                format!(
                    "{key}: there is no such setting: {path} has no [providers.{name}]{suggestion}"
                )
            }
            _ if key == CHANNELS || key.starts_with("channels.") => format!(
                "{key}: a channel is read and changed with `rouse channels`, or in the file {path}"
            ),
            _ if is_setting(key) => {
                format!("{key}: this setting is read and changed only in the file {path}")
            }
            _ => format!("{key}: there is no such setting; {}", suggest_setting(key)),
        })
    })
}

/// The provider with this name in the file; the answer has a list of providers.
fn find_provider<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    providers(answer).find(|provider| provider["name"] == name)
}

fn providers(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["model"]["providers"].as_array().into_iter().flatten()
}

/// Whether `key` is a part of hours. Parts of unset hours are absent from the answer and can be set.
fn is_part_of_hours(key: &str) -> bool {
    key.rsplit_once('.').is_some_and(|(hours, part)| {
        HOURS.contains(&hours) && ["from", "to", "tz", "days"].contains(&part)
    })
}

/// Whether `key` may be absent from the answer: a list of default channels, or a computer. The gateway knows its keys.
fn may_be_absent(key: &str) -> bool {
    key.starts_with("computers.") || key.starts_with("deliver") && LISTS.contains(&key)
}

/// The leaves of `value` by dotted key; providers by the keys of the file. An empty table has none.
fn flatten<'a>(value: &'a Value, key: &str) -> Vec<(String, &'a Value)> {
    if PROVIDER_LISTS.contains(&key) {
        return flatten_providers(value);
    }
    let Some(fields) = value.as_object() else { return vec![(key.to_owned(), value)] };
    let dotted =
        |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    // The name of a provider is a part of the key.
    let is_name = |name: &str| name == "name" && key.starts_with("providers.");
    let fields = fields.iter().filter(|(name, _)| !is_name(name));
    fields.flat_map(|(name, value)| flatten(value, &dotted(name))).collect()
}

fn flatten_providers(list: &Value) -> Vec<(String, &Value)> {
    match list.as_array().map(Vec::as_slice) {
        None | Some([]) => vec![("providers".to_owned(), list)],
        Some(providers) => {
            let key = |provider: &Value| format!("providers.{}", value_text(&provider["name"]));
            providers.iter().flat_map(|provider| flatten(provider, &key(provider))).collect()
        }
    }
}

fn print_all(answer: &Value, view: &ConfigView) {
    for (key, value) in flatten(answer, "") {
        if !METADATA_KEYS.contains(&key.as_str()) {
            print_setting(view, &key, value, variable_of(view, &key));
        }
    }
    anstream::println!("File: {}", escape(&view.path));
}

fn print_setting(view: &ConfigView, key: &str, value: &Value, variable: &str) {
    let source = if variable.is_empty() { String::new() } else { format!("  (from {variable})") };
    anstream::println!("{key} = {}{source}{}", escape(&value_text(value)), restart_note(view, key));
}

/// The note beside a value that applies from the next start.
fn restart_note(view: &ConfigView, key: &str) -> &'static str {
    let needs_restart = view.pending_restart.iter().any(|changed| changed == key);
    if needs_restart { "  (from the next start on)" } else { "" }
}

/// The environment variable that overrides a setting.
fn variable_of<'a>(view: &'a ConfigView, key: &str) -> &'a str {
    let is_match = |known: &str| known == key || (known == INTERVAL_MS && key == INTERVAL);
    let found = view.overridden.iter().find(|setting| is_match(&setting.key));
    found.map_or("", |setting| &setting.variable)
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_parse_from_their_text_form() {
        let value = |key: &str, text: &str| parse_value(key, text).expect("a value");
        assert_eq!(value("cron.enabled", "false"), json!(false));
        assert_eq!(value("cron.maxConcurrentRuns", "4"), json!(4));
        assert_eq!(value("heartbeat.every", "30m"), json!("30m"));
        assert_eq!(value("heartbeat.every", "60000"), json!("60000"));
        assert_eq!(value("heartbeat.skills", "a, b"), json!(["a", "b"]));
        assert_eq!(value("deliverTo", "notification,phone"), json!(["notification", "phone"]));
        assert_eq!(value("quietHours", "22:00-07:00"), json!({ "from": "22:00", "to": "07:00" }));
        assert_eq!(value("quietHours.days", "fri, sat"), json!(["fri", "sat"]));
        assert_eq!(value("model.name", "none"), Value::Null);
        assert_eq!(value("heartbeat.prompt", "[1]"), json!("[1]"));
        assert!(parse_value("quietHours", "soon").is_err());
    }

    #[test]
    fn providers_have_the_keys_of_the_file() {
        let keys = |list: Value| {
            let answer = json!({ "model": { "name": null, "providers": list } });
            flatten(&answer, "").into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        let work = json!([{ "name": "work", "kind": "openai", "model": "small" }]);
        assert_eq!(keys(work), ["model.name", "providers.work.kind", "providers.work.model"]);
        assert_eq!(keys(json!([])), ["model.name", "providers"]);
    }

    #[test]
    fn empty_table_has_no_line() {
        let answer = json!({ "cron": { "enabled": true }, "computers": {} });
        let lines = flatten(&answer, "");
        assert_eq!(lines, [("cron.enabled".to_owned(), &json!(true))]);
    }
}
