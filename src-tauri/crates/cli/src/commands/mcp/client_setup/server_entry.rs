//! The entry of Rouse: the command that a client starts.
//!
//! Holds no secret: `rouse mcp serve` reads the token of the person itself.

use rouse_host::PROCESS_MARKER;
use serde_json::{Value, json};

use super::client_app::ClientFormat;
use crate::resolve::error::CliError;

/// Name of the entry.
pub(super) const ENTRY_NAME: &str = "rouse";
/// Arguments of the command.
pub(super) const ARGUMENTS: [&str; 2] = ["mcp", "serve"];
/// Variable of the data directory.
pub(super) const HOME_VARIABLE: &str = "ROUSE_HOME";

/// The entry of Rouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerEntry {
    /// Absolute path of the `rouse` command.
    pub(super) command: String,
    /// Data directory, if not the usual one.
    pub(super) home: Option<String>,
}

impl ServerEntry {
    /// The entry that starts this program with this data directory.
    pub(super) fn of_this_program(
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, CliError> {
        let program = std::env::current_exe()?;
        let Some(command) = program.to_str().map(str::to_owned) else {
            let path = program.display();
            return Err(CliError::Refused(format!(
                "The path of this program is not UTF-8: {path}. Move the program and try again."
            )));
        };
        Ok(Self { command, home: variable(HOME_VARIABLE) })
    }

    /// The entry of a JSON file.
    pub(super) fn json(&self, has_type: bool) -> Value {
        let mut entry = json!({});
        if has_type {
            entry["type"] = "stdio".into();
        }
        entry["command"] = self.command.as_str().into();
        entry["args"] = json!(ARGUMENTS);
        if let Some(home) = &self.home {
            entry["env"] = json!({ HOME_VARIABLE: home });
        }
        entry
    }

    /// The text for a file that the person changes by hand.
    pub(super) fn paste_text(&self, format: ClientFormat) -> String {
        match format {
            ClientFormat::Json { servers, has_type } => {
                format!("{:#}", json!({ servers: { ENTRY_NAME: self.json(has_type) } }))
            }
            ClientFormat::Toml => self.toml_text(),
            ClientFormat::Yaml => format!("extensions:\n{}", self.yaml_block(2)),
        }
    }

    fn toml_text(&self) -> String {
        let command = json!(self.command);
        let arguments = json!(ARGUMENTS);
        let forwarded = json!([PROCESS_MARKER]);
        let table = format!(
            "[mcp_servers.{ENTRY_NAME}]\ncommand = {command}\nargs = {arguments}\nenv_vars = {forwarded}"
        );
        match &self.home {
            Some(home) => format!("{table}\nenv = {{ {HOME_VARIABLE} = {} }}", json!(home)),
            None => table,
        }
    }

    /// The entry of a YAML file.
    pub(super) fn yaml(&self) -> Value {
        let variables = self.home.as_ref().map(|home| json!({ HOME_VARIABLE: home }));
        json!({
            "name": "Rouse",
            "type": "stdio",
            "enabled": true,
            "cmd": self.command,
            "args": ARGUMENTS,
            "envs": variables.unwrap_or_else(|| json!({})),
            "timeout": 60,
        })
    }

    /// The lines of the entry in a YAML block. JSON values are valid YAML.
    pub(super) fn yaml_block(&self, indent: usize) -> String {
        let (name_indent, field_indent) = (" ".repeat(indent), " ".repeat(2 * indent));
        let mut block = format!("{name_indent}{ENTRY_NAME}:");
        for (key, value) in self.yaml().as_object().into_iter().flatten() {
            block += &format!("\n{field_indent}{key}: {value}");
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_starts_the_bridge_with_the_data_directory() {
        let entry = ServerEntry { command: "/opt/rouse".to_owned(), home: None };
        let expected = json!({ "command": "/opt/rouse", "args": ["mcp", "serve"] });
        assert_eq!(entry.json(false), expected);
        let entry = ServerEntry { home: Some("/data".to_owned()), ..entry };
        let expected = json!({
            "type": "stdio", "command": "/opt/rouse", "args": ["mcp", "serve"],
            "env": { "ROUSE_HOME": "/data" },
        });
        assert_eq!(entry.json(true), expected);
        assert!(entry.paste_text(ClientFormat::Yaml).contains("cmd: \"/opt/rouse\""));
        let toml = entry.paste_text(ClientFormat::Toml);
        assert!(toml.parse::<toml_edit::DocumentMut>().is_ok(), "{toml}");
    }
}
