//! The log file of the day.
//!
//! A file a day (in UTC, so that no line is ever in two of them), each the user's alone. A day that writes much goes on in
//! further files, `rouse.2026-11-21_00002.jsonl`, whose names sort as they were written. The newest seven days are kept,
//! and of them no more than `Limits` says, the oldest files going first. What cannot be written is dropped: an engine that
//! waits for its log would stop for it. One could get this wrong by telling of every line that was dropped; only the first
//! is told, and that lines are written again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::Clock;

use crate::home::make_private_dir;

const DAYS_KEPT: usize = 7;

/// Most bytes of the log.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Of one file.
    file: u64,
    /// Of all files together.
    all: u64,
}

impl Limits {
    const USUAL: Self = Self { file: 8 << 20, all: 64 << 20 };
}

/// Writes each line into the file of its day.
pub(super) struct DailyFile {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    tell: fn(Option<String>),
    limits: Limits,
    day: String,
    file: Option<File>,
    is_in_trouble: bool,
}

impl DailyFile {
    /// Files in `folder`. `tell` hears of trouble when it begins, and of none when it ends.
    pub(super) fn new(folder: PathBuf, clock: Arc<dyn Clock>, tell: fn(Option<String>)) -> Self {
        let (limits, day) = (Limits::USUAL, String::new());
        Self { folder, clock, tell, limits, day, file: None, is_in_trouble: false }
    }

    /// Opens today's file before there is a line, so that trouble is told at the start.
    pub(super) fn prepare(&mut self) {
        let opened = self.today(0).map(drop);
        self.judge(&opened);
    }

    /// The file for `more` bytes of today.
    fn today(&mut self, more: u64) -> io::Result<&mut File> {
        let day = self.clock.now().to_utc().format("%Y-%m-%d").to_string();
        let open = match self.file.take() {
            // Asked of the file, because another process may write into it too.
            Some(file) if self.day == day && goes_on(&file.metadata()?, more, self.limits) => file,
            _ => open(&self.folder, &day, more, self.limits)?,
        };
        self.day = day;
        Ok(self.file.insert(open))
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
        let more = line.len() as u64;
        let written = self.today(more).and_then(|file| file.write_all(line));
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

/// Whether an open file takes `more`: one that somebody has deleted is read by nobody.
fn goes_on(about: &fs::Metadata, more: u64, limits: Limits) -> bool {
    is_there(about) && fits(about.len(), more, limits)
}

#[cfg(unix)]
fn is_there(about: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(about) > 0
}

/// Elsewhere a file that is open stays.
#[cfg(not(unix))]
const fn is_there(_: &fs::Metadata) -> bool {
    true
}

/// Whether a file of `length` bytes takes `more`. A line that is too long for any file gets one of its own.
const fn fits(length: u64, more: u64, limits: Limits) -> bool {
    length == 0 || length.saturating_add(more) <= limits.file
}

/// The newest file of `day`, or the one after it when that is full.
fn open(folder: &Path, day: &str, more: u64, limits: Limits) -> io::Result<File> {
    make_private_dir(folder)?;
    let newest = logs(folder)?.into_iter().rfind(|log| log.day == day);
    let number = match newest {
        Some(log) if fits(log.bytes, more, limits) => log.number,
        Some(log) => log.number + 1,
        None => 1,
    };
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(folder.join(file_name(day, number)))?;
    crate::home::take_back(&file)?;
    remove_old(folder, limits)?;
    Ok(file)
}

/// A file of the log.
struct Log {
    path: PathBuf,
    day: String,
    number: u32,
    bytes: u64,
}

impl Log {
    /// The file at `path`; none when it is not of the log.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (day, number) = name_of(name)?;
        // One that another process has just removed is none.
        let bytes = fs::metadata(&path).ok()?.len();
        Some(Self { path, day, number, bytes })
    }
}

fn file_name(day: &str, number: u32) -> String {
    match number {
        1 => format!("rouse.{day}.jsonl"),
        _ => format!("rouse.{day}_{number:05}.jsonl"),
    }
}

fn name_of(name: &str) -> Option<(String, u32)> {
    let inner = name.strip_prefix("rouse.")?.strip_suffix(".jsonl")?;
    match inner.split_once('_') {
        Some((day, number)) => Some((day.to_owned(), number.parse().ok()?)),
        None => Some((inner.to_owned(), 1)),
    }
}

/// The files of the log, the oldest first.
fn logs(folder: &Path) -> io::Result<Vec<Log>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder)? {
        logs.extend(Log::at(entry?.path()));
    }
    logs.sort_by(|a, b| (&a.day, a.number).cmp(&(&b.day, b.number)));
    Ok(logs)
}

