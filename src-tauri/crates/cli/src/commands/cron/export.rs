//! `rouse cron export`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rouse_core::import::{MOST_BYTES, MOST_JOBS};
use rouse_gateway::wire::{CronLedgerResult, LedgerEntry, RunsListResult};
use serde_json::{Value, json};

use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

/// The file of the jobs in an export folder.
pub(super) const JOBS_FILE: &str = "jobs.json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Job [default: all jobs]
    id: Option<String>,
    /// File, or folder with --runs [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output")]
    force: bool,
    /// Include the runs as JSON lines: a file per job in a folder; for a single job without --output, only the runs
    #[arg(long)]
    runs: bool,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let id = match &args.id {
        Some(id) => Some(find_job(engine, id).await?),
        None => None,
    };
    match (&args.output, &id) {
        (Some(path), _) if args.runs && has_file_name(path) => Err(CliError::input(format!(
            "--runs writes a folder, and {} is named like a file. The runs of one job alone: rouse cron export JOB --runs > FILE",
            path.display()
        ))),
        (Some(folder), _) if args.runs => {
            export_folder(engine, id.as_deref(), folder, args.force).await
        }
        (None, Some(id)) if args.runs => {
            for entry in list_ledger(engine, id).await? {
                anstream::println!("{}", serde_json::to_string(&entry)?);
            }
            Ok(())
        }
        (None, None) if args.runs => Err(CliError::input(
            "--runs writes a file for each job: name a folder with --output, or one job",
        )),
        (output, _) => export_jobs(engine, id.as_deref(), output.as_deref(), args.force).await,
    }
}

/// Whether the path looks like a file: `-o runs.jsonl` names no folder.
fn has_file_name(path: &Path) -> bool {
    let is_of_file = |extension: &std::ffi::OsStr| extension == "json" || extension == "jsonl";
    path.extension().is_some_and(is_of_file) && !path.is_dir()
}

async fn export_jobs(
    engine: &EngineConnection,
    id: Option<&str>,
    output: Option<&Path>,
    overwrite: bool,
) -> Result<(), CliError> {
    let answer = engine.call("cron.export", json!({ "id": id })).await?;
    let text = serde_json::to_string_pretty(&answer)? + "\n";
    match output {
        Some(path) => {
            write_file(path, &text, overwrite)?;
            anstream::println!("Wrote {} jobs to {}.", jobs_of(&answer).len(), path.display());
        }
        None => anstream::print!("{text}"),
    }
    warn_if_too_large(&answer, &text);
    Ok(())
}

/// Warns about an export that no import accepts.
fn warn_if_too_large(answer: &Value, text: &str) {
    let count = jobs_of(answer).len();
    if count > MOST_JOBS || text.len() > MOST_BYTES {
        let limit = MOST_BYTES / 1_048_576;
        anstream::eprintln!(
            "Warning: an import accepts at most {MOST_JOBS} jobs and {limit} MB, and these are {count} jobs and {} MB. Write several files: rouse cron export JOB",
            text.len().div_ceil(1_048_576)
        );
    }
}

/// Writes `jobs.json` and `runs/<jobId>.jsonl`, the layout of the cron RFC.
async fn export_folder(
    engine: &EngineConnection,
    id: Option<&str>,
    folder: &Path,
    overwrite: bool,
) -> Result<(), CliError> {
    let answer = engine.call("cron.export", json!({ "id": id })).await?;
    let runs = folder.join("runs");
    fs::create_dir_all(&runs).with_context(|| format!("cannot make {}", runs.display()))?;
    let text = serde_json::to_string_pretty(&answer)? + "\n";
    write_file(&folder.join(JOBS_FILE), &text, overwrite)?;
    warn_if_too_large(&answer, &text);
    let jobs = jobs_of(&answer);
    let mut ids: BTreeSet<String> =
        jobs.iter().filter_map(|job| Some(job["id"].as_str()?.to_owned())).collect();
    if id.is_none() {
        ids.extend(list_jobs_with_runs(engine).await?);
    }
    let deleted = ids.len() - jobs.len();
    let (mut count, mut used_names) = (0, BTreeSet::new());
    for id in &ids {
        let entries = list_ledger(engine, id).await?;
        count += entries.len();
        let mut text = String::new();
        for entry in &entries {
            text += &serde_json::to_string(entry)?;
            text.push('\n');
        }
        write_file(&runs.join(file_name(id, &mut used_names)), &text, overwrite)?;
    }
    anstream::println!("Wrote {} jobs and {count} runs to {}.", jobs.len(), folder.display());
    match deleted {
        0 => {}
        1 => anstream::println!("This includes the runs of a deleted job."),
        deleted => anstream::println!("This includes the runs of {deleted} deleted jobs."),
    }
    Ok(())
}

