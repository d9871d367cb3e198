//! The log file of the day.
//!
//! A file a day (in UTC, so that no line is ever in two of them), each the user's alone, the newest seven kept. What cannot
//! be written is dropped: an engine that waits for its log would stop for it. One could get this wrong by telling of every
//! line that was dropped; only the first is told, and that lines are written again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::Clock;

use crate::home::make_private_dir;

const FILES_KEPT: usize = 7;

/// Writes each line into the file of its day.
pub(super) struct DailyFile {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    tell: fn(Option<String>),
    day: String,
    file: Option<File>,
    is_in_trouble: bool,
}

impl DailyFile {
    /// Files in `folder`. `tell` hears of trouble when it begins, and of none when it ends.
    pub(super) fn new(folder: PathBuf, clock: Arc<dyn Clock>, tell: fn(Option<String>)) -> Self {
        Self { folder, clock, tell, day: String::new(), file: None, is_in_trouble: false }
    }

    /// Opens today's file before there is a line, so that trouble is told at the start.
    pub(super) fn prepare(&mut self) {
        let opened = self.today().map(drop);
        self.judge(&opened);
    }

    fn today(&mut self) -> io::Result<&mut File> {
        let day = self.clock.now().to_utc().format("%Y-%m-%d").to_string();
        let file = match self.file.take() {
            Some(file) if self.day == day => file,
            _ => open(&self.folder, &day)?,
        };
        self.day = day;
        Ok(self.file.insert(file))
    }

    fn judge(&mut self, result: &io::Result<()>) {
        match result {
            Ok(()) if self.is_in_trouble => (self.tell)(None),
            Err(error) if !self.is_in_trouble => {
                let folder = self.folder.display();
                (self.tell)(Some(format!("The log in {folder} cannot be written: {error}.")));
            }
            Ok(()) | Err(_) => {}
        }
        self.is_in_trouble = result.is_err();
    }
}

impl Write for DailyFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.today().and_then(|file| file.write_all(line));
        if written.is_err() {
            self.file = None;
        }
        self.judge(&written);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn open(folder: &Path, day: &str) -> io::Result<File> {
    make_private_dir(folder)?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(folder.join(format!("rouse.{day}.jsonl")))?;
    crate::home::take_back(&file)?;
    remove_old(folder)?;
    Ok(file)
}

/// Names sort by their day.
fn remove_old(folder: &Path) -> io::Result<()> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("rouse.") && name.ends_with(".jsonl") {
            logs.push(path);
        }
    }
    logs.sort();
    let old = logs.len().saturating_sub(FILES_KEPT);
    logs[..old].iter().try_for_each(fs::remove_file)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rouse_core::UnixMs;
    use rouse_testkit::ManualClock;

    use super::*;

    const DAY_MS: u64 = 24 * 3_600_000;
    /// 2026-11-21T12:00Z.
    const NOON: UnixMs = UnixMs(1_795_262_400_000);

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_a_day_is_kept_for_a_week_and_the_user_s_alone() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("logs");
        let clock = ManualClock::new(NOON);
        let mut log = DailyFile::new(folder.clone(), Arc::new(clock.clone()), |_| {});
        log.prepare();
        fs::write(folder.join("notes.txt"), "mine").expect("a file");
        for day in 0..9 {
            log.write_all(format!("{day}\n").as_bytes()).expect("never an error");
            clock.advance(DAY_MS);
        }
        let names = names(&folder);
        let (first, last) = ("rouse.2026-11-23.jsonl", "rouse.2026-11-29.jsonl");
        assert_eq!(names.len(), 8, "{names:?}");
        assert_eq!((names[0].as_str(), names[1].as_str()), ("notes.txt", first));
        assert_eq!(names[7], last);
        assert_eq!(fs::read_to_string(folder.join(last)).expect("a file"), "8\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode =
                |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&folder.join(last))), (0o700, 0o600));
        }
    }

    #[test]
    fn trouble_is_told_when_it_begins_and_when_it_ends() {
        static TOLD: Mutex<Vec<Option<String>>> = Mutex::new(Vec::new());
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("logs");
        fs::write(&folder, "in the way").expect("a file");
        let clock = Arc::new(ManualClock::new(NOON));
        let mut log = DailyFile::new(folder.clone(), clock, |trouble| {
            TOLD.lock().expect("nobody panicked").push(trouble);
        });
        log.prepare();
        log.write_all(b"lost\n").expect("never an error");
        fs::remove_file(&folder).expect("our own file");
        log.write_all(b"kept\n").expect("never an error");
        log.write_all(b"kept too\n").expect("never an error");
        let kept = fs::read_to_string(folder.join("rouse.2026-11-21.jsonl")).expect("a file");
        assert_eq!(kept, "kept\nkept too\n");
        let told = TOLD.lock().expect("nobody panicked").clone();
        assert_eq!(told.len(), 2, "{told:?}");
        let sentence = told[0].as_deref().expect("trouble");
        let folder = folder.display().to_string();
        assert!(sentence.contains(&folder) && sentence.contains("cannot be written"), "{sentence}");
        assert_eq!(told[1], None);
    }
}
