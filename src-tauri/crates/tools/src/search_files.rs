//! `search_files`: finds files by a glob, and lines in them by a regular expression.
//!
//! Owns the walk, which is bounded in files and bytes, and the page of results, which says how to go on. Files are opened
//! through the workspace's handle, no link is followed, and hidden and ignored files are left out unless wanted. Pitfall:
//! a result in another order would make the next page skip some, so every folder is walked by name.

mod walk;
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

use crate::answer::{self, Faulty, Told};
use crate::reach::{Reach, Reached};
use crate::spec;
use crate::text::{plain_line, shortened};
use crate::workspace::WorkspaceError;
use walk::{Found, Walk};

/// The results of one page.
const PAGE: usize = 200;
/// The bytes of one page.
const PAGE_BYTES: usize = 32 << 10;
/// The characters of one line that are shown.
const LINE: usize = 300;
/// The memory of one compiled pattern.
const PATTERN_BYTES: usize = 1 << 20;

/// The tool.
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

#[derive(Debug, thiserror::Error)]
enum SearchError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("Say what to search for: pattern for lines, glob for file names, or both.")]
    Nothing,
    #[error(
        "The pattern is no regular expression: {0}. Write \\ before a character to take it as it is."
    )]
    Pattern(String),
    #[error("The glob cannot be read: {0}. Examples: *.md, src/**/*.rs, {{a,b}}.txt.")]
    Glob(String),
}

impl Faulty for SearchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::Nothing | Self::Pattern(_) | Self::Glob(_) => Fault::InvalidParameters,
        }
    }
}

impl SearchFiles {
    pub(crate) fn new(hidden: Arc<[PathBuf]>) -> Self {
        let description = format!(
            "Finds lines by regular expression (pattern), or files by name (glob), below a folder, {PAGE} at once. Hidden and .gitignore'd files are left out."
        );
        let parameters = spec::object(
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
        let harmless = spec::harmless(("search_files", "Search files"), &description, parameters);
        Self { spec: ToolSpec { untrusted_output: true, ..harmless }, hidden }
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
        let reach = Reach::of(context, &self.hidden);
        Box::pin(async move {
            answer::of(call.arguments(), move |arguments| search(&reach, &arguments)).await
        })
    }
}

fn search(reach: &Reach, arguments: &Arguments) -> Result<Told, SearchError> {
    let pattern = arguments.pattern.as_deref().map(|text| regex(text, arguments.ignore_case));
    let glob = arguments.glob.as_deref().map(|text| glob(text, arguments.ignore_case));
    let (pattern, glob) = (pattern.transpose()?, glob.transpose()?);
    if pattern.is_none() && glob.is_none() {
        return Err(SearchError::Nothing);
    }
    let wanted = arguments.path.as_deref().unwrap_or(".");
    let Reached { workspace, path, name, .. } = reach.open(wanted, FolderAccess::Read)?;
    let mut walk = Walk::new(&workspace, &path, &name);
    (walk.shows_hidden, walk.shows_ignored) = (arguments.show_hidden, arguments.show_ignored);
    let mut page = Page { skip: arguments.offset, ..Page::default() };
    while let Some(found) = walk.next_file()? {
        if glob.as_ref().is_some_and(|glob| !glob.is_match(&found.below)) {
            continue;
        }
        let is_full = match &pattern {
            Some(pattern) => search_file(&mut walk, &found, pattern, &mut page),
            None => !page.add(&found.name),
        };
        if is_full {
            break;
        }
    }
    Ok(page.told(arguments.offset, walk.notes()))
}

/// Searches one file; whether the page is full.
fn search_file(walk: &mut Walk<'_>, found: &Found, pattern: &Regex, page: &mut Page) -> bool {
    let Some(bytes) = walk.content(found) else { return false };
    // Most files hold nothing that fits, and are searched in one go.
    if !pattern.is_match(&bytes) {
        return false;
    }
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if !pattern.is_match(line.strip_suffix(b"\r").unwrap_or(line)) {
            continue;
        }
        let text = shortened(plain_line(&String::from_utf8_lossy(line)).trim(), LINE);
        if !page.add(&format!("{}:{}: {text}", found.name, at + 1)) {
            return true;
        }
    }
    false
}

fn regex(text: &str, ignore_case: bool) -> Result<Regex, SearchError> {
    RegexBuilder::new(text)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_BYTES)
        .build()
        .map_err(|error| SearchError::Pattern(last_line(&error.to_string())))
}

/// A glob without a slash fits the name of a file in any folder, as people expect.
fn glob(text: &str, ignore_case: bool) -> Result<GlobMatcher, SearchError> {
    let anywhere = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
    let mut builder = GlobBuilder::new(anywhere.trim_start_matches("./"));
    let glob = builder.literal_separator(true).case_insensitive(ignore_case).build();
    Ok(glob.map_err(|error| SearchError::Glob(error.kind().to_string()))?.compile_matcher())
}

/// The reason at the end of an error that draws the place first.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default();
    line.trim_start_matches("error: ").trim_end_matches('.').to_owned()
}

/// The results of one call.
#[derive(Default)]
struct Page {
    skip: usize,
    lines: Vec<String>,
    bytes: usize,
    has_more: bool,
}

impl Page {
    /// Adds a result; whether there was room for it.
    fn add(&mut self, line: &str) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return true;
        }
        if self.lines.len() == PAGE || self.bytes + line.len() > PAGE_BYTES {
            self.has_more = true;
            return false;
        }
        self.bytes += line.len() + 1;
        self.lines.push(line.to_owned());
        true
    }

    fn told(self, offset: usize, notes: Vec<String>) -> Told {
        let mut value = json!({ "found": self.lines.len() });
        if self.has_more {
            value["nextOffset"] = (offset + self.lines.len()).into();
        }
        if !notes.is_empty() {
            value["notes"] = notes.into();
        }
        let content = self.lines.join("\n");
        let words = if content.is_empty() { "(nothing found)".to_owned() } else { content.clone() };
        value["content"] = content.into();
        Told { value, words, ..Told::default() }
    }
}
