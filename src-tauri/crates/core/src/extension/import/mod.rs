//! Import of MCP servers from the settings of other programs.
//!
//! Owns the conversion to proposed definitions, an entry per server, with notes and refusals as sentences. Never reads a
//! file, never starts a server, and never puts the value of a secret into a definition, a note or an error. Formats
//! other than JSON arrive as a `Value`. Pitfall: a text that only the other program fills in, such as `${VAR}`.

mod imported;
mod names;
mod json_comments;
mod placeholder;
mod secret_values;
mod secret_handles;
mod package_launcher;
mod foreign;
mod convert;

pub use imported::{
    ImportSource, ImportedSecret, ImportedServer, ImportedServers, MAX_CONFIG_BYTES, MAX_SERVERS,
    ServerImportError, SkippedServer,
};
pub use json_comments::strip_json_comments;

use serde_json::{Map, Value};

use self::convert::convert;
use self::foreign::read_definition;
use self::names::{ServerNames, shown};
pub(super) use self::secret_handles::{secret_name, split_scheme};
pub(super) use self::secret_values::{
    holds_plain_secret, holds_secret, is_secret_address, secret_argument,
};
use crate::extension::name::ExtensionName;
use crate::import::json;
use crate::text::escape_line;

/// A server of a document.
struct ForeignEntry<'v> {
    /// Empty for a document that is a server itself.
    name: &'v str,
    value: &'v Value,
    /// Where the server stands in the document, as a sentence.
    note: Option<String>,
}

/// Reads a JSON document; comments and trailing commas are allowed. Without a `source`, detects the program.
///
/// # Errors
/// Why the whole document is refused. A single refused server is in `skipped` with the reason.
pub fn servers_from_config(
    text: &str,
    source: Option<ImportSource>,
) -> Result<ImportedServers, ServerImportError> {
    servers_from_document(&parse_json_config(text)?, source)
}

/// Parses a JSON document; comments and trailing commas are allowed.
///
/// # Errors
/// The document is too large or no JSON.
pub fn parse_json_config(text: &str) -> Result<Value, ServerImportError> {
    if text.len() > MAX_CONFIG_BYTES {
        return Err(ServerImportError::TooLarge);
    }
    let text = strip_json_comments(text.trim_start_matches('\u{feff}'));
    json::parse(&text).map_err(|error| ServerImportError::Json(escape_line(&error)))
}

/// Reads a document. Without a `source`, detects the program.
///
/// # Errors
/// When the document names no server or too many.
pub fn servers_from_document(
    document: &Value,
    source: Option<ImportSource>,
) -> Result<ImportedServers, ServerImportError> {
    let (source, entries) = bounded_entries(document, source)?;
    let mut names = ServerNames::default();
    let mut imported = ImportedServers { source, servers: Vec::new(), skipped: Vec::new() };
    for ForeignEntry { name, value, note } in entries {
        let proposed = names.free_name(name);
        let converted = read_definition(source, value)
            .and_then(|definition| convert(proposed.clone(), name, definition));
        match converted {
            Ok(mut server) => {
                names.reserve(proposed);
                if let Some(note) = note {
                    server.notes.insert(0, note);
                }
                imported.servers.push(server);
            }
            Err(reason) => {
                imported.skipped.push(SkippedServer { original_name: name.to_owned(), reason });
            }
        }
    }
    Ok(imported)
}

