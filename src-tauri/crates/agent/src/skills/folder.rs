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
pub(super) const INSTRUCTIONS: &str = "SKILL.md";

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
        Self::read_without(folder, &[])
    }

    /// Reads all files but those with the names `left_out`, and those in such folders.
    pub(super) fn read_without(
        folder: &Path,
        left_out: &'static [&'static str],
    ) -> Result<Self, String> {
        let mut reader = FolderReader { files: BTreeMap::new(), left: MAX_BYTES, left_out };
        reader.read_folder(folder, "", 0)?;
        Ok(Self::new(reader.files))
    }

    /// The folder with these files of an archive, within the limits.
    pub(super) fn of_files(files: BTreeMap<String, Vec<u8>>) -> Result<Self, String> {
        if files.len() > MAX_FILES {
            return Err(too_many_files());
        }
        if files.keys().any(|path| path.matches('/').count() > MAX_DEPTH) {
            return Err(too_deep());
        }
        if files.values().map(|bytes| bytes.len() as u64).sum::<u64>() > MAX_BYTES {
            return Err(too_large());
        }
        Ok(Self::new(files))
    }

    fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        let mut hash = Sha256::new();
        for (path, bytes) in &files {
            // Lengths before contents, so that no two folders have the same input.
            for part in [path.as_bytes(), bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { files, digest }
    }

    /// The content of all files by path.
    pub(super) const fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
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

    /// The parts of `SKILL.md`.
    pub(super) fn parse_instructions(&self) -> Result<ParsedInstructions, String> {
        let (head, body) = front_matter::split(self.instructions()?)?;
        let front_matter = front_matter::parse(head)?;
        if body.trim().is_empty() {
            return Err(format!("{INSTRUCTIONS} has no instructions."));
        }
        Ok(ParsedInstructions { front_matter, body: body.trim().to_owned() })
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
        let ParsedInstructions { front_matter, body } = self.parse_instructions()?;
        let FrontMatter { name: called, description, tools } = front_matter;
        if called != name {
            return Err(format!(
                "The name is {called}, and the folder {name}: both must be the same."
            ));
        }
        let files = self.files.keys().filter(|path| *path != INSTRUCTIONS).cloned().collect();
        let name = name.to_owned();
        Ok(Skill { name, description, tools, body, files, digest: self.digest, trust, folder })
    }
}

/// Front matter and instructions.
pub(super) struct ParsedInstructions {
    pub(super) front_matter: FrontMatter,
    pub(super) body: String,
}

struct FolderReader {
    files: BTreeMap<String, Vec<u8>>,
    /// The bytes up to the limit.
    left: u64,
    left_out: &'static [&'static str],
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
            return Err(too_deep());
        }
        for entry in fs::read_dir(folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err("A file name is not UTF-8 text.".to_owned());
            };
            if self.left_out.contains(&name) {
                continue;
            }
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
            return Err(too_many_files());
        }
        let mut bytes = Vec::new();
        let read =
            File::open(file).and_then(|file| file.take(self.left + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("{path} cannot be read: {error}."))?;
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => self.left = left,
            None => return Err(too_large()),
        }
        self.files.insert(path, bytes);
        Ok(())
    }
}

fn too_many_files() -> String {
    format!("The folder has more than {MAX_FILES} files.")
}

fn too_deep() -> String {
    format!("The folders lie more than {MAX_DEPTH} deep.")
}

fn too_large() -> String {
    format!("The files have more than {} MB.", MAX_BYTES >> 20)
}

fn link_error(path: &str) -> String {
    match path {
        "" => "The folder is a link. Copy the folder instead.".to_owned(),
        path => format!("{path} is a link, and links are not followed. Copy the file instead."),
    }
}
