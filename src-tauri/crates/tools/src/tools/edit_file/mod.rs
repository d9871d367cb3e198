//! `edit_file`: replaces an exact text in a file.
//!
//! Owns the search for the place: the old text must occur once, unless all occurrences are requested. The approval
//! shows a diff and is bound to the file's content. Pitfall: a fuzzy match could change another place, so only an exact
//! match counts; line ends alone follow the file.

#[cfg(test)]
mod tests;

use rouse_core::approval::Surroundings;
use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::redaction::{REDACTED, added_redaction};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::output::{self, ToolFailure, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::text_diff::unified_diff;
use crate::workspace::{ResolvedPath, RunFolders, WorkspaceError, sha256_hex};

/// Largest file, before and after the edit.
const MAX_BYTES: usize = 1 << 20;
/// Line numbers in an error.
const MAX_LINES_NAMED: usize = 5;

pub(crate) struct EditFile {
    spec: ToolSpec,
    hidden: Arc<[PathBuf]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

/// Failure to edit a file, in words for the caller.
#[derive(Debug, thiserror::Error)]
enum EditError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(
        "{path} has more than {MAX_BYTES} bytes before or after this edit; larger files are not edited."
    )]
    TooLarge { path: String },
    #[error("{path} is not UTF-8 text, so it cannot be edited.")]
    NotText { path: String },
    #[error(
        "oldText does not occur in {path}. Read the file again and copy the text exactly, with its spaces and line breaks."
    )]
    NotFound { path: String },
    #[error(
        "oldText occurs {count} times in {path} (lines {lines}). Add surrounding lines until one place matches, or set replaceAll."
    )]
    Ambiguous { path: String, count: usize, lines: String },
    #[error("oldText and newText are the same, so there is nothing to change in {path}.")]
    Same { path: String },
    #[error(
        "The text contains {mark}, a redaction mark that is not in {path}. Edit other lines of the file instead."
    )]
    Redacted { path: String, mark: String },
    #[error(
        "{0} has changed since the approval and was not edited. Call the tool again for a new approval."
    )]
    Changed(String),
}

impl ToolFailure for EditError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::TooLarge { .. }
            | Self::NotFound { .. }
            | Self::Ambiguous { .. }
            | Self::Same { .. }
            | Self::Redacted { .. } => Fault::InvalidParameters,
            Self::NotText { .. } => Fault::Execution,
            Self::Changed(_) => Fault::NotAuthorised,
        }
    }
}

impl EditFile {
    pub(crate) fn new(hidden: Arc<[PathBuf]>) -> Self {
        let description = "Replaces oldText in a text file by newText. oldText must occur exactly once, unless replaceAll is set.";
        let parameters = object_schema(
            &["path", "oldText", "newText"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "oldText": { "type": "string", "minLength": 1, "maxLength": MAX_BYTES },
                "newText": { "type": "string", "maxLength": MAX_BYTES },
                "replaceAll": { "type": "boolean" },
            }),
        );
        let base = read_only_spec("edit_file", "Edit a file", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { idempotent: false, ..Annotations::OVERWRITES },
            approval: ApprovalRule::UnlessGranted,
            rate: RateLimit { per_minute: 30, per_hour: 300 },
            ..base
        };
        Self { spec, hidden }
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        let folders = RunFolders::new(context, &self.hidden);
        let compare = move |arguments| {
            let edit = PlannedEdit::new(&folders, &arguments)?;
            let name = &edit.file.name;
            Ok::<_, EditError>(unified_diff(name, &edit.old, &edit.new, name))
        };
        Box::pin(output::preview_or_arguments(arguments, compare))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let folders = RunFolders::new(context, &self.hidden);
        Box::pin(output::run_blocking_with(arguments, move |arguments| {
            PlannedEdit::new(&folders, &arguments).map(|edit| edit.surroundings())
        }))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let folders = RunFolders::new(context, &self.hidden);
        let approved = call.bound().cloned();
        Box::pin(async move {
            let edit = move |arguments: Arguments| {
                let changed = || EditError::Changed(arguments.path.clone());
                let edit = match (PlannedEdit::new(&folders, &arguments), &approved) {
                    // The text matched at the approval, so the file has changed.
                    (Err(EditError::NotFound { .. } | EditError::Ambiguous { .. }), Some(_)) => {
                        return Err(changed());
                    }
                    (edit, _) => edit?,
                };
                if approved.is_none_or(|approved| edit.surroundings() == approved) {
                    edit.write()
                } else {
                    Err(changed())
                }
            };
            output::run_tool(call.arguments(), edit).await
        })
    }
}

