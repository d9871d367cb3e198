//! What a command is held to between the last look and its beginning.
//!
//! A yes is bound to what the line works with. Before the command begins that is read once more, and what it runs of the
//! workspace is read into memory in the same breath: a confined command runs that copy, whatever becomes of the file
//! meanwhile. Out of the sandbox there is no place for a copy that nobody else can write, so there the last look is all
//! there is. It refuses to begin when anything differs. One could get it wrong by reading a file twice, once for its
//! fingerprint and once for its copy: the second may be another one.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use rouse_core::approval::Surroundings;
use rouse_core::tool::{SandboxMode, ToolContext};

use super::named::{Named, shown};
use super::{Arguments, CommandError, Surrounding, bound, named};
use crate::sandbox::Sealed;
use crate::workspace::{Workspace, digest};

/// The largest file that is copied, and the most of all of them. What is larger is looked at and not copied.
const MOST_BYTES: u64 = 32 << 20;

/// Holds a call against what its yes is bound to; answers what of it is run from a copy.
pub(super) fn hold(
    arguments: &Arguments,
    context: &ToolContext,
    around: &Surrounding,
    to: &Surroundings,
) -> Result<Vec<Sealed>, CommandError> {
    let now = bound(arguments, context, around)?;
    if now != *to {
        return Err(CommandError::Changed(difference(&now, to)));
    }
    if !cfg!(target_os = "linux") || !matches!(context.sandbox, SandboxMode::Sandboxed { .. }) {
        return Ok(Vec::new());
    }
    let named = named(arguments, context, &around.rooms)?;
    let may_change =
        arguments.command.split(|c: char| !c.is_alphanumeric()).any(|it| it == "chmod");
    let mut left = MOST_BYTES;
    let mut sealed = Vec::new();
    for path in named.run(&arguments.command) {
        let Some(expected) = to.files.get(&shown(&path)) else { continue };
        let Some((content, mode)) = read(&path, &named, left) else { continue };
        if digest(content.as_slice()).ok().as_ref() != Some(expected) {
            return Err(CommandError::Changed(shown(&path)));
        }
        left -= content.len() as u64;
        sealed.push(Sealed { path, content, mode, may_change });
    }
    Ok(sealed)
}

/// The content of a file that a command can change, opened once; none when it is none or too large for a copy.
fn read(path: &Path, named: &Named, most: u64) -> Option<(Vec<u8>, u32)> {
    let workspace = Workspace::open(named.root_of(path)?).ok()?;
    let inside = workspace.beneath(path)?;
    let (file, size) = workspace.open_any_name(&inside).ok()?;
    if size > most {
        return None;
    }
    let mode = mode_of(&file);
    let mut content = Vec::new();
    // What grows meanwhile is not what was approved, and its digest will say so.
    file.take(most).read_to_end(&mut content).ok()?;
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

/// The first thing that differs, by name.
fn difference(now: &Surroundings, before: &Surroundings) -> String {
    let differs = |now: &BTreeMap<String, String>, before: &BTreeMap<String, String>| {
        let mut names = now.keys().chain(before.keys());
        names.find(|name| now.get(*name) != before.get(*name)).cloned()
    };
    let file = differs(&now.files, &before.files);
    let file = file.or_else(|| differs(&now.replaces, &before.replaces));
    let what = file.as_deref().or(match now.directory == before.directory {
        true => Some("the environment"),
        false => now.directory.as_deref(),
    });
    what.unwrap_or("the folder").to_owned()
}
