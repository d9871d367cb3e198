//! `memory_read`: reads a file of the memory.

use std::path::Path;

use encoding_rs::UTF_8;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::read_file::{PartRange, ReadLimits, read_text_part};
use super::folder::{FOLDER, MemoryError, display_path, open, parse_file_path};
use crate::output::{self, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::workspace::WorkspaceError;

pub(super) struct MemoryRead {
    spec: ToolSpec,
    max_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl MemoryRead {
    pub(super) fn new(max_bytes: u64) -> Self {
        let description = "Reads a memory file. A long one continues at nextOffset.";
        let parameters = object_schema(
            &["path"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "offset": { "type": "integer", "minimum": 0 },
                "limit": { "type": "integer", "minimum": 4 },
            }),
        );
        let base = read_only_spec("memory_read", "Read from memory", description, parameters);
        Self { spec: ToolSpec { untrusted_output: true, ..base }, max_bytes }
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
        let limits = ReadLimits::new(self.max_bytes, context);
        Box::pin(async move {
            let read = move |arguments| read(&workspace, &arguments, limits);
            output::run_tool(call.arguments(), read).await
        })
    }
}

fn read(
    workspace: &Path,
    arguments: &Arguments,
    limits: ReadLimits,
) -> Result<ToolResult, MemoryError> {
    let missing = || WorkspaceError::Missing { path: format!("{FOLDER}/") };
    let memory = open(workspace)?.ok_or_else(missing)?;
    let path = parse_file_path(&memory, &arguments.path)?;
    let name = display_path(&path);
    let range = PartRange { offset: arguments.offset, limit: arguments.limit };
    let ToolResult { value, summary, .. } = read_text_part(&memory, path, UTF_8, range, limits)?;
    let mut fields = Map::from_iter([("path".to_owned(), Value::from(name))]);
    if let Value::Object(more) = value {
        fields.extend(more);
    }
    Ok(ToolResult { value: Value::Object(fields), summary, ..ToolResult::default() })
}
