//! The files in the fingerprint of a command line's approval.
//!
//! An approval of `sh deploy.sh` covers the script's current content. Every word of the line (`command_line`), also in quotes and behind
//! `=`, `:`, `@` and short options, is looked up in the call's folder and in every folder that the line names, because the line may
//! change there. A word without a file is bound as absent, so that a later file is a change; a pattern is bound as its current matches.
//! A script's `#!` line is treated the same way, then the files that a shell script executes, and files that a program reads implicitly
//! (`programs`). Files that the line only writes or processes are bound apart, and a grant ignores them. Never expands names from
//! variables or other programs (`unbound_code` reports them), and never follows what a script reads: there the sandbox is the limit.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use rouse_core::approval::ABSENT;
use rouse_core::text::{escape_invisible, escape_os_path};

use super::command_line::{MAX_QUOTE_DEPTH, executed_words, file_candidates};
use super::shell_script::{self, read_shebang};
use super::{programs, unbound_code};
use crate::workspace::{MAX_FINGERPRINT_BYTES, Workspace, file_fingerprint};

/// Limit of folders in which words are looked up.
const MAX_FOLDERS: usize = 16;
/// Limit of pattern components in a path.
const MAX_WILDCARDS: usize = 3;
/// Limit of matches of a pattern.
const MAX_MATCHES: usize = 1_000;
const UNREADABLE: &str = "unreadable";
/// Files up to this size are read even after the line's total is used up.
const SMALL_FILE_BYTES: u64 = 1 << 20;

