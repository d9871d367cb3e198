//! The source files for the rules.
//!
//! Owns the set of source files: nothing built, downloaded or generated. Pitfall: finding no files passes every rule;
//! the test below prevents that.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository.
#[derive(Clone)]
pub(crate) struct SourceFile {
    /// Relative to the root, with `/` on every system.
    pub(crate) path: String,
    pub(crate) text: String,
}

const IGNORED_FOLDERS: &[&str] = &["target", "node_modules", "dist", "gen", "fixtures"];

/// All Rust files.
pub(crate) fn rust() -> Vec<SourceFile> {
    ["src-tauri", "tests", "xtask"].iter().flat_map(|folder| files_below(folder, &["rs"])).collect()
}

/// All files with SQL: the store's Rust files and migrations.
pub(crate) fn sql() -> Vec<SourceFile> {
    files_below("src-tauri/crates/store", &["rs", "sql"])
}

/// The UI's source files.
pub(crate) fn ui() -> Vec<SourceFile> {
    files_below("ui/src", &["ts", "tsx"])
}

/// The pages of the documentation, and prompts of several lines.
pub(crate) fn markdown() -> Vec<SourceFile> {
    let mut found = files_below("docs", &["md"]);
    for page in ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).expect("a text file");
        found.push(SourceFile { path: page.to_owned(), text });
    }
    found.extend(files_below("src-tauri/crates/agent/prompts", &["md"]));
    found
}

fn files_below(folder: &str, endings: &[&str]) -> Vec<SourceFile> {
    let mut found = Vec::new();
    collect(&root().join(folder), endings, &mut found);
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("BUG: this crate has no parent folder")
        .to_path_buf()
}

fn collect(folder: &Path, endings: &[&str], found: &mut Vec<SourceFile>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !IGNORED_FOLDERS.contains(&name.as_str()) {
            collect(&path, endings, found);
        } else if path.is_file()
            && endings.iter().any(|ending| name.ends_with(&format!(".{ending}")))
        {
            found.push(SourceFile {
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
fn real_files_are_found() {
    let paths = |sources: Vec<SourceFile>| {
        sources.into_iter().map(|source| source.path).collect::<Vec<_>>()
    };
    assert!(paths(rust()).contains(&"src-tauri/crates/core/src/lib.rs".to_owned()));
    assert!(paths(rust()).contains(&"xtask/src/main.rs".to_owned()));
    assert!(paths(sql()).contains(&"src-tauri/crates/store/src/lib.rs".to_owned()));
    assert!(paths(ui()).contains(&"ui/src/main.tsx".to_owned()));
    assert!(!paths(ui()).iter().any(|path| path.contains("/gen/")));
}