/// The server of a document for the extension `name`: the server of this name, or the only one. Its secrets are named
/// after `name`.
///
/// # Errors
/// The document names no such server, or one that Rouse cannot run.
pub fn server_from_document(
    document: &Value,
    source: Option<ImportSource>,
    name: &ExtensionName,
) -> Result<ImportedServer, ServerImportError> {
    let (source, entries) = bounded_entries(document, source)?;
    let only = entries.first().filter(|_| entries.len() == 1);
    let named = entries.iter().find(|entry| entry.name == name.as_str());
    let Some(entry) = named.or(only) else {
        let servers: Vec<String> = entries.iter().map(|entry| shown(entry.name)).collect();
        let (name, servers) = (name.clone(), servers.join(", "));
        return Err(ServerImportError::NotNamed { name, servers });
    };
    let converted = read_definition(source, entry.value)
        .and_then(|definition| convert(name.clone(), entry.name, definition));
    let mut server = converted.map_err(ServerImportError::Refused)?;
    if let Some(note) = &entry.note {
        server.notes.insert(0, note.clone());
    }
    Ok(server)
}

/// The program of a document and its servers, at least one and at most `MAX_SERVERS`.
fn bounded_entries(
    document: &Value,
    source: Option<ImportSource>,
) -> Result<(ImportSource, Vec<ForeignEntry<'_>>), ServerImportError> {
    let source = source.or_else(|| detect_source(document)).ok_or(ServerImportError::NoServers)?;
    let entries = entries_of(document, source);
    match entries.len() {
        0 => Err(ServerImportError::NoServers),
        count if count > MAX_SERVERS => Err(ServerImportError::TooMany(count)),
        _ => Ok((source, entries)),
    }
}

/// The program that wrote the document; none for another document.
fn detect_source(document: &Value) -> Option<ImportSource> {
    let has = |key: &str| document.get(key).is_some_and(Value::is_object);
    if has("mcp_servers") {
        Some(ImportSource::Codex)
    } else if has("mcpServers") || has("projects") || is_server_map(document) {
        Some(ImportSource::McpServers)
    } else if vs_code_servers(document).is_some() {
        Some(ImportSource::VsCode)
    } else if has("extensions") {
        Some(ImportSource::Goose)
    } else {
        is_lone_server(document).then_some(ImportSource::McpServers)
    }
}

/// Whether the document is a map of servers without a key around it.
fn is_server_map(document: &Value) -> bool {
    document.as_object().is_some_and(|map| !map.is_empty() && map.values().all(is_server))
}

/// Whether the document is a server itself.
fn is_lone_server(document: &Value) -> bool {
    is_server(document) && document.get("mcpServers").is_none()
}

fn is_server(value: &Value) -> bool {
    ["command", "url"].iter().any(|key| value[key].is_string())
}

/// The servers of `mcp.json`, or of the settings.
fn vs_code_servers(document: &Value) -> Option<&Map<String, Value>> {
    let settings = document.get("mcp").and_then(|mcp| mcp.get("servers"));
    [document.get("servers"), settings, document.get("mcp.servers")]
        .into_iter()
        .flatten()
        .find_map(Value::as_object)
}

fn entries_of(document: &Value, source: ImportSource) -> Vec<ForeignEntry<'_>> {
    let map = |key: &str| document.get(key).and_then(Value::as_object);
    if source == ImportSource::McpServers && is_lone_server(document) {
        return vec![ForeignEntry { name: "", value: document, note: None }];
    }
    let servers = match source {
        ImportSource::McpServers if is_server_map(document) => document.as_object(),
        ImportSource::McpServers => map("mcpServers"),
        ImportSource::VsCode => vs_code_servers(document),
        ImportSource::Codex => map("mcp_servers"),
        ImportSource::Goose => map("extensions"),
    };
    let mut entries: Vec<ForeignEntry<'_>> = servers
        .into_iter()
        .flatten()
        .map(|(name, value)| ForeignEntry { name, value, note: None })
        .collect();
    let projects = map("projects").filter(|_| source == ImportSource::McpServers);
    for (project, settings) in projects.into_iter().flatten() {
        let servers = settings.get("mcpServers").and_then(Value::as_object);
        entries.extend(servers.into_iter().flatten().map(|(name, value)| {
            let note = Some(format!("The server belongs to the project {}.", shown(project)));
            ForeignEntry { name, value, note }
        }));
    }
    entries
}

#[cfg(test)]
mod tests;
