//! `tool_search`: the tools that the run may call and is not offered yet.
//!
//! Owns the words around a result. The run offers the found tools from its next request on, by the result in its
//! transcript. Never calls a server: the accepted descriptions are enough, and do not taint. Pitfall: a result without
//! a hint at other words; a model takes it for the end of the list.

use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use rouse_core::tool_search::{TOOL_SEARCH, ToolSearchResult, search_tools};
use serde::Deserialize;
use serde_json::json;

use crate::spec::{object_schema, read_only_spec};
use crate::{arguments, output};

pub(crate) struct ToolSearch {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
}

impl ToolSearch {
    pub(crate) fn new() -> Self {
        let description = "Finds tools of MCP servers by words of their names and descriptions. Found tools are offered with the next answer.";
        let query = json!({ "type": "string", "minLength": 1, "maxLength": 200 });
        let parameters = object_schema(&["query"], json!({ "query": query }));
        Self { spec: read_only_spec(TOOL_SEARCH, "Search for tools", description, parameters) }
    }
}

impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::parse::<Arguments>(call.arguments()) {
                Ok(Arguments { query }) => {
                    search_output(&search_tools(&context.searchable_tools, &query))
                }
                Err(message) => output::failure(Fault::InvalidParameters, message),
            }
        })
    }
}

/// The output of a search: the fields of the result, and a hint when the result is not the whole answer.
fn search_output(result: &ToolSearchResult) -> ToolOutput {
    let mut value = json!(result);
    if result.tools.is_empty() {
        value["hint"] = "No further tool has such a word. Search with other words.".into();
    } else if result.more > 0 {
        value["hint"] = "More tools match. Search with more words to find others.".into();
    }
    let names: Vec<&str> = result.tools.iter().map(|tool| tool.name.as_str()).collect();
    let summary = if names.is_empty() { "No tools.".to_owned() } else { names.join(", ") };
    output::success(value).in_words(&summary)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use rouse_core::tool_search::SearchableTool;

    use super::*;
    use crate::test_context::{call_with, context};

    fn searchable(name: &str) -> SearchableTool {
        let (name, description) = (name.to_owned(), "Lists the events.\nOf a day.".to_owned());
        SearchableTool { name, label: None, description }
    }

    async fn search(names: &[&str], query: &str) -> ToolOutput {
        let tools: Vec<SearchableTool> = names.iter().copied().map(searchable).collect();
        let context =
            ToolContext { searchable_tools: Arc::from(tools), ..context(Path::new("/nowhere")) };
        call_with(&ToolSearch::new(), &context, json!({ "query": query })).await
    }

    #[tokio::test]
    async fn found_tools_have_names_and_one_line() {
        let output = search(&["cal_list", "mail_send"], "list").await;
        let found = |name: &str| json!({ "name": name, "description": "Lists the events.…" });
        let tools = json!([found("cal_list"), found("mail_send")]);
        assert_eq!(output.value, json!({ "success": true, "tools": tools, "more": 0 }));
        assert_eq!(output.words.as_deref(), Some("cal_list, mail_send"));
    }

    #[tokio::test]
    async fn search_without_match_gives_a_hint() {
        let output = search(&["cal_list"], "weather").await;
        assert!(!output.is_error(), "{output:?}");
        assert_eq!(output.value["tools"], json!([]));
        assert!(output.value["hint"].as_str().is_some_and(|hint| hint.contains("other words")));
    }

    #[tokio::test]
    async fn result_over_the_maximum_gives_a_hint() {
        let names: Vec<String> = (0..9).map(|number| format!("gh_tool{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let output = search(&names, "gh").await;
        assert_eq!(output.value["more"], 1);
        assert!(output.value["hint"].as_str().is_some_and(|hint| hint.contains("more words")));
    }
}
