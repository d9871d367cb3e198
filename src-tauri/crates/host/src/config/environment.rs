//! Environment variables over the settings.
//!
//! Owns the variables with their keys and forms. An invalid value is an error under the name of the variable.

use std::path::{Path, PathBuf};

use rouse_core::json_fields::FieldError;
use serde_json::{Map, Value};

/// Environment variables by name.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A variable that overrides a key.
struct Variable {
    name: &'static str,
    key: &'static str,
    expected: &'static str,
    /// The value of the key; `null` leaves the key as it is.
    parse: fn(&str) -> Option<Value>,
}

/// Of two variables for one key, the first that is set counts.
const VARIABLES: [Variable; 11] = [
    Variable {
        name: "ROUSE_SKIP_CRON",
        key: "cron.enabled",
        expected: "1 or 0",
        parse: |value| {
            parse_switch(value).map(|skips| if skips { Value::Bool(false) } else { Value::Null })
        },
    },
    Variable {
        name: "HEARTBEAT_ENABLED",
        key: "heartbeat.enabled",
        expected: "true or false",
        parse: |value| parse_switch(value).map(Value::Bool),
    },
    Variable {
        name: "HEARTBEAT_INTERVAL_MS",
        key: "heartbeat.every",
        expected: "milliseconds, at least 60000",
        parse: |value| {
            let every = value.parse::<i64>().ok().filter(|ms| *ms >= 60_000);
            every.map(|ms| Value::String(format!("{ms}ms")))
        },
    },
    Variable { name: "FILE_WORKSPACE_ROOT", key: "workspace", expected: "a folder", parse: text },
    Variable { name: "CODEX_CWD", key: "workspace", expected: "a folder", parse: text },
    Variable {
        name: "RISKY_WORKSPACE_MODE",
        key: "riskyWorkspace.enabled",
        expected: "true or false",
        parse: |value| parse_switch(value).map(Value::Bool),
    },
    Variable {
        name: "FILE_WORKSPACE_MODE",
        key: "riskyWorkspace.enabled",
        expected: "risky or safe",
        parse: |value| match value.trim().to_ascii_lowercase().as_str() {
            "risky" => Some(Value::Bool(true)),
            "safe" => Some(Value::Bool(false)),
            _ => None,
        },
    },
    Variable {
        name: "RISKY_WORKSPACE_ROOT",
        key: "riskyWorkspace.root",
        expected: "a folder",
        parse: text,
    },
    Variable {
        name: "READ_FILE_MAX_BYTES",
        key: "tools.readFileMaxBytes",
        expected: "a number of bytes from 1 to 1073741824",
        parse: |value| {
            value
                .parse()
                .ok()
                .filter(|bytes| (1..=1_073_741_824_i64).contains(bytes))
                .map(Value::from)
        },
    },
    Variable {
        name: "RUN_COMMAND_TIMEOUT_MS",
        key: "tools.runCommandTimeoutMs",
        expected: "milliseconds, at most 86400000 (a day)",
        parse: |value| {
            value.parse().ok().filter(|ms| (1..=86_400_000_i64).contains(ms)).map(Value::from)
        },
    },
    Variable {
        name: "MAX_MULTI_ACT_STEPS",
        key: "tools.maxSteps",
        expected: "a number from 1 to 50",
        parse: |value| {
            value.parse::<u32>().ok().filter(|steps| *steps > 0).map(|steps| steps.min(50).into())
        },
    },
];

/// Writes the values of set variables into the document. Returns the overridden keys with their variables.
pub(super) fn override_document(
    document: &mut Value,
    env: Environment<'_>,
    errors: &mut Vec<FieldError>,
) -> Vec<(&'static str, &'static str)> {
    let mut overridden: Vec<(&str, &str)> = Vec::new();
    for Variable { name, key, expected, parse } in &VARIABLES {
        let Some(found) = env(name).filter(|value| !value.trim().is_empty()) else { continue };
        if overridden.iter().any(|(taken, _)| taken == key) {
            continue;
        }
        match parse(&found) {
            Some(Value::Null) => continue,
            Some(value) => set(document, key, value),
            None => errors.push(FieldError {
                path: (*name).to_owned(),
                message: format!("expected {expected}, found `{found}`"),
            }),
        }
        overridden.push((key, name));
    }
    overridden
}

/// A section that is no table stays: the schema refuses it.
fn set(document: &mut Value, key: &str, value: Value) {
    let Some(fields) = document.as_object_mut() else { return };
    match key.split_once('.') {
        Some((section, key)) => {
            let section = fields.entry(section).or_insert_with(|| Value::Object(Map::new()));
            set(section, key, value);
        }
        None => drop(fields.insert(key.to_owned(), value)),
    }
}

fn text(value: &str) -> Option<Value> {
    Some(value.into())
}

fn parse_switch(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The home folder of the user, from the environment.
pub(super) fn home(env: Environment<'_>) -> Option<String> {
    env("HOME").or_else(|| env("USERPROFILE"))
}

/// Replaces `~` at the start by the home folder.
pub(super) fn expand(path: &str, env: Environment<'_>) -> PathBuf {
    let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (rest, home(env)) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}
