//! `rouse cron export` and `import`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rouse_core::Clock as _;
use rouse_core::import::{MOST_BYTES, MOST_JOBS};
use rouse_core::schedule::Zone;
use rouse_gateway::wire::{
    CronImportResult, CronLedgerResult, ImportFormat, ImportLine, ImportOutcome, JobWarning,
    LedgerEntry, PreviewSlot, RunsListResult,
};
use serde_json::{Value, json};

use super::list::fact_lines;
use super::resolve;
use crate::exit::Failure;
use crate::output::{instant, plain};
use crate::session::Session;

/// The jobs in a folder that an export wrote.
const JOBS: &str = "jobs.json";

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Only this job; all when absent.
    id: Option<String>,
    /// Write to this file (with --runs: this folder); standard output when absent.
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Replace files that are there.
    #[arg(long, requires = "output")]
    force: bool,
    /// Write the runs as well, a line of JSON each: one file a job, in a folder with the jobs. For one job and without
    /// --output only its runs are printed.
    #[arg(long)]
    runs: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// An export of Rouse (its file, or the folder that `export --runs` wrote), a jobs.json, OpenClaw's jobs as JSON or a
    /// crontab; `-` for standard input.
    file: PathBuf,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
    /// Switch those jobs on that are on in the file; all come in switched off without it.
    #[arg(long)]
    enable: bool,
    /// Replace jobs that are here under the same id.
    #[arg(long)]
    update: bool,
    /// Read the file as this, whatever it looks like.
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// The crontab names a user before each command, as /etc/crontab does. Files in /etc/cron.d and files with such a
    /// heading need no flag.
    #[arg(long, conflicts_with = "format")]
    system: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FormatName {
    Rouse,
    Rfc,
    Openclaw,
    Crontab,
}

pub(crate) async fn export(args: ExportArgs, session: &Session) -> Result<(), Failure> {
    let id = match &args.id {
        Some(id) => Some(resolve(session, id).await?),
        None => None,
    };
    match (&args.output, &id) {
        (Some(file), _) if args.runs && is_named_as_file(file) => Err(Failure::input(format!(
            "--runs writes a folder, and {} is named like a file. The runs of one job alone: rouse cron export JOB --runs > FILE",
            file.display()
        ))),
        (Some(folder), _) if args.runs => {
            export_folder(session, id.as_deref(), folder, args.force).await
        }
        (None, Some(id)) if args.runs => {
            for entry in ledger(session, id).await? {
                anstream::println!("{}", serde_json::to_string(&entry)?);
            }
            Ok(())
        }
        (None, None) if args.runs => Err(Failure::input(
            "--runs writes a file for each job: name a folder with --output, or one job".to_owned(),
        )),
        (output, _) => export_jobs(session, id.as_deref(), output.as_deref(), args.force).await,
    }
}

/// Whoever writes `-o runs.jsonl` means no folder of that name.
fn is_named_as_file(path: &Path) -> bool {
    let is_of_file = |ending: &std::ffi::OsStr| ending == "json" || ending == "jsonl";
    path.extension().is_some_and(is_of_file) && !path.is_dir()
}

async fn export_jobs(
    session: &Session,
    id: Option<&str>,
    output: Option<&Path>,
    replaces: bool,
) -> Result<(), Failure> {
    let answer = session.call("cron.export", json!({ "id": id })).await?;
    let text = serde_json::to_string_pretty(&answer)? + "\n";
    match output {
        Some(path) => {
            write(path, &text, replaces)?;
            let count = answer["jobs"].as_array().map_or(0, Vec::len);
            anstream::println!("Wrote {count} jobs to {}.", path.display());
        }
        None => anstream::print!("{text}"),
    }
    warn_of_size(&answer, &text);
    Ok(())
}

/// Nobody is to learn on the new computer that the file cannot be read in.
fn warn_of_size(answer: &Value, text: &str) {
    let count = answer["jobs"].as_array().map_or(0, Vec::len);
    if count > MOST_JOBS || text.len() > MOST_BYTES {
        let most = MOST_BYTES / 1_048_576;
        anstream::eprintln!(
            "Warning: an import takes at most {MOST_JOBS} jobs and {most} MB at once, and these are {count} jobs and {} MB. Write them to several files: rouse cron export JOB",
            text.len().div_ceil(1_048_576)
        );
    }
}

