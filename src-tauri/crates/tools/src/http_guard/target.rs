//! Strict parsing of URLs.
//!
//! Owns the check of a URL as written *and* as parsed, because attacks use the difference: white space and backslashes that parsers
//! drop or turn around, a user part that resembles a host, an address in octal, hex or as a single number, a dot at the
//! end. Refuses a URL if the two disagree; repairs nothing. Never resolves names and never judges addresses.

use std::net::{IpAddr, Ipv6Addr};

use reqwest::Url;
use rouse_core::tool::Destination;
use thiserror::Error;

const MAX_URL_BYTES: usize = 4_096;

/// A URL with an unambiguous origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlTarget {
    url: Url,
    host: UrlHost,
    port: u16,
}

/// The host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UrlHost {
    /// An ASCII name (IDNA) in lower case, without a trailing dot.
    Name(String),
    Address(IpAddr),
}

/// Rejection of a URL, in words for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum UrlError {
    #[error("Only URLs that begin with http:// or https:// can be fetched.")]
    Scheme,
    #[error("The URL is longer than {MAX_URL_BYTES} bytes.")]
    Length,
    /// A character that parsers treat differently.
    #[error(
        "The URL contains a space, a backslash or a control character. Write it percent-encoded."
    )]
    Character,
    /// `user:password@`.
    #[error("The URL contains a user name or password. Leave it out.")]
    Userinfo,
    #[error("The URL's host is not a valid host name or IP address.")]
    Host,
    #[error(
        "The URL's host is an IP address in an unusual form. Write it as four decimal numbers."
    )]
    AddressForm,
    #[error("The URL's port is not valid.")]
    Port,
    #[error("The URL is not valid.")]
    Invalid,
}

impl UrlTarget {
    /// Parses a written URL.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlError> {
        check_characters(text)?;
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(UrlError::Scheme);
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let written = written_host(authority)?;
        let mut url = Url::parse(text).map_err(|_| UrlError::Invalid)?;
        url.set_fragment(None);
        let host = UrlHost::from_url(&url, written)?;
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(UrlError::Port)?;
        Ok(Self { url, host, port })
    }

    /// Resolves the `Location` of a redirect.
    pub(crate) fn resolve_redirect(&self, location: &str) -> Result<Self, UrlError> {
        if has_scheme(location) {
            return Self::parse(location);
        }
        check_characters(location)?;
        if location.starts_with("//") {
            return Self::parse(&format!("{}:{location}", self.url.scheme()));
        }
        let mut url = self.url.join(location).map_err(|_| UrlError::Invalid)?;
        url.set_fragment(None);
        Ok(Self { url, ..self.clone() })
    }

    pub(crate) const fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) const fn host(&self) -> &UrlHost {
        &self.host
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The host in URL syntax.
    pub(crate) fn url_host(&self) -> String {
        self.destination().host
    }

    /// The host in URL syntax, with the port if written.
    pub(crate) fn authority(&self) -> String {
        let host = self.url_host();
        self.url.port().map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    pub(crate) fn destination(&self) -> Destination {
        let host = match &self.host {
            UrlHost::Address(IpAddr::V6(address)) => format!("[{address}]"),
            other => other.to_string(),
        };
        Destination { host, port: self.port, is_encrypted: self.is_encrypted() }
    }

    pub(crate) fn has_same_origin(&self, other: &Self) -> bool {
        self.url.scheme() == other.url.scheme()
            && self.host == other.host
            && self.port == other.port
    }
}

impl UrlHost {
    fn from_url(url: &Url, written: &str) -> Result<Self, UrlError> {
        let parsed = url.host_str().ok_or(UrlError::Host)?;
        if url.domain().is_some() {
            return Self::parse_name(parsed);
        }
        let bare = parsed.trim_start_matches('[').trim_end_matches(']');
        let address: IpAddr = bare.parse().map_err(|_| UrlError::Host)?;
        let is_plain = match address {
            IpAddr::V4(_) => written == parsed,
            IpAddr::V6(address) => {
                written.trim_matches(['[', ']']).parse() == Ok::<Ipv6Addr, _>(address)
            }
        };
        if is_plain { Ok(Self::Address(address)) } else { Err(UrlError::AddressForm) }
    }

    /// Labels of 1 to 63 letters, digits and hyphens, at most 253 in all, without a trailing dot.
    fn parse_name(name: &str) -> Result<Self, UrlError> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(is_plain)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let is_name = name.len() <= 253 && name.split('.').all(is_label);
        if is_name { Ok(Self::Name(name.to_owned())) } else { Err(UrlError::Host) }
    }
}

/// URL syntax without brackets.
impl std::fmt::Display for UrlHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

fn check_characters(text: &str) -> Result<(), UrlError> {
    if text.len() > MAX_URL_BYTES {
        return Err(UrlError::Length);
    }
    let is_ambiguous = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if text.chars().any(is_ambiguous) { Err(UrlError::Character) } else { Ok(()) }
}

/// The host as written, without the port.
fn written_host(authority: &str) -> Result<&str, UrlError> {
    if authority.contains('@') {
        return Err(UrlError::Userinfo);
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']').map(|end| &authority[..end + 2]).ok_or(UrlError::Host)?,
        None => authority.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() || host.contains('%') { Err(UrlError::Host) } else { Ok(host) }
}

fn has_scheme(location: &str) -> bool {
    let name = location.split([':', '/', '?', '#']).next().unwrap_or_default();
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    location[name.len()..].starts_with(':') && !name.is_empty() && name.chars().all(is_scheme)
}
