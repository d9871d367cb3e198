//! `rouse cron list`.
//!
//! The list ends with the heartbeat. With `--json` the heartbeat stands beside the jobs, so that scripts iterate over
//! jobs only.

use rouse_gateway::wire::{BrokenJob, CronListResult, CronStatus, HeartbeatStatus};
use serde_json::json;

use crate::render::heartbeat::summary_line;
use crate::render::job::print_job_table;
use crate::render::scheduler::warn_if_not_firing;
use crate::render::text::{escape, shorten};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::list_jobs;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Include disabled jobs
    #[arg(long)]
    all: bool,
    /// Words in name, description or payload, or an id prefix
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Maximum number of jobs [default: all]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let limit = args.limit.map_or(usize::MAX, |limit| limit as usize);
    let mut list = list_jobs(engine, args.all, args.search.as_deref(), limit).await?;
    if engine.json {
        list["heartbeat"] = engine.call("heartbeat.status", json!({})).await?;
        return engine.print_answer(list, |_, _: CronListResult| ());
    }
    let status: CronStatus = engine.fetch("cron.status", json!({})).await?;
    let paused = if args.all || args.search.is_some() {
        Vec::new()
    } else {
        list_paused_jobs(engine, &status).await?
    };
    warn_if_not_firing(engine, &status, "no job fires");
    let list: CronListResult = serde_json::from_value(list)?;
    if list.jobs.is_empty() {
        anstream::println!("{}", empty_list_text(&args, &status));
    } else {
        print_job_table(engine, &list.jobs);
    }
    if let Some(line) = paused_jobs_line(&paused) {
        anstream::println!("{line}");
    }
    if !args.all && args.search.is_none() && !list.jobs.is_empty() {
        let disabled = status.jobs.saturating_sub(status.enabled_jobs) as usize;
        let others = disabled.saturating_sub(paused.len());
        if let Some(line) = disabled_jobs_line(others, !paused.is_empty()) {
            anstream::println!("{line}");
        }
    }
    print_broken_jobs(&list.broken);
    if list.next_cursor.is_some() {
        anstream::println!("There are more jobs. See all without --limit.");
    }
    if args.search.is_none() {
        let heartbeat: HeartbeatStatus = engine.fetch("heartbeat.status", json!({})).await?;
        anstream::println!("{}", summary_line(engine, &heartbeat).await?);
    }
    Ok(())
}

fn empty_list_text(args: &Args, status: &CronStatus) -> &'static str {
    match args.search {
        Some(_) => "No job matches.",
        None if args.all || status.jobs == 0 => {
            "No jobs yet. Add a job: rouse cron add --at 20m --system-event \"Stretch your legs\""
        }
        None => "No job is enabled. See all: rouse cron list --all",
    }
}

/// The number of disabled jobs, without the paused jobs.
fn disabled_jobs_line(count: usize, has_paused: bool) -> Option<String> {
    let more = if has_paused { " more" } else { "" };
    let verb = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| format!("{count}{more} {verb} off: rouse cron list --all"))
}

/// The names of the jobs that are paused after failures.
async fn list_paused_jobs(
    engine: &EngineConnection,
    status: &CronStatus,
) -> Result<Vec<String>, CliError> {
    if status.failing_jobs == 0 {
        return Ok(Vec::new());
    }
    let all: CronListResult =
        serde_json::from_value(list_jobs(engine, true, None, usize::MAX).await?)?;
    let paused = all.jobs.iter().filter(|view| {
        let incident = view.incident.as_ref();
        view.job["enabled"] == false && incident.is_some_and(|open| open.paused_because.is_some())
    });
    Ok(paused.map(|view| view.job["name"].as_str().unwrap_or_default().to_owned()).collect())
}

/// Paused jobs are absent from the list of enabled jobs, so a line names the paused jobs.
fn paused_jobs_line(names: &[String]) -> Option<String> {
    let shown: Vec<String> = names.iter().take(3).map(|name| shorten(name, 32)).collect();
    let shown = escape(&shown.join(", "));
    let (count, verb) = match names.len() {
        0 => return None,
        1 => ("1 job".to_owned(), "is"),
        count => (format!("{count} jobs"), "are"),
    };
    let more = if names.len() > 3 { ", …" } else { "" };
    Some(format!(
        "{count} {verb} paused after failures: {shown}{more}. See all: rouse cron list --all"
    ))
}

/// Prints the unreadable jobs with delete commands.
fn print_broken_jobs(broken: &[BrokenJob]) {
    for job in broken {
        let (name, reason) = (shorten(&job.name, 60), escape(&shorten(&job.reason, 300)));
        anstream::println!("{name} does not fire. {reason}");
        anstream::println!("  Delete it: rouse cron rm {}", escape(&job.id));
    }
}

#[cfg(test)]
mod tests {
    use super::{disabled_jobs_line, paused_jobs_line};

    #[test]
    fn paused_jobs_are_named() {
        let names = |count: usize| (1..=count).map(|n| format!("Job {n}")).collect::<Vec<_>>();
        let line = |count| paused_jobs_line(&names(count));
        assert_eq!(line(0), None);
        assert_eq!(
            line(1).as_deref(),
            Some("1 job is paused after failures: Job 1. See all: rouse cron list --all")
        );
        assert_eq!(
            line(4).as_deref(),
            Some(
                "4 jobs are paused after failures: Job 1, Job 2, Job 3, …. See all: rouse cron list --all"
            )
        );
    }

    #[test]
    fn disabled_jobs_are_counted_once() {
        let line = |count, has_paused| disabled_jobs_line(count, has_paused);
        assert_eq!(line(0, true), None);
        assert_eq!(line(1, false).as_deref(), Some("1 is off: rouse cron list --all"));
        assert_eq!(line(3, true).as_deref(), Some("3 more are off: rouse cron list --all"));
    }
}