fn jobs_of(answer: &Value) -> &[Value] {
    answer["jobs"].as_array().map_or(&[], Vec::as_slice)
}

/// The ids of all jobs with runs, also of deleted jobs.
async fn list_jobs_with_runs(engine: &EngineConnection) -> Result<BTreeSet<String>, CliError> {
    let (mut ids, mut cursor) = (BTreeSet::new(), None);
    loop {
        let params = json!({ "limit": 500, "cursor": cursor });
        let page: RunsListResult = engine.fetch("runs.list", params).await?;
        ids.extend(page.runs.into_iter().filter_map(|run| run.job_id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(ids);
        }
    }
}

/// The finished runs of a job, oldest first.
async fn list_ledger(engine: &EngineConnection, id: &str) -> Result<Vec<LedgerEntry>, CliError> {
    let (mut entries, mut before) = (Vec::new(), None);
    loop {
        let params = json!({ "id": id, "before": before });
        let page: CronLedgerResult = engine.fetch("cron.ledger", params).await?;
        entries.extend(page.entries);
        before = page.next;
        if before.is_none() {
            entries.reverse();
            return Ok(entries);
        }
    }
}

/// A harmless file name for an untrusted id, unique among `used_names` also on a case-insensitive disk.
fn file_name(id: &str, used_names: &mut BTreeSet<String>) -> String {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let name: String = id.chars().take(100).map(harmless).collect();
    let numbered = (2..).map(|number| format!("{name}~{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    let unused = names.find(|name| used_names.insert(name.to_lowercase()));
    format!("{}.jsonl", unused.expect("BUG: the numbers have come to an end"))
}

/// Writes a private file, because jobs hold personal text. Keeps an existing file unless `overwrite`; a device such as
/// `/dev/stdout` has nothing to lose.
fn write_file(path: &Path, text: &str, overwrite: bool) -> Result<(), CliError> {
    let is_device = path.metadata().is_ok_and(|found| !found.is_file());
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if overwrite || is_device {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let opened = options.open(path);
    if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
        return Err(CliError::input(format!(
            "{} exists: name another path, or overwrite it with --force",
            path.display()
        )));
    }
    let written = opened.and_then(|mut file| {
        #[cfg(unix)]
        if !is_device {
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        }
        file.write_all(text.as_bytes())
    });
    Ok(written.with_context(|| format!("cannot write {}", path.display()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_file_is_private_and_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jobs.json");
        write_file(&path, "old", false).expect("written");
        let refused = write_file(&path, "new", false).expect_err("it is there");
        assert!(refused.lines().join(" ").contains("--force"), "{refused:?}");
        assert_eq!(fs::read_to_string(&path).expect("text"), "old");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = || path.metadata().expect("there").permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("opened up");
            write_file(&path, "new", true).expect("replaced");
            assert_eq!(mode(), 0o600);
        }
        write_file(&path, "new", true).expect("replaced");
        assert_eq!(fs::read_to_string(&path).expect("text"), "new");
    }

    #[test]
    fn each_job_has_its_own_file() {
        let mut used = BTreeSet::new();
        let long = |end: &str| format!("{}{end}", "x".repeat(100));
        let ids = ["a/b", "a_b", "A_B", "../b", &long("1"), &long("2")];
        let names: Vec<String> = ids.iter().map(|id| file_name(id, &mut used)).collect();
        let x = "x".repeat(100);
        let expected = ["a_b.jsonl", "a_b~2.jsonl", "A_B~3.jsonl", "___b.jsonl"].map(str::to_owned);
        assert_eq!(names[..4], expected);
        assert_eq!(names[4..], [format!("{x}.jsonl"), format!("{x}~2.jsonl")]);
    }
}