/// `jobs.json` and `runs/<jobId>.jsonl`, as the cron RFC lays them out.
async fn export_folder(
    session: &Session,
    id: Option<&str>,
    folder: &Path,
    replaces: bool,
) -> Result<(), Failure> {
    let answer = session.call("cron.export", json!({ "id": id })).await?;
    let runs = folder.join("runs");
    fs::create_dir_all(&runs).with_context(|| format!("cannot make {}", runs.display()))?;
    let text = serde_json::to_string_pretty(&answer)? + "\n";
    write(&folder.join(JOBS), &text, replaces)?;
    warn_of_size(&answer, &text);
    let jobs: &[Value] = answer["jobs"].as_array().map_or(&[], Vec::as_slice);
    let mut ids: BTreeSet<String> =
        jobs.iter().filter_map(|job| Some(job["id"].as_str()?.to_owned())).collect();
    if id.is_none() {
        ids.extend(jobs_with_runs(session).await?);
    }
    let gone = ids.len() - jobs.len();
    let (mut count, mut taken) = (0, BTreeSet::new());
    for id in &ids {
        let entries = ledger(session, id).await?;
        count += entries.len();
        let mut text = String::new();
        for entry in &entries {
            text += &serde_json::to_string(entry)?;
            text.push('\n');
        }
        write(&runs.join(file_name(id, &mut taken)), &text, replaces)?;
    }
    anstream::println!("Wrote {} jobs and {count} runs to {}.", jobs.len(), folder.display());
    match gone {
        0 => {}
        1 => anstream::println!("Among them are the runs of a job that is gone."),
        gone => anstream::println!("Among them are the runs of {gone} jobs that are gone."),
    }
    Ok(())
}

/// The ids of the jobs that runs are kept of, also of those that are gone.
async fn jobs_with_runs(session: &Session) -> Result<BTreeSet<String>, Failure> {
    let (mut ids, mut cursor) = (BTreeSet::new(), None);
    loop {
        let params = json!({ "limit": 500, "cursor": cursor });
        let page: RunsListResult =
            serde_json::from_value(session.call("runs.list", params).await?)?;
        ids.extend(page.runs.into_iter().filter_map(|run| run.job_id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(ids);
        }
    }
}

/// A job's runs that are over, the oldest first.
async fn ledger(session: &Session, id: &str) -> Result<Vec<LedgerEntry>, Failure> {
    let (mut entries, mut before) = (Vec::new(), None);
    loop {
        let params = json!({ "id": id, "before": before });
        let page: CronLedgerResult =
            serde_json::from_value(session.call("cron.ledger", params).await?)?;
        entries.extend(page.entries);
        before = page.next;
        if before.is_none() {
            entries.reverse();
            return Ok(entries);
        }
    }
}

/// An id can come from a file of somebody else: it must not name a place, and two of them not the same one (`taken`), also
/// where a disk takes `a` for `A`.
fn file_name(id: &str, taken: &mut BTreeSet<String>) -> String {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let name: String = id.chars().take(100).map(harmless).collect();
    let others = (2..).map(|number| format!("{name}~{number}"));
    let mut names = std::iter::once(name.clone()).chain(others);
    let free = names.find(|name| taken.insert(name.to_lowercase()));
    format!("{}.jsonl", free.expect("BUG: the numbers have come to an end"))
}

/// Jobs hold what a person has written into them, so nobody else reads the file. A file that is there may be the only
/// export of yesterday; what is no file, such as `/dev/stdout`, has nothing to lose.
fn write(path: &Path, text: &str, replaces: bool) -> Result<(), Failure> {
    let is_no_file = path.metadata().is_ok_and(|found| !found.is_file());
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if replaces || is_no_file {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let opened = options.open(path);
    if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
        return Err(Failure::input(format!(
            "{} is there already: name another place, or replace it with --force",
            path.display()
        )));
    }
    let written = opened.and_then(|mut file| {
        #[cfg(unix)]
        if !is_no_file {
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        }
        file.write_all(text.as_bytes())
    });
    Ok(written.with_context(|| format!("cannot write {}", path.display()))?)
}

pub(crate) async fn import(args: ImportArgs, session: &Session) -> Result<(), Failure> {
    let params = json!({
        "text": read(&jobs_of(&args.file))?,
        "format": format_of(&args),
        "dryRun": args.dry_run,
        "enable": args.enable,
        "update": args.update,
    });
    let answer = session.call("cron.import", params).await;
    let file = args.file.display().to_string();
    let answer = answer.map_err(|failure| failure.calling(&[("text", &file)]))?;
    let result: CronImportResult = serde_json::from_value(answer.clone())?;
    session.tell(answer, |session, result: CronImportResult| {
        let here = (session.clock.zone(), session.clock.now().0);
        let lines = result.lines.iter().flat_map(|line| in_lines(line, args.dry_run, here));
        lines.for_each(|line| anstream::println!("{line}"));
        print_end(&result, &args);
        Ok(())
    })?;
    let refused = count(&result, ImportOutcome::Refused);
    if refused > 0 {
        return Err(Failure::input(refused_in_words(refused, result.lines.len())));
    }
    Ok(())
}

fn refused_in_words(refused: usize, of: usize) -> String {
    match (refused, of) {
        (_, 1) => "The job was refused".to_owned(),
        (1, of) => format!("1 of {of} jobs was refused"),
        (refused, of) => format!("{refused} of {of} jobs were refused"),
    }
}

/// What became of a job, and what it is: all that it does, so that nobody has to open it to say yes to it.
fn in_lines(line: &ImportLine, dry_run: bool, (here, now_ms): (Zone, i64)) -> Vec<String> {
    let fate = match (line.outcome, dry_run) {
        (ImportOutcome::Created, false) => "created",
        (ImportOutcome::Created, true) => "would be created",
        (ImportOutcome::Updated, false) => "updated",
        (ImportOutcome::Updated, true) => "would be updated",
        (ImportOutcome::SwitchedOn, false) => "switched on",
        (ImportOutcome::SwitchedOn, true) => "would be switched on",
        (ImportOutcome::Skipped, _) => "skipped",
        (ImportOutcome::Refused, _) => "refused",
    };
    let reason = line.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let tells_on = matches!(line.outcome, ImportOutcome::Created | ImportOutcome::Updated);
    let on = if line.enabled && tells_on { " (on)" } else { "" };
    let head = format!("{fate}  {}", plain(&format!("{}{on}{reason}", line.name)));
    let when = line.schedule_text.as_ref().map(|when| {
        let zone =
            line.zone.as_ref().filter(|zone| *zone != here.name()).map(|zone| format!(" · {zone}"));
        format!("{}{}{}", plain(when), zone.unwrap_or_default(), next(&line.next, here, now_ms))
    });
    let facts =
        line.facts.iter().flat_map(|fact| fact_lines(&plain(&fact.about), &plain(&fact.text)));
    let notes = line.notes.iter().map(|note| plain(note));
    let warning = |warning: &JobWarning| {
        format!("Warning: {}: {}", plain(&warning.field), plain(&warning.message))
    };
    let below = when.into_iter().chain(facts).chain(notes).chain(line.warnings.iter().map(warning));
    std::iter::once(head)
        .chain(below.map(|line| format!("    {line}").trim_end().to_owned()))
        .collect()
}

/// The next times in the local zone.
fn next(slots: &[PreviewSlot], here: Zone, now_ms: i64) -> String {
    let times: Vec<String> = slots.iter().map(|slot| instant(slot.at_ms, now_ms, here)).collect();
    if times.is_empty() {
        String::new()
    } else {
        format!("; next, in local time: {}", times.join(", "))
    }
}

fn print_end(result: &CronImportResult, args: &ImportArgs) {
    let new = count(result, ImportOutcome::Created);
    let off = result.lines.iter().filter(|line| !line.enabled).count();
    if args.dry_run {
        anstream::println!("Nothing was changed: this was a dry run.");
    } else if new > 0 && off > 0 && !args.enable {
        anstream::println!("They are switched off. Switch one on: rouse cron enable NAME");
    }
}

fn count(result: &CronImportResult, outcome: ImportOutcome) -> usize {
    result.lines.iter().filter(|line| line.outcome == outcome).count()
}

/// The file itself; of a folder that an export wrote, the jobs in it.
fn jobs_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(JOBS) } else { path.to_owned() }
}