/// System folders, which a sandboxed command sees and cannot change.
const SYSTEM_FOLDERS: &[&str] = &[
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

/// The folders in which a command line's names are looked up.
pub(super) struct FileScope {
    /// The call's working directory.
    pub(super) folder: PathBuf,
    /// Real paths of the folders whose files count: the workspace, and for a sandboxed command all writable and granted
    /// folders.
    pub(super) roots: Vec<PathBuf>,
    /// The command's `~`.
    pub(super) home: Option<PathBuf>,
    /// Whether only files in the roots count, because the command can change no others.
    pub(super) is_sandboxed: bool,
}

impl FileScope {
    /// The innermost root that contains a real path.
    pub(super) fn root_containing(&self, real: &Path) -> Option<&Path> {
        let roots = self.roots.iter().filter(|root| real.starts_with(root));
        roots.max_by_key(|root| root.components().count()).map(PathBuf::as_path)
    }

    /// Expands `~` and `~/…` to the command's home; `None` for every other word.
    fn expand_home(&self, word: &str) -> Option<PathBuf> {
        let rest =
            word.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        Some(self.home.as_ref()?.join(rest.trim_start_matches('/')))
    }

    /// Finds and fingerprints the files of a line.
    pub(super) fn bind(&self, line: &str) -> BoundFiles {
        let mut bound = BoundFiles { folders: self.search_folders(line), ..BoundFiles::default() };
        let folders = bound.folders.clone();
        let mut executed = BTreeSet::new();
        self.collect_executed(line, &folders, MAX_QUOTE_DEPTH, &mut executed);
        let search = FileSearch { executed, folders: &folders };
        self.bind_line(line, &search, MAX_QUOTE_DEPTH, &mut bound);
        // Files that a script executes are in no word of the line.
        for path in &search.executed {
            self.bind_file(path, FileUse::Executed, &search, &mut bound);
        }
        bound
    }

    /// Executed scripts with unchecked commands: other languages, and shell scripts with computed commands.
    pub(super) fn unchecked_scripts(&self, line: &str) -> Vec<PathBuf> {
        let is_unchecked = |path: &PathBuf| match self.open(path) {
            Some(Ok(mut file)) => shell_script::read_commands(path, &mut file)
                .is_none_or(|commands| !shell_script::is_fully_named(&commands)),
            _ => true,
        };
        self.executed_files(line).into_iter().filter(is_unchecked).collect()
    }

    /// Real paths of the files that the line executes, interpreters of scripts included.
    pub(super) fn executed_files(&self, line: &str) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        self.collect_executed(line, &self.search_folders(line), MAX_QUOTE_DEPTH, &mut found);
        found
    }

    /// The message about code that the approval does not cover, if any.
    pub(super) fn ungranted_reason(&self, line: &str, bound: &BoundFiles) -> Option<String> {
        let unbound = || unbound_code::unbound_reason(line, MAX_QUOTE_DEPTH);
        let too_many = || {
            let message = "The command names more folders than are searched for its words.";
            (bound.folders.len() == MAX_FOLDERS).then(|| message.to_owned())
        };
        let reason =
            unbound().or_else(too_many).or_else(|| self.unseen_script(line, &bound.folders))?;
        Some(format!(
            "{reason} The approval covers only the files listed here and no other code, so the command cannot be granted."
        ))
    }

    /// The reason why an executed script cannot have been reviewed.
    fn unseen_script(&self, line: &str, folders: &[PathBuf]) -> Option<String> {
        let candidates = file_candidates(line);
        let changes_folder = |word: &String| {
            matches!(word.as_str(), "cd" | "pushd")
                || word.starts_with("-C")
                || word.starts_with("--chdir")
        };
        let changes_folder = candidates.words.iter().any(changes_folder);
        let folders = if changes_folder { folders } else { &folders[..1] };
        let reason = |word: &String| match self.is_file_or_folder(word, folders) {
            _ if candidates.targets.contains(word) => Some("which the command itself writes"),
            None => Some("which does not exist yet"),
            Some(false) => Some("which is not a file"),
            Some(true) => None,
        };
        let scripts = unbound_code::script_arguments(line);
        scripts.iter().find_map(|word| {
            Some(format!("The command runs {}, {}.", escape_invisible(word), reason(word)?))
        })
    }

    /// Whether an executed word is a file or a folder; `None` if invisible to the command.
    fn is_file_or_folder(&self, word: &str, folders: &[PathBuf]) -> Option<bool> {
        let at_home = self.expand_home(word);
        if word == "/dev/null" || (word.starts_with('~') && at_home.is_none()) {
            return (word == "/dev/null").then_some(true);
        }
        let paths =
            folders.iter().map(|folder| at_home.clone().unwrap_or_else(|| folder.join(word)));
        let real = paths.filter_map(|path| path.canonicalize().ok()).find(|real| {
            let is_of_system = SYSTEM_FOLDERS.iter().any(|system| real.starts_with(system));
            !self.is_sandboxed
                || cfg!(windows)
                || is_of_system
                || self.root_containing(real).is_some()
        })?;
        let metadata = real.metadata().ok()?;
        Some(metadata.is_file() || metadata.is_dir())
    }

    /// The call's folder, and all folders that the line names from there.
    fn search_folders(&self, line: &str) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.clone()];
        let words = file_candidates(line).words;
        let counts = |real: &Path| !self.is_sandboxed || self.root_containing(real).is_some();
        let mut next = 0;
        while let Some(from) = folders.get(next).cloned() {
            next += 1;
            for path in words.iter().flat_map(|word| self.candidate_paths(word, &from)) {
                let Ok(real) = path.canonicalize() else { continue };
                let is_new = real.is_dir() && counts(&real) && !folders.contains(&real);
                if is_new && folders.len() < MAX_FOLDERS {
                    folders.push(real);
                }
            }
        }
        folders
    }

    fn collect_executed(
        &self,
        line: &str,
        folders: &[PathBuf],
        depth: usize,
        found: &mut BTreeSet<PathBuf>,
    ) {
        for word in executed_words(line) {
            for path in folders.iter().flat_map(|folder| self.candidate_paths(&word, folder)) {
                let Ok(real) = path.canonicalize() else { continue };
                let Some(Ok(mut file)) = self.open(&real) else { continue };
                let interpreter = read_shebang(&mut file).ok().flatten();
                let script = shell_script::read_commands(&real, &mut file);
                if found.insert(real) && depth > 0 {
                    for line in interpreter.iter().chain(&script) {
                        self.collect_executed(line, folders, depth - 1, found);
                    }
                }
            }
        }
    }

    fn bind_line(&self, line: &str, search: &FileSearch<'_>, depth: usize, bound: &mut BoundFiles) {
        let candidates = file_candidates(line);
        let usage =
            if programs::is_passive_line(line) { FileUse::Processed } else { FileUse::Executed };
        let implied = programs::implied_files(line);
        let words = candidates.words.iter().map(|word| (word, usage));
        let words = words.chain(implied.iter().map(|name| (name, FileUse::Executed)));
        let words = words.chain(candidates.targets.iter().map(|word| (word, FileUse::Written)));
        for (word, usage) in words {
            let folders = search.folders.iter();
            for path in folders.flat_map(|folder| self.candidate_paths(word, folder)) {
                let interpreter = self.bind_file(&path, usage, search, bound);
                if let Some(line) = interpreter.filter(|_| depth > 0) {
                    self.bind_line(&line, search, depth - 1, bound);
                }
            }
        }
    }

    /// Binds a file; returns the `#!` line.
    fn bind_file(
        &self,
        path: &Path,
        usage: FileUse,
        search: &FileSearch<'_>,
        bound: &mut BoundFiles,
    ) -> Option<String> {
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bound.insert(display_path(path), ABSENT.to_owned(), usage);
                return None;
            }
            Err(_) => return None,
        };
        let usage = if search.executed.contains(&real) { FileUse::Executed } else { usage };
        let (name, opened) = (display_path(&real), self.open(&real)?);
        if bound.contains(&name, usage) {
            return None;
        }
        let read = opened.and_then(|mut file| {
            let is_executable = is_executable(&file);
            Ok((read_shebang(&mut file)?, is_executable, bound.fingerprint(file)?))
        });
        let (interpreter, is_executable, content) =
            read.unwrap_or_else(|_| (None, true, UNREADABLE.to_owned()));
        match usage {
            FileUse::Written => bound.insert(name, content, usage),
            FileUse::Processed if !is_executable && interpreter.is_none() => {
                bound.insert(name, content, usage);
            }
            FileUse::Processed | FileUse::Executed => {
                bound.insert(name, content, FileUse::Executed);
                return interpreter;
            }
        }
        None
    }

    /// Opens the file at a real path; `None` if not a file or not counted.
    fn open(&self, real: &Path) -> Option<io::Result<File>> {
        if !real.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        let Some(root) = self.root_containing(real) else {
            return (!self.is_sandboxed).then(|| File::open(real));
        };
        let workspace = Workspace::open(root).ok()?;
        let Some(path) = workspace.relative_path(real) else {
            return Some(Err(io::Error::other("the path is not usable in the workspace")));
        };
        Some(workspace.open_linked_file(&path).map(|(file, _)| file).map_err(io::Error::other))
    }

    /// Possible paths of a word in a folder: the path itself, and the matches of a pattern.
    fn candidate_paths(&self, word: &str, folder: &Path) -> Vec<PathBuf> {
        let path = self.expand_home(word).unwrap_or_else(|| folder.join(word));
        let mut paths = vec![path.components().collect::<PathBuf>()];
        let is_wildcard = |part: &&str| part.contains(['*', '?', '[']);
        let wildcards = word.split('/').filter(is_wildcard).count();
        // A walk through the whole disk would take too long.
        if !matches!(wildcards, 1..=MAX_WILDCARDS) || word.contains("**") {
            return paths;
        }
        paths.extend(match self.home.as_ref().filter(|_| self.expand_home(word).is_some()) {
            Some(home) => expand_glob(&word[1..], home),
            None if word.starts_with('/') => expand_glob(word, Path::new("/")),
            None => expand_glob(word, folder),
        });
        paths
    }
}

