//! The catalogue of a server: which of its listed tools can be offered at all.
//!
//! Owns the bounds on names, texts and schemas, and the schema for model providers. Never compares a tool with its pin
//! and never looks for suspicious words: a person reads the whole text. Pitfall: a schema that one provider refuses fails
//! every request of a run, so a doubtful tool is refused and listed with the reason.

mod schema;

use std::collections::{HashMap, HashSet};

use rouse_core::extension::ToolDefinition;
use rouse_core::text::{first_line, group_thousands, is_within_depth, strip_invisible};
use serde_json::Value;

pub(crate) use schema::normalise;

/// The most characters of a raw name, as in the specification of MCP.
const MAX_NAME_CHARACTERS: usize = 128;

/// The most bytes of a title, and of a description.
const MAX_TITLE_BYTES: usize = 256;
const MAX_DESCRIPTION_BYTES: usize = 8 << 10;

/// The bounds of a schema.
const MAX_SCHEMA_BYTES: usize = 64 << 10;
const MAX_SCHEMA_DEPTH: usize = 32;
const MAX_SCHEMA_NODES: usize = 2_000;

/// The most tools of a server.
const MAX_TOOLS: usize = 1_000;

/// The listed tools of a server, sorted into usable and refused ones.
#[derive(Debug, Default)]
pub(crate) struct AdmittedTools {
    /// The usable tools, in the order of the server.
    pub(crate) tools: Vec<ToolDefinition>,
    /// The refused tools.
    pub(crate) refused: Vec<RefusedServerTool>,
}

/// A tool that cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedServerTool {
    /// The raw name, without invisible characters and cut to 128 characters.
    pub name: String,
    /// The reason, as a sentence.
    pub reason: String,
}

