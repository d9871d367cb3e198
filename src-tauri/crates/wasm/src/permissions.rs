//! The permissions of a tool: hosts, secrets and files.
//!
//! Owns the form of each permission and the match of a host. Never grants anything: a person accepts the permissions
//! of a version. Pitfall: a pattern or a subdomain; a host matches exactly, with its port.

use std::fmt;
use std::str::FromStr;

use rouse_core::extension::ToolFileAccess;
use serde::{Deserialize, Serialize};

/// Maximum bytes of a name and of a label (RFC 1035, section 2.3.4).
const MAX_HOST_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

const HTTPS_PORT: u16 = 443;

/// What a tool may use beside the log, the clock and random bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPermissions {
    /// Hosts for HTTPS.
    pub hosts: Vec<GrantedHost>,
    /// Names of secrets that go to these hosts.
    pub secrets: Vec<String>,
    /// Access to the folder of the tool.
    pub files: ToolFileAccess,
}

/// A host that a tool may reach: `api.example.com`, or `api.example.com:8443`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GrantedHost {
    name: String,
    port: u16,
}

/// Why a text is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid host: {problem}")]
pub struct InvalidHost {
    text: String,
    problem: &'static str,
}

impl GrantedHost {
    /// Whether this is the host `name` in small letters at `port`.
    pub(crate) fn is(&self, name: &str, port: u16) -> bool {
        self.name == name && self.port == port
    }

    /// Whether the host is this computer.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.name)
    }
}

/// Whether `name` is this computer.
pub(crate) fn is_loopback(name: &str) -> bool {
    name == "localhost" || name == "127.0.0.1"
}

impl FromStr for GrantedHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = |problem| InvalidHost { text: text.to_owned(), problem };
        if text.contains("://") || text.contains('/') {
            return Err(invalid("write the name without https:// and without a path"));
        }
        if text.contains('*') {
            return Err(invalid("list each host by its whole name"));
        }
        let (name, port) = match text.split_once(':') {
            None => (text, HTTPS_PORT),
            Some((name, port)) => match port.parse() {
                Ok(port) if port != 0 => (name, port),
                _ => return Err(invalid("the port must be a number from 1 to 65535")),
            },
        };
        if !is_host_name(name) {
            return Err(invalid("write the full name in small letters, as api.example.com"));
        }
        Ok(Self { name: name.to_owned(), port })
    }
}

/// Whether `name` is a DNS name in small letters, or a loopback address.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(is_allowed)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // A last label of digits (or `0x…`) would be read as an address by some clients.
    let is_number = |label: &str| label.starts_with(|first: char| first.is_ascii_digit());
    let is_dns = name.len() <= MAX_HOST_BYTES
        && name.contains('.')
        && name.split('.').all(is_label)
        && !name.rsplit('.').next().is_some_and(is_number);
    is_dns || is_loopback(name)
}

impl TryFrom<String> for GrantedHost {
    type Error = InvalidHost;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<GrantedHost> for String {
    fn from(host: GrantedHost) -> Self {
        host.to_string()
    }
}

impl fmt::Display for GrantedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            HTTPS_PORT => f.write_str(&self.name),
            port => write!(f, "{}:{port}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_in_small_letters_are_hosts() {
        for text in ["api.example.com", "a.b:8443", "127.0.0.1:8080", "localhost:1"] {
            let host: GrantedHost = text.parse().expect(text);
            assert_eq!(host.to_string(), text);
        }
        let host: GrantedHost = "api.example.com:443".parse().expect("a host");
        assert!(host.is("api.example.com", 443) && !host.is("api.example.com", 80));
        assert!(!host.is("x.api.example.com", 443));
    }

    #[test]
    fn other_texts_are_no_hosts() {
        for text in [
            "https://api.example.com",
            "api.example.com/path",
            "*.example.com",
            "API.example.com",
            "example",
            "10.0.0.1",
            "0x7f.1",
            "a.0x7f",
            "-a.example.com",
            "a..b",
            "a.b.",
            "user@example.com",
            "example.com:0",
            "example.com:70000",
            "[::1]",
            "",
        ] {
            assert!(text.parse::<GrantedHost>().is_err(), "{text}");
        }
    }
}
