//! Entries of the official MCP registry (`server.json`, schema 2025-12-11).
//!
//! Owns the choice of a package or remote, its description, and its conversion to a draft. Never loads an entry.
//! Values of variables come from the person; a secret becomes a handle. Pitfall: a template such as `{host}`, which is
//! refused, because its value would not stand on the page.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::source::ExtensionSource;
use super::version::{ExactPackage, PackageRegistry, PackageSpecError};
use crate::extension::definition::{ServerDefinition, ServerTransport};
use crate::extension::name::ExtensionName;
use crate::redaction::handles;
use crate::text::escape_line;

/// A draft of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerJsonDraft {
    /// The package; none for a server that runs elsewhere.
    pub source: Option<ExtensionSource>,
    /// The definition without what the package adds.
    pub server: ServerDefinition,
    /// What the person should know, as sentences.
    pub notes: Vec<String>,
}

/// Why an entry gives no draft.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerJsonError {
    /// The document is invalid.
    #[error("the document is no entry of the MCP registry: {0}")]
    Invalid(String),
    /// No package or remote that Rouse can use.
    #[error("the entry has nothing that Rouse can install. {0}")]
    Nothing(String),
    /// A required variable, header or argument has no value.
    #[error("{0}")]
    MissingValue(String),
    /// A secret is written as it is.
    #[error("{0}")]
    PlainSecret(String),
    /// A value with a template.
    #[error("{0} holds a template. Install the server by its command or address instead")]
    Template(String),
    /// The package has no exact version.
    #[error("{0}")]
    Package(#[from] PackageSpecError),
}

