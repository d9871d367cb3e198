//! HTTP headers of the MCP protocol, and those of the stdio bridge.
//!
//! Owns the names and the encoding of values that a header cannot carry. A header must agree with the body, because programs
//! between client and server may route by the header.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::failure::McpFailure;
use super::message::McpRequest;

pub(super) const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";
/// Name of the client behind `rouse mcp serve`, which learns the name at `initialize`.
pub(crate) const CLIENT_HEADER: &str = "rouse-client";
/// Run of Rouse that started the client.
pub(crate) const RUN_HEADER: &str = "rouse-run";

const ENCODED_PREFIX: &str = "=?base64?";
const ENCODED_SUFFIX: &str = "?=";

/// The only value of a header.
pub(super) fn single<'h>(
    headers: &'h HeaderMap,
    name: &str,
) -> Result<Option<&'h str>, McpFailure> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(McpFailure::header_mismatch(format!("The header {name} appears twice.")));
    }
    let text = value.to_str();
    text.map(Some).map_err(|_| {
        McpFailure::header_mismatch(format!("The header {name} has invalid characters."))
    })
}

/// Checks that the headers of a 2026-07-28 request agree with the body.
pub(super) fn check_headers(headers: &HeaderMap, request: &McpRequest) -> Result<(), McpFailure> {
    let version = request.meta_version().unwrap_or_default();
    for (name, expected) in [(VERSION_HEADER, version), (METHOD_HEADER, request.method.as_str())] {
        check_value(name, single(headers, name)?, expected)?;
    }
    let Some(tool) = called_name(&request.method, request.params.get("name")) else {
        return Ok(());
    };
    let value = single(headers, NAME_HEADER)?.and_then(decode);
    check_value(NAME_HEADER, value.as_deref(), tool)
}

fn check_value(name: &str, value: Option<&str>, expected: &str) -> Result<(), McpFailure> {
    match value {
        Some(value) if value == expected => Ok(()),
        Some(value) => Err(McpFailure::header_mismatch(format!(
            "The header {name} is `{value}`, but the body has `{expected}`."
        ))),
        None => Err(McpFailure::header_mismatch(format!(
            "The header {name} is missing or unreadable. Expected `{expected}`."
        ))),
    }
}

/// The name that a request addresses; none for most methods.
fn called_name<'n>(method: &str, name: Option<&'n Value>) -> Option<&'n str> {
    name.filter(|_| method == "tools/call")?.as_str()
}

/// The headers of a forwarded 2026-07-28 message; none for a message of the other versions.
pub(crate) fn standard_headers(message: &Value) -> Vec<(&'static str, String)> {
    let meta = &message["params"]["_meta"];
    let Some(version) = meta["io.modelcontextprotocol/protocolVersion"].as_str() else {
        return Vec::new();
    };
    let method = message["method"].as_str().unwrap_or_default();
    let mut headers = vec![(VERSION_HEADER, encode(version)), (METHOD_HEADER, encode(method))];
    let name = called_name(method, message["params"].get("name"));
    headers.extend(name.map(|name| (NAME_HEADER, encode(name))));
    headers
}

/// Encodes a value that a header cannot carry as it is.
pub(crate) fn encode(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && value.trim() == value
        && !value.starts_with(ENCODED_PREFIX);
    if is_plain {
        return value.to_owned();
    }
    format!("{ENCODED_PREFIX}{}{ENCODED_SUFFIX}", BASE64_STANDARD.encode(value))
}

/// Decodes a value; none if the encoding is invalid.
pub(crate) fn decode(value: &str) -> Option<String> {
    let encoded =
        value.strip_prefix(ENCODED_PREFIX).and_then(|rest| rest.strip_suffix(ENCODED_SUFFIX));
    match encoded {
        // silent-ok: the caller refuses or ignores an unreadable value.
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_value_survives_the_encoding() {
        for value in ["", "claude-code", " a", "größer", "a\nb", "=?base64?eA==?="] {
            let encoded = encode(value);
            assert!(encoded.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{encoded}");
            assert_eq!(decode(&encoded).as_deref(), Some(value));
        }
        assert_eq!(encode("claude-code"), "claude-code");
        assert_eq!(decode("=?base64?!?="), None);
    }
}