/// The use of a file by a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileUse {
    /// Executed, or read as instructions.
    Executed,
    /// Read or changed as data.
    Processed,
    /// An output target.
    Written,
}

/// The searched folders, and the executed files.
struct FileSearch<'a> {
    folders: &'a [PathBuf],
    executed: BTreeSet<PathBuf>,
}

/// Expands a pattern, sorted by name. A name that is not UTF-8 matches every pattern, because a shell's answer depends
/// on the locale.
fn expand_glob(pattern: &str, from: &Path) -> Vec<PathBuf> {
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
    let mut found = vec![from.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let wildcard = Pattern::new(part).ok().filter(|_| part.contains(['*', '?', '[']));
        let Some(wildcard) = wildcard else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let matches =
            |name: &OsStr| name.to_str().is_none_or(|name| wildcard.matches_with(name, options));
        let entries = found.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
        let mut next: Vec<_> =
            entries.filter(|entry| matches(&entry.file_name())).map(|entry| entry.path()).collect();
        next.sort_unstable();
        next.truncate(MAX_MATCHES);
        found = next;
    }
    found.retain(|path| path.symlink_metadata().is_ok());
    found
}

/// Fingerprints by path: SHA-256 of the content, or size and change time of a large file.
#[derive(Debug)]
pub(super) struct BoundFiles {
    /// Files that the line executes or reads as instructions.
    pub(super) files: BTreeMap<String, String>,
    /// Files that a grant ignores.
    pub(super) replaces: BTreeMap<String, String>,
    /// Searched folders, the call's folder first.
    folders: Vec<PathBuf>,
    /// Bytes that may still be read.
    unread_bytes: u64,
}
impl Default for BoundFiles {
    fn default() -> Self {
        Self {
            files: BTreeMap::new(),
            replaces: BTreeMap::new(),
            folders: Vec::new(),
            unread_bytes: MAX_FINGERPRINT_BYTES,
        }
    }
}

impl BoundFiles {
    /// Whether a file is bound already, as strictly.
    fn contains(&self, name: &str, usage: FileUse) -> bool {
        self.files.contains_key(name)
            || (usage != FileUse::Executed && self.replaces.contains_key(name))
    }

    fn insert(&mut self, name: String, content: String, usage: FileUse) {
        match usage {
            FileUse::Executed => {
                self.replaces.remove(&name);
                self.files.insert(name, content);
            }
            FileUse::Processed | FileUse::Written if self.files.contains_key(&name) => {}
            FileUse::Processed | FileUse::Written => drop(self.replaces.insert(name, content)),
        }
    }

    fn fingerprint(&mut self, file: File) -> io::Result<String> {
        let (size, limit) = (file.metadata()?.len(), self.unread_bytes.max(SMALL_FILE_BYTES));
        self.unread_bytes = self.unread_bytes.saturating_sub(if size <= limit { size } else { 0 });
        file_fingerprint(file, limit)
    }
}

#[cfg(unix)]
fn is_executable(file: &File) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Windows decides by the name, which may be any.
#[cfg(not(unix))]
const fn is_executable(_: &File) -> bool {
    true
}

/// The path in an approval.
pub(super) fn display_path(path: &Path) -> String {
    escape_os_path(path)
}
