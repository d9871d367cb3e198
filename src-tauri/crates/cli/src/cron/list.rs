//! `rouse cron list`, and one job in words.

use rouse_core::Clock as _;
use rouse_gateway::wire::{CronListResult, JobView};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{instant, plain, print, relative, short, table};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also jobs that are switched off.
    #[arg(long)]
    all: bool,
    /// Words in name or description.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let nothing = match (&args.search, args.all) {
        (Some(_), _) => "No job matches.",
        (None, true) => {
            "No jobs yet. Make one: rouse cron add --at 20m --system-event \"Stretch your legs\""
        }
        (None, false) => "No job is switched on. See all of them: rouse cron list --all",
    };
    let params = json!({ "includeDisabled": args.all, "search": args.search });
    session
        .show("cron.list", params, |session, list: CronListResult| {
            if list.jobs.is_empty() {
                anstream::println!("{nothing}");
                return Ok(());
            }
            print_table(session, &list.jobs);
            Ok(())
        })
        .await
}

fn print_table(session: &Session, jobs: &[JobView]) {
    let now = session.clock.now().0;
    let mut table = table(&["ID", "NAME", "WHEN", "NEXT", "LAST"]);
    for view in jobs {
        let job = &view.job;
        table.add_row([
            plain(text(job, "id")).chars().take(8).collect(),
            short(text(job, "name"), 32),
            format!("{}{}", view.schedule_text, foreign_zone(session, view)),
            next(session, job, now),
            job["state"]["lastState"].as_str().unwrap_or("-").to_owned(),
        ]);
    }
    print(&table);
}

/// One job in words.
pub(crate) fn print_one(session: &Session, view: &JobView) {
    let job = &view.job;
    let now = session.clock.now().0;
    anstream::println!("{}  {}", plain(text(job, "id")), plain(text(job, "name")));
    if let Some(description) = job["description"].as_str() {
        anstream::println!("  {}", plain(description));
    }
    anstream::println!("  when   {}{}", view.schedule_text, foreign_zone(session, view));
    anstream::println!("  next   {}", next(session, job, now));
    anstream::println!("  does   {}", payload(job));
    if let Some(state) = job["state"]["lastState"].as_str() {
        let error = job["state"]["lastError"]
            .as_str()
            .map(|error| format!(": {}", plain(error)))
            .unwrap_or_default();
        anstream::println!("  last   {state}{error}");
    }
}

fn next(session: &Session, job: &Value, now: i64) -> String {
    match job["state"]["nextRunAtMs"].as_i64() {
        Some(at) => format!("{} ({})", instant(at, now, session.clock.zone()), relative(at, now)),
        None if job["enabled"] == false => "off".to_owned(),
        None if job["schedule"]["kind"] == "manual" => "by hand".to_owned(),
        None => "done".to_owned(),
    }
}

/// The zone is named where it is not this computer's.
fn foreign_zone(session: &Session, view: &JobView) -> String {
    match &view.zone {
        Some(zone) if zone != session.clock.zone().name() => format!(" · {zone}"),
        _ => String::new(),
    }
}

fn payload(job: &Value) -> String {
    let payload = &job["payload"];
    let part = |key: &str| payload[key].as_str().unwrap_or_default();
    match part("kind") {
        "systemEvent" => format!("tells the main session: {}", short(part("text"), 80)),
        "agentTurn" => format!("asks the agent: {}", short(part("message"), 80)),
        _ => format!("calls {} {}", part("tool"), short(&payload["arguments"].to_string(), 60)),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}
