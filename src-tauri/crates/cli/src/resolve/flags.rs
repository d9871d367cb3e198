//! The flag of each job field, for errors about fields.
//!
//! The flag of a field has the name of its key without the unit: `cooldownSeconds` has `--cooldown`. Owns the list of
//! other names and the list of fields without a flag, which keep their path. Never reads the command line; a test
//! compares both.
//! Pitfall: two fields with the same key. A test names them; only one may have the derived flag.

use rouse_core::job::job_schema;
use serde_json::Value;

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

/// Fields without a flag of their own: groups, set by the engine, derived, or set with another field. `--timeout` sets
/// the time limit of the policies, and `payload.timeoutSeconds` is of an imported job.
const WITHOUT_FLAG: [&str; 17] = [
    "createdAtMs",
    "createdBy",
    "enabled",
    "id",
    "isolation",
    "messageBy",
    "payload",
    "payload.kind",
    "payload.timeoutSeconds",
    "policies",
    "policies.budget",
    "runtime",
    "schedule",
    "schedule.anchorMs",
    "schedule.kind",
    "state",
    "updatedAtMs",
];

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
    let has_no_flag = WITHOUT_FLAG.contains(&field) || field.starts_with("state.");
    if has_no_flag || !is_job_field(field) {
        return None;
    }
    field.rsplit('.').next().map(flag_named_by)
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
    use clap::CommandFactory as _;

    use super::*;
    use crate::command_line::Cli;

    /// Whether `rouse cron add` has the flag.
    fn has_flag(flag: &str) -> bool {
        let command = Cli::command();
        let add = command.find_subcommand("cron").and_then(|cron| cron.find_subcommand("add"));
        add.is_some_and(|add| {
            add.get_arguments().any(|known| known.get_long() == flag.strip_prefix("--"))
        })
    }

    /// Adds the paths of all fields and groups of fields.
    fn add_paths(schema: &Value, path: &str, found: &mut Vec<String>) {
        let unions = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array());
        unions.flatten().for_each(|branch| add_paths(branch, path, found));
        for (key, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            add_paths(field, &path, found);
            found.push(path);
        }
    }

    fn schema_paths() -> Vec<String> {
        let mut paths = Vec::new();
        add_paths(job_schema(), "", &mut paths);
        assert!(paths.len() > 60, "{paths:?}");
        paths.retain(|path| !path.starts_with("state."));
        paths.sort();
        paths.dedup();
        paths
    }

    #[test]
    fn each_schema_field_has_a_flag_or_a_reason() {
        let paths = schema_paths();
        for path in &paths {
            let flag = flag_of(path);
            assert!(flag.as_deref().is_none_or(has_flag), "{flag:?} for {path}");
        }
        assert!(WITHOUT_FLAG.iter().all(|path| paths.iter().any(|known| known == path)));
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