/// The file's text. What is no text is refused with the place where it stops being one.
fn read(path: &Path) -> Result<String, Failure> {
    use std::io::Read as _;
    let whole = |reader: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        reader.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = if path.as_os_str() == "-" {
        whole(&mut std::io::stdin())
    } else {
        fs::File::open(path).and_then(|mut file| whole(&mut file))
    };
    let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
    // The engine refuses more; so much need not be sent to learn it.
    if bytes.len() > MOST_BYTES {
        return Err(Failure::input(format!("{} is larger than 8 MB", path.display())));
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::input(format!("{} is not UTF-8 text (byte {place})", path.display()))
    })
}

/// The format that a flag or the path names; none to recognise it by the text.
fn format_of(args: &ImportArgs) -> Option<ImportFormat> {
    let is_system = args.system || (args.format.is_none() && is_system_crontab(&args.file));
    let by_place = is_system.then_some(ImportFormat::SystemCrontab);
    by_place.or_else(|| args.format.map(wire_format))
}

/// Whether cron reads the file with a user before each command: `/etc/crontab` and the files in `/etc/cron.d`.
fn is_system_crontab(file: &Path) -> bool {
    std::path::absolute(file).is_ok_and(|path| {
        path == Path::new("/etc/crontab") || path.parent() == Some(Path::new("/etc/cron.d"))
    })
}

