//! The environments in a foreign job: their names stay, their values do not.
//!
//! Owns what counts as one: whatever stands under `env` or `environment`, in whatever place and shape. One could get it wrong
//! by looking for it only where a format has it today: keys live there, and a file of next year has it somewhere else.

use serde_json::{Map, Value};

const KEYS: [&str; 2] = ["env", "environment"];

/// Takes all values out of the environments in `fields`; answers the names, each once.
pub(super) fn without_values(fields: &mut Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    clean(fields, &mut names);
    names
}

fn clean(fields: &mut Map<String, Value>, names: &mut Vec<String>) {
    for (key, value) in fields {
        match KEYS.contains(&key.as_str()) {
            true => *value = named(key, value, names),
            false => clean_within(value, names),
        }
    }
}

fn clean_within(value: &mut Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => clean(fields, names),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_within(item, names)),
        _ => {}
    }
}

/// The environment under `key` with nothing but its names; of one without names it is told that it was there.
fn named(key: &str, environment: &Value, names: &mut Vec<String>) -> Value {
    if environment.is_null() {
        return Value::Null;
    }
    let of_item = |item: &Value| {
        let name = item.as_str().or_else(|| item.get("name")?.as_str())?;
        Some(name.split_once('=').map_or_else(|| name.to_owned(), |(name, _)| name.to_owned()))
    };
    let found: Vec<String> = match environment {
        Value::Object(values) => values.keys().cloned().collect(),
        Value::Array(items) => items.iter().filter_map(of_item).collect(),
        _ => Vec::new(),
    };
    let told = if found.is_empty() { vec![key.to_owned()] } else { found.clone() };
    for name in told {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match found.is_empty() {
        true => Value::Null,
        false => found.into_iter().map(|name| (name, Value::Null)).collect::<Map<_, _>>().into(),
    }
}
