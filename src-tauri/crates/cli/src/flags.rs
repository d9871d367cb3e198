//! Which flag sets a field of a job, so that an error about the field says what to type.
//!
//! It refuses to guess: a field without a flag of its own is called by its path alone.

const FLAGS: [(&str, &str); 58] = [
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
    ("payload.contextPaths", "--context-paths"),
    ("payload.skills", "--skills"),
    ("policies.misfire.maxLatenessSeconds", "--max-lateness"),
    ("policies.misfire.limit", "--misfire-limit"),
    ("policies.misfire", "--misfire"),
    ("policies.overlap", "--overlap"),
    ("policies.maxConcurrent", "--max-concurrent"),
    ("policies.cooldownSeconds", "--cooldown"),
    ("policies.pauseAfterFailures", "--pause-after"),
    ("policies.notify", "--notify"),
    ("policies.approvals", "--approvals"),
    ("policies.approvalSeconds", "--approval-time"),
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

/// The path with the flag that sets it: `--cron (schedule.expr)`.
pub(crate) fn named(path: &str) -> String {
    let whole = path.split('[').next().unwrap_or(path);
    let around = whole.rsplit_once('.').map_or(whole, |(around, _)| around);
    // The fields of an event are the person's own words.
    let whole = FLAGS.iter().find(|(known, _)| *known == whole);
    let filter =
        || FLAGS.iter().find(|(known, _)| *known == around && *known == "schedule.filters");
    match whole.or_else(filter) {
        Some((_, flag)) => format!("{flag} ({path})"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{FLAGS, named};

    #[test]
    fn a_field_is_called_by_its_flag() {
        assert_eq!(named("schedule.expr"), "--cron (schedule.expr)");
        assert_eq!(named("payload.tools[2]"), "--tools (payload.tools[2])");
        assert_eq!(named("schedule.filters.status"), "--filter (schedule.filters.status)");
        assert_eq!(
            named("policies.quietHours.days[0]"),
            "--quiet-days (policies.quietHours.days[0])"
        );
        assert_eq!(named("gateway.port"), "gateway.port");
    }

    #[test]
    fn every_flag_that_is_named_can_be_typed() {
        let command = crate::Cli::command();
        let cron = command.find_subcommand("cron").expect("cron");
        let add = cron.find_subcommand("add").expect("add");
        let has = |flag: &str| add.get_arguments().any(|known| known.get_long() == Some(flag));
        for (path, flag) in FLAGS {
            assert!(has(flag.trim_start_matches("--")), "{flag} for {path}");
        }
    }
}
