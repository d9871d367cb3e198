//! `list_dir`: the entries of a folder, recursive on request.
//!
//! Lists breadth first and sorted by name, so that a truncated listing still shows the top completely. Never enters links. Omits and
//! counts hidden and ignored entries (`workspace::IgnoreRules`) unless requested, so that build outputs do not fill the listing.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::text::escape_path;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::output::{self, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::text::truncate;
use crate::workspace::{
    EntryKind, FolderEntry, IgnoreRules, RelativePath, ResolvedPath, RunFolders, Workspace,
    WorkspaceError,
};

const MAX_ENTRIES: usize = 500;
const MAX_DEPTH: usize = 8;
/// Limit of entries scanned, with omitted entries.
const MAX_SCANNED: usize = 20_000;

pub(crate) struct ListDir {
    spec: ToolSpec,
    hidden: Arc<[PathBuf]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    path: Option<String>,
    #[serde(default)]
    recursive: bool,
    #[serde(default)]
    show_hidden: bool,
    #[serde(default)]
    show_ignored: bool,
}

impl ListDir {
    pub(crate) fn new(hidden: Arc<[PathBuf]>) -> Self {
        let description =
            "Lists a folder with sizes in bytes. Hidden and .gitignore'd entries are only counted.";
        let parameters = object_schema(
            &[],
            json!({
                "path": { "type": "string", "description": "Default: the workspace.", "maxLength": 4_096 },
                "recursive": { "type": "boolean" },
                "showHidden": { "type": "boolean" },
                "showIgnored": { "type": "boolean" },
            }),
        );
        let base = read_only_spec("list_dir", "List a folder", description, parameters);
        // File names can carry untrusted text too.
        Self { spec: ToolSpec { untrusted_output: true, ..base }, hidden }
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
        let folders = RunFolders::new(context, &self.hidden);
        Box::pin(async move {
            output::run_tool(call.arguments(), move |arguments| list(&folders, &arguments)).await
        })
    }
}

fn list(folders: &RunFolders, arguments: &Arguments) -> Result<ToolResult, WorkspaceError> {
    let wanted = arguments.path.as_deref().unwrap_or(".");
    let ResolvedPath { workspace, path: start, name, .. } =
        folders.resolve(wanted, FolderAccess::Read)?;
    let depth = if arguments.recursive { MAX_DEPTH } else { 1 };
    let mut listing = Listing {
        workspace: &workspace,
        shows_hidden: arguments.show_hidden,
        shows_ignored: arguments.show_ignored,
        entries: Vec::new(),
        pending: VecDeque::new(),
        scanned: 0,
        omitted: OmittedCounts::default(),
        is_truncated: false,
        notes: Vec::new(),
    };
    let rules = IgnoreRules::for_parents(&workspace, &start);
    listing.add_folder(&PendingFolder { path: start.clone(), names: Vec::new(), depth, rules })?;
    while let Some(folder) = listing.pending.pop_front() {
        // An unreadable subfolder must not hide the others.
        if let Err(error) = listing.add_folder(&folder) {
            listing.notes.push(truncate(&error.to_string(), 300));
        }
    }
    Ok(listing.into_result(&name))
}

struct Listing<'w> {
    workspace: &'w Workspace,
    shows_hidden: bool,
    shows_ignored: bool,
    entries: Vec<Value>,
    pending: VecDeque<PendingFolder>,
    scanned: usize,
    omitted: OmittedCounts,
    is_truncated: bool,
    notes: Vec<String>,
}

#[derive(Default)]
struct OmittedCounts {
    hidden: usize,
    ignored: usize,
}

/// A folder to be listed.
struct PendingFolder {
    path: RelativePath,
    /// Names below the requested folder.
    names: Vec<String>,
    /// Levels left, with this level.
    depth: usize,
    /// Rules of the parent folders.
    rules: IgnoreRules,
}

impl Listing<'_> {
    fn add_folder(&mut self, folder: &PendingFolder) -> Result<(), WorkspaceError> {
        if self.entries.len() == MAX_ENTRIES {
            self.is_truncated = true;
            return Ok(());
        }
        let limit = MAX_SCANNED.saturating_sub(self.scanned).max(1);
        let (mut entries, has_more) = self.workspace.list_entries(&folder.path, limit)?;
        self.scanned += entries.len();
        self.is_truncated |= has_more;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let rules = folder.rules.with_folder(self.workspace, &folder.path);
        for entry in entries {
            if !self.omit(&entry, folder, &rules) {
                self.add_entry(&entry, folder, &rules);
            }
        }
        Ok(())
    }

    /// Counts an omitted entry; returns whether the entry is omitted.
    fn omit(&mut self, entry: &FolderEntry, folder: &PendingFolder, rules: &IgnoreRules) -> bool {
        let is_folder = entry.kind == EntryKind::Folder;
        if !self.shows_ignored && rules.is_ignored(&folder.path.child(&entry.name), is_folder) {
            self.omitted.ignored += 1;
            return true;
        }
        let is_omitted = !self.shows_hidden && entry.is_hidden();
        self.omitted.hidden += usize::from(is_omitted);
        is_omitted
    }

    fn add_entry(&mut self, entry: &FolderEntry, folder: &PendingFolder, rules: &IgnoreRules) {
        if self.entries.len() == MAX_ENTRIES {
            self.is_truncated = true;
            return;
        }
        let shown = escape_path(&entry.name.to_string_lossy());
        let names = [folder.names.as_slice(), &[shown]].concat();
        self.entries.push(describe_entry(entry, &names.join("/")));
        if entry.kind != EntryKind::Folder {
            return;
        }
        if folder.depth > 1 {
            self.pending.push_back(PendingFolder {
                path: folder.path.child(&entry.name),
                names,
                depth: folder.depth - 1,
                rules: rules.clone(),
            });
        } else {
            self.is_truncated |= names.len() >= MAX_DEPTH;
        }
    }

    fn into_result(self, start: &str) -> ToolResult {
        let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
        let names: Vec<String> = self.entries.iter().map(name).collect();
        let summary = if names.is_empty() { "(empty)".to_owned() } else { names.join("\n") };
        ToolResult { value: self.into_value(start), summary, ..ToolResult::default() }
    }

    fn into_value(self, start: &str) -> Value {
        let mut value = json!({ "path": start, "truncated": self.is_truncated });
        let OmittedCounts { hidden, ignored } = self.omitted;
        if hidden + ignored > 0 {
            value["leftOut"] = json!({ "hidden": hidden, "ignored": ignored });
        }
        if !self.notes.is_empty() {
            value["notes"] = self.notes.into();
        }
        value["entries"] = self.entries.into();
        value
    }
}

fn describe_entry(entry: &FolderEntry, name: &str) -> Value {
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
