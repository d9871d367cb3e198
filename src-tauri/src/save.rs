//! Saves files created by the page.
//!
//! Webviews may drop downloads, so the shell writes the file into the downloads folder, under a
//! safe name, never overwriting. The page receives the path.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tauri::{AppHandle, Manager as _};

/// Maximum file names to try.
const MAX_NAMES: u32 = 1_000;

/// Saves `bytes` in the downloads folder (fallback: home) and returns the path.
#[tauri::command]
pub(crate) async fn save_file(
    name: String,
    bytes: Vec<u8>,
    app: AppHandle,
) -> Result<String, String> {
    let folder = app.path().download_dir().or_else(|_| app.path().home_dir());
    let folder = folder.map_err(|_| "No downloads folder found.".to_owned())?;
    save(&folder, &name, &bytes).map(|path| path.display().to_string()).map_err(|error| {
        tracing::warn!(%error, "a file was not saved");
        format!("Could not save in {}: {error}.", folder.display())
    })
}

fn save(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let (stem, ending) = safe_name(name);
    for n in 1..=MAX_NAMES {
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        let path = folder.join(format!("{stem}{number}.{ending}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are too many files of this name"))
}

/// Safe stem and extension. Always JSON or PDF, so that no saved file is executable.
fn safe_name(name: &str) -> (String, &'static str) {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    let stem: String = stem.chars().filter(is_plain).take(60).collect();
    let stem = if stem.is_empty() { "rouse".to_owned() } else { stem };
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let ending = match ending.as_deref() {
        Some("jsonl") => "jsonl",
        Some("pdf") => "pdf",
        _ => "json",
    };
    (stem, ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_file_never_overwrites() {
        let folder = std::env::temp_dir().join(format!("rouse-save-{}", std::process::id()));
        let saved: Vec<PathBuf> = ["a", "b"]
            .map(|text| save(&folder, "rouse-jobs.json", text.as_bytes()).expect("saved"))
            .into();
        let names: Vec<_> = saved.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["rouse-jobs.json", "rouse-jobs-2.json"]);
        assert_eq!(std::fs::read_to_string(&saved[0]).expect("a file"), "a");
        std::fs::remove_dir_all(folder).expect("the folder is removed");
    }

    #[test]
    fn unsafe_name_becomes_json_or_pdf_file_name() {
        for (name, safe) in [
            ("rouse-jobs.json", "rouse-jobs.json"),
            ("../../.bashrc", "rouse.json"),
            ("/etc/x.desktop", "etcx.json"),
            ("..\\CON", "rouse.json"),
            ("runs.jsonl", "runs.jsonl"),
            ("Report.PDF", "Report.pdf"),
            ("report.pdf.exe", "reportpdf.json"),
            ("", "rouse.json"),
        ] {
            let (stem, ending) = safe_name(name);
            assert_eq!(format!("{stem}.{ending}"), safe, "{name}");
        }
    }
}
