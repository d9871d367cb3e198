//! The definition of a server: from flags, or from one server of an `mcpServers` document.
//!
//! Owns the meaning of the flags. Flags add to a document, which `import` reads. Pitfall: a relative program, which
//! means another file in the server's own folder.

use std::collections::BTreeMap;
use std::path::Path;

use rouse_core::extension::import::ImportedSecret;
use rouse_core::extension::{ExtensionName, ServerDefinition, ServerTransport};
use rouse_core::job::FolderGrant;
use rouse_core::text::escape_line;
use rouse_host::find_program;
use serde_json::json;

use super::import::read_server;
use super::oauth_flags::OAuthFlags;
use crate::resolve::error::CliError;

/// A program and what it may use.
#[derive(Debug, Default, clap::Args)]
pub(in crate::commands) struct ProgramArgs {
    /// Variable of the process; a value may hold {{secret:NAME}}; repeatable
    #[arg(long = "env", value_name = "KEY=VALUE")]
    environment: Vec<String>,
    /// Folder that the program may use: ~/Notes:write; repeatable [default: its private folder]
    #[arg(long = "folder", value_name = "PATH[:write]")]
    folders: Vec<String>,
    /// Host that the program may reach; repeatable [default: no network]
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Run the program with your own rights, outside the sandbox
    #[arg(long)]
    own_rights: bool,
    /// Time limit of the start in seconds [default: 30]
    #[arg(long, value_name = "SECONDS")]
    start_timeout: Option<u32>,
    /// Time limit of a call without progress in seconds [default: 60, of a coding agent 600]
    #[arg(long, value_name = "SECONDS")]
    call_timeout: Option<u32>,
    /// Program and arguments, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The definition of a server.
#[derive(Debug, Default, clap::Args)]
pub(in crate::commands) struct DefinitionArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// URL of a server that runs elsewhere
    #[arg(long, value_name = "URL", conflicts_with_all = ["from", "command"])]
    url: Option<String>,
    /// Header of each request, with --url; a value may hold {{secret:NAME}}; repeatable
    #[arg(long = "header", value_name = "KEY: VALUE")]
    headers: Vec<String>,
    #[command(flatten)]
    oauth: OAuthFlags,
    /// File with one server of an `mcpServers` document; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    from: Option<String>,
}

impl From<ProgramArgs> for DefinitionArgs {
    fn from(program: ProgramArgs) -> Self {
        Self { program, ..Self::default() }
    }
}

/// The definition of flags or of a document.
#[derive(Debug)]
pub(in crate::commands) struct RequestedDefinition {
    pub(in crate::commands) server: ServerDefinition,
    /// What the person should know about the document, escaped.
    pub(super) notes: Vec<String>,
    /// The secrets that the document holds or needs.
    pub(super) secrets: Vec<ImportedSecret>,
}

impl DefinitionArgs {
    /// The definition.
    pub(in crate::commands) fn into_definition(
        mut self,
        name: &ExtensionName,
    ) -> Result<RequestedDefinition, CliError> {
        let (mut notes, mut secrets) = (Vec::new(), Vec::new());
        let mut server = match (self.from.take(), self.url.take()) {
            (Some(file), _) => {
                let imported = read_server(Path::new(&file), name)?;
                (notes, secrets) = (imported.notes, imported.secrets);
                imported.definition
            }
            (None, Some(url)) => ServerDefinition::new(ServerTransport::Http {
                url,
                headers: BTreeMap::new(),
                oauth: None,
            }),
            (None, None) => {
                let mut words = std::mem::take(&mut self.program.command).into_iter();
                let Some(command) = words.next() else {
                    return Err(CliError::input(
                        "Name the server: its command after --, --url URL, or --from FILE",
                    ));
                };
                ServerDefinition::new(stdio(command, words.collect()))
            }
        };
        self.apply_flags(&mut server.transport)?;
        self.oauth.apply(&mut server.transport)?;
        if let ServerTransport::Stdio { command, .. } = &mut server.transport {
            *command = absolute_program(command);
        }
        server.start_timeout_seconds = self.program.start_timeout.or(server.start_timeout_seconds);
        server.call_timeout_seconds = self.program.call_timeout.or(server.call_timeout_seconds);
        // A flag may have replaced the value of the document.
        let written = json!(server.transport).to_string();
        secrets.retain(|secret: &ImportedSecret| {
            written.contains(&format!("{{{{secret:{}}}}}", secret.name))
        });
        Ok(RequestedDefinition { server, notes, secrets })
    }

    /// The definition of a package: the words after `--` follow its arguments. `runtime` is its interpreter, or empty.
    pub(super) fn into_package_draft(
        mut self,
        runtime: &str,
    ) -> Result<ServerDefinition, CliError> {
        let words = std::mem::take(&mut self.program.command);
        self.with_transport(stdio(runtime_program(runtime), words))
    }

    /// Whether words follow `--`.
    pub(in crate::commands) const fn has_command(&self) -> bool {
        !self.program.command.is_empty()
    }

