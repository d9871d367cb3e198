//! The file of another program: size, format, and its servers.
//!
//! Owns the detection of the format by name and content, and the conversion of TOML and YAML. Errors name a line and
//! never quote the file, because keys stand there.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rouse_core::extension::ExtensionName;
use rouse_core::extension::import::{
    ImportSource, ImportedServer, ImportedServers, MAX_CONFIG_BYTES, ServerImportError,
    parse_json_config, server_from_document, servers_from_document,
};
use rouse_core::text::escape_os_path;
use serde_json::Value;

use crate::resolve::error::CliError;

/// The maximum nesting of YAML.
const MAX_YAML_DEPTH: usize = 32;

/// The maximum nodes of YAML.
const MAX_YAML_NODES: usize = 200_000;

/// The format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigFormat {
    Json,
    Toml,
    Yaml,
}

/// A document and its program; none for JSON, where the keys tell the program.
struct ConfigDocument {
    value: Value,
    source: Option<ImportSource>,
}

/// Reads the servers of a file, or of standard input.
pub(super) fn read_servers(file: &Path) -> Result<ImportedServers, CliError> {
    let ConfigDocument { value, source } = read_document(file).map_err(CliError::input)?;
    let servers = servers_from_document(&value, source);
    servers.map_err(|error| CliError::input(format!("{}: {error}", escape_os_path(file))))
}

/// Reads the server of a file, or of standard input, for the extension `name`. Errors name the flag `--from`.
pub(in crate::commands::mcp) fn read_server(
    file: &Path,
    name: &ExtensionName,
) -> Result<ImportedServer, CliError> {
    let refused = |reason: String| CliError::input(format!("--from: {reason}"));
    let ConfigDocument { value, source } = read_document(file).map_err(refused)?;
    let server = server_from_document(&value, source, name);
    server.map_err(|error| refused(format!("{}: {error}", escape_os_path(file))))
}

fn read_document(file: &Path) -> Result<ConfigDocument, String> {
    let shown = escape_os_path(file);
    let bytes = read_bytes(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    parse_document(file, &bytes).map_err(|reason| format!("{shown}: {reason}"))
}

/// Reads at most one byte over the limit, which proves the size.
fn read_bytes(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let reader: Box<dyn Read> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(file)?)
    };
    reader.take(MAX_CONFIG_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The document of a text. `file` tells its format.
fn parse_document(file: &Path, bytes: &[u8]) -> Result<ConfigDocument, String> {
    if bytes.len() > MAX_CONFIG_BYTES {
        return Err(ServerImportError::TooLarge.to_string());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("the file is no UTF-8 text (byte {})", error.valid_up_to()))?;
    let text = text.trim_start_matches('\u{feff}');
    let (value, source) = match config_format(file, text) {
        ConfigFormat::Json => (parse_json_config(text).map_err(|error| error.to_string())?, None),
        ConfigFormat::Toml => (parse_toml(text)?, Some(ImportSource::Codex)),
        ConfigFormat::Yaml => (parse_yaml(text)?, Some(ImportSource::Goose)),
    };
    Ok(ConfigDocument { value, source })
}

/// The format by the ending of the name, else by the content.
fn config_format(file: &Path, text: &str) -> ConfigFormat {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "json" | "jsonc" | "json5" => ConfigFormat::Json,
        "toml" => ConfigFormat::Toml,
        "yaml" | "yml" => ConfigFormat::Yaml,
        _ if text.trim_start().starts_with(['{', '/']) => ConfigFormat::Json,
        _ if text.lines().any(|line| line.trim_start().starts_with("[mcp_servers")) => {
            ConfigFormat::Toml
        }
        _ if text.lines().any(|line| line.starts_with("extensions:")) => ConfigFormat::Yaml,
        _ => ConfigFormat::Json,
    }
}

