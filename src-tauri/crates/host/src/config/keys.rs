//! The keys of the settings, and suggestions for unknown keys.
//!
//! Owns nothing but the walk over the schema: a key of the file without a place in the schema is unknown.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rouse_core::settings::settings_schema;
use serde_json::Value;
use toml_edit::Key;

/// Stands for the name of a provider or a model.
const ANY: &str = "*";

/// Maximum length of a name that gets a suggestion.
const MAX_SUGGESTED: usize = 64;

/// A key of the file that is no setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnknownSetting {
    /// The dotted path.
    pub(super) key: String,
    /// The path in TOML syntax.
    pub(super) toml_key: String,
    /// The value.
    pub(super) value: toml::Value,
}

/// The unknown keys of `table`. Keys below an unknown key are part of its value.
pub(super) fn unknown_settings(table: &toml::Table) -> Vec<UnknownSetting> {
    let mut found = Vec::new();
    collect_unknown(table, settings_schema(), "", "", &mut found);
    found
}

fn collect_unknown(
    table: &toml::Table,
    schema: &Value,
    path: &str,
    toml_path: &str,
    found: &mut Vec<UnknownSetting>,
) {
    for (name, value) in table {
        let key = join(path, name);
        let toml_key = join(toml_path, &Key::new(name).to_string());
        let Some(child) = child(schema, name) else {
            found.push(UnknownSetting { key, toml_key, value: value.clone() });
            continue;
        };
        match value {
            toml::Value::Table(inner) => collect_unknown(inner, child, &key, &toml_key, found),
            toml::Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let Some(inner) = item.as_table() else { continue };
                    let at = |key: &str| format!("{key}[{index}]");
                    collect_unknown(inner, &child["items"], &at(&key), &at(&toml_key), found);
                }
            }
            _ => {}
        }
    }
}

/// The schema of a key in a table.
fn child<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let child = schema["properties"].get(name);
    child.or_else(|| Some(&schema["additionalProperties"]).filter(|named| named.is_object()))
}

/// Whether clients may change the dotted `key`: the key or a table around it is `editable` in the schema.
pub(super) fn is_editable(key: &str) -> bool {
    let mut schema = settings_schema();
    let mut is_editable = false;
    for name in key.split('.') {
        let Some(child) = child(schema, name) else { return false };
        is_editable |= child["editable"] == true;
        schema = child;
    }
    is_editable
}

/// All keys, tables among them.
static KEYS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut keys = BTreeSet::new();
    collect_keys(settings_schema(), "", &mut keys);
    keys
});

