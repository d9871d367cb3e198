//! The check of a tool's folder in words, and the copy of an accepted folder.
//!
//! Owns the refusal with all facts, and the notes of the consent page. Never copies a folder that differs from the
//! page. Pitfall: a text of the manifest or of a test without escapes; both are untrusted.

use std::path::Path;

use rouse_core::extension::ToolLanguage;
use rouse_core::extension::package::PackageSize;
use rouse_core::text::escape_line;
use rouse_wasm::{ToolCheck, ToolFolder, ToolManifest, tool_transport};

use super::checked_tool::CheckedTool;

/// The maximum number of problems in a refusal.
const MAX_PROBLEMS: usize = 30;

/// The note about the installed files.
const FILES_NOTE: &str =
    "The files are copied and every file is hashed. A tool with a changed file is not called.";

/// The facts of a passed check about the files of `folder`.
///
/// # Errors
/// The check did not pass: every problem as a line.
pub(super) fn checked_tool(folder: &ToolFolder, check: ToolCheck) -> Result<CheckedTool, String> {
    if !check.is_passed() {
        return Err(refusal(&check));
    }
    let tests = check.tests.len();
    let engine_version = check.engine_version;
    let manifest = check.manifest.expect("BUG: a check without a manifest passed");
    let bytes = folder.files().map(|(_, content)| content.len() as u64).sum();
    let files = u32::try_from(folder.files().count()).unwrap_or(u32::MAX);
    Ok(CheckedTool {
        transport: tool_transport(&manifest.permissions),
        list: folder.file_list(),
        size: PackageSize { files, bytes },
        claims: claims(&manifest),
        notes: notes(&manifest, folder, tests, engine_version),
        name: manifest.name,
    })
}

/// Every problem of a check, one a line.
pub(super) fn refusal(check: &ToolCheck) -> String {
    let manifest = check.manifest_problems.iter().map(|problem| format!("tool.toml: {problem}"));
    let failures = check.tests.iter().filter_map(|test| {
        let failure = test.failure.as_ref()?;
        Some(format!("test `{}`: {failure}", test.name))
    });
    let problems: Vec<String> =
        manifest.chain(check.problems.iter().cloned()).chain(failures).collect();
    let mut lines = vec!["The tool did not pass its check.".to_owned()];
    let shown = problems.iter().take(MAX_PROBLEMS);
    lines.extend(shown.map(|problem| format!("- {}", escape_line(problem))));
    if problems.len() > MAX_PROBLEMS {
        lines.push(format!("- and {} more", problems.len() - MAX_PROBLEMS));
    }
    lines.join("\n")
}

/// Name, version and description by the manifest.
fn claims(manifest: &ToolManifest) -> String {
    let version = manifest.version.as_deref().map(|version| format!(" {version}"));
    format!("{}{}: {}", manifest.name, version.unwrap_or_default(), manifest.description)
}

fn notes(
    manifest: &ToolManifest,
    folder: &ToolFolder,
    tests: usize,
    engine_version: &str,
) -> Vec<String> {
    let language = match manifest.language {
        ToolLanguage::JavaScript => "JavaScript",
        ToolLanguage::Rust => "Rust, as a WebAssembly component",
    };
    let plural = if tests == 1 { "" } else { "s" };
    let claim = if manifest.reads_only {
        "The author says that the tool only reads."
    } else {
        "The author does not say that the tool only reads."
    };
    vec![
        format!("Language: {language}."),
        format!("{tests} test{plural} of the author passed on this computer, without a network."),
        format!("WebAssembly engine: wasmtime {engine_version}."),
        claim.to_owned(),
        format!(
            "Files: {}. Read them with `rouse tools source {}` or on the Tools page before you accept.",
            shown_files(folder),
            manifest.name
        ),
        FILES_NOTE.to_owned(),
    ]
}

/// Copies the accepted folder at `path` into the new folder `target`.
///
/// # Errors
/// The folder cannot be copied, or differs from the page: cause and remedy as sentences.
pub(crate) fn copy_tool(path: &str, sha256: &str, target: &Path) -> Result<(), String> {
    let shown = escape_line(path);
    let folder = ToolFolder::read(Path::new(path)).map_err(|error| error.to_string())?;
    if folder.hash() != sha256 {
        return Err(format!("{shown} has changed since you read its page. Read the page again."));
    }
    let copied = folder.copy_to(target);
    copied.map_err(|error| format!("{shown} cannot be copied: {error}."))
}

/// The first names of files.
fn shown_files(folder: &ToolFolder) -> String {
    let names: Vec<String> =
        folder.files().map(|(path, _)| escape_line(path)).take(MAX_PROBLEMS).collect();
    let more = folder.files().count() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
