//! `memory_write`: one Markdown file of the memory, written anew or added to.
//!
//! It asks only where a hook wants that, so it is bounded instead: in what one call writes, in what a file holds, and in how many there are.
//! Adding reads and replaces the whole file, one call after the other, so that two runs which add to the same file lose
//! nothing; it is put in place whole, so that a crash leaves the old one or the new one.

use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rouse_core::approval::{ABSENT, Surroundings};
use rouse_core::hidden::{REDACTED, redaction_beyond};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, BoxFuture, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::walk::{MOST_DEPTH, walk};
use super::{FOLDER, MOST_BYTES, MOST_FILES, MemoryError, file_at, open, open_or_make, shown};
use crate::answer::{self, Told};
use crate::spec;
use crate::text::plain_line;
use crate::workspace::{RelativePath, Workspace, WorkspaceError};
use crate::write_file::{NOTHING, difference};

/// The most that one call writes, in characters.
const MOST_CONTENT: usize = 64 << 10;
/// The longest file name that is made of a title, in characters.
const LONGEST_NAME: usize = 60;

/// The tool.
pub(super) struct MemoryWrite {
    spec: ToolSpec,
    /// Held from the reading of a file to its replacement.
    turn: Arc<Mutex<()>>,
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
        let description = "Keeps something for later runs, as Markdown in memory/. Replaces the file, or appends. No secrets.";
        let parameters = spec::object(
            &["content"],
            json!({
                "path": { "type": "string", "description": "Such as memory/garden.md.", "minLength": 1, "maxLength": 4_096 },
                "title": { "type": "string", "description": "Instead of path: its heading.", "minLength": 1, "maxLength": 200 },
                "content": { "type": "string", "maxLength": MOST_CONTENT },
                "append": { "type": "boolean" },
            }),
        );
        let harmless = spec::harmless(("memory_write", "Keep in memory"), description, parameters);
        let rate = RateLimit { per_minute: 20, per_hour: 200 };
        let spec = ToolSpec { annotations: Annotations::OVERWRITES, rate, ..harmless };
        Self { spec, turn: Arc::default() }
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
        Box::pin(answer::compared(arguments, move |it| compared(&workspace, &it)))
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let workspace = context.workspace.clone();
        Box::pin(answer::aside(arguments, move |arguments| bound(&workspace, &arguments)))
    }

    fn writes_here(&self) -> bool {
        true
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let (workspace, turn) = (context.workspace.clone(), Arc::clone(&self.turn));
        let to = call.bound().cloned();
        Box::pin(async move {
            answer::of(call.arguments(), move |arguments| {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                // What is replaced or added to is what the person has seen.
                match to.is_none_or(|to| bound(&workspace, &arguments).is_ok_and(|now| now == to)) {
                    true => write(&workspace, &arguments),
                    false => Err(MemoryError::Changed),
                }
            })
            .await
        })
    }
}

/// The file as it stands and as it would be.
struct Draft {
    path: RelativePath,
    text: String,
    is_added_to: bool,
}

fn write(workspace: &Path, arguments: &Arguments) -> Result<Told, MemoryError> {
    let memory = open_or_make(workspace)?;
    let Draft { path, text, is_added_to } = draft(&memory, arguments)?;
    if memory.standing(&path)?.is_none() && walk(&memory)?.files.len() >= MOST_FILES {
        return Err(MemoryError::Full);
    }
    let created = memory.replace(&path, text.as_bytes())?;
    let how = match (created, is_added_to) {
        (true, _) => "New file",
        (false, true) => "Added to",
        (false, false) => "Replaced",
    };
    let name = shown(&path);
    Ok(Told {
        words: format!("{how}: {name} ({} bytes).", text.len()),
        value: json!({ "path": name, "bytes": text.len(), "created": created }),
        ..Told::default()
    })
}

