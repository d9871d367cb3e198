//! The flags of a job's task, and the payload of the job document.

use clap::{ArgGroup, Args};
use rouse_core::job::NotifyWord;
use serde_json::{Map, Value, json};
use strum::VariantNames as _;

use super::field_values::{NONE, names_value, parse_number, set, text_value};
use crate::resolve::error::CliError;
use crate::resolve::merge_patch::replacement_patch;

/// The task of a job.
#[derive(Debug, Args)]
#[command(next_help_heading = "Task", group = ArgGroup::new("payload").args(["system_event", "message", "tool"]))]
pub(crate) struct PayloadArgs {
    /// Queue a system event for the main session
    #[arg(long, value_name = "TEXT")]
    system_event: Option<String>,
    /// Run an agent on this message
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Call a tool; no model, no cost
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Arguments of the tool as JSON
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    /// Notify: always, failure, changed or a CEL condition [default: always]
    #[arg(long, alias = "notify-if", value_name = "WHEN", value_parser = parse_notify_when)]
    notify_when: Option<Value>,
    /// Deliver messages to the channel of --channel
    #[arg(
        hide = true,
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true,
    )]
    deliver: Option<bool>,
    /// Channel by name, see `rouse channels`; "" for the default
    #[arg(hide = true, long, value_name = "NAME")]
    channel: Option<String>,
    /// Recipient on the channel; "" for the default
    #[arg(hide = true, long, value_name = "DEST")]
    to: Option<String>,
    /// Model [default: the model of the settings]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Fallback models, comma-separated: openai:gpt-5.6-luna [default: none]
    #[arg(hide = true, long, value_name = "NAMES")]
    fallbacks: Option<String>,
    /// Offered tools, comma-separated, or none [default: all]
    #[arg(long, value_name = "NAMES")]
    tools: Option<String>,
    /// Maximum model calls with tools per run [default: 10]
    #[arg(hide = true, long, value_name = "N", value_parser = parse_number)]
    max_steps: Option<Value>,
    /// Maximum tokens of one answer [default: the model's maximum]
    #[arg(hide = true, long, value_name = "N", value_parser = parse_number)]
    max_tokens: Option<Value>,
    /// Reasoning effort: low, medium, high, max [default: the provider's]
    #[arg(hide = true, long, value_name = "LEVEL")]
    effort: Option<String>,
    /// Workspace files for the context, comma-separated [default: none]
    #[arg(hide = true, long, value_name = "PATHS")]
    context_paths: Option<String>,
    /// Skills by name, comma-separated [default: none]
    #[arg(long, value_name = "NAMES")]
    skills: Option<String>,
    /// MCP servers, comma-separated: calendar,issues:optional [default: none]
    #[arg(long, value_name = "NAMES")]
    servers: Option<String>,
    /// Coding agent that works on --message in the place of a model [default: none]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Folder of the coding agent [default: the workspace]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,
}

impl PayloadArgs {
    /// The fields of the payload; none without a flag. An edit may set fields without a kind.
    pub(super) fn to_json(&self) -> Result<Option<Value>, CliError> {
        let mut payload = Map::new();
        if let Some(text) = &self.system_event {
            payload.insert("kind".to_owned(), json!("systemEvent"));
            payload.insert("text".to_owned(), json!(text));
        }
        if let Some(message) = &self.message {
            payload.insert("kind".to_owned(), json!("agentTurn"));
            payload.insert("message".to_owned(), json!(message));
        }
        if let Some(tool) = &self.tool {
            payload.insert("kind".to_owned(), json!("toolCall"));
            payload.insert("tool".to_owned(), json!(tool));
        }
        if self.tool.is_some() || self.arguments.is_some() {
            payload.insert("arguments".to_owned(), self.tool_arguments()?);
        }
        set(&mut payload, "notifyWhen", self.notify_when.clone());
        set(&mut payload, "deliver", self.deliver);
        set(&mut payload, "channel", text_value(self.channel.as_deref()));
        set(&mut payload, "to", text_value(self.to.as_deref()));
        set(&mut payload, "model", text_value(self.model.as_deref()));
        set(&mut payload, "fallbacks", names_value(self.fallbacks.as_deref(), NONE));
        if self.tools.as_deref().is_some_and(|tools| tools.trim().is_empty()) {
            return Err(CliError::input("--tools: expected tool names, all or none"));
        }
        let is_none = self.tools.as_deref().map(|tools| tools == NONE);
        set(&mut payload, "useTools", is_none.map(|is_none| is_none.then_some(false)));
        let tools = self.tools.as_deref().filter(|tools| *tools != NONE);
        set(&mut payload, "tools", names_value(tools, "all"));
        set(&mut payload, "maxSteps", self.max_steps.clone());
        set(&mut payload, "maxTokens", self.max_tokens.clone());
        let effort = self.effort.as_deref().map(|effort| if effort == NONE { "" } else { effort });
        set(&mut payload, "effort", text_value(effort));
        set(&mut payload, "contextPaths", names_value(self.context_paths.as_deref(), NONE));
        set(&mut payload, "skills", names_value(self.skills.as_deref(), NONE));
        set(&mut payload, "servers", names_value(self.servers.as_deref(), NONE));
        let agent = self.agent.as_deref().map(|agent| if agent == NONE { "" } else { agent });
        set(&mut payload, "agent", text_value(agent));
        set(&mut payload, "cwd", text_value(self.cwd.as_deref()));
        Ok((!payload.is_empty()).then_some(Value::Object(payload)))
    }

