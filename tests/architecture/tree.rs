//! The files that the rules look at, with their text.
//!
//! Owns what counts as source: nothing built, nothing downloaded, nothing generated. One could get it wrong by finding no
//! files at all, with every rule content; hence the test below.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository.
#[derive(Clone)]
pub(crate) struct Source {
    /// From the root, with `/` on every system.
    pub(crate) path: String,
    pub(crate) text: String,
}

const NOT_OURS: &[&str] = &["target", "node_modules", "dist", "gen", "fixtures"];

/// Every Rust file.
pub(crate) fn rust() -> Vec<Source> {
    ["src-tauri", "tests", "xtask"].iter().flat_map(|folder| below(folder, &["rs"])).collect()
}

/// Everything that may hold SQL: the store's Rust and its migrations.
pub(crate) fn sql() -> Vec<Source> {
    below("src-tauri/crates/store", &["rs", "sql"])
}

/// The UI's own source.
pub(crate) fn ui() -> Vec<Source> {
    below("ui/src", &["ts", "tsx"])
}

fn below(folder: &str, endings: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join(folder), endings, &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("BUG: this crate lies in a folder")
        .to_path_buf()
}

fn collect(folder: &Path, endings: &[&str], found: &mut Vec<Source>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            collect(&path, endings, found);
        } else if path.is_file()
            && endings.iter().any(|ending| name.ends_with(&format!(".{ending}")))
        {
            found.push(Source {
                path: from_root(&path),
                text: fs::read_to_string(&path).expect("a text file"),
            });
        }
    }
}

fn from_root(path: &Path) -> String {
    let relative = path.strip_prefix(root()).expect("a file of the repository");
    relative.to_string_lossy().replace('\\', "/")
}

#[test]
fn the_real_files_are_found() {
    let paths =
        |sources: Vec<Source>| sources.into_iter().map(|source| source.path).collect::<Vec<_>>();
    assert!(paths(rust()).contains(&"src-tauri/crates/core/src/lib.rs".to_owned()));
    assert!(paths(rust()).contains(&"xtask/src/main.rs".to_owned()));
    assert!(paths(sql()).contains(&"src-tauri/crates/store/src/lib.rs".to_owned()));
    assert!(paths(ui()).contains(&"ui/src/main.tsx".to_owned()));
    assert!(!paths(ui()).iter().any(|path| path.contains("/gen/")));
}