fn parse_toml(text: &str) -> Result<Value, String> {
    toml::from_str::<Value>(text).map_err(|error| {
        let start = error.span().map_or(text.len(), |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("the file is no valid TOML document: look at line {line}")
    })
}

/// Parses YAML without anchors and aliases. Errors name a line and quote nothing.
pub(in crate::commands::mcp) fn parse_yaml(text: &str) -> Result<Value, String> {
    // No aliases: a few lines of nested aliases could fill the memory.
    let mut budget = serde_saphyr::Budget::default();
    (budget.max_aliases, budget.max_anchors, budget.max_depth) = (0, 0, MAX_YAML_DEPTH);
    (budget.max_nodes, budget.max_events) = (MAX_YAML_NODES, 4 * MAX_YAML_NODES);
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    serde_saphyr::from_str_with_options::<Value>(text, options).map_err(|error| {
        let line = error.location().map(|location| format!(": look at line {}", location.line()));
        format!(
            "the file is no YAML document that Rouse reads, without anchors and aliases{}",
            line.unwrap_or_default()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODEX: &str = r#"
model = "gpt"

[mcp_servers.context7]
command = "npx"
args = ["-y", "context7-mcp@1.2.3"]
startup_timeout_sec = 20

[mcp_servers.context7.env]
API_KEY = "hunter2hunter2"
"#;

    const GOOSE: &str = "
GOOSE_PROVIDER: anthropic
extensions:
  developer: { type: builtin, enabled: true }
  mail:
    type: stdio
    cmd: uvx
    args: [mail-mcp==1.2.3]
    envs: { MAIL_PORT: 993 }
    env_keys: [MAIL_PASSWORD]
    enabled: true
    timeout: 300
";

    const CLAUDE: &str = r#"{ "mcpServers": { "a": { "command": "/bin/a" } } }"#;

    fn parse_servers(file: &str, text: &str) -> Result<ImportedServers, String> {
        let ConfigDocument { value, source } = parse_document(Path::new(file), text.as_bytes())?;
        servers_from_document(&value, source).map_err(|error| error.to_string())
    }

    fn names(file: &str, text: &str) -> Vec<String> {
        let found = parse_servers(file, text).expect("servers");
        found.servers.iter().map(|server| server.name.to_string()).collect()
    }

    #[test]
    fn format_is_found_by_name_or_content() {
        for file in ["config.toml", "-", "settings"] {
            assert_eq!(names(file, CODEX), ["context7"], "{file}");
        }
        for file in ["config.yaml", "config.YML", "-"] {
            assert_eq!(names(file, GOOSE), ["mail"], "{file}");
        }
        for file in ["mcp.json", "-"] {
            assert_eq!(names(file, CLAUDE), ["a"], "{file}");
            assert_eq!(names(file, &format!("\u{feff}// mine\n{CLAUDE}")), ["a"], "{file}");
        }
    }

    #[test]
    fn toml_and_yaml_keep_their_values() {
        let codex = parse_servers("-", CODEX).expect("servers");
        assert_eq!(codex.servers[0].definition.start_timeout_seconds, Some(20));
        assert_eq!(codex.servers[0].secrets[0].value(), Some("hunter2hunter2"));
        let goose = parse_servers("-", GOOSE).expect("servers");
        assert_eq!(goose.servers[0].definition.call_timeout_seconds, Some(300));
        assert_eq!(goose.servers[0].secrets[0].name, "mail_mail_password");
        assert_eq!(goose.skipped[0].original_name, "developer");
    }

    #[test]
    fn error_names_the_line_and_quotes_nothing() {
        let toml = "[mcp_servers.a]\ncommand = \"a\"\nenv = { KEY = hunter2hunter2 }\n";
        let yaml = "extensions:\n  mail:\n    envs: { KEY: hunter2hunter2\n  x: ]\n";
        let json = "{ \"mcpServers\": {\n \"KEY\": hunter2hunter2 } }";
        for (file, text) in [("a.toml", toml), ("a.yaml", yaml), ("a.json", json)] {
            let error = parse_servers(file, text).expect_err(file);
            assert!(error.contains("line ") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn huge_deep_and_aliased_files_are_refused() {
        let huge = "x".repeat(10_000_000);
        let deep_yaml = format!("extensions:\n  a: {}{}", "[".repeat(200), "]".repeat(200));
        let deep_toml = format!("mcp_servers = {}{}", "[".repeat(20_000), "]".repeat(20_000));
        let aliased = "extensions:\n  a: &a { type: stdio, cmd: x }\n  b: *a\n";
        for (file, text) in [
            ("a.json", huge.as_str()),
            ("a.toml", &huge),
            ("a.yaml", &huge),
            ("a.yaml", &deep_yaml),
            ("a.toml", &deep_toml),
            ("a.yaml", aliased),
        ] {
            assert!(parse_servers(file, text).is_err(), "{file}");
        }
    }
}
