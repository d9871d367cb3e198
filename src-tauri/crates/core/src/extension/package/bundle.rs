//! The manifest of a bundle (`manifest.json` of an `.mcpb` file), versions 0.2 and 0.3.
//!
//! Owns the start command that a manifest gives: overrides of the system, places (`${__dirname}`) and settings
//! (`${user_config.KEY}`). Never shows the manifest's words as facts. Pitfall: an argument with a secret, which every
//! program of the computer can read; secrets go only into variables.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::bundle_setting::{BundleSetting, BundleSettingError, SettingValues};
use crate::text::escape_line;

/// The maximum bytes of a manifest.
pub const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// The versions of the format that Rouse reads.
const FORMATS: [&str; 2] = ["0.2", "0.3"];

/// Programs that load code at each start.
const LOADERS: [&str; 9] = ["uv", "uvx", "npx", "npm", "bunx", "pnpm", "yarn", "docker", "podman"];

/// The manifest of a bundle. Its texts are claims of its author.
#[derive(Debug, Clone, Deserialize)]
pub struct BundleManifest {
    #[serde(default)]
    manifest_version: Option<String>,
    /// The older name of the version.
    #[serde(default)]
    dxt_version: Option<String>,
    name: String,
    version: String,
    #[serde(default)]
    author: Option<BundleAuthor>,
    server: BundleServer,
    #[serde(default)]
    user_config: BTreeMap<String, BundleSetting>,
}

#[derive(Debug, Clone, Deserialize)]
struct BundleAuthor {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct BundleServer {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    mcp_config: Option<BundleCommand>,
}

#[derive(Debug, Clone, Deserialize)]
struct BundleCommand {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    platform_overrides: BTreeMap<String, BundleOverride>,
}

#[derive(Debug, Clone, Deserialize)]
struct BundleOverride {
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
}

/// The places that a manifest can name.
#[derive(Debug, Clone, Copy)]
pub struct BundlePlace<'p> {
    /// The folder of the installed files.
    pub folder: &'p str,
    /// The home folder of the person.
    pub home: &'p str,
    /// The system: `linux`, `darwin` or `win32`.
    pub platform: &'p str,
}

/// The start command of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleStart {
    /// The program: a bare name, or a path in the folder.
    pub command: String,
    /// The arguments.
    pub arguments: Vec<String>,
    /// The variables; secrets are handles.
    pub environment: BTreeMap<String, String>,
    /// What the person should know, as sentences.
    pub notes: Vec<String>,
}

/// Why a bundle cannot be installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The manifest is no valid document.
    #[error("The manifest of the bundle is invalid: {0}.")]
    Invalid(String),
    /// Another version of the format.
    #[error("The bundle has the format {0}, and Rouse reads 0.2 and 0.3. Look for another bundle.")]
    Format(String),
    /// A kind of server that Rouse cannot pin.
    #[error(
        "The bundle is of the type {0}, which loads its packages at each start. Rouse starts only accepted files. Install the package with --pypi or --npm."
    )]
    Kind(String),
    /// No start command.
    #[error("The bundle names no command. Look for another bundle.")]
    NoCommand,
    /// The command loads code at each start.
    #[error(
        "The bundle starts {0}, which loads code at each start. Rouse starts only accepted files. Install the package with --pypi or --npm."
    )]
    Loader(String),
    /// A placeholder without a meaning.
    #[error("The bundle uses `{0}`, which Rouse does not know. Look for another bundle.")]
    Placeholder(String),
    /// A secret among the arguments.
    #[error(
        "The bundle passes the secret {0} as an argument, which every program of this computer can read. Rouse fills secrets only into variables. Look for another bundle."
    )]
    SecretArgument(String),
    /// The values of the settings.
    #[error("{0}")]
    Setting(#[from] BundleSettingError),
}

