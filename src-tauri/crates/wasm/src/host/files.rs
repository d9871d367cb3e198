//! The import `files`: the folder of the tool.
//!
//! Owns the form of paths and the bounds on sizes. A path has plain names only, and no part of it may be a link, so
//! nothing outside of the folder is reached. Never removes a file. Pitfall: names that Windows reads in another way
//! (`a:b`, `CON`, a dot at the end).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rouse_core::extension::ToolFileAccess;

use super::state::CallState;

/// Largest file.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Largest sum of all files.
const MAX_FOLDER_BYTES: u64 = 20 << 20;

/// Most files and folders.
const MAX_ENTRIES: usize = 1_000;

const MAX_PATH_BYTES: usize = 500;
const MAX_PATH_PARTS: usize = 8;

/// Names of devices on Windows.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// Reads a file. The error is a sentence.
pub(crate) async fn read(state: &CallState, path: String) -> Result<Vec<u8>, String> {
    if state.grants.files == ToolFileAccess::None {
        return Err(no_permission("read"));
    }
    let folder = folder_of(state)?;
    run_blocking(move || read_file(&folder, &path)).await
}

/// Writes a file. The error is a sentence.
pub(crate) async fn write(state: &CallState, path: String, content: Vec<u8>) -> Result<(), String> {
    if state.grants.files != ToolFileAccess::Write {
        return Err(no_permission("write"));
    }
    let folder = folder_of(state)?;
    run_blocking(move || write_file(&folder, &path, &content)).await
}

fn no_permission(access: &str) -> String {
    format!(
        "The tool has no permission to {access} files. Set `files` to \"{access}\" in the permissions of tool.toml."
    )
}

fn folder_of(state: &CallState) -> Result<PathBuf, String> {
    let missing = || "The tool has no folder for files in this call.".to_owned();
    state.ports.folder.clone().ok_or_else(missing)
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}

fn read_file(folder: &Path, path: &str) -> Result<Vec<u8>, String> {
    let full = resolve(folder, path)?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => format!("The tool has no file {path}."),
        _ => format!("The file {path} could not be read: {}.", error.kind()),
    };
    let bytes = fs::symlink_metadata(&full).map_err(failed)?.len();
    if bytes > MAX_FILE_BYTES as u64 {
        return Err(format!("The file {path} is larger than {MAX_FILE_BYTES} bytes."));
    }
    let mut content = Vec::new();
    let file = File::open(&full).map_err(failed)?;
    file.take(MAX_FILE_BYTES as u64).read_to_end(&mut content).map_err(failed)?;
    Ok(content)
}

fn write_file(folder: &Path, path: &str, content: &[u8]) -> Result<(), String> {
    if content.len() > MAX_FILE_BYTES {
        return Err(format!("A file has at most {MAX_FILE_BYTES} bytes. Write less to {path}."));
    }
    let full = resolve(folder, path)?;
    let replaced = fs::symlink_metadata(&full).map_or(0, |found| found.len());
    let used = FolderUse::of(folder).map_err(|error| unwritten(path, &error))?;
    let bytes = used.bytes.saturating_sub(replaced) + content.len() as u64;
    if bytes > MAX_FOLDER_BYTES || used.entries + MAX_PATH_PARTS > MAX_ENTRIES {
        return Err(format!(
            "The files of the tool have at most {MAX_FOLDER_BYTES} bytes and {MAX_ENTRIES} names together. Shorten a file instead."
        ));
    }
    let written = fs::create_dir_all(full.parent().unwrap_or(folder))
        .and_then(|()| replace_file(&full, content));
    written.map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &str, error: &io::Error) -> String {
    format!("The file {path} could not be written: {}.", error.kind())
}

/// Replaces the file at once: a reader sees the old or the new content.
fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    // No path of a tool begins with `.`.
    let name = format!(".{}.tmp", uuid::Uuid::new_v4());
    let temporary = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let replaced = file.write_all(content).and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// The full path, if no part of it leaves the folder.
