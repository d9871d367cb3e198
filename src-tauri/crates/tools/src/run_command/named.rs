//! The files that a command line names, with what is in them.
//!
//! A yes to `sh deploy.sh` is a yes to what the script holds at that moment, so the answer is bound to it. Every word of
//! the line (`line`), also within quotes and behind `=`, `:`, `@` and one-letter options, is held against the disk, in the
//! folder of the call and in every folder that the line names, because it may go there first. A word that names nothing is
//! bound as absent, so that a file which comes to be there later is a change; a pattern is bound as what it fits now. Of a
//! script the words of its first line (`#!`) are looked at in the same way, of a shell script the files that it runs, and of a program that reads files which
//! nobody names (`programs`), those files. What the line does no more with than to write to it is bound apart: a standing
//! yes is not held to it. It refuses to be a shell: names that come out of variables or another program are not seen
//! (`unheld` says so), nor is what a script reads. There the sandbox is what holds.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use rouse_core::approval::ABSENT;
use rouse_core::visible::{visible, visible_os_path};

use super::line::{DEPTH, names, run_words};
use super::{programs, script, unheld};

use crate::workspace::{MOST_READ, Workspace, fingerprint};

/// The folders of a line that its words are tried in.
const MOST_FOLDERS: usize = 16;
/// The parts of a pattern that may be patterns themselves.
const MOST_WILD: usize = 3;
/// The files that one pattern is taken for.
const MOST_FITTING: usize = 1_000;
const UNREADABLE: &str = "unreadable";
/// A file of this size is read even when the others have used up what may be read for one line.
const SMALL: u64 = 1 << 20;

/// Where the programs of the system are, which a confined command sees and cannot change.
const OF_SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/opt",
    "/etc",
    "/nix/store",
    "/gnu/store",
    "/System",
    "/Library",
    "/Applications",
];

/// Where a line is read.
pub(super) struct Named {
    /// The folder of the call.
    pub(super) folder: PathBuf,
    /// The real folders whose files count: the workspace, and of a confined command all that it can write or was granted.
    pub(super) roots: Vec<PathBuf>,
    /// What `~` means to the command.
    pub(super) home: Option<PathBuf>,
    /// Whether nothing but the roots counts, because the command can change nothing else.
    pub(super) is_confined: bool,
}

impl Named {
    /// The root that a real path lies in.
    pub(super) fn root_of(&self, real: &Path) -> Option<&Path> {
        let roots = self.roots.iter().filter(|root| real.starts_with(root));
        roots.max_by_key(|root| root.components().count()).map(PathBuf::as_path)
    }

    /// What `~` and `~/…` mean to the command; none for every other word.
    fn at_home(&self, word: &str) -> Option<PathBuf> {
        let rest =
            word.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        Some(self.home.as_ref()?.join(rest.trim_start_matches('/')))
    }

    /// What the line works with.
    pub(super) fn bound(&self, line: &str) -> Bound {
        let mut bound = Bound { folders: self.folders(line), ..Bound::default() };
        let folders = bound.folders.clone();
        let mut run = BTreeSet::new();
        self.add_run(line, &folders, DEPTH, &mut run);
        let places = Places { run, folders: &folders };
        self.add(line, &places, DEPTH, &mut bound);
        // What a script starts stands in no word of the line.
        for path in &places.run {
            self.add_file(path, Use::Runs, &places, &mut bound);
        }
        bound
    }

    /// The scripts that the line runs and whose own commands cannot all be checked: other languages, and shell scripts
    /// with a command that is worked out when they run.
    pub(super) fn unchecked_scripts(&self, line: &str) -> Vec<PathBuf> {
        let is_unchecked = |path: &PathBuf| match self.open(path) {
            Some(Ok(mut file)) => {
                script::text(path, &mut file).is_none_or(|text| !script::is_checked(&text))
            }
            _ => true,
        };
        self.run(line).into_iter().filter(is_unchecked).collect()
    }

