//! The files that a command line names, with what is in them.
//!
//! A yes to `sh deploy.sh` is a yes to what the script holds at that moment, so the answer is bound to it. Every word of
//! the line, also within quotes and behind `=`, `:`, `@` and one-letter options, is held against the disk; a word that
//! names nothing is bound as absent, so that a file which comes to be there later is a change. Of a script the words of
//! its first line (`#!`) are looked at in the same way. It refuses to be a shell: names that come out of patterns,
//! variables or another program are not seen, nor is what a script reads. There the sandbox is what holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use rouse_core::approval::ABSENT;
use rouse_core::visible::visible_path;

use crate::workspace::{MOST_READ, Workspace, fingerprint, from_home};

/// What counts of a line; a longer one is no line that a person reads.
const MOST_WORDS: usize = 1_000;
/// Quotes in quotes, and interpreters that are scripts.
const DEPTH: usize = 4;
const UNREADABLE: &str = "unreadable";
/// A file of this size is read even when the others have used up what may be read for one line.
const SMALL: u64 = 1 << 20;

/// Where a line is read.
pub(super) struct Named<'a> {
    pub(super) folder: &'a Path,
    pub(super) workspace: &'a Path,
    /// Whether nothing but the workspace counts, because the command can change nothing else.
    pub(super) is_confined: bool,
}

impl Named<'_> {
    /// By path, with the SHA-256 of the content; of what is too large to be read, with its size and last change.
    pub(super) fn files(&self, line: &str) -> BTreeMap<String, String> {
        let mut bound = Bound { files: BTreeMap::new(), left: MOST_READ };
        self.add(line, DEPTH, &mut bound);
        bound.files
    }

    /// The real paths of the files of the workspace that the line runs, with the interpreters that they name.
    pub(super) fn run(&self, line: &str) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        self.add_run(line, DEPTH, &mut found);
        found
    }

    fn add_run(&self, line: &str, depth: usize, found: &mut BTreeSet<PathBuf>) {
        for word in run_words(line) {
            let path = from_home(&word).unwrap_or_else(|| self.folder.join(&word));
            let Ok(real) = path.canonicalize() else { continue };
            let Some(Ok(mut file)) = self.open(&real) else { continue };
            let interpreter = first_line(&mut file).ok().flatten();
            if found.insert(real)
                && let Some(line) = interpreter.filter(|_| depth > 0)
            {
                self.add_run(&line, depth - 1, found);
            }
        }
    }

    fn add(&self, line: &str, depth: usize, bound: &mut Bound) {
        for word in words(line) {
            let path = from_home(&word).unwrap_or_else(|| self.folder.join(&word));
            let (name, content) = match path.canonicalize() {
                Ok(real) => (shown(&real), self.open(&real)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    bound.files.insert(shown(&path), ABSENT.to_owned());
                    continue;
                }
                Err(_) => continue,
            };
            if bound.files.contains_key(&name) {
                continue;
            }
            let Some(opened) = content else { continue };
            let read = opened.and_then(|mut file| Ok((first_line(&mut file)?, bound.read(file)?)));
            let (interpreter, content) = read.unwrap_or_else(|_| (None, UNREADABLE.to_owned()));
            bound.files.insert(name, content);
            if let Some(line) = interpreter.filter(|_| depth > 0) {
                self.add(&line, depth - 1, bound);
            }
        }
    }

    /// The file at a real path; none when it is no file or does not count.
    fn open(&self, real: &Path) -> Option<io::Result<File>> {
        if !real.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        let root = self.workspace.canonicalize().ok()?;
        let Ok(inside) = real.strip_prefix(&root) else {
            return (!self.is_confined).then(|| File::open(real));
        };
        let workspace = Workspace::open(&root).ok()?;
        let path = workspace.relative(inside.to_str()?).ok()?;
        Some(workspace.open_any_name(&path).map(|(file, _)| file).map_err(io::Error::other))
    }
}

/// How a file is called in what a yes is bound to, which a person is shown.
pub(super) fn shown(path: &Path) -> String {
    visible_path(&path.display().to_string())
}

/// What a line is bound to, and how much may still be read for it.
struct Bound {
    files: BTreeMap<String, String>,
    left: u64,
}

impl Bound {
    fn read(&mut self, file: File) -> io::Result<String> {
        let (size, most) = (file.metadata()?.len(), self.left.max(SMALL));
        self.left = self.left.saturating_sub(if size <= most { size } else { 0 });
        fingerprint(file, most)
    }
}

/// Programs that run what follows them as a command.
const BEFORE_A_COMMAND: &[&str] = &[
    "env", "exec", "command", "nohup", "nice", "ionice", "time", "timeout", "setsid", "stdbuf",
    "sudo", "xargs", "then", "else", "do", "if", "elif", "while", "until", "!",
];

/// Programs that read and run the first file that they are given.
const INTERPRETERS: &[&str] = &[
    ".",
    "source",
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "python",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "Rscript",
    "awk",
    "make",
    "busybox",
    "osascript",
    "pwsh",
];

