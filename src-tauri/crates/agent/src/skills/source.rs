//! The source of an installation: a folder or a zip archive, read as one skill.
//!
//! Owns the search for the skill in an archive, the names that are left out, and the checks of files of other authors.
//! Never writes. Pitfall: reading a file twice; the hashed bytes are the installed bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rouse_core::skills::{SkillArchives, is_skill_name};
use rouse_core::text::{escape_line, escape_os_path};

use super::folder::{Folder, INSTRUCTIONS};
use super::front_matter::{self, FrontMatter};
use super::places::INSTALLED;

/// Files and folders of other programs. They are no part of a skill.
const LEFT_OUT: [&str; 7] =
    [".git", ".hg", ".svn", ".DS_Store", "__MACOSX", "Thumbs.db", "desktop.ini"];

/// How programs in machine code begin: ELF, Mach-O in both byte orders, Mach-O for several processors.
const PROGRAM_STARTS: [&[u8]; 6] = [
    b"\x7fELF",
    &[0xfe, 0xed, 0xfa, 0xce],
    &[0xfe, 0xed, 0xfa, 0xcf],
    &[0xce, 0xfa, 0xed, 0xfe],
    &[0xcf, 0xfa, 0xed, 0xfe],
    &[0xca, 0xfe, 0xba, 0xbe],
];
/// How programs of Windows begin.
const WINDOWS_START: &[u8] = b"MZ";

/// The most skills that an error names.
const NAMED_SKILLS: usize = 5;

/// The skill of a source.
pub(super) struct SkillSource {
    pub(super) folder: Folder,
    pub(super) front_matter: FrontMatter,
    /// See [`front_matter::requirements`].
    pub(super) requires: Vec<String>,
    /// The whole `SKILL.md`.
    pub(super) text: String,
}

impl SkillSource {
    /// Reads a folder or a zip archive. Blocks.
    ///
    /// # Errors
    /// The source holds no skill, or an unsafe one: cause and remedy as sentences.
    pub(super) fn read(path: &Path, archives: &dyn SkillArchives) -> Result<Self, String> {
        let shown = escape_os_path(path);
        if !path.is_absolute() {
            return Err(format!("{shown} is no absolute path. Write the whole path."));
        }
        let kind = path.symlink_metadata();
        let kind = kind.map_err(|error| format!("{shown} cannot be read: {error}."))?;
        let folder = if kind.is_file() {
            if path.file_name().is_some_and(|name| name == INSTRUCTIONS) {
                return Err(format!("{shown} is a file of a skill. Name its folder."));
            }
            Folder::of_files(skill_files(archives.read(path)?)?)?
        } else {
            Folder::read_without(path, &LEFT_OUT)?
        };
        check_files(&folder)?;
        let front_matter = folder.parse_instructions()?.front_matter;
        check_name(&front_matter.name)?;
        let text = folder.instructions()?.to_owned();
        let requires = front_matter::requirements(front_matter::split(&text)?.0);
        Ok(Self { folder, front_matter, requires, text })
    }
}

/// The files of the only skill of an archive: at the root, or in one folder that holds everything.
fn skill_files(mut files: BTreeMap<String, Vec<u8>>) -> Result<BTreeMap<String, Vec<u8>>, String> {
    files.retain(|path, _| !path.split('/').any(|name| LEFT_OUT.contains(&name)));
    if files.contains_key(INSTRUCTIONS) {
        return Ok(files);
    }
    let tops: BTreeSet<&str> =
        files.keys().filter_map(|path| Some(path.split_once('/')?.0)).collect();
    if let Some(top) = tops.first().map(|top| format!("{top}/"))
        && files.contains_key(&format!("{top}{INSTRUCTIONS}"))
        && files.keys().all(|path| path.starts_with(top.as_str()))
    {
        let inside = files.into_iter();
        return Ok(inside.map(|(path, bytes)| (path[top.len()..].to_owned(), bytes)).collect());
    }
    let file = format!("/{INSTRUCTIONS}");
    let folders: Vec<String> =
        files.keys().filter_map(|path| path.strip_suffix(file.as_str())).map(escape_line).collect();
    Err(match folders.as_slice() {
        [] => format!("The archive has no {INSTRUCTIONS}. Look for another archive."),
        [folder] => format!(
            "The skill of the archive is in its folder {folder}, beside other files. Unpack the archive and install that folder."
        ),
        folders => format!(
            "The archive has {} skills: {}. Unpack the archive and install one folder.",
            folders.len(),
            folders[..folders.len().min(NAMED_SKILLS)].join(", ")
        ),
    })
}

/// Refuses names that are one file on some systems, and programs that nobody can read.
fn check_files(folder: &Folder) -> Result<(), String> {
    let mut known = BTreeMap::new();
    for (path, bytes) in folder.files() {
        if let Some(other) = known.insert(path.to_lowercase(), path) {
            return Err(format!(
                "{} and {} differ only in case, and some systems make them one file. Rename one of them.",
                escape_line(other),
                escape_line(path)
            ));
        }
        if is_program(bytes) {
            return Err(format!(
                "{} is a program in machine code, which you cannot review. Rouse installs skills of text and media.",
                escape_line(path)
            ));
        }
    }
    Ok(())
}

fn is_program(bytes: &[u8]) -> bool {
    let is_windows_program = bytes.starts_with(WINDOWS_START) && bytes.contains(&0);
    is_windows_program || PROGRAM_STARTS.iter().any(|start| bytes.starts_with(start))
}

fn check_name(name: &str) -> Result<(), String> {
    if is_skill_name(name) && name != INSTALLED {
        return Ok(());
    }
    Err(format!(
        "The name of the skill is {}. A name has 1 to 64 small letters, digits and hyphens, and is not `{INSTALLED}`.",
        escape_line(name)
    ))
}