/// An edit that matches the file's current content.
struct PlannedEdit {
    file: ResolvedPath,
    old: String,
    new: String,
    count: usize,
}

impl PlannedEdit {
    fn new(folders: &RunFolders, arguments: &Arguments) -> Result<Self, EditError> {
        let file = folders.resolve(&arguments.path, FolderAccess::Write)?;
        // Reports an unwritable target first.
        file.workspace.replaced_file_hash(&file.path)?;
        let path = file.name.clone();
        let old = read_text(&file)?;
        let (from, to) = match_line_ends(&old, &arguments.old_text, &arguments.new_text);
        if from == to {
            return Err(EditError::Same { path });
        }
        let count = old.matches(&from).count();
        match count {
            0 => return Err(not_found(path, &from)),
            2.. if !arguments.replace_all => {
                let lines = matching_lines(&old, &from);
                return Err(EditError::Ambiguous { path, count, lines });
            }
            _ => {}
        }
        let new = old.replace(&from, &to);
        if let Some(mark) = added_redaction(&new, &old).map(str::to_owned) {
            return Err(EditError::Redacted { path, mark });
        }
        if new.len() > MAX_BYTES {
            return Err(EditError::TooLarge { path });
        }
        Ok(Self { file, old, new, count })
    }

    fn surroundings(&self) -> Surroundings {
        let hash = sha256_hex(self.old.as_bytes()).expect("BUG: reading from memory does not fail");
        let replaces = [(self.file.path.to_string(), hash)].into();
        Surroundings { replaces, ..Surroundings::in_folder(&self.file.folder) }
    }

    fn write(self) -> Result<ToolResult, EditError> {
        let ResolvedPath { workspace, path, name, .. } = &self.file;
        workspace.replace_file(path, self.new.as_bytes())?;
        let places = if self.count == 1 { "1 place" } else { &format!("{} places", self.count) };
        Ok(ToolResult {
            value: json!({ "path": name, "replaced": self.count, "bytes": self.new.len() }),
            summary: format!("Edited {name} in {places}."),
            ..ToolResult::default()
        })
    }
}

fn read_text(file: &ResolvedPath) -> Result<String, EditError> {
    let path = || file.name.clone();
    let (opened, size) = file.workspace.open_file(&file.path)?;
    if size > MAX_BYTES as u64 {
        return Err(EditError::TooLarge { path: path() });
    }
    let mut bytes = Vec::new();
    let read = opened.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|source| WorkspaceError::Read { path: path(), source })?;
    String::from_utf8(bytes).map_err(|_| EditError::NotText { path: path() })
}

/// Converts both texts to CRLF if the file uses CRLF and the old text has no carriage return.
fn match_line_ends(file: &str, from: &str, to: &str) -> (String, String) {
    if !file.contains("\r\n") || from.contains('\r') {
        return (from.to_owned(), to.to_owned());
    }
    let to_crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    (to_crlf(from), to_crlf(to))
}

fn not_found(path: String, from: &str) -> EditError {
    if !from.contains(REDACTED) {
        return EditError::NotFound { path };
    }
    let mark = added_redaction(from, "").unwrap_or(REDACTED).to_owned();
    EditError::Redacted { path, mark }
}

/// Line numbers of the first matches.
fn matching_lines(text: &str, from: &str) -> String {
    let found = text.match_indices(from).map(|(at, _)| text[..at].matches('\n').count() + 1);
    let mut lines: Vec<String> =
        found.take(MAX_LINES_NAMED + 1).map(|line| line.to_string()).collect();
    if lines.len() > MAX_LINES_NAMED {
        lines[MAX_LINES_NAMED] = "…".to_owned();
    }
    lines.join(", ")
}
