//! `list_dir`: what is in a folder of the workspace, and below it on request.
//!
//! Entries come folder by folder, the nearest first, each folder sorted by name, so that a listing that reaches its cap
//! still shows the top completely, and the same folder always looks the same. Links are shown as links and not entered.
//! Hidden entries and what `.gitignore` names (`rules`) are left out and counted, unless they are asked for: a project's
//! listing must not be filled by what it has downloaded and built.

pub(crate) mod rules;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use rouse_core::visible::visible_path;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{self, Told};
use crate::reach::{Reach, Reached};
use crate::spec;
use crate::text::shortened;
use crate::workspace::{Entry, EntryKind, RelativePath, Workspace, WorkspaceError};
use rules::Rules;

const MOST_ENTRIES: usize = 500;
const MOST_DEPTH: usize = 8;
/// Entries looked at in all, before those that are left out are taken away.
const MOST_SEEN: usize = 20_000;

/// The tool.
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
        let parameters = spec::object(
            &[],
            json!({
                "path": { "type": "string", "description": "Default: the workspace.", "maxLength": 4_096 },
                "recursive": { "type": "boolean" },
                "showHidden": { "type": "boolean" },
                "showIgnored": { "type": "boolean" },
            }),
        );
        let harmless = spec::harmless(("list_dir", "List a folder"), description, parameters);
        // A name can be as much a text from outside as a file.
        Self { spec: ToolSpec { untrusted_output: true, ..harmless }, hidden }
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
        let reach = Reach::of(context, &self.hidden);
        Box::pin(async move {
            answer::of(call.arguments(), move |arguments| list(&reach, &arguments)).await
        })
    }
}

fn list(reach: &Reach, arguments: &Arguments) -> Result<Told, WorkspaceError> {
    let wanted = arguments.path.as_deref().unwrap_or(".");
    let Reached { workspace, path: start, name, .. } = reach.open(wanted, FolderAccess::Read)?;
    let depth = if arguments.recursive { MOST_DEPTH } else { 1 };
    let mut listing = Listing {
        workspace: &workspace,
        shows_hidden: arguments.show_hidden,
        shows_ignored: arguments.show_ignored,
        entries: Vec::new(),
        waiting: VecDeque::new(),
        seen: 0,
        left_out: LeftOut::default(),
        is_truncated: false,
        notes: Vec::new(),
    };
    let rules = Rules::above(&workspace, &start);
    listing.add_folder(&Folder { path: start.clone(), names: Vec::new(), depth, rules })?;
    while let Some(folder) = listing.waiting.pop_front() {
        // It was there a moment ago; one that may not be read must not hide the others.
        if let Err(error) = listing.add_folder(&folder) {
            listing.notes.push(shortened(&error.to_string(), 300));
        }
    }
    Ok(listing.told(&name))
}

struct Listing<'w> {
    workspace: &'w Workspace,
    shows_hidden: bool,
    shows_ignored: bool,
    entries: Vec<Value>,
    waiting: VecDeque<Folder>,
    seen: usize,
    left_out: LeftOut,
    is_truncated: bool,
    notes: Vec<String>,
}

#[derive(Default)]
struct LeftOut {
    hidden: usize,
    ignored: usize,
}

/// A folder that is still to be listed.
struct Folder {
    path: RelativePath,
    /// Its names below the folder that was asked for.
    names: Vec<String>,
    /// How many levels are left, itself included.
    depth: usize,
    /// What the folders above it say of what is in it.
    rules: Rules,
}

impl Listing<'_> {
    fn add_folder(&mut self, folder: &Folder) -> Result<(), WorkspaceError> {
        if self.entries.len() == MOST_ENTRIES {
            self.is_truncated = true;
            return Ok(());
        }
        let most = MOST_SEEN.saturating_sub(self.seen).max(1);
        let (mut entries, has_more) = self.workspace.entries(&folder.path, most)?;
        self.seen += entries.len();
        self.is_truncated |= has_more;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let rules = folder.rules.with_those_of(self.workspace, &folder.path);
        for entry in entries {
            if !self.is_left_out(&entry, folder, &rules) {
                self.add_entry(&entry, folder, &rules);
            }
        }
        Ok(())
    }

    /// Whether the entry is not shown, and counts it.
    fn is_left_out(&mut self, entry: &Entry, folder: &Folder, rules: &Rules) -> bool {
        let is_folder = entry.kind == EntryKind::Folder;
        if !self.shows_ignored && rules.ignore(&folder.path.child(&entry.name), is_folder) {
            self.left_out.ignored += 1;
            return true;
        }
        let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
        let is_left_out = is_hidden && !self.shows_hidden;
        self.left_out.hidden += usize::from(is_left_out);
        is_left_out
    }

    fn add_entry(&mut self, entry: &Entry, folder: &Folder, rules: &Rules) {
        if self.entries.len() == MOST_ENTRIES {
            self.is_truncated = true;
            return;
        }
        let shown = visible_path(&entry.name.to_string_lossy());
        let names = [folder.names.as_slice(), &[shown]].concat();
        self.entries.push(described(entry, &names.join("/")));
        if entry.kind != EntryKind::Folder {
            return;
        }
        if folder.depth > 1 {
            self.waiting.push_back(Folder {
                path: folder.path.child(&entry.name),
                names,
                depth: folder.depth - 1,
                rules: rules.clone(),
            });
        } else {
            self.is_truncated |= names.len() >= MOST_DEPTH;
        }
    }

    /// A person reads the names, a line each.
    fn told(self, start: &str) -> Told {
        let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
        let names: Vec<String> = self.entries.iter().map(name).collect();
        let words = if names.is_empty() { "(empty)".to_owned() } else { names.join("\n") };
        Told { value: self.into_value(start), words, ..Told::default() }
    }

    fn into_value(self, start: &str) -> Value {
        let mut value = json!({ "path": start, "truncated": self.is_truncated });
        let LeftOut { hidden, ignored } = self.left_out;
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
