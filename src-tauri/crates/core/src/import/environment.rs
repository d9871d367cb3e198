//! Environments in foreign jobs: names are kept, values are dropped, because keys live there.
//!
//! Owns the detection: everything under `env` or `environment`, at any depth and in any shape.
//! Pitfall: searching only the places of a format's current version.

use serde_json::{Map, Value};

const KEYS: [&str; 2] = ["env", "environment"];

/// Drops all values of environments in `fields`. Returns the names, each once.
pub(super) fn without_values(fields: &mut Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    clean(fields, &mut names);
    names
}

fn clean(fields: &mut Map<String, Value>, names: &mut Vec<String>) {
    for (key, value) in fields {
        if KEYS.contains(&key.as_str()) {
            *value = named(key, value, names)
        } else {
            clean_within(value, names)
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

/// The environment under `key`, reduced to the names.
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
    let listed = if found.is_empty() { vec![key.to_owned()] } else { found.clone() };
    for name in listed {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if found.is_empty() {
        return Value::Null;
    }
    found.into_iter().map(|name| (name, Value::Null)).collect::<Map<_, _>>().into()
}
