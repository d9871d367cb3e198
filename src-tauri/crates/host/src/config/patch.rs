//! A change of settings laid over the text of the file, so that comments and unknown keys stay.
//!
//! It refuses what is not for clients, and what is no setting at all, by name. One could get it wrong by taking a table
//! away with all that stands in it: a key that nobody here knows is left behind as a comment.

use rouse_core::json_fields::{FieldError, kind_of};
use serde_json::Value;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::names::{Stranger, is_setting, setting_meant};

/// What a client may change; everything else is for the file's owner and an editor.
const CHANGEABLE: &[&str] = &[
    "cron.enabled",
    "cron.maxConcurrentRuns",
    "heartbeat.enabled",
    "heartbeat.every",
    "heartbeat.everyMs",
    "heartbeat.activeHours",
    "heartbeat.activeHours.from",
    "heartbeat.activeHours.to",
    "heartbeat.activeHours.tz",
    "heartbeat.prompt",
    "heartbeat.skills",
    "heartbeat.model",
    "quietHours",
    "quietHours.from",
    "quietHours.to",
    "quietHours.tz",
    "quietHours.days",
    "model.provider",
    "model.name",
    "model.patienceSeconds",
    "system.keepAwake",
    "search.provider",
    "search.url",
    "search.keyEnv",
    "search.keySecret",
    "workspace",
    "retention.runsPerJob",
    "retention.messagesPerSession",
    "retention.maxDatabaseMb",
    "budget.tokensPerDay",
    "budget.usdPerDay",
];
const PROVIDER_KEYS: &[&str] =
    &["kind", "baseUrl", "model", "keyEnv", "keySecret", "contextTokens", "effort"];

/// So many mistakes of one change are told.
const MOST_COMPLAINTS: usize = 20;

/// Lays `change` over `text`.
pub(super) fn apply(text: &str, change: &Value) -> Result<String, Vec<FieldError>> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| vec![complaint("(file)", &error.to_string())])?;
    let mut leaves = Vec::new();
    let mut errors = Vec::new();
    collect(change, String::new(), &mut leaves, &mut errors);
    let mut untold = 0;
    for (path, leaf) in leaves {
        if errors.len() >= MOST_COMPLAINTS {
            untold += usize::from(!is_changeable(&path));
            continue;
        }
        if !is_changeable(&path) {
            errors.push(complaint(&path, &refusal(&path)));
            continue;
        }
        match in_file_form(&path, leaf) {
            Ok((path, item)) => set(document.as_table_mut(), &path, item, false),
            Err(error) => errors.push(error),
        }
    }
    if untold > 0 {
        errors.push(complaint("patch", &format!("and {untold} more that cannot be changed")));
    }
    if errors.is_empty() { Ok(document.to_string()) } else { Err(errors) }
}

fn refusal(path: &str) -> String {
    if is_setting(path) {
        return "can be changed in the settings file only, with an editor".to_owned();
    }
    format!("is not a setting; {}", setting_meant(path))
}

/// Writes down at the end of `text` which strange keys it has lost.
pub(super) fn keep_as_comments(text: &mut String, before: &[Stranger], after: &[Stranger]) {
    let is_there = |key: &str| after.iter().any(|stranger| stranger.key == key);
    let lost: Vec<&Stranger> = before.iter().filter(|lost| !is_there(&lost.key)).collect();
    if lost.is_empty() {
        return;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("# Rouse does not know these keys; what they stood in was taken away:\n");
    for Stranger { written, value, .. } in lost {
        for line in format!("{written} = {value}").lines() {
            text.push_str(&format!("# {line}\n"));
        }
    }
}

fn is_changeable(path: &str) -> bool {
    if CHANGEABLE.contains(&path) {
        return true;
    }
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["providers", name] => is_name(name),
        ["providers", name, key] => is_name(name) && PROVIDER_KEYS.contains(key),
        _ => false,
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The change as dotted paths; `null` stays a leaf and removes.
fn collect<'v>(
    change: &'v Value,
    path: String,
    leaves: &mut Vec<(String, &'v Value)>,
    errors: &mut Vec<FieldError>,
) {
    match change {
        Value::Object(fields) => {
            for (key, inner) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(inner, path, leaves, errors);
            }
        }
        _ if path.is_empty() => errors
            .push(complaint("patch", &format!("expected an object, found {}", kind_of(change)))),
        leaf => leaves.push((path, leaf)),
    }
}

/// The wire says `everyMs`, the file says `every = "30m"`.
fn in_file_form(path: &str, leaf: &Value) -> Result<(String, Option<Item>), FieldError> {
    if path == "heartbeat.everyMs" {
        let every = match leaf {
            Value::Null => None,
            leaf => Some(
                leaf.as_i64()
                    .filter(|ms| *ms >= 60_000)
                    .ok_or_else(|| complaint(path, "expected milliseconds, at least 60000"))?,
            ),
        };
        return Ok((
            "heartbeat.every".to_owned(),
            every.map(|ms| value(format!("{}s", ms / 1_000))),
        ));
    }
    let item = match leaf {
        Value::Null => None,
        Value::Bool(yes) => Some(value(*yes)),
        Value::String(text) => Some(value(text.as_str())),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Some(value(whole)),
            None if path == "budget.usdPerDay" => number.as_f64().map(value),
            None => {
                return Err(complaint(path, &format!("expected a whole number, found {number}")));
            }
        },
        Value::Array(names) if ["quietHours.days", "heartbeat.skills"].contains(&path) => {
            let names: Option<toml_edit::Array> = names.iter().map(Value::as_str).collect();
            Some(value(names.ok_or_else(|| complaint(path, "expected a list of texts"))?))
        }
        other => {
            return Err(complaint(
                path,
                &format!("expected a single value, found {}", kind_of(other)),
            ));
        }
    };
    Ok((path.to_owned(), item))
}

