//! A check as the version of a built tool.
//!
//! Owns the sentences of errors and tests, and the stored texts of the files. Never judges a check. Pitfall: a large
//! file in every row of the database; texts over the bound are left out.

use rouse_core::UnixMs;
use rouse_core::extension::{
    ExtensionName, ToolBuild, ToolBuildState, ToolLanguage, ToolSourceFile, ToolTestResult,
};
use rouse_wasm::{ToolCheck, ToolFolder, ToolTestOutcome};
use serde_json::{Value, json};

use super::version_origin::VersionOrigin;

/// The maximum bytes of all stored texts of a version.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// The stored lines of the log of a test.
const MAX_LOG_LINES: usize = 20;

/// The version with the facts of `check`. `name` is the name in the call or in the manifest.
pub(super) fn checked_version(
    name: &ExtensionName,
    folder: &ToolFolder,
    check: ToolCheck,
    origin: VersionOrigin,
    now: UnixMs,
) -> ToolBuild {
    let language = check.manifest.as_ref().map_or_else(|| guess(folder), |facts| facts.language);
    let own_name = check.manifest.as_ref().map(|manifest| &manifest.name);
    let other_name = own_name.filter(|own| *own != name).map(|own| {
        format!("tool.toml: name: is {own}, but the tool is {name}. Write the same name.")
    });
    let manifest_problems =
        check.manifest_problems.iter().map(|problem| format!("tool.toml: {problem}"));
    let VersionOrigin { run_id, is_tainted, build_error } = origin;
    let errors = manifest_problems.chain(other_name).chain(build_error).chain(check.problems);
    let errors = errors.collect();
    let mut build = ToolBuild {
        name: name.clone(),
        hash: check.hash,
        language,
        engine: engine_of(language).to_owned(),
        engine_version: check.engine_version.to_owned(),
        tests: check.tests.iter().map(test_result).collect(),
        errors,
        files: source_files(folder),
        manifest: check.manifest.map_or(Value::Null, |manifest| json!(manifest)),
        run_id,
        is_tainted,
        checked_at: now,
        state: ToolBuildState::Failed,
    };
    if build.passed() {
        build.state = ToolBuildState::Passed;
    }
    build
}

/// The language of a folder without a valid manifest.
fn guess(folder: &ToolFolder) -> ToolLanguage {
    match folder.get(ToolLanguage::Rust.file()) {
        Some(_) => ToolLanguage::Rust,
        None => ToolLanguage::JavaScript,
    }
}

const fn engine_of(language: ToolLanguage) -> &'static str {
    match language {
        ToolLanguage::JavaScript => "QuickJS in wasmtime",
        ToolLanguage::Rust => "wasmtime",
    }
}

fn test_result(test: &ToolTestOutcome) -> ToolTestResult {
    let lines = test.log.lines.iter().take(MAX_LOG_LINES);
    ToolTestResult {
        name: test.name.clone(),
        passed: test.failure.is_none(),
        message: test.failure.as_ref().map(ToString::to_string),
        log: lines.map(|line| line.text.clone()).collect(),
    }
}

fn source_files(folder: &ToolFolder) -> Vec<ToolSourceFile> {
    let mut remaining = MAX_TEXT_BYTES;
    let mut files = Vec::new();
    for (path, content) in folder.files() {
        let text = str::from_utf8(content).ok().filter(|text| text.len() <= remaining);
        remaining -= text.map_or(0, str::len);
        files.push(ToolSourceFile {
            path: path.to_owned(),
            text: text.map(str::to_owned),
            bytes: content.len() as u64,
        });
    }
    files
}
