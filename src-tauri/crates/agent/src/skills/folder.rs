//! The folder of a skill, read as a whole.
//!
//! Owns the limits and the digest. Reads every file once, so the text of a skill is the text of the digest. Never
//! follows a link: the target is no part of the skill, and could change without the folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rouse_core::skills::{Skill, SkillTrust, is_skill_name};
use sha2::{Digest as _, Sha256};

use super::front_matter::{self, FrontMatter};

/// The file that makes a folder a skill.
const INSTRUCTIONS: &str = "SKILL.md";

/// The most bytes of SKILL.md.
const MAX_INSTRUCTIONS: usize = 64 << 10;
/// The most bytes of a whole folder.
const MAX_BYTES: u64 = 2 << 20;
/// The most files of a folder.
const MAX_FILES: usize = 100;
/// The deepest nesting of folders.
const MAX_DEPTH: usize = 4;

/// A folder with the files.
pub(super) struct Folder {
    /// By path in the folder, with slashes.
    files: BTreeMap<String, Vec<u8>>,
    pub(super) digest: String,
}

impl Folder {
    /// Reads all files; or the error for the person.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let mut reader = FolderReader { files: BTreeMap::new(), left: MAX_BYTES };
        reader.read_folder(folder, "", 0)?;
        let mut hash = Sha256::new();
        for (path, bytes) in &reader.files {
            // Lengths before contents, so that no two folders have the same input.
            for part in [path.as_bytes(), bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { files: reader.files, digest })
    }

    /// The text of `SKILL.md`.
    pub(super) fn instructions(&self) -> Result<&str, String> {
        let Some(bytes) = self.files.get(INSTRUCTIONS) else {
            return Err(format!("The skill has no {INSTRUCTIONS}."));
        };
        if bytes.len() > MAX_INSTRUCTIONS {
            let most = MAX_INSTRUCTIONS >> 10;
            return Err(format!(
                "{INSTRUCTIONS} is larger than {most} KB. Move parts to other files."
            ));
        }
        str::from_utf8(bytes).map_err(|_| format!("{INSTRUCTIONS} is not UTF-8 text."))
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &str) -> Result<String, String> {
        let Some(bytes) = self.files.get(path) else {
            let paths: Vec<&str> = self.files.keys().map(String::as_str).collect();
            return Err(format!(
                "The skill has no file {path}. The files are: {}.",
                paths.join(", ")
            ));
        };
        String::from_utf8(bytes.clone()).map_err(|_| format!("{path} is no text in UTF-8."))
    }

    pub(super) fn into_skill(
        self,
        name: &str,
        folder: PathBuf,
        trust: SkillTrust,
    ) -> Result<Skill, String> {
        if !is_skill_name(name) {
            return Err(
                "The folder's name must be 1 to 64 small letters, digits and hyphens.".to_owned()
            );
        }
        let text = self.instructions()?;
        let (head, body) = front_matter::split(text)?;
        let FrontMatter { name: called, description, tools } = front_matter::parse(head)?;
        if called != name {
            return Err(format!(
                "The name is {called}, and the folder {name}: both must be the same."
            ));
        }
        if body.trim().is_empty() {
            return Err(format!("{INSTRUCTIONS} has no instructions."));
        }
        let body = body.trim().to_owned();
        let files = self.files.keys().filter(|path| *path != INSTRUCTIONS).cloned().collect();
        let name = name.to_owned();
        Ok(Skill { name, description, tools, body, files, digest: self.digest, trust, folder })
    }
}

struct FolderReader {
    files: BTreeMap<String, Vec<u8>>,
    left: u64,
}

impl FolderReader {
    fn read_folder(&mut self, folder: &Path, below: &str, depth: usize) -> Result<(), String> {
        let unread = |error: std::io::Error| format!("The folder cannot be read: {error}.");
        let kind = folder.symlink_metadata().map_err(unread)?;
        if kind.is_symlink() {
            return Err(link_error(below));
        }
        if !kind.is_dir() {
            return Err("The skill is not a folder.".to_owned());
        }
        if depth > MAX_DEPTH {
            return Err(format!("The folders lie more than {MAX_DEPTH} deep."));
        }
        for entry in fs::read_dir(folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err("A file name is not UTF-8 text.".to_owned());
            };
            let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            let kind = entry.file_type().map_err(unread)?;
            if kind.is_symlink() {
                return Err(link_error(&path));
            }
            if kind.is_dir() {
                self.read_folder(&entry.path(), &path, depth + 1)?;
            } else if kind.is_file() {
                self.read_file(&entry.path(), path)?;
            } else {
                return Err(format!("{path} is neither a file nor a folder."));
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path, path: String) -> Result<(), String> {
        if self.files.len() == MAX_FILES {
            return Err(format!("The folder has more than {MAX_FILES} files."));
        }
        let mut bytes = Vec::new();
        let read =
            File::open(file).and_then(|file| file.take(self.left + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("{path} cannot be read: {error}."))?;
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => self.left = left,
            None => return Err(format!("The files have more than {} MB.", MAX_BYTES >> 20)),
        }
        self.files.insert(path, bytes);
        Ok(())
    }
}

fn link_error(path: &str) -> String {
    match path {
        "" => "The folder is a link. Copy the folder instead.".to_owned(),
        path => format!("{path} is a link, and links are not followed. Copy the file instead."),
    }
}
