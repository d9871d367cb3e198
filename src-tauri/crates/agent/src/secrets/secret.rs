//! A stored secret: name, value, and bound hosts and MCP servers.
//!
//! Owns the rules for a valid secret. `Debug` hides the value.

use std::fmt;

use rouse_core::UnixMs;
use rouse_core::extension::ExtensionName;
use zeroize::Zeroizing;

use super::bound_host::BoundHost;
use crate::safety::SHORTEST_VALUE;
use rouse_core::settings::is_secret_name;

/// The longest value in bytes, for the keyrings of all systems.
const MAX_BYTES: usize = 2_400;

/// The shortest value in bytes, without white space.
const MIN_BYTES: usize = 4;

/// The value of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(pub(super) Zeroizing<String>);

/// Why a secret cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The name is invalid in a handle.
    #[error("`{0}` is no name for a secret: use 1 to 64 small letters, digits, _ and -")]
    Name(String),
    /// The value is too short.
    #[error("a secret has at least {MIN_BYTES} characters")]
    Short,
    /// The value is too long for some keyrings.
    #[error("a secret has at most {MAX_BYTES} bytes")]
    Long,
    /// The value could end an HTTP header.
    #[error("a secret is one line without control characters")]
    Control,
    /// The secret has neither host nor MCP server.
    #[error("a secret is bound to at least one host or MCP server")]
    NoHost,
    /// The host is invalid.
    #[error("`{0}` is no host: write api.example.com, or api.example.com:8443")]
    Host(String),
}

impl SecretValue {
    /// A value as typed, without a line break at the end.
    ///
    /// # Errors
    /// When the value is too short, too long, or has control characters.
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let text = text.trim_end_matches(['\n', '\r']);
        if length_of(text) < MIN_BYTES {
            return Err(SecretError::Short);
        }
        if text.len() > MAX_BYTES {
            return Err(SecretError::Long);
        }
        if text.chars().any(char::is_control) {
            return Err(SecretError::Control);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// A warning for a value too short to be found in longer texts.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        (!self.is_redactable()).then(|| format!(
            "The value has fewer than {SHORTEST_VALUE} characters, like words of ordinary text. Rouse redacts such a value only if it is a whole field, so the value can be stored or sent inside a longer text. Use a longer value if possible."
        ))
    }

    /// Whether the value is long enough to be redacted inside longer texts.
    #[must_use]
    pub fn is_redactable(&self) -> bool {
        length_of(&self.0) >= SHORTEST_VALUE
    }

    /// The value itself, only for storage.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Bytes of `text` without white space.
fn length_of(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).map(char::len_utf8).sum()
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A secret with name, bound hosts and bound MCP servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    pub(super) name: String,
    pub(super) value: SecretValue,
    pub(super) hosts: Vec<BoundHost>,
    pub(super) servers: Vec<ExtensionName>,
    set_at: UnixMs,
}

impl Secret {
    /// A secret bound to `hosts`.
    ///
    /// # Errors
    /// When the name or a host is invalid, or there is no host.
    pub fn new(name: &str, value: SecretValue, hosts: &[String]) -> Result<Self, SecretError> {
        Self::bound(name, value, hosts, Vec::new())
    }

    /// A secret bound to `hosts` and to the MCP `servers`.
    ///
    /// # Errors
    /// When the name or a host is invalid, or there is neither host nor server.
    pub fn bound(
        name: &str,
        value: SecretValue,
        hosts: &[String],
        servers: Vec<ExtensionName>,
    ) -> Result<Self, SecretError> {
        if hosts.is_empty() && servers.is_empty() {
            return Err(SecretError::NoHost);
        }
        let hosts = hosts
            .iter()
            .map(|host| BoundHost::parse(host).ok_or_else(|| SecretError::Host(host.clone())))
            .collect::<Result<_, _>>()?;
        if !is_secret_name(name) {
            return Err(SecretError::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), value, hosts, servers, set_at: UnixMs(0) })
    }

    /// A secret that is only redacted and never filled into a call, such as a provider's key.
    #[must_use]
    pub fn redacted_only(name: &str, value: SecretValue) -> Self {
        let (hosts, servers) = (Vec::new(), Vec::new());
        Self { name: name.to_owned(), value, hosts, servers, set_at: UnixMs(0) }
    }

    /// The same secret, set at this time.
    #[must_use]
    pub fn set(self, set_at: UnixMs) -> Self {
        Self { set_at, ..self }
    }

    pub(super) const fn set_at(&self) -> UnixMs {
        self.set_at
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bound hosts.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(ToString::to_string).collect()
    }

    /// The value, only for storage.
    #[must_use]
    pub const fn value(&self) -> &SecretValue {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_value_name_or_host_is_refused() {
        assert_eq!(SecretValue::new("a b c\n"), Err(SecretError::Short));
        let warning = SecretValue::new("a b c d e f g").expect("a value").warning();
        assert!(warning.is_some_and(|text| text.contains("fewer than 8 characters")));
        assert_eq!(SecretValue::new("two lines of\nit"), Err(SecretError::Control));
        assert_eq!(SecretValue::new(&"x".repeat(MAX_BYTES + 1)), Err(SecretError::Long));
        let value = SecretValue::new("hunter2hunter2\r\n").expect("a value");
        assert_eq!(value.warning(), None);
        assert_eq!(value.expose(), "hunter2hunter2");
        let secret = |name, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            Secret::new(name, value.clone(), &hosts)
        };
        assert_eq!(secret("Mail", &["a.example"]), Err(SecretError::Name("Mail".into())));
        assert_eq!(secret("", &["a.example"]), Err(SecretError::Name(String::new())));
        assert_eq!(secret("mail", &[]), Err(SecretError::NoHost));
        assert_eq!(secret("mail", &["*.example"]), Err(SecretError::Host("*.example".into())));
    }
}
