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
use std::path::Path;

use rouse_core::approval::ABSENT;

use crate::workspace::{Workspace, digest, from_home};

/// What counts of a line; a longer one is no line that a person reads.
const MOST_WORDS: usize = 1_000;
/// Quotes in quotes, and interpreters that are scripts.
const DEPTH: usize = 4;
const UNREADABLE: &str = "unreadable";

/// Where a line is read.
pub(super) struct Named<'a> {
    pub(super) folder: &'a Path,
    pub(super) workspace: &'a Path,
    /// Whether nothing but the workspace counts, because the command can change nothing else.
    pub(super) is_confined: bool,
}

impl Named<'_> {
    /// By path, with the SHA-256 of the content.
    pub(super) fn files(&self, line: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        self.add(line, DEPTH, &mut files);
        files
    }

    fn add(&self, line: &str, depth: usize, files: &mut BTreeMap<String, String>) {
        for word in words(line) {
            let path = from_home(&word).unwrap_or_else(|| self.folder.join(&word));
            let (name, content) = match path.canonicalize() {
                Ok(real) => (real.display().to_string(), self.open(&real)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    files.insert(path.display().to_string(), ABSENT.to_owned());
                    continue;
                }
                Err(_) => continue,
            };
            if files.contains_key(&name) {
                continue;
            }
            let Some(opened) = content else { continue };
            let read = opened.and_then(|mut file| Ok((first_line(&mut file)?, digest(file)?)));
            let (interpreter, digest) = read.unwrap_or_else(|_| (None, UNREADABLE.to_owned()));
            files.insert(name, digest);
            if let Some(line) = interpreter.filter(|_| depth > 0) {
                self.add(&line, depth - 1, files);
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

/// The words as a shell splits them, without their quotes.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None | Some('"'), '\\') => word.extend(characters.next()),
            (Some(_), c) => word.push(c),
            (None, c) if c.is_whitespace() || is_special(c) => {
                words.push(std::mem::take(&mut word));
            }
            (None, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}
