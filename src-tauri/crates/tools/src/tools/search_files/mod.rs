//! `search_files`: finds files by glob, and lines by regular expression.
//!
//! Owns the page of results and the continuation offset; `file_tree` bounds the files and bytes. Files are opened through
//! the workspace's handle; links are not followed; hidden and ignored files are omitted unless requested. Pitfall: the
//! next page relies on a stable order, so every folder is walked by name.

mod file_tree;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use crate::output::{self, ToolFailure, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::text::{plain_line, truncate};
use crate::workspace::{ResolvedPath, RunFolders, WorkspaceError};
use file_tree::{FileWalk, FoundFile};

/// Results of a page.
const PAGE_RESULTS: usize = 200;
const PAGE_BYTES: usize = 32 << 10;
/// Characters of a shown line.
const MAX_LINE_CHARS: usize = 300;
/// Memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

pub(crate) struct SearchFiles {
    spec: ToolSpec,
    hidden: Arc<[PathBuf]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    pattern: Option<String>,
    glob: Option<String>,
    path: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    show_hidden: bool,
    #[serde(default)]
    show_ignored: bool,
    #[serde(default)]
    offset: usize,
}

/// Invalid search, in words for the caller.
#[derive(Debug, thiserror::Error)]
enum FileSearchError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("Give a pattern for lines, a glob for file names, or both.")]
    Empty,
    #[error(
        "The pattern is not a valid regular expression: {0}. Write \\ before a character to match it literally."
    )]
    Pattern(String),
    #[error("The glob is not valid: {0}. Examples: *.md, src/**/*.rs, {{a,b}}.txt.")]
    Glob(String),
}

impl ToolFailure for FileSearchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::Empty | Self::Pattern(_) | Self::Glob(_) => Fault::InvalidParameters,
        }
    }
}

impl SearchFiles {
    pub(crate) fn new(hidden: Arc<[PathBuf]>) -> Self {
        let description = format!(
            "Finds lines by regular expression (pattern), or files by name (glob), below a folder, {PAGE_RESULTS} at once. Hidden and .gitignore'd files are left out."
        );
        let parameters = object_schema(
            &[],
            json!({
                "pattern": { "type": "string", "minLength": 1, "maxLength": 1_000 },
                "glob": { "type": "string", "description": "Such as *.md or src/**/*.rs.", "minLength": 1, "maxLength": 500 },
                "path": { "type": "string", "description": "Default: the workspace.", "maxLength": 4_096 },
                "ignoreCase": { "type": "boolean" },
                "showHidden": { "type": "boolean" },
                "showIgnored": { "type": "boolean" },
                "offset": { "type": "integer", "minimum": 0 },
            }),
        );
        let base = read_only_spec("search_files", "Search files", &description, parameters);
        Self { spec: ToolSpec { untrusted_output: true, ..base }, hidden }
    }
}

impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let folders = RunFolders::new(context, &self.hidden);
        Box::pin(async move {
            output::run_tool(call.arguments(), move |arguments| search(&folders, &arguments)).await
        })
    }
}

fn search(folders: &RunFolders, arguments: &Arguments) -> Result<ToolResult, FileSearchError> {
    let ignore_case = arguments.ignore_case;
    let pattern = arguments.pattern.as_deref().map(|text| compile_regex(text, ignore_case));
    let glob = arguments.glob.as_deref().map(|text| compile_glob(text, ignore_case));
    let (pattern, glob) = (pattern.transpose()?, glob.transpose()?);
    if pattern.is_none() && glob.is_none() {
        return Err(FileSearchError::Empty);
    }
    let wanted = arguments.path.as_deref().unwrap_or(".");
    let ResolvedPath { workspace, path, name, .. } = folders.resolve(wanted, FolderAccess::Read)?;
    let mut walk = FileWalk::new(&workspace, &path, &name);
    (walk.shows_hidden, walk.shows_ignored) = (arguments.show_hidden, arguments.show_ignored);
    let mut page = ResultPage { skip: arguments.offset, ..ResultPage::default() };
    while let Some(file) = walk.next_file()? {
        if glob.as_ref().is_some_and(|glob| !glob.is_match(&file.relative_path)) {
            continue;
        }
        let has_room = match &pattern {
            Some(pattern) => search_lines(&mut walk, &file, pattern, &mut page),
            None => page.add(&file.name),
        };
        if !has_room {
            break;
        }
    }
    Ok(page.into_result(arguments.offset, walk.into_notes()))
}

/// Adds the matching lines of a file; returns whether the page has room for more.
fn search_lines(
    walk: &mut FileWalk<'_>,
    file: &FoundFile,
    pattern: &Regex,
    page: &mut ResultPage,
) -> bool {
    let Some(bytes) = walk.read_text(file) else { return true };
    // Most files have no match and need a single search only.
    if !pattern.is_match(&bytes) {
        return true;
    }
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if !pattern.is_match(line.strip_suffix(b"\r").unwrap_or(line)) {
            continue;
        }
        let text = truncate(plain_line(&String::from_utf8_lossy(line)).trim(), MAX_LINE_CHARS);
        if !page.add(&format!("{}:{}: {text}", file.name, index + 1)) {
            return false;
        }
    }
    true
}

fn compile_regex(text: &str, ignore_case: bool) -> Result<Regex, FileSearchError> {
    RegexBuilder::new(text)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| FileSearchError::Pattern(error_reason(&error.to_string())))
}

/// Compiles a glob. Without a slash, the glob matches file names in any folder.
fn compile_glob(text: &str, ignore_case: bool) -> Result<GlobMatcher, FileSearchError> {
    let anywhere = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
    let mut builder = GlobBuilder::new(anywhere.trim_start_matches("./"));
    let glob = builder.literal_separator(true).case_insensitive(ignore_case).build();
    Ok(glob.map_err(|error| FileSearchError::Glob(error.kind().to_string()))?.compile_matcher())
}

/// The last line of a regex error: the reason without the drawing.
fn error_reason(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default();
    line.trim_start_matches("error: ").trim_end_matches('.').to_owned()
}

/// A page of results.
#[derive(Default)]
struct ResultPage {
    skip: usize,
    lines: Vec<String>,
    bytes: usize,
    has_more: bool,
}

impl ResultPage {
    /// Adds a result; returns whether there was room.
    fn add(&mut self, line: &str) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return true;
        }
        if self.lines.len() == PAGE_RESULTS || self.bytes + line.len() > PAGE_BYTES {
            self.has_more = true;
            return false;
        }
        self.bytes += line.len() + 1;
        self.lines.push(line.to_owned());
        true
    }

    fn into_result(self, offset: usize, notes: Vec<String>) -> ToolResult {
        let mut value = json!({ "found": self.lines.len() });
        if self.has_more {
            value["nextOffset"] = (offset + self.lines.len()).into();
        }
        if !notes.is_empty() {
            value["notes"] = notes.into();
        }
        let content = self.lines.join("\n");
        let summary = if content.is_empty() { "(no results)" } else { content.as_str() }.to_owned();
        value["content"] = content.into();
        ToolResult { value, summary, ..ToolResult::default() }
    }
}
