//! The flag of each job field, for errors about fields.
//!
//! A field without a flag keeps its path. A test lists the fields of the job schema without a flag.

const FLAGS: [(&str, &str); 59] = [
    ("name", "--name"),
    ("description", "--description"),
    ("deleteAfterRun", "--delete-after-run"),
    ("sessionTarget", "--session"),
    ("wakeMode", "--wake"),
    ("schedule.atMs", "--at"),
    ("schedule.everyMs", "--every"),
    ("schedule.expr", "--cron"),
    ("schedule.tz", "--tz"),
    ("schedule.jitterMs", "--jitter"),
    ("schedule.source", "--on-event"),
    ("schedule.filters.jobId", "--after"),
    ("payload.text", "--system-event"),
    ("payload.message", "--message"),
    ("payload.tool", "--tool"),
    ("payload.arguments", "--arguments"),
    ("payload.notifyWhen.cel", "--notify-if"),
    ("payload.notifyWhen", "--notify-when"),
    ("payload.deliver", "--deliver"),
    ("payload.channel", "--channel"),
    ("payload.to", "--to"),
    ("payload.model", "--model"),
    ("payload.fallbacks", "--fallbacks"),
    ("payload.tools", "--tools"),
    ("payload.useTools", "--tools"),
    ("payload.maxSteps", "--max-steps"),
    ("payload.maxTokens", "--max-tokens"),
    ("payload.effort", "--effort"),
    ("payload.contextPaths", "--context-paths"),
    ("payload.skills", "--skills"),
    ("policies.misfire.maxLatenessSeconds", "--max-lateness"),
    ("policies.misfire.limit", "--misfire-limit"),
    ("policies.misfire", "--misfire"),
    ("policies.overlap", "--overlap"),
    ("policies.maxConcurrent", "--max-concurrent"),
    ("policies.cooldownSeconds", "--cooldown"),
    ("policies.pauseAfterFailures", "--pause-after-failures"),
    ("policies.notify", "--notify"),
    ("policies.approvals", "--approvals"),
    ("policies.approvalSeconds", "--approval-timeout"),
    ("policies.hosts", "--hosts"),
    ("policies.folders", "--folder"),
    ("policies.sandbox", "--sandbox"),
    ("policies.timeoutSeconds", "--timeout"),
    ("schedule.pattern", "--pattern"),
    ("schedule.filters", "--filter"),
    ("policies.misfire.mode", "--misfire"),
    ("policies.quietHours", "--quiet-hours"),
    ("policies.quietHours.from", "--quiet-hours"),
    ("policies.quietHours.to", "--quiet-hours"),
    ("policies.quietHours.tz", "--quiet-zone"),
    ("policies.quietHours.days", "--quiet-days"),
    ("policies.budget.tokensPerRun", "--tokens-per-run"),
    ("policies.budget.tokensPerDay", "--tokens-per-day"),
    ("policies.budget.usdPerRun", "--usd-per-run"),
    ("policies.budget.usdPerDay", "--usd-per-day"),
    ("isolation.postToMainPrefix", "--post-prefix"),
    ("runtime.maxAttempts", "--max-attempts"),
    ("runtime.retryBackoffMs", "--retry-backoff"),
];

/// Flag and path of a field: `--cron (schedule.expr)`.
pub(crate) fn label_of(path: &str) -> String {
    let field = path.split('[').next().unwrap_or(path);
    let known = |field: &str| FLAGS.iter().find(|(known, _)| *known == field);
    // The schema ends at the filters of an event.
    let parent = field.rsplit_once('.').map(|(parent, _)| parent);
    let filter = || parent.filter(|parent| *parent == "schedule.filters").and_then(known);
    match known(field).or_else(filter) {
        Some((_, flag)) => format!("{flag} ({path})"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use rouse_core::job::job_schema;
    use serde_json::Value;

    use super::{FLAGS, label_of};
    use crate::command_line::Cli;

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

    #[test]
    fn each_schema_field_has_a_flag_or_a_reason() {
        let mut paths = Vec::new();
        leaf_paths(job_schema(), "", &mut paths);
        assert!(paths.len() > 60, "{paths:?}");
        paths.retain(|path| !path.starts_with("state."));
        paths.retain(|path| !FLAGS.iter().any(|(known, _)| known == path));
        paths.sort();
        paths.dedup();
        assert_eq!(paths, WITHOUT_FLAG);
    }

    #[test]
    fn label_is_flag_and_path() {
        assert_eq!(label_of("schedule.expr"), "--cron (schedule.expr)");
        assert_eq!(label_of("payload.tools[2]"), "--tools (payload.tools[2])");
        assert_eq!(label_of("schedule.filters.status"), "--filter (schedule.filters.status)");
        assert_eq!(
            label_of("policies.quietHours.days[0]"),
            "--quiet-days (policies.quietHours.days[0])"
        );
        assert_eq!(label_of("gateway.port"), "gateway.port");
    }

    #[test]
    fn each_flag_of_table_exists() {
        let command = Cli::command();
        let cron = command.find_subcommand("cron").expect("cron");
        let add = cron.find_subcommand("add").expect("add");
        let has = |flag: &str| add.get_arguments().any(|known| known.get_long() == Some(flag));
        for (path, flag) in FLAGS {
            assert!(has(flag.trim_start_matches("--")), "{flag} for {path}");
        }
    }
}
