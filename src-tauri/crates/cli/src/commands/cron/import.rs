//! `rouse cron import`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rouse_core::Clock as _;
use rouse_core::import::MOST_BYTES;
use rouse_core::schedule::Zone;
use rouse_gateway::wire::{
    CronImportResult, ImportFormat, ImportLine, ImportOutcome, JobWarning, PreviewSlot,
};
use serde_json::json;

use super::export::JOBS_FILE;
use super::field_values::choice;
use crate::render::facts::{fact, fact_lines};
use crate::render::text::escape;
use crate::render::time::instant;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Export of Rouse (file or folder), jobs.json, OpenClaw jobs as JSON or a crontab; `-` for standard input
    file: PathBuf,
    /// Only print the changes
    #[arg(long)]
    dry_run: bool,
    /// Enable the jobs that are enabled in the file [default: all disabled]
    #[arg(long)]
    enable: bool,
    /// Replace present jobs with the same id
    #[arg(long)]
    update: bool,
    /// Format: rouse, rfc, openclaw, crontab [default: detected]
    #[arg(long, hide_possible_values = true, value_parser = choice::<ImportFormat>())]
    format: Option<ImportFormat>,
    /// The crontab has a user column [default: only in /etc/crontab, /etc/cron.d and files with such a heading]
    #[arg(long, conflicts_with = "format")]
    system: bool,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let params = json!({
        "text": read_text(&jobs_file(&args.file))?,
        "format": import_format(&args),
        "dryRun": args.dry_run,
        "enable": args.enable,
        "update": args.update,
    });
    let answer = engine.call("cron.import", params).await;
    let file = args.file.display().to_string();
    let answer = answer.map_err(|error| error.with_field_names(&[("text", &file)]))?;
    let result: CronImportResult = serde_json::from_value(answer.clone())?;
    engine.print_answer(answer, |engine, result: CronImportResult| {
        let local = (engine.clock.zone(), engine.clock.now().0);
        for line in result.lines.iter().flat_map(|line| import_lines(line, args.dry_run, local)) {
            anstream::println!("{line}");
        }
        print_summary(&result, &args);
    })?;
    match (count(&result, ImportOutcome::Refused), result.lines.len()) {
        (0, _) => Ok(()),
        (_, 1) => Err(CliError::input("The job was refused")),
        (1, total) => Err(CliError::input(format!("1 of {total} jobs was refused"))),
        (refused, total) => Err(CliError::input(format!("{refused} of {total} jobs were refused"))),
    }
}

/// The outcome of a job and all settings for review.
fn import_lines(line: &ImportLine, dry_run: bool, (zone, now_ms): (Zone, i64)) -> Vec<String> {
    let outcome = match (line.outcome, dry_run) {
        (ImportOutcome::Created, false) => "created",
        (ImportOutcome::Created, true) => "would be created",
        (ImportOutcome::Updated, false) => "updated",
        (ImportOutcome::Updated, true) => "would be updated",
        (ImportOutcome::SwitchedOn, false) => "enabled",
        (ImportOutcome::SwitchedOn, true) => "would be enabled",
        (ImportOutcome::Skipped, _) => "skipped",
        (ImportOutcome::Refused, _) => "refused",
    };
    let reason = line.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let is_written = matches!(line.outcome, ImportOutcome::Created | ImportOutcome::Updated);
    let on = if line.enabled && is_written { " (on)" } else { "" };
    let head = format!("{outcome}  {}", escape(&format!("{}{on}{reason}", line.name)));
    let schedule = line.schedule_text.as_ref().map(|schedule| {
        let job_zone = line.zone.as_ref().filter(|job_zone| *job_zone != zone.name());
        let job_zone = job_zone.map(|job_zone| format!(" · {job_zone}")).unwrap_or_default();
        format!("{}{job_zone}{}", escape(schedule), slots_text(&line.next, zone, now_ms))
    });
    let facts = line.facts.iter().map(|line| fact(&escape(&line.label), escape(&line.text)));
    let facts = fact_lines(&facts.collect::<Vec<_>>());
    let notes = line.notes.iter().map(|note| escape(note));
    let warnings = line.warnings.iter().map(|JobWarning { field, message }| {
        format!("Warning: {}: {}", escape(field), escape(message))
    });
    let details = schedule.into_iter().chain(facts).chain(notes).chain(warnings);
    let details = details.map(|line| format!("    {line}").trim_end().to_owned());
    std::iter::once(head).chain(details).collect()
}

