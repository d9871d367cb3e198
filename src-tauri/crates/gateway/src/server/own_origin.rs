//! The origins of this server, and the check that a request comes from a program or an own page.
//!
//! Owns the comparison of `Host`, `Origin` and fetch metadata: a loopback address with the port, or a name of the settings
//! behind a proxy with TLS. Never trusts `X-Forwarded-*`, `Tailscale-User-*` or another header that a program can write.
//! Pitfall: a comparison by suffix; only a whole name is own.

use axum::http::{HeaderMap, header};

use crate::auth::SESSION_LIFETIME_MS;

/// Prefix of the session cookie; the suffix is the port. A browser shares cookies between all ports of a host, so without the
/// port two engines would sign out each other's pages.
const COOKIE_PREFIX: &str = "rouse_session_";
/// The session cookie of a name. A browser accepts the prefix over TLS only, for this host and every path.
const NAME_COOKIE: &str = "__Host-rouse_session";

/// An origin of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OwnOrigin {
    /// A loopback address.
    Loopback {
        /// The host as the browser names it, with the port.
        host: String,
        /// The port.
        port: u16,
    },
    /// A name of the settings.
    Name(String),
}

impl OwnOrigin {
    /// The origin of this host; none for a foreign host.
    fn of_host(host: &str, port: u16, names: &[String]) -> Option<Self> {
        let host = host.to_ascii_lowercase();
        let own = ["127.0.0.1", "localhost", "[::1]"].map(|address| format!("{address}:{port}"));
        if own.contains(&host) {
            return Some(Self::Loopback { host, port });
        }
        let name = host.strip_suffix(":443").unwrap_or(&host);
        names.iter().any(|own| own == name).then(|| Self::Name(name.to_owned()))
    }

    /// The origin as a browser writes it.
    pub(super) fn serialized(&self) -> String {
        match self {
            Self::Loopback { host, .. } => format!("http://{host}"),
            Self::Name(name) => format!("https://{name}"),
        }
    }

    /// Whether a request to `other` may name this origin, too: addresses of loopback are one server.
    fn is_same_server(&self, other: &Self) -> bool {
        self == other || matches!((self, other), (Self::Loopback { .. }, Self::Loopback { .. }))
    }

    /// The name of the session cookie.
    pub(super) fn cookie_name(&self) -> String {
        match self {
            Self::Loopback { port, .. } => format!("{COOKIE_PREFIX}{port}"),
            Self::Name(_) => NAME_COOKIE.to_owned(),
        }
    }

    /// The cookie of a session of `rouse open`. Its lifetime is the idle timeout of the session.
    pub(super) fn session_cookie(&self, session: &str) -> String {
        self.cookie(session, SESSION_LIFETIME_MS)
    }

    /// A session cookie with this lifetime.
    pub(super) fn cookie(&self, session: &str, lifetime_ms: i64) -> String {
        let (name, seconds) = (self.cookie_name(), lifetime_ms / 1_000);
        let secure = if matches!(self, Self::Name(_)) { " Secure;" } else { "" };
        format!("{name}={session}; Path=/;{secure} HttpOnly; SameSite=Strict; Max-Age={seconds}")
    }
}

