//! Which keys the settings have, and which of them somebody may have meant.
//!
//! Nobody keeps a list of them: the reader itself is asked, with a document in which every table stands that it looks
//! for. A key of the file that it never asks for is unknown: the settings hold without it, and it is told wherever
//! settings are. One could get it wrong by asking the reader with the person's own document alone: what stands in a
//! table that is not there would be unknown.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use rouse_core::schedule::Zones;
use serde_json::{Map, Value, json};
use toml_edit::Key;

use super::{OfMachine, read};

/// Stands for the name of a provider or of a model.
const ANY: &str = "*";

/// The most letters of a name that may have been meant for another.
const LONGEST: usize = 64;

/// A key of the file that means nothing to Rouse.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stranger {
    /// Where it stands, dotted.
    pub(super) key: String,
    /// The same as TOML writes it.
    pub(super) written: String,
    /// What stands there.
    pub(super) value: toml::Value,
}

/// The keys of `table` that nobody asked for; what is below one of them is not told apart.
pub(super) fn strangers(table: &toml::Table, asked: &[String]) -> Vec<Stranger> {
    let asked: BTreeSet<&str> = asked.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    collect(table, ("", ""), &asked, &mut found);
    found
}

fn collect(
    table: &toml::Table,
    (path, written): (&str, &str),
    asked: &BTreeSet<&str>,
    found: &mut Vec<Stranger>,
) {
    for (name, value) in table {
        let key = joined(path, name);
        let written = joined(written, &Key::new(name).to_string());
        if !asked.contains(key.as_str()) {
            found.push(Stranger { key, written, value: value.clone() });
            continue;
        }
        match value {
            toml::Value::Table(inner) if is_read_below(&format!("{key}."), asked) => {
                collect(inner, (&key, &written), asked, found);
            }
            toml::Value::Array(items) => {
                let tables = items.iter().enumerate();
                for (index, inner) in tables.filter_map(|(at, item)| Some((at, item.as_table()?))) {
                    let path = format!("{key}[{index}]");
                    if is_read_below(&format!("{path}."), asked) {
                        collect(inner, (&path, &format!("{written}[{index}]")), asked, found);
                    }
                }
            }
            _ => {}
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn is_read_below(start: &str, asked: &BTreeSet<&str>) -> bool {
    asked.range(start..).next().is_some_and(|next| next.starts_with(start))
}

/// Every key that the reader knows, tables among them; `*` stands for a name that is the person's own.
static KNOWN: LazyLock<BTreeSet<String>> = LazyLock::new(known);

fn known() -> BTreeSet<String> {
    let mut document = json!({ "providers": { ANY: {} }, "prices": { ANY: {} }, "hooks": [{}] });
    let zones = Zones::built_in(chrono_tz::UTC);
    let mut known = BTreeSet::new();
    loop {
        let mut asked = Vec::new();
        let machine = OfMachine { env: &|_| None, zones: &zones, secrets: None };
        // silent-ok: nothing in it is a good value; what was asked for is the answer.
        let _ = read(document.clone(), Path::new(""), machine, &mut asked);
        let before = known.len();
        known.extend(asked);
        if known.len() == before {
            return known;
        }
        known.iter().filter(|key| !key.contains('[')).for_each(|key| stand(&mut document, key));
    }
}

/// Makes a table of `key`, so that the reader says what it looks for inside.
fn stand(document: &mut Value, key: &str) {
    let mut at = document;
    for part in key.split('.') {
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(part).or_insert_with(|| Value::Object(Map::new()));
    }
}

/// Whether the settings have `key`.
#[must_use]
pub fn is_setting(key: &str) -> bool {
    let (parent, name) = apart(key);
    KNOWN.contains(&joined(&pattern(parent), name))
}

/// What to say of a key that is none: the one that was meant, or those that there are in its place.
#[must_use]
pub fn setting_meant(key: &str) -> String {
    let known = &*KNOWN;
    match nearest(key, known) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => {
            let (parent, _) = apart(key);
            let parent = if siblings(parent, known).is_empty() { "" } else { parent };
            let names = siblings(parent, known).into_iter().map(|name| joined(parent, &name));
            format!("known here: {}", names.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The setting that is spelled most like `key`, if one is near enough.
pub(super) fn nearest_setting(key: &str) -> Option<String> {
    nearest(key, &KNOWN)
}

fn nearest(key: &str, known: &BTreeSet<String>) -> Option<String> {
    let (parent, name) = apart(key);
    if is_too_long(name) {
        return None;
    }
    let beside = siblings(parent, known);
    let is_table = !parent.is_empty() && !beside.is_empty();
    if let Some(sibling) = closest(plain(name), beside.into_iter().map(|name| (plain(&name), name)))
    {
        return Some(joined(parent, &sibling));
    }
    let own = || known.iter().filter(|key| !key.contains(['*', '[']));
    // The right name at a wrong place; then, where the place is none, all of it however it is divided.
    let same_name = own().find(|known| plain(apart(known).1) == plain(name));
    let whole = || closest(plain(key), own().map(|key| (plain(key), key.clone())));
    same_name.cloned().or_else(|| if is_table { None } else { whole() })
}

/// The names that are known beside each other in the table `parent`.
fn siblings(parent: &str, known: &BTreeSet<String>) -> Vec<String> {
    let parent = pattern(parent);
    let beside =
        known.iter().map(|key| apart(key)).filter(|(of, name)| *of == parent && *name != ANY);
    beside.map(|(_, name)| name.to_owned()).collect()
}

/// Nobody has misspelled a setting by so many letters, and to compare them takes the longer the more they are.
fn is_too_long(name: &str) -> bool {
    name.chars().nth(LONGEST).is_some()
}

/// One that differs in at most a third of its letters.
fn closest(wanted: String, all: impl Iterator<Item = (String, String)>) -> Option<String> {
    if is_too_long(&wanted) {
        return None;
    }
    let by_distance = all.map(|(plain, key)| (strsim::osa_distance(&wanted, &plain), key));
    let most = (wanted.chars().count() / 3).max(1);
    by_distance.filter(|(distance, _)| *distance <= most).min().map(|(_, key)| key)
}

/// `max_concurrent-runs` is `maxConcurrentRuns` in other clothes.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The table that `key` stands in, and its name there.
fn apart(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}

/// The table as the reader was asked for it.
fn pattern(parent: &str) -> String {
    match parent.split_once(['.', '[']) {
        Some((table @ ("providers" | "prices"), _)) => format!("{table}.{ANY}"),
        Some(("hooks", _)) => "hooks[0]".to_owned(),
        _ => parent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_says_what_it_knows() {
        let known = known();
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
            assert!(known.contains(key), "{key}");
        }
        assert!(is_setting("providers.mine.baseUrl") && is_setting("prices.gpt-5.6*.input"));
        assert!(!is_setting("providers.mine.baseURL") && !is_setting("heartbeat.everyMs"));
    }

    #[test]
    fn who_mistyped_is_told_what_was_meant() {
        for (typed, meant) in [
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
            assert_eq!(nearest(typed, &known()).as_deref(), meant, "{typed}");
        }
        assert_eq!(setting_meant("heartbeat.evry"), "did you mean heartbeat.every?");
        let said = setting_meant("cron.colour");
        assert_eq!(said, "known here: cron.enabled, cron.maxConcurrentRuns");
    }
}
