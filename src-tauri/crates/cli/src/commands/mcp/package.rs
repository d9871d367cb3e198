//! The package of a server: from npm, PyPI, a bundle, a folder, or an entry of the MCP registry.
//!
//! Owns the meaning of the flags and the absolute paths. Never connects to a registry: the engine fetches the entry of
//! `--entry`. Pitfall: the words after `--`; they follow the arguments of the package, and are the whole command of a
//! folder.

use std::collections::BTreeMap;
use std::path::Path;

use rouse_core::extension::import::ImportedSecret;
use rouse_core::extension::package::{ExtensionSource, ServerJsonDraft, draft_from_server_json};
use rouse_core::extension::{ExtensionName, ServerDefinition};
use rouse_core::text::{escape_line, quote_word};
use rouse_gateway::wire::RegistryServerView;
use serde_json::json;

use super::definition::{DefinitionArgs, RequestedDefinition};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::paths::absolute_path;

/// Maximum bytes of an entry.
const MAX_ENTRY: u64 = 1 << 20;

/// The package of a server.
#[derive(Debug, Default, clap::Args)]
pub(super) struct PackageArgs {
    /// Package of npm with its exact version
    #[arg(long, value_name = "NAME@VERSION", group = "package", conflicts_with_all = ["from", "url"])]
    npm: Option<String>,
    /// Package of PyPI with its exact version
    #[arg(long, value_name = "NAME==VERSION", group = "package", conflicts_with_all = ["from", "url"])]
    pypi: Option<String>,
    /// Bundle: an .mcpb file
    #[arg(long, value_name = "FILE", group = "package", conflicts_with_all = ["from", "url"])]
    mcpb: Option<String>,
    /// Folder that is used in place; the command follows --
    #[arg(long, value_name = "FOLDER", group = "package", conflicts_with_all = ["from", "url"])]
    folder_source: Option<String>,
    /// File with an entry of the MCP registry (server.json)
    #[arg(long, value_name = "FILE", group = "package", conflicts_with_all = ["from", "url"])]
    server_json: Option<String>,
    /// Entry of the registry in the settings [default version: the latest]
    #[arg(long, value_name = "ENTRY[@VERSION]", group = "package", conflicts_with_all = ["from", "url"])]
    entry: Option<String>,
    /// Program of the package, with --npm and --pypi [default: the only one]
    #[arg(long, value_name = "NAME", requires = "package")]
    program: Option<String>,
    /// Setting of the bundle, with --mcpb; a secret is {{secret:NAME}}; repeatable
    #[arg(long = "config", value_name = "KEY=VALUE", requires = "mcpb")]
    config: Vec<String>,
}

/// What the person asks for.
#[derive(Debug)]
pub(super) struct RequestedServer {
    pub(super) server: ServerDefinition,
    pub(super) source: Option<ExtensionSource>,
    /// What the person should know, escaped.
    pub(super) notes: Vec<String>,
    /// The secrets that a document holds or needs.
    pub(super) secrets: Vec<ImportedSecret>,
}