    /// The real paths of the files of the workspace that the line runs, with the interpreters that they name.
    pub(super) fn run(&self, line: &str) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        self.add_run(line, &self.folders(line), DEPTH, &mut found);
        found
    }

    /// Why an answer cannot be held to all that the line runs; none when it can.
    pub(super) fn unheld(&self, line: &str, bound: &Bound) -> Option<String> {
        let too_many = || "It names more folders than are looked into for each of its words.";
        let is_wide = bound.folders.len() == MOST_FOLDERS;
        unheld::unheld(line)
            .or_else(|| is_wide.then(|| unheld::sentence(too_many())))
            .or_else(|| self.unseen(line, &bound.folders).map(|why| unheld::sentence(&why)))
    }

    /// Why nobody can have seen what the line runs.
    fn unseen(&self, line: &str, folders: &[PathBuf]) -> Option<String> {
        let named = names(line);
        let goes = |word: &String| {
            matches!(word.as_str(), "cd" | "pushd")
                || word.starts_with("-C")
                || word.starts_with("--chdir")
        };
        let folders = if named.words.iter().any(goes) { folders } else { &folders[..1] };
        let why = |word: &String| match self.is_seen(word, folders) {
            _ if named.targets.contains(word) => Some("which it writes itself"),
            None => Some("which is not there yet"),
            Some(false) => Some("which is no file"),
            Some(true) => None,
        };
        let scripts = unheld::scripts(line);
        scripts.iter().find_map(|word| Some(format!("It runs {}, {}.", visible(word), why(word)?)))
    }

    /// Whether what is run is a file or a folder; none where it is not there for the command.
    fn is_seen(&self, word: &str, folders: &[PathBuf]) -> Option<bool> {
        let at_home = self.at_home(word);
        if word == "/dev/null" || (word.starts_with('~') && at_home.is_none()) {
            return (word == "/dev/null").then_some(true);
        }
        let paths =
            folders.iter().map(|folder| at_home.clone().unwrap_or_else(|| folder.join(word)));
        let real = paths.filter_map(|path| path.canonicalize().ok()).find(|real| {
            let is_of_system = OF_SYSTEM.iter().any(|system| real.starts_with(system));
            !self.is_confined || cfg!(windows) || is_of_system || self.root_of(real).is_some()
        })?;
        let found = real.metadata().ok()?;
        Some(found.is_file() || found.is_dir())
    }

    /// The folder of the call, and those that the line names, seen from each other: where its words may lie.
    fn folders(&self, line: &str) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.clone()];
        let words = names(line).words;
        let counts = |real: &Path| !self.is_confined || self.root_of(real).is_some();
        let mut next = 0;
        while let Some(from) = folders.get(next).cloned() {
            next += 1;
            for path in words.iter().flat_map(|word| self.places(word, &from)) {
                let Ok(real) = path.canonicalize() else { continue };
                let is_new = real.is_dir() && counts(&real) && !folders.contains(&real);
                if is_new && folders.len() < MOST_FOLDERS {
                    folders.push(real);
                }
            }
        }
        folders
    }

    fn add_run(
        &self,
        line: &str,
        folders: &[PathBuf],
        depth: usize,
        found: &mut BTreeSet<PathBuf>,
    ) {
        for word in run_words(line) {
            for path in folders.iter().flat_map(|folder| self.places(&word, folder)) {
                let Ok(real) = path.canonicalize() else { continue };
                let Some(Ok(mut file)) = self.open(&real) else { continue };
                let interpreter = first_line(&mut file).ok().flatten();
                let script = script::text(&real, &mut file);
                if found.insert(real) && depth > 0 {
                    for line in interpreter.iter().chain(&script) {
                        self.add_run(line, folders, depth - 1, found);
                    }
                }
            }
        }
    }

    fn add(&self, line: &str, at: &Places<'_>, depth: usize, bound: &mut Bound) {
        let named = names(line);
        let does = if programs::only_treats(line) { Use::Treats } else { Use::Runs };
        let implied = programs::implied(line);
        let all = named.words.iter().map(|word| (word, does));
        let all = all.chain(implied.iter().map(|name| (name, Use::Runs)));
        let all = all.chain(named.targets.iter().map(|word| (word, Use::Writes)));
        for (word, does) in all {
            for path in at.folders.iter().flat_map(|folder| self.places(word, folder)) {
                let interpreter = self.add_file(&path, does, at, bound);
                if let Some(line) = interpreter.filter(|_| depth > 0) {
                    self.add(&line, at, depth - 1, bound);
                }
            }
        }
    }

    /// Binds a file; answers what its first line says to run it with.
    fn add_file(
        &self,
        path: &Path,
        does: Use,
        at: &Places<'_>,
        bound: &mut Bound,
    ) -> Option<String> {
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bound.insert(shown(path), ABSENT.to_owned(), does);
                return None;
            }
            Err(_) => return None,
        };
        let does = if at.run.contains(&real) { Use::Runs } else { does };
        let (name, opened) = (shown(&real), self.open(&real)?);
        if bound.holds(&name, does) {
            return None;
        }
        let read = opened.and_then(|mut file| {
            let may_run = is_executable(&file);
            Ok((first_line(&mut file)?, may_run, bound.read(file)?))
        });
        let (interpreter, may_run, content) =
            read.unwrap_or_else(|_| (None, true, UNREADABLE.to_owned()));
        match does {
            Use::Writes => bound.insert(name, content, does),
            Use::Treats if !may_run && interpreter.is_none() => bound.insert(name, content, does),
            Use::Treats | Use::Runs => {
                bound.insert(name, content, Use::Runs);
                return interpreter;
            }
        }
        None
    }

    /// The file at a real path; none when it is no file or does not count.
    fn open(&self, real: &Path) -> Option<io::Result<File>> {
        if !real.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        let Some(root) = self.root_of(real) else {
            return (!self.is_confined).then(|| File::open(real));
        };
        let workspace = Workspace::open(root).ok()?;
        let Some(path) = workspace.beneath(real) else {
            return Some(Err(io::Error::other("its name is none that the workspace takes")));
        };
        Some(workspace.open_any_name(&path).map(|(file, _)| file).map_err(io::Error::other))
    }

    /// What a word may mean in a folder: the path itself, and what it fits as a pattern.
    fn places(&self, word: &str, folder: &Path) -> Vec<PathBuf> {
        let path = self.at_home(word).unwrap_or_else(|| folder.join(word));
        let mut places = vec![path.components().collect::<PathBuf>()];
        let is_wild = |part: &&str| part.contains(['*', '?', '[']);
        // A walk through everything that there is would take for ever.
        if !matches!(word.split('/').filter(is_wild).count(), 1..=MOST_WILD) || word.contains("**")
        {
            return places;
        }
        places.extend(match self.home.as_ref().filter(|_| self.at_home(word).is_some()) {
            Some(home) => fitting(&word[1..], home),
            None if word.starts_with('/') => fitting(word, Path::new("/")),
            None => fitting(word, folder),
        });
        places
    }
}

