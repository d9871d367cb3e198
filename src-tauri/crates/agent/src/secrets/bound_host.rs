//! The host that a secret is bound to: `api.example.com`, `api.example.com:8443`, or `http://nas.local:8080`.
//!
//! Matches exactly that host, no subdomain. Without `http://` only an encrypted connection matches. Written like a
//! `Destination`: lower case, IPv6 in brackets.

use std::fmt;

use rouse_core::tool::Destination;

/// A host with port and encryption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoundHost {
    host: String,
    port: u16,
    is_encrypted: bool,
}

impl BoundHost {
    /// Parses a host; none if `text` is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let (is_encrypted, rest) = match text.split_once("://") {
            None => (true, text.as_str()),
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some(_) => return None,
        };
        let default_port = if is_encrypted { 443 } else { 80 };
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().ok().filter(|port| *port != 0)?)
            }
            _ => (rest, default_port),
        };
        is_host(host).then(|| Self { host: host.to_owned(), port, is_encrypted })
    }

    /// The host of `destination`.
    pub(super) fn of(destination: &Destination) -> Self {
        let Destination { host, port, is_encrypted } = destination;
        Self { host: host.to_ascii_lowercase(), port: *port, is_encrypted: *is_encrypted }
    }

    /// The host of `destination` without encryption.
    pub(super) fn unencrypted(destination: &Destination) -> Self {
        Self {
            host: destination.host.to_ascii_lowercase(),
            port: destination.port,
            is_encrypted: false,
        }
    }

    /// Whether this host allows every destination that `other` allows.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let same = self.host == other.host && self.port == other.port;
        same && (other.is_encrypted || !self.is_encrypted)
    }

    /// Whether `destination` is this host without the required encryption, at the same port or both at the default ports.
    pub(super) fn lacks_encryption(&self, destination: &Destination) -> bool {
        let is_same_port =
            self.port == destination.port || (self.port, destination.port) == (443, 80);
        let is_same = self.host.eq_ignore_ascii_case(&destination.host) && is_same_port;
        is_same && self.is_encrypted && !destination.is_encrypted
    }

    /// Whether a secret that is bound to this host may go to `destination`.
    pub(super) fn allows(&self, destination: &Destination) -> bool {
        let is_same =
            self.host.eq_ignore_ascii_case(&destination.host) && self.port == destination.port;
        is_same && (destination.is_encrypted || !self.is_encrypted)
    }
}

impl fmt::Display for BoundHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, default_port) = if self.is_encrypted { ("", 443) } else { ("http://", 80) };
        write!(f, "{scheme}{}", self.host)?;
        if self.port == default_port { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        let is_valid =
            label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        !label.is_empty() && label.len() <= 63 && is_valid
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_parsed_and_displayed() {
        let cases = [
            ("api.example.com", Some("api.example.com")),
            ("https://API.example.com", Some("api.example.com")),
            ("api.example.com:8443", Some("api.example.com:8443")),
            ("http://nas.local:8080", Some("http://nas.local:8080")),
            ("http://nas.local", Some("http://nas.local")),
            ("[fd00::5]:8000", Some("[fd00::5]:8000")),
            ("[fd00::5]", Some("[fd00::5]")),
            ("*.example.com", None),
            ("example.com/path", None),
            ("user@example.com", None),
            ("example.com:0", None),
            ("example..com", None),
            ("ftp://example.com", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let parsed = BoundHost::parse(text).map(|host| host.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn plain_http_is_allowed_only_explicitly() {
        let to = |port, is_encrypted| Destination { host: "nas.local".into(), port, is_encrypted };
        let encrypted = BoundHost::parse("nas.local").expect("a host");
        let plain = BoundHost::parse("http://nas.local").expect("a host");
        assert!(encrypted.allows(&to(443, true)));
        assert!(!encrypted.allows(&to(80, false)));
        assert!(!encrypted.allows(&to(443, false)));
        assert!(plain.allows(&to(80, false)));
        assert!(!plain.allows(&to(443, true)));
        assert!(
            encrypted.lacks_encryption(&to(80, false))
                && encrypted.lacks_encryption(&to(443, false))
        );
        assert!(
            !encrypted.lacks_encryption(&to(8080, false))
                && !encrypted.lacks_encryption(&to(443, true))
        );
        assert!(!plain.lacks_encryption(&to(80, false)));
        assert_eq!(BoundHost::unencrypted(&to(8080, false)).to_string(), "http://nas.local:8080");
    }
}
