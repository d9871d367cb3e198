//! `write_file`: replaces a text file of the workspace or of a folder granted for writing.
//!
//! Owns the approval, which shows a diff with invisible characters escaped, and is bound to the replaced content, so
//! that a file changed since needs a new approval. Never appends or edits, because the result would depend on the time
//! of the call.

#[cfg(test)]
mod tests;

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::approval::Surroundings;
use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::redaction::{REDACTED, added_redaction};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::output::{self, ToolFailure, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::text_diff::{NO_FILE, unified_diff};
use crate::workspace::{RelativePath, ResolvedPath, RunFolders, Workspace, WorkspaceError};

const MAX_BYTES: usize = 1 << 20;
/// Largest file in a diff.
const MAX_DIFF_BYTES: u64 = 4 << 20;

pub(crate) struct WriteFile {
    spec: ToolSpec,
    hidden: Arc<[PathBuf]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

/// Failure to write a file, in words for the caller.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("The content has {0} bytes; the limit is {MAX_BYTES}.")]
    TooLarge(usize),
    #[error(
        "The content contains {mark}, a redaction mark that is not in {path}. Writing it would overwrite the secret. Leave this file unchanged, or change its other lines with edit_file; in a request, use {{{{secret:NAME}}}}."
    )]
    Redacted { path: String, mark: String },
    #[error(
        "{0} has changed since the approval and was not written. Call the tool again for a new approval."
    )]
    Changed(String),
}

impl ToolFailure for WriteError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::TooLarge(_) | Self::Redacted { .. } => Fault::InvalidParameters,
            Self::Changed(_) => Fault::NotAuthorised,
        }
    }
}

impl WriteFile {
    pub(crate) fn new(hidden: Arc<[PathBuf]>) -> Self {
        let description = "Writes a text file of at most 1 MB. Replaces an existing file and creates missing folders.";
        let parameters = object_schema(
            &["path", "content"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "content": { "type": "string", "maxLength": MAX_BYTES },
            }),
        );
        let base = read_only_spec("write_file", "Write a file", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations::OVERWRITES,
            approval: ApprovalRule::UnlessGranted,
            rate: RateLimit { per_minute: 20, per_hour: 200 },
            ..base
        };
        Self { spec, hidden }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        let folders = RunFolders::new(context, &self.hidden);
        Box::pin(output::preview_or_arguments(arguments, move |arguments| {
            preview(&folders, &arguments)
        }))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let folders = RunFolders::new(context, &self.hidden);
        Box::pin(output::run_blocking_with(arguments, move |arguments| {
            surroundings(&folders, &arguments)
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
            let write = move |arguments| {
                let is_current =
                    |approved| surroundings(&folders, &arguments).is_ok_and(|now| now == approved);
                if approved.is_none_or(is_current) {
                    write(&folders, &arguments)
                } else {
                    Err(WriteError::Changed(arguments.path))
                }
            };
            output::run_tool(call.arguments(), write).await
        })
    }
}

fn write(folders: &RunFolders, arguments: &Arguments) -> Result<ToolResult, WriteError> {
    let bytes = arguments.content.len();
    if bytes > MAX_BYTES {
        return Err(WriteError::TooLarge(bytes));
    }
    let ResolvedPath { workspace, path, name, .. } =
        folders.resolve(&arguments.path, FolderAccess::Write)?;
    arguments.check_redaction_marks(&workspace, &path)?;
    let created = workspace.replace_file(&path, arguments.content.as_bytes())?;
    let action = if created { "Created" } else { "Replaced" };
    Ok(ToolResult {
        value: json!({ "path": name, "bytes": bytes, "created": created }),
        summary: format!("{action} {name} ({bytes} bytes)."),
        ..ToolResult::default()
    })
}

fn surroundings(folders: &RunFolders, arguments: &Arguments) -> Result<Surroundings, WriteError> {
    let ResolvedPath { folder, workspace, path, .. } =
        folders.resolve(&arguments.path, FolderAccess::Write)?;
    let hash = workspace.replaced_file_hash(&path)?;
    arguments.check_redaction_marks(&workspace, &path)?;
    let replaces = [(path.to_string(), hash)].into();
    Ok(Surroundings { replaces, ..Surroundings::in_folder(&folder) })
}

impl Arguments {
    /// Refuses a redaction mark that would overwrite the redacted secret.
    fn check_redaction_marks(
        &self,
        workspace: &Workspace,
        path: &RelativePath,
    ) -> Result<(), WriteError> {
        if !self.content.contains(REDACTED) {
            return Ok(());
        }
        let old = match ReplacedContent::read(workspace, path)? {
            ReplacedContent::Text(old) => old,
            ReplacedContent::NotCompared(_) => String::new(),
            ReplacedContent::Missing => return Ok(()),
        };
        match added_redaction(&self.content, &old) {
            None => Ok(()),
            Some(mark) => {
                Err(WriteError::Redacted { path: path.to_string(), mark: mark.to_owned() })
            }
        }
    }
}

fn preview(folders: &RunFolders, arguments: &Arguments) -> Result<String, WriteError> {
    let ResolvedPath { workspace, path, name, .. } =
        folders.resolve(&arguments.path, FolderAccess::Write)?;
    let new = &arguments.content;
    Ok(match ReplacedContent::read(&workspace, &path)? {
        ReplacedContent::Missing => unified_diff(&name, "", new, NO_FILE),
        ReplacedContent::Text(old) if old == *new => format!("{name} already has this content."),
        ReplacedContent::Text(old) => unified_diff(&name, &old, new, &name),
        ReplacedContent::NotCompared(size) => {
            unified_diff(&name, "", new, &format!("{name} ({size} bytes, not compared)"))
        }
    })
}

/// The current content of the target.
enum ReplacedContent {
    Missing,
    Text(String),
    /// Too large or not UTF-8; with the size.
    NotCompared(u64),
}

impl ReplacedContent {
    fn read(workspace: &Workspace, path: &RelativePath) -> Result<Self, WorkspaceError> {
        let (file, size) = match workspace.open_file(path) {
            Err(WorkspaceError::Missing { .. }) => return Ok(Self::Missing),
            opened => opened?,
        };
        let mut text = String::new();
        match file.take(MAX_DIFF_BYTES).read_to_string(&mut text) {
            Ok(_) if size <= MAX_DIFF_BYTES => Ok(Self::Text(text)),
            Ok(_) => Ok(Self::NotCompared(size)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Self::NotCompared(size)),
            Err(source) => Err(WorkspaceError::Read { path: path.to_string(), source }),
        }
    }
}
