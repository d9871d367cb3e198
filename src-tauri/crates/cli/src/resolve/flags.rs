//! The flag of each job field, for errors about fields.
//!
//! The flag of a field has the name of its key without the unit: `cooldownSeconds` has `--cooldown`. Owns the list of
//! other names. A field without a flag keeps its path; a test lists these fields.
//! Pitfall: two fields with the same key. A test names them; only one may have the derived flag.

use clap::CommandFactory as _;
use rouse_core::job::job_schema;
use serde_json::Value;

use crate::command_line::Cli;

/// Fields whose flag has another name than the key.
const OTHER_NAMES: [(&str, &str); 18] = [
    ("sessionTarget", "--session"),
    ("wakeMode", "--wake"),
    ("schedule.expr", "--cron"),
    ("schedule.source", "--on-event"),
    ("schedule.filters", "--filter"),
    ("schedule.filters.jobId", "--after"),
    ("payload.text", "--system-event"),
    ("payload.notifyWhen.cel", "--notify-when"),
    ("payload.useTools", "--tools"),
    ("policies.misfire.mode", "--misfire"),
    ("policies.misfire.limit", "--misfire-limit"),
    ("policies.quietHours.from", "--quiet-hours"),
    ("policies.quietHours.to", "--quiet-hours"),
    ("policies.quietHours.tz", "--quiet-zone"),
    ("policies.quietHours.days", "--quiet-days"),
    ("policies.approvalSeconds", "--approval-timeout"),
    ("policies.folders", "--folder"),
    ("isolation.postToMainPrefix", "--post-prefix"),
];

/// Time limit of an imported job; `--timeout` sets the policy.
const IMPORTED_TIME_LIMIT: &str = "payload.timeoutSeconds";

/// Flag and path of a field: `--cron (schedule.expr)`.
pub(crate) fn label_of(path: &str) -> String {
    let field = path.split('[').next().unwrap_or(path);
    // The schema ends at the filters of an event.
    let parent = field.rsplit_once('.').map(|(parent, _)| parent);
    let filter = || parent.filter(|parent| *parent == "schedule.filters").and_then(flag_of);
    match flag_of(field).or_else(filter) {
        Some(flag) => format!("{flag} ({path})"),
        None => path.to_owned(),
    }
}

fn flag_of(field: &str) -> Option<String> {
    if let Some((_, flag)) = OTHER_NAMES.iter().find(|(known, _)| *known == field) {
        return Some((*flag).to_owned());
    }
    let flag = flag_named_by(field.rsplit('.').next()?);
    let is_set_by_flag = field != IMPORTED_TIME_LIMIT && is_job_field(field) && has_flag(&flag);
    is_set_by_flag.then_some(flag)
}

/// The flag with the name of the key, without the unit.
fn flag_named_by(key: &str) -> String {
    let name = ["Seconds", "Ms"].into_iter().find_map(|unit| key.strip_suffix(unit)).unwrap_or(key);
    let mut flag = "--".to_owned();
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            flag.push('-');
        }
        flag.push(character.to_ascii_lowercase());
    }
    flag
}

/// Whether `rouse cron add` has the flag.
fn has_flag(flag: &str) -> bool {
    let command = Cli::command();
    let add = command.find_subcommand("cron").and_then(|cron| cron.find_subcommand("add"));
    add.is_some_and(|add| {
        add.get_arguments().any(|known| known.get_long() == flag.strip_prefix("--"))
    })
}

/// Whether the job document has a field with this path.
pub(super) fn is_job_field(path: &str) -> bool {
    has_field(job_schema(), path)
}

fn has_field(schema: &Value, path: &str) -> bool {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let field = &schema["properties"][key];
    let mut unions = ["oneOf", "anyOf"].into_iter().filter_map(|union| schema[union].as_array());
    (!field.is_null() && (rest.is_empty() || has_field(field, rest)))
        || unions.any(|branches| branches.iter().any(|branch| has_field(branch, path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields without a flag of their own: set by the engine, derived, or set with another field.
    const WITHOUT_FLAG: [&str; 10] = [
        "createdAtMs",
        "createdBy",
        "enabled",
        "id",
        "messageBy",
        "payload.kind",
        "payload.timeoutSeconds",
        "schedule.anchorMs",
        "schedule.kind",
        "updatedAtMs",
    ];

    fn leaf_paths(schema: &Value, path: &str, found: &mut Vec<String>) {
        let unions = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array());
        unions.flatten().for_each(|branch| leaf_paths(branch, path, found));
        let Some(fields) = schema["properties"].as_object() else {
            let is_leaf = schema["oneOf"].is_null() && schema["anyOf"].is_null();
            return found.extend(is_leaf.then(|| path.to_owned()));
        };
        for (key, field) in fields {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            leaf_paths(field, &path, found);
        }
    }

    fn schema_paths() -> Vec<String> {
        let mut paths = Vec::new();
        leaf_paths(job_schema(), "", &mut paths);
        assert!(paths.len() > 60, "{paths:?}");
        paths.retain(|path| !path.starts_with("state."));
        paths.sort();
        paths.dedup();
        paths
    }

    #[test]
    fn each_schema_field_has_a_flag_or_a_reason() {
        let mut paths = schema_paths();
        paths.retain(|path| flag_of(path).is_none());
        assert_eq!(paths, WITHOUT_FLAG);
    }

    #[test]
    fn flag_derived_from_a_key_belongs_to_one_field() {
        let mut paths = schema_paths();
        paths.retain(|path| OTHER_NAMES.iter().all(|(known, _)| known != path));
        let mut flags: Vec<String> = paths.iter().filter_map(|path| flag_of(path)).collect();
        flags.sort();
        let shared: Vec<_> = flags.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(shared.is_empty(), "{shared:?}");
    }

    #[test]
    fn label_is_flag_and_path() {
        assert_eq!(label_of("schedule.expr"), "--cron (schedule.expr)");
        assert_eq!(label_of("policies.cooldownSeconds"), "--cooldown (policies.cooldownSeconds)");
        assert_eq!(label_of("policies.misfire"), "--misfire (policies.misfire)");
        assert_eq!(label_of("policies.quietHours"), "--quiet-hours (policies.quietHours)");
        assert_eq!(label_of("payload.tools[2]"), "--tools (payload.tools[2])");
        assert_eq!(label_of("schedule.filters.status"), "--filter (schedule.filters.status)");
        assert_eq!(
            label_of("policies.quietHours.days[0]"),
            "--quiet-days (policies.quietHours.days[0])"
        );
        assert_eq!(label_of("gateway.port"), "gateway.port");
    }

    #[test]
    fn each_flag_with_another_name_exists() {
        for (field, flag) in OTHER_NAMES {
            assert!(has_flag(flag), "{flag} for {field}");
        }
    }
}
