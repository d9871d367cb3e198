//! `create_workspace`: a new project folder in the workspace, with a README on request.
//!
//! It makes and never replaces: a README that is there stays, and a folder that is there is an error unless the caller
//! says that it may be. Nobody is asked about a call that could only fail. How it is made is `workspace::write`'s matter.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec,
};
use rouse_core::visible::{visible, visible_path};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{self, Faulty, Told};
use crate::spec;
use crate::text::plain_line;
use crate::workspace::{EntryKind, RelativePath, Workspace, WorkspaceError};

const README: &str = "README.md";

/// The tool.
pub(crate) struct CreateWorkspace {
    spec: ToolSpec,
    /// Whether the workspace is the wider one.
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

#[derive(Debug, thiserror::Error)]
enum CreateError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("Give either a name or a path.")]
    NoName,
    #[error("{0:?} is a path. Give it as path, or a name without slashes.")]
    NotAName(String),
    #[error("The workspace itself is there already. Give the name of a folder in it.")]
    Itself,
}

impl Faulty for CreateError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::NoName | Self::NotAName(_) | Self::Itself => Fault::InvalidParameters,
        }
    }
}

impl CreateWorkspace {
    pub(crate) fn new(is_risky: bool) -> Self {
        let description = "Makes a folder for a project in the workspace.";
        let parameters = spec::object(
            &[],
            json!({
                "name": { "type": "string", "minLength": 1, "maxLength": 255 },
                "path": { "type": "string", "description": "Instead of name.", "minLength": 1, "maxLength": 4_096 },
                "allowExisting": { "type": "boolean" },
                "createReadme": { "type": "boolean" },
                "readmeTitle": { "type": "string", "maxLength": 200 },
            }),
        );
        let harmless =
            spec::harmless(("create_workspace", "Make a workspace"), description, parameters);
        // Again it makes nothing more, but says so in an error; what is there is never changed.
        let annotations = Annotations { destructive: false, ..Annotations::OVERWRITES };
        let spec = ToolSpec {
            annotations,
            approval: ApprovalRule::UnlessGranted,
            listed_only: true,
            ..harmless
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
        Box::pin(answer::compared(arguments, move |arguments| planned(&arguments, &root)))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let workspace = context.workspace.clone();
        Box::pin(answer::aside(arguments, move |arguments| bound(&workspace, &arguments)))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let (workspace, is_risky) = (context.workspace.clone(), self.is_risky);
        Box::pin(async move {
            answer::of(call.arguments(), move |arguments| create(&workspace, &arguments, is_risky))
                .await
        })
    }
}

fn create(root: &Path, arguments: &Arguments, is_risky: bool) -> Result<Told, CreateError> {
    let workspace = Workspace::open(root)?;
    let path = arguments.place(&workspace)?;
    let name = path.split().map(|(_, name)| name.to_string_lossy()).unwrap_or_default();
    let created = workspace.make_folder(&path)?;
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
        value["readmeCreated"] = readme(&workspace, &path, &title)?.into();
    }
    let how = if created { "New folder" } else { "Was there already" };
    Ok(Told { value, words: format!("{how}: {path}."), ..Told::default() })
}

/// What a yes is bound to, of a call that can be carried out as things stand.
fn bound(root: &Path, arguments: &Arguments) -> Result<Surroundings, CreateError> {
    let workspace = Workspace::open(root)?;
    let path = arguments.place(&workspace)?;
    match workspace.standing(&path)?.map(|standing| standing.kind) {
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
        let is_there = workspace.standing(&readme)?.is_some();
        let stands = if is_there { "stays" } else { "is made" };
        replaces.insert(readme.to_string(), stands.to_owned());
    }
    Ok(Surroundings { replaces, ..Surroundings::in_folder(root) })
}

/// Whether there was none.
fn readme(
    workspace: &Workspace,
    folder: &RelativePath,
    title: &str,
) -> Result<bool, WorkspaceError> {
    let path = folder.child(README.as_ref());
    let is_missing = workspace.standing(&path)?.is_none();
    if is_missing {
        workspace.replace(&path, format!("# {title}\n").as_bytes())?;
    }
    Ok(is_missing)
}

/// What would happen as things stand: a folder or a README that is there already stays as it is.
fn planned(arguments: &Arguments, root: &Path) -> Result<String, CreateError> {
    let wanted = arguments.wanted()?;
    let (there, has_readme) = match arguments.allow_existing {
        true => found(arguments, root)?,
        false => (false, false),
    };
    let how = if there { "The folder is there already:" } else { "New folder" };
    let mut shown =
        format!("{how} {}\nin {}\n", visible_path(wanted), visible(&root.display().to_string()));
    if arguments.create_readme {
        let name = wanted.rsplit('/').next().unwrap_or(wanted);
        shown.push_str(&match has_readme {
            true => format!("Its {README} stays as it is.\n"),
            false => visible(&format!("with {README}:\n\n# {}\n", arguments.title(name))),
        });
    }
    Ok(shown)
}

/// Whether the folder is there, and whether it has a README.
fn found(arguments: &Arguments, root: &Path) -> Result<(bool, bool), CreateError> {
    let workspace = Workspace::open(root)?;
    let path = arguments.place(&workspace)?;
    let is_there = workspace.standing(&path)?.is_some();
    let readme = path.child(README.as_ref());
    Ok((is_there, is_there && workspace.standing(&readme)?.is_some()))
}

impl Arguments {
    /// Where in the workspace the folder is to be.
    fn place(&self, workspace: &Workspace) -> Result<RelativePath, CreateError> {
        let path = workspace.relative(self.wanted()?)?;
        if path.split().is_none() {
            return Err(CreateError::Itself);
        }
        Ok(path)
    }

    fn wanted(&self) -> Result<&str, CreateError> {
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