#[derive(Deserialize)]
struct RegistryAnswer {
    server: RegistryEntry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegistryEntry {
    name: String,
    #[serde(default)]
    packages: Vec<RegistryPackage>,
    #[serde(default)]
    remotes: Vec<RegistryRemote>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegistryPackage {
    registry_type: String,
    #[serde(default)]
    registry_base_url: Option<String>,
    identifier: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    transport: Option<RegistryTransport>,
    #[serde(default)]
    environment_variables: Vec<RegistryInput>,
    #[serde(default)]
    package_arguments: Vec<RegistryInput>,
}

#[derive(Deserialize)]
struct RegistryTransport {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct RegistryRemote {
    #[serde(rename = "type")]
    kind: String,
    url: String,
    #[serde(default)]
    headers: Vec<RegistryInput>,
}

/// A variable, a header or an argument.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegistryInput {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    value_hint: String,
    value: Option<String>,
    default: Option<String>,
    #[serde(default)]
    is_required: bool,
    #[serde(default)]
    is_secret: bool,
}

/// The draft of an entry for the extension `name`. `given` are the variables and headers that the person gives.
///
/// # Errors
/// The document is no entry, names nothing that Rouse can install, or lacks a value.
pub fn draft_from_server_json(
    text: &str,
    name: &ExtensionName,
    given: &BTreeMap<String, String>,
) -> Result<ServerJsonDraft, ServerJsonError> {
    let entry = parse_entry(text)?;
    let mut draft = DraftValues { extension: name, given, notes: Vec::new() };
    draft.notes.push(format!("The entry names the server {}.", escape_line(&entry.name)));
    match choose(&entry)? {
        EntryChoice::Package(source, package) => draft.package(source, package),
        EntryChoice::Remote(remote) => draft.remote(remote),
    }
}

/// What Rouse installs from an entry, for people: `npm package files@1.2.3` or an address.
///
/// # Errors
/// Why Rouse cannot install the entry, whatever values a person gives.
pub fn server_json_source(text: &str) -> Result<String, ServerJsonError> {
    let entry = parse_entry(text)?;
    match choose(&entry)? {
        EntryChoice::Package(source, package) => {
            arguments(&package.package_arguments)?;
            Ok(source.label())
        }
        EntryChoice::Remote(remote) => Ok(escape_line(&remote.url)),
    }
}

fn parse_entry(text: &str) -> Result<RegistryEntry, ServerJsonError> {
    serde_json::from_str::<RegistryAnswer>(text)
        .map(|answer| answer.server)
        .or_else(|_| serde_json::from_str::<RegistryEntry>(text))
        .map_err(|error| ServerJsonError::Invalid(escape_line(&error.to_string())))
}

/// The part of an entry that Rouse installs.
enum EntryChoice<'e> {
    Package(ExtensionSource, &'e RegistryPackage),
    Remote(&'e RegistryRemote),
}

/// The first package or remote that Rouse can use.
fn choose(entry: &RegistryEntry) -> Result<EntryChoice<'_>, ServerJsonError> {
    let mut reasons = Vec::new();
    for package in &entry.packages {
        match usable_kind(package) {
            Ok(registry) => {
                let source = exact_source(registry, package)?;
                return Ok(EntryChoice::Package(source, package));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    for remote in &entry.remotes {
        if remote.kind == "streamable-http" {
            if has_template(&remote.url) {
                return Err(ServerJsonError::Template("The address".to_owned()));
            }
            return Ok(EntryChoice::Remote(remote));
        }
        let kind = escape_line(&remote.kind);
        reasons.push(format!("A remote uses {kind}; Rouse supports streamable-http."));
    }
    if reasons.is_empty() {
        reasons.push("It has no packages and no remotes.".to_owned());
    }
    Err(ServerJsonError::Nothing(reasons.join(" ")))
}

/// The registry of a package that Rouse can install, or why it cannot.
fn usable_kind(package: &RegistryPackage) -> Result<PackageRegistry, String> {
    let shown = escape_line(&package.identifier);
    let transport = package.transport.as_ref().map_or("stdio", |transport| transport.kind.as_str());
    if transport != "stdio" {
        let transport = escape_line(transport);
        return Err(format!("{shown} is started for {transport}; Rouse starts stdio servers."));
    }
    match package.registry_type.as_str() {
        "npm" => Ok(PackageRegistry::Npm),
        "pypi" => Ok(PackageRegistry::Pypi),
        "mcpb" => {
            Err(format!("{shown} is a bundle: download the file, then install it with --mcpb."))
        }
        other => Err(format!("{shown} is of the type {}.", escape_line(other))),
    }
}

/// The source of a package in its exact version.
fn exact_source(
    registry: PackageRegistry,
    package: &RegistryPackage,
) -> Result<ExtensionSource, PackageSpecError> {
    let ExactPackage { name, version } =
        ExactPackage::new(registry, &package.identifier, &package.version)?;
    Ok(match registry {
        PackageRegistry::Npm => {
            ExtensionSource::Npm { package: name, version, program: None, integrity: None }
        }
        PackageRegistry::Pypi => {
            ExtensionSource::Pypi { package: name, version, program: None, requirements: None }
        }
    })
}

/// The values of a draft.
struct DraftValues<'d> {
    extension: &'d ExtensionName,
    given: &'d BTreeMap<String, String>,
    notes: Vec<String>,
}

impl DraftValues<'_> {
    fn package(
        mut self,
        source: ExtensionSource,
        package: &RegistryPackage,
    ) -> Result<ServerJsonDraft, ServerJsonError> {
        if let Some(address) = &package.registry_base_url {
            self.notes.push(format!(
                "The entry names the package registry {}. Rouse takes the package from the registry of your npm or pip settings.",
                escape_line(address)
            ));
        }
        let transport = ServerTransport::Stdio {
            command: String::new(),
            arguments: arguments(&package.package_arguments)?,
            environment: self.values("variable", &package.environment_variables)?,
            folder: None,
            folders: Vec::new(),
            hosts: Vec::new(),
            is_unconfined: false,
        };
        Ok(self.draft(Some(source), transport))
    }

    fn remote(mut self, remote: &RegistryRemote) -> Result<ServerJsonDraft, ServerJsonError> {
        let headers = self.values("header", &remote.headers)?;
        Ok(self
            .draft(None, ServerTransport::Http { url: remote.url.clone(), headers, oauth: None }))
    }

    fn draft(self, source: Option<ExtensionSource>, transport: ServerTransport) -> ServerJsonDraft {
        let server = ServerDefinition::new(transport);
        ServerJsonDraft { source, server, notes: self.notes }
    }

    /// The variables or headers: the given value, the fixed value, the handle of a secret, or the default.
    fn values(
        &mut self,
        what: &str,
        inputs: &[RegistryInput],
    ) -> Result<BTreeMap<String, String>, ServerJsonError> {
        let mut values = BTreeMap::new();
        for input in inputs {
            let shown = escape_line(&input.name);
            let fixed = input.value.as_ref().filter(|value| !has_template(value));
            let value = if let Some(given) = self.given.get(&input.name) {
                if input.is_secret && handles(given).next().is_none() {
                    return Err(ServerJsonError::PlainSecret(self.plain_secret(what, &input.name)));
                }
                given.clone()
            } else if let Some(fixed) = fixed {
                fixed.clone()
            } else if input.is_secret {
                if !input.is_required {
                    self.notes.push(format!("The {what} {shown} is optional and left out."));
                    continue;
                }
                self.secret_handle(what, &input.name)
            } else if let Some(default) = &input.default {
                default.clone()
            } else if input.is_required {
                return Err(ServerJsonError::MissingValue(missing_value(what, &shown)));
            } else {
                continue;
            };
            values.insert(input.name.clone(), value);
        }
        Ok(values)
    }

    /// The handle of a secret named after the extension and the variable.
    fn secret_handle(&mut self, what: &str, input: &str) -> String {
        let secret = self.secret_name(input);
        self.notes.push(format!(
            "The {what} {} is a secret. Store it: rouse secrets set {secret} --server {}",
            escape_line(input),
            self.extension
        ));
        format!("{{{{secret:{secret}}}}}")
    }

    /// The refusal of a secret that is written as it is. Never repeats the value.
    fn plain_secret(&self, what: &str, input: &str) -> String {
        let (secret, name) = (self.secret_name(input), escape_line(input));
        let written = match what {
            "header" => format!("--header '{name}: {{{{secret:{secret}}}}}'"),
            _ => format!("--env {name}={{{{secret:{secret}}}}}"),
        };
        format!(
            "the entry marks the {what} {name} as a secret. Store it: rouse secrets set {secret} --server {}. Then write {written}",
            self.extension
        )
    }

    /// The name of a secret after the extension and the variable.
    fn secret_name(&self, input: &str) -> String {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let lower = input.to_ascii_lowercase();
        let clean: String =
            lower.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(40).collect();
        format!("{}_{clean}", self.extension.as_str().replace('-', "_"))
    }
}

fn missing_value(what: &str, name: &str) -> String {
    match what {
        "header" => format!("the entry needs the header {name}. Write --header '{name}: VALUE'"),
        _ => format!("the entry needs the variable {name}. Write --env {name}=VALUE"),
    }
}

/// The arguments with a known value. Optional arguments without a value are left out.
fn arguments(inputs: &[RegistryInput]) -> Result<Vec<String>, ServerJsonError> {
    let mut words = Vec::new();
    for input in inputs {
        let label = if input.name.is_empty() { &input.value_hint } else { &input.name };
        match input.value.as_ref().or(input.default.as_ref()) {
            Some(value) if has_template(value) => {
                return Err(ServerJsonError::Template(format!(
                    "The argument {}",
                    escape_line(label)
                )));
            }
            Some(value) => {
                if input.kind == "named" {
                    words.push(input.name.clone());
                }
                words.push(value.clone());
            }
            // A flag without a value.
            None if input.kind == "named" && input.is_required => words.push(input.name.clone()),
            None if input.is_required => {
                return Err(ServerJsonError::MissingValue(format!(
                    "the entry needs the argument {}. Install the package with --npm or --pypi and write the arguments after --",
                    escape_line(label)
                )));
            }
            None => {}
        }
    }
    Ok(words)
}

/// Whether a text has a part in braces.
fn has_template(text: &str) -> bool {
    text.find('{').is_some_and(|start| text[start..].contains('}'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn draft(document: &Value, given: &[(&str, &str)]) -> Result<ServerJsonDraft, ServerJsonError> {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let name = "my-files".parse().expect("a name");
        draft_from_server_json(&document.to_string(), &name, &given.collect())
    }

    fn npm() -> Value {
        json!({
            "registryType": "npm", "registryBaseUrl": "https://npm.example",
            "identifier": "@scope/files", "version": "1.2.3", "transport": { "type": "stdio" },
            "runtimeHint": "npx",
            "environmentVariables": [
                { "name": "API_KEY", "isRequired": true, "isSecret": true },
                { "name": "LEVEL", "default": "info" },
                { "name": "ZONE", "isRequired": true },
                { "name": "OTHER" },
            ],
            "packageArguments": [
                { "type": "named", "name": "--mode", "value": "read" },
                { "type": "positional", "valueHint": "folder", "default": "/srv" },
                { "type": "positional", "valueHint": "more" },
            ],
        })
    }

    #[test]
    fn npm_package_becomes_a_draft() {
        let entry = json!({ "name": "io.example/files", "version": "1.2.3", "packages": [npm()] });
        for document in [entry.clone(), json!({ "server": entry, "_meta": {} })] {
            let draft = draft(&document, &[("ZONE", "UTC")]).expect("a draft");
            assert_eq!(draft.source, ExtensionSource::npm("@scope/files@1.2.3", None).ok());
            let transport = json!(draft.server.transport);
            assert_eq!(transport["arguments"], json!(["--mode", "read", "/srv"]));
            let environment =
                json!({ "API_KEY": "{{secret:my_files_api_key}}", "LEVEL": "info", "ZONE": "UTC" });
            assert_eq!(transport["environment"], environment);
            let note = "rouse secrets set my_files_api_key --server my-files";
            assert!(draft.notes.iter().any(|text| text.ends_with(note)), "{:?}", draft.notes);
            let note = "The entry names the package registry https://npm.example.";
            assert!(draft.notes.iter().any(|text| text.starts_with(note)), "{:?}", draft.notes);
        }
    }

    #[test]
    fn secret_of_an_entry_takes_only_a_handle() {
        let entry = json!({ "name": "io.example/files", "packages": [npm()] });
        let given = |value| draft(&entry, &[("ZONE", "UTC"), ("API_KEY", value)]);
        let error = given("sunflower").expect_err("a plain value").to_string();
        let end = "Then write --env API_KEY={{secret:my_files_api_key}}";
        assert!(error.ends_with(end) && !error.contains("sunflower"), "{error}");
        let transport = json!(given("{{secret:mine}}").expect("a draft").server.transport);
        assert_eq!(transport["environment"]["API_KEY"], "{{secret:mine}}");
    }

    #[test]
    fn remote_becomes_an_address() {
        let headers = json!([{ "name": "X-Zone", "isRequired": true }]);
        let remote = |url: &str| {
            json!({ "name": "io.example/docs", "remotes": [
                { "type": "sse", "url": "https://a.example/sse" },
                { "type": "streamable-http", "url": url, "headers": headers },
            ] })
        };
        let found = draft(&remote("https://a.example/mcp"), &[("X-Zone", "UTC")]).expect("a draft");
        assert_eq!(found.source, None);
        let transport = json!({ "kind": "http", "url": "https://a.example/mcp", "headers": { "X-Zone": "UTC" } });
        assert_eq!(json!(found.server.transport), transport);
        let error = draft(&remote("https://{host}/mcp"), &[]).expect_err("a template").to_string();
        assert!(error.starts_with("The address holds a template."), "{error}");
        let error = draft(&remote("https://a.example/mcp"), &[]).expect_err("no value").to_string();
        assert!(error.contains("--header 'X-Zone: VALUE'"), "{error}");
    }

    #[test]
    fn unusable_entry_names_the_reason() {
        for (key, value, reason) in [
            ("registryType", json!("oci"), "is of the type oci."),
            ("registryType", json!("mcpb"), "install it with --mcpb."),
            ("transport", json!({ "type": "sse" }), "is started for sse"),
            ("version", json!("latest"), "is no exact version"),
            ("version", json!(""), "has no version"),
        ] {
            let mut package = npm();
            package[key] = value;
            let document = json!({ "name": "x", "packages": [package] });
            let error = draft(&document, &[("ZONE", "UTC")]).expect_err(reason).to_string();
            assert!(error.contains(reason), "{error}");
        }
        let missing =
            draft(&json!({ "name": "x", "packages": [npm()] }), &[]).expect_err("no zone");
        assert!(missing.to_string().ends_with("Write --env ZONE=VALUE"), "{missing}");
        assert!(draft(&json!({ "servers": [] }), &[]).is_err());
    }

    #[test]
    fn source_needs_no_value_of_a_person() {
        let source = |entry: Value| server_json_source(&entry.to_string());
        let entry = json!({ "name": "io.example/files", "packages": [npm()] });
        let npm_label = "npm package @scope/files@1.2.3".to_owned();
        assert_eq!(source(entry.clone()), Ok(npm_label.clone()));
        assert_eq!(source(json!({ "server": entry, "_meta": {} })), Ok(npm_label));
        let remote = json!({ "type": "streamable-http", "url": "https://a.example/mcp",
            "headers": [{ "name": "X-Zone", "isRequired": true }] });
        let found = source(json!({ "name": "x", "remotes": [remote] }));
        assert_eq!(found, Ok("https://a.example/mcp".to_owned()));
    }

    #[test]
    fn source_names_a_problem_that_no_value_mends() {
        let with = |key: &str, value: Value| {
            let mut package = npm();
            package[key] = value;
            let entry = json!({ "name": "x", "packages": [package] });
            server_json_source(&entry.to_string()).expect_err(key).to_string()
        };
        assert!(with("registryType", json!("oci")).contains("is of the type oci."));
        assert!(with("version", json!("latest")).contains("is no exact version"));
        let needed = json!([{ "type": "positional", "valueHint": "folder", "isRequired": true }]);
        assert!(with("packageArguments", needed).contains("needs the argument folder"));
        let template = json!([{ "type": "named", "name": "--mode", "value": "{mode}" }]);
        assert!(with("packageArguments", template).contains("--mode holds a template"));
        let remote = json!({ "type": "streamable-http", "url": "https://{host}/mcp" });
        let error = server_json_source(&json!({ "name": "x", "remotes": [remote] }).to_string());
        assert!(
            error.expect_err("a template").to_string().contains("The address holds a template")
        );
    }
}
