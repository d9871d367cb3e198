//! URLs of a guest's requests.
//!
//! Owns a strict reading of scheme, host and port. Refuses everything that two parsers could read in two ways: user
//! information, backslashes, spaces, control characters, other letters than ASCII. Pitfall: a lenient reading; the
//! client behind the port must find the same host.

use crate::permissions::is_loopback;

const MAX_URL_BYTES: usize = 8_192;

/// The parts of a URL that decide where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuestUrl<'u> {
    /// The scheme with its slashes.
    pub(crate) scheme: &'u str,
    /// The host in small letters.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// Scheme, host and port as written.
    pub(crate) origin: &'u str,
    /// Path and query.
    pub(crate) rest: &'u str,
}

impl<'u> GuestUrl<'u> {
    /// Reads a URL. Plain HTTP is for this computer, and only in tests.
    pub(crate) fn parse(url: &'u str, allows_loopback_http: bool) -> Result<Self, String> {
        if url.len() > MAX_URL_BYTES {
            return Err(format!("The URL is longer than {MAX_URL_BYTES} bytes. Shorten it."));
        }
        if !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(
                "The URL has spaces, backslashes or letters that must be percent-encoded. \
                 Encode them."
                    .to_owned(),
            );
        }
        let (scheme, default_port) = match url {
            _ if url.starts_with("https://") => ("https://", 443),
            _ if url.starts_with("http://") => ("http://", 80),
            _ => return Err("The URL must begin with https://.".to_owned()),
        };
        let after = &url[scheme.len()..];
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        let (authority, rest) = after.split_at(end);
        if rest.contains('#') {
            return Err("The URL has a fragment (#). Remove it.".to_owned());
        }
        let invalid = || format!("The URL has an invalid host: {authority}.");
        let (name, port) = match authority.split_once(':') {
            None => (authority, default_port),
            Some((name, port)) => (name, port.parse().map_err(|_| invalid())?),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(invalid());
        }
        let host = name.to_ascii_lowercase();
        if scheme == "http://" && !(allows_loopback_http && is_loopback(&host)) {
            return Err("The URL must begin with https://.".to_owned());
        }
        Ok(Self { scheme, host, port, origin: &url[..scheme.len() + end], rest })
    }

    /// The host as secrets are bound to it: with a scheme only for plain HTTP, and with a port only if unusual.
    pub(crate) fn bound_host(&self) -> String {
        match (self.scheme, self.port) {
            ("https://", 443) => self.host.clone(),
            ("https://", port) => format!("{}:{port}", self.host),
            (scheme, port) => format!("{scheme}{}:{port}", self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_read() {
        let url = GuestUrl::parse("https://API.example.com?q={{secret:key}}", false);
        let url = url.expect("a URL");
        assert_eq!((url.host.as_str(), url.port), ("api.example.com", 443));
        assert_eq!((url.origin, url.rest), ("https://API.example.com", "?q={{secret:key}}"));
        assert_eq!(url.bound_host(), "api.example.com");
        let url = GuestUrl::parse("http://127.0.0.1:8080/a", true).expect("a URL");
        assert_eq!(url.bound_host(), "http://127.0.0.1:8080");
    }

    #[test]
    fn ambiguous_urls_are_refused() {
        for url in [
            "https://good.example\\@evil.example/",
            "https://good.example@evil.example/",
            "https://good.example:443@evil.example/",
            "https://good.example%2eevil.example/",
            "https://{{secret:HOST}}/",
            "https://good.example#@evil.example/",
            "https://good.example/#x",
            "https:good.example",
            "https:///good.example",
            "HTTPS://good.example",
            "https://good.example /",
            "https://gооd.example/",
            "https://[::1]/",
            "https://good.example:x/",
            "http://good.example/",
            "file:///etc/passwd",
            "",
        ] {
            assert!(GuestUrl::parse(url, true).is_err(), "{url}");
        }
        assert!(GuestUrl::parse("http://127.0.0.1/", false).is_err());
    }
}
