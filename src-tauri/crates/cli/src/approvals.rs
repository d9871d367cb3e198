//! `rouse approvals …`: what runs ask, and the answers.

mod asking;
mod rules;

use std::io::{IsTerminal as _, Write as _};
use std::slice::from_ref;

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_core::schedule::format_duration;
use rouse_core::visible::visible;
use rouse_gateway::wire::{
    AnsweredFrom, ApprovalScope, ApprovalState, ApprovalView, ApprovalsDecideResult,
    ApprovalsListResult, CoverView, GrantView, GrantsListResult,
};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{instant, plain, print, short, table};
use crate::session::Session;
use crate::{grants, ids, output};
pub(crate) use asking::{Asking, typed};

/// Rows of a list that nobody asked more of.
const USUAL: u32 = 20;
/// Which flag sets a part of an answer.
const FLAGS: [(&str, &str); 5] = [
    ("answer.kind", "This answer cannot be given"),
    ("answer.rules", "--rule"),
    ("answer.expiresAtMs", "--until"),
    ("answer.uses", "--uses"),
    ("answer.reason", "--reason"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the questions that wait for an answer.
    List {
        /// Also those that have one, newest first.
        #[arg(long)]
        all: bool,
        /// Of all, at most so many.
        #[arg(long, default_value_t = USUAL, requires = "all", value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show one question whole: what would happen, and why it is asked.
    Show {
        /// The question's id, its beginning or its end, or the name of its job. None is needed when exactly one waits.
        id: Option<String>,
    },
    /// Say yes.
    Allow {
        /// The question's id, its beginning or its end, or the name of its job. At a terminal none is needed when exactly
        /// one waits: it is shown, and you confirm it.
        id: Option<String>,
        /// For the same call as often as this run makes it.
        #[arg(long, conflicts_with = "always")]
        run: bool,
        /// From now on for this job; exactly this call, unless --rule says more.
        #[arg(long)]
        always: bool,
        /// What an argument may be: NAME=any, NAME=below:VALUE, NAME=equals:JSON or NAME=oneOf:JSON-LIST. Arguments
        /// without a rule must be as they are.
        #[arg(long = "rule", value_name = "RULE", requires = "always")]
        rules: Vec<String>,
        /// When the grant ends: an ISO 8601 time, milliseconds or 30d.
        #[arg(long, value_name = "WHEN", requires = "always")]
        until: Option<String>,
        /// How many calls the grant is good for.
        #[arg(long, value_name = "COUNT", requires = "always", value_parser = clap::value_parser!(u32).range(1..))]
        uses: Option<u32>,
    },
    /// Say no.
    Deny {
        /// The question's id, its beginning or its end, or the name of its job. None is needed when exactly one waits.
        id: Option<String>,
        /// What the model is told.
        #[arg(long)]
        reason: Option<String>,
    },
}

impl Default for Command {
    fn default() -> Self {
        Self::List { all: false, limit: USUAL }
    }
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List { all, limit } => {
            let params = json!({ "all": all, "limit": limit });
            session
                .show("approvals.list", params, |session, found: ApprovalsListResult| {
                    print_table(session, &found.approvals, all);
                    Ok(())
                })
                .await
        }
        Command::Show { id } => {
            let id = which(id, session).await?;
            session
                .show("approvals.get", json!({ "id": id }), |session, one: ApprovalView| {
                    print_whole(session, &one);
                    Ok(())
                })
                .await
        }
        Command::Allow { id, run, always: false, .. } => {
            let id = which_to_allow(id, session).await?;
            let kind = if run { "run" } else { "once" };
            decide(session, &id, json!({ "kind": kind })).await
        }
        Command::Allow { id, rules, until, uses, .. } => {
            let id = which_to_allow(id, session).await?;
            let rules = match rules.is_empty() {
                true => None,
                false => Some(rules::whole(session, &id, &rules).await?),
            };
            let until = until.map(|text| session.instant("--until", &text)).transpose()?;
            let answer =
                json!({ "kind": "always", "rules": rules, "expiresAtMs": until, "uses": uses });
            decide(session, &id, answer).await?;
            if session.json { Ok(()) } else { tell_grant(session, &id).await }
        }
        Command::Deny { id, reason } => {
            let id = which(id, session).await?;
            decide(session, &id, json!({ "kind": "deny", "reason": reason })).await
        }
    }
}

/// The id of the question that is meant; without a word, of the only one that waits.
async fn which(wanted: Option<String>, session: &Session) -> Result<String, Failure> {
    if let Some(id) = wanted.as_ref().filter(|id| ids::is_whole(id)) {
        return Ok(id.clone());
    }
    let params = if wanted.is_some() { json!({ "all": true, "limit": 500 }) } else { json!({}) };
    let found: ApprovalsListResult =
        serde_json::from_value(session.call("approvals.list", params).await?)?;
    if let Some(id) =
        wanted.as_ref().map(|job| of_job(job, &found.approvals)).transpose()?.flatten()
    {
        return Ok(id);
    }
    let known: Vec<String> = found.approvals.iter().map(|one| one.id.clone()).collect();
    match (wanted, known.as_slice()) {
        (Some(wanted), _) => {
            let id = ids::meant(&wanted, &known)?;
            if known.contains(&id) {
                return Ok(id);
            }
            let names = found.approvals.iter().map(|one| one.job_name.as_str());
            let names = names.chain(known.iter().map(String::as_str));
            Err(ids::unknown("question", &wanted, names, "rouse approvals list --all"))
        }
        (None, [one]) => Ok(one.clone()),
        (None, []) => Err(ids::not_found("No question waits for an answer.".to_owned())),
        (None, several) => Err(Failure::input(format!(
            "{} questions wait; name one of them: rouse approvals list",
            several.len()
        ))),
    }
}

/// The id of the approval to allow. An approval that was not named by its id is shown and confirmed: by now another one may
/// be pending.
async fn which_to_allow(wanted: Option<String>, session: &Session) -> Result<String, Failure> {
    let id = which(wanted.clone(), session).await?;
    if wanted.is_some_and(|wanted| ids::meant(&wanted, from_ref(&id)).is_ok_and(|it| it == id)) {
        return Ok(id);
    }
    let asked = session.call("approvals.get", json!({ "id": id })).await?;
    let asked: ApprovalView = serde_json::from_value(asked)?;
    if session.json || !std::io::stdin().is_terminal() {
        return Err(Failure::input(format!(
            "Name what you allow. This waits: {}. To allow it: rouse approvals allow {id}",
            plain(&what(&asked))
        )));
    }
    asking::show(&asked);
    anstream::eprint!("Allow it? [y/N] ");
    // What cannot be flushed is shown with the next line.
    let _ = std::io::stderr().flush();
    match typed().await?.trim() {
        "y" | "Y" | "yes" => Ok(id),
        _ => Err(Failure::Refused("Nothing was allowed; the question still waits.".to_owned())),
    }
}

/// The question of the job with this name that waits.
fn of_job(job: &str, approvals: &[ApprovalView]) -> Result<Option<String>, Failure> {
    let waits = |one: &&ApprovalView| one.state == ApprovalState::Pending && one.job_name == job;
    let ids: Vec<&str> = approvals.iter().filter(waits).map(|one| one.id.as_str()).collect();
    ids::only(job, &ids)
}

async fn decide(session: &Session, id: &str, answer: Value) -> Result<(), Failure> {
    let params = json!({ "id": id, "answer": answer, "from": AnsweredFrom::Cli });
    let answer = session.call("approvals.decide", params).await;
    let answer = answer.map_err(|failure| failure.calling(&FLAGS))?;
    if let Some(late) = too_late(answer.clone())? {
        return Err(Failure::Refused(late));
    }
    let others = if session.json { Ok(0) } else { open_beside(session, &answer).await };
    session.tell(answer, |_, decided: ApprovalsDecideResult| {
        // The answer counts, whatever became of the engine since.
        let others = others.ok();
        anstream::println!("{}", answered(decided.approval.state, others));
        Ok(())
    })
}

/// How many other questions of the same run still wait for an answer.
async fn open_beside(session: &Session, answer: &Value) -> Result<usize, Failure> {
    let found = session.call("approvals.list", json!({})).await?;
    let found: ApprovalsListResult = serde_json::from_value(found)?;
    let of_run = |one: &&ApprovalView| answer["approval"]["runId"] == one.run_id.as_str();
    Ok(found.approvals.iter().filter(of_run).count())
}

/// What an answer means for its run, which goes on when all its questions have one.
fn answered(state: ApprovalState, others: Option<usize>) -> String {
    let (word, goes_on) = match state {
        ApprovalState::Approved => ("Allowed", "The run goes on."),
        _ => ("Refused", "The run goes on without it."),
    };
    match others {
        None => format!("{word}."),
        Some(0) => format!("{word}. {goes_on}"),
        Some(1) => format!("{word}. One more question of this run needs an answer."),
        Some(several) => {
            format!("{word}. {several} more questions of this run need an answer.")
        }
    }
}

/// What was just given for good, as it is kept, and how it is taken back.
async fn tell_grant(session: &Session, id: &str) -> Result<(), Failure> {
    let asked = session.call("approvals.get", json!({ "id": id })).await?;
    let asked: ApprovalView = serde_json::from_value(asked)?;
    let found = session.call("grants.list", json!({ "jobId": asked.job_id })).await?;
    let found: GrantsListResult = serde_json::from_value(found)?;
    let is_it = |grant: &&GrantView| grant.is_good && grant.tool == asked.tool;
    if let Some(grant) = found.grants.iter().find(is_it) {
        anstream::println!("From now on {} need not ask for:", plain(&asked.job_name));
        grants::lines(std::slice::from_ref(grant))
            .iter()
            .for_each(|line| anstream::println!("  {line}"));
        let held =
            if matches!(grant.covers, CoverView::Exact { .. }) { &*asked.files } else { &[] };
        for file in held {
            anstream::println!("  as long as this file stays as it is: {}", plain(file));
        }
        anstream::println!("Take it back: rouse grants revoke {}", grant.id);
    }
    Ok(())
}

/// That an answer came too late, in words; none when it is the one that counts.
fn too_late(answer: Value) -> Result<Option<String>, Failure> {
    let decided: ApprovalsDecideResult = serde_json::from_value(answer)?;
    let how = ended(&decided.approval);
    Ok((!decided.counts).then(|| format!("This answer came too late: the question {how}.")))
}

/// How many questions wait for an answer.
pub(crate) async fn open(session: &Session) -> Result<usize, Failure> {
    let found = session.call("approvals.list", json!({})).await?;
    let found: ApprovalsListResult = serde_json::from_value(found)?;
    Ok(found.approvals.len())
}

/// Looks on with `looking` until it ends or the person ends the command, which leaves the run as it is.
pub(crate) async fn until_left<T>(
    session: &Session,
    run: &str,
    looking: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        seen = looking => seen,
        Ok(()) = tokio::signal::ctrl_c() => Err(left(session, run).await?),
    }
}

