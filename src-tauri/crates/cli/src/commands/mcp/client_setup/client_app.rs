//! The MCP clients, with the paths and formats of their settings.

use std::path::PathBuf;

use crate::resolve::error::CliError;

/// An MCP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ClientApp {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Goose,
    Vscode,
    Cursor,
}

/// Where an entry counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SetupScope {
    /// In every project of this user
    User,
    /// In the project of the working directory
    Project,
}

/// The format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientFormat {
    /// JSON, with the servers under a key.
    Json { servers: &'static str, has_type: bool },
    /// TOML of Codex.
    Toml,
    /// YAML of Goose.
    Yaml,
}

/// The settings file of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClientFile {
    pub(super) path: PathBuf,
    pub(super) format: ClientFormat,
    /// What the person does next.
    pub(super) next_step: &'static str,
}

/// The folders of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetupFolders {
    home: PathBuf,
    /// Folder of the settings of applications.
    config: PathBuf,
    codex: PathBuf,
    project: PathBuf,
}

impl SetupFolders {
    /// The folders of this user, and the project.
    pub(super) fn find(
        variable: &dyn Fn(&str) -> Option<String>,
        project: PathBuf,
    ) -> Result<Self, CliError> {
        let home_variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let missing =
            || CliError::Refused(format!("{home_variable} is not set. Set it and try again."));
        let home = variable(home_variable).map(PathBuf::from).ok_or_else(missing)?;
        let config = if cfg!(windows) {
            variable("APPDATA").map_or_else(|| home.join("AppData/Roaming"), PathBuf::from)
        } else if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            variable("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from)
        };
        let codex = variable("CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
        Ok(Self { home, config, codex, project })
    }
}

impl ClientApp {
    /// The settings file of the client.
    pub(super) fn file(
        self,
        scope: SetupScope,
        folders: &SetupFolders,
    ) -> Result<ClientFile, CliError> {
        let (home, project) = (&folders.home, &folders.project);
        let json = |servers: &'static str, has_type: bool| ClientFormat::Json { servers, has_type };
        let (path, format) = match (self, scope) {
            (Self::ClaudeCode, SetupScope::User) => {
                (home.join(".claude.json"), json("mcpServers", true))
            }
            (Self::ClaudeCode, SetupScope::Project) => {
                (project.join(".mcp.json"), json("mcpServers", true))
            }
            (Self::ClaudeDesktop, SetupScope::User) => {
                let folder = folders.config.join("Claude");
                (folder.join("claude_desktop_config.json"), json("mcpServers", false))
            }
            (Self::Codex, SetupScope::User) => {
                (folders.codex.join("config.toml"), ClientFormat::Toml)
            }
            (Self::Goose, SetupScope::User) if cfg!(windows) => {
                (folders.config.join("Block/goose/config/config.yaml"), ClientFormat::Yaml)
            }
            (Self::Goose, SetupScope::User) => {
                (home.join(".config/goose/config.yaml"), ClientFormat::Yaml)
            }
            (Self::Vscode, SetupScope::User) => {
                (folders.config.join("Code/User/mcp.json"), json("servers", true))
            }
            (Self::Vscode, SetupScope::Project) => {
                (project.join(".vscode/mcp.json"), json("servers", true))
            }
            (Self::Cursor, SetupScope::User) => {
                (home.join(".cursor/mcp.json"), json("mcpServers", false))
            }
            (Self::Cursor, SetupScope::Project) => {
                (project.join(".cursor/mcp.json"), json("mcpServers", false))
            }
            (Self::ClaudeDesktop | Self::Codex | Self::Goose, SetupScope::Project) => {
                return Err(CliError::input(
                    "--scope: this client has settings for the user only. Omit --scope.",
                ));
            }
        };
        Ok(ClientFile { path, format, next_step: self.next_step() })
    }

    const fn next_step(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Restart Claude Code, then `/mcp` lists rouse.",
            Self::ClaudeDesktop => "Quit Claude Desktop and open it again.",
            Self::Codex => "Restart Codex, then `codex mcp list` lists rouse.",
            Self::Goose => "Restart Goose.",
            Self::Vscode => "Start rouse with `MCP: List Servers` in VS Code.",
            Self::Cursor => "Enable rouse in the MCP settings of Cursor.",
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_file() {
        let variable = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        let folders = SetupFolders::find(&variable, "/home/u/p".into()).expect("folders");
        let path = |client: ClientApp, scope| {
            client.file(scope, &folders).map(|file| file.path.display().to_string())
        };
        use ClientApp::{ClaudeCode, ClaudeDesktop, Codex, Cursor, Goose, Vscode};
        for (client, user, project) in [
            (ClaudeCode, "/home/u/.claude.json", Some("/home/u/p/.mcp.json")),
            (ClaudeDesktop, "/home/u/.config/Claude/claude_desktop_config.json", None),
            (Codex, "/home/u/.codex/config.toml", None),
            (Goose, "/home/u/.config/goose/config.yaml", None),
            (Vscode, "/home/u/.config/Code/User/mcp.json", Some("/home/u/p/.vscode/mcp.json")),
            (Cursor, "/home/u/.cursor/mcp.json", Some("/home/u/p/.cursor/mcp.json")),
        ] {
            assert_eq!(path(client, SetupScope::User).expect("a file"), user);
            assert_eq!(path(client, SetupScope::Project).ok().as_deref(), project, "{client:?}");
        }
    }

    #[test]
    fn missing_home_is_named() {
        let error = SetupFolders::find(&|_| None, "/home/u/p".into()).expect_err("no home");
        assert!(error.lines()[0].contains("HOME"));
    }
}