impl PackageArgs {
    /// The entry of `--entry`; none without this flag.
    pub(super) async fn fetch_entry(
        &self,
        engine: &EngineConnection,
    ) -> Result<Option<RegistryServerView>, CliError> {
        let Some(entry) = &self.entry else { return Ok(None) };
        let (name, version) = match entry.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (entry.as_str(), None),
        };
        let params = json!({ "name": name, "version": version });
        let fetched = engine.fetch("extensions.registryEntry", params).await;
        fetched
            .map(Some)
            .map_err(|error| error.with_field_names(&[("name", "--entry"), ("version", "--entry")]))
    }

    /// Refuses files for an engine on another computer, which has other files.
    pub(super) fn require_files_here(&self, engine: &EngineConnection) -> Result<(), CliError> {
        match (&self.mcpb, &self.folder_source) {
            (Some(_), _) => engine.require_this_computer("--mcpb"),
            (_, Some(_)) => engine.require_this_computer("--folder-source"),
            (None, None) => Ok(()),
        }
    }

    /// The draft. Without a package, the definition alone. `entry` is the document of `--entry`.
    pub(super) fn into_draft(
        self,
        name: &ExtensionName,
        definition: DefinitionArgs,
        entry: Option<&str>,
    ) -> Result<RequestedServer, CliError> {
        let Self { npm, pypi, mcpb, folder_source, server_json, entry: _, program, config } = self;
        if program.is_some() && npm.is_none() && pypi.is_none() {
            return Err(CliError::input("--program is for --npm and --pypi"));
        }
        let packed = |server, source| RequestedServer {
            server,
            source: Some(source),
            notes: Vec::new(),
            secrets: Vec::new(),
        };
        if let Some(text) = npm {
            let source = ExtensionSource::npm(&text, program);
            let source = source.map_err(|error| CliError::input(format!("--npm: {error}")))?;
            return Ok(packed(definition.into_package_draft("node")?, source));
        }
        if let Some(text) = pypi {
            let source = ExtensionSource::pypi(&text, program);
            let source = source.map_err(|error| CliError::input(format!("--pypi: {error}")))?;
            return Ok(packed(definition.into_package_draft("python3")?, source));
        }
        if let Some(file) = mcpb {
            let file = absolute_path("--mcpb", &file)?;
            let source = ExtensionSource::Mcpb { file, sha256: None, config: settings(&config)? };
            return Ok(packed(definition.into_package_draft("")?, source));
        }
        if let Some(path) = folder_source {
            let path = absolute_path("--folder-source", &path)?;
            let is_skill = Path::new(&path).join("SKILL.md").is_file();
            if is_skill && !definition.has_command() {
                return Err(CliError::input(format!(
                    "--folder-source: This folder is a skill. Install it with `rouse skills add {}`",
                    escape_line(&quote_word(&path))
                )));
            }
            let source = ExtensionSource::Folder { path, sha256: None };
            return Ok(packed(definition.into_folder_draft()?, source));
        }
        match (entry, server_json) {
            (Some(text), _) => entry_draft("--entry", text, name, definition),
            (None, Some(file)) => {
                let text = read_entry(&file)?;
                entry_draft("--server-json", &text, name, definition)
            }
            (None, None) => {
                let RequestedDefinition { server, notes, secrets } =
                    definition.into_definition(name)?;
                Ok(RequestedServer { server, source: None, notes, secrets })
            }
        }
    }
}

/// The text of a file with an entry.
fn read_entry(file: &str) -> Result<String, CliError> {
    let invalid = |error: String| CliError::input(format!("--server-json: {error}"));
    let shown = escape_line(file);
    let size = std::fs::metadata(file).map(|found| found.len());
    let size = size.map_err(|error| invalid(format!("{shown} cannot be read: {error}")))?;
    if size > MAX_ENTRY {
        return Err(invalid(format!("{shown} is larger than {} MB", MAX_ENTRY >> 20)));
    }
    let text = std::fs::read_to_string(file);
    text.map_err(|error| invalid(format!("{shown} cannot be read: {error}")))
}

/// The draft of an entry of the MCP registry, which `flag` gave.
fn entry_draft(
    flag: &str,
    text: &str,
    name: &ExtensionName,
    definition: DefinitionArgs,
) -> Result<RequestedServer, CliError> {
    let given = definition.given_values()?;
    let draft = draft_from_server_json(text, name, &given);
    let draft = draft.map_err(|error| CliError::input(format!("{flag}: {error}")))?;
    let ServerJsonDraft { source, server, notes } = draft;
    let server = definition.added_to(server)?;
    Ok(RequestedServer { server, source, notes, secrets: Vec::new() })
}

