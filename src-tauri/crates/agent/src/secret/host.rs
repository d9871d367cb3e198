//! A host that a secret is bound to: `api.example.com`, `api.example.com:8443`, or `http://nas.local:8080`.
//!
//! Exactly that host, and no name below it. Without a scheme only an encrypted connection counts; whoever wants a secret
//! to go in the open has to write so. The host is written as `Destination` names it: small letters, IPv6 in brackets.

use std::fmt;

use rouse_core::tool::Destination;

/// One host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoundHost {
    host: String,
    port: u16,
    is_encrypted: bool,
}

impl BoundHost {
    /// Reads a host; none when it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let (is_encrypted, rest) = match text.split_once("://") {
            None => (true, text.as_str()),
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some(_) => return None,
        };
        let usual = if is_encrypted { 443 } else { 80 };
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().ok().filter(|port| *port != 0)?)
            }
            _ => (rest, usual),
        };
        is_host(host).then(|| Self { host: host.to_owned(), port, is_encrypted })
    }

    /// The host of `to`.
    pub(super) fn of(to: &Destination) -> Self {
        let Destination { host, port, is_encrypted } = to;
        Self { host: host.to_ascii_lowercase(), port: *port, is_encrypted: *is_encrypted }
    }

    /// The host of `to`, as whoever lets a secret go there in the open writes it.
    pub(super) fn in_the_open(to: &Destination) -> Self {
        Self { host: to.host.to_ascii_lowercase(), port: to.port, is_encrypted: false }
    }

    /// Whether all that may go to `other` may go to this one.
    pub(super) fn includes(&self, other: &Self) -> bool {
        let same = self.host == other.host && self.port == other.port;
        same && (other.is_encrypted || !self.is_encrypted)
    }

    /// Whether a call to `to` goes to this host, but in the open, and this one asks for more: at the same port, or at the
    /// usual one of each.
    pub(super) fn wants_encrypted(&self, to: &Destination) -> bool {
        let meant = self.port == to.port || (self.port, to.port) == (443, 80);
        let same = self.host.eq_ignore_ascii_case(&to.host) && meant;
        same && self.is_encrypted && !to.is_encrypted
    }

    /// Whether a call to `to` goes to this host.
    pub(super) fn is(&self, to: &Destination) -> bool {
        let same = self.host.eq_ignore_ascii_case(&to.host) && self.port == to.port;
        same && (to.is_encrypted || !self.is_encrypted)
    }
}

impl fmt::Display for BoundHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.is_encrypted { ("", 443) } else { ("http://", 80) };
        write!(f, "{scheme}{}", self.host)?;
        if self.port == usual { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        let spelled =
            label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        !label.is_empty() && label.len() <= 63 && spelled
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_and_written() {
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
            let read = BoundHost::parse(text).map(|host| host.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn in_the_open_only_where_it_says_so() {
        let to = |port, is_encrypted| Destination { host: "nas.local".into(), port, is_encrypted };
        let closed = BoundHost::parse("nas.local").expect("a host");
        let open = BoundHost::parse("http://nas.local").expect("a host");
        assert!(closed.is(&to(443, true)));
        assert!(!closed.is(&to(80, false)));
        assert!(!closed.is(&to(443, false)));
        assert!(open.is(&to(80, false)));
        assert!(!open.is(&to(443, true)));
        assert!(closed.wants_encrypted(&to(80, false)) && closed.wants_encrypted(&to(443, false)));
        assert!(
            !closed.wants_encrypted(&to(8080, false)) && !closed.wants_encrypted(&to(443, true))
        );
        assert!(!open.wants_encrypted(&to(80, false)));
        assert_eq!(BoundHost::in_the_open(&to(8080, false)).to_string(), "http://nas.local:8080");
    }
}
