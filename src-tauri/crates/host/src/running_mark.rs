//! The mark of an engine that runs, and what is missing after one that was killed.
//!
//! Owns `running.json`: written after the first commit of a life, removed after a clean stop. It holds the salt of the
//! write-ahead log, which grows by one each time SQLite begins the log anew. A killed engine leaves its log behind; a start
//! that finds the mark and no log that continues it says that the newest changes may be lost. Costs no flush of the disk.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rouse_gateway::write_private;
use serde_json::{Value, json};

use crate::home::Home;

/// How often a log may have begun anew since the mark was written.
const RESTARTS: u32 = 1 << 30;

/// The mark of this life.
pub(crate) struct RunningMark {
    path: PathBuf,
    log: PathBuf,
    is_set: bool,
}

impl RunningMark {
    pub(crate) fn of(home: &Home) -> Self {
        let [_, log, _] = rouse_store::database_files(&home.database());
        Self { path: home.running_mark(), log, is_set: false }
    }

    /// Writes the mark, once a log is there.
    pub(crate) fn set(&mut self) {
        let Some(salt) = salt_of(&self.log).filter(|_| !self.is_set) else { return };
        match write_private(&self.path, &json!({ "walSalt": salt }).to_string()) {
            Ok(()) => self.is_set = true,
            Err(error) => tracing::debug!(%error, "the mark of a running engine was not written"),
        }
    }
}

/// What is missing of an engine that was killed, in words for the person.
pub(crate) fn lost_log(home: &Home) -> Option<String> {
    // silent-ok: without a readable mark nothing is known of the life before.
    let text = std::fs::read_to_string(home.running_mark()).ok()?;
    let mark: Value = serde_json::from_str(&text).ok()?;
    let expected = u32::try_from(mark["walSalt"].as_u64()?).ok()?;
    let [database, log, _] = rouse_store::database_files(&home.database());
    let continues = salt_of(&log).is_some_and(|salt| salt.wrapping_sub(expected) < RESTARTS);
    (!continues).then(|| {
        format!(
            "Rouse was killed, and {} is missing or belongs to another database, so the newest changes to {} may be lost. \
             Look at the last runs (`rouse runs list`); a backup comes back with `rouse restore FILE` (`rouse backup --list`).",
            log.display(),
            database.display()
        )
    })
}

/// After a clean stop.
pub(crate) fn remove(home: &Home) {
    if let Err(error) = std::fs::remove_file(home.running_mark()) {
        tracing::debug!(%error, "there was no mark of a running engine");
    }
}

/// The first salt of a write-ahead log; none where there is no valid header (fileformat2.html, 4.1).
fn salt_of(log: &Path) -> Option<u32> {
    let mut header = [0; 32];
    // silent-ok: a log that cannot be read is none.
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
