//! `rouse cron list`, and one job in words.
//!
//! The list ends with the heartbeat, which is no job and fires as well. With `--json` it stands beside the jobs, not among
//! them: a script that goes through the jobs must not meet what is none.

use std::collections::HashSet;

use rouse_core::Clock as _;
use rouse_core::job::facts;
use rouse_gateway::wire::{
    BrokenJob, CronListResult, CronStatus, IncidentView, JobView, RunState, SpentView,
};
use serde_json::{Value, json};

use super::budget::spent_in_words;
use super::{author, start, warn_of};
use crate::exit::Failure;
use crate::heartbeat;
use crate::output::{instant, instant_in, plain, print, relative, short, table};
use crate::runs;
use crate::session::Session;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Also jobs that are switched off.
    #[arg(long)]
    all: bool,
    /// Words in name, description or payload, or the beginning of an id.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// At most so many; all of them without it.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

/// Most jobs that the gateway hands out at once.
const PAGE: usize = 500;

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let most = args.limit.map_or(usize::MAX, |limit| limit as usize);
    let mut list = read(session, args.all, args.search.as_deref(), most).await?;
    if session.json {
        list["heartbeat"] = session.call("heartbeat.status", json!({})).await?;
        return session.tell(list, |_, _: CronListResult| Ok(()));
    }
    let status: CronStatus = serde_json::from_value(session.call("cron.status", json!({})).await?)?;
    let paused = match args.all || args.search.is_some() {
        true => Vec::new(),
        false => paused_after_failures(session, &status).await?,
    };
    warn_of(session, &status, "no job fires");
    let list: CronListResult = serde_json::from_value(list)?;
    if list.jobs.is_empty() {
        anstream::println!("{}", none_in_words(&args, &status));
    } else {
        print_table(session, &list.jobs);
    }
    if let Some(sentence) = paused_in_words(&paused) {
        anstream::println!("{sentence}");
    }
    if !args.all && args.search.is_none() && !list.jobs.is_empty() {
        let off = status.jobs.saturating_sub(status.enabled_jobs) as usize;
        let others = off.saturating_sub(paused.len());
        if let Some(sentence) = off_in_words(others, !paused.is_empty()) {
            anstream::println!("{sentence}");
        }
    }
    print_broken(&list.broken);
    if list.next_cursor.is_some() {
        anstream::println!("There are more. See all of them without --limit.");
    }
    if args.search.is_none() {
        let heartbeat = session.call("heartbeat.status", json!({})).await?;
        let status = serde_json::from_value(heartbeat)?;
        anstream::println!("{}", heartbeat::line(session, &status).await?);
    }
    Ok(())
}

/// Why no job is listed, and what to do.
fn none_in_words(args: &Args, status: &CronStatus) -> &'static str {
    match args.search {
        Some(_) => "No job matches.",
        None if args.all || status.jobs == 0 => {
            "No jobs yet. Make one: rouse cron add --at 20m --system-event \"Stretch your legs\""
        }
        None => "No job is switched on. See all of them: rouse cron list --all",
    }
}

/// How many jobs are off, beside those that were told already.
fn off_in_words(count: usize, beside_others: bool) -> Option<String> {
    let more = if beside_others { " more" } else { "" };
    let verb = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| format!("{count}{more} {verb} off: rouse cron list --all"))
}

/// The names of the jobs that Rouse has switched off because they failed again and again.
async fn paused_after_failures(
    session: &Session,
    status: &CronStatus,
) -> Result<Vec<String>, Failure> {
    if status.failing_jobs == 0 {
        return Ok(Vec::new());
    }
    let all: CronListResult = serde_json::from_value(read(session, true, None, usize::MAX).await?)?;
    let is_paused = |view: &&JobView| {
        let incident = view.incident.as_ref();
        view.job["enabled"] == false && incident.is_some_and(|open| open.paused_because.is_some())
    };
    Ok(all.jobs.iter().filter(is_paused).map(|view| text(&view.job, "name").to_owned()).collect())
}

/// Nobody who looks at the list may think that such a job runs, or that it is gone.
fn paused_in_words(names: &[String]) -> Option<String> {
    let shown: Vec<String> = names.iter().take(3).map(|name| short(name, 32)).collect();
    let shown = plain(&shown.join(", "));
    let (count, verb) = match names.len() {
        0 => return None,
        1 => ("1 job".to_owned(), "is"),
        count => (format!("{count} jobs"), "are"),
    };
    let more = if names.len() > 3 { ", …" } else { "" };
    Some(format!(
        "{count} {verb} paused after failures: {shown}{more}. See {}: rouse cron list --all",
        if names.len() == 1 { "it" } else { "them" }
    ))
}

