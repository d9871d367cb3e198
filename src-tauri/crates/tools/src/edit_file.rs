//! `edit_file`: replaces a text that stands in a file by another one, exactly as it is written.
//!
//! Owns which place is meant: the old text has to stand there once, unless every place is wanted. The approval shows the
//! change line by line and is bound to the content of the file. Pitfall: a close match would change another place than
//! the one that the model has in mind, so only an exact one counts; of line ends alone the file's own are taken.

#[cfg(test)]
mod tests;

use rouse_core::approval::Surroundings;
use rouse_core::hidden::{REDACTED, redaction_beyond};
use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Fault, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::answer::{self, Faulty, Told};
use crate::reach::{Reach, Reached};
use crate::spec;
use crate::workspace::{WorkspaceError, digest};
use crate::write_file::difference;

/// The largest file that is edited, before and after.
const MOST_BYTES: usize = 1 << 20;
/// The line numbers that an error names.
const MOST_LINES_NAMED: usize = 5;

/// The tool.
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

#[derive(Debug, thiserror::Error)]
enum EditError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(
        "{path} has more than {MOST_BYTES} bytes before or after this edit; larger files are not edited."
    )]
    TooLarge { path: String },
    #[error("{path} is not UTF-8 text, so it cannot be edited.")]
    NotText { path: String },
    #[error(
        "oldText is not in {path}. Read the file again and copy the text exactly, with its spaces and line breaks."
    )]
    NotFound { path: String },
    #[error(
        "oldText is found {count} times in {path} (lines {lines}). Add lines around it until only one place fits, or set replaceAll."
    )]
    Many { path: String, count: usize, lines: String },
    #[error("oldText and newText are the same, so there is nothing to change in {path}.")]
    Same { path: String },
    #[error(
        "The text holds {mark}, which you were told in the place of a secret and which does not stand in {path}. Edit other lines of the file instead."
    )]
    Redacted { path: String, mark: String },
    #[error(
        "{0} has changed since this was allowed, so it was not edited. Call it again to have it judged anew."
    )]
    Changed(String),
}

impl Faulty for EditError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::TooLarge { .. }
            | Self::NotFound { .. }
            | Self::Many { .. }
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
        let parameters = spec::object(
            &["path", "oldText", "newText"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "oldText": { "type": "string", "minLength": 1, "maxLength": MOST_BYTES },
                "newText": { "type": "string", "maxLength": MOST_BYTES },
                "replaceAll": { "type": "boolean" },
            }),
        );
        let harmless = spec::harmless(("edit_file", "Edit a file"), description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { idempotent: false, ..Annotations::OVERWRITES },
            approval: ApprovalRule::UnlessGranted,
            rate: RateLimit { per_minute: 30, per_hour: 300 },
            ..harmless
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
        let reach = Reach::of(context, &self.hidden);
        let compare = move |arguments| {
            let edit = Edit::of(&reach, &arguments)?;
            let name = &edit.file.name;
            Ok::<_, EditError>(difference(name, &edit.old, &edit.new, name))
        };
        Box::pin(answer::compared(arguments, compare))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let reach = Reach::of(context, &self.hidden);
        let look = move |arguments| Edit::of(&reach, &arguments).map(|edit| edit.bound());
        Box::pin(answer::aside(arguments, look))
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
            let edit = move |arguments: Arguments| {
                let changed = || EditError::Changed(arguments.path.clone());
                let edit = match (Edit::of(&reach, &arguments), &to) {
                    // What was allowed fitted the file then, so what does not fit now has changed.
                    (Err(EditError::NotFound { .. } | EditError::Many { .. }), Some(_)) => {
                        return Err(changed());
                    }
                    (edit, _) => edit?,
                };
                match to.is_none_or(|to| edit.bound() == to) {
                    true => edit.write(),
                    false => Err(changed()),
                }
            };
            answer::of(call.arguments(), edit).await
        })
    }
}

/// An edit that fits its file as the file is now.
struct Edit {
    file: Reached,
    old: String,
    new: String,
    count: usize,
}

impl Edit {
    fn of(reach: &Reach, arguments: &Arguments) -> Result<Self, EditError> {
        let file = reach.open(&arguments.path, FolderAccess::Write)?;
        // Why it could not be written is said before why it cannot be edited.
        file.workspace.replaced_digest(&file.path)?;
        let path = file.name.clone();
        let old = text(&file)?;
        let (from, to) = with_line_ends_of(&old, &arguments.old_text, &arguments.new_text);
        if from == to {
            return Err(EditError::Same { path });
        }
        let count = old.matches(&from).count();
        match count {
            0 => return Err(not_found(path, &from)),
            2.. if !arguments.replace_all => {
                return Err(EditError::Many { path, count, lines: lines(&old, &from) });
            }
            _ => {}
        }
        let new = old.replace(&from, &to);
        if let Some(mark) = redaction_beyond(&new, &old).map(str::to_owned) {
            return Err(EditError::Redacted { path, mark });
        }
        if new.len() > MOST_BYTES {
            return Err(EditError::TooLarge { path });
        }
        Ok(Self { file, old, new, count })
    }

    /// What an approval is bound to: the folder, and the content that is edited.
    fn bound(&self) -> Surroundings {
        let digest = digest(self.old.as_bytes()).expect("BUG: reading from memory does not fail");
        let replaces = [(self.file.path.to_string(), digest)].into();
        Surroundings { replaces, ..Surroundings::in_folder(&self.file.folder) }
    }

    fn write(self) -> Result<Told, EditError> {
        let Reached { workspace, path, name, .. } = &self.file;
        workspace.replace(path, self.new.as_bytes())?;
        let places = if self.count == 1 { "1 place" } else { &format!("{} places", self.count) };
        Ok(Told {
            value: json!({ "path": name, "replaced": self.count, "bytes": self.new.len() }),
            words: format!("Edited {name} in {places}."),
            ..Told::default()
        })
    }
}

fn text(file: &Reached) -> Result<String, EditError> {
    let path = || file.name.clone();
    let (opened, size) = file.workspace.open_file(&file.path)?;
    if size > MOST_BYTES as u64 {
        return Err(EditError::TooLarge { path: path() });
    }
    let mut bytes = Vec::new();
    let read = opened.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|source| WorkspaceError::Read { path: path(), source })?;
    String::from_utf8(bytes).map_err(|_| EditError::NotText { path: path() })
}

/// Both texts with the line ends of a file that ends its lines as Windows does.
fn with_line_ends_of(file: &str, from: &str, to: &str) -> (String, String) {
    let is_windows = file.contains("\r\n") && !from.contains('\r');
    let ends = |text: &str| match is_windows {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text.to_owned(),
    };
    (ends(from), ends(to))
}

fn not_found(path: String, from: &str) -> EditError {
    if !from.contains(REDACTED) {
        return EditError::NotFound { path };
    }
    let mark = redaction_beyond(from, "").unwrap_or(REDACTED).to_owned();
    EditError::Redacted { path, mark }
}

/// The numbers of the first lines in which `from` begins.
fn lines(text: &str, from: &str) -> String {
    let found = text.match_indices(from).map(|(at, _)| text[..at].matches('\n').count() + 1);
    let mut lines: Vec<String> =
        found.take(MOST_LINES_NAMED + 1).map(|line| line.to_string()).collect();
    if lines.len() > MOST_LINES_NAMED {
        lines[MOST_LINES_NAMED] = "…".to_owned();
    }
    lines.join(", ")
}
