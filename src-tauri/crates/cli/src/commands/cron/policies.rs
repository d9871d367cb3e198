//! The flags of a job's policies, and the policies of the job document.

use clap::Args;
use rouse_core::job::{MisfireMode, Notify, Overlap, SessionTarget, WakeMode};
use serde_json::{Map, Value, json};

use super::budget::BudgetArgs;
use super::field_values::{
    channels_value, choice, milliseconds, parse_number, seconds, set, set_object, text_value,
};
use super::permissions::PermissionArgs;
use super::quiet_hours::QuietHoursArgs;
use crate::resolve::error::CliError;

/// The policies of a job. `none` or an empty text removes a setting.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policies")]
pub(crate) struct PolicyArgs {
    /// Description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Session of the runs: main, isolated [default: by payload]
    #[arg(hide = true, long, hide_possible_values = true, value_parser = choice::<SessionTarget>())]
    session: Option<SessionTarget>,
    /// Wake mode: now, next-heartbeat [default: now]
    #[arg(hide = true, long, hide_possible_values = true, value_parser = choice::<WakeMode>())]
    wake: Option<WakeMode>,
    /// Report prefix in the main session [default: Cron]
    #[arg(hide = true, long, value_name = "TEXT")]
    post_prefix: Option<String>,
    /// Delete the job after its first finished run [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true,
    )]
    delete_after_run: Option<bool>,
    /// Misfire policy: skip, run-once, run-all [default: run-once]
    #[arg(long, hide_possible_values = true, value_parser = choice::<MisfireMode>())]
    misfire: Option<MisfireMode>,
    /// Maximum lateness of a slot: 2h [default: no limit]
    #[arg(hide = true, long, value_name = "DURATION")]
    max_lateness: Option<String>,
    /// Maximum catch-up runs with --misfire run-all [default: 10]
    #[arg(hide = true, long, value_name = "N", value_parser = parse_number)]
    misfire_limit: Option<Value>,
    /// Overlap: skip, queue, parallel, cancel-other [default: skip]
    #[arg(long, hide_possible_values = true, value_parser = choice::<Overlap>())]
    overlap: Option<Overlap>,
    /// Maximum parallel runs with --overlap parallel [default: 2]
    #[arg(hide = true, long, value_name = "N", value_parser = parse_number)]
    max_concurrent: Option<Value>,
    /// Minimum time between two starts: 5m [default: none]
    #[arg(long, value_name = "DURATION")]
    cooldown: Option<String>,
    /// Consecutive failures before a pause: 3 [default: never]
    #[arg(long, alias = "pause-after", value_name = "N", value_parser = parse_number)]
    pause_after_failures: Option<Value>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Notify: always, findings, failure, never [default: findings]
    #[arg(long, hide_possible_values = true, value_parser = choice::<Notify>())]
    notify: Option<Notify>,
    /// Channels, comma-separated: phone,mail:anna@example.org [default: those of the settings]
    #[arg(long, value_name = "NAMES")]
    deliver_to: Option<String>,
    #[command(flatten)]
    quiet_hours: QuietHoursArgs,
    #[command(flatten)]
    permissions: PermissionArgs,
    /// Time limit of each attempt: 2h [default: 10m]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// Maximum attempts for transient errors [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_number)]
    max_attempts: Option<Value>,
    /// Time before the second attempt, doubling: 30s [default: 1s]
    #[arg(hide = true, long, value_name = "DURATION")]
    retry_backoff: Option<String>,
}

impl PolicyArgs {
    /// Sets the named policies in `job`: a new job, or the patch of a job with the policies `present`.
    pub(super) fn apply(
        &self,
        job: &mut Map<String, Value>,
        present: &Value,
    ) -> Result<(), CliError> {
        set(job, "description", text_value(self.description.as_deref()));
        set(job, "sessionTarget", self.session.map(|session| json!(session)));
        set(job, "wakeMode", self.wake.map(|wake| json!(wake)));
        set(
            job,
            "isolation",
            text_value(self.post_prefix.as_deref())
                .map(|prefix| json!({ "postToMainPrefix": prefix })),
        );
        set(job, "deleteAfterRun", self.delete_after_run);
        set_object(job, "runtime", self.runtime()?);
        set_object(job, "policies", self.policies()?);
        self.quiet_hours.check(job, present)
    }

