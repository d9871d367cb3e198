//! `rouse logs`: the engine's log, for people.
//!
//! Reads the files themselves, so it also tells why an engine that is not running has ended. Whatever else lies beside
//! them or stands in them keeps no line from being shown. One could get following
//! wrong by leaving a day's file when the next one is there: its last lines may have come since the last look.

mod about;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use self::about::About;
use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

/// How often a file that grows is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only lines about this run: its id, its beginning or its end; `last` is the newest.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only lines about this job: its id, the beginning of it, or its exact name.
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// The newest so many lines.
    #[arg(long, short = 'n', default_value_t = 50)]
    lines: usize,
    /// Go on with what comes.
    #[arg(long, short)]
    follow: bool,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let folder = session.home.logs();
    let about = About::read(args, session, &folder).await?;
    let files = files(&folder)?;
    let is_there = !files.is_empty();
    let mut newest = Reading::default();
    let mut kept = Vec::new();
    for file in files {
        newest = Reading::of(&file)?;
        while let Some(line) = newest.next()? {
            kept.extend(Some(line).filter(|line| about.fits(line)));
        }
        kept.drain(..kept.len().saturating_sub(args.lines));
    }
    for line in &kept {
        print(session, line)?;
    }
    if !is_there {
        let folder = folder.display();
        anstream::eprintln!(
            "There is no log yet: Rouse writes it into {folder} once it has started."
        );
    }
    match (args.follow, kept.is_empty()) {
        (true, _) => follow(&about, session, &folder, newest).await,
        (false, true) => about.silence(session).await,
        (false, false) => Ok(()),
    }
}

/// Prints what comes, until the command is ended or nobody reads any more.
async fn follow(
    about: &About,
    session: &Session,
    folder: &Path,
    mut newest: Reading,
) -> Result<(), Failure> {
    while print_rest(about, session, &mut newest)? {
        #[expect(clippy::disallowed_methods, reason = "a file tells nobody that it grew")]
        tokio::time::sleep(LOOK_EVERY).await;
        newest.begin_anew_if_replaced()?;
        // A new day has a new file; what is there now of an older one is all of it.
        let mut later = files(folder)?;
        later.retain(|file| *file > newest.path);
        for file in later {
            print_rest(about, session, &mut newest)?;
            newest = Reading::of(&file)?;
        }
    }
    Ok(())
}

/// Prints the lines up to the end of what is there. False when nobody reads any more.
fn print_rest(about: &About, session: &Session, reading: &mut Reading) -> Result<bool, Failure> {
    while let Some(line) = reading.next()? {
        if about.fits(&line) && !print(session, &line)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The log files, the oldest first: their names are their days.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        error => error.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // Only files: whoever opens a pipe waits for its other end.
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl") && path.is_file());
    files.sort();
    Ok(files)
}

/// A file being read, whole line by whole line.
#[derive(Default)]
struct Reading {
    path: PathBuf,
    file: Option<BufReader<File>>,
    /// The beginning of a line whose end is not written yet.
    begun: Vec<u8>,
}

impl Reading {
    fn of(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: Some(BufReader::new(file)), begun: Vec::new() })
    }

    /// The next line that is JSON; none at the end of what is there.
    fn next(&mut self) -> Result<Option<Value>, Failure> {
        let Some(file) = &mut self.file else { return Ok(None) };
        loop {
            let read = file.read_until(b'\n', &mut self.begun);
            read.with_context(|| format!("cannot read {}", self.path.display()))?;
            if !self.begun.ends_with(b"\n") {
                return Ok(None);
            }
            // A disk or another program may have left what is no text.
            let line = serde_json::from_str(&String::from_utf8_lossy(&self.begun));
            self.begun.clear();
            if let Ok(line) = line {
                return Ok(Some(line));
            }
        }
    }

    /// Goes to the beginning of what is at the path now, when the file was emptied or another has taken its place.
    fn begin_anew_if_replaced(&mut self) -> Result<(), Failure> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let (now, open) = match (fs::metadata(&self.path), file.get_ref().metadata()) {
            (Ok(now), Ok(open)) => (now, open),
            // It is gone; a new one may come.
            _ => return Ok(()),
        };
        if is_another(&now, &open) {
            *self = Self::of(&self.path)?;
        } else if now.len() < file.stream_position()? {
            file.rewind()?;
            self.begun.clear();
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_another(now: &fs::Metadata, open: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (now.dev(), now.ino()) != (open.dev(), open.ino())
}

/// Elsewhere a file that is open keeps its place.
#[cfg(not(unix))]
const fn is_another(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}

/// Prints a line. False when nobody reads any more.
fn print(session: &Session, line: &Value) -> Result<bool, Failure> {
    let text = if session.json { line.to_string() } else { plain(&words(line)) };
    match writeln!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        printed => Ok(printed.map(|()| true)?),
    }
}

fn words(line: &Value) -> String {
    let text = |key: &str| line[key].as_str().unwrap_or_default();
    let mut words = format!("{} {:5} {}", text("time"), text("level"), text("message"));
    let said = ["time", "level", "message", "module"];
    for (key, value) in line.as_object().into_iter().flatten() {
        let is_about_nothing = key == "name" && value == "rouse";
        if !said.contains(&key.as_str()) && !is_about_nothing {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words += &format!("  {key}={value}");
        }
    }
    words
}