    /// The patch of the `present` payload. New arguments replace the old arguments; another tool starts without
    /// arguments.
    pub(super) fn to_patch(&self, present: &Value) -> Result<Option<Value>, CliError> {
        let Some(mut patch) = self.to_json()? else { return Ok(None) };
        self.check_kind(patch.get("kind").unwrap_or(&present["kind"]))?;
        if self.arguments.is_none() && patch["tool"] == present["tool"] {
            patch.as_object_mut().map(|patch| patch.remove("arguments"));
        } else if let Some(arguments) = patch.get_mut("arguments") {
            *arguments = replacement_patch(&present["arguments"], arguments.take());
        }
        Ok(Some(patch))
    }

    /// Refuses flags without an effect on a payload of this kind.
    pub(super) fn check_kind(&self, kind: &Value) -> Result<(), CliError> {
        let (agent, tool) = (("agentTurn", "--message"), ("toolCall", "--tool"));
        let flags = [
            ("--deliver", self.deliver.is_some(), agent),
            ("--channel", self.channel.is_some(), agent),
            ("--to", self.to.is_some(), agent),
            ("--model", self.model.is_some(), agent),
            ("--fallbacks", self.fallbacks.is_some(), agent),
            ("--tools", self.tools.is_some(), agent),
            ("--max-steps", self.max_steps.is_some(), agent),
            ("--max-tokens", self.max_tokens.is_some(), agent),
            ("--effort", self.effort.is_some(), agent),
            ("--context-paths", self.context_paths.is_some(), agent),
            ("--skills", self.skills.is_some(), agent),
            ("--servers", self.servers.is_some(), agent),
            ("--agent", self.agent.is_some(), agent),
            ("--cwd", self.cwd.is_some(), agent),
            ("--arguments", self.arguments.is_some(), tool),
            ("--notify-when", self.notify_when.is_some(), tool),
        ];
        let is_misplaced = |(_, is_set, (of, _)): &&(_, bool, (&str, _))| *is_set && kind != of;
        match flags.iter().find(is_misplaced) {
            Some((flag, _, (_, other))) => Err(CliError::input(format!("{flag} needs {other}"))),
            None => Ok(()),
        }
    }

    fn tool_arguments(&self) -> Result<Value, CliError> {
        let Some(text) = &self.arguments else { return Ok(json!({})) };
        serde_json::from_str(text).map_err(|error| CliError::input(json_error(&error)))
    }
}

/// A word, or a condition over `result`, `previous`, `state` and `event`. A condition has more than letters.
fn parse_notify_when(text: &str) -> Result<Value, String> {
    if let Ok(word) = text.parse::<NotifyWord>() {
        return Ok(json!(word));
    }
    if text.chars().all(char::is_alphabetic) {
        let words = NotifyWord::VARIANTS.join(", ");
        return Err(format!("expected {words}, or a CEL condition such as `result.level < 20`"));
    }
    Ok(json!({ "cel": text }))
}

/// The position of a JSON error and an example. The parser's message speaks of tokens.
fn json_error(error: &serde_json::Error) -> String {
    let position = match (error.is_eof(), error.line(), error.column()) {
        (true, ..) => "incomplete".to_owned(),
        (false, 1, column) => format!("see character {column}"),
        (false, line, column) => format!("see line {line}, character {column}"),
    };
    format!(
        r#"--arguments: not JSON ({position}); for example '{{"text": "Hello"}}' in single quotes"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_changes_arguments_without_tool_name() {
        use clap::Parser as _;

        #[derive(clap::Parser)]
        struct Edit {
            #[command(flatten)]
            payload: PayloadArgs,
        }

        let present = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        let change = |flags: &[&str], present: &Value| {
            let flags = [&["edit"], flags].concat();
            Edit::try_parse_from(flags).expect("flags").payload.to_patch(present)
        };
        for (flags, patch) in [
            (
                &["--arguments", r#"{"tz":"UTC"}"#][..],
                json!({ "arguments": { "text": null, "tz": "UTC" } }),
            ),
            (&["--notify-when", "changed"], json!({ "notifyWhen": "changed" })),
            (&["--tool", "echo"], json!({ "kind": "toolCall", "tool": "echo" })),
            (
                &["--tool", "time"],
                json!({ "kind": "toolCall", "tool": "time", "arguments": { "text": null } }),
            ),
        ] {
            assert_eq!(change(flags, &present).expect("a valid change"), Some(patch), "{flags:?}");
        }
        let agent = json!({ "kind": "agentTurn", "message": "Look" });
        for flags in [["--arguments", "{}"], ["--notify-when", "changed"]] {
            let refused = change(&flags, &agent).expect_err("no tool");
            let refused = format!("{refused:?}");
            assert!(refused.contains("needs --tool"), "{refused}");
        }
    }

    #[test]
    fn notify_when_takes_a_word_or_a_condition() {
        assert_eq!(parse_notify_when("failure"), Ok(json!("failure")));
        let condition = "result.level < 20";
        assert_eq!(parse_notify_when(condition), Ok(json!({ "cel": condition })));
        let refused = parse_notify_when("sometimes").expect_err("no word");
        assert!(refused.contains("always, failure, changed"), "{refused}");
    }

    #[test]
    fn json_error_has_position_and_example() {
        let message =
            |text: &str| json_error(&serde_json::from_str::<Value>(text).expect_err("no JSON"));
        let example = r#"for example '{"text": "Hello"}' in single quotes"#;
        assert_eq!(
            message("text=x"),
            format!("--arguments: not JSON (see character 2); {example}")
        );
        assert_eq!(
            message(r#"{"text":"#),
            format!("--arguments: not JSON (incomplete); {example}")
        );
    }
}