    /// The definition of a folder: the words after `--` are its command, as written.
    pub(super) fn into_folder_draft(mut self) -> Result<ServerDefinition, CliError> {
        let mut words = std::mem::take(&mut self.program.command).into_iter();
        let Some(command) = words.next() else {
            return Err(CliError::input(
                "--folder-source: write the program and its arguments after --",
            ));
        };
        self.with_transport(stdio(command, words.collect()))
    }

    /// `server` with these flags; the words after `--` follow its arguments.
    pub(in crate::commands) fn added_to(
        mut self,
        server: ServerDefinition,
    ) -> Result<ServerDefinition, CliError> {
        let mut transport = server.transport;
        let words = std::mem::take(&mut self.program.command);
        match &mut transport {
            ServerTransport::Stdio { arguments, .. } => arguments.extend(words),
            ServerTransport::Http { .. } | ServerTransport::Wasm { .. } if words.is_empty() => {}
            ServerTransport::Http { .. } => {
                return Err(CliError::input(
                    "The server runs elsewhere: leave out the words after --",
                ));
            }
            ServerTransport::Wasm { .. } => {
                return Err(CliError::input(
                    "The tool has no command: leave out the words after --",
                ));
            }
        }
        self.with_transport(transport)
    }

    /// The variables and headers of the flags.
    pub(super) fn given_values(&self) -> Result<BTreeMap<String, String>, CliError> {
        let mut values = parse_pairs("--env", "KEY=VALUE", &self.program.environment, '=')?;
        values.extend(parse_pairs("--header", "KEY: VALUE", &self.headers, ':')?);
        Ok(values)
    }

    fn with_transport(self, mut transport: ServerTransport) -> Result<ServerDefinition, CliError> {
        self.apply_flags(&mut transport)?;
        Ok(ServerDefinition {
            start_timeout_seconds: self.program.start_timeout,
            call_timeout_seconds: self.program.call_timeout,
            ..ServerDefinition::new(transport)
        })
    }

    /// Adds variables, headers and permissions.
    fn apply_flags(&self, transport: &mut ServerTransport) -> Result<(), CliError> {
        match transport {
            ServerTransport::Stdio { environment, folders, hosts, is_unconfined, .. } => {
                if !self.headers.is_empty() {
                    return Err(CliError::input("--header is for a server with --url"));
                }
                environment.extend(parse_pairs(
                    "--env",
                    "KEY=VALUE",
                    &self.program.environment,
                    '=',
                )?);
                for folder in &self.program.folders {
                    let folder = folder
                        .parse::<FolderGrant>()
                        .map_err(|error| CliError::input(format!("--folder: {error}")))?;
                    folders.push(folder);
                }
                hosts.extend(self.program.hosts.iter().cloned());
                *is_unconfined = self.program.own_rights;
            }
            ServerTransport::Http { headers, .. } => {
                let is_plain =
                    self.program.environment.is_empty() && self.program.folders.is_empty();
                if !is_plain || !self.program.hosts.is_empty() || self.program.own_rights {
                    return Err(CliError::input(
                        "--env, --folder, --host and --own-rights are for a server that Rouse starts",
                    ));
                }
                headers.extend(parse_pairs("--header", "KEY: VALUE", &self.headers, ':')?);
            }
            ServerTransport::Wasm { .. } => {
                let program = &self.program;
                let is_plain = self.headers.is_empty()
                    && program.environment.is_empty()
                    && program.folders.is_empty();
                if !is_plain || !program.hosts.is_empty() || program.own_rights {
                    return Err(CliError::input(
                        "--header, --env, --folder, --host and --own-rights are for a server; tool.toml has the permissions of a tool",
                    ));
                }
            }
        }
        Ok(())
    }
}

fn stdio(command: String, arguments: Vec<String>) -> ServerTransport {
    ServerTransport::Stdio {
        command,
        arguments,
        environment: BTreeMap::new(),
        folder: None,
        folders: Vec::new(),
        hosts: Vec::new(),
        is_unconfined: false,
    }
}

/// Names and values, split at the first `separator`.
fn parse_pairs(
    flag: &str,
    form: &str,
    texts: &[String],
    separator: char,
) -> Result<BTreeMap<String, String>, CliError> {
    let mut pairs = BTreeMap::new();
    for text in texts {
        let Some((name, value)) = text.split_once(separator) else {
            let text = escape_line(text);
            return Err(CliError::input(format!("{flag}: expected {form}, found `{text}`")));
        };
        // A header has a space after the colon.
        let value = if separator == ':' { value.trim() } else { value };
        pairs.insert(name.trim().to_owned(), value.to_owned());
    }
    Ok(pairs)
}

/// The absolute path of a program. A bare name that is not found stays; the engine looks for it too.
pub(super) fn absolute_program(program: &str) -> String {
    let is_path = Path::new(program).components().count() > 1;
    let found = if is_path {
        // silent-ok: the engine refuses a relative path with the reason.
        std::path::absolute(program).ok().and_then(|path| path.to_str().map(str::to_owned))
    } else {
        // silent-ok: the engine reports a missing program.
        find_program(program, std::env::var("PATH").ok().as_deref()).ok()
    };
    found.unwrap_or_else(|| program.to_owned())
}