/// A part of a text.
enum TemplatePart<'t> {
    Text(&'t str),
    Placeholder(&'t str),
}

impl BundleManifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// The document is invalid, or of another format or kind.
    pub fn parse(text: &str) -> Result<Self, BundleError> {
        let text = text.trim_start_matches('\u{feff}');
        let manifest: Self = serde_json::from_str(text)
            .map_err(|error| BundleError::Invalid(escape_line(&error.to_string())))?;
        let format = manifest.manifest_version.as_ref().or(manifest.dxt_version.as_ref());
        let format = format.map(String::as_str).unwrap_or_default();
        if manifest.server.kind == "uv" {
            return Err(BundleError::Kind("uv".to_owned()));
        }
        if !FORMATS.contains(&format) {
            return Err(BundleError::Format(escape_line(format)));
        }
        if !["node", "python", "binary"].contains(&manifest.server.kind.as_str()) {
            return Err(BundleError::Kind(escape_line(&manifest.server.kind)));
        }
        Ok(manifest)
    }

    /// Name, version and author, as the manifest says.
    #[must_use]
    pub fn claims(&self) -> String {
        let author = self.author.as_ref().map(|author| author.name.trim());
        match author.filter(|author| !author.is_empty()) {
            Some(author) => format!("{} {} by {author}", self.name, self.version),
            None => format!("{} {}", self.name, self.version),
        }
    }

    /// The start command with the `given` values of settings.
    ///
    /// # Errors
    /// A setting is missing or invalid, or the command cannot be pinned.
    pub fn start(
        &self,
        place: BundlePlace<'_>,
        given: &BTreeMap<String, Vec<String>>,
    ) -> Result<BundleStart, BundleError> {
        let own = self.server.mcp_config.as_ref().ok_or(BundleError::NoCommand)?;
        let expand = |text: &str| expand_places(text, place);
        let values = SettingValues::new(&self.user_config, given, expand)?;
        let other = own.platform_overrides.get(place.platform);
        let command = other.and_then(|other| other.command.as_ref()).unwrap_or(&own.command);
        let arguments = other.and_then(|other| other.args.as_ref()).unwrap_or(&own.args);
        let mut variables = own.env.clone();
        variables.extend(other.and_then(|other| other.env.clone()).unwrap_or_default());
        let command = command_of(&expand_text(command, place, &values, false)?)?;
        let mut words = Vec::new();
        for argument in arguments {
            words.extend(expand_argument(argument, place, &values)?);
        }
        let mut environment = BTreeMap::new();
        for (name, text) in variables {
            if !is_empty_setting(&text, &values) {
                environment.insert(name, expand_text(&text, place, &values, true)?);
            }
        }
        Ok(BundleStart { command, arguments: words, environment, notes: self.notes(&values) })
    }

    /// The paths that the person gave: a confined server reaches them only with a permission.
    fn notes(&self, values: &SettingValues) -> Vec<String> {
        let paths = self.user_config.iter().filter(|(_, setting)| setting.is_path());
        let paths = paths.flat_map(|(key, _)| values.get(key).unwrap_or_default());
        let note = |path: &String| {
            format!(
                "The bundle uses {}. A confined server reaches it only with --folder.",
                escape_line(path)
            )
        };
        paths.map(note).collect()
    }
}

/// Refuses a command that loads code at each start.
fn command_of(command: &str) -> Result<String, BundleError> {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let name = name.split('.').next().unwrap_or_default();
    if command.trim().is_empty() {
        Err(BundleError::NoCommand)
    } else if LOADERS.contains(&name) {
        Err(BundleError::Loader(escape_line(command)))
    } else {
        Ok(command.to_owned())
    }
}

/// The words of an argument: a setting that stands alone gives a word for each of its values.
fn expand_argument(
    text: &str,
    place: BundlePlace<'_>,
    values: &SettingValues,
) -> Result<Vec<String>, BundleError> {
    match lone_setting(text).and_then(|key| values.get(key).map(|values| (key, values))) {
        Some((key, _)) if values.is_secret(key) => {
            Err(BundleError::SecretArgument(escape_line(key)))
        }
        Some((_, words)) => Ok(words.to_vec()),
        None => Ok(vec![expand_text(text, place, values, false)?]),
    }
}

