//! `memory_read`: the text of one file of the memory.

use std::path::Path;

use encoding_rs::UTF_8;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{FOLDER, MemoryError, file_at, open, shown};
use crate::answer::{self, Told};
use crate::read_file::{Bounds, read_part_of};
use crate::spec;
use crate::workspace::WorkspaceError;

/// The tool.
pub(super) struct MemoryRead {
    spec: ToolSpec,
    most: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl MemoryRead {
    pub(super) fn new(most: u64) -> Self {
        let description = "Reads a memory file. A long one goes on at nextOffset.";
        let parameters = spec::object(
            &["path"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "offset": { "type": "integer", "minimum": 0 },
                "limit": { "type": "integer", "minimum": 4 },
            }),
        );
        let harmless = spec::harmless(("memory_read", "Read from memory"), description, parameters);
        Self { spec: ToolSpec { untrusted_output: true, ..harmless }, most }
    }
}

impl Tool for MemoryRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let workspace = context.workspace.clone();
        let bounds = Bounds::of(self.most, context);
        Box::pin(async move {
            answer::of(call.arguments(), move |arguments| read(&workspace, &arguments, bounds))
                .await
        })
    }
}

fn read(workspace: &Path, arguments: &Arguments, bounds: Bounds) -> Result<Told, MemoryError> {
    let nothing = || WorkspaceError::Missing { path: format!("{FOLDER}/") };
    let memory = open(workspace)?.ok_or_else(nothing)?;
    let path = file_at(&memory, &arguments.path)?;
    let name = shown(&path);
    let part = (arguments.offset, arguments.limit);
    let Told { value, words, .. } = read_part_of(&memory, path, UTF_8, part, bounds)?;
    let mut fields = Map::from_iter([("path".to_owned(), Value::from(name))]);
    if let Value::Object(more) = value {
        fields.extend(more);
    }
    Ok(Told { value: Value::Object(fields), words, ..Told::default() })
}
