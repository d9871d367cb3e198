//! A server as its program writes it, read into one form for all programs.
//!
//! Owns the keys of each format. A key without a meaning here is ignored. Never judges a value. Pitfall: one key with
//! several meanings; `timeout` counts seconds in one program and milliseconds in another, so only known ones are read.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::imported::ImportSource;
use super::names::shown;

/// A foreign definition. Values that the program takes from its environment are placeholders.
#[derive(Debug, Default)]
pub(super) struct ForeignDefinition {
    pub(super) command: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) folder: Option<String>,
    pub(super) url: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) is_disabled: bool,
    pub(super) start_timeout_seconds: Option<f64>,
    pub(super) call_timeout_seconds: Option<f64>,
    pub(super) notes: Vec<String>,
}

/// The keys of one server.
struct ForeignFields<'v>(&'v Map<String, Value>);

/// Reads a server. The error is the reason as a sentence.
pub(super) fn read_definition(
    source: ImportSource,
    value: &Value,
) -> Result<ForeignDefinition, String> {
    let fields = value.as_object().ok_or("The entry is not an object with keys.")?;
    let fields = ForeignFields(fields);
    match source {
        ImportSource::McpServers | ImportSource::VsCode => read_json(&fields),
        ImportSource::Codex => read_codex(&fields),
        ImportSource::Goose => read_goose(&fields),
    }
}

fn read_json(fields: &ForeignFields<'_>) -> Result<ForeignDefinition, String> {
    check_transport(fields.text("type")?.or(fields.text("transport")?).as_deref())?;
    let mut notes = Vec::new();
    if fields.has("envFile") {
        notes.push("The variables of its `envFile` are not imported.".to_owned());
    }
    if fields.has("headersHelper") {
        notes.push("The headers of its `headersHelper` are not imported.".to_owned());
    }
    Ok(ForeignDefinition {
        command: fields.text("command")?,
        arguments: fields.texts("args")?,
        environment: fields.pairs("env")?,
        folder: fields.text("cwd")?,
        url: fields.first_text(&["url", "serverUrl", "httpUrl"])?,
        headers: fields.pairs("headers")?,
        is_disabled: fields.is_on("disabled") || fields.is_off("enabled"),
        notes,
        ..ForeignDefinition::default()
    })
}

fn read_codex(fields: &ForeignFields<'_>) -> Result<ForeignDefinition, String> {
    let mut environment = fields.pairs("env")?;
    for name in fields.names("env_vars")? {
        let placeholder = format!("${{{name}}}");
        environment.entry(name).or_insert(placeholder);
    }
    let mut headers = fields.pairs("http_headers")?;
    for (header, variable) in fields.pairs("env_http_headers")? {
        headers.insert(header, format!("${{{variable}}}"));
    }
    if let Some(variable) = fields.text("bearer_token_env_var")? {
        headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}"));
    }
    let mut notes = Vec::new();
    if fields.has("enabled_tools") || fields.has("disabled_tools") {
        notes.push("Its tool lists are not imported: you choose tools after the start.".to_owned());
    }
    let start_ms = fields.number("startup_timeout_ms").map(|milliseconds| milliseconds / 1_000.0);
    Ok(ForeignDefinition {
        command: fields.text("command")?,
        arguments: fields.texts("args")?,
        environment,
        folder: fields.text("cwd")?,
        url: fields.text("url")?,
        headers,
        is_disabled: fields.is_off("enabled"),
        start_timeout_seconds: fields.number("startup_timeout_sec").or(start_ms),
        call_timeout_seconds: fields.number("tool_timeout_sec"),
        notes,
    })
}