/// The own origin that a request names. Accepts requests of programs and of the server's own pages. A target with a host has
/// precedence over `Host` (RFC 9112, section 3.2.2), so both must name this server.
pub(super) fn check_origin(
    target: Option<&str>,
    headers: &HeaderMap,
    port: u16,
    names: &[String],
) -> Result<OwnOrigin, &'static str> {
    let foreign_host = "This host name is not an address of Rouse.";
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let own = OwnOrigin::of_host(host, port, names).ok_or(foreign_host)?;
    let is_own_target = target.is_none_or(|target| {
        OwnOrigin::of_host(target, port, names).is_some_and(|target| own.is_same_server(&target))
    });
    if named.next().is_some() || !is_own_target {
        return Err(foreign_host);
    }
    let serialized = own.serialized();
    for origin in headers.get_all(header::ORIGIN) {
        if !origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&serialized)) {
            return Err("Requests of other pages are refused.");
        }
    }
    let site = headers.get("sec-fetch-site").map(axum::http::HeaderValue::as_bytes);
    let mode = headers.get("sec-fetch-mode").map(axum::http::HeaderValue::as_bytes);
    match site {
        None | Some(b"none" | b"same-origin") => Ok(own),
        // A link from another page may open the UI, which then shows only the sign-in.
        Some(_) if mode == Some(b"navigate") => Ok(own),
        Some(_) => Err("Requests of other pages are refused."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["box.example.org", "two.example.org"];

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("a header"));
        }
        headers
    }

    fn check(
        target: Option<&str>,
        pairs: &[(&'static str, &str)],
    ) -> Result<OwnOrigin, &'static str> {
        let names = NAMES.map(str::to_owned);
        check_origin(target, &headers(pairs), 7717, &names)
    }

    #[test]
    fn own_hosts_and_origins_are_accepted() {
        for (pairs, origin) in [
            (&[("host", "127.0.0.1:7717")][..], "http://127.0.0.1:7717"),
            (&[("host", "LOCALHOST:7717")], "http://localhost:7717"),
            (
                &[("host", "localhost:7717"), ("origin", "http://localhost:7717")],
                "http://localhost:7717",
            ),
            (&[("host", "[::1]:7717")], "http://[::1]:7717"),
            (&[("host", "box.example.org")], "https://box.example.org"),
            (&[("host", "Box.Example.Org:443")], "https://box.example.org"),
            (
                &[("host", "two.example.org"), ("origin", "https://two.example.org")],
                "https://two.example.org",
            ),
        ] {
            let own = check(None, pairs).unwrap_or_else(|error| panic!("{pairs:?}: {error}"));
            assert_eq!(own.serialized(), origin, "{pairs:?}");
        }
        assert!(check(Some("localhost:7717"), &[("host", "127.0.0.1:7717")]).is_ok());
        assert!(check(Some("box.example.org:443"), &[("host", "box.example.org")]).is_ok());
    }

    #[test]
    fn foreign_target_is_refused() {
        for (target, host) in [
            ("evil.example", "127.0.0.1:7717"),
            ("evil.example:7717", "127.0.0.1:7717"),
            ("user@127.0.0.1:7717", "127.0.0.1:7717"),
            ("127.0.0.1:7717", "box.example.org"),
            ("box.example.org", "127.0.0.1:7717"),
            ("two.example.org", "box.example.org"),
        ] {
            assert!(check(Some(target), &[("host", host)]).is_err(), "{target} at {host}");
        }
    }

    #[test]
    fn foreign_hosts_and_origins_are_refused() {
        for bad in [
            &[][..],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:7718")],
            &[("host", "evil.example:7717")],
            &[("host", "127.0.0.1.evil.example:7717")],
            &[("host", "127.0.0.1:7717"), ("host", "evil.example")],
            &[("host", "127.0.0.1:7717"), ("origin", "http://evil.example")],
            &[("host", "127.0.0.1:7717"), ("origin", "null")],
            &[("host", "127.0.0.1:7717"), ("origin", "http://localhost:7717")],
            &[("host", "127.0.0.1:7717"), ("origin", "https://127.0.0.1:7717")],
            &[("host", "127.0.0.1:7717"), ("origin", "https://box.example.org")],
            &[
                ("host", "127.0.0.1:7717"),
                ("origin", "http://127.0.0.1:7717"),
                ("origin", "http://evil.example"),
            ],
            &[
                ("host", "127.0.0.1:7717"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
            &[
                ("host", "127.0.0.1:7717"),
                ("sec-fetch-site", "same-site"),
                ("sec-fetch-mode", "websocket"),
            ],
            &[("host", "box.example.org:7717")],
            &[("host", "box.example.org:80")],
            &[("host", "box.example.org:443:443")],
            &[("host", "box.example.org.")],
            &[("host", "a.box.example.org")],
            &[("host", "box.example.org.evil.example")],
            &[("host", "box.example.org"), ("host", "box.example.org")],
            &[("host", "evil.example"), ("x-forwarded-host", "box.example.org")],
            &[("host", "box.example.org"), ("origin", "http://box.example.org")],
            &[("host", "box.example.org"), ("origin", "https://box.example.org:8443")],
            &[("host", "box.example.org"), ("origin", "https://two.example.org")],
            &[("host", "box.example.org"), ("origin", "http://127.0.0.1:7717")],
            &[("host", "box.example.org"), ("origin", "null")],
            &[
                ("host", "box.example.org"),
                ("sec-fetch-site", "same-site"),
                ("sec-fetch-mode", "cors"),
            ],
        ] {
            assert!(check(None, bad).is_err(), "{bad:?}");
        }
        let without_names = headers(&[("host", "box.example.org")]);
        assert!(check_origin(None, &without_names, 7717, &[]).is_err());
    }

    #[test]
    fn cookie_of_a_name_is_secure_and_host_bound() {
        let name = OwnOrigin::Name("box.example.org".to_owned());
        assert_eq!(
            name.cookie("s", 60_000),
            "__Host-rouse_session=s; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=60"
        );
        let loopback = OwnOrigin::Loopback { host: "localhost:7717".to_owned(), port: 7717 };
        assert_eq!(
            loopback.session_cookie("s"),
            "rouse_session_7717=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"
        );
    }
}
