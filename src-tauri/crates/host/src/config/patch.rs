//! Changes of settings by clients, written into the text of the file. Comments and unknown keys stay.
//!
//! Owns the refusal of keys that clients may not change. Values are validated afterwards, with the whole file.
//! Pitfall: removing a table with unknown keys; they stay behind as comments.

use rouse_core::json_fields::{FieldError, kind_of};
use serde_json::Value;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::keys::{UnknownSetting, is_editable, is_setting, suggest_setting};

/// Maximum errors of one change.
const MAX_ERRORS: usize = 20;

/// Applies `change` to the text of the file.
pub(super) fn apply(text: &str, change: &Value) -> Result<String, Vec<FieldError>> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| vec![field_error("(file)", &error.to_string())])?;
    let mut leaves = Vec::new();
    collect_leaves(change, String::new(), &mut leaves);
    let mut errors = Vec::new();
    let mut omitted = 0;
    for (path, leaf) in leaves {
        // A suggestion is searched for the first errors only: the search takes long for many keys.
        if errors.len() == MAX_ERRORS {
            omitted += usize::from(!is_editable(&path));
            continue;
        }
        match toml_item(&path, leaf) {
            Ok((path, item)) => set(document.as_table_mut(), &path, item, false),
            Err(message) => errors.push(field_error(&path, &message)),
        }
    }
    if omitted > 0 {
        errors.push(field_error("patch", &format!("and {omitted} more that cannot be changed")));
    }
    if errors.is_empty() { Ok(document.to_string()) } else { Err(errors) }
}