/// Why a tool is refused.
#[derive(Debug, thiserror::Error)]
enum ToolRefusal {
    #[error("The tool has no name.")]
    EmptyName,
    #[error("The name is longer than {MAX_NAME_CHARACTERS} characters.")]
    LongName,
    #[error("The name contains control characters or hidden characters.")]
    HiddenInName,
    #[error("The server lists this name more than once.")]
    DuplicateName,
    #[error("The title is longer than {MAX_TITLE_BYTES} bytes.")]
    LongTitle,
    #[error("The description is longer than {} KB.", MAX_DESCRIPTION_BYTES >> 10)]
    LongDescription,
    #[error("The {0} contains hidden text (Unicode tag characters).")]
    HiddenText(&'static str),
    #[error("The schema is nested deeper than {MAX_SCHEMA_DEPTH} levels.")]
    DeepSchema,
    #[error("The schema is larger than {} KB.", MAX_SCHEMA_BYTES >> 10)]
    LargeSchema,
    #[error("The schema has more than 2,000 parts.")]
    ManyParts,
    #[error(transparent)]
    Schema(#[from] schema::SchemaProblem),
}

/// Sorts the tools that a server lists into usable and refused ones.
pub(crate) fn admit(listed: Vec<ToolDefinition>) -> AdmittedTools {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for tool in &listed {
        *counts.entry(tool.name.clone()).or_default() += 1;
    }
    let total = listed.len();
    let mut admitted = AdmittedTools::default();
    let mut reported: HashSet<String> = HashSet::new();
    for tool in listed.into_iter().take(MAX_TOOLS) {
        let is_duplicate = counts.get(&tool.name).is_some_and(|count| *count > 1);
        let checked =
            if is_duplicate { Err(ToolRefusal::DuplicateName) } else { check_tool(&tool) };
        match checked {
            Ok(()) => admitted.tools.push(tool),
            Err(_) if is_duplicate && !reported.insert(tool.name.clone()) => {}
            Err(refusal) => {
                let name = first_line(&tool.name, MAX_NAME_CHARACTERS, strip_invisible);
                admitted.refused.push(RefusedServerTool { name, reason: refusal.to_string() });
            }
        }
    }
    if total > MAX_TOOLS {
        let count = |count: usize| group_thousands(u64::try_from(count).unwrap_or(u64::MAX));
        admitted.refused.push(RefusedServerTool {
            name: format!("{} more tools", count(total - MAX_TOOLS)),
            reason: format!(
                "The server lists {} tools; Rouse takes the first {}.",
                count(total),
                count(MAX_TOOLS)
            ),
        });
    }
    admitted
}

fn check_tool(tool: &ToolDefinition) -> Result<(), ToolRefusal> {
    if tool.name.is_empty() {
        return Err(ToolRefusal::EmptyName);
    }
    if tool.name.chars().count() > MAX_NAME_CHARACTERS {
        return Err(ToolRefusal::LongName);
    }
    if tool.name.chars().any(char::is_control) || has_tag_characters(&tool.name) {
        return Err(ToolRefusal::HiddenInName);
    }
    let title = tool.title.as_deref().unwrap_or_default();
    if title.len() > MAX_TITLE_BYTES {
        return Err(ToolRefusal::LongTitle);
    }
    if tool.description.len() > MAX_DESCRIPTION_BYTES {
        return Err(ToolRefusal::LongDescription);
    }
    if has_tag_characters(title) {
        return Err(ToolRefusal::HiddenText("title"));
    }
    if has_tag_characters(&tool.description) {
        return Err(ToolRefusal::HiddenText("description"));
    }
    check_bounds(&tool.input_schema)?;
    if let Some(output_schema) = &tool.output_schema {
        check_bounds(output_schema)?;
    }
    normalise(&tool.input_schema)?;
    Ok(())
}

fn check_bounds(schema: &Value) -> Result<(), ToolRefusal> {
    // First the depth, which bounds the recursion of everything else.
    if !is_within_depth(schema, MAX_SCHEMA_DEPTH) {
        return Err(ToolRefusal::DeepSchema);
    }
    let text = schema.to_string();
    if text.len() > MAX_SCHEMA_BYTES {
        return Err(ToolRefusal::LargeSchema);
    }
    if has_tag_characters(&text) {
        return Err(ToolRefusal::HiddenText("schema"));
    }
    if count_nodes(schema) > MAX_SCHEMA_NODES {
        return Err(ToolRefusal::ManyParts);
    }
    Ok(())
}

/// Whether the text has characters of U+E0000 to U+E007F, which a model reads and a person cannot see.
fn has_tag_characters(text: &str) -> bool {
    text.chars().any(|character| ('\u{E0000}'..='\u{E007F}').contains(&character))
}

fn count_nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_nodes).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count_nodes).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::extension::ToolHints;
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: "Reads".to_owned(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            hints: ToolHints::default(),
        }
    }

    fn with_schema(input_schema: Value) -> ToolDefinition {
        ToolDefinition { input_schema, ..tool("read") }
    }

    /// A schema with `levels` of nested values.
    fn nested(levels: usize) -> Value {
        let inner = (2..levels).fold(json!({}), |inner, _| json!({ "default": inner }));
        json!({"type": "object", "default": inner})
    }

    fn admitted(tool: ToolDefinition) -> Result<(), String> {
        let AdmittedTools { tools, mut refused } = admit(vec![tool]);
        assert_eq!(tools.len() + refused.len(), 1);
        refused.pop().map_or(Ok(()), |refused| Err(refused.reason))
    }

    #[test]
    fn usable_tools_keep_their_order_and_form() {
        let listed = vec![tool("b.read"), tool(&"x".repeat(128)), tool("a")];
        let AdmittedTools { tools, refused } = admit(listed.clone());
        assert_eq!((tools, refused), (listed, Vec::new()));
    }

    #[test]
    fn tool_at_a_bound_is_admitted() {
        let described = |description: String| ToolDefinition { description, ..tool("read") };
        for at_bound in [
            described("d".repeat(8_192)),
            described(String::new()),
            with_schema(nested(32)),
            with_schema(json!({"type": "object", "x": vec![0; 1_997]})),
        ] {
            assert_eq!(admitted(at_bound), Ok(()));
        }
    }

    #[test]
    fn tool_over_a_bound_is_refused_with_its_reason() {
        let described = |description: String| ToolDefinition { description, ..tool("read") };
        let titled = |title: String| ToolDefinition { title: Some(title), ..tool("read") };
        let outputs = |schema| ToolDefinition { output_schema: Some(schema), ..tool("read") };
        for (tool, reason) in [
            (tool(""), "no name"),
            (tool(&"ä".repeat(129)), "longer than 128 characters"),
            (tool("read\nall"), "control characters"),
            (tool("read\u{E0041}"), "hidden characters"),
            (titled("t".repeat(257)), "The title is longer"),
            (titled("\u{E0041}".to_owned()), "The title contains hidden text"),
            (described("d".repeat(8_193)), "longer than 8 KB"),
            (described("Reads\u{E0020}".to_owned()), "The description contains hidden text"),
            (with_schema(nested(33)), "deeper than 32"),
            (outputs(nested(33)), "deeper than 32"),
            (with_schema(json!({"type": "object", "x": "y".repeat(65_536)})), "larger than 64 KB"),
            (with_schema(json!({"type": "object", "x": vec![0; 1_998]})), "2,000 parts"),
            (
                with_schema(json!({"properties": {"a": {"description": "\u{E0041}"}}})),
                "The schema contains hidden text",
            ),
            (with_schema(json!({"type": "string"})), "not an object"),
            (with_schema(json!({"$ref": "https://a.example/s.json"})), "outside the tool"),
        ] {
            let refusal = admitted(tool).expect_err(reason);
            assert!(refusal.contains(reason) && refusal.ends_with('.'), "{reason}: {refusal}");
        }
    }

    #[test]
    fn duplicate_name_refuses_every_tool_of_that_name() {
        let listed = vec![tool("read"), tool("send"), tool("read"), tool("read")];
        let AdmittedTools { tools, refused } = admit(listed);
        assert_eq!(tools, [tool("send")]);
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].name, "read");
        assert!(refused[0].reason.contains("more than once"));
    }

    #[test]
    fn refused_name_is_visible_and_short() {
        let name = format!("read\u{202e}\u{1b}{}", "x".repeat(500));
        let refused = admit(vec![tool(&name)]).refused;
        assert_eq!(refused[0].name.chars().count(), 128);
        assert!(refused[0].name.starts_with("readx"), "{}", refused[0].name);
    }

    #[test]
    fn tools_over_the_limit_are_refused_in_one_entry() {
        let listed = (0..5_000).map(|number| tool(&format!("tool{number}"))).collect();
        let AdmittedTools { tools, refused } = admit(listed);
        assert_eq!((tools.len(), refused.len()), (1_000, 1));
        assert_eq!(refused[0].name, "4,000 more tools");
        assert!(refused[0].reason.contains("lists 5,000 tools"), "{}", refused[0].reason);
    }
}