/// What goes on without the command, and how its question is answered.
async fn left(session: &Session, run: &str) -> Result<Failure, Failure> {
    let found = session.call("approvals.list", json!({})).await?;
    let found: ApprovalsListResult = serde_json::from_value(found)?;
    let asked: Vec<String> =
        found.approvals.iter().filter(|one| one.run_id == run).map(ways).collect();
    let mut lines = vec![format!("\nIt goes on without this command: rouse runs show {run}")];
    match asked.is_empty() {
        true => lines.push(format!("Stop it: rouse runs cancel {run}")),
        false => {
            lines.extend(asked.iter().map(|ways| format!("Its question still waits:\n{ways}")))
        }
    }
    Ok(Failure::Other(anyhow::anyhow!(lines.join("\n"))))
}

/// One open question, with the ways to see and to answer it.
pub(crate) fn question(one: &ApprovalView) -> String {
    let head = format!("May it use {}? {}", one.tool, plain(&one.why));
    format!("{head}\n  See:  rouse approvals show {}\n{}", one.id, ways(one))
}

fn ways(one: &ApprovalView) -> String {
    format!("  Yes:  rouse approvals allow {0}\n  No:   rouse approvals deny {0}", one.id)
}

fn print_table(session: &Session, approvals: &[ApprovalView], all: bool) {
    if approvals.is_empty() {
        anstream::println!("{}", if all { "No questions yet." } else { "Nothing needs you." });
        return;
    }
    let now = session.clock.now().0;
    let mut table = table(&["ASKED", "JOB", "WHAT", "STATE", "HOLDS UP", "QUESTION"]);
    for one in approvals {
        let id = output::id(&table, &one.id);
        table.add_row([
            instant(one.asked_at_ms, now, session.clock.zone()),
            short(&one.job_name, 28),
            what(one),
            state(one, now),
            holds_up(one),
            id,
        ]);
    }
    print(&table);
}

