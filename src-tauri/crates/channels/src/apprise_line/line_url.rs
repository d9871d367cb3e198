//! The parts of a line: `scheme://user:password@host:port/path?query`.
//!
//! Owns the split and the percent-decoding. Never knows a service.
//! Pitfall: the colon in a host; the token of a Telegram bot has one, so the port is split off on demand.

use super::import::{AppriseLineError, problem};

/// The parts of a line, decoded. Never printed.
pub(super) struct LineUrl {
    pub(super) scheme: String,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// The host, with its port.
    pub(super) authority: String,
    /// The path as written, with its first `/`.
    pub(super) raw_path: String,
    /// The parts of the path that are not empty.
    pub(super) path: Vec<String>,
    query: Vec<(String, String)>,
}

impl LineUrl {
    /// Splits a line.
    pub(super) fn read(line: &str) -> Result<Self, AppriseLineError> {
        const NO_URL: &str =
            "The line is no address of Apprise. It begins like `tgram://` or `ntfys://`.";
        let line = line.trim();
        let Some((scheme, rest)) = line.split_once("://") else { return problem(NO_URL) };
        let is_scheme =
            (1..=16).contains(&scheme.len()) && scheme.chars().all(|c| c.is_ascii_alphanumeric());
        if !is_scheme || line.contains(char::is_control) {
            return problem(NO_URL);
        }
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path_start = address.find('/').unwrap_or(address.len());
        let (authority, raw_path) = address.split_at(path_start);
        let (login, authority) = match authority.rsplit_once('@') {
            Some((login, authority)) => (Some(login), authority),
            None => (None, authority),
        };
        let (user, password) = match login.map(|login| login.split_once(':').ok_or(login)) {
            None => (None, None),
            Some(Ok((user, password))) => (Some(decode(user)?), Some(decode(password)?)),
            Some(Err(user)) => (Some(decode(user)?), None),
        };
        let path = raw_path.split('/').filter(|part| !part.is_empty()).map(decode);
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(query_pair);
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            user,
            password,
            authority: decode(authority)?,
            raw_path: raw_path.to_owned(),
            path: path.collect::<Result<_, _>>()?,
            query: query.collect::<Result<_, _>>()?,
        })
    }

    /// A value of the query that is not empty.
    pub(super) fn query(&self, key: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(known, _)| known.eq_ignore_ascii_case(key))?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Whether a key of the query begins with one of these characters.
    pub(super) fn has_query_starting_with(&self, first: [char; 3]) -> bool {
        self.query.iter().any(|(key, _)| key.starts_with(first))
    }

    /// The parts of the path, and those of `to` in the query.
    pub(super) fn targets(&self) -> Vec<String> {
        let to = self.query("to").unwrap_or_default();
        let to = to.split([',', ' ']).filter(|part| !part.is_empty()).map(str::to_owned);
        self.path.iter().cloned().chain(to).collect()
    }

    /// The host and its port.
    pub(super) fn host_and_port(&self) -> Result<(String, Option<u16>), AppriseLineError> {
        split_port(&self.authority)
    }

    /// Whether the scheme asks for TLS: it ends in `s`.
    pub(super) fn is_encrypted(&self) -> bool {
        self.scheme.ends_with('s')
    }

    /// The web address of the host with this path.
    pub(super) fn web_address(&self, path: &str) -> String {
        let scheme = if self.is_encrypted() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.authority)
    }
}

/// Splits `host:port`. An IPv6 address stands in brackets.
pub(super) fn split_port(text: &str) -> Result<(String, Option<u16>), AppriseLineError> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => match port.parse() {
            Ok(port) if port > 0 => (host, Some(port)),
            _ => return problem("The port of the line is no number from 1 to 65535."),
        },
        _ => (text, None),
    };
    let is_ipv6 = host.starts_with('[') && host.ends_with(']');
    let is_host_character =
        |c: char| c.is_ascii_alphanumeric() || "-._".contains(c) || (is_ipv6 && "[]:".contains(c));
    if host.is_empty() || !host.chars().all(is_host_character) {
        return problem(
            "The line has no valid host. Write characters like `@` in a password as `%40`.",
        );
    }
    Ok((host.to_owned(), port))
}

fn query_pair(pair: &str) -> Result<(String, String), AppriseLineError> {
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Ok((decode(key)?, decode(value)?))
}

/// Decodes `%40` and the like.
fn decode(text: &str) -> Result<String, AppriseLineError> {
    const INVALID: &str = "The line has an invalid `%`. Write the character `%` as `%25`.";
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return problem(INVALID) };
        decoded.push(u8::try_from(high * 16 + low).expect("BUG: two digits fit into a byte"));
    }
    match String::from_utf8(decoded) {
        Ok(text) if !text.contains(char::is_control) => Ok(text),
        _ => problem(INVALID),
    }
}