/// Keeps the newest days, and room for the newest file to become full.
fn remove_old(folder: &Path, limits: Limits) -> io::Result<()> {
    let logs = logs(folder)?;
    let mut days: Vec<&str> = logs.iter().map(|log| log.day.as_str()).collect();
    days.dedup();
    let oldest = days.iter().rev().nth(DAYS_KEPT - 1).copied().unwrap_or_default();
    let mut kept = limits.file;
    for log in logs.iter().rev().skip(1) {
        kept = kept.saturating_add(log.bytes);
        if kept > limits.all || log.day.as_str() < oldest {
            fs::remove_file(&log.path)?;
        }
    }
    Ok(())
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
    fn a_day_that_writes_much_has_several_files_and_all_together_are_bounded() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("logs");
        let clock = ManualClock::new(NOON);
        let open = || {
            let mut log = DailyFile::new(folder.clone(), Arc::new(clock.clone()), |_| {});
            log.limits = Limits { file: 10, all: 40 };
            log
        };
        let mut log = open();
        log.write_all(b"long ago\n").expect("never an error");
        clock.advance(DAY_MS);
        for line in 0..3 {
            log.write_all(format!("line {line}\n").as_bytes()).expect("never an error");
        }
        let (day, second) = ("rouse.2026-11-22.jsonl", "rouse.2026-11-22_00002.jsonl");
        let third = "rouse.2026-11-22_00003.jsonl";
        assert_eq!(names(&folder), ["rouse.2026-11-21.jsonl", day, second, third]);
        // Who starts again goes on where it stopped, and nothing grows past its bound.
        let mut log = open();
        log.write_all(b"4\n").expect("never an error");
        assert_eq!(fs::read_to_string(folder.join(third)).expect("a file"), "line 2\n4\n");
        for line in 5..40 {
            log.write_all(format!("line {line}\n").as_bytes()).expect("never an error");
            let sizes: Vec<u64> = names(&folder)
                .iter()
                .map(|name| fs::metadata(folder.join(name)).expect("there").len())
                .collect();
            let is_bounded =
                sizes.iter().all(|size| *size <= 10) && sizes.iter().sum::<u64>() <= 40;
            assert!(is_bounded, "after {line}: {sizes:?}");
        }
        let names = names(&folder);
        assert!(names.is_sorted() && names[0].as_str() > third, "{names:?}");
        let newest = names.last().expect("a file");
        assert_eq!(fs::read_to_string(folder.join(newest)).expect("a file"), "line 39\n");
        // A line that is larger than a file has one of its own.
        log.write_all(b"a line of its own\n").expect("never an error");
        log.write_all(b"next\n").expect("never an error");
        let names = self::names(&folder);
        let read = |name: &String| fs::read_to_string(folder.join(name)).expect("a file");
        assert_eq!(read(&names[names.len() - 2]), "a line of its own\n");
        assert_eq!(read(&names[names.len() - 1]), "next\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_deleted_is_made_anew() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("logs");
        let clock = Arc::new(ManualClock::new(NOON));
        let mut log = DailyFile::new(folder.clone(), clock, |_| {});
        log.write_all(b"before\n").expect("never an error");
        let file = folder.join("rouse.2026-11-21.jsonl");
        fs::remove_file(&file).expect("our own file");
        log.write_all(b"after\n").expect("never an error");
        assert_eq!(fs::read_to_string(file).expect("a new file"), "after\n");
        fs::remove_dir_all(&folder).expect("our own folder");
        log.write_all(b"again\n").expect("never an error");
        assert_eq!(names(&folder), ["rouse.2026-11-21.jsonl"]);
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
