//! Log files, read line by line.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Seek as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::resolve::error::CliError;

/// The log files, oldest first: a file name is a day.
pub(super) fn log_paths(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        error => error.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // Opening a pipe would block.
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl") && path.is_file());
    paths.sort();
    Ok(paths)
}

/// An open log file.
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    reader: BufReader<File>,
    /// The start of an incomplete line.
    partial_line: Vec<u8>,
}

impl LogFile {
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { path: path.to_owned(), reader: BufReader::new(file), partial_line: Vec::new() })
    }

    /// The next line that is JSON; none at the present end of the file.
    pub(super) fn next_line(&mut self) -> Result<Option<Value>, CliError> {
        loop {
            let read = self.reader.read_until(b'\n', &mut self.partial_line);
            read.with_context(|| format!("cannot read {}", self.path.display()))?;
            if !self.partial_line.ends_with(b"\n") {
                return Ok(None);
            }
            // A disk error or another program may leave bytes that are not text.
            let line = serde_json::from_str(&String::from_utf8_lossy(&self.partial_line));
            self.partial_line.clear();
            if let Ok(line) = line {
                return Ok(Some(line));
            }
        }
    }

    /// Starts again at the beginning if the file was truncated or replaced.
    pub(super) fn reopen_if_replaced(&mut self) -> Result<(), CliError> {
        let (present, open) = match (fs::metadata(&self.path), self.reader.get_ref().metadata()) {
            (Ok(present), Ok(open)) => (present, open),
            // Deleted; a new file may appear.
            _ => return Ok(()),
        };
        if is_other_file(&present, &open) {
            *self = Self::open(&self.path)?;
        } else if present.len() < self.reader.stream_position()? {
            self.reader.rewind()?;
            self.partial_line.clear();
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_other_file(present: &fs::Metadata, open: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (present.dev(), present.ino()) != (open.dev(), open.ino())
}

/// Other systems do not replace an open file.
#[cfg(not(unix))]
const fn is_other_file(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}