fn collect_keys(schema: &Value, path: &str, keys: &mut BTreeSet<String>) {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let properties = properties.map(|(name, schema)| (name.as_str(), schema));
    let named = Some((ANY, &schema["additionalProperties"])).filter(|(_, named)| named.is_object());
    for (name, schema) in properties.chain(named) {
        let key = join(path, name);
        collect_keys(schema, &key, keys);
        collect_keys(&schema["items"], &format!("{key}[0]"), keys);
        keys.insert(key);
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Whether the dotted `key` is a setting.
#[must_use]
pub fn is_setting(key: &str) -> bool {
    let (parent, name) = split(key);
    KEYS.contains(&join(&with_placeholder(parent), name))
}

/// The suggestion for an unknown key: the nearest setting, or the settings of the same table.
#[must_use]
pub fn suggest_setting(key: &str) -> String {
    if let Some(nearest) = nearest_setting(key) {
        return format!("did you mean {nearest}?");
    }
    let (parent, _) = split(key);
    let parent = if siblings(parent).is_empty() { "" } else { parent };
    let names = siblings(parent).into_iter().map(|name| join(parent, &name));
    format!("known here: {}", names.collect::<Vec<_>>().join(", "))
}

/// The setting with the nearest name: in the same table, then the same name in another table, then by the whole key.
pub(super) fn nearest_setting(key: &str) -> Option<String> {
    let (parent, name) = split(key);
    if is_too_long(name) {
        return None;
    }
    let siblings = siblings(parent);
    let is_table = !parent.is_empty() && !siblings.is_empty();
    let candidates = siblings.into_iter().map(|name| (simplified(&name), name));
    if let Some(sibling) = closest(&simplified(name), candidates) {
        return Some(join(parent, &sibling));
    }
    let fixed_keys = || KEYS.iter().filter(|key| !key.contains(['*', '[']));
    let has_same_name = |known: &&String| simplified(split(known).1) == simplified(name);
    if let Some(same_name) = fixed_keys().find(has_same_name) {
        return Some(same_name.clone());
    }
    let whole_keys = fixed_keys().map(|key| (simplified(key), key.clone()));
    if is_table { None } else { closest(&simplified(key), whole_keys) }
}

/// The names in the table `parent`.
fn siblings(parent: &str) -> Vec<String> {
    let parent = with_placeholder(parent);
    let in_table = KEYS.iter().map(|key| split(key));
    let in_table = in_table.filter(|(of, name)| *of == parent && *name != ANY);
    in_table.map(|(_, name)| name.to_owned()).collect()
}

fn is_too_long(name: &str) -> bool {
    name.chars().nth(MAX_SUGGESTED).is_some()
}

/// The candidate that differs in at most a third of the letters.
fn closest(wanted: &str, candidates: impl Iterator<Item = (String, String)>) -> Option<String> {
    if is_too_long(wanted) {
        return None;
    }
    let by_distance = candidates.map(|(name, key)| (strsim::osa_distance(wanted, &name), key));
    let limit = (wanted.chars().count() / 3).max(1);
    by_distance.filter(|(distance, _)| *distance <= limit).min().map(|(_, key)| key)
}

/// Without letter case and punctuation: `max_concurrent-runs` equals `maxConcurrentRuns`.
fn simplified(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The table of a key, and its name in the table.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// The table with `*` for the name of a provider or a model, and the first hook for any hook.
fn with_placeholder(parent: &str) -> String {
    match parent.split_once(['.', '[']) {
        Some((table @ ("providers" | "prices" | "computers"), _)) => format!("{table}.{ANY}"),
        Some(("hooks", _)) => "hooks[0]".to_owned(),
        _ => parent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_has_the_keys_of_all_sections() {
        for key in [
            "heartbeat",
            "heartbeat.every",
            "heartbeat.activeHours.tz",
            "quietHours.days",
            "gateway.port",
            "providers.*.baseUrl",
            "prices.*.cached",
            "hooks[0].timeout",
            "riskyWorkspace.root",
            "budget.usdPerDay",
        ] {
            assert!(KEYS.contains(key), "{key}");
        }
        assert!(is_setting("providers.mine.baseUrl") && is_setting("prices.gpt-5.6*.input"));
        assert!(!is_setting("providers.mine.baseURL") && !is_setting("heartbeat.everyMs"));
    }

    #[test]
    fn unknown_key_gets_the_nearest_setting() {
        for (key, nearest) in [
            ("heartbeat.evry", Some("heartbeat.every")),
            ("heartbeat.everyMs", Some("heartbeat.every")),
            ("hartbeat", Some("heartbeat")),
            ("cron.max_concurrent_runs", Some("cron.maxConcurrentRuns")),
            ("cron.maxConcurrentRun", Some("cron.maxConcurrentRuns")),
            ("keepAwake", Some("system.keepAwake")),
            ("heartbeat.activeHours.form", Some("heartbeat.activeHours.from")),
            ("providers.mine.base_url", Some("providers.mine.baseUrl")),
            ("prices.gpt-5.6*.inptu", Some("prices.gpt-5.6*.input")),
            ("hooks[3].comand", Some("hooks[3].command")),
            ("hartbeat.every", Some("heartbeat.every")),
            ("heartbeat_every", Some("heartbeat.every")),
            ("colour", None),
        ] {
            assert_eq!(nearest_setting(key).as_deref(), nearest, "{key}");
        }
        assert_eq!(suggest_setting("heartbeat.evry"), "did you mean heartbeat.every?");
        let siblings = suggest_setting("cron.colour");
        assert_eq!(siblings, "known here: cron.enabled, cron.maxConcurrentRuns");
    }

    #[test]
    fn clients_change_editable_keys_only() {
        for key in ["cron.enabled", "quietHours", "quietHours.days", "providers.mine.effort"] {
            assert!(is_editable(key), "{key}");
        }
        for key in [
            "gateway.port",
            "gateway.names",
            "hooks",
            "prices.m.input",
            "riskyWorkspace.enabled",
            "cron",
        ] {
            assert!(!is_editable(key), "{key}");
        }
    }
}