fn draft(memory: &Workspace, arguments: &Arguments) -> Result<Draft, MemoryError> {
    let (path, heading) = arguments.place(memory)?;
    if path.as_path().iter().count() > MOST_DEPTH {
        return Err(MemoryError::TooDeep { path });
    }
    let kept = if arguments.append || arguments.content.contains(REDACTED) {
        text_of(memory, &path)?
    } else {
        None
    };
    // What is added stands in the place of nothing, so it keeps no mark that is there.
    let replaced = kept.as_deref().filter(|_| !arguments.append);
    let (new, before) = (arguments.content.as_str(), replaced.unwrap_or_default());
    // A new file loses nothing.
    let is_there = memory.standing(&path)?.is_some();
    if let Some(mark) = redaction_beyond(new, before).filter(|_| is_there) {
        return Err(MemoryError::Redacted { path, mark: mark.to_owned() });
    }
    let old = kept.filter(|_| arguments.append);
    let is_added_to = old.is_some();
    let text = joined(old.or(arguments.missing(heading)), &arguments.content);
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(MemoryError::TooLarge { path, bytes: text.len() });
    }
    Ok(Draft { path, text, is_added_to })
}

fn compared(workspace: &Path, arguments: &Arguments) -> Result<String, MemoryError> {
    let Some(memory) = open(workspace)? else {
        // The first note of all: its folder comes with it.
        let (path, heading) = arguments.place(&Workspace::open(workspace)?)?;
        let text = joined(arguments.missing(heading), &arguments.content);
        return Ok(difference(&shown(&path), "", &text, NOTHING));
    };
    let Draft { path, text, .. } = draft(&memory, arguments)?;
    let name = shown(&path);
    Ok(match text_of(&memory, &path)? {
        Some(before) => difference(&name, &before, &text, &name),
        None => difference(&name, "", &text, NOTHING),
    })
}

/// What a yes is bound to: what the file holds.
fn bound(workspace: &Path, arguments: &Arguments) -> Result<Surroundings, MemoryError> {
    let replaces = match open(workspace)? {
        Some(memory) => {
            let (path, _) = arguments.place(&memory)?;
            (shown(&path), memory.replaced_digest(&path)?)
        }
        None => (FOLDER.to_owned(), ABSENT.to_owned()),
    };
    Ok(Surroundings { replaces: [replaces].into(), ..Surroundings::in_folder(workspace) })
}

impl Arguments {
    /// The heading of a new file. A model that writes the title into the text as well has said it once.
    fn missing(&self, heading: Option<String>) -> Option<String> {
        let first = self.content.lines().next().unwrap_or_default();
        heading.filter(|heading| first.trim_end() != heading.trim_end())
    }

    /// The file, and what a new one begins with.
    fn place(&self, memory: &Workspace) -> Result<(RelativePath, Option<String>), MemoryError> {
        match (self.path.as_deref(), self.title.as_deref()) {
            (Some(path), None) => Ok((file_at(memory, path)?, None)),
            (None, Some(title)) => {
                let heading = format!("# {}\n\n", plain_line(title));
                Ok((file_at(memory, &file_name_of(title)?)?, Some(heading)))
            }
            _ => Err(MemoryError::NoName),
        }
    }
}

/// The letters and digits of a title, with a dash for everything between them.
fn file_name_of(title: &str) -> Result<String, MemoryError> {
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let name: String = words.join("-").chars().take(LONGEST_NAME).collect();
    match name.trim_end_matches('-') {
        "" => Err(MemoryError::NoWordInTitle(title.to_owned())),
        name => Ok(format!("{name}.md")),
    }
}

/// What the file holds; none when it is not there.
fn text_of(memory: &Workspace, path: &RelativePath) -> Result<Option<String>, MemoryError> {
    let (file, size) = match memory.open_file(path) {
        Err(WorkspaceError::Missing { .. }) => return Ok(None),
        opened => opened?,
    };
    if size > MOST_BYTES {
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        return Err(MemoryError::TooLarge { path: path.clone(), bytes });
    }
    let mut bytes = Vec::new();
    let failed = |source| WorkspaceError::Read { path: path.to_string(), source };
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| MemoryError::NotText(path.clone()))?;
    Ok(Some(text))
}

/// What is there with `content` behind it, each ending with its line.
fn joined(before: Option<String>, content: &str) -> String {
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
