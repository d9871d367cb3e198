//! Addresses of providers.

use std::net::IpAddr;

use reqwest::Url;

/// Whether `address` is an HTTP URL with a host.
pub(super) fn is_web_address(address: &str) -> bool {
    Url::parse(address)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

/// Whether `address` is a URL of this computer.
pub(super) fn is_loopback(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn loopback_is_recognised_by_all_names() {
        for local in [
            "http://localhost:1",
            "http://127.0.0.1:11434/v1",
            "http://127.8.0.1",
            "http://[::1]:8080",
        ] {
            assert!(is_loopback(local), "{local}");
        }
        for remote in [
            "https://api.openai.com/v1",
            "http://localhost.evil.example",
            "http://192.168.0.2:1",
            "nonsense",
        ] {
            assert!(!is_loopback(remote), "{remote}");
        }
    }
}
