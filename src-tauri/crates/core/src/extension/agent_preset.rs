//! Known coding agents: how each speaks the Agent Client Protocol, and what its sign-in needs.
//!
//! Owns facts of the makers' documentation. A preset is a proposal: the person accepts the definition that follows from
//! it, and may change every part. Pitfall: an agent that acts without asking; `unasked` says so before the
//! installation.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::definition::{ServerDefinition, ServerProtocol, ServerTransport};
use super::package::ExtensionSource;
use crate::job::{FolderAccess, FolderGrant};

/// A known coding agent.
#[derive(Debug)]
pub struct AgentPreset {
    /// The name of the extension.
    pub name: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The program in `PATH`.
    pub program: &'static str,
    /// The arguments after which the program speaks the protocol.
    pub arguments: &'static [&'static str],
    /// The package and the version of npm; none for a program that the person installs.
    pub package: Option<(&'static str, &'static str)>,
    /// Variables that every start needs.
    pub environment: &'static [(&'static str, &'static str)],
    /// The session mode.
    pub mode: Option<&'static str>,
    /// The folders with the agent's settings and sign-in.
    pub settings_folders: &'static [&'static str],
    /// The variables that lead to these folders from inside the sandbox. `~` is the home folder.
    pub settings_variables: &'static [(&'static str, &'static str)],
    /// The hosts of the model and of the sign-in.
    pub hosts: &'static [&'static str],
    /// Variables that hold a key in the place of a sign-in.
    pub key_variables: &'static [&'static str],
    /// How a person signs in, as a sentence.
    pub sign_in: &'static str,
    /// What the agent does without asking, as a sentence.
    pub unasked: &'static str,
}

/// The known coding agents.
pub const AGENT_PRESETS: [AgentPreset; 6] = [
    AgentPreset {
        name: "claude-code",
        label: "Claude Code",
        program: "claude-agent-acp",
        arguments: &[],
        package: Some(("@agentclientprotocol/claude-agent-acp", "0.101.0")),
        environment: &[],
        mode: Some("default"),
        settings_folders: &["~/.claude"],
        settings_variables: &[("CLAUDE_CONFIG_DIR", "~/.claude")],
        hosts: &["api.anthropic.com", "claude.ai", "platform.claude.com"],
        key_variables: &["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY"],
        sign_in: "Sign in once with `claude`, or store the token of `claude setup-token` as a secret.",
        unasked: "In its mode `default` it asks before it changes files and before commands that do more than read.",
    },
    AgentPreset {
        name: "codex",
        label: "Codex",
        program: "codex-acp",
        arguments: &[],
        package: Some(("@agentclientprotocol/codex-acp", "2.6.0")),
        environment: &[],
        mode: None,
        settings_folders: &["~/.codex"],
        settings_variables: &[("CODEX_HOME", "~/.codex")],
        hosts: &["chatgpt.com", "api.openai.com", "auth.openai.com"],
        key_variables: &[],
        sign_in: "Sign in once with `codex login`.",
        unasked: "It changes files of its folder and runs commands there without asking, and asks before it leaves them.",
    },
    AgentPreset {
        name: "gemini",
        label: "Gemini CLI",
        program: "gemini",
        arguments: &["--acp"],
        package: Some(("@google/gemini-cli", "0.61.0")),
        environment: &[],
        mode: Some("default"),
        settings_folders: &["~/.gemini"],
        settings_variables: &[("GEMINI_CLI_HOME", "~")],
        hosts: &[
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
            "accounts.google.com",
        ],
        key_variables: &["GEMINI_API_KEY"],
        sign_in: "Store an API key as a secret, or sign in once with `gemini`.",
        unasked: "In its mode `default` it asks before it changes files and before commands.",
    },
    AgentPreset {
        name: "goose",
        label: "Goose",
        program: "goose",
        arguments: &["acp"],
        package: None,
        environment: &[("GOOSE_MODE", "approve"), ("GOOSE_DISABLE_KEYRING", "1")],
        mode: None,
        settings_folders: &["~/.config/goose"],
        settings_variables: &[("XDG_CONFIG_HOME", "~/.config")],
        hosts: &[],
        key_variables: &[],
        sign_in: "Run `goose configure` once, and add the host of your provider.",
        unasked: "In its mode `approve` it asks before each action.",
    },
    AgentPreset {
        name: "opencode",
        label: "opencode",
        program: "opencode",
        arguments: &["acp"],
        package: Some(("opencode-ai", "1.18.33")),
        environment: &[(
            "OPENCODE_CONFIG_CONTENT",
            r#"{"permission":{"edit":"ask","bash":"ask"}}"#,
        )],
        mode: None,
        settings_folders: &["~/.local/share/opencode", "~/.config/opencode"],
        settings_variables: &[
            ("XDG_DATA_HOME", "~/.local/share"),
            ("XDG_CONFIG_HOME", "~/.config"),
        ],
        hosts: &[],
        key_variables: &[],
        sign_in: "Run `opencode auth login` once, and add the host of your provider.",
        unasked: "With the settings of this page it asks before it changes files and before commands.",
    },
    AgentPreset {
        name: "copilot",
        label: "GitHub Copilot",
        program: "copilot",
        arguments: &["--acp"],
        package: Some(("@github/copilot", "1.0.102")),
        environment: &[],
        mode: None,
        settings_folders: &["~/.copilot"],
        settings_variables: &[("COPILOT_HOME", "~/.copilot")],
        hosts: &[
            "github.com",
            "api.github.com",
            "api.githubcopilot.com",
            "api.individual.githubcopilot.com",
            "api.business.githubcopilot.com",
            "api.enterprise.githubcopilot.com",
        ],
        key_variables: &["COPILOT_GITHUB_TOKEN"],
        sign_in: "Sign in once with `copilot login`, or store a token as a secret.",
        unasked: "Some versions act without asking: try it in an empty folder first.",
    },
];

