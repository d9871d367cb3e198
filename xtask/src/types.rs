//! `cargo xtask types`: the TypeScript types of the gateway, and whether the committed ones are still true.
//!
//! Owns the comparison of two folders. Refuses to know how types are written; the gateway's `export-types` example does
//! that. One could get it wrong by comparing only the files that are there now: a type that is gone would stay.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::failure::{Doing, Failure};
use crate::{house, process};

/// Writes the types into the UI, once all of them could be written elsewhere.
pub(crate) fn run() -> Result<ExitCode, Failure> {
    process::run(process::cargo([
        "build",
        "--package",
        "rouse-gateway",
        "--example",
        "export-types",
    ]))?;
    replace(&committed(), &export()?).doing(|| "write the types".into())?;
    Ok(ExitCode::SUCCESS)
}

/// Fails when the built gateway would write other types than the committed ones.
pub(crate) fn check() -> Result<(), Failure> {
    let differences = differences(&committed(), &export()?).doing(|| "compare the types".into())?;
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "these types differ from the gateway's; `cargo xtask types` writes them anew:\n        {}",
        differences.join("\n        ")
    )))
}

/// Lets the built gateway write its types into a folder of their own.
fn export() -> Result<PathBuf, Failure> {
    let scratch = house::target().join("xtask").join("types");
    empty(&scratch).doing(|| format!("empty {}", scratch.display()))?;
    let mut export = Command::new(house::example("export-types"));
    export.arg(&scratch).current_dir(house::root());
    process::run(export)?;
    Ok(scratch)
}

/// Makes one folder hold what the other holds. An empty source is a mistake, not a wish.
fn replace(folder: &Path, source: &Path) -> io::Result<()> {
    let texts = texts_below(source, "")?;
    if texts.is_empty() {
        return Err(io::Error::other(format!("{} holds no types", source.display())));
    }
    empty(folder)?;
    for (name, text) in texts {
        let file = folder.join(name);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, text)?;
    }
    Ok(())
}

fn empty(folder: &Path) -> io::Result<()> {
    fs::remove_dir_all(folder).or_else(absence_is_fine)?;
    fs::create_dir_all(folder)
}

fn committed() -> PathBuf {
    house::ui().join("src").join("platform").join("gen")
}

fn absence_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The names of the files that are missing on one side or hold other text.
fn differences(one: &Path, other: &Path) -> io::Result<Vec<String>> {
    let (one, other) = (texts_below(one, "")?, texts_below(other, "")?);
    let differing = one.iter().filter(|(name, text)| other.get(*name) != Some(text));
    let new = other.iter().filter(|(name, _)| !one.contains_key(*name));
    Ok(differing.chain(new).map(|(name, _)| name.clone()).collect())
}

fn texts_below(folder: &Path, prefix: &str) -> io::Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            texts.extend(texts_below(&entry.path(), &format!("{name}/"))?);
        } else {
            // Git may check text out with the line ends of the system.
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
    fn changed_gone_and_new_types_are_all_named() {
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
    fn replacing_leaves_exactly_the_new_types() {
        let committed = folder(&[("Job.ts", "a"), ("Gone.ts", "b")]);
        let written = folder(&[("Job.ts", "a2"), ("serde/Value.ts", "c")]);
        replace(committed.path(), written.path()).expect("replaced");
        let names = differences(committed.path(), written.path()).expect("compared");
        assert_eq!(names, Vec::<String>::new());
    }

    #[test]
    fn an_export_of_nothing_costs_no_types() {
        let committed = folder(&[("Job.ts", "a")]);
        assert!(replace(committed.path(), folder(&[]).path()).is_err());
        assert!(replace(committed.path(), Path::new("no/such/folder")).is_err());
        assert!(committed.path().join("Job.ts").is_file());
    }

    #[test]
    fn equal_folders_differ_in_nothing() {
        let files = [("Job.ts", "a"), ("serde/Value.ts", "c")];
        let names = differences(folder(&files).path(), folder(&files).path()).expect("compared");
        assert_eq!(names, Vec::<String>::new());
    }
}
