//! Import of jobs: Rouse's own export, the `jobs.json` of the cron RFC, OpenClaw's jobs, crontabs.
//!
//! Owns the conversion to the job format, an entry per job, with reasons and notes for everything without a
//! counterpart. Never validates a job (`job_from_json` does) and never knows the existing jobs. Files are untrusted:
//! huge, nested, duplicated or truncated input is an error with a position, never a partial import.
//! Pitfall: a job that behaves differently than in the source; fields without a counterpart are kept and noted.

mod entry;
pub(crate) mod json;
mod environment;
mod shell;
mod identity;
mod rouse;
mod rfc;
mod openclaw;
mod comments;
mod crontab;

use serde_json::Value;

use self::entry::shortened;
pub use self::entry::{
    ImportEntry, ImportError, ImportFormat, MOST_BYTES, MOST_JOBS, ORIGIN, VERSION,
};
use self::environment::without_values;
use self::identity::Seen;

/// The content of an imported file.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The detected or given format.
    pub format: ImportFormat,
    /// The jobs, in file order.
    pub entries: Vec<ImportEntry>,
}

/// Reads a file. Without a `format`, detects it.
///
/// # Errors
/// Why the whole file is refused. A single refused job is an entry with the reason.
pub fn read(text: &str, format: Option<ImportFormat>) -> Result<Import, ImportError> {
    if text.len() > MOST_BYTES {
        return Err(ImportError::TooLarge);
    }
    if let Some(place) = text.find('\0') {
        return Err(ImportError::Nul(place));
    }
    let text = text.trim_start_matches('\u{feff}');
    let is_json = text.trim_start().starts_with(['{', '[']);
    let (format, entries) = match format {
        Some(crontab @ (ImportFormat::Crontab | ImportFormat::SystemCrontab)) => {
            crontab::read(text, crontab)
        }
        None if !is_json => crontab::recognise(text)?,
        wanted => read_json(text, wanted)?,
    };
    match entries.len() {
        0 => Err(ImportError::NoJobs),
        count if count > MOST_JOBS => Err(ImportError::TooMany(count)),
        _ => Ok(Import { format, entries }),
    }
}

fn read_json(
    text: &str,
    wanted: Option<ImportFormat>,
) -> Result<(ImportFormat, Vec<ImportEntry>), ImportError> {
    let document = json::parse(text).map_err(ImportError::Json)?;
    let is_ours = rouse::is_export(&document);
    let version = document.get("version").and_then(Value::as_u64);
    if let Some(newer) = version.filter(|version| is_ours && *version > u64::from(VERSION)) {
        return Err(ImportError::Newer(newer));
    }
    let jobs = json::jobs_of(document).ok_or(ImportError::NoJobs)?;
    let format = wanted.unwrap_or_else(|| match () {
        () if is_ours => ImportFormat::Rouse,
        () if jobs.iter().any(openclaw::is_theirs) => ImportFormat::OpenClaw,
        () if jobs.iter().any(rouse::is_ours) => ImportFormat::Rouse,
        () => ImportFormat::Rfc,
    });
    let read = match format {
        ImportFormat::OpenClaw => openclaw::read,
        ImportFormat::Rfc => rfc::read,
        ImportFormat::Rouse | ImportFormat::Crontab | ImportFormat::SystemCrontab => rouse::read,
    };
    let mut seen = Seen::default();
    let entries = jobs.into_iter().enumerate().map(|(index, mut job)| {
        let name = name_of(&job).unwrap_or_else(|| format!("job {}", index + 1));
        if let Some(id) = seen.id_of_job(&job) {
            job["id"] = id;
        }
        if format == ImportFormat::Rouse {
            return read(name, job);
        }
        let left_out = job.as_object_mut().map(without_values).unwrap_or_default();
        let mut entry = read(name, job).without_own_calls();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            entry.notes.insert(0, format!("Environment values are left out: {names}."));
        }
        entry
    });
    Ok((format, entries.collect()))
}

fn name_of(job: &Value) -> Option<String> {
    let name = ["name", "displayName"].iter().find_map(|key| job.get(key)?.as_str())?.trim();
    (!name.is_empty()).then(|| shortened(name, 200))
}

#[cfg(test)]
mod tests;