/// The absolute path of an interpreter in the `PATH` of this terminal; empty if not found, so that the engine looks.
pub(in crate::commands) fn runtime_program(name: &str) -> String {
    // silent-ok: the engine reports a missing program.
    find_program(name, std::env::var("PATH").ok().as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ExtensionName {
        "cal".parse().expect("a name")
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn error_of(args: DefinitionArgs) -> String {
        args.into_definition(&name()).expect_err("invalid").lines().join(" ")
    }

    #[cfg(unix)]
    #[test]
    fn flags_give_a_definition() {
        let args = DefinitionArgs::from(ProgramArgs {
            environment: words(&["TOKEN={{secret:cal}}", "URL=a=b"]),
            folders: words(&["~/Notes:write"]),
            hosts: words(&["api.example.org"]),
            command: words(&["/opt/cal", "--stdio"]),
            start_timeout: Some(120),
            ..ProgramArgs::default()
        });
        let expected = json!({
            "transport": {
                "kind": "stdio", "command": "/opt/cal", "arguments": ["--stdio"],
                "environment": { "TOKEN": "{{secret:cal}}", "URL": "a=b" },
                "folders": ["~/Notes:write"], "hosts": ["api.example.org"], "isUnconfined": false,
            },
            "startTimeoutSeconds": 120,
        });
        assert_eq!(json!(args.into_definition(&name()).expect("a definition").server), expected);
    }

    #[test]
    fn header_follows_a_colon() {
        let args = DefinitionArgs {
            url: Some("https://mcp.example.org".to_owned()),
            headers: words(&["Authorization: Bearer {{secret:cal}}"]),
            ..DefinitionArgs::default()
        };
        let server = json!(args.into_definition(&name()).expect("a definition").server);
        let headers = json!({ "Authorization": "Bearer {{secret:cal}}" });
        assert_eq!(server["transport"]["headers"], headers);
    }

    #[test]
    fn unusable_flags_are_named() {
        let command = || ProgramArgs { command: words(&["/opt/cal"]), ..Default::default() };
        let cases = [
            (DefinitionArgs::default(), "Name the server"),
            (
                ProgramArgs { environment: words(&["TOKEN"]), ..command() }.into(),
                "--env: expected KEY=VALUE, found `TOKEN`",
            ),
            (
                ProgramArgs { folders: words(&["Notes"]), ..command() }.into(),
                "--folder: expected a folder",
            ),
            (
                DefinitionArgs { headers: words(&["A: b"]), ..command().into() },
                "--header is for a server with --url",
            ),
            (
                DefinitionArgs {
                    url: Some("https://a.example".to_owned()),
                    ..ProgramArgs { own_rights: true, ..Default::default() }.into()
                },
                "--env, --folder, --host and --own-rights",
            ),
        ];
        for (args, message) in cases {
            let error = error_of(args);
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn document_is_read_as_an_import_reads_it() {
        let key = "ghp_q7Zk2pX9vB4mT1sR8wN6q7Zk2pX9vB4mT1sR";
        let environment = json!({ "API_KEY": key, "HOME_TOKEN": "${TOKEN}", "MODE": "x" });
        let server = json!({ "command": "/bin/cal", "args": ["--stdio"], "env": environment, "disabled": true });
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("p.json");
        std::fs::write(&file, json!({ "mcpServers": { "other": server } }).to_string())
            .expect("written");
        let args = DefinitionArgs {
            from: Some(file.display().to_string()),
            ..ProgramArgs { environment: words(&["MODE=y"]), ..ProgramArgs::default() }.into()
        };
        let found = args.into_definition(&name()).expect("a definition");
        let expected = json!({
            "API_KEY": "{{secret:cal_api_key}}", "HOME_TOKEN": "{{secret:cal_token}}", "MODE": "y",
        });
        assert_eq!(json!(found.server)["transport"]["environment"], expected);
        let values: Vec<_> =
            found.secrets.iter().map(|secret| (secret.name.as_str(), secret.value())).collect();
        assert_eq!(values, [("cal_api_key", Some(key)), ("cal_token", None)]);
        let notes = found.notes.join(" ");
        for words in ["calls the server other", "is disabled", "rouse secrets set cal_api_key"] {
            assert!(notes.contains(words), "{words}: {notes}");
        }
        assert!(!notes.contains(&key[..12]), "{notes}");
    }

    #[test]
    fn unusable_document_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("p.json");
        for (text, message) in [
            ("{ \"command\": hunter2hunter2 }", "line 1"),
            ("{}", "names no MCP servers"),
            (
                "{ \"command\": \"/bin/a\", \"args\": [\"--api-key\", \"hunter2hunter2\"] }",
                "Argument 2 holds",
            ),
        ] {
            std::fs::write(&file, text).expect("written");
            let from = Some(file.display().to_string());
            let error = error_of(DefinitionArgs { from, ..DefinitionArgs::default() });
            assert!(error.starts_with("--from: ") && error.contains(message), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
