//! The MCP registry API: `GET /v0.1/servers`, `GET /v0.1/servers/NAME/versions/VERSION`.
//!
//! Owns the reading of entries and of their statuses. Deleted entries are often malware: a search leaves them out, and
//! an installation is refused. Tolerates missing fields. Pitfall: the answer to another name; the name and the version
//! are compared with the request.

use rouse_core::extension::package::{ServerJsonError, server_json_source};
use rouse_core::text::{capitalize, first_line, percent_encode};
use rouse_gateway::wire::{
    RegistryEntryParams, RegistrySearchParams, RegistrySearchResult, RegistryServerView,
};
use serde::Deserialize;
use serde_json::Value;

use super::connection::RegistryConnection;
use super::error::RegistryError;
use super::query::{MAX_RESULTS, checked_query};
use super::untrusted_text::one_line;

/// The key of the registry's own facts about an entry.
const OFFICIAL_FACTS: &str = "io.modelcontextprotocol.registry/official";

/// Maximum characters of a name; the limit of the API.
const MAX_NAME: usize = 200;
/// Maximum characters of a version; the limit of the API.
const MAX_VERSION: usize = 255;
/// Maximum characters of a cursor.
const MAX_CURSOR: usize = 1_000;
/// Maximum characters of a description, a source or a problem.
const MAX_TEXT: usize = 500;
/// Maximum characters of a title.
const MAX_TITLE: usize = 100;

#[derive(Deserialize)]
struct ServerList {
    servers: Option<Vec<Value>>,
    metadata: Option<ListMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    next_cursor: Option<String>,
}

/// The status of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryStatus {
    Active,
    Deprecated,
    Deleted,
}

/// A page of the newest versions whose names match the words.
pub(super) async fn search(
    registry: &RegistryConnection,
    params: &RegistrySearchParams,
) -> Result<RegistrySearchResult, RegistryError> {
    let words = percent_encode(checked_query(&params.query)?);
    let mut path = format!("/v0.1/servers?search={words}&version=latest&limit={MAX_RESULTS}");
    if let Some(cursor) = &params.cursor {
        if !is_cursor(cursor) {
            let message = "is no cursor of a search".to_owned();
            return Err(RegistryError::Input { field: "cursor", message });
        }
        path.push_str("&cursor=");
        path.push_str(&percent_encode(cursor));
    }
    let list: ServerList = registry.get_json(&path).await?;
    let entries = list.servers.unwrap_or_default().into_iter().take(MAX_RESULTS);
    let entries = entries.filter(|entry| status_of(entry) != EntryStatus::Deleted);
    let next = list.metadata.and_then(|metadata| metadata.next_cursor);
    let next = next.filter(|cursor| !cursor.is_empty());
    if next.as_deref().is_some_and(|cursor| !is_cursor(cursor)) {
        return Err(registry.invalid("the cursor of the next page"));
    }
    let registry = registry.address().to_owned();
    Ok(RegistrySearchResult { registry, servers: entries.filter_map(|e| view(&e)).collect(), next })
}

/// One version of a server, or its latest version.
pub(super) async fn entry(
    registry: &RegistryConnection,
    params: &RegistryEntryParams,
) -> Result<RegistryServerView, RegistryError> {
    let RegistryEntryParams { name, version } = params;
    if !is_entry_name(name) {
        let message = "expected the name of an entry, such as io.github.owner/server".to_owned();
        return Err(RegistryError::Input { field: "name", message });
    }
    if version.as_deref().is_some_and(|version| !is_entry_version(version)) {
        let message = "expected a version, such as 1.2.3".to_owned();
        return Err(RegistryError::Input { field: "version", message });
    }
    let wanted = version.as_deref().unwrap_or("latest");
    let path =
        format!("/v0.1/servers/{}/versions/{}", percent_encode(name), percent_encode(wanted));
    let found: Value = registry.get_json(&path).await.map_err(|error| {
        error.for_missing(|| match version {
            Some(version) => format!("{} has no entry {name} {version}.", registry.host()),
            None => format!("{} has no entry {name}.", registry.host()),
        })
    })?;
    let view = view(&found).ok_or_else(|| registry.invalid("no entry"))?;
    let is_wanted = version.as_ref().is_none_or(|version| *version == view.version);
    if view.name != *name || !is_wanted {
        return Err(registry.invalid("another entry"));
    }
    if status_of(&found) == EntryStatus::Deleted {
        return Err(RegistryError::Refused(format!(
            "The registry has deleted {name} {}. Deleted entries are often harmful. Look for another server.",
            view.version
        )));
    }
    Ok(view)
}

/// The view of an entry; none without a usable name and version.
fn view(entry: &Value) -> Option<RegistryServerView> {
    let server = entry.get("server").unwrap_or(entry);
    if server.get("server").is_some() {
        // The draft would read the inner entry in place of this one.
        return None;
    }
    let text = |key: &str| server[key].as_str();
    let name = text("name").filter(|name| is_entry_name(name))?.to_owned();
    let version = text("version").filter(|version| is_entry_version(version))?.to_owned();
    let document = format!("{server:#}");
    // The texts of the draft are escaped.
    let shorten = |text: &str| first_line(text, MAX_TEXT, str::to_owned);
    let (source, problem) = match server_json_source(&document) {
        Ok(source) => (Some(shorten(&source)), None),
        Err(error) => (None, Some(shorten(&problem_of(&error)))),
    };
    Some(RegistryServerView {
        name,
        title: text("title").map(|title| one_line(title, MAX_TITLE)),
        description: one_line(text("description").unwrap_or_default(), MAX_TEXT),
        version,
        is_deprecated: status_of(entry) == EntryStatus::Deprecated,
        source,
        problem,
        document,
    })
}

/// Why Rouse cannot install an entry, as a sentence.
fn problem_of(error: &ServerJsonError) -> String {
    let problem = match error {
        ServerJsonError::Invalid(reason) => format!("The entry is invalid: {reason}"),
        error => capitalize(&error.to_string()),
    };
    format!("{}.", problem.trim_end_matches('.'))
}

fn status_of(entry: &Value) -> EntryStatus {
    match entry["_meta"][OFFICIAL_FACTS]["status"].as_str() {
        Some("deleted") => EntryStatus::Deleted,
        Some("deprecated") => EntryStatus::Deprecated,
        _ => EntryStatus::Active,
    }
}

/// The form of names in the API: a namespace and a name.
fn is_entry_name(text: &str) -> bool {
    let is_part = |part: &str, others: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(is_allowed)
    };
    let parts = text.split_once('/');
    text.len() <= MAX_NAME
        && parts.is_some_and(|(space, name)| is_part(space, ".-") && is_part(name, "._-"))
}

fn is_entry_version(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-_+~".contains(c);
    text.len() <= MAX_VERSION
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_allowed)
}

/// Cursors have no known form.
fn is_cursor(text: &str) -> bool {
    (1..=MAX_CURSOR).contains(&text.len()) && !text.contains(char::is_control)
}