    fn runtime(&self) -> Result<Map<String, Value>, CliError> {
        let mut runtime = Map::new();
        set(&mut runtime, "maxAttempts", self.max_attempts.clone());
        if let Some(backoff) = &self.retry_backoff {
            runtime.insert("retryBackoffMs".to_owned(), milliseconds(backoff, "retry-backoff")?);
        }
        Ok(runtime)
    }

    fn policies(&self) -> Result<Map<String, Value>, CliError> {
        let mut misfire = Map::new();
        set(&mut misfire, "mode", self.misfire.map(|mode| json!(mode)));
        set(&mut misfire, "limit", self.misfire_limit.clone());
        let mut policies = Map::new();
        set(&mut policies, "overlap", self.overlap.map(|overlap| json!(overlap)));
        set(&mut policies, "maxConcurrent", self.max_concurrent.clone());
        set(&mut policies, "pauseAfterFailures", self.pause_after_failures.clone());
        self.budget.apply(&mut policies);
        set(&mut policies, "notify", self.notify.map(|notify| json!(notify)));
        set(&mut policies, "deliverTo", channels_value(self.deliver_to.as_deref()));
        set(&mut policies, "quietHours", self.quiet_hours.to_json());
        self.permissions.apply(&mut policies)?;
        for (object, key, flag, duration) in [
            (&mut misfire, "maxLatenessSeconds", "max-lateness", &self.max_lateness),
            (&mut policies, "cooldownSeconds", "cooldown", &self.cooldown),
        ] {
            if let Some(text) = duration {
                object.insert(key.to_owned(), seconds(text, flag)?);
            }
        }
        if let Some(text) = &self.timeout {
            policies.insert("timeoutSeconds".to_owned(), seconds(text, "timeout")?);
        }
        set_object(&mut policies, "misfire", misfire);
        Ok(policies)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use serde_json::json;

    use crate::command_line::Cli;

    #[test]
    fn help_states_the_defaults() {
        let document = json!({
            "name": "Tea", "schedule": { "kind": "manual" },
            "payload": { "kind": "systemEvent", "text": "Tea" },
        });
        let job = rouse_core::job::job_from_json(document, rouse_core::UnixMs(0), chrono_tz::UTC);
        assert_eq!(job.expect("a job").timeout_seconds(), 600);
        let command = Cli::command();
        let cron = command.find_subcommand("cron").expect("cron");
        let add = cron.find_subcommand("add").expect("add");
        for (flag, default) in [
            ("delete-after-run", "[default: false]"),
            ("misfire", "[default: run-once]"),
            ("misfire-limit", "[default: 10]"),
            ("max-lateness", "[default: no limit]"),
            ("overlap", "[default: skip]"),
            ("max-concurrent", "[default: 2]"),
            ("jitter", "[default: none]"),
            ("cooldown", "[default: none]"),
            ("pause-after-failures", "[default: never]"),
            ("tokens-per-run", "[default: no limit]"),
            ("tokens-per-day", "[default: no limit]"),
            ("usd-per-run", "[default: no limit]"),
            ("usd-per-day", "[default: no limit]"),
            ("timeout", "[default: 10m]"),
            ("retry-backoff", "[default: 1s]"),
            ("notify", "[default: findings]"),
            ("deliver-to", "[default: those of the settings]"),
            ("notify-when", "[default: always]"),
            ("hosts", "[default: any public host]"),
            ("folder", "[default: none]"),
            ("fallbacks", "[default: none]"),
            ("max-tokens", "[default: the model's maximum]"),
            ("effort", "[default: the provider's]"),
            ("context-paths", "[default: none]"),
            ("skills", "[default: none]"),
        ] {
            let known = add.get_arguments().find(|known| known.get_long() == Some(flag));
            let help = known.and_then(|known| known.get_help()).expect("help").to_string();
            assert!(help.contains(default), "--{flag}: {help}");
        }
    }
}