/// The values of settings; a setting that is given twice has both values.
fn settings(texts: &[String]) -> Result<BTreeMap<String, Vec<String>>, CliError> {
    let mut settings = BTreeMap::<String, Vec<String>>::new();
    for text in texts {
        let Some((key, value)) = text.split_once('=') else {
            let text = escape_line(text);
            return Err(CliError::input(format!("--config: expected KEY=VALUE, found `{text}`")));
        };
        settings.entry(key.trim().to_owned()).or_default().push(value.to_owned());
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn name() -> ExtensionName {
        "cal".parse().expect("a name")
    }

    /// The draft of a command line after `rouse mcp add NAME`.
    fn draft(words: &[&str]) -> Result<Value, String> {
        #[derive(clap::Parser)]
        struct AddCommandLine {
            #[command(flatten)]
            package: PackageArgs,
            #[command(flatten)]
            definition: DefinitionArgs,
        }
        let words = ["add"].into_iter().chain(words.iter().copied());
        let AddCommandLine { package, definition } =
            <AddCommandLine as clap::Parser>::try_parse_from(words)
                .map_err(|error| error.to_string())?;
        let draft = package.into_draft(&name(), definition, None);
        let draft = draft.map_err(|error| error.lines().join(" "))?;
        Ok(
            json!({ "source": draft.source, "transport": draft.server.transport, "notes": draft.notes }),
        )
    }

    #[test]
    fn words_after_the_dashes_follow_the_package() {
        let found = draft(&["--npm", "@scope/files@1.2.3", "--env", "A=b", "--", "/srv", "-v"]);
        let found = found.expect("a draft");
        let source = json!({ "kind": "npm", "package": "@scope/files", "version": "1.2.3" });
        assert_eq!(found["source"], source);
        assert_eq!(found["transport"]["arguments"], json!(["/srv", "-v"]));
        assert_eq!(found["transport"]["environment"], json!({ "A": "b" }));
    }

    #[test]
    fn unusable_flags_are_refused() {
        for (words, message) in [
            (&["--npm", "files"][..], "--npm: files has no version."),
            (&["--npm", "files@latest"], "is no exact version of files"),
            (&["--pypi", "time>=1"], "is no exact version of time"),
            (&["--npm", "a@1.2.3", "--pypi", "b==1"], "cannot be used with"),
            (&["--npm", "a@1.2.3", "--url", "https://a.example"], "cannot be used with"),
            (&["--npm", "a@1.2.3", "--header", "A: b"], "--header is for a server with --url"),
            (&["--entry", "io.example/a", "--npm", "a@1.2.3"], "cannot be used with"),
            (&["--entry", "io.example/a", "--program", "x"], "--program is for"),
            (&["--config", "a=b", "--", "node"], "--mcpb"),
            (&["--mcpb", "no-such-file.mcpb"], "--mcpb: no-such-file.mcpb cannot be read"),
            (&["--folder-source", ".", "--program", "x", "--", "node"], "--program is for"),
            (&["--folder-source", "."], "write the program and its arguments after --"),
        ] {
            let error = draft(words).expect_err(message);
            assert!(error.contains(message), "{words:?}: {error}");
        }
    }

    #[test]
    fn folder_has_the_command_as_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("UTF-8");
        let found =
            draft(&["--folder-source", path, "--", "./server", "--stdio"]).expect("a draft");
        let real = folder.path().canonicalize().expect("a path");
        assert_eq!(found["source"]["path"], json!(real));
        assert_eq!(found["transport"]["command"], "./server");
        assert_eq!(found["transport"]["arguments"], json!(["--stdio"]));
    }

    #[test]
    fn folder_of_a_skill_names_the_other_command() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("SKILL.md"), "---\n").expect("written");
        let path = folder.path().to_str().expect("UTF-8");
        let error = draft(&["--folder-source", path]).expect_err("a skill");
        assert!(error.contains("Install it with `rouse skills add "), "{error}");
        draft(&["--folder-source", path, "--", "./server"]).expect("a server with a skill");
    }

    #[test]
    fn repeated_setting_has_both_values() {
        let found = settings(&["a=1".to_owned(), "b=x=y".to_owned(), "a=2".to_owned()]);
        let found = json!(found.expect("settings"));
        assert_eq!(found, json!({ "a": ["1", "2"], "b": ["x=y"] }));
    }

    #[test]
    fn entry_of_the_registry_becomes_a_draft() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("server.json");
        let package = json!({
            "registryType": "pypi", "identifier": "mcp-time", "version": "1.2",
            "environmentVariables": [{ "name": "ZONE", "isRequired": true }],
        });
        let entry = json!({ "name": "io.example/time", "packages": [package] });
        std::fs::write(&file, entry.to_string()).expect("written");
        let file = file.to_str().expect("UTF-8");
        let found = draft(&["--server-json", file, "--env", "ZONE=UTC", "--host", "a.example"]);
        let found = found.expect("a draft");
        assert_eq!(found["source"]["package"], "mcp-time");
        assert_eq!(found["transport"]["environment"], json!({ "ZONE": "UTC" }));
        assert_eq!(found["transport"]["hosts"], json!(["a.example"]));
        let error = draft(&["--server-json", file]).expect_err("no zone");
        assert!(error.ends_with("Write --env ZONE=VALUE"), "{error}");
    }
}
