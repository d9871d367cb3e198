//! Which URLs a tool may name, and what exactly they name.
//!
//! A URL is checked as it was written *and* as the parser understood it, because attacks live in the difference: white
//! space and backslashes that a parser drops or turns around, a user part that looks like the host, an address in octal,
//! hex or as one number, a dot at the end. Where the two disagree the URL is refused; nothing is repaired. It refuses to
//! resolve names or judge addresses: that happens per hop, on what is really connected to.

use std::net::{IpAddr, Ipv6Addr};

use reqwest::Url;
use rouse_core::tool::Destination;
use thiserror::Error;

const MOST_LENGTH: usize = 4_096;

/// A URL that names one origin without a doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    url: Url,
    host: Host,
    port: u16,
}

/// The host of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// A name in ASCII (IDNA), lower case, without a dot at the end.
    Name(String),
    /// An address written as one.
    Address(IpAddr),
}

/// Why a URL is refused. The words are for the caller, who may mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum UrlError {
    /// Neither http nor https.
    #[error("Only URLs that begin with http:// or https:// can be fetched.")]
    Scheme,
    /// Too long.
    #[error("The URL is longer than {MOST_LENGTH} bytes.")]
    Length,
    /// A character that parsers disagree about.
    #[error(
        "The URL contains a space, a backslash or a control character. Write it percent-encoded."
    )]
    Character,
    /// `user:password@`.
    #[error("The URL contains a user name or password. Leave it out.")]
    Userinfo,
    /// No valid host.
    #[error("The URL's host is not a valid host name or IP address.")]
    Host,
    /// An address that is not written plainly.
    #[error(
        "The URL's host is an IP address in an unusual form. Write it as four decimal numbers."
    )]
    AddressForm,
    /// No valid port.
    #[error("The URL's port is not valid.")]
    Port,
    /// Otherwise.
    #[error("The URL is not valid.")]
    Invalid,
}

impl Target {
    /// Reads a URL that somebody wrote.
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
        let host = Host::of(&url, written)?;
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(UrlError::Port)?;
        Ok(Self { url, host, port })
    }

    /// Reads the `Location` of a redirect from here.
    pub(crate) fn redirected(&self, location: &str) -> Result<Self, UrlError> {
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

    pub(crate) const fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The host as it stands in a URL.
    pub(crate) fn host_in_url(&self) -> String {
        self.destination().host
    }

    /// The host as it stands in a URL, with the port where that is written.
    pub(crate) fn authority(&self) -> String {
        let host = self.host_in_url();
        self.url.port().map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    /// The host, the port and who can read along.
    pub(crate) fn destination(&self) -> Destination {
        let host = match &self.host {
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            other => other.to_string(),
        };
        Destination { host, port: self.port, is_encrypted: self.is_encrypted() }
    }

    /// Whether both are the same scheme, host and port.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        self.url.scheme() == other.url.scheme()
            && self.host == other.host
            && self.port == other.port
    }
}

impl Host {
    fn of(url: &Url, written: &str) -> Result<Self, UrlError> {
        let understood = url.host_str().ok_or(UrlError::Host)?;
        if url.domain().is_some() {
            return Self::name(understood);
        }
        let bare = understood.trim_start_matches('[').trim_end_matches(']');
        let address: IpAddr = bare.parse().map_err(|_| UrlError::Host)?;
        let is_plain = match address {
            IpAddr::V4(_) => written == understood,
            IpAddr::V6(address) => {
                written.trim_matches(['[', ']']).parse() == Ok::<Ipv6Addr, _>(address)
            }
        };
        if is_plain { Ok(Self::Address(address)) } else { Err(UrlError::AddressForm) }
    }

    /// Letters, digits and hyphens in labels of 1 to 63, together at most 253, no dot at the end.
    fn name(name: &str) -> Result<Self, UrlError> {
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

/// As in a URL, without brackets.
impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

fn check_characters(text: &str) -> Result<(), UrlError> {
    if text.len() > MOST_LENGTH {
        return Err(UrlError::Length);
    }
    let is_doubtful = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if text.chars().any(is_doubtful) { Err(UrlError::Character) } else { Ok(()) }
}

/// The host as it was written, without the port.
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