/// The next slots in the local zone.
fn slots_text(slots: &[PreviewSlot], zone: Zone, now_ms: i64) -> String {
    let times: Vec<String> = slots.iter().map(|slot| instant(slot.at_ms, now_ms, zone)).collect();
    if times.is_empty() {
        String::new()
    } else {
        format!("; next slots, local time: {}", times.join(", "))
    }
}

fn print_summary(result: &CronImportResult, args: &Args) {
    let created = count(result, ImportOutcome::Created);
    let disabled = result.lines.iter().filter(|line| !line.enabled).count();
    if args.dry_run {
        anstream::println!("Dry run: nothing was changed.");
    } else if created > 0 && disabled > 0 && !args.enable {
        anstream::println!("The jobs are disabled. Enable one: rouse cron enable NAME");
    }
}

fn count(result: &CronImportResult, outcome: ImportOutcome) -> usize {
    result.lines.iter().filter(|line| line.outcome == outcome).count()
}

/// The file of the jobs: `path`, or the file in an export folder.
fn jobs_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(JOBS_FILE) } else { path.to_owned() }
}

/// Reads a text file. Names the first byte that is not UTF-8.
fn read_text(path: &Path) -> Result<String, CliError> {
    use std::io::Read as _;
    // One byte over the limit proves the size; the engine would refuse the rest.
    let read = |reader: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        reader.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = if path.as_os_str() == "-" {
        read(&mut std::io::stdin())
    } else {
        fs::File::open(path).and_then(|mut file| read(&mut file))
    };
    let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() > MOST_BYTES {
        return Err(CliError::input(format!("{} is larger than 8 MB", path.display())));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        CliError::input(format!("{} is not UTF-8 text (byte {offset})", path.display()))
    })
}

/// The format by flag or path; none to detect it from the text.
fn import_format(args: &Args) -> Option<ImportFormat> {
    if args.system || (args.format.is_none() && is_system_crontab(&args.file)) {
        return Some(ImportFormat::SystemCrontab);
    }
    args.format
}

/// Whether cron reads this path with a user column: `/etc/crontab` and the files in `/etc/cron.d`.
fn is_system_crontab(file: &Path) -> bool {
    std::path::absolute(file).is_ok_and(|path| {
        path == Path::new("/etc/crontab") || path.parent() == Some(Path::new("/etc/cron.d"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(outcome: ImportOutcome, facts: &[(&str, &str)]) -> ImportLine {
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
            facts: facts.iter().map(|(label, text)| fact(label, *text)).collect(),
        }
    }

    const LOCAL: (Zone, i64) = (Zone::UTC, 1_795_415_400_000);

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
    fn dry_run_shows_all_settings() {
        let hidden = format!("run_command true{};rm -rf ~ ⟨U+202E⟩", " ".repeat(200));
        let facts = [("Call", &*hidden), ("Permissions", "yours"), ("Notify about", "failure")];
        assert_eq!(
            import_lines(&line(ImportOutcome::Created, &facts), true, LOCAL),
            [
                "would be created  Tidy up (on)".to_owned(),
                "    Daily at 07:00 · Europe/Berlin".to_owned(),
                format!("    Call          {hidden}"),
                "    Permissions   yours".to_owned(),
                "    Notify about  failure".to_owned(),
                "    Nothing is mailed.".to_owned(),
            ]
        );
        let task = [("Task", "Look.\nwould be created  Another")];
        let lines = import_lines(&line(ImportOutcome::Created, &task), false, LOCAL);
        assert_eq!(
            lines[3], "          would be created  Another",
            "no line of a task imitates a job"
        );
    }

    #[test]
    fn slot_of_another_year_has_the_year() {
        let slot = |at_ms| PreviewSlot {
            at_ms,
            job_time: String::new(),
            local_time: String::new(),
            note: None,
        };
        let job = ImportLine {
            next: vec![slot(LOCAL.1 + 3_600_000), slot(LOCAL.1 + 400 * 86_400_000)],
            ..line(ImportOutcome::Created, &[])
        };
        let schedule = import_lines(&job, true, LOCAL)[1].clone();
        let expected = "    Daily at 07:00 · Europe/Berlin; next slots, local time: Mon 23 Nov 07:30:00, Tue 28 Dec 2027 06:30:00";
        assert_eq!(schedule, expected);
    }

    #[test]
    fn enabled_job_is_not_reported_as_updated() {
        let head =
            |dry_run| import_lines(&line(ImportOutcome::SwitchedOn, &[]), dry_run, LOCAL).remove(0);
        assert_eq!(head(true), "would be enabled  Tidy up");
        assert_eq!(head(false), "enabled  Tidy up");
    }
}
