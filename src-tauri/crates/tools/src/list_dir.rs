//! `list_dir`: what is in a folder of the workspace, and below it on request.
//!
//! Entries come folder by folder, the nearest first, each folder sorted by name, so that a listing that reaches its cap
//! still shows the top completely, and the same folder always looks the same. Links are shown as links and not entered.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::Path;

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::text::shortened;
use crate::workspace::{Entry, EntryKind, RelativePath, Workspace, WorkspaceError, answered};
use crate::{arguments, spec};

const MOST_ENTRIES: usize = 500;
const MOST_DEPTH: usize = 8;

/// The tool.
pub(crate) struct ListDir {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    #[serde(default)]
    recursive: bool,
}

impl ListDir {
    pub(crate) fn new() -> Self {
        let description = format!(
            "Lists a folder of the workspace: name, isFile, isDirectory, size in bytes. At most {MOST_ENTRIES} entries, and \
             {MOST_DEPTH} levels when recursive."
        );
        let parameters = spec::object(
            &[],
            json!({
                "path": { "type": "string", "description": "Folder relative to the workspace. Default: the workspace itself.", "maxLength": 4_096 },
                "recursive": { "type": "boolean", "description": "Whether to list folders inside it too. Default: false." },
            }),
        );
        let harmless = spec::harmless("list_dir", &description, parameters);
        // A name can be as much a text from outside as a file.
        Self { spec: ToolSpec { untrusted_output: true, ..harmless } }
    }
}

impl Tool for ListDir {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let workspace = context.workspace.clone();
            match arguments::read(&call) {
                Ok(arguments) => answered(move || list(&workspace, &arguments)).await,
                Err(error) => ToolOutput::error(error),
            }
        })
    }
}

fn list(workspace: &Path, arguments: &Arguments) -> Result<Value, WorkspaceError> {
    let workspace = Workspace::open(workspace)?;
    let start = workspace.relative(arguments.path.as_deref().unwrap_or("."))?;
    let depth = if arguments.recursive { MOST_DEPTH } else { 1 };
    let mut listing = Listing::default();
    listing.add_folder(&workspace, &start, &[], depth)?;
    while let Some(folder) = listing.waiting.pop_front() {
        // It was there a moment ago; one that may not be read must not hide the others.
        if let Err(error) =
            listing.add_folder(&workspace, &folder.path, &folder.names, folder.depth)
        {
            listing.notes.push(shortened(&error.to_string(), 300));
        }
    }
    Ok(listing.into_value(&start))
}

#[derive(Default)]
struct Listing {
    entries: Vec<Value>,
    waiting: VecDeque<Folder>,
    is_truncated: bool,
    notes: Vec<String>,
}

/// A folder that is still to be listed.
struct Folder {
    path: RelativePath,
    /// Its names below the folder that was asked for.
    names: Vec<String>,
    /// How many levels are left, itself included.
    depth: usize,
}

impl Listing {
    fn add_folder(
        &mut self,
        workspace: &Workspace,
        path: &RelativePath,
        names: &[String],
        depth: usize,
    ) -> Result<(), WorkspaceError> {
        let (mut entries, has_more) = workspace.entries(path, MOST_ENTRIES - self.entries.len())?;
        self.is_truncated |= has_more;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            self.add_entry(&entry, path, names, depth);
        }
        Ok(())
    }

    fn add_entry(&mut self, entry: &Entry, folder: &RelativePath, names: &[String], depth: usize) {
        let shown = crate::plain_line(&entry.name.to_string_lossy());
        let names = [names, &[shown]].concat();
        self.entries.push(described(entry, &names.join("/")));
        if entry.kind != EntryKind::Folder {
            return;
        }
        if depth > 1 {
            self.waiting.push_back(Folder {
                path: folder.child(&entry.name),
                names,
                depth: depth - 1,
            });
        } else {
            self.is_truncated |= names.len() >= MOST_DEPTH;
        }
    }

    fn into_value(self, start: &RelativePath) -> Value {
        let mut value = json!({ "path": start.to_string(), "truncated": self.is_truncated });
        if !self.notes.is_empty() {
            value["notes"] = self.notes.into();
        }
        value["entries"] = self.entries.into();
        value
    }
}

fn described(entry: &Entry, name: &str) -> Value {
    let is_file = entry.kind == EntryKind::File;
    let size = if is_file { json!(entry.size) } else { Value::Null };
    let mut value = json!({
        "name": name,
        "isFile": is_file,
        "isDirectory": entry.kind == EntryKind::Folder,
        "size": size,
    });
    if entry.kind == EntryKind::Link {
        value["isLink"] = true.into();
    }
    value
}