/// A text with its placeholders filled in. Several values of a setting are joined with commas.
fn expand_text(
    text: &str,
    place: BundlePlace<'_>,
    values: &SettingValues,
    may_hold_secrets: bool,
) -> Result<String, BundleError> {
    let mut expanded = String::new();
    for part in template_parts(text) {
        let name = match part {
            TemplatePart::Text(text) => {
                expanded.push_str(text);
                continue;
            }
            TemplatePart::Placeholder(name) => name,
        };
        if let Some(found) = place_text(name, place) {
            expanded.push_str(&found);
            continue;
        }
        let unknown = || BundleError::Placeholder(escape_line(&format!("${{{name}}}")));
        let key = name.strip_prefix("user_config.").ok_or_else(unknown)?;
        let words = values.get(key).ok_or_else(unknown)?;
        if values.is_secret(key) && !may_hold_secrets {
            return Err(BundleError::SecretArgument(escape_line(key)));
        }
        expanded.push_str(&words.join(","));
    }
    Ok(expanded)
}

/// A text with its places filled in; other placeholders stay.
fn expand_places(text: &str, place: BundlePlace<'_>) -> String {
    let mut expanded = String::new();
    for part in template_parts(text) {
        match part {
            TemplatePart::Text(text) => expanded.push_str(text),
            TemplatePart::Placeholder(name) => match place_text(name, place) {
                Some(found) => expanded.push_str(&found),
                None => expanded.push_str(&format!("${{{name}}}")),
            },
        }
    }
    expanded
}

/// The text of a place; none for another name.
fn place_text(name: &str, place: BundlePlace<'_>) -> Option<String> {
    let separator = if place.platform == "win32" { '\\' } else { '/' };
    let in_home = |folder: &str| format!("{}{separator}{folder}", place.home);
    match name {
        "__dirname" => Some(place.folder.to_owned()),
        "HOME" => Some(place.home.to_owned()),
        "DESKTOP" => Some(in_home("Desktop")),
        "DOCUMENTS" => Some(in_home("Documents")),
        "DOWNLOADS" => Some(in_home("Downloads")),
        "/" | "pathSeparator" => Some(separator.to_string()),
        _ => None,
    }
}

