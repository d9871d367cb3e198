//! The text of an offer: everything that a person needs to decide.
//!
//! Statements of Rouse come first and begin each line; texts of the tool follow, indented. Pitfall: a line of the tool
//! that passes for a line of Rouse.

use rouse_core::extension::{ToolAccess, ToolBuild, ToolOffer, ToolSourceFile, ToolTestResult};
use rouse_core::text::{escape_invisible, escape_line};

use crate::text_diff::{NO_FILE, unified_diff};

/// The characters of the hash in the text.
const SHOWN_HASH: usize = 12;

/// The text for the approval.
pub(super) fn offer_text(offer: &ToolOffer) -> String {
    let ToolOffer { build, accepted, access, is_off } = offer;
    let mut lines = vec![headline(build, accepted.as_ref())];
    lines.extend(build.reach());
    if let Some(before) = accepted.as_ref().and_then(ToolBuild::reach)
        && Some(&before) != build.reach().as_ref()
    {
        lines.push(format!("Before: {before}"));
    }
    lines.push(access_text(*access).to_owned());
    if *is_off {
        lines.push("The tool is switched off and stays off.".to_owned());
    }
    if build.is_tainted {
        lines.push("WARNING: the run had read untrusted input (such as web pages) before it wrote this version. Read the source before you allow it.".to_owned());
    }
    let (engine, version) = (&build.engine, &build.engine_version);
    let hash = build.hash.get(..SHOWN_HASH).unwrap_or_default();
    lines.push(format!("Engine: {engine} {version}. Version {hash}…"));
    lines.push("\nDescription for models:".to_owned());
    let description = build.manifest["description"].as_str().unwrap_or_default();
    lines.push(indent(&escape_invisible(description)));
    lines.push("\nTests, without a network:".to_owned());
    lines.extend(build.tests.iter().map(test_line));
    match accepted {
        Some(accepted) => {
            lines.push("\nChanges since the accepted version:".to_owned());
            lines.push(changes(accepted, build));
        }
        None => lines.extend(files_in_order(build).map(file_text)),
    }
    lines.join("\n")
}

/// How calls are judged after the installation.
pub(super) const fn access_text(access: ToolAccess) -> &'static str {
    match access {
        ToolAccess::ReadsOnly => {
            "Calls need no approval, because the author says that the tool only reads. You can change this on the Tools page."
        }
        ToolAccess::Ask => "Calls need your approval, unless a job has a grant.",
        ToolAccess::AlwaysAsk => "Every call needs your approval.",
        ToolAccess::Off => "You switched this tool off. It stays off.",
    }
}

/// The files of the tool: those that decide first.
fn files_in_order(build: &ToolBuild) -> impl Iterator<Item = &ToolSourceFile> {
    let is_decisive =
        |file: &&ToolSourceFile| ["tool.toml", "tool.js", "src/lib.rs"].contains(&&*file.path);
    let first = build.files.iter().rev().filter(is_decisive);
    first.chain(build.files.iter().filter(move |file| !is_decisive(file)))
}

fn headline(build: &ToolBuild, accepted: Option<&ToolBuild>) -> String {
    let (name, version) = (&build.name, version_of(build));
    match accepted {
        None => format!("Install the new tool {name}{version}."),
        Some(accepted) => {
            let before = version_of(accepted);
            format!("Replace the tool {name}{before} by a new version{version}.")
        }
    }
}

fn version_of(build: &ToolBuild) -> String {
    let version = build.manifest["version"].as_str();
    version.map(|version| format!(" {}", escape_line(version))).unwrap_or_default()
}

fn test_line(test: &ToolTestResult) -> String {
    let mark = if test.passed { "passed" } else { "FAILED" };
    format!("  {mark}: {}", escape_line(&test.name))
}

/// A unified diff of each changed file.
fn changes(old: &ToolBuild, new: &ToolBuild) -> String {
    let paths = old.files.iter().chain(&new.files).map(|file| file.path.as_str());
    let mut paths: Vec<&str> = paths.collect();
    paths.sort_unstable();
    paths.dedup();
    let find =
        |build: &ToolBuild, path: &str| build.files.iter().find(|file| file.path == path).cloned();
    let changed = paths.into_iter().filter_map(|path| {
        let (before, after) = (find(old, path), find(new, path));
        (before != after).then(|| file_change(path, before.as_ref(), after.as_ref()))
    });
    let changed: Vec<String> = changed.collect();
    if changed.is_empty() { "  none".to_owned() } else { indent(&changed.join("\n")) }
}

fn file_change(
    path: &str,
    before: Option<&ToolSourceFile>,
    after: Option<&ToolSourceFile>,
) -> String {
    let text = |file: Option<&ToolSourceFile>| {
        file.map_or_else(String::new, |file| file.text.clone().unwrap_or_else(|| size_text(file)))
    };
    let old_name = if before.is_some() { path } else { NO_FILE };
    let new_name = if after.is_some() { path } else { NO_FILE };
    unified_diff(&escape_line(new_name), &text(before), &text(after), &escape_line(old_name))
}

fn file_text(file: &ToolSourceFile) -> String {
    let text = file.text.clone().unwrap_or_else(|| size_text(file));
    format!("\n{}:\n{}", escape_line(&file.path), indent(&escape_invisible(&text)))
}

fn size_text(file: &ToolSourceFile) -> String {
    format!("(a compiled component of {} bytes; its source is not shown)\n", file.bytes)
}

/// Indents a text of the tool below the lines of Rouse.
fn indent(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().split('\n').map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
