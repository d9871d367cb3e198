//! The tool list of a server, page by page.
//!
//! Owns the limits of a list: pages, bytes, and a cursor that repeats. Reads each tool by its fields, so one odd tool
//! does not spoil the list; admission refuses that tool with a reason. Never shortens a description.

use std::collections::HashSet;

use rouse_core::extension::{ToolDefinition, ToolHints};
use serde_json::Value;

use super::error::ConnectionError;

/// The most pages of a list.
const MAX_PAGES: usize = 64;

/// The number of tools after which no further page is read. Admission refuses the excess.
const MAX_TOOLS: usize = 1_000;

/// The most bytes of all pages.
const MAX_BYTES: usize = 8 << 20;

/// The pages of a list so far.
#[derive(Default)]
pub(super) struct ToolPages {
    tools: Vec<ToolDefinition>,
    bytes: usize,
    pages: usize,
    cursors: HashSet<String>,
}

impl ToolPages {
    /// Adds the result of one `tools/list`; returns the cursor of the next page, if one is to be read.
    pub(super) fn add(&mut self, result: &Value) -> Result<Option<String>, ConnectionError> {
        self.pages += 1;
        self.bytes += result.to_string().len();
        if self.bytes > MAX_BYTES {
            return Err(ConnectionError::TooLarge(format!(
                "The tool list of the server is larger than {} MB.",
                MAX_BYTES >> 20
            )));
        }
        let Some(tools) = result.get("tools").and_then(Value::as_array) else {
            return Err(ConnectionError::Protocol(
                "The server answered the tool list without tools.".to_owned(),
            ));
        };
        self.tools.extend(tools.iter().map(read_tool));
        let cursor = result.get("nextCursor").and_then(Value::as_str).unwrap_or_default();
        if cursor.is_empty() || self.tools.len() > MAX_TOOLS {
            return Ok(None);
        }
        if !self.cursors.insert(cursor.to_owned()) {
            let sentence = "The pages of the server's tool list repeat without an end.";
            return Err(ConnectionError::Protocol(sentence.to_owned()));
        }
        if self.pages == MAX_PAGES {
            let sentence = format!("The tool list of the server has more than {MAX_PAGES} pages.");
            return Err(ConnectionError::Protocol(sentence));
        }
        Ok(Some(cursor.to_owned()))
    }

    /// The tools of all pages, in the order of the server.
    pub(super) fn into_tools(self) -> Vec<ToolDefinition> {
        self.tools
    }
}

/// A listed tool. Missing fields are empty.
fn read_tool(tool: &Value) -> ToolDefinition {
    let annotations = tool.get("annotations").unwrap_or(&Value::Null);
    let hint = |key: &str| annotations.get(key).and_then(Value::as_bool);
    ToolDefinition {
        name: string(tool, "name").unwrap_or_default(),
        title: string(tool, "title").or_else(|| string(annotations, "title")),
        description: string(tool, "description").unwrap_or_default(),
        input_schema: tool.get("inputSchema").cloned().unwrap_or(Value::Null),
        output_schema: tool.get("outputSchema").filter(|schema| !schema.is_null()).cloned(),
        hints: ToolHints {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        },
    }
}

fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_tool_does_not_spoil_the_list() {
        let mut pages = ToolPages::default();
        let result = json!({"tools": [
            {"name": 7, "inputSchema": true},
            {"name": "read", "annotations": {"title": "Read", "readOnlyHint": true},
             "inputSchema": {"type": "object"}},
        ]});
        assert_eq!(pages.add(&result).expect("a page"), None);
        let tools = pages.into_tools();
        assert_eq!((tools[0].name.as_str(), &tools[0].input_schema), ("", &json!(true)));
        assert_eq!(tools[1].title.as_deref(), Some("Read"));
        assert_eq!(tools[1].hints.read_only, Some(true));
    }

    #[test]
    fn list_over_eight_megabytes_is_too_large() {
        let mut pages = ToolPages::default();
        let page = |at: usize| {
            json!({"tools": [{"name": "a", "description": "x".repeat(3 << 20)}],
                   "nextCursor": at.to_string()})
        };
        for at in 0..2 {
            pages.add(&page(at)).expect("within the limit");
        }
        let error = pages.add(&page(2)).expect_err("over the limit");
        assert!(matches!(error, ConnectionError::TooLarge(_)), "{error:?}");
    }

    #[test]
    fn no_page_is_read_after_a_thousand_tools() {
        let mut pages = ToolPages::default();
        let tools = vec![json!({"name": "a"}); 1_001];
        let next = pages.add(&json!({"tools": tools, "nextCursor": "2"}));
        assert_eq!(next.expect("a page"), None);
    }
}