/// The first `most` jobs, page by page, as one answer of `cron.list`.
pub(super) async fn read(
    session: &Session,
    include_disabled: bool,
    search: Option<&str>,
    most: usize,
) -> Result<Value, Failure> {
    let (mut jobs, mut broken, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    let mut cursor = Value::Null;
    loop {
        let params = json!({
            "includeDisabled": include_disabled,
            "search": search,
            "limit": PAGE.min(most - jobs.len()),
            "cursor": cursor,
        });
        let mut page = session.call("cron.list", params).await?;
        if let Value::Array(views) = page["jobs"].take() {
            // A job that fires between two pages moves behind them both.
            let is_new = |view: &Value| seen.insert(text(&view["job"], "id").to_owned());
            jobs.extend(views.into_iter().filter(is_new));
        }
        if let Value::Array(unreadable) = page["broken"].take() {
            let is_new = |job: &Value| seen.insert(text(job, "id").to_owned());
            broken.extend(unreadable.into_iter().filter(is_new));
        }
        cursor = page["nextCursor"].take();
        if cursor.is_null() || jobs.len() >= most {
            return Ok(json!({ "jobs": jobs, "broken": broken, "nextCursor": cursor }));
        }
    }
}

fn print_table(session: &Session, jobs: &[JobView]) {
    let now = session.clock.now().0;
    let has_spent = jobs.iter().any(|view| view.spent_this_month != SpentView::default());
    let columns = ["ID", "NAME", "WHEN", "NEXT", "LAST", "THIS MONTH"];
    let mut table = table(if has_spent { &columns } else { &columns[..5] });
    for view in jobs {
        let job = &view.job;
        let mut row = vec![
            plain(text(job, "id")).chars().take(8).collect(),
            format!("{}{}", short(text(job, "name"), 32), author::beside_name(job)),
            format!("{}{}", plain(&view.schedule_text), foreign_zone(session, view)),
            next(session, view, now),
            last(view),
        ];
        row.extend(has_spent.then(|| spent_in_words(view.spent_this_month).unwrap_or_default()));
        table.add_row(row);
    }
    print(&table);
}

/// Jobs that do not fire because nobody can read them, and what to do.
fn print_broken(broken: &[BrokenJob]) {
    for job in broken {
        let (name, reason) = (short(&job.name, 60), plain(&short(&job.reason, 300)));
        anstream::println!("{name} does not fire. {reason}");
        anstream::println!("  Delete it: rouse cron rm {}", plain(&job.id));
    }
}

/// One job in words.
pub(crate) fn print_one(session: &Session, view: &JobView) {
    let job = &view.job;
    let now = session.clock.now().0;
    anstream::println!("{}  {}", plain(text(job, "id")), plain(text(job, "name")));
    if let Some(description) = job["description"].as_str() {
        for line in plain(description).lines() {
            anstream::println!("  {line}");
        }
    }
    anstream::println!("  when   {}{}", plain(&view.schedule_text), foreign_zone(session, view));
    anstream::println!("  next   {}", next(session, view, now));
    for (about, text) in facts(job) {
        for line in fact_lines(about, &text) {
            anstream::println!("{}", format!("  {line}").trim_end());
        }
    }
    for line in author::lines(job) {
        anstream::println!("  {line}");
    }
    if let Some(state) = job["state"]["lastState"].as_str() {
        let error = job["state"]["lastError"]
            .as_str()
            .and_then(|error| error.lines().next())
            .map(|error| format!(": {}", plain(error)))
            .unwrap_or_default();
        anstream::println!("  last   {state}{error}");
    }
    if let Some(spent) = spent_in_words(view.spent_this_month) {
        anstream::println!("  spent  {spent} this month");
    }
    if let Some(incident) = &view.incident {
        print_incident(session, view, incident);
    }
}

/// A fact of any number of lines; none of them can look like another fact.
pub(super) fn fact_lines(name: &str, text: &str) -> Vec<String> {
    let named = |(number, line)| format!("{:<6} {line}", if number == 0 { name } else { "" });
    text.lines().enumerate().map(named).map(|line| line.trim_end().to_owned()).collect()
}

/// What can be typed next about a job that was just made.
pub(super) fn print_ways(view: &JobView) {
    let id: String = plain(text(&view.job, "id")).chars().take(8).collect();
    let change = match view.job["schedule"]["kind"].as_str() {
        Some("at") => "--at 1h",
        Some("every") => "--every 2h",
        Some("cron") => "--cron \"0 8 * * *\"",
        _ => "--name \"Another name\"",
    };
    // One that is off, or has had its time, is never due.
    let force = if start::has_slots(&view.job) { " --force" } else { "" };
    anstream::println!("Change it, for example: rouse cron edit {id} {change}");
    anstream::println!("Try it now: rouse cron run {id}{force}");
}

/// How the newest run ended; of a job that fails again and again, how often, and whether its result could be checked.
fn last(view: &JobView) -> String {
    let state = view.job["state"]["lastState"].as_str().unwrap_or("-");
    match &view.incident {
        Some(incident) if incident.paused_because.is_some() => format!("{state}, paused"),
        Some(_) if state == "succeeded" => format!("{state}, not checked"),
        Some(incident) if incident.count > 1 => format!("{state}, {} times", incident.count),
        _ => state.to_owned(),
    }
}

/// Why a job fails, and what to do when it was paused for it.
fn print_incident(session: &Session, view: &JobView, incident: &IncidentView) {
    let (now, zone) = (session.clock.now().0, session.clock.zone());
    let since = instant(incident.opened_at_ms, now, zone);
    let cause = plain(&short(&incident.cause, 200));
    anstream::println!("  fails  since {since}, {}: {cause}", times(incident.count));
    if let Some(reason) = &incident.paused_because {
        let id: String = plain(text(&view.job, "id")).chars().take(8).collect();
        anstream::println!("  paused {}. Resume it: rouse cron enable {id}", plain(reason));
    }
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times, same cause") }
}

fn next(session: &Session, view: &JobView, now: i64) -> String {
    let job = &view.job;
    match job["state"]["nextRunAtMs"].as_i64() {
        Some(at) => {
            let its = view.zone.as_deref().and_then(|zone| session.clock.zones().zone(zone));
            let words = instant_in(at, now, session.clock.zone(), its);
            format!("{words} ({})", relative(at, now))
        }
        None if view.predecessor_is_gone => "never: the job it waits for is gone".to_owned(),
        None if job["enabled"] == false => "off".to_owned(),
        None if job["schedule"]["kind"] == "manual" => "by hand".to_owned(),
        None if job["schedule"]["kind"] == "event" => "on an event".to_owned(),
        None if job["schedule"]["kind"] == "webhook" => "by its webhook".to_owned(),
        None if job["schedule"]["kind"] == "at" => over(view).to_owned(),
        None => "done".to_owned(),
    }
}

/// What became of a one-shot whose time is behind it, in the words of the window: only one that went well is done.
fn over(view: &JobView) -> &'static str {
    if !view.live_run_ids.is_empty() {
        return "under way";
    }
    let last = view.job["state"]["lastState"].clone();
    match serde_json::from_value(last) {
        Ok(RunState::Succeeded | RunState::NothingToReport) => "done",
        Ok(RunState::Skipped | RunState::Missed) => "left out",
        Ok(other) => runs::state(other),
        // None has ended yet, and none is at work: it waits for an answer.
        Err(_) => "under way",
    }
}

/// The zone is named where it is not this computer's.
fn foreign_zone(session: &Session, view: &JobView) -> String {
    match &view.zone {
        Some(zone) if zone != session.clock.zone().name() => format!(" · {zone}"),
        _ => String::new(),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{off_in_words, paused_in_words};

    #[test]
    fn jobs_that_were_paused_are_told_by_name() {
        let names = |count: usize| (1..=count).map(|n| format!("Job {n}")).collect::<Vec<_>>();
        let told = |count| paused_in_words(&names(count));
        assert_eq!(told(0), None);
        assert_eq!(
            told(1).as_deref(),
            Some("1 job is paused after failures: Job 1. See it: rouse cron list --all")
        );
        assert_eq!(
            told(4).as_deref(),
            Some(
                "4 jobs are paused after failures: Job 1, Job 2, Job 3, …. See them: rouse cron list --all"
            )
        );
    }

    #[test]
    fn jobs_that_are_off_are_counted_once() {
        assert_eq!(off_in_words(0, true), None);
        assert_eq!(off_in_words(1, false).as_deref(), Some("1 is off: rouse cron list --all"));
        assert_eq!(off_in_words(3, true).as_deref(), Some("3 more are off: rouse cron list --all"));
    }
}
