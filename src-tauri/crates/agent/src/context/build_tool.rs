//! The task of a run that builds a tool.
//!
//! Owns the text of the task and the tools of the run. The run is an ordinary run of a job; nothing else knows that it
//! builds a tool. Pitfall: a tool of the list that the text does not mention, or the reverse.

use rouse_core::extension::ExtensionName;

const INSTRUCTIONS: &str = include_str!("../../prompts/build_tool.md");

/// The tools of the run: the verbs of the builder, and reading documentation.
pub const BUILD_TOOLS: [&str; 6] =
    ["tool_list", "tool_source", "tool_check", "tool_offer", "web_search", "web_fetch"];

/// The task: the instructions, then the person's words. `tool` is an existing tool to change.
#[must_use]
pub fn build_tool_task(request: &str, tool: Option<&ExtensionName>) -> String {
    let target = match tool {
        Some(tool) => format!("Change the existing tool `{tool}`."),
        None => "Build a new tool, unless an existing tool does this already.".to_owned(),
    };
    format!("{INSTRUCTIONS}\nThe request of the person. {target}\n\n{}\n", request.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_the_verbs_of_the_builder() {
        for tool in BUILD_TOOLS.iter().filter(|tool| tool.starts_with("tool_")) {
            assert!(INSTRUCTIONS.contains(&format!("`{tool}`")), "{tool}");
        }
    }

    #[test]
    fn task_ends_with_the_request() {
        let weather = "weather".parse().expect("a name");
        let task = build_tool_task(" Add the wind.\n", Some(&weather));
        assert!(task.ends_with("Change the existing tool `weather`.\n\nAdd the wind.\n"), "{task}");
        assert!(build_tool_task("Tell jokes.", None).contains("Build a new tool"));
    }
}