fn resolve(folder: &Path, path: &str) -> Result<PathBuf, String> {
    let names: Vec<&str> = path.split('/').collect();
    if path.len() > MAX_PATH_BYTES || names.len() > MAX_PATH_PARTS {
        return Err("The path is too long or too deep. Use a shorter one.".to_owned());
    }
    if let Some(name) = names.iter().find(|name| !is_plain_name(name)) {
        return Err(format!(
            "The path {path:?} is not allowed ({name:?}). Use names of letters, digits, `-`, `_` and `.` below the folder of the tool."
        ));
    }
    let mut full = folder.to_owned();
    for (at, name) in names.iter().enumerate() {
        full.push(name);
        let Ok(found) = fs::symlink_metadata(&full) else { continue };
        let is_last = at + 1 == names.len();
        let is_expected = if is_last { found.is_file() } else { found.is_dir() };
        if !is_expected {
            return Err(format!("The path {path} leads through a link, or is no plain file."));
        }
    }
    Ok(full)
}

/// Whether every system reads `name` as a plain name.
fn is_plain_name(name: &str) -> bool {
    let is_allowed =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | ' ');
    let stem = name.split('.').next().unwrap_or_default().trim().to_lowercase();
    let device =
        stem.trim_end_matches(|letter: char| letter.is_ascii_digit() || "¹²³".contains(letter));
    !name.starts_with(['.', ' '])
        && !name.ends_with(['.', ' '])
        && !name.is_empty()
        && name.chars().all(is_allowed)
        && !DEVICES.contains(&device)
}

/// What the files of a tool use.
#[derive(Default)]
struct FolderUse {
    bytes: u64,
    entries: usize,
}

impl FolderUse {
    fn of(folder: &Path) -> io::Result<Self> {
        let mut used = Self::default();
        let mut waiting = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for entry in entries.take(MAX_ENTRIES) {
                let entry = entry?;
                let found = entry.metadata()?;
                used.entries += 1;
                used.bytes += found.len();
                if found.is_dir() && used.entries < MAX_ENTRIES {
                    waiting.push(entry.path());
                }
            }
        }
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_the_folder_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [
            "../x",
            "a/../../x",
            "/etc/passwd",
            "a//b",
            "./a",
            "",
            "a/",
            "a\\b",
            "C:\\x",
            "a:b",
            "CON",
            "con.txt",
            "LPT1",
            "a.",
            "a ",
            ".hidden",
            "a\0b",
            "a\nb",
            "~/x/..",
            "a/b/c/d/e/f/g/h/i",
        ] {
            assert!(resolve(folder.path(), path).is_err(), "{path:?}");
        }
        assert!(resolve(folder.path(), "notes/2026 list.json").is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused() {
        let (folder, outside) = (tempfile::tempdir().expect("a"), tempfile::tempdir().expect("b"));
        fs::write(outside.path().join("key"), "secret").expect("a file");
        std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).expect("a link");
        let file = outside.path().join("key");
        std::os::unix::fs::symlink(file, folder.path().join("key")).expect("a link");
        assert!(read_file(folder.path(), "out/key").is_err());
        assert!(read_file(folder.path(), "key").is_err());
        assert!(write_file(folder.path(), "out/new", b"x").is_err());
        assert!(write_file(folder.path(), "key", b"x").is_err());
        assert_eq!(fs::read(outside.path().join("key")).expect("a file"), b"secret");
    }

    #[test]
    fn sizes_are_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = vec![0; MAX_FILE_BYTES];
        assert!(write_file(folder.path(), "big", &vec![0; MAX_FILE_BYTES + 1]).is_err());
        for number in 0..20 {
            write_file(folder.path(), &format!("d/{number}"), &file[..MAX_FILE_BYTES - 1_000])
                .expect("a file");
        }
        assert!(write_file(folder.path(), "one-more", &file).is_err());
        write_file(folder.path(), "d/0", b"less").expect("a smaller file");
        assert_eq!(read_file(folder.path(), "d/0").expect("a file"), b"less");
    }
}
