//! `memory_write`: replaces a Markdown file of the memory, or appends text.
//!
//! Bounded instead of approved (unless a hook requires approval): in the content of a call, the size of a file and the number of files.
//! An append reads and replaces the whole file under a lock, so that parallel runs lose nothing and a crash leaves the old or the new
//! file.

use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rouse_core::approval::{ABSENT, Surroundings};
use rouse_core::policy::ApprovedCall;
use rouse_core::redaction::{REDACTED, added_redaction};
use rouse_core::tool::{
    Annotations, BoxFuture, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::folder::{
    FOLDER, MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, MemoryError, display_path, open, open_or_create,
    parse_file_path,
};
use super::scan::scan_memory;
use crate::output::{self, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::text::plain_line;
use crate::text_diff::{NO_FILE, unified_diff};
use crate::workspace::{RelativePath, Workspace, WorkspaceError};

/// Limit of a call's content, in characters.
const MAX_CONTENT_CHARS: usize = 64 << 10;
/// Limit of a file name made from a title, in characters.
const MAX_NAME_CHARS: usize = 60;

pub(super) struct MemoryWrite {
    spec: ToolSpec,
    /// Held from the read of a file to the replacement.
    write_lock: Arc<Mutex<()>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    title: Option<String>,
    content: String,
    #[serde(default)]
    append: bool,
}

impl MemoryWrite {
    pub(super) fn new() -> Self {
        let description = "Keeps a note for later runs, as Markdown in memory/. Replaces the file, or appends. No secrets.";
        let parameters = object_schema(
            &["content"],
            json!({
                "path": { "type": "string", "description": "Such as memory/garden.md.", "minLength": 1, "maxLength": 4_096 },
                "title": { "type": "string", "description": "Instead of path: its heading.", "minLength": 1, "maxLength": 200 },
                "content": { "type": "string", "maxLength": MAX_CONTENT_CHARS },
                "append": { "type": "boolean" },
            }),
        );
        let base = read_only_spec("memory_write", "Write to memory", description, parameters);
        let rate = RateLimit { per_minute: 20, per_hour: 200 };
        let spec = ToolSpec { annotations: Annotations::OVERWRITES, rate, ..base };
        Self { spec, write_lock: Arc::default() }
    }
}

impl Tool for MemoryWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn annotations(&self, arguments: &Value) -> Annotations {
        if arguments["append"] == true { Annotations::ADDS } else { self.spec.annotations }
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, String> {
        let workspace = context.workspace.clone();
        Box::pin(output::preview_or_arguments(arguments, move |arguments| {
            preview(&workspace, &arguments)
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
        let (workspace, write_lock) = (context.workspace.clone(), Arc::clone(&self.write_lock));
        let approved = call.bound().cloned();
        Box::pin(async move {
            let write = move |arguments| {
                let _lock = write_lock.lock().unwrap_or_else(PoisonError::into_inner);
                let is_current = |approved| {
                    surroundings(&workspace, &arguments).is_ok_and(|now| now == approved)
                };
                if approved.is_none_or(is_current) {
                    write(&workspace, &arguments)
                } else {
                    Err(MemoryError::Changed)
                }
            };
            output::run_tool(call.arguments(), write).await
        })
    }
}

/// The new content of a file.
struct MemoryDraft {
    path: RelativePath,
    text: String,
    is_append: bool,
}

fn write(workspace: &Path, arguments: &Arguments) -> Result<ToolResult, MemoryError> {
    let memory = open_or_create(workspace)?;
    let MemoryDraft { path, text, is_append } = draft(&memory, arguments)?;
    if memory.target_state(&path)?.is_none() && scan_memory(&memory)?.files.len() >= MAX_FILES {
        return Err(MemoryError::Full);
    }
    let created = memory.replace_file(&path, text.as_bytes())?;
    let action = match (created, is_append) {
        (true, _) => "Created",
        (false, true) => "Appended to",
        (false, false) => "Replaced",
    };
    let name = display_path(&path);
    Ok(ToolResult {
        summary: format!("{action} {name} ({} bytes).", text.len()),
        value: json!({ "path": name, "bytes": text.len(), "created": created }),
        ..ToolResult::default()
    })
}

fn draft(memory: &Workspace, arguments: &Arguments) -> Result<MemoryDraft, MemoryError> {
    let (path, heading) = arguments.file_and_heading(memory)?;
    if path.as_path().iter().count() > MAX_DEPTH {
        return Err(MemoryError::TooDeep { path });
    }
    let current = if arguments.append || arguments.content.contains(REDACTED) {
        read_text(memory, &path)?
    } else {
        None
    };
    // Appended text replaces nothing, so no existing mark permits a mark in the new content.
    let replaced = current.as_deref().filter(|_| !arguments.append).unwrap_or_default();
    let exists = memory.target_state(&path)?.is_some();
    if let Some(mark) = added_redaction(&arguments.content, replaced).filter(|_| exists) {
        return Err(MemoryError::Redacted { path, mark: mark.to_owned() });
    }
    let old = current.filter(|_| arguments.append);
    let is_append = old.is_some();
    let text = append_lines(old.or(arguments.missing_heading(heading)), &arguments.content);
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
        return Err(MemoryError::TooLarge { path, bytes: text.len() });
    }
    Ok(MemoryDraft { path, text, is_append })
}

fn preview(workspace: &Path, arguments: &Arguments) -> Result<String, MemoryError> {
    let Some(memory) = open(workspace)? else {
        // The first note creates the folder.
        let (path, heading) = arguments.file_and_heading(&Workspace::open(workspace)?)?;
        let text = append_lines(arguments.missing_heading(heading), &arguments.content);
        return Ok(unified_diff(&display_path(&path), "", &text, NO_FILE));
    };
    let MemoryDraft { path, text, .. } = draft(&memory, arguments)?;
    let name = display_path(&path);
    Ok(match read_text(&memory, &path)? {
        Some(old) => unified_diff(&name, &old, &text, &name),
        None => unified_diff(&name, "", &text, NO_FILE),
    })
}

fn surroundings(workspace: &Path, arguments: &Arguments) -> Result<Surroundings, MemoryError> {
    let replaces = match open(workspace)? {
        Some(memory) => {
            let (path, _) = arguments.file_and_heading(&memory)?;
            (display_path(&path), memory.replaced_file_hash(&path)?)
        }
        None => (FOLDER.to_owned(), ABSENT.to_owned()),
    };
    Ok(Surroundings { replaces: [replaces].into(), ..Surroundings::in_folder(workspace) })
}

impl Arguments {
    /// The heading, unless the content begins with the heading.
    fn missing_heading(&self, heading: Option<String>) -> Option<String> {
        let first = self.content.lines().next().unwrap_or_default();
        heading.filter(|heading| first.trim_end() != heading.trim_end())
    }

    /// The file's path, and the heading of a new file.
    fn file_and_heading(
        &self,
        memory: &Workspace,
    ) -> Result<(RelativePath, Option<String>), MemoryError> {
        match (self.path.as_deref(), self.title.as_deref()) {
            (Some(path), None) => Ok((parse_file_path(memory, path)?, None)),
            (None, Some(title)) => {
                let heading = format!("# {}\n\n", plain_line(title));
                Ok((parse_file_path(memory, &file_name_for(title)?)?, Some(heading)))
            }
            _ => Err(MemoryError::NoName),
        }
    }
}

/// Makes a file name from the letters and digits of a title, with dashes between words.
fn file_name_for(title: &str) -> Result<String, MemoryError> {
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let name: String = words.join("-").chars().take(MAX_NAME_CHARS).collect();
    match name.trim_end_matches('-') {
        "" => Err(MemoryError::NoWordInTitle(title.to_owned())),
        name => Ok(format!("{name}.md")),
    }
}

/// Reads a file; `None` if missing.
fn read_text(memory: &Workspace, path: &RelativePath) -> Result<Option<String>, MemoryError> {
    let (file, size) = match memory.open_file(path) {
        Err(WorkspaceError::Missing { .. }) => return Ok(None),
        opened => opened?,
    };
    if size > MAX_FILE_BYTES {
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        return Err(MemoryError::TooLarge { path: path.clone(), bytes });
    }
    let mut bytes = Vec::new();
    let failed = |source| WorkspaceError::Read { path: path.to_string(), source };
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| MemoryError::NotText(path.clone()))?;
    Ok(Some(text))
}

/// Joins two texts, each with a final line end.
fn append_lines(before: Option<String>, content: &str) -> String {
    let mut text = before.unwrap_or_default();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(content);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
