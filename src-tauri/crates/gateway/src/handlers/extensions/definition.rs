//! Checks of a server definition before its page is shown.
//!
//! Owns the rules for commands, variables, hosts, URLs, headers and keys in plain text. Never looks at the disk or the network. Pitfall: a
//! character that a page cannot show and that changes the meaning, such as a NUL or a line break in a header.

use std::collections::BTreeMap;
use std::path::Path;

use rouse_core::extension::package::ExtensionSource;
use rouse_core::extension::{
    ExtensionName, OAuthClientSettings, ServerDefinition, ServerTransport, plain_secret,
    plain_secret_setting,
};

use crate::error::RpcError;

/// The maximum of `startTimeoutSeconds`.
const MAX_START_SECONDS: u32 = 300;
/// The maximum of `callTimeoutSeconds`.
const MAX_CALL_SECONDS: u32 = 3_600;

/// The maximum of `mode`.
const MAX_MODE_BYTES: usize = 200;

/// Refuses a definition that no server can be started or reached with.
pub(super) fn check_definition(server: &ServerDefinition) -> Result<(), RpcError> {
    let ServerDefinition {
        transport,
        protocol: _,
        mode,
        start_timeout_seconds,
        call_timeout_seconds,
    } = server;
    if mode.is_some() && !server.is_coding_agent() {
        return Err(RpcError::field("server.mode", "is for a coding agent (`protocol: acp`)"));
    }
    if mode.as_ref().is_some_and(|mode| mode.trim().is_empty() || mode.len() > MAX_MODE_BYTES) {
        let message = format!("must be 1 to {MAX_MODE_BYTES} characters");
        return Err(RpcError::field("server.mode", &message));
    }
    check_seconds("server.startTimeoutSeconds", *start_timeout_seconds, MAX_START_SECONDS)?;
    check_seconds("server.callTimeoutSeconds", *call_timeout_seconds, MAX_CALL_SECONDS)?;
    match transport {
        ServerTransport::Stdio { command, arguments, environment, folder, hosts, .. } => {
            if command.trim().is_empty() {
                return refuse("command", "must not be empty");
            }
            let words = std::iter::once(command).chain(arguments).chain(environment.values());
            if words.chain(folder).any(|word| word.contains('\0')) {
                return refuse("command", "must not contain a NUL character");
            }
            check_variables(environment)?;
            if folder.as_ref().is_some_and(|folder| !Path::new(folder).is_absolute()) {
                return refuse("folder", "must be an absolute path");
            }
            match hosts.iter().find(|host| !is_host(host)) {
                Some(host) => refuse(
                    "hosts",
                    &format!("expected a host such as api.example.org, found `{host}`"),
                ),
                None => Ok(()),
            }
        }
        ServerTransport::Http { .. } if server.is_coding_agent() => Err(RpcError::field(
            "server.transport.kind",
            "must be `stdio`: Rouse starts a coding agent as a program on this computer",
        )),
        ServerTransport::Http { url, headers, oauth } => {
            check_url(url)?;
            check_headers(headers)?;
            oauth.as_ref().map_or(Ok(()), check_oauth)
        }
        ServerTransport::Wasm { .. } if server.is_coding_agent() => {
            refuse("kind", "must be `stdio`: a coding agent is a program on this computer")
        }
        // Of a checked manifest.
        ServerTransport::Wasm { .. } => Ok(()),
    }
}

/// Refuses a definition or a setting of a bundle that holds a key in plain text. The error does not repeat the key.
pub(super) fn check_plain_secrets(
    name: &ExtensionName,
    server: &ServerDefinition,
    source: Option<&ExtensionSource>,
) -> Result<(), RpcError> {
    let setting = source.and_then(|source| plain_secret_setting(name, source));
    match setting.or_else(|| plain_secret(name, server)) {
        None => Ok(()),
        Some(secret) => Err(RpcError::field(&secret.path, &secret.reason)),
    }
}

fn refuse(field: &str, message: &str) -> Result<(), RpcError> {
    Err(RpcError::field(&format!("server.transport.{field}"), message))
}

fn check_seconds(path: &str, seconds: Option<u32>, max: u32) -> Result<(), RpcError> {
    match seconds {
        Some(seconds) if seconds == 0 || seconds > max => {
            let message = format!("must be between 1 and {max}, found {seconds}");
            Err(RpcError::field(path, &message))
        }
        _ => Ok(()),
    }
}

fn check_variables(environment: &BTreeMap<String, String>) -> Result<(), RpcError> {
    let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
    match environment.keys().find(|name| !is_name(name)) {
        Some(name) => refuse("environment", &format!("`{name}` is no name of a variable")),
        None => Ok(()),
    }
}

/// A name or an address, with an optional port.
fn is_host(host: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
        && host.chars().all(is_allowed)
}

fn check_url(url: &str) -> Result<(), RpcError> {
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    let Some(rest) = rest else {
        return refuse("url", "expected an address that begins with https:// or http://");
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return refuse(
            "url",
            "must not contain a user name or password; use a header with a secret",
        );
    }
    if !is_host(host) || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return refuse("url", "is no valid address");
    }
    Ok(())
}

fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), RpcError> {
    let is_name = |name: &String| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        !name.is_empty() && name.chars().all(is_allowed)
    };
    for (name, value) in headers {
        if !is_name(name) {
            return refuse("headers", &format!("`{name}` is no name of a header"));
        }
        if value.contains(char::is_control) {
            let message =
                format!("the value of {name} must be one line without control characters");
            return refuse("headers", &message);
        }
    }
    Ok(())
}

/// Checks the client of a sign-in. Its secret stays in the vault.
fn check_oauth(oauth: &OAuthClientSettings) -> Result<(), RpcError> {
    let OAuthClientSettings { client_id, client_secret, scopes, redirect_host, redirect_port } =
        oauth;
    let is_word = |text: &String| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    if !client_id.iter().all(is_word) {
        return refuse("oauth.clientId", "must be one word of plain characters");
    }
    if let Some(secret) = client_secret {
        if client_id.is_none() {
            return refuse("oauth.clientSecret", "needs a client id");
        }
        if !(secret.starts_with("{{secret:") && secret.ends_with("}}")) {
            return refuse("oauth.clientSecret", "expected {{secret:NAME}} of a stored secret");
        }
    }
    if !scopes.iter().flatten().all(is_word) {
        return refuse("oauth.scopes", "a scope must be one word of plain characters");
    }
    if !redirect_host.iter().all(|host| host == "127.0.0.1" || host == "localhost") {
        return refuse("oauth.redirectHost", "must be 127.0.0.1 or localhost");
    }
    match redirect_port {
        Some(0) => refuse("oauth.redirectPort", "must be between 1 and 65535"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn error_of(transport: &Value) -> String {
        let definition = json!({ "transport": transport });
        let server: ServerDefinition = serde_json::from_value(definition).expect("a definition");
        check_definition(&server).err().map(|error| error.message).unwrap_or_default()
    }

    fn oauth(settings: &Value) -> Value {
        json!({ "kind": "http", "url": "https://a.example", "oauth": settings })
    }

    #[test]
    fn usable_definitions_are_accepted() {
        for transport in [
            json!({ "kind": "stdio", "command": "npx", "arguments": ["-y", "@x/cal@1.0.0"] }),
            json!({ "kind": "stdio", "command": "/usr/bin/node", "hosts": ["api.example.org:8443", "[fd00::5]"] }),
            json!({ "kind": "http", "url": "https://mcp.example.org/v1?x=1", "headers": { "Authorization": "Bearer {{secret:x}}" } }),
            json!({ "kind": "http", "url": "http://127.0.0.1:8080/mcp" }),
            json!({ "kind": "http", "url": "https://a.example", "oauth": { "clientId": "x",
                "clientSecret": "{{secret:x}}", "redirectHost": "localhost", "redirectPort": 3118 } }),
        ] {
            assert_eq!(error_of(&transport), "", "{transport}");
        }
    }

    #[test]
    fn unusable_definitions_name_their_field() {
        for (transport, field) in [
            (json!({ "kind": "stdio", "command": " " }), "command"),
            (json!({ "kind": "stdio", "command": "node", "arguments": ["a\u{0}b"] }), "command"),
            (
                json!({ "kind": "stdio", "command": "node", "environment": { "A=B": "" } }),
                "environment",
            ),
            (json!({ "kind": "stdio", "command": "node", "folder": "x" }), "folder"),
            (json!({ "kind": "stdio", "command": "node", "hosts": ["*.example.org"] }), "hosts"),
            (
                json!({ "kind": "stdio", "command": "node", "hosts": ["https://example.org/"] }),
                "hosts",
            ),
            (json!({ "kind": "http", "url": "ftp://example.org" }), "url"),
            (json!({ "kind": "http", "url": "https://me:pw@example.org" }), "url"),
            (json!({ "kind": "http", "url": "https://" }), "url"),
            (
                json!({ "kind": "http", "url": "https://example.org", "headers": { "A B": "" } }),
                "headers",
            ),
            (
                json!({ "kind": "http", "url": "https://example.org", "headers": { "A": "x\r\nB: y" } }),
                "headers",
            ),
            (oauth(&json!({ "clientId": "a b" })), "oauth.clientId"),
            (oauth(&json!({ "clientSecret": "{{secret:x}}" })), "oauth.clientSecret"),
            (oauth(&json!({ "clientId": "x", "clientSecret": "plain" })), "oauth.clientSecret"),
            (oauth(&json!({ "scopes": [""] })), "oauth.scopes"),
            (oauth(&json!({ "redirectHost": "evil.example" })), "oauth.redirectHost"),
            (oauth(&json!({ "redirectPort": 0 })), "oauth.redirectPort"),
        ] {
            let error = error_of(&transport);
            assert!(
                error.starts_with(&format!("server.transport.{field}: ")),
                "{transport}: {error}"
            );
        }
    }

    #[test]
    fn time_limits_have_bounds() {
        let definition = json!({
            "transport": { "kind": "http", "url": "https://example.org" },
            "startTimeoutSeconds": 301,
        });
        let server: ServerDefinition = serde_json::from_value(definition).expect("a definition");
        let error = check_definition(&server).expect_err("too long").message;
        assert_eq!(error, "server.startTimeoutSeconds: must be between 1 and 300, found 301");
    }
}