/// What a line does with what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It runs it, or reads it for what it does.
    Runs,
    /// It only looks at it, or makes something of it.
    Treats,
    /// It sends output to it.
    Writes,
}

/// Where the names of a line are looked for, and which files it runs.
struct Places<'a> {
    folders: &'a [PathBuf],
    run: BTreeSet<PathBuf>,
}

/// What there is that fits a pattern, in the order of its names. A name that is no text fits every one: what a shell takes
/// it for hangs on its language.
fn fitting(pattern: &str, from: &Path) -> Vec<PathBuf> {
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
    let mut found = vec![from.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let wild = Pattern::new(part).ok().filter(|_| part.contains(['*', '?', '[']));
        let Some(wild) = wild else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let fits = |name: &OsStr| name.to_str().is_none_or(|name| wild.matches_with(name, options));
        let entries = found.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
        let mut next: Vec<_> =
            entries.filter(|entry| fits(&entry.file_name())).map(|entry| entry.path()).collect();
        next.sort_unstable();
        next.truncate(MOST_FITTING);
        found = next;
    }
    found.retain(|path| path.symlink_metadata().is_ok());
    found
}

/// What a line is bound to, by path, with the SHA-256 of the content; of what is too large to be read, with its size and
/// last change.
#[derive(Debug)]
pub(super) struct Bound {
    /// What it runs or reads.
    pub(super) files: BTreeMap<String, String>,
    /// What a standing yes is not held to.
    pub(super) replaces: BTreeMap<String, String>,
    /// Where its words may lie, the folder of the call first.
    folders: Vec<PathBuf>,
    /// How much may still be read for it.
    left: u64,
}

impl Default for Bound {
    fn default() -> Self {
        Self {
            files: BTreeMap::new(),
            replaces: BTreeMap::new(),
            folders: Vec::new(),
            left: MOST_READ,
        }
    }
}

impl Bound {
    /// Whether a file is there already, bound as firmly.
    fn holds(&self, name: &str, does: Use) -> bool {
        self.files.contains_key(name) || (does != Use::Runs && self.replaces.contains_key(name))
    }

    fn insert(&mut self, name: String, content: String, does: Use) {
        match does {
            Use::Runs => {
                self.replaces.remove(&name);
                self.files.insert(name, content);
            }
            Use::Treats | Use::Writes if self.files.contains_key(&name) => {}
            Use::Treats | Use::Writes => drop(self.replaces.insert(name, content)),
        }
    }

    fn read(&mut self, file: File) -> io::Result<String> {
        let (size, most) = (file.metadata()?.len(), self.left.max(SMALL));
        self.left = self.left.saturating_sub(if size <= most { size } else { 0 });
        fingerprint(file, most)
    }
}

#[cfg(unix)]
fn is_executable(file: &File) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// What may be run is told by its name there, and any name may be.
#[cfg(not(unix))]
const fn is_executable(_: &File) -> bool {
    true
}

/// How a file is called in what a yes is bound to, which a person is shown.
pub(super) fn shown(path: &Path) -> String {
    visible_os_path(path)
}

/// What follows `#!`, when the file begins with it.
pub(super) fn first_line(file: &mut File) -> io::Result<Option<String>> {
    let mut beginning = Vec::new();
    file.take(512).read_to_end(&mut beginning)?;
    file.rewind()?;
    let line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(line.strip_prefix(b"#!").map(|line| String::from_utf8_lossy(line).into_owned()))
}
