//! One skill's folder, read as a whole.
//!
//! Owns the bounds and the hash. Everything is read in one go and nothing twice, so what is told of a skill is what its
//! hash was made of. It follows no link, neither of the folder nor in it: what lies elsewhere is not part of a skill, and
//! could change without its folder changing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rouse_core::skills::{Skill, Trust, is_skill_name};
use sha2::{Digest as _, Sha256};

use super::head::{self, Head};

/// The file that makes a folder a skill.
const INSTRUCTIONS: &str = "SKILL.md";

/// The most bytes of it.
const MOST_INSTRUCTIONS: usize = 64 << 10;
/// The most bytes of a whole folder.
const MOST_BYTES: u64 = 2 << 20;
/// The most files of one.
const MOST_FILES: usize = 100;
/// How deep folders may lie in it.
const DEEPEST: usize = 4;

/// A folder as it was read.
pub(super) struct Folder {
    /// By their paths in it, with slashes.
    files: BTreeMap<String, Vec<u8>>,
    pub(super) digest: String,
}

impl Folder {
    /// Reads all of it, or says what is wrong.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let mut reading = Reading { files: BTreeMap::new(), left: MOST_BYTES };
        reading.folder(folder, "", 0)?;
        let mut hash = Sha256::new();
        for (path, bytes) in &reading.files {
            // Lengths before contents, so that no two folders read the same.
            for part in [path.as_bytes(), bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { files: reading.files, digest })
    }

    /// The text of its `SKILL.md`.
    pub(super) fn instructions(&self) -> Result<&str, String> {
        let Some(bytes) = self.files.get(INSTRUCTIONS) else {
            return Err(format!("It has no {INSTRUCTIONS}."));
        };
        if bytes.len() > MOST_INSTRUCTIONS {
            let most = MOST_INSTRUCTIONS >> 10;
            return Err(format!(
                "Its {INSTRUCTIONS} is larger than {most} KB. Move parts of it to other files."
            ));
        }
        str::from_utf8(bytes).map_err(|_| format!("Its {INSTRUCTIONS} is no text in UTF-8."))
    }

    /// The text of one of its files.
    pub(super) fn text(&self, path: &str) -> Result<String, String> {
        let Some(bytes) = self.files.get(path) else {
            let paths: Vec<&str> = self.files.keys().map(String::as_str).collect();
            return Err(format!(
                "The skill has no file {path}. Its files are: {}.",
                paths.join(", ")
            ));
        };
        String::from_utf8(bytes.clone()).map_err(|_| format!("{path} is no text in UTF-8."))
    }

    pub(super) fn into_skill(
        self,
        name: &str,
        folder: PathBuf,
        trust: Trust,
    ) -> Result<Skill, String> {
        if !is_skill_name(name) {
            return Err(
                "Its folder's name must be 1 to 64 small letters, digits and hyphens.".to_owned()
            );
        }
        let text = self.instructions()?;
        let (head, body) = head::parted(text)?;
        let Head { name: called, description, tools } = head::read(head)?;
        if called != name {
            return Err(format!(
                "It calls itself {called}, and its folder {name}: both must be the same."
            ));
        }
        if body.trim().is_empty() {
            return Err(format!("Its {INSTRUCTIONS} holds no instructions."));
        }
        let body = body.trim().to_owned();
        let files = self.files.keys().filter(|path| *path != INSTRUCTIONS).cloned().collect();
        let name = name.to_owned();
        Ok(Skill { name, description, tools, body, files, digest: self.digest, trust, folder })
    }
}

struct Reading {
    files: BTreeMap<String, Vec<u8>>,
    left: u64,
}

impl Reading {
    fn folder(&mut self, folder: &Path, below: &str, depth: usize) -> Result<(), String> {
        let unread = |error: std::io::Error| format!("It cannot be read: {error}.");
        let kind = folder.symlink_metadata().map_err(unread)?;
        if kind.is_symlink() {
            return Err(link(below));
        }
        if !kind.is_dir() {
            return Err("It is no folder.".to_owned());
        }
        if depth > DEEPEST {
            return Err(format!("Its folders lie more than {DEEPEST} deep."));
        }
        for entry in fs::read_dir(folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err("The name of one of its files is no text in UTF-8.".to_owned());
            };
            let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            let kind = entry.file_type().map_err(unread)?;
            if kind.is_symlink() {
                return Err(link(&path));
            }
            if kind.is_dir() {
                self.folder(&entry.path(), &path, depth + 1)?;
            } else if kind.is_file() {
                self.file(&entry.path(), path)?;
            } else {
                return Err(format!("{path} is neither a file nor a folder."));
            }
        }
        Ok(())
    }

    fn file(&mut self, file: &Path, path: String) -> Result<(), String> {
        if self.files.len() == MOST_FILES {
            return Err(format!("It has more than {MOST_FILES} files."));
        }
        let mut bytes = Vec::new();
        let read =
            File::open(file).and_then(|file| file.take(self.left + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("{path} cannot be read: {error}."))?;
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => self.left = left,
            None => return Err(format!("Its files have more than {} MB.", MOST_BYTES >> 20)),
        }
        self.files.insert(path, bytes);
        Ok(())
    }
}

fn link(path: &str) -> String {
    match path {
        "" => "It is a link. Copy the folder instead.".to_owned(),
        path => format!("{path} is a link, and links are not followed. Copy the file instead."),
    }
}
