//! `rouse cron …`.

mod add;
mod author;
mod budget;
mod condition;
mod draft;
mod event;
mod offer;
mod quiet;
mod may;
pub(crate) use budget::spent_in_words;
pub(crate) use draft::{Wake, replacing};
mod edit;
mod list;
mod naming;
mod start;
mod transfer;
mod trigger;
mod webhook;

use clap::{Args, Subcommand};
use rouse_core::Clock as _;
use rouse_gateway::wire::{
    CronEstimateResult, CronPreviewResult, CronRemoveResult, CronRunsResult, CronStatus,
    GrantsListResult, JobView, JobWarning, SavedJob,
};
use serde_json::json;

use crate::exit::Failure;
use crate::session::Session;
use crate::{grants, ids, output, runs, status};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List jobs, soonest first.
    #[command(alias = "ls")]
    List(list::Args),
    /// Make a job.
    #[command(aliases = ["new", "create"], before_help = add::EXAMPLES)]
    Add(Box<add::Args>),
    /// Change a job; only what is named changes.
    Edit(Box<edit::Args>),
    /// Delete a job. Its runs stay in the history.
    #[command(aliases = ["delete", "remove"])]
    Rm(JobArg),
    /// Show one job.
    Show(JobArg),
    /// Let a job fire again, from its next slot on.
    Enable(JobArg),
    /// Keep a job from firing.
    Disable(JobArg),
    /// Run a job: when it is due, or at once with --force. One without a schedule runs at once. Its schedule does not move.
    Run(start::Args),
    /// The runs of a job, newest first.
    Runs(RunsArgs),
    /// Where a job's webhook is; its secret is shown when it is made.
    Webhook(webhook::Args),
    /// Whether jobs fire, and what comes next.
    Status,
    /// When a schedule would fire.
    Preview(PreviewArgs),
    /// What a condition says of a job's last result.
    TryCondition(condition::Args),
    /// Pause everything.
    Pause(PauseArgs),
    /// End the pause.
    Resume,
    /// Write jobs as JSON.
    Export(transfer::ExportArgs),
    /// Read jobs from JSON or a crontab; they arrive switched off.
    Import(transfer::ImportArgs),
}

impl Default for Command {
    fn default() -> Self {
        Self::List(list::Args::default())
    }
}

/// A job, by id or by the beginning of its id.
#[derive(Debug, Args)]
pub(crate) struct JobArg {
    /// The job's id (as `rouse cron list` shows it), or its exact name.
    id: String,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct RunsArgs {
    /// The job's id (as `rouse cron list` shows it), or its exact name.
    #[arg(group = "which", value_name = "ID")]
    job: Option<String>,
    /// The same as a flag.
    #[arg(long, group = "which")]
    id: Option<String>,
    /// At most so many.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    #[command(flatten)]
    schedule: trigger::ScheduleArgs,
    /// How many, at most 50.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    count: u32,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// How long (`2h`), or until when; without it until `rouse cron resume`.
    until: Option<String>,
    /// The same as a flag.
    #[arg(long = "for", value_name = "DURATION", conflicts_with = "until")]
    lasting: Option<String>,
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List(args) => list::run(args, session).await,
        Command::Add(args) => add::run(*args, session).await,
        Command::Edit(args) => edit::run(*args, session).await,
        Command::Rm(job) => remove(job, session).await,
        Command::Show(job) => show(job, session).await,
        Command::Enable(job) => edit::set_enabled(&job.id, true, session).await,
        Command::Disable(job) => edit::set_enabled(&job.id, false, session).await,
        Command::Run(args) => start::run(args, session).await,
        Command::Runs(args) => history(args, session).await,
        Command::Webhook(args) => webhook::run(args, session).await,
        Command::Status => session.show("cron.status", json!({}), print_status).await,
        Command::Preview(args) => preview(args, session).await,
        Command::TryCondition(args) => condition::run(args, session).await,
        Command::Pause(args) => pause(args, session).await,
        Command::Resume => session.show("cron.resume", json!({}), print_status).await,
        Command::Export(args) => transfer::export(args, session).await,
        Command::Import(args) => transfer::import(args, session).await,
    }
}

