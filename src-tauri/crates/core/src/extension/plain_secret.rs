//! Keys in plain text in a definition.
//!
//! Owns the check before a page: no variable, header, argument, address or setting of a bundle holds what looks like a
//! key. The values would stand on the page, in `extensions.lock` and in backups. Never repeats a value. Pitfall: a key
//! beside a handle in one value.

use std::collections::BTreeMap;

use super::definition::{ServerDefinition, ServerTransport};
use super::import::{
    holds_plain_secret, holds_secret, is_secret_address, secret_argument, secret_name, split_scheme,
};
use super::name::ExtensionName;
use super::package::ExtensionSource;
use crate::text::{escape_line, first_line};

/// The maximum characters of a name in a reason.
const MAX_SHOWN: usize = 60;

/// A field that holds what looks like a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainSecret {
    /// The path of the field.
    pub path: String,
    /// Cause and remedy as sentences, without the value.
    pub reason: String,
}

/// The names and values of a field, and the form in which a person writes them.
struct NamedValues<'v> {
    path: &'static str,
    /// What stands before a name.
    prefix: &'static str,
    /// What stands between a name and its value.
    separator: &'static str,
    values: Vec<(&'v str, &'v str)>,
}

/// The first field of the definition of `name` that holds what looks like a key.
#[must_use]
pub fn plain_secret(name: &ExtensionName, server: &ServerDefinition) -> Option<PlainSecret> {
    match &server.transport {
        ServerTransport::Stdio { command, arguments, environment, .. } => {
            let variables = NamedValues {
                path: "server.transport.environment",
                prefix: "",
                separator: "=",
                values: pairs(environment),
            };
            variables
                .plain_secret(name)
                .or_else(|| plain_secret_command(command))
                .or_else(|| plain_secret_argument(arguments))
        }
        ServerTransport::Http { url, headers, .. } => {
            let headers = NamedValues {
                path: "server.transport.headers",
                prefix: "",
                separator: ": ",
                values: pairs(headers),
            };
            headers.plain_secret(name).or_else(|| plain_secret_address(url))
        }
        // Names of secrets only.
        ServerTransport::Wasm { .. } => None,
    }
}

/// The first setting of a bundle that holds what looks like a key.
#[must_use]
pub fn plain_secret_setting(name: &ExtensionName, source: &ExtensionSource) -> Option<PlainSecret> {
    let ExtensionSource::Mcpb { config, .. } = source else { return None };
    let settings = config
        .iter()
        .flat_map(|(key, values)| values.iter().map(move |value| (key.as_str(), value.as_str())));
    let settings = NamedValues {
        path: "source.config",
        prefix: "--config ",
        separator: "=",
        values: settings.collect(),
    };
    settings.plain_secret(name)
}

fn pairs(values: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

impl NamedValues<'_> {
    fn plain_secret(&self, server: &ExtensionName) -> Option<PlainSecret> {
        let is_plain = |(name, value): &&(&str, &str)| holds_plain_secret(name, value);
        let (name, value) = self.values.iter().find(is_plain)?;
        let Self { path, prefix, separator, .. } = self;
        let (secret, (scheme, _)) = (secret_name(server, name), split_scheme(value));
        let shown = first_line(name, MAX_SHOWN, escape_line);
        let written = format!("{prefix}{shown}{separator}{scheme}{{{{secret:{secret}}}}}");
        Some(PlainSecret {
            path: format!("{path}.{shown}"),
            reason: format!(
                "The value of {shown} looks like a key. Store it as a secret: rouse secrets set {secret} --server {server}. Then write {written}."
            ),
        })
    }
}

fn plain_secret_command(command: &str) -> Option<PlainSecret> {
    holds_secret(command).then(|| PlainSecret {
        path: "server.transport.command".to_owned(),
        reason: "The command holds what looks like a key. Name the program alone, and write a key as a secret into a variable.".to_owned(),
    })
}

fn plain_secret_argument(arguments: &[String]) -> Option<PlainSecret> {
    let at = secret_argument(arguments)?;
    let number = at + 1;
    Some(PlainSecret {
        path: format!("server.transport.arguments[{at}]"),
        reason: format!(
            "Argument {number} holds what looks like a key. Rouse fills secrets only into variables and headers. If the server reads the key from a variable, write it there as a secret."
        ),
    })
}

