//! Jobs out of files: Rouse's own export, the `jobs.json` of the cron RFC, OpenClaw's jobs, a crontab.
//!
//! Owns the reading of foreign formats into the job format: what each key becomes, what cannot be taken over and why,
//! one entry a job. It has no opinion on whether the result is a good job (`job_from_json` says that) and none on what
//! is there already. A file comes from outside: it may be huge, nested, doubled or half, and then it is an error with
//! its place, never half an import. One could get this wrong by letting a job through that says something else here
//! than it said there; what has no counterpart is kept beside the job and told.

mod json;
mod environment;
mod shell;
mod identity;
mod rouse;
mod rfc;
mod openclaw;
mod comments;
mod crontab;

use serde_json::Value;

use self::environment::without_values;
use self::identity::Seen;

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `cron.export`.
    Rouse,
    /// The `jobs.json` of the cron RFC.
    Rfc,
    /// OpenClaw's jobs as JSON.
    OpenClaw,
    /// A user's crontab.
    Crontab,
    /// A system's crontab, with a user before each command.
    SystemCrontab,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// As which it was read.
    pub format: Format,
    /// Its jobs, in the order of the file.
    pub entries: Vec<Entry>,
}

/// One job of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name, or its place in the file.
    pub name: String,
    /// The line of the file it stands at, where a line is a job.
    pub line: Option<usize>,
    /// The job in the job format, or why it cannot be one.
    pub job: Result<Value, String>,
    /// What the person should know about it.
    pub notes: Vec<String>,
    /// Whether it does here what it did there, so that it may be switched on with the others.
    pub is_faithful: bool,
}

/// The file holds no jobs that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// More than anybody's jobs.
    #[error("the file is larger than {} MB", MOST_BYTES / 1_048_576)]
    TooLarge,
    /// Not a text.
    #[error("the file is not a text: it holds a NUL character (byte {0})")]
    Nul(usize),
    /// Begins like JSON and is not.
    #[error("the file is not JSON that can be trusted: {0}")]
    Json(String),
    /// Nothing that looks like a job.
    #[error(
        "the file holds no jobs. Expected an export of Rouse, a jobs.json ({{\"jobs\": [...]}} or a list), or a crontab"
    )]
    NoJobs,
    /// An export of a Rouse that is newer than this one.
    #[error(
        "the file was written by a newer Rouse (version {0} of its format; this one reads {VERSION}). Update Rouse first"
    )]
    Newer(u64),
    /// More jobs than can be meant.
    #[error("the file holds {0} jobs; at most {MOST_JOBS} are taken at once")]
    TooMany(usize),
}

/// The version of the shape of our own export.
pub const VERSION: u32 = 1;
/// The largest file that is read.
pub const MOST_BYTES: usize = 8 * 1_048_576;
/// Most jobs of one file.
pub const MOST_JOBS: usize = 10_000;
/// Under this key stands what has no counterpart in the job format.
pub const ORIGIN: &str = "importedFrom";

impl Format {
    /// Its name on the wire and in the terminal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rouse => "rouse",
            Self::Rfc => "rfc",
            Self::OpenClaw => "openclaw",
            Self::Crontab => "crontab",
            Self::SystemCrontab => "systemcrontab",
        }
    }
}

/// Reads a file's text; `format` is looked for when absent.
///
/// # Errors
/// Why the file as a whole cannot be read. A single job that cannot be read is an entry that says so.
pub fn read(text: &str, format: Option<Format>) -> Result<Import, ImportError> {
    if text.len() > MOST_BYTES {
        return Err(ImportError::TooLarge);
    }
    if let Some(place) = text.find('\0') {
        return Err(ImportError::Nul(place));
    }
    let text = text.trim_start_matches('\u{feff}');
    let is_json = text.trim_start().starts_with(['{', '[']);
    let (format, entries) = match format {
        Some(crontab @ (Format::Crontab | Format::SystemCrontab)) => crontab::read(text, crontab),
        None if !is_json => crontab::recognise(text)?,
        wanted => read_json(text, wanted)?,
    };
    match entries.len() {
        0 => Err(ImportError::NoJobs),
        count if count > MOST_JOBS => Err(ImportError::TooMany(count)),
        _ => Ok(Import { format, entries }),
    }
}

fn read_json(text: &str, wanted: Option<Format>) -> Result<(Format, Vec<Entry>), ImportError> {
    let document = json::parse(text).map_err(ImportError::Json)?;
    let is_ours = rouse::is_export(&document);
    let version = document.get("version").and_then(Value::as_u64);
    if let Some(newer) = version.filter(|version| is_ours && *version > u64::from(VERSION)) {
        return Err(ImportError::Newer(newer));
    }
    let jobs = json::jobs_of(document).ok_or(ImportError::NoJobs)?;
    let format = wanted.unwrap_or_else(|| match () {
        () if is_ours => Format::Rouse,
        () if jobs.iter().any(openclaw::is_theirs) => Format::OpenClaw,
        () if jobs.iter().any(rouse::is_ours) => Format::Rouse,
        () => Format::Rfc,
    });
    let read = match format {
        Format::OpenClaw => openclaw::read,
        Format::Rfc => rfc::read,
        Format::Rouse | Format::Crontab | Format::SystemCrontab => rouse::read,
    };
    let mut seen = Seen::default();
    let entries = jobs.into_iter().enumerate().map(|(index, mut job)| {
        let name = name_of(&job).unwrap_or_else(|| format!("job {}", index + 1));
        if let Some(id) = seen.id_of_job(&job) {
            job["id"] = id;
        }
        if format == Format::Rouse {
            return read(name, job);
        }
        let left_out = job.as_object_mut().map(without_values).unwrap_or_default();
        let mut entry = read(name, job).without_own_calls();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            entry.notes.insert(0, format!("Values of its environment are left out: {names}."));
        }
        entry
    });
    Ok((format, entries.collect()))
}

fn name_of(job: &Value) -> Option<String> {
    let name = ["name", "displayName"].iter().find_map(|key| job.get(key)?.as_str())?.trim();
    (!name.is_empty()).then(|| shortened(name, 200))
}

impl Entry {
    /// A job that does here what it did there.
    fn faithful(name: String, job: Value) -> Self {
        Self { name, line: None, job: Ok(job), notes: Vec::new(), is_faithful: true }
    }

    fn refused(name: String, reason: impl Into<String>) -> Self {
        Self { name, line: None, job: Err(reason.into()), notes: Vec::new(), is_faithful: false }
    }

    /// The same from a format whose jobs call no tool by themselves: one that does says something that it did not do there,
    /// and what a job calls by itself has the person's own rights.
    fn without_own_calls(mut self) -> Self {
        let is_call =
            |job: &Value| job.pointer("/payload/kind").and_then(Value::as_str) == Some("toolCall");
        if self.is_faithful && self.job.as_ref().is_ok_and(is_call) {
            self.is_faithful = false;
            self.notes.push(
                "It calls a tool with your own rights. It stays off until you have looked at it and switched it on."
                    .to_owned(),
            );
        }
        self
    }

    /// Its name and, where there is one, its line: what is refused has to be found in the file.
    #[must_use]
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}: {}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The first `most` characters, with an ellipsis when there are more.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