/// A full id, the beginning of one, or an exact name → the id.
pub(crate) async fn resolve(session: &Session, wanted: &str) -> Result<String, Failure> {
    // Every id begins with nothing at all: an unset variable in a script must not name the only job there is.
    if wanted.trim().is_empty() {
        return Err(Failure::input(
            "name the job by its id, the beginning of its id, or its exact name",
        ));
    }
    if ids::is_whole(wanted) {
        return Ok(wanted.to_owned());
    }
    let list = list::read(session, true, Some(wanted), usize::MAX).await?;
    let list: rouse_gateway::wire::CronListResult = serde_json::from_value(list)?;
    let of = |matches: &dyn Fn(&serde_json::Value) -> bool| -> Vec<&JobView> {
        list.jobs.iter().filter(|view| matches(&view.job)).collect()
    };
    let exact = of(&|job| job["id"] == wanted || job["name"] == wanted);
    let found = if exact.is_empty() {
        of(&|job| job["id"].as_str().is_some_and(|id| id.starts_with(wanted)))
    } else {
        exact
    };
    match found.as_slice() {
        [] => Err(none_called(session, wanted).await?),
        [one] => Ok(id_of(one).to_owned()),
        several => Err(several_called(wanted, several)),
    }
}

fn id_of(view: &JobView) -> &str {
    view.job["id"].as_str().unwrap_or_default()
}

/// That a word could mean each of these jobs, with what tells them apart.
fn several_called(wanted: &str, views: &[&JobView]) -> Failure {
    let beginning = |view: &JobView| id_of(view).chars().take(8).collect::<String>();
    let beginnings: Vec<String> = views.iter().map(|view| beginning(view)).collect();
    let is_enough = (1..beginnings.len()).all(|at| !beginnings[..at].contains(&beginnings[at]));
    let line = |(view, beginning): (&&JobView, &String)| {
        let id = if is_enough { beginning } else { id_of(view) };
        let name = view.job["name"].as_str().unwrap_or_default();
        format!("  {id}  {name} \u{b7} {}", view.schedule_text)
    };
    let head = format!("`{wanted}` could be any of these jobs; give the id of one:");
    let lines = views.iter().zip(&beginnings).map(line);
    Failure::Input(std::iter::once(head).chain(lines).collect())
}

/// That there is no such job, with those whose names begin so or are spelled like it.
async fn none_called(session: &Session, wanted: &str) -> Result<Failure, Failure> {
    let all = list::read(session, true, None, usize::MAX).await?;
    let views = all["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> = views.iter().filter_map(|view| view["job"]["name"].as_str()).collect();
    Ok(none_of(&names, wanted))
}

fn none_of(names: &[&str], wanted: &str) -> Failure {
    let lower = wanted.to_lowercase();
    let mut begins = names.to_vec();
    begins.retain(|name| name.to_lowercase().starts_with(&lower));
    let see = "rouse cron list --all";
    let none = format!("There is no job {wanted}.");
    let quoted = |name: &&str| format!("\u{201c}{name}\u{201d}");
    match begins.as_slice() {
        [] => ids::unknown("job", wanted, names.iter().copied(), see),
        [one] => {
            ids::not_found(format!("{none} Did you mean {}? See all of them: {see}", quoted(one)))
        }
        several => {
            let shown: Vec<String> = several.iter().take(5).map(quoted).collect();
            let more = if several.len() > shown.len() { ", …" } else { "" };
            let shown = shown.join(", ");
            ids::not_found(format!(
                "{none} Names that begin so: {shown}{more}. See all of them: {see}"
            ))
        }
    }
}

async fn remove(job: JobArg, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, &job.id).await?;
    let answer =
        session.call("cron.remove", json!({ "id": id, "runId": runs::inside_of() })).await?;
    // To the gateway a job that is gone already is a success; a script wants to know.
    if answer["job"].is_null() {
        return Err(ids::not_found(format!("There is no job {id}.")));
    }
    session.tell(answer, |_, result: CronRemoveResult| {
        let name = result.job.as_ref().and_then(|job| job["name"].as_str()).unwrap_or(&id);
        anstream::println!("Deleted {}. Its runs stay in the history.", output::plain(name));
        match result.ended_runs {
            0 => {}
            1 => anstream::println!("Its run that was at work is being ended."),
            runs => anstream::println!("Its {runs} runs that were at work are being ended."),
        }
        if result.goes_on {
            anstream::println!("The run that has asked for it goes on, and what it says is told.");
        }
        if !result.followers.is_empty() {
            let names: Vec<&str> = result.followers.iter().map(|job| job.name.as_str()).collect();
            let names = output::plain(&names.join(", "));
            anstream::println!("These jobs waited for it and will not fire any more: {names}.");
        }
        Ok(())
    })
}

