//! A stored secret: its name, its value, and the hosts that it may be sent to.
//!
//! Owns what can be one. It refuses what could go nowhere or would end a header, and shows no value.

use std::fmt;

use rouse_core::UnixMs;
use zeroize::Zeroizing;

use super::host::BoundHost;
use crate::safety::SHORTEST;

/// The longest value that every system's keyring takes.
const LONGEST: usize = 2_400;

/// The fewest bytes of a value, white space not counted.
const LEAST: usize = 4;

/// The longest name.
const LONGEST_NAME: usize = 64;

/// A value that nobody is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(pub(super) Zeroizing<String>);

/// Why something is no secret that can be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The name cannot stand in a handle.
    #[error("`{0}` is no name for a secret: use 1 to 64 small letters, digits, _ and -")]
    Name(String),
    /// It is nearly every other word.
    #[error("a secret has at least {LEAST} characters")]
    Short,
    /// Not every keyring takes it.
    #[error("a secret has at most {LONGEST} bytes")]
    Long,
    /// It would end a header.
    #[error("a secret is one line without control characters")]
    Control,
    /// It could go nowhere.
    #[error("a secret is bound to at least one host")]
    NoHost,
    /// No host.
    #[error("`{0}` is no host: write api.example.com, or api.example.com:8443")]
    Host(String),
}

impl SecretValue {
    /// Takes a value as it was typed; a line break at its end is not part of it.
    ///
    /// # Errors
    /// When it is too short, too long, or more than a line.
    pub fn new(text: &str) -> Result<Self, SecretError> {
        let text = text.trim_end_matches(['\n', '\r']);
        if size_of(text) < LEAST {
            return Err(SecretError::Short);
        }
        if text.len() > LONGEST {
            return Err(SecretError::Long);
        }
        if text.chars().any(char::is_control) {
            return Err(SecretError::Control);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// What the person should know when it is too short to be told from ordinary text.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        (!self.is_watched()).then(|| format!(
            "It has fewer than {SHORTEST} characters, and ordinary text has words like it. Rouse watches for it only where it is the whole of a field, so it can be written down or sent inside of a longer text unnoticed. Use a longer value if you can."
        ))
    }

    /// Whether it is looked for in every text.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        size_of(&self.0) >= SHORTEST
    }

    /// The value itself, for where it is stored and for nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Bytes of `text` that are not white space.
fn size_of(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).map(char::len_utf8).sum()
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A secret with its name and the hosts it may be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    pub(super) name: String,
    pub(super) value: SecretValue,
    pub(super) hosts: Vec<BoundHost>,
    set_at: UnixMs,
}

impl Secret {
    /// A secret that may be sent to `hosts`.
    ///
    /// # Errors
    /// When the name or a host is none, or there is no host.
    pub fn new(name: &str, value: SecretValue, hosts: &[String]) -> Result<Self, SecretError> {
        if hosts.is_empty() {
            return Err(SecretError::NoHost);
        }
        let hosts = hosts
            .iter()
            .map(|host| BoundHost::parse(host).ok_or_else(|| SecretError::Host(host.clone())))
            .collect::<Result<_, _>>()?;
        if !is_secret_name(name) {
            return Err(SecretError::Name(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), value, hosts, set_at: UnixMs(0) })
    }

    /// A key that is only recognised and never put into a call: a provider's, say.
    #[must_use]
    pub fn never_sent(name: &str, value: SecretValue) -> Self {
        Self { name: name.to_owned(), value, hosts: Vec::new(), set_at: UnixMs(0) }
    }

    /// The same, set at this instant. Who sets a secret anew sets it at another one, so that what was kept by its handle is
    /// never made with another value than it was kept of.
    #[must_use]
    pub fn set(self, set_at: UnixMs) -> Self {
        Self { set_at, ..self }
    }

    pub(super) const fn set_at(&self) -> UnixMs {
        self.set_at
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it may be sent.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(ToString::to_string).collect()
    }

    /// Its value, for where it is stored and for nothing else.
    #[must_use]
    pub const fn value(&self) -> &SecretValue {
        &self.value
    }
}

/// Whether `name` can stand in a handle.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let spelled = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(spelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_a_secret_becomes_one() {
        assert_eq!(SecretValue::new("a b c\n"), Err(SecretError::Short));
        let warned = SecretValue::new("a b c d e f g").expect("a value").warning();
        assert!(warned.is_some_and(|words| words.contains("fewer than 8 characters")));
        assert_eq!(SecretValue::new("two lines of\nit"), Err(SecretError::Control));
        assert_eq!(SecretValue::new(&"x".repeat(LONGEST + 1)), Err(SecretError::Long));
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
