//! `cargo xtask types`: the TypeScript types of the gateway, and their check.
//!
//! Owns the export, the comparison with the committed types and their replacement. The gateway's `export-types` example writes the types. Pitfall: comparing only
//! present files; a removed type would remain.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::error::{ChoreError, ErrorContext};
use crate::{paths, process};

/// Writes the types into the UI after a complete export.
pub(crate) fn run() -> Result<ExitCode, ChoreError> {
    process::run(process::cargo([
        "build",
        "--package",
        "rouse-gateway",
        "--example",
        "export-types",
    ]))?;
    replace(&committed_folder(), &export()?).with_context(|| "write the types".into())?;
    Ok(ExitCode::SUCCESS)
}

/// Fails if the built gateway exports other types than the committed ones.
pub(crate) fn check() -> Result<(), ChoreError> {
    let differences =
        differences(&committed_folder(), &export()?).with_context(|| "compare the types".into())?;
    if differences.is_empty() {
        return Ok(());
    }
    Err(ChoreError::new(format!(
        "these types differ from the gateway's; run `cargo xtask types`:\n        {}",
        differences.join("\n        ")
    )))
}

/// Exports the types of the built gateway into a scratch folder.
fn export() -> Result<PathBuf, ChoreError> {
    let scratch = paths::target().join("xtask").join("types");
    clear_folder(&scratch).with_context(|| format!("empty {}", scratch.display()))?;
    let mut export = Command::new(paths::example("export-types"));
    export.arg(&scratch).current_dir(paths::root());
    process::run(export)?;
    Ok(scratch)
}

/// Makes `folder` a copy of `source`. An empty source is an error.
fn replace(folder: &Path, source: &Path) -> io::Result<()> {
    let texts = read_texts(source, "")?;
    if texts.is_empty() {
        return Err(io::Error::other(format!("{} contains no types", source.display())));
    }
    clear_folder(folder)?;
    for (name, text) in texts {
        let file = folder.join(name);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, text)?;
    }
    Ok(())
}

fn clear_folder(folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder).or_else(ignore_missing)?;
    fs::create_dir_all(folder)
}

fn committed_folder() -> PathBuf {
    paths::ui().join("src").join("platform").join("gen")
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The names of files that are missing on one side or differ.
fn differences(left: &Path, right: &Path) -> io::Result<Vec<String>> {
    let (left, right) = (read_texts(left, "")?, read_texts(right, "")?);
    let changed = left.iter().filter(|(name, text)| right.get(*name) != Some(text));
    let new = right.iter().filter(|(name, _)| !left.contains_key(*name));
    Ok(changed.chain(new).map(|(name, _)| name.clone()).collect())
}

fn read_texts(folder: &Path, prefix: &str) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            texts.extend(read_texts(&entry.path(), &format!("{name}/"))?);
        } else {
            // Git may check out text with the system's line ends.
            texts.insert(name, fs::read_to_string(entry.path())?.replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("written");
        }
        dir
    }

    #[test]
    fn changed_removed_and_new_types_are_listed() {
        let committed = folder(&[
            ("Job.ts", "a"),
            ("Gone.ts", "b"),
            ("serde/Value.ts", "c"),
            ("Same.ts", "s\r\n"),
        ]);
        let written = folder(&[
            ("Job.ts", "a2"),
            ("serde/Value.ts", "c2"),
            ("New.ts", "d"),
            ("Same.ts", "s\n"),
        ]);
        let names = differences(committed.path(), written.path()).expect("compared");
        assert_eq!(names, ["Gone.ts", "Job.ts", "serde/Value.ts", "New.ts"]);
    }

    #[test]
    fn replace_leaves_exactly_the_new_types() {
        let committed = folder(&[("Job.ts", "a"), ("Gone.ts", "b")]);
        let written = folder(&[("Job.ts", "a2"), ("serde/Value.ts", "c")]);
        replace(committed.path(), written.path()).expect("replaced");
        let names = differences(committed.path(), written.path()).expect("compared");
        assert_eq!(names, Vec::<String>::new());
    }

    #[test]
    fn empty_export_deletes_no_types() {
        let committed = folder(&[("Job.ts", "a")]);
        assert!(replace(committed.path(), folder(&[]).path()).is_err());
        assert!(replace(committed.path(), Path::new("no/such/folder")).is_err());
        assert!(committed.path().join("Job.ts").is_file());
    }

    #[test]
    fn equal_folders_have_no_differences() {
        let files = [("Job.ts", "a"), ("serde/Value.ts", "c")];
        let names = differences(folder(&files).path(), folder(&files).path()).expect("compared");
        assert_eq!(names, Vec::<String>::new());
    }
}
