//! The default channels of the settings, with and without a channel.
//!
//! Owns the lists of reports, failures and approvals as they are written. Pitfall: writing a list on an engine without a
//! desktop; without a list, such an engine uses every channel.

use rouse_core::text::quote_word;
use rouse_gateway::wire::{ChannelsListResult, WrittenDefaults};
use serde_json::{Map, Value, json};

use crate::render::text::escape;

/// The setting with the channels of reports, which are also the default of the other settings.
const REPORTS: &str = "deliverTo";

/// The settings with their lists; none where a list is not written.
fn written_lists(written: &WrittenDefaults) -> [(&'static str, Option<&Vec<String>>); 3] {
    [
        (REPORTS, written.deliver_to.as_ref()),
        ("deliverFailuresTo", written.deliver_failures_to.as_ref()),
        ("deliverApprovalsTo", written.deliver_approvals_to.as_ref()),
    ]
}

/// The change of the settings after which all messages go to `added` too; empty without a change.
pub(super) fn lists_with(list: &ChannelsListResult, added: &[String]) -> Map<String, Value> {
    let with = |targets: &[String]| {
        let missing = added.iter().filter(|target| !targets.contains(target));
        json!(targets.iter().chain(missing).collect::<Vec<_>>())
    };
    let mut patch = Map::new();
    for (key, written) in written_lists(&list.written) {
        match written {
            Some(targets) if !added.iter().all(|target| targets.contains(target)) => {
                patch.insert(key.to_owned(), with(targets));
            }
            None if key == REPORTS && !list.is_headless => {
                patch.insert(key.to_owned(), with(&["notification".to_owned()]));
            }
            Some(_) | None => {}
        }
    }
    patch
}

/// Prints the commands that make a change of the default channels; nothing without a change.
pub(super) fn print_default_commands(patch: &Map<String, Value>) {
    if !patch.is_empty() {
        anstream::println!("To send messages there too:");
        default_commands(patch).iter().for_each(|line| anstream::println!("  {line}"));
    }
}

fn default_commands(patch: &Map<String, Value>) -> Vec<String> {
    let command = |(key, targets): (&String, &Value)| {
        let targets: Vec<&str> =
            targets.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        format!("rouse config set {key} {}", escape(&quote_word(&targets.join(","))))
    };
    patch.iter().map(command).collect()
}

/// The change of the settings that takes the targets with `is_removed` out; empty without a change.
pub(super) fn lists_without(
    list: &ChannelsListResult,
    is_removed: impl Fn(&str) -> bool,
) -> Map<String, Value> {
    let mut patch = Map::new();
    for (key, written) in written_lists(&list.written) {
        if let Some(targets) = written.filter(|targets| targets.iter().any(|t| is_removed(t))) {
            patch.insert(key.to_owned(), remaining(targets, &is_removed));
        }
    }
    patch
}

/// The targets without those with `is_removed`; null for none, because a list is never empty.
pub(super) fn remaining(targets: &[String], is_removed: impl Fn(&str) -> bool) -> Value {
    let rest: Vec<&String> = targets.iter().filter(|target| !is_removed(target)).collect();
    if rest.is_empty() { Value::Null } else { json!(rest) }
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::MessageRoutes;

    use super::*;

    fn list(written: WrittenDefaults, is_headless: bool) -> ChannelsListResult {
        ChannelsListResult {
            channels: Vec::new(),
            deliver_to: MessageRoutes::default(),
            written,
            last: "notification".to_owned(),
            is_headless,
        }
    }

    fn targets(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn new_channel_joins_each_written_list() {
        let phone = ["phone".to_owned()];
        let none = WrittenDefaults::default();
        let added = Value::Object(lists_with(&list(none.clone(), false), &phone));
        assert_eq!(added, json!({ "deliverTo": ["notification", "phone"] }));
        assert!(lists_with(&list(none, true), &phone).is_empty());
        let written = WrittenDefaults {
            deliver_to: targets(&["mail"]),
            deliver_failures_to: targets(&["phone"]),
            deliver_approvals_to: None,
        };
        let added = Value::Object(lists_with(&list(written, true), &phone));
        assert_eq!(added, json!({ "deliverTo": ["mail", "phone"] }));
    }

    #[test]
    fn each_recipient_joins_a_list_once() {
        let deliver_to = targets(&["phone:7"]);
        let written = WrittenDefaults { deliver_to, ..WrittenDefaults::default() };
        let chats = ["phone:7", "phone:-8"].map(str::to_owned);
        let added = Value::Object(lists_with(&list(written, false), &chats));
        assert_eq!(added, json!({ "deliverTo": ["phone:7", "phone:-8"] }));
    }

    #[test]
    fn default_command_has_the_whole_list() {
        let patch = lists_with(&list(WrittenDefaults::default(), false), &["phone".to_owned()]);
        assert_eq!(default_commands(&patch), ["rouse config set deliverTo notification,phone"]);
    }

    #[test]
    fn removed_channel_leaves_each_written_list() {
        let written = WrittenDefaults {
            deliver_to: targets(&["notification", "phone:7"]),
            deliver_failures_to: targets(&["phone"]),
            deliver_approvals_to: targets(&["mail"]),
        };
        let removed = lists_without(&list(written, false), |target| target.starts_with("phone"));
        let expected = json!({ "deliverTo": ["notification"], "deliverFailuresTo": null });
        assert_eq!(Value::Object(removed), expected);
    }
}
