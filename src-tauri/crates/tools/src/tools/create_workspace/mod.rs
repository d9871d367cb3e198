//! `create_workspace`: creates a project folder in the workspace, with a README on request.
//!
//! Never replaces: an existing README stays, and an existing folder is an error unless allowed. Refuses a call that can
//! only fail before the approval.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::text::{escape_invisible, escape_path};
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::output::{self, ToolFailure, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::text::plain_line;
use crate::workspace::{EntryKind, RelativePath, Workspace, WorkspaceError};

const README: &str = "README.md";

pub(crate) struct CreateWorkspace {
    spec: ToolSpec,
    /// `RISKY_WORKSPACE_MODE`.
    is_risky: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    name: Option<String>,
    path: Option<String>,
    #[serde(default)]
    allow_existing: bool,
    #[serde(default)]
    create_readme: bool,
    readme_title: Option<String>,
}

/// Failure to create a folder, in words for the caller.
#[derive(Debug, thiserror::Error)]
enum CreateError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("Give a name or a path, not both.")]
    NoName,
    #[error("{0:?} is a path. Give it as path, or a name without slashes.")]
    NotAName(String),
    #[error("The workspace itself already exists. Give the name of a folder in it.")]
    WorkspaceItself,
}

impl ToolFailure for CreateError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::NoName | Self::NotAName(_) | Self::WorkspaceItself => Fault::InvalidParameters,
        }
    }
}

impl CreateWorkspace {
    pub(crate) fn new(is_risky: bool) -> Self {
        let description = "Creates a project folder in the workspace.";
        let parameters = object_schema(
            &[],
            json!({
                "name": { "type": "string", "minLength": 1, "maxLength": 255 },
                "path": { "type": "string", "description": "Instead of name.", "minLength": 1, "maxLength": 4_096 },
                "allowExisting": { "type": "boolean" },
                "createReadme": { "type": "boolean" },
                "readmeTitle": { "type": "string", "maxLength": 200 },
            }),
        );
        let base =
            read_only_spec("create_workspace", "Create a workspace", description, parameters);
        // A repeated call changes nothing, but may fail.
        let annotations = Annotations { destructive: false, ..Annotations::OVERWRITES };
        let spec = ToolSpec {
            annotations,
            approval: ApprovalRule::UnlessGranted,
            listed_only: true,
            ..base
        };
        Self { spec, is_risky }
    }
}

impl Tool for CreateWorkspace {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        let root = context.workspace.clone();
        Box::pin(output::preview_or_arguments(arguments, move |arguments| {
            preview(&arguments, &root)
        }))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let workspace = context.workspace.clone();
        Box::pin(output::run_blocking_with(arguments, move |arguments| {
            surroundings(&workspace, &arguments)
        }))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let (workspace, is_risky) = (context.workspace.clone(), self.is_risky);
        Box::pin(async move {
            let create = move |arguments| create(&workspace, &arguments, is_risky);
            output::run_tool(call.arguments(), create).await
        })
    }
}

fn create(root: &Path, arguments: &Arguments, is_risky: bool) -> Result<ToolResult, CreateError> {
    let workspace = Workspace::open(root)?;
    let path = arguments.folder_path(&workspace)?;
    let name = path.split().map(|(_, name)| name.to_string_lossy()).unwrap_or_default();
    let created = workspace.create_folder(&path)?;
    if !created && !arguments.allow_existing {
        return Err(WorkspaceError::Exists { path: path.to_string() }.into());
    }
    let mut value = json!({
        "created": created,
        "path": path.to_string(),
        "workspaceRoot": root.display().to_string(),
        "riskyMode": is_risky,
    });
    if arguments.create_readme {
        let title = arguments.title(&name);
        value["readmeCreated"] = create_readme(&workspace, &path, &title)?.into();
    }
    let action = if created { "Created" } else { "Already exists:" };
    Ok(ToolResult { value, summary: format!("{action} {path}."), ..ToolResult::default() })
}

/// Refuses a call that would fail now.
fn surroundings(root: &Path, arguments: &Arguments) -> Result<Surroundings, CreateError> {
    let workspace = Workspace::open(root)?;
    let path = arguments.folder_path(&workspace)?;
    match workspace.target_state(&path)?.map(|state| state.kind) {
        None => {}
        Some(EntryKind::Folder) if arguments.allow_existing => {}
        Some(EntryKind::Folder) => {
            return Err(WorkspaceError::Exists { path: path.to_string() }.into());
        }
        Some(_) => return Err(WorkspaceError::NotAFolder { path: path.to_string() }.into()),
    }
    let readme = path.child(README.as_ref());
    let mut replaces = BTreeMap::new();
    if arguments.create_readme {
        let exists = workspace.target_state(&readme)?.is_some();
        let state = if exists { "stays" } else { "is made" };
        replaces.insert(readme.to_string(), state.to_owned());
    }
    Ok(Surroundings { replaces, ..Surroundings::in_folder(root) })
}

/// Returns whether the README is new.
fn create_readme(
    workspace: &Workspace,
    folder: &RelativePath,
    title: &str,
) -> Result<bool, WorkspaceError> {
    let path = folder.child(README.as_ref());
    let is_missing = workspace.target_state(&path)?.is_none();
    if is_missing {
        workspace.replace_file(&path, format!("# {title}\n").as_bytes())?;
    }
    Ok(is_missing)
}

fn preview(arguments: &Arguments, root: &Path) -> Result<String, CreateError> {
    let wanted = arguments.name_or_path()?;
    let (folder_exists, readme_exists) =
        if arguments.allow_existing { find_existing(arguments, root)? } else { (false, false) };
    let action = if folder_exists { "Existing folder" } else { "New folder" };
    let mut text = format!(
        "{action} {}\nin {}\n",
        escape_path(wanted),
        escape_invisible(&root.display().to_string())
    );
    if arguments.create_readme && readme_exists {
        text.push_str(&format!("Its {README} stays unchanged.\n"));
    } else if arguments.create_readme {
        let title = arguments.title(wanted.rsplit('/').next().unwrap_or(wanted));
        text.push_str(&escape_invisible(&format!("with {README}:\n\n# {title}\n")));
    }
    Ok(text)
}

/// Returns whether the folder and a README exist.
fn find_existing(arguments: &Arguments, root: &Path) -> Result<(bool, bool), CreateError> {
    let workspace = Workspace::open(root)?;
    let path = arguments.folder_path(&workspace)?;
    let exists = workspace.target_state(&path)?.is_some();
    let readme = path.child(README.as_ref());
    Ok((exists, exists && workspace.target_state(&readme)?.is_some()))
}

impl Arguments {
    fn folder_path(&self, workspace: &Workspace) -> Result<RelativePath, CreateError> {
        let path = workspace.parse_path(self.name_or_path()?)?;
        if path.split().is_none() {
            return Err(CreateError::WorkspaceItself);
        }
        Ok(path)
    }

    fn name_or_path(&self) -> Result<&str, CreateError> {
        match (self.name.as_deref(), self.path.as_deref()) {
            (Some(name), None) if name.contains(['/', '\\']) || name == "~" => {
                Err(CreateError::NotAName(name.to_owned()))
            }
            (Some(wanted), None) | (None, Some(wanted)) => Ok(wanted),
            _ => Err(CreateError::NoName),
        }
    }

    fn title(&self, name: &str) -> String {
        let title = self.readme_title.as_deref().map(plain_line).unwrap_or_default();
        if title.is_empty() { plain_line(name) } else { title }
    }
}