/// The tool, and what it would do it to: the argument that tells most.
fn what(one: &ApprovalView) -> String {
    let about = rouse_core::naming::TELLING.iter().find_map(|key| one.arguments[key].as_str());
    let about = about.map_or_else(|| one.arguments.to_string(), str::to_owned);
    short(&format!("{} {about}", one.tool), 48)
}

fn state(one: &ApprovalView, now: i64) -> String {
    match one.state {
        ApprovalState::Pending => {
            let seconds = (one.expires_at_ms - now).max(0) / 1_000;
            format!("waits {}, {} left", waited(one, now), format_duration(seconds * 1_000))
        }
        _ => ended(one),
    }
}

/// How long a question waits already.
fn waited(one: &ApprovalView, now: i64) -> String {
    match (now - one.asked_at_ms).max(0) / 1_000 {
        seconds @ 0..60 => format_duration(seconds * 1_000),
        seconds => format_duration(seconds / 60 * 60_000),
    }
}

/// In a few words what waits with it.
fn holds_up(one: &ApprovalView) -> String {
    match one.holds_up.as_ref().map(|held| held.followers.as_slice()) {
        None => String::new(),
        Some([]) => "its run".to_owned(),
        Some([one]) => format!("its run, {}", short(&one.name, 24)),
        Some(several) => format!("its run, {} jobs", several.len()),
    }
}

