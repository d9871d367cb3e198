//! `rouse cron export` and `import`.

use std::path::PathBuf;

use anyhow::Context as _;
use rouse_gateway::wire::{CronImportResult, ImportLine};
use serde_json::{Value, json};

use super::resolve;
use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Only this job; all when absent.
    id: Option<String>,
    /// Write to this file; standard output when absent.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// A file that `export` wrote; `-` for standard input.
    file: PathBuf,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
    /// Keep jobs switched on that the file says are on.
    #[arg(long)]
    keep_enabled: bool,
}

pub(crate) async fn export(args: ExportArgs, session: &Session) -> Result<(), Failure> {
    let id = match &args.id {
        Some(id) => Some(resolve(session, id).await?),
        None => None,
    };
    let answer = session.call("cron.export", json!({ "id": id })).await?;
    let text = serde_json::to_string_pretty(&answer)?;
    match &args.output {
        Some(path) => {
            std::fs::write(path, text + "\n")
                .with_context(|| format!("cannot write {}", path.display()))?;
            let count = answer["jobs"].as_array().map_or(0, Vec::len);
            anstream::println!("Wrote {count} jobs to {}.", path.display());
        }
        None => anstream::println!("{text}"),
    }
    Ok(())
}

pub(crate) async fn import(args: ImportArgs, session: &Session) -> Result<(), Failure> {
    let text = read(&args.file)?;
    let document: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::input(format!("{} is not JSON: {error}", args.file.display())))?;
    let jobs = jobs_of(document).ok_or_else(|| {
        Failure::input(format!(
            "{} holds no jobs: expected {{\"jobs\": [...]}}, a list, or one job",
            args.file.display()
        ))
    })?;
    let params = json!({ "jobs": jobs, "dryRun": args.dry_run, "keepEnabled": args.keep_enabled });
    let answer = session.call("cron.import", params).await?;
    let result: CronImportResult = serde_json::from_value(answer.clone())?;
    session.tell(answer, |_, result: CronImportResult| {
        result.lines.iter().for_each(|line| print_line(line, args.dry_run));
        Ok(())
    })?;
    let refused = result.lines.iter().filter(|line| !line.ok).count();
    if refused > 0 {
        return Err(Failure::input(format!(
            "{refused} of {} jobs were refused",
            result.lines.len()
        )));
    }
    Ok(())
}

fn print_line(line: &ImportLine, dry_run: bool) {
    let fate = match (line.ok, dry_run) {
        (true, true) => "would be added",
        (true, false) => "added",
        (false, _) => "refused",
    };
    let message = line.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
    anstream::println!("{fate}  {}", plain(&format!("{}{message}", line.name)));
}

fn read(path: &std::path::Path) -> Result<String, Failure> {
    let text = if path.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    Ok(text.with_context(|| format!("cannot read {}", path.display()))?)
}

/// An export, a bare list, or a single job.
fn jobs_of(document: Value) -> Option<Vec<Value>> {
    match document {
        Value::Array(jobs) => Some(jobs),
        Value::Object(mut object) => match object.remove("jobs") {
            Some(Value::Array(jobs)) => Some(jobs),
            Some(_) => None,
            None => object.contains_key("schedule").then(|| vec![Value::Object(object)]),
        },
        _ => None,
    }
}
