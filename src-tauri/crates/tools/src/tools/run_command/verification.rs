//! Verification of an approval right before the command starts.
//!
//! Compares the call's surroundings with the approved surroundings once more, and reads the executed files in the same
//! pass: a sandboxed command executes these copies, whatever happens to the files. Outside the sandbox no copy is out
//! of others' reach, so the comparison is the only check. Refuses to start on any difference. Pitfall: to read a file
//! twice, for fingerprint and copy.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use rouse_core::approval::Surroundings;
use rouse_core::tool::ToolContext;

use super::bound_files::{FileScope, display_path};
use super::call::{Arguments, CallSettings, CommandError, file_scope, surroundings};
use super::confinement::is_sandboxed;
use crate::sandbox::SealedFile;
use crate::workspace::{Workspace, sha256_hex};

/// Limit of all copies together. Larger files are compared, but not copied.
const MAX_COPY_BYTES: u64 = 32 << 20;

/// Compares a call with the approval; returns copies of the executed files.
pub(super) fn verify_and_seal(
    arguments: &Arguments,
    context: &ToolContext,
    settings: &CallSettings,
    approved: &Surroundings,
) -> Result<Vec<SealedFile>, CommandError> {
    let now = surroundings(arguments, context, settings)?;
    // The reason against a grant is no part of the approval.
    let now = Surroundings { ungranted: approved.ungranted.clone(), ..now };
    if now != *approved {
        return Err(CommandError::Changed(find_difference(&now, approved)));
    }
    if !cfg!(target_os = "linux") || !is_sandboxed(&context.sandbox) {
        return Ok(Vec::new());
    }
    let scope = file_scope(arguments, context, settings)?;
    let is_writable =
        arguments.command.split(|c: char| !c.is_alphanumeric()).any(|word| word == "chmod");
    let mut room = MAX_COPY_BYTES;
    let mut sealed = Vec::new();
    for path in scope.executed_files(&arguments.command) {
        let Some(expected) = approved.files.get(&display_path(&path)) else { continue };
        let Some((content, mode)) = read_copy(&path, &scope, room) else { continue };
        if sha256_hex(content.as_slice()).ok().as_ref() != Some(expected) {
            return Err(CommandError::Changed(display_path(&path)));
        }
        room -= content.len() as u64;
        sealed.push(SealedFile { path, content, mode, is_writable });
    }
    Ok(sealed)
}

/// Reads content and mode of a file that a command can change; `None` if gone or too large.
fn read_copy(path: &Path, scope: &FileScope, max_bytes: u64) -> Option<(Vec<u8>, u32)> {
    let workspace = Workspace::open(scope.root_containing(path)?).ok()?;
    let relative = workspace.relative_path(path)?;
    let (file, size) = workspace.open_linked_file(&relative).ok()?;
    if size > max_bytes {
        return None;
    }
    let mode = mode_of(&file);
    let mut content = Vec::new();
    // A file that grows meanwhile fails the comparison of the hash.
    file.take(max_bytes).read_to_end(&mut content).ok()?;
    Some((content, mode))
}

#[cfg(unix)]
fn mode_of(file: &std::fs::File) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().map_or(0o700, |metadata| metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
const fn mode_of(_: &std::fs::File) -> u32 {
    0o700
}

/// Names the first difference.
fn find_difference(now: &Surroundings, before: &Surroundings) -> String {
    let differing = |now: &BTreeMap<String, String>, before: &BTreeMap<String, String>| {
        let mut names = now.keys().chain(before.keys());
        names.find(|name| now.get(*name) != before.get(*name)).cloned()
    };
    let file = differing(&now.files, &before.files);
    let file = file.or_else(|| differing(&now.replaces, &before.replaces));
    if let Some(file) = file {
        return file;
    }
    if now.directory == before.directory {
        return "the environment".to_owned();
    }
    now.directory.clone().unwrap_or_else(|| "the folder".to_owned())
}
