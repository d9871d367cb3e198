//! An imported job, the format of the file, and the errors of an import.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

/// The format of an imported file.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ImportFormat {
    /// An export of Rouse.
    Rouse,
    /// The `jobs.json` of the cron RFC.
    Rfc,
    /// OpenClaw's jobs as JSON.
    OpenClaw,
    /// A user's crontab.
    Crontab,
    /// A system crontab, with a user before each command.
    SystemCrontab,
}

/// An imported job.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportEntry {
    /// The name, or the position in the file.
    pub name: String,
    /// The line, when the format has a job per line.
    pub line: Option<usize>,
    /// The job document, or why the job was refused.
    pub job: Result<Value, String>,
    /// Notes for the person.
    pub notes: Vec<String>,
    /// Whether the behaviour is the same as in the source, so that the job may be enabled with the others.
    pub is_faithful: bool,
}

/// Why a file cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Over the size limit.
    #[error("the file is larger than {} MB", MOST_BYTES / 1_048_576)]
    TooLarge,
    /// Not a text file.
    #[error("the file is not a text: it holds a NUL character (byte {0})")]
    Nul(usize),
    /// Invalid JSON.
    #[error("the file is not JSON that can be trusted: {0}")]
    Json(String),
    /// No jobs found.
    #[error(
        "the file holds no jobs. Expected an export of Rouse, a jobs.json ({{\"jobs\": [...]}} or a list), or a crontab"
    )]
    NoJobs,
    /// Exported by a newer Rouse.
    #[error(
        "the file was written by a newer Rouse (format version {0}; this version reads {VERSION}). Update Rouse first"
    )]
    Newer(u64),
    /// Over the limit of jobs.
    #[error("the file holds {0} jobs; at most {MOST_JOBS} are taken at once")]
    TooMany(usize),
}

/// The format version of exports.
pub const VERSION: u32 = 1;
/// The maximum size of a file.
pub const MOST_BYTES: usize = 8 * 1_048_576;
/// The maximum jobs of a file.
pub const MOST_JOBS: usize = 10_000;
/// The key that keeps source fields without a counterpart.
pub const ORIGIN: &str = "importedFrom";

impl ImportFormat {
    /// The name in JSON and in the terminal.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl ImportEntry {
    /// A job with the same behaviour as in the source.
    pub(super) fn faithful(name: String, job: Value) -> Self {
        Self { name, line: None, job: Ok(job), notes: Vec::new(), is_faithful: true }
    }

    pub(super) fn refused(name: String, reason: impl Into<String>) -> Self {
        Self { name, line: None, job: Err(reason.into()), notes: Vec::new(), is_faithful: false }
    }

    /// Disables a job with a direct tool call, for a format without such calls: the job behaves differently and would
    /// run with the person's own rights.
    pub(super) fn without_own_calls(mut self) -> Self {
        let is_call =
            |job: &Value| job.pointer("/payload/kind").and_then(Value::as_str) == Some("toolCall");
        if self.is_faithful && self.job.as_ref().is_ok_and(is_call) {
            self.is_faithful = false;
            self.notes.push(
                "Calls a tool with your full permissions. Disabled until you review and enable the job."
                    .to_owned(),
            );
        }
        self
    }

    /// The line, if any, and the name, to find the job in the file.
    #[must_use]
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}: {}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The first `most` characters, with an ellipsis when shortened.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
