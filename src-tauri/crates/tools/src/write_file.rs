//! `write_file`: one text file of the workspace or of a folder granted for writing, replaced whole.
//!
//! How it is written is `workspace::write`'s matter; here is what a person is asked about it. The question shows what
//! would change, line by line, with everything in it to be seen, and the answer is bound to the content that is replaced:
//! when the file has changed since, it is asked again. It refuses to append or to change a part: what a file then holds
//! would depend on when the call is made.

#[cfg(test)]
mod tests;

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::approval::Surroundings;
use rouse_core::hidden::{REDACTED, redaction_beyond};
use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use rouse_core::visible::visible;
use serde::Deserialize;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::answer::{self, Faulty, Told};
use crate::reach::{Reach, Reached};
use crate::spec;
use crate::workspace::{RelativePath, Workspace, WorkspaceError};

/// The largest file that it writes.
const MOST_BYTES: usize = 1 << 20;
/// What a comparison names where there is no file yet.
pub(crate) const NOTHING: &str = "/dev/null";
/// The largest file that is compared line by line.
const MOST_COMPARED: u64 = 4 << 20;
/// After so long a comparison gets coarser; it stays a true one.
const COMPARED_FOR: Duration = Duration::from_secs(2);

/// The tool.
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

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("The content has {0} bytes; at most {MOST_BYTES} are written at once.")]
    TooLarge(usize),
    #[error(
        "The content holds {mark}, which is what you were told in the place of something secret, and not what stands in {path}. Writing it would lose that. Leave this file as it is, or change only its other lines (edit_file); in a request, {{{{secret:NAME}}}} stands for a stored value."
    )]
    Redacted { path: String, mark: String },
    #[error(
        "{0} has changed since this was allowed, so it was not written. Call it again to have it judged anew."
    )]
    Changed(String),
}

impl Faulty for WriteError {
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
        let description = "Writes a text file of at most 1 MB. Replaces it, and makes its folders.";
        let parameters = spec::object(
            &["path", "content"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "content": { "type": "string", "maxLength": MOST_BYTES },
            }),
        );
        let harmless = spec::harmless(("write_file", "Write a file"), description, parameters);
        let spec = ToolSpec {
            annotations: Annotations::OVERWRITES,
            approval: ApprovalRule::UnlessGranted,
            rate: RateLimit { per_minute: 20, per_hour: 200 },
            ..harmless
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
        let reach = Reach::of(context, &self.hidden);
        Box::pin(answer::compared(arguments, move |it| compared(&reach, &it)))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let reach = Reach::of(context, &self.hidden);
        Box::pin(answer::aside(arguments, move |arguments| bound(&reach, &arguments)))
    }

    fn writes_here(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let reach = Reach::of(context, &self.hidden);
        let to = call.bound().cloned();
        Box::pin(async move {
            let write = move |arguments| {
                // What is replaced is what the person has seen.
                match to.is_none_or(|to| bound(&reach, &arguments).is_ok_and(|now| now == to)) {
                    true => write(&reach, &arguments),
                    false => Err(WriteError::Changed(arguments.path)),
                }
            };
            answer::of(call.arguments(), write).await
        })
    }
}

fn write(reach: &Reach, arguments: &Arguments) -> Result<Told, WriteError> {
    let bytes = arguments.content.len();
    if bytes > MOST_BYTES {
        return Err(WriteError::TooLarge(bytes));
    }
    let Reached { workspace, path, name, .. } = reach.open(&arguments.path, FolderAccess::Write)?;
    arguments.check_marks(&workspace, &path)?;
    let created = workspace.replace(&path, arguments.content.as_bytes())?;
    let how = if created { "New file" } else { "Replaced" };
    Ok(Told {
        value: json!({ "path": name, "bytes": bytes, "created": created }),
        words: format!("{how}: {name} ({bytes} bytes)."),
        ..Told::default()
    })
}

fn bound(reach: &Reach, arguments: &Arguments) -> Result<Surroundings, WriteError> {
    let Reached { folder, workspace, path, .. } =
        reach.open(&arguments.path, FolderAccess::Write)?;
    let digest = workspace.replaced_digest(&path)?;
    arguments.check_marks(&workspace, &path)?;
    let replaces = [(path.to_string(), digest)].into();
    Ok(Surroundings { replaces, ..Surroundings::in_folder(&folder) })
}

impl Arguments {
    /// A model that was told of a secret by a mark must not write the mark over the secret.
    fn check_marks(&self, workspace: &Workspace, path: &RelativePath) -> Result<(), WriteError> {
        if !self.content.contains(REDACTED) {
            return Ok(());
        }
        let old = match old(workspace, path)? {
            Old::Text(old) => old,
            Old::Other(_) => String::new(),
            // A new file loses nothing.
            Old::Nothing => return Ok(()),
        };
        match redaction_beyond(&self.content, &old) {
            None => Ok(()),
            Some(mark) => {
                Err(WriteError::Redacted { path: path.to_string(), mark: mark.to_owned() })
            }
        }
    }
}

/// What the file holds now.
enum Old {
    Nothing,
    Text(String),
    /// Too long, or no text: its size.
    Other(u64),
}

fn compared(reach: &Reach, arguments: &Arguments) -> Result<String, WriteError> {
    let Reached { workspace, path, name, .. } = reach.open(&arguments.path, FolderAccess::Write)?;
    let shown = match old(&workspace, &path)? {
        Old::Nothing => difference(&name, "", &arguments.content, NOTHING),
        Old::Text(old) if old == arguments.content => format!("{name} holds exactly this already."),
        Old::Text(old) => difference(&name, &old, &arguments.content, &name),
        Old::Other(size) => {
            let from = format!("{name} ({size} bytes that are not compared)");
            difference(&name, "", &arguments.content, &from)
        }
    };
    Ok(shown)
}

fn old(workspace: &Workspace, path: &RelativePath) -> Result<Old, WorkspaceError> {
    let (file, size) = match workspace.open_file(path) {
        Err(WorkspaceError::Missing { .. }) => return Ok(Old::Nothing),
        opened => opened?,
    };
    let mut text = String::new();
    match file.take(MOST_COMPARED).read_to_string(&mut text) {
        Ok(_) if size <= MOST_COMPARED => Ok(Old::Text(text)),
        Ok(_) => Ok(Old::Other(size)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Old::Other(size)),
        Err(source) => Err(WorkspaceError::Read { path: path.to_string(), source }),
    }
}

/// Compared is what is seen of the two. No two texts look the same, and only a line feed is left to end a line.
pub(crate) fn difference(path: &str, old: &str, new: &str, from: &str) -> String {
    let (old, new) = (visible(old), visible(new));
    let compared = TextDiff::configure().timeout(COMPARED_FOR).diff_lines(&old, &new);
    let shown = compared.unified_diff().header(from, path).to_string();
    // An empty new file has no lines to show.
    if shown.is_empty() { format!("--- {from}\n+++ {path}\n(empty)\n") } else { shown }
}