fn plain_secret_address(url: &str) -> Option<PlainSecret> {
    is_secret_address(url).then(|| PlainSecret {
        path: "server.transport.url".to_owned(),
        reason: "The address holds what looks like a key or a password. Rouse fills secrets only into variables and headers. Use a header with a secret.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const KEY: &str = "ghp_q7Zk2pX9vB4mT1sR8wN6q7Zk2pX9vB4mT1sR";

    fn found(transport: &Value) -> Option<PlainSecret> {
        let definition = json!({ "transport": transport });
        let server = serde_json::from_value(definition).expect("a definition");
        plain_secret(&"cal".parse().expect("a name"), &server)
    }

    fn stdio(environment: &Value, arguments: &Value) -> Value {
        json!({ "kind": "stdio", "command": "/bin/cal", "environment": environment, "arguments": arguments })
    }

    fn http(url: &str, headers: &Value) -> Value {
        json!({ "kind": "http", "url": url, "headers": headers })
    }

    #[test]
    fn key_in_plain_text_is_named_with_its_remedy() {
        let bearer = format!("Bearer {KEY}");
        let with_query = format!("https://a.example/mcp?api_key={KEY}");
        for (transport, path, remedy) in [
            (
                stdio(&json!({ "TOKEN": KEY }), &json!([])),
                "server.transport.environment.TOKEN",
                "The value of TOKEN looks like a key. Store it as a secret: rouse secrets set cal_token --server cal. Then write TOKEN={{secret:cal_token}}.",
            ),
            (
                stdio(&json!({ "PROJECT": format!("{{{{secret:a}}}}{KEY}") }), &json!([])),
                "server.transport.environment.PROJECT",
                "Then write PROJECT={{secret:cal_project}}.",
            ),
            (
                stdio(&json!({}), &json!(["--api-key", "hunter2"])),
                "server.transport.arguments[1]",
                "Argument 2 holds what looks like a key.",
            ),
            (
                stdio(&json!({}), &json!([KEY])),
                "server.transport.arguments[0]",
                "write it there as a secret.",
            ),
            (
                http("https://a.example/mcp", &json!({ "Authorization": bearer })),
                "server.transport.headers.Authorization",
                "Then write Authorization: Bearer {{secret:cal_authorization}}.",
            ),
            (http(&with_query, &json!({})), "server.transport.url", "Use a header with a secret."),
            (
                http("https://me:hunter2@a.example", &json!({})),
                "server.transport.url",
                "a key or a password",
            ),
            (json!({ "kind": "stdio", "command": KEY }), "server.transport.command", "The command"),
        ] {
            let secret = found(&transport).unwrap_or_else(|| panic!("{transport}"));
            assert_eq!(secret.path, path);
            assert!(secret.reason.contains(remedy), "{secret:?}");
            let shown = format!("{secret:?}");
            assert!(!shown.contains("hunter2") && !shown.contains(&KEY[..12]), "{shown}");
        }
    }

    #[test]
    fn handles_paths_and_ordinary_values_are_no_keys() {
        let long_name = "{{secret:q7Zk2pX9vB4mT1sR8wN6q7Zk}}";
        for transport in [
            stdio(
                &json!({ "TOKEN": "{{secret:cal_token}}", "KEY": long_name, "MAX_TOKENS": "4096",
                    "DB_URL": "postgres://me:{{secret:db}}@db.example/x", "ZONE": "UTC" }),
                &json!([
                    "--notes",
                    "/home/me/q7Zk2pX9vB4mT1sR8wN6",
                    "-y",
                    "@x/cal@1.0.0",
                    "--config=/nix/store/q7Zk2pX9vB4mT1sR8wN6-cal/config.json",
                    "{{program of the package}}"
                ]),
            ),
            http(
                "https://token.example:8443/mcp?tenant=abcdefgh",
                &json!({ "Authorization": "Bearer {{secret:docs}}", "X-Client": "rouse" }),
            ),
        ] {
            assert_eq!(found(&transport), None, "{transport}");
        }
    }

    #[test]
    fn setting_of_a_bundle_names_its_flag() {
        let source: ExtensionSource = serde_json::from_value(json!({
            "kind": "mcpb", "file": "/tmp/cal.mcpb",
            "config": { "mode": ["a"], "token": ["{{secret:a}}", "hunter2"] },
        }))
        .expect("a source");
        let secret = plain_secret_setting(&"cal".parse().expect("a name"), &source);
        let secret = secret.expect("a key");
        assert_eq!(secret.path, "source.config.token");
        assert!(secret.reason.ends_with("Then write --config token={{secret:cal_token}}."));
        assert!(!secret.reason.contains("hunter2"), "{secret:?}");
    }
}
