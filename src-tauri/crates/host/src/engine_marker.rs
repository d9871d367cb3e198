//! The marker file of a running engine, and the detection of a lost write-ahead log.
//!
//! Owns `running.json`: written after the first commit of an engine, removed by a clean stop. The file holds the salt
//! of the write-ahead log; SQLite increments the salt with each restart of the log. A killed engine leaves its log
//! behind. A start that finds the marker but no log with a continuing salt reports possible loss of recent changes.
//! Costs no disk flush.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rouse_gateway::write_private;
use serde_json::{Value, json};

use crate::home::Home;

/// The maximum number of log restarts since the marker was written.
const MAX_RESTARTS: u32 = 1 << 30;

/// The marker of this engine.
pub(crate) struct EngineMarker {
    path: PathBuf,
    log: PathBuf,
    is_set: bool,
}

impl EngineMarker {
    pub(crate) fn of(home: &Home) -> Self {
        let [_, log, _] = rouse_store::database_files(&home.database());
        Self { path: home.engine_marker(), log, is_set: false }
    }

    /// Writes the marker as soon as a log exists.
    pub(crate) fn set(&mut self) {
        let Some(salt) = read_salt(&self.log).filter(|_| !self.is_set) else { return };
        match write_private(&self.path, &json!({ "walSalt": salt }).to_string()) {
            Ok(()) => self.is_set = true,
            Err(error) => tracing::debug!(%error, "the marker of a running engine was not written"),
        }
    }
}

/// Why the newest changes may be lost after a kill, as text for the person.
pub(crate) fn wal_loss(home: &Home) -> Option<String> {
    // silent-ok: without a readable marker the previous engine's state is unknown.
    let text = std::fs::read_to_string(home.engine_marker()).ok()?;
    let marker: Value = serde_json::from_str(&text).ok()?;
    let expected = u32::try_from(marker["walSalt"].as_u64()?).ok()?;
    let [database, log, _] = rouse_store::database_files(&home.database());
    let continues = read_salt(&log).is_some_and(|salt| salt.wrapping_sub(expected) < MAX_RESTARTS);
    (!continues).then(|| {
        format!(
            "Rouse was killed, and {} is missing or belongs to another database, so the newest changes to {} may be lost. \
             Look at the last runs (`rouse runs list`); a backup comes back with `rouse restore FILE` (`rouse backup --list`).",
            log.display(),
            database.display()
        )
    })
}

/// Removes the marker after a clean stop.
pub(crate) fn remove(home: &Home) {
    if let Err(error) = std::fs::remove_file(home.engine_marker()) {
        tracing::debug!(%error, "there was no marker of a running engine");
    }
}

/// The first salt of a write-ahead log; none without a valid header (fileformat2.html, 4.1).
fn read_salt(log: &Path) -> Option<u32> {
    let mut header = [0; 32];
    // silent-ok: an unreadable log counts as missing.
    File::open(log).ok()?.read_exact(&mut header).ok()?;
    let word = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let is_big_endian = match word(0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return None,
    };
    let (mut first, mut second) = (0_u32, 0_u32);
    for at in (0..24).step_by(8) {
        let word = |at: usize| if is_big_endian { word(at) } else { word(at).swap_bytes() };
        first = first.wrapping_add(word(at)).wrapping_add(second);
        second = second.wrapping_add(word(at + 4)).wrapping_add(first);
    }
    ((first, second) == (word(24), word(28))).then(|| word(16))
}