const fn wire_format(name: FormatName) -> ImportFormat {
    match name {
        FormatName::Rouse => ImportFormat::Rouse,
        FormatName::Rfc => ImportFormat::Rfc,
        FormatName::Openclaw => ImportFormat::OpenClaw,
        FormatName::Crontab => ImportFormat::Crontab,
    }
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::JobFact;

    use super::*;

    #[test]
    fn an_export_is_for_its_owner_alone_and_replaces_nothing_unasked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jobs.json");
        write(&path, "old", false).expect("written");
        let refused = write(&path, "new", false).expect_err("it is there");
        assert!(refused.lines().join(" ").contains("--force"), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).expect("text"), "old");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = || path.metadata().expect("there").permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("opened up");
            write(&path, "new", true).expect("replaced");
            assert_eq!(mode(), 0o600);
        }
        write(&path, "new", true).expect("replaced");
        assert_eq!(fs::read_to_string(&path).expect("text"), "new");
    }

    fn line(outcome: ImportOutcome, facts: &[(&str, &str)]) -> ImportLine {
        let fact =
            |&(about, text): &(&str, &str)| JobFact { about: about.into(), text: text.into() };
        ImportLine {
            name: "Tidy up".to_owned(),
            id: Some("tidy".to_owned()),
            outcome,
            enabled: true,
            reason: None,
            notes: vec!["Nothing is mailed.".to_owned()],
            warnings: Vec::new(),
            schedule_text: Some("Daily at 07:00".to_owned()),
            zone: Some("Europe/Berlin".to_owned()),
            next: Vec::new(),
            facts: facts.iter().map(fact).collect(),
        }
    }

    const HERE: (Zone, i64) = (Zone::UTC, 1_795_415_400_000);

    #[test]
    fn no_two_jobs_are_written_into_one_file() {
        let mut taken = BTreeSet::new();
        let long = |end: &str| format!("{}{end}", "x".repeat(100));
        let ids = ["a/b", "a_b", "A_B", "../b", &long("1"), &long("2")];
        let names: Vec<String> = ids.iter().map(|id| file_name(id, &mut taken)).collect();
        let x = "x".repeat(100);
        let expected = ["a_b.jsonl", "a_b~2.jsonl", "A_B~3.jsonl", "___b.jsonl"].map(str::to_owned);
        assert_eq!(names[..4], expected);
        assert_eq!(names[4..], [format!("{x}.jsonl"), format!("{x}~2.jsonl")]);
    }

    #[cfg(unix)]
    #[test]
    fn system_crontab_is_recognised_by_path() {
        for (file, is_system) in [
            ("/etc/crontab", true),
            ("/etc/cron.d/e2scrub_all", true),
            ("/etc/cron.d/deeper/x", false),
            ("/home/me/crontab", false),
            ("crontab", false),
            ("-", false),
        ] {
            assert_eq!(is_system_crontab(Path::new(file)), is_system, "{file}");
        }
    }

    #[test]
    fn a_dry_run_shows_all_that_a_job_does() {
        let hidden = format!("calls run_command true{};rm -rf ~ ⟨U+202E⟩", " ".repeat(200));
        let facts = [("does", &*hidden), ("rights", "your own"), ("tells", "only on failure")];
        assert_eq!(
            in_lines(&line(ImportOutcome::Created, &facts), true, HERE),
            [
                "would be created  Tidy up (on)".to_owned(),
                "    Daily at 07:00 · Europe/Berlin".to_owned(),
                format!("    does   {hidden}"),
                "    rights your own".to_owned(),
                "    tells  only on failure".to_owned(),
                "    Nothing is mailed.".to_owned(),
            ]
        );
        let two = [("does", "asks the agent: Look.\nwould be created  Another")];
        let told = in_lines(&line(ImportOutcome::Created, &two), false, HERE);
        assert_eq!(told[3], "           would be created  Another", "no line of a task is a job");
    }

    #[test]
    fn a_time_of_another_year_says_so() {
        let slot = |at_ms| PreviewSlot {
            at_ms,
            job_time: String::new(),
            local_time: String::new(),
            note: None,
        };
        let job = ImportLine {
            next: vec![slot(HERE.1 + 3_600_000), slot(HERE.1 + 400 * 86_400_000)],
            ..line(ImportOutcome::Created, &[])
        };
        let told = in_lines(&job, true, HERE)[1].clone();
        let expected = "    Daily at 07:00 · Europe/Berlin; next, in local time: Mon 23 Nov 07:30:00, Tue 28 Dec 2027 06:30:00";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_job_that_is_only_switched_on_is_not_called_updated() {
        let told =
            |dry_run| in_lines(&line(ImportOutcome::SwitchedOn, &[]), dry_run, HERE).remove(0);
        assert_eq!(told(true), "would be switched on  Tidy up");
        assert_eq!(told(false), "switched on  Tidy up");
    }
}