fn ended(one: &ApprovalView) -> String {
    let from = match one.answered_from {
        Some(AnsweredFrom::Page) => " in a window",
        Some(AnsweredFrom::Cli) => " on the command line",
        Some(AnsweredFrom::Notification) => " in a notification",
        Some(AnsweredFrom::Tray) => " in the tray",
        None => "",
    };
    match (one.state, one.scope) {
        (ApprovalState::Pending, _) => "waits".to_owned(),
        (ApprovalState::Approved, Some(ApprovalScope::Run)) => {
            format!("was allowed for the run{from}")
        }
        (ApprovalState::Approved, Some(ApprovalScope::Always)) => {
            format!("was allowed for always{from}")
        }
        (ApprovalState::Approved, _) => format!("was allowed once{from}"),
        (ApprovalState::Denied, _) => format!("was refused{from}"),
        (ApprovalState::Expired, _) => "had no answer in time".to_owned(),
        (ApprovalState::Withdrawn, _) => "ended with its run".to_owned(),
        (ApprovalState::Covered, _) => "is answered by a grant that was given since".to_owned(),
    }
}

fn print_whole(session: &Session, one: &ApprovalView) {
    let now = session.clock.now().0;
    anstream::println!("{}  may it use {}?", plain(&one.job_name), one.tool);
    anstream::println!("{}", plain(&one.why));
    anstream::println!("State: {}", state(one, now));
    if let Some(held) = &one.holds_up {
        anstream::println!("Holds up: {}", plain(&held.text));
    }
    if let Some(directory) = &one.directory {
        anstream::println!("Folder: {}", plain(directory));
    }
    for file in one.files.iter().chain(&one.replaces) {
        anstream::println!("Holds for this file as it is: {}", plain(file));
    }
    if let Some(why) = &one.ungranted {
        anstream::println!("Always: not this one. {}", plain(why));
    }
    if let Some(reason) = &one.reason {
        anstream::println!("Reason: {}", plain(reason));
    }
    anstream::println!("Run: {}\n", one.run_id);
    for line in preview(&one.preview, &one.arguments) {
        anstream::println!("  {line}");
    }
    if one.state == ApprovalState::Pending {
        anstream::println!("\n{}", ways(one));
    }
}

/// The lines of a preview, each behind a mark: none of them can look like a line around it, or like a way to answer. Those
/// of a command stand behind another one, so that none of them can look like the place that it runs in.
///
/// The preview makes visible what cannot be seen, so its line breaks are the only control characters in it. Where the
/// command is not its beginning, nobody can say where it ends, and every line is taken for one of it.
fn preview(preview: &str, arguments: &Value) -> Vec<String> {
    let command = arguments["command"].as_str().map(visible);
    let of_command = command.map_or(0, |command| match preview.strip_prefix(&command) {
        Some(rest) if rest.starts_with('\n') => command.split('\n').count(),
        _ => usize::MAX,
    });
    let line = |(number, line): (usize, &str)| match number < of_command {
        true => format!("│ │ {}", plain(line)),
        false => format!("│ {}", plain(line)),
    };
    preview.split('\n').enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_preview_looks_like_the_frame_around_it() {
        let body = "POST https://a.example/\n\n  Yes:  rouse approvals allow x\n[y]es once / [r]un / [n]o: \n";
        let lines = preview(body, &json!({ "url": "https://a.example/" }));
        assert_eq!(
            lines,
            [
                "│ POST https://a.example/",
                "│ ",
                "│   Yes:  rouse approvals allow x",
                "│ [y]es once / [r]un / [n]o: ",
                "│ ",
            ]
        );
    }

    #[test]
    fn no_line_of_a_command_looks_like_what_is_said_of_it() {
        let command = "date\n\nin /home/ada\nin the sandbox\n  Yes:  rouse approvals allow x\n";
        let shown = format!("{command}\n\nin /work\nin the sandbox, without a network");
        let lines = preview(&shown, &json!({ "command": command }));
        assert_eq!(
            lines,
            [
                "│ │ date",
                "│ │ ",
                "│ │ in /home/ada",
                "│ │ in the sandbox",
                "│ │   Yes:  rouse approvals allow x",
                "│ │ ",
                "│ ",
                "│ in /work",
                "│ in the sandbox, without a network",
            ]
        );
        let odd = json!({ "command": "a\u{1b}[2K" });
        assert_eq!(preview("a⟨U+001B⟩[2K\n\nin /work", &odd)[0], "│ │ a⟨U+001B⟩[2K");
        let elsewhere = preview("It runs:\ndate\nin /work", &json!({ "command": "date" }));
        assert!(elsewhere.iter().all(|line| line.starts_with("│ │ ")), "{elsewhere:?}");
    }
}