async fn show(job: JobArg, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, &job.id).await?;
    let answer = session.call("cron.get", json!({ "id": id })).await?;
    let estimate = match session.json || answer["job"]["payload"]["kind"] != "agentTurn" {
        true => None,
        false => {
            let params = json!({ "id": id, "schedule": answer["job"]["schedule"] });
            let estimate = session.call("cron.estimate", params).await?;
            Some(serde_json::from_value::<CronEstimateResult>(estimate)?)
        }
    };
    let granted = session.call("grants.list", json!({ "jobId": id })).await?;
    let granted: GrantsListResult = serde_json::from_value(granted)?;
    session.tell(answer, |session, view: JobView| {
        list::print_one(session, &view);
        let may = grants::lines(&granted.grants).join("\n");
        for line in list::fact_lines("may", &may) {
            anstream::println!("  {line}");
        }
        if let Some(estimate) = estimate {
            anstream::println!("  costs  {}", output::plain(&estimate.text));
        }
        Ok(())
    })
}

async fn history(args: RunsArgs, session: &Session) -> Result<(), Failure> {
    let wanted = args.job.or(args.id).unwrap_or_default();
    let id = runs::job_with_runs(session, &wanted).await?;
    session
        .show(
            "cron.runs",
            json!({ "id": id, "limit": args.limit }),
            |session, result: CronRunsResult| {
                runs::print_table(session, &result.entries);
                Ok(())
            },
        )
        .await
}

async fn preview(args: PreviewArgs, session: &Session) -> Result<(), Failure> {
    let schedule = args
        .schedule
        .to_json(session)
        .await?
        .ok_or_else(|| Failure::input(format!("say when: one of {}", trigger::WAYS)))?;
    session
        .show(
            "cron.preview",
            json!({ "schedule": schedule, "count": args.count }),
            |session, preview: CronPreviewResult| {
                anstream::println!("{} ({})", preview.text, preview.zone);
                let (now, here) = (session.clock.now().0, session.clock.zone());
                let its = session.clock.zones().zone(&preview.zone);
                for slot in &preview.next {
                    anstream::println!("  {}", output::instant_in(slot.at_ms, now, here, its));
                    if let Some(note) = &slot.note {
                        anstream::println!("    {note}");
                    }
                }
                for note in &preview.notes {
                    anstream::println!("{note}");
                }
                Ok(())
            },
        )
        .await
}

async fn pause(args: PauseArgs, session: &Session) -> Result<(), Failure> {
    let until = args.until.or(args.lasting);
    let until = until.as_deref().map(|text| session.instant("UNTIL", text)).transpose()?;
    session.show("cron.pause", json!({ "untilMs": until }), print_status).await
}

fn print_status(session: &Session, status: CronStatus) -> Result<(), Failure> {
    if let Some(problem) = &status.problem {
        anstream::println!("Problem: {}", output::plain(problem));
    }
    status::print_cron(session, &status);
    Ok(())
}

/// Prints the job that was just saved, and warns of what will keep it from doing what it says.
fn tell_saved(
    session: &Session,
    answer: serde_json::Value,
    print: impl FnOnce(&JobView),
) -> Result<(), Failure> {
    let saved: SavedJob = serde_json::from_value(answer.clone())?;
    session.tell(answer, |_, saved: SavedJob| {
        print(&saved.view);
        Ok(())
    })?;
    warn_about(&saved.warnings);
    Ok(())
}

/// Warns on standard error of what will keep the job that was just saved from doing what it says.
fn warn_about(warnings: &[JobWarning]) {
    for JobWarning { field, message } in warnings {
        let field = crate::flags::named(field);
        anstream::eprintln!("Warning: {}: {}", output::plain(&field), output::plain(message));
    }
}