/// A table may be written with a head of its own, with dots or in braces; all three are the same to a reader.
fn set(table: &mut dyn TableLike, path: &str, item: Option<Item>, in_braces: bool) {
    let Some((first, rest)) = path.split_once('.') else {
        match item {
            Some(item) => table.insert(path, item),
            None => table.remove(path),
        };
        return;
    };
    if item.is_none() && !table.contains_key(first) {
        return;
    }
    let inner = table.entry(first).or_insert_with(|| empty_table(in_braces));
    let in_braces = inner.is_inline_table();
    if let Some(inner) = inner.as_table_like_mut() {
        set(inner, rest, item, in_braces);
    }
}

/// Inside braces there can be nothing but braces.
fn empty_table(in_braces: bool) -> Item {
    if in_braces {
        return value(InlineTable::new());
    }
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn complaint(path: &str, message: &str) -> FieldError {
    FieldError { path: path.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What the patched text means.
    fn patched(text: &str, change: &Value) -> Value {
        let text = apply(text, change).expect("a good change");
        serde_json::to_value(toml::from_str::<toml::Table>(&text).expect("TOML")).expect("JSON")
    }

    #[test]
    fn a_change_lands_however_the_table_is_written() {
        let change = json!({ "model": { "name": "new" }, "providers": { "b": { "kind": "openai", "model": "m" } } });
        for text in [
            "",
            "[model]\nname = \"old\"\n[providers.a]\nkind = \"openai\"\n",
            "model.name = \"old\"\nproviders.a.kind = \"openai\"\n",
            "model = { name = \"old\" }\nproviders = { a = { kind = \"openai\" } }\n",
        ] {
            let document = patched(text, &change);
            assert_eq!(document["model"]["name"], "new", "{text}");
            let added = json!({ "kind": "openai", "model": "m" });
            assert_eq!(document["providers"]["b"], added, "{text}");
            assert_eq!(document["providers"]["a"].is_null(), text.is_empty(), "{text}");
        }
    }

    #[test]
    fn null_takes_a_key_away_and_comments_stay() {
        let text = "# mine\n[model] # theirs\nname = \"old\"\nprovider = \"a\"\n";
        let change = json!({ "model": { "name": null }, "cron": { "enabled": null } });
        let text = apply(text, &change).expect("a good change");
        assert_eq!(text, "# mine\n[model] # theirs\nprovider = \"a\"\n");
    }

    #[test]
    fn quiet_hours_are_written_with_their_days_and_taken_away_whole() {
        let hours = json!({ "from": "22:00", "to": "07:00", "days": ["fri", "sat"] });
        let text = apply("", &json!({ "quietHours": hours })).expect("a good change");
        assert_eq!(patched(&text, &json!({}))["quietHours"], hours);
        let none = apply(&text, &json!({ "quietHours": null })).expect("a good change");
        assert_eq!(patched(&none, &json!({}))["quietHours"], Value::Null);
        let wrong = json!({ "quietHours": { "days": [1] }, "heartbeat": { "prompt": ["a"] } });
        let refused = apply("", &wrong).expect_err("refused");
        let paths: Vec<&str> = refused.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["quietHours.days", "heartbeat.prompt"]);
    }

    #[test]
    fn a_budget_may_be_a_part_of_a_dollar() {
        let text = apply("", &json!({ "budget": { "usdPerDay": 0.5, "tokensPerDay": 9 } }));
        let budget = patched(&text.expect("a good change"), &json!({}))["budget"].clone();
        assert_eq!(budget, json!({ "usdPerDay": 0.5, "tokensPerDay": 9 }));
    }

    #[test]
    fn of_many_strange_keys_the_first_are_told() {
        let keys = (0..2_000).map(|number| (format!("strange{number:04}"), json!(1)));
        let change = Value::Object(keys.collect());
        let refused = apply("", &change).expect_err("refused");
        let said: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 21);
        assert!(said[0].starts_with("strange0000: is not a setting"), "{}", said[0]);
        assert_eq!(said[20], "patch: and 1980 more that cannot be changed");
        let long = "a".repeat(200_000);
        let refused = apply("", &json!({ long.clone(): 1 })).expect_err("refused");
        assert_eq!((refused.len(), &refused[0].path), (1, &long));
    }

    #[test]
    fn what_is_not_for_clients_is_refused_by_name() {
        let change = json!({ "gateway": { "port": 1 }, "cron": { "maxConcurrentRuns": 1.5 }, "heartbeat": { "evry": "10m" } });
        let refused = apply("", &change).expect_err("refused");
        let said: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "gateway.port: can be changed in the settings file only, with an editor",
                "cron.maxConcurrentRuns: expected a whole number, found 1.5",
                "heartbeat.evry: is not a setting; did you mean heartbeat.every?",
            ]
        );
    }
}
