//! Saving a file that the page made for the person.
//!
//! A webview may drop a download without a word, so the shell writes it: into the folder for downloads, under a name that
//! cannot lead out of it, never over a file that is there. The page learns where it is.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tauri::{AppHandle, Manager as _};

/// Most tries to find a free name.
const MOST_NAMES: u32 = 1_000;

/// Saves `text` among the person's downloads (or in their home when there is no such folder); answers the path.
#[tauri::command]
pub(crate) async fn save_file(
    name: String,
    text: String,
    app: AppHandle,
) -> Result<String, String> {
    let folder = app.path().download_dir().or_else(|_| app.path().home_dir());
    let folder = folder.map_err(|_| "This system names no folder to save into.".to_owned())?;
    save(&folder, &name, &text).map(|path| path.display().to_string()).map_err(|error| {
        tracing::warn!(%error, "a file was not saved");
        format!("It could not be saved in {}: {error}.", folder.display())
    })
}

fn save(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let (stem, ending) = harmless(name);
    for n in 1..=MOST_NAMES {
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        let path = folder.join(format!("{stem}{number}.{ending}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are too many files of this name"))
}

/// Stem and ending of a name without anything that a file system could take for more than a name; what the page makes
/// is JSON, and nothing that it could name otherwise may be started by a click.
fn harmless(name: &str) -> (String, &'static str) {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    let stem: String = stem.chars().filter(is_plain).take(60).collect();
    let stem = if stem.is_empty() { "rouse".to_owned() } else { stem };
    (stem, if name.ends_with(".jsonl") { "jsonl" } else { "json" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_saved_beside_those_that_are_there() {
        let folder = std::env::temp_dir().join(format!("rouse-save-{}", std::process::id()));
        let saved: Vec<PathBuf> =
            ["a", "b"].map(|text| save(&folder, "rouse-jobs.json", text).expect("saved")).into();
        let names: Vec<_> = saved.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["rouse-jobs.json", "rouse-jobs-2.json"]);
        assert_eq!(std::fs::read_to_string(&saved[0]).expect("a file"), "a");
        std::fs::remove_dir_all(folder).expect("the folder goes");
    }

    #[test]
    fn a_name_stays_a_name_and_json() {
        for (name, safe) in [
            ("rouse-jobs.json", "rouse-jobs.json"),
            ("../../.bashrc", "rouse.json"),
            ("/etc/x.desktop", "etcx.json"),
            ("..\\CON", "rouse.json"),
            ("runs.jsonl", "runs.jsonl"),
            ("", "rouse.json"),
        ] {
            let (stem, ending) = harmless(name);
            assert_eq!(format!("{stem}.{ending}"), safe, "{name}");
        }
    }
}