fn read_goose(fields: &ForeignFields<'_>) -> Result<ForeignDefinition, String> {
    let kind = fields.text("type")?;
    if let Some("builtin" | "platform" | "frontend" | "inline_python") = kind.as_deref() {
        return Err("The extension is a part of Goose, not an MCP server.".to_owned());
    }
    check_transport(kind.as_deref())?;
    let mut environment = fields.pairs("envs")?;
    for name in fields.names("env_keys")? {
        let placeholder = format!("${{{name}}}");
        environment.entry(name).or_insert(placeholder);
    }
    let mut headers = fields.pairs("headers")?;
    headers.values_mut().for_each(|value| *value = brace_variables(value));
    let mut notes = Vec::new();
    if fields.has("available_tools") {
        notes.push("Its tool list is not imported: you choose tools after the start.".to_owned());
    }
    Ok(ForeignDefinition {
        command: fields.text("cmd")?,
        arguments: fields.texts("args")?,
        environment,
        folder: fields.text("cwd")?,
        url: fields.text("uri")?,
        headers,
        is_disabled: fields.is_off("enabled"),
        start_timeout_seconds: None,
        call_timeout_seconds: fields.number("timeout"),
        notes,
    })
}

/// Refuses the transports that Rouse does not have.
fn check_transport(kind: Option<&str>) -> Result<(), String> {
    match kind {
        None
        | Some(
            "stdio" | "local" | "http" | "remote" | "streamable_http" | "streamable-http"
            | "streamableHttp",
        ) => Ok(()),
        Some("sse") => Err(
            "The server uses the old transport HTTP+SSE, which Rouse does not support. Use its Streamable HTTP address."
                .to_owned(),
        ),
        Some(other) => {
            Err(format!("The server uses the transport `{}`, which Rouse does not support.", shown(other)))
        }
    }
}

/// `text` with `${NAME}` in the place of `$NAME`.
fn brace_variables(text: &str) -> String {
    let mut pieces = text.split('$');
    let mut braced = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, rest) = piece.split_at(piece.find(|c: char| !is_name(c)).unwrap_or(piece.len()));
        if name.is_empty() {
            braced.push('$');
        } else {
            braced.push_str(&format!("${{{name}}}"));
        }
        braced.push_str(rest);
    }
    braced
}

impl ForeignFields<'_> {
    /// The value of a key; `null` counts as missing.
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn is_on(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool) == Some(true)
    }

    fn is_off(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool) == Some(false)
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Value::as_f64)
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("The value of `{key}` is no text.")),
        }
    }

    fn first_text(&self, keys: &[&str]) -> Result<Option<String>, String> {
        match keys.iter().find(|key| self.has(key)) {
            Some(key) => self.text(key),
            None => Ok(None),
        }
    }

    /// A list of texts and numbers.
    fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("The value of `{key}` is no list of texts.");
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(wrong)?;
        items.iter().map(|item| scalar_text(item).ok_or_else(wrong)).collect()
    }

    /// A list of names, or of objects with a `name`.
    fn names(&self, key: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("The value of `{key}` is no list of names.");
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(wrong)?;
        let name_of = |item: &Value| {
            let name = item.as_str().or_else(|| item.get("name")?.as_str());
            name.map(str::to_owned)
        };
        items.iter().map(|item| name_of(item).ok_or_else(wrong)).collect()
    }

    /// A map of texts, numbers and switches; a `null` is left out.
    fn pairs(&self, key: &str) -> Result<BTreeMap<String, String>, String> {
        let Some(value) = self.get(key) else { return Ok(BTreeMap::new()) };
        let map =
            value.as_object().ok_or_else(|| format!("The value of `{key}` is no map of texts."))?;
        let pairs = map.iter().filter(|(_, value)| !value.is_null());
        pairs
            .map(|(name, value)| {
                let wrong = || format!("The value of {} in `{key}` is no text.", shown(name));
                scalar_text(value).map(|text| (name.clone(), text)).ok_or_else(wrong)
            })
            .collect()
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_get_braces() {
        for (text, braced) in [
            ("Bearer $TOKEN", "Bearer ${TOKEN}"),
            ("$A$B c", "${A}${B} c"),
            ("${TOKEN}", "${TOKEN}"),
            ("5 $ and $", "5 $ and $"),
            ("", ""),
        ] {
            assert_eq!(brace_variables(text), braced);
        }
    }
}