/// Warns on standard error when the job that was just saved will not fire.
async fn warn_when_off(session: &Session) -> Result<(), Failure> {
    let status: CronStatus = serde_json::from_value(session.call("cron.status", json!({})).await?)?;
    warn_of(session, &status, "this job will not fire");
    Ok(())
}

/// Warns on standard error while nothing fires; `off` is what the kill switch means here.
fn warn_of(session: &Session, status: &CronStatus, off: &str) {
    if let Some(problem) = &status.problem {
        anstream::eprintln!("Warning: {}", output::plain(problem));
    }
    if !status.enabled {
        let reason = status.off_reason.as_deref().unwrap_or("firing is switched off");
        anstream::eprintln!("Warning: {off}. {reason}");
    } else if let Some(pause) = &status.pause {
        let (now, zone) = (session.clock.now().0, session.clock.zone());
        let until = match pause.until_ms {
            None => "`rouse cron resume`".to_owned(),
            Some(at) => output::instant(at, now, zone),
        };
        anstream::eprintln!(
            "Warning: everything is paused until {until}. What comes before that is left out."
        );
    }
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::SpentView;

    use super::*;

    fn view(id: &str, when: &str) -> JobView {
        JobView {
            job: json!({ "id": id, "name": "Backup" }),
            schedule_text: when.to_owned(),
            zone: None,
            recent: Vec::new(),
            live_run_ids: Vec::new(),
            incident: None,
            predecessor_is_gone: false,
            spent_this_month: SpentView::default(),
        }
    }

    #[test]
    fn jobs_of_one_name_are_told_apart() {
        let two = [view("0199aaaa-1", "Every 10 min"), view("0199bbbb-2", "Daily at 07:30")];
        let said =
            |views: &[JobView]| several_called("Backup", &views.iter().collect::<Vec<_>>()).lines();
        let head = "`Backup` could be any of these jobs; give the id of one:";
        assert_eq!(
            said(&two),
            [head, "  0199aaaa  Backup · Every 10 min", "  0199bbbb  Backup · Daily at 07:30"]
        );
        let alike = [view("0199aaaa-1", "Every 10 min"), view("0199aaaa-2", "By hand")];
        assert_eq!(said(&alike)[1], "  0199aaaa-1  Backup · Every 10 min");
    }

    #[test]
    fn a_beginning_of_several_names_tells_them() {
        let names = ["Stretch your legs", "Stretch your legs 2", "Tea"];
        assert_eq!(
            none_of(&names, "stretch").lines(),
            [
                "There is no job stretch. Names that begin so: “Stretch your legs”, “Stretch your legs 2”. See all of them: rouse cron list --all"
            ]
        );
        assert_eq!(
            none_of(&names, "Te").lines(),
            ["There is no job Te. Did you mean “Tea”? See all of them: rouse cron list --all"]
        );
    }

    #[test]
    fn what_happens_when_nothing_is_said_stands_in_the_help() {
        use clap::CommandFactory as _;

        let document = json!({
            "name": "Tea", "schedule": { "kind": "manual" },
            "payload": { "kind": "systemEvent", "text": "Tea" },
        });
        let job = rouse_core::job::job_from_json(document, rouse_core::UnixMs(0), chrono_tz::UTC);
        assert_eq!(job.expect("a job").timeout_seconds(), 600);
        let command = crate::Cli::command();
        let cron = command.find_subcommand("cron").expect("cron");
        let add = cron.find_subcommand("add").expect("add");
        for (flag, usual) in [
            ("timeout", "`10m`, or `none` for that, the usual one"),
            ("retry-backoff", "the usual 1s"),
            ("misfire-limit", "the usual 10"),
            ("overlap", "With `queue` at most 10 wait"),
            ("max-concurrent", "the usual 2"),
            ("pause-after", "never, as when nothing is said"),
            ("notify", "`findings` when nothing is said"),
            ("notify-when", "`always` when nothing is said"),
        ] {
            let known = add.get_arguments().find(|known| known.get_long() == Some(flag));
            let help = known.and_then(|known| known.get_help()).expect("help").to_string();
            assert!(help.contains(usual), "--{flag}: {help}");
        }
    }
}