/// A known coding agent, for clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct AgentPresetView {
    /// The name of the extension.
    pub name: String,
    /// The name for people.
    pub label: String,
    /// The whole proposal: with the settings folders and the hosts.
    pub server: ServerDefinition,
    /// The package; none for a program that the person installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ExtensionSource>,
    /// How a person signs in, as a sentence.
    pub sign_in: String,
    /// What the agent does without asking, as a sentence.
    pub unasked: String,
}

impl AgentPreset {
    /// The preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        AGENT_PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The preset of an installed or proposed agent: by its name, its npm package, or its program.
    #[must_use]
    pub fn of(
        name: &str,
        server: &ServerDefinition,
        source: Option<&ExtensionSource>,
    ) -> Option<&'static Self> {
        let is_package = |preset: &&Self| match (source, preset.package) {
            (Some(ExtensionSource::Npm { package, .. }), Some((own, _))) => package == own,
            _ => false,
        };
        let is_program = |preset: &&Self| match &server.transport {
            ServerTransport::Stdio { command, .. } => {
                Path::new(command).file_stem().is_some_and(|stem| stem == preset.program)
            }
            ServerTransport::Http { .. } | ServerTransport::Wasm { .. } => false,
        };
        let mut presets = AGENT_PRESETS.iter();
        Self::named(name)
            .or_else(|| presets.find(|preset| is_package(preset) || is_program(preset)))
    }

    /// The proposal with the settings folders and the hosts.
    #[must_use]
    pub fn definition(&self) -> ServerDefinition {
        let pairs = self.environment.iter().chain(self.settings_variables);
        let environment: BTreeMap<String, String> =
            pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let folders = self
            .settings_folders
            .iter()
            .map(|path| FolderGrant { path: (*path).to_owned(), access: FolderAccess::Write });
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        ServerDefinition {
            protocol: ServerProtocol::Acp,
            mode: self.mode.map(str::to_owned),
            ..ServerDefinition::new(ServerTransport::Stdio {
                command: self.program.to_owned(),
                arguments: owned(self.arguments),
                environment,
                folder: None,
                folders: folders.collect(),
                hosts: owned(self.hosts),
                is_unconfined: false,
            })
        }
    }

    /// The package of npm.
    #[must_use]
    pub fn source(&self) -> Option<ExtensionSource> {
        let (package, version) = self.package?;
        Some(ExtensionSource::Npm {
            package: package.to_owned(),
            version: version.to_owned(),
            program: Some(self.program.to_owned()),
            integrity: None,
        })
    }

    /// The preset for clients.
    #[must_use]
    pub fn view(&self) -> AgentPresetView {
        AgentPresetView {
            name: self.name.to_owned(),
            label: self.label.to_owned(),
            server: self.definition(),
            source: self.source(),
            sign_in: self.sign_in.to_owned(),
            unasked: self.unasked.to_owned(),
        }
    }

    /// Why an agent with this definition cannot sign in, as a sentence; none if it can.
    #[must_use]
    pub fn sign_in_problem(&self, server: &ServerDefinition) -> Option<String> {
        let ServerTransport::Stdio { environment, folders, hosts, is_unconfined, .. } =
            &server.transport
        else {
            return None;
        };
        let label = self.label;
        let has_folder = self
            .settings_folders
            .first()
            .is_none_or(|own| folders.iter().any(|folder| folder.path == *own));
        let has_key = self.key_variables.iter().any(|key| environment.contains_key(*key));
        if *is_unconfined {
            None
        } else if !has_folder && !has_key {
            Some(format!(
                "{label} cannot sign in: it has neither its settings folder nor a key. {}",
                self.sign_in
            ))
        } else if hosts.is_empty() {
            Some(format!("{label} cannot reach its model: this page grants no host."))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::ExtensionName;

    #[test]
    fn every_preset_is_a_coding_agent_with_a_valid_name() {
        for preset in &AGENT_PRESETS {
            preset.name.parse::<ExtensionName>().expect("a name");
            let server = preset.definition();
            assert!(server.is_coding_agent(), "{}", preset.name);
            if let Some(source) = preset.source() {
                source.check().expect("an exact package");
            }
        }
    }

    #[test]
    fn preset_without_folder_and_key_cannot_sign_in() {
        let preset = AgentPreset::named("claude-code").expect("a preset");
        let mut server = preset.definition();
        assert_eq!(preset.sign_in_problem(&server), None);
        let ServerTransport::Stdio { environment, folders, hosts, .. } = &mut server.transport
        else {
            panic!("a program")
        };
        folders.clear();
        environment.insert("ANTHROPIC_API_KEY".to_owned(), "{{secret:claude}}".to_owned());
        hosts.clear();
        let problem = preset.sign_in_problem(&server).expect("no host");
        assert!(problem.contains("grants no host"), "{problem}");
        let ServerTransport::Stdio { environment, .. } = &mut server.transport else {
            panic!("a program")
        };
        environment.clear();
        let problem = preset.sign_in_problem(&server).expect("no sign-in");
        assert!(problem.contains("neither its settings folder nor a key"), "{problem}");
    }
}