/// Appends the unknown keys of `before` that `after` has lost, as comments.
pub(super) fn keep_as_comments(
    text: &mut String,
    before: &[UnknownSetting],
    after: &[UnknownSetting],
) {
    let is_kept = |key: &str| after.iter().any(|setting| setting.key == key);
    let lost: Vec<&UnknownSetting> = before.iter().filter(|lost| !is_kept(&lost.key)).collect();
    if lost.is_empty() {
        return;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("# Unknown keys of tables that Rouse removed:\n");
    for UnknownSetting { toml_key, value, .. } in lost {
        for line in format!("{toml_key} = {value}").lines() {
            text.push_str(&format!("# {line}\n"));
        }
    }
}

/// The change as dotted paths with values; `null` removes the key.
fn collect_leaves<'v>(change: &'v Value, path: String, leaves: &mut Vec<(String, &'v Value)>) {
    let Value::Object(fields) = change else { return leaves.push((path, change)) };
    for (key, inner) in fields {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        collect_leaves(inner, path, leaves);
    }
}

/// The key and value in the file. Clients write `heartbeat.everyMs = 1800000`, the file has `every = "1800s"`.
fn toml_item(path: &str, leaf: &Value) -> Result<(String, Option<Item>), String> {
    if path.is_empty() {
        return Err(format!("expected an object, found {}", kind_of(leaf)));
    }
    if path == "heartbeat.everyMs" {
        let key = "heartbeat.every".to_owned();
        return match leaf.as_i64() {
            None if leaf.is_null() => Ok((key, None)),
            Some(ms @ 60_000..) => Ok((key, Some(value(format!("{}s", ms / 1_000))))),
            _ => Err("expected milliseconds, at least 60000".to_owned()),
        };
    }
    if !is_editable(path) || !has_plain_table_name(path) {
        return Err(if is_setting(path) {
            "can be changed in the settings file only, with an editor".to_owned()
        } else {
            format!("is not a setting; {}", suggest_setting(path))
        });
    }
    let item = match leaf {
        Value::Null => None,
        Value::Bool(flag) => Some(value(*flag)),
        Value::String(text) => Some(value(text.as_str())),
        Value::Number(number) => Some(match number.as_i64() {
            Some(whole) => value(whole),
            None => value(number.as_f64().unwrap_or_default()),
        }),
        Value::Array(names) => {
            let names: Option<toml_edit::Array> = names.iter().map(Value::as_str).collect();
            Some(value(names.ok_or("expected a list of texts")?))
        }
        Value::Object(_) => None,
    };
    Ok((path.to_owned(), item))
}

/// A name with a dot would be another table.
fn has_plain_table_name(path: &str) -> bool {
    let name =
        ["providers.", "channels.", "computers."].iter().find_map(|table| path.strip_prefix(table));
    let Some(name) = name else { return true };
    let name = name.split('.').next().unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Writes a value in any table syntax: with a header, with dots, or inline.
fn set(table: &mut dyn TableLike, path: &str, item: Option<Item>, is_inline: bool) {
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
    let inner = table.entry(first).or_insert_with(|| empty_table(is_inline));
    let is_inline = inner.is_inline_table();
    if let Some(inner) = inner.as_table_like_mut() {
        set(inner, rest, item, is_inline);
    }
}

/// An inline table has only inline tables inside.
fn empty_table(is_inline: bool) -> Item {
    if is_inline {
        return value(InlineTable::new());
    }
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn field_error(path: &str, message: &str) -> FieldError {
    let path = if path.is_empty() { "patch" } else { path };
    FieldError { path: path.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The document after a change.
    fn patched(text: &str, change: &Value) -> Value {
        let text = apply(text, change).expect("a good change");
        serde_json::to_value(toml::from_str::<toml::Table>(&text).expect("TOML")).expect("JSON")
    }

    #[test]
    fn change_works_in_every_table_syntax() {
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
    fn null_removes_a_key_and_comments_stay() {
        let text = "# mine\n[model] # theirs\nname = \"old\"\nprovider = \"a\"\n";
        let change = json!({ "model": { "name": null }, "cron": { "enabled": null } });
        let text = apply(text, &change).expect("a good change");
        assert_eq!(text, "# mine\n[model] # theirs\nprovider = \"a\"\n");
    }

    #[test]
    fn quiet_hours_are_set_with_days_and_removed_whole() {
        let hours = json!({ "from": "22:00", "to": "07:00", "days": ["fri", "sat"] });
        let text = apply("", &json!({ "quietHours": hours })).expect("a good change");
        assert_eq!(patched(&text, &json!({}))["quietHours"], hours);
        let none = apply(&text, &json!({ "quietHours": null })).expect("a good change");
        assert_eq!(patched(&none, &json!({}))["quietHours"], Value::Null);
        let refused = apply("", &json!({ "quietHours": { "days": [1] } })).expect_err("refused");
        assert_eq!(refused[0].to_string(), "quietHours.days: expected a list of texts");
    }

    #[test]
    fn budget_can_be_a_fraction_of_a_dollar() {
        let text = apply("", &json!({ "budget": { "usdPerDay": 0.5, "tokensPerDay": 9 } }));
        let budget = patched(&text.expect("a good change"), &json!({}))["budget"].clone();
        assert_eq!(budget, json!({ "usdPerDay": 0.5, "tokensPerDay": 9 }));
    }

    #[test]
    fn errors_of_one_change_are_limited() {
        let keys = (0..2_000).map(|number| (format!("strange{number:04}"), json!(1)));
        let change = Value::Object(keys.collect());
        let refused = apply("", &change).expect_err("refused");
        let errors: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 21);
        assert!(errors[0].starts_with("strange0000: is not a setting"), "{}", errors[0]);
        assert_eq!(errors[20], "patch: and 1980 more that cannot be changed");
        let long = "a".repeat(200_000);
        let refused = apply("", &json!({ long.clone(): 1 })).expect_err("refused");
        assert_eq!((refused.len(), &refused[0].path), (1, &long));
    }

    #[test]
    fn key_of_the_file_only_is_refused_by_name() {
        let change = json!({ "gateway": { "port": 1 }, "heartbeat": { "evry": "10m" } });
        let refused = apply("", &change).expect_err("refused");
        let errors: Vec<String> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "gateway.port: can be changed in the settings file only, with an editor",
                "heartbeat.evry: is not a setting; did you mean heartbeat.every?",
            ]
        );
    }
}