/// The words of a line that are run: at the beginning of a command, or what an interpreter is given first.
fn run_words(line: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_run(line, DEPTH, &mut found);
    found
}

fn collect_run(line: &str, depth: usize, found: &mut BTreeSet<String>) {
    // Whether the next word is a command, and whether it is what an interpreter reads.
    let (mut begins, mut is_read) = (true, false);
    for piece in pieces(line) {
        let word = match piece {
            Piece::Break('<') => {
                is_read = true;
                continue;
            }
            Piece::Break('>') => {
                (begins, is_read) = (false, false);
                continue;
            }
            Piece::Break(_) => {
                (begins, is_read) = (true, false);
                continue;
            }
            Piece::Word(word) => word,
        };
        if depth > 0 && word.contains(|c: char| c.is_whitespace() || is_special(c)) {
            collect_run(&word, depth - 1, found);
        }
        let name = word.rsplit('/').next().unwrap_or_default();
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_interpreter = INTERPRETERS.contains(&name) || INTERPRETERS.contains(&word.as_str());
        let is_option = word.starts_with('-');
        if begins {
            let is_setting = word.split_once('=').is_some_and(|(name, _)| is_variable(name));
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            if is_option || is_setting || is_number || BEFORE_A_COMMAND.contains(&word.as_str()) {
                continue;
            }
            begins = false;
            is_read = is_interpreter;
            found.insert(word);
        } else if is_read && !is_option {
            is_read = false;
            found.insert(word);
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What follows `#!`, when the file begins with it.
fn first_line(file: &mut File) -> io::Result<Option<String>> {
    let mut beginning = Vec::new();
    file.take(512).read_to_end(&mut beginning)?;
    file.rewind()?;
    let line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(line.strip_prefix(b"#!").map(|line| String::from_utf8_lossy(line).into_owned()))
}

/// Everything in a line that could be the name of a file.
fn words(line: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(line, DEPTH, &mut found);
    found
}

fn collect(line: &str, depth: usize, found: &mut BTreeSet<String>) {
    for word in split(line) {
        if depth > 0 && word.contains(|c: char| c.is_whitespace() || is_special(c)) {
            collect(&word, depth - 1, found);
        }
        let parts = word.match_indices(['=', ':', ',', '@']).map(|(at, _)| &word[at + 1..]);
        let option = word.strip_prefix('-').and_then(|rest| rest.get(1..));
        for part in parts.chain(option).chain([word.as_str()]) {
            let before = part.split([':', ',']).next().unwrap_or_default();
            for name in [part, before] {
                if !name.is_empty() && name.len() <= 4_096 && found.len() < MOST_WORDS {
                    found.insert(name.to_owned());
                }
            }
        }
    }
}

const fn is_special(character: char) -> bool {
    matches!(
        character,
        ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '`' | '$' | '\'' | '"'
    )
}

/// A piece of a line.
enum Piece {
    Word(String),
    /// What ends a command, or leads its input or output elsewhere.
    Break(char),
}

/// The words as a shell splits them, without their quotes.
fn split(line: &str) -> Vec<String> {
    let words = pieces(line).into_iter().filter_map(|piece| match piece {
        Piece::Word(word) => Some(word),
        Piece::Break(_) => None,
    });
    words.collect()
}

fn pieces(line: &str) -> Vec<Piece> {
    let (mut pieces, mut word, mut quote) = (Vec::new(), String::new(), None);
    let push = |pieces: &mut Vec<Piece>, word: &mut String| {
        if !word.is_empty() {
            pieces.push(Piece::Word(std::mem::take(word)));
        }
    };
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None | Some('"'), '\\') => word.extend(characters.next()),
            (Some(_), c) => word.push(c),
            (None, c) if c.is_whitespace() || is_special(c) => {
                push(&mut pieces, &mut word);
                if c == '\n' || is_special(c) {
                    pieces.push(Piece::Break(c));
                }
            }
            (None, c) => word.push(c),
        }
    }
    push(&mut pieces, &mut word);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_runs_is_known_from_what_it_works_on() {
        for (line, expected) in [
            ("./a.sh x > out", &["./a.sh"][..]),
            ("sh a.sh b.sh", &["sh", "a.sh"]),
            ("python3.12 -u gen.py data.json", &["python3.12", "gen.py"]),
            ("cd x && A=1 env B=2 timeout 10 ./run --fast | tee log", &["./run", "cd", "tee"]),
            ("bash -c 'cp a b; . ./c'", &["bash", "cp", ".", "./c", "cp a b; . ./c"]),
            ("if ./a; then ./b; fi; cat < ./c", &["./a", "./b", "fi", "cat", "./c"]),
            ("cp a.sh b.sh", &["cp"]),
        ] {
            let expected: BTreeSet<String> = expected.iter().map(|word| (*word).into()).collect();
            assert_eq!(run_words(line), expected, "{line}");
        }
    }
}
