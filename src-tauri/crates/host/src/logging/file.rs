//! The daily log file.
//!
//! Owns one private file per UTC day. A full file continues in `rouse.2026-11-21_00002.jsonl`; the names sort by
//! time. The newest seven days are kept within `LogLimits`, deleting the oldest files first. Lines that cannot be
//! written are dropped, so the engine never waits for its log. Pitfall: reporting every dropped line; only the begin
//! and the end of a problem are reported.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::Clock;

use crate::home::make_private_dir;

const DAYS_KEPT: usize = 7;

/// Size limits of the log.
#[derive(Debug, Clone, Copy)]
struct LogLimits {
    /// The size of a file.
    file: u64,
    /// The size of all files together.
    all: u64,
}

impl LogLimits {
    const DEFAULT: Self = Self { file: 8 << 20, all: 64 << 20 };
}

/// Writes each line to the file of its day.
pub(super) struct DailyFile {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    report: fn(Option<String>),
    limits: LogLimits,
    day: String,
    file: Option<File>,
    has_problem: bool,
}

impl DailyFile {
    /// A log in `folder`. `report` receives a problem at its begin, and none at its end.
    pub(super) fn new(folder: PathBuf, clock: Arc<dyn Clock>, report: fn(Option<String>)) -> Self {
        let (limits, day) = (LogLimits::DEFAULT, String::new());
        Self { folder, clock, report, limits, day, file: None, has_problem: false }
    }

    /// Opens today's file before the first line, so a problem is reported at start.
    pub(super) fn prepare(&mut self) {
        let opened = self.today(0).map(drop);
        self.report_result(&opened);
    }

    /// Today's file with room for `more` bytes.
    fn today(&mut self, more: u64) -> io::Result<&mut File> {
        let day = self.clock.now().to_utc().format("%Y-%m-%d").to_string();
        let open = match self.file.take() {
            // The size is read from the file, because another process may write to it too.
            Some(file) if self.day == day && has_room(&file.metadata()?, more, self.limits) => file,
            _ => open(&self.folder, &day, more, self.limits)?,
        };
        self.day = day;
        Ok(self.file.insert(open))
    }

    fn report_result(&mut self, result: &io::Result<()>) {
        match result {
            Ok(()) if self.has_problem => (self.report)(None),
            Err(error) if !self.has_problem => {
                let folder = self.folder.display();
                (self.report)(Some(format!("The log in {folder} cannot be written: {error}.")));
            }
            Ok(()) | Err(_) => {}
        }
        self.has_problem = result.is_err();
    }
}

impl Write for DailyFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let more = line.len() as u64;
        let written = self.today(more).and_then(|file| file.write_all(line));
        if written.is_err() {
            self.file = None;
        }
        self.report_result(&written);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether an open file has room for `more` bytes and was not deleted.
fn has_room(metadata: &fs::Metadata, more: u64, limits: LogLimits) -> bool {
    exists(metadata) && fits(metadata.len(), more, limits)
}

#[cfg(unix)]
fn exists(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 0
}

/// On other systems an open file cannot be deleted.
#[cfg(not(unix))]
const fn exists(_: &fs::Metadata) -> bool {
    true
}

/// Whether a file of `length` bytes has room for `more`. A line above the limit gets an own file.
const fn fits(length: u64, more: u64, limits: LogLimits) -> bool {
    length == 0 || length.saturating_add(more) <= limits.file
}

/// Opens the newest file of `day`, or the next if that is full.
fn open(folder: &Path, day: &str, more: u64, limits: LogLimits) -> io::Result<File> {
    make_private_dir(folder)?;
    let newest = list_logs(folder)?.into_iter().rfind(|log| log.day == day);
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
    crate::home::restrict_to_user(&file)?;
    remove_old(folder, limits)?;
    Ok(file)
}

/// A file of the log of one day.
struct DailyLogFile {
    path: PathBuf,
    day: String,
    number: u32,
    bytes: u64,
}

impl DailyLogFile {
    /// The log file at `path`; none for other files.
    fn at(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (day, number) = parse_name(name)?;
        // Another process may have removed the file just now.
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

fn parse_name(name: &str) -> Option<(String, u32)> {
    let inner = name.strip_prefix("rouse.")?.strip_suffix(".jsonl")?;
    match inner.split_once('_') {
        Some((day, number)) => Some((day.to_owned(), number.parse().ok()?)),
        None => Some((inner.to_owned(), 1)),
    }
}

/// The files of the log, oldest first.
fn list_logs(folder: &Path) -> io::Result<Vec<DailyLogFile>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder)? {
        logs.extend(DailyLogFile::at(entry?.path()));
    }
    logs.sort_by(|a, b| (&a.day, a.number).cmp(&(&b.day, b.number)));
    Ok(logs)
}

/// Removes files beyond the kept days and the total size, keeping room for the newest file to fill.
fn remove_old(folder: &Path, limits: LogLimits) -> io::Result<()> {
    let logs = list_logs(folder)?;
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
    fn daily_files_are_private_and_kept_for_a_week() {
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
    fn full_files_rotate_within_the_total_limit() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("logs");
        let clock = ManualClock::new(NOON);
        let open = || {
            let mut log = DailyFile::new(folder.clone(), Arc::new(clock.clone()), |_| {});
            log.limits = LogLimits { file: 10, all: 40 };
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
        // A restarted log continues the newest file within its limit.
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
        // A line above the limit gets an own file.
        log.write_all(b"a line of its own\n").expect("never an error");
        log.write_all(b"next\n").expect("never an error");
        let names = self::names(&folder);
        let read = |name: &String| fs::read_to_string(folder.join(name)).expect("a file");
        assert_eq!(read(&names[names.len() - 2]), "a line of its own\n");
        assert_eq!(read(&names[names.len() - 1]), "next\n");
    }

    #[cfg(unix)]
    #[test]
    fn deleted_file_is_recreated() {
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
    fn problem_is_reported_at_begin_and_end() {
        static REPORTS: Mutex<Vec<Option<String>>> = Mutex::new(Vec::new());
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("logs");
        fs::write(&folder, "in the way").expect("a file");
        let clock = Arc::new(ManualClock::new(NOON));
        let mut log = DailyFile::new(folder.clone(), clock, |problem| {
            REPORTS.lock().expect("not poisoned").push(problem);
        });
        log.prepare();
        log.write_all(b"lost\n").expect("never an error");
        fs::remove_file(&folder).expect("our own file");
        log.write_all(b"kept\n").expect("never an error");
        log.write_all(b"kept too\n").expect("never an error");
        let kept = fs::read_to_string(folder.join("rouse.2026-11-21.jsonl")).expect("a file");
        assert_eq!(kept, "kept\nkept too\n");
        let reports = REPORTS.lock().expect("not poisoned").clone();
        assert_eq!(reports.len(), 2, "{reports:?}");
        let sentence = reports[0].as_deref().expect("a problem");
        let folder = folder.display().to_string();
        assert!(sentence.contains(&folder) && sentence.contains("cannot be written"), "{sentence}");
        assert_eq!(reports[1], None);
    }
}