/// The setting that is the whole text.
fn lone_setting(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${user_config.")?.strip_suffix('}')?;
    (!name.contains(['$', '{', '}'])).then_some(name)
}

/// Whether a text is exactly a setting without a value.
fn is_empty_setting(text: &str, values: &SettingValues) -> bool {
    lone_setting(text).and_then(|key| values.get(key)).is_some_and(<[String]>::is_empty)
}

fn template_parts(text: &str) -> Vec<TemplatePart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        parts.push(TemplatePart::Text(&rest[..start]));
        parts.push(TemplatePart::Placeholder(&rest[start + 2..start + length]));
        rest = &rest[start + length + 1..];
    }
    parts.push(TemplatePart::Text(rest));
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PLACE: BundlePlace<'static> =
        BundlePlace { folder: "/data/files", home: "/home/me", platform: "linux" };

    fn document(config: Value, settings: Value) -> Value {
        json!({
            "manifest_version": "0.3", "name": "files", "version": "1.2.3",
            "author": { "name": "Ada" }, "unknown": true,
            "server": { "type": "node", "entry_point": "server/index.js", "mcp_config": config },
            "user_config": settings,
        })
    }

    fn start(document: &Value, given: &[(&str, &[&str])]) -> Result<BundleStart, BundleError> {
        let given = given.iter().map(|(key, values)| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            ((*key).to_owned(), values)
        });
        BundleManifest::parse(&document.to_string())?.start(PLACE, &given.collect())
    }

    #[test]
    fn placeholders_are_filled() {
        let document = document(
            json!({
                "command": "node",
                "args": ["${__dirname}${/}server/index.js", "--at=${HOME}", "${user_config.folders}", "${user_config.mode}"],
                "env": { "KEY": "${user_config.key}", "LEVEL": "${user_config.level}", "NONE": "${user_config.mode}", "LIST": "x:${user_config.folders}" },
            }),
            json!({
                "folders": { "type": "directory", "multiple": true, "required": true },
                "key": { "type": "string", "sensitive": true, "required": true, "default": "none" },
                "level": { "type": "number", "default": 3 },
                "mode": { "type": "string" },
            }),
        );
        let given =
            [("folders", &["/srv/a", "/srv/b"][..]), ("key", &["{{secret:files_key}}"][..])];
        let started = start(&document, &given).expect("a start");
        assert_eq!(started.command, "node");
        let arguments = ["/data/files/server/index.js", "--at=/home/me", "/srv/a", "/srv/b"];
        assert_eq!(started.arguments, arguments);
        let environment =
            json!({ "KEY": "{{secret:files_key}}", "LEVEL": "3", "LIST": "x:/srv/a,/srv/b" });
        assert_eq!(json!(started.environment), environment);
        assert!(started.notes.len() == 2 && started.notes[0].contains("/srv/a"), "{started:?}");
        let claims = BundleManifest::parse(&document.to_string()).expect("a manifest").claims();
        assert_eq!(claims, "files 1.2.3 by Ada");
    }

    #[test]
    fn override_of_the_system_replaces_the_command() {
        let document = document(
            json!({
                "command": "node", "args": ["a"], "env": { "A": "1", "B": "2" },
                "platform_overrides": {
                    "linux": { "command": "${__dirname}/server", "env": { "B": "3" } },
                    "win32": { "command": "other" },
                },
            }),
            json!({}),
        );
        let started = start(&document, &[]).expect("a start");
        assert_eq!(
            (started.command.as_str(), started.arguments),
            ("/data/files/server", vec!["a".to_owned()])
        );
        assert_eq!(json!(started.environment), json!({ "A": "1", "B": "3" }));
    }

    #[test]
    fn unusable_settings_are_named() {
        let settings = json!({
            "key": { "type": "string", "sensitive": true, "required": true, "description": "The key" },
            "count": { "type": "number", "min": 1, "max": 9 },
        });
        let document = document(json!({ "command": "node" }), settings);
        let key = ("key", &["{{secret:k}}"][..]);
        for (given, message) in [
            (vec![], "needs the setting key (The key). Write --config key={{secret:NAME}}"),
            (vec![("key", &["hunter2"][..])], "then write --config key={{secret:NAME}}"),
            (vec![key, ("count", &["12"][..])], "expected a number between 1 and 9."),
            (vec![key, ("count", &["1", "2"][..])], "expected one value."),
            (vec![key, ("other", &["1"][..])], "has no setting other. Its settings: count, key."),
        ] {
            let error = start(&document, &given).expect_err(message).to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn bundle_that_cannot_be_pinned_is_refused() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut document = document(
                json!({ "command": "node", "args": [] }),
                json!({ "key": { "sensitive": true } }),
            );
            change(&mut document);
            start(&document, &[("key", &["{{secret:k}}"])]).expect_err("refused").to_string()
        };
        let config =
            |document: &mut Value, config: Value| document["server"]["mcp_config"] = config;
        let old = with(&|document| document["manifest_version"] = json!("0.1"));
        assert!(old.contains("has the format 0.1"), "{old}");
        let uv = with(&|document| {
            document["manifest_version"] = json!("0.4");
            document["server"]["type"] = json!("uv");
        });
        assert!(uv.contains("of the type uv"), "{uv}");
        let loader = with(&|document| config(document, json!({ "command": "/usr/bin/uvx" })));
        assert!(loader.contains("starts /usr/bin/uvx"), "{loader}");
        let unknown = json!({ "command": "node", "args": ["${env.X}"] });
        assert!(with(&|document| config(document, unknown.clone())).contains("`${env.X}`"));
        for argument in ["${user_config.key}", "--key=${user_config.key}"] {
            let secret = json!({ "command": "node", "args": [argument] });
            let error = with(&|document| config(document, secret.clone()));
            assert!(error.contains("passes the secret key"), "{error}");
        }
    }
}
