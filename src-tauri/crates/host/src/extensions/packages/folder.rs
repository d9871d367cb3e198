//! Folders that are used in place: their plan.
//!
//! Owns the meaning of the person's command: a relative path lies in the folder. Never copies or changes a file. The
//! server reads the folder; it writes only into its private folder.

use std::path::Path;

use rouse_core::extension::package::{FileList, PackageSize};
use rouse_core::text::escape_line;

use super::files::hash_files;
use super::site::path_text;
use crate::options::EnvReader;
use rouse_tools::find_program;

/// What a page shows about a folder.
pub(super) struct FolderFacts {
    /// The files with their hashes.
    pub(super) list: FileList,
    pub(super) size: PackageSize,
    /// The absolute path of the program.
    pub(super) command: String,
}

/// Hashes the files of a folder.
pub(super) fn folder_facts(
    folder: &str,
    command: &str,
    env: &EnvReader,
) -> Result<FolderFacts, String> {
    if command.is_empty() {
        return Err(
            "The folder needs a command: write the program and its arguments after --.".to_owned()
        );
    }
    if !Path::new(folder).is_dir() {
        return Err(format!("There is no folder {}. Check the path.", escape_line(folder)));
    }
    let command = if Path::new(command).components().count() > 1 {
        // An absolute path replaces the folder.
        find_program(&path_text(&Path::new(folder).join(command))?, None)?
    } else {
        find_program(command, env("PATH").as_deref())?
    };
    let found = hash_files(Path::new(folder))?;
    Ok(FolderFacts { list: found.list, size: found.size, command })
}
