//! Base addresses of registries.
//!
//! Owns the form: https, or http on this computer; a host, an optional path, nothing else. Never resolves a name.
//! Pitfall: an address in an error; the user part may hold a password.

use std::net::Ipv6Addr;

/// Maximum bytes of an address.
const MAX_ADDRESS: usize = 300;

/// The hosts of addresses with http.
const LOOPBACK_HOSTS: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

/// Why `text` is no base address of a registry.
pub(super) fn registry_address_violation(text: &str) -> Option<String> {
    let written = text.strip_prefix("https://").map(|rest| (true, rest));
    let written = written.or_else(|| text.strip_prefix("http://").map(|rest| (false, rest)));
    let Some((is_encrypted, rest)) = written else {
        return Some(
            "expected an address that begins with https://, such as https://registry.example.org"
                .to_owned(),
        );
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let problem = if text.len() > MAX_ADDRESS {
        return Some(format!("must be at most {MAX_ADDRESS} characters"));
    } else if authority.contains('@') {
        "must not contain a user name or a password"
    } else if rest.contains(['?', '#']) {
        "must not contain a query (?) or a fragment (#)"
    } else if !is_path(&rest[authority.len()..]) {
        "must have a plain path: letters, digits and - . _ ~ / @"
    } else {
        match host_of(authority) {
            None => "expected a host, such as https://registry.example.org",
            Some(host) if !is_encrypted && !LOOPBACK_HOSTS.contains(&host) => {
                "must begin with https://; http:// is for this computer only (127.0.0.1, [::1], localhost)"
            }
            Some(_) => return None,
        }
    };
    Some(problem.to_owned())
}

fn is_path(path: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/@".contains(c);
    path.chars().all(is_allowed) && !path.split('/').any(|part| matches!(part, "." | ".."))
}

/// The host of `host` or `host:port`; none if either is invalid.
fn host_of(authority: &str) -> Option<&str> {
    let end = match authority.find(']') {
        Some(bracket) => bracket + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse().is_ok_and(|n: u16| n > 0)
    };
    let has_valid_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
            host.starts_with(|c: char| c.is_ascii_alphanumeric()) && host.chars().all(is_allowed)
        }
    };
    (has_valid_port && is_host).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_and_this_computer_are_accepted() {
        for address in [
            "https://registry.example.org",
            "https://registry.example.org/",
            "https://registry.example.org:9443/mcp/@team/v1~2",
            "https://192.0.2.7",
            "https://[2001:db8::1]:8443",
            "http://127.0.0.1:8080",
            "http://[::1]:8080/api",
            "http://localhost",
        ] {
            assert_eq!(registry_address_violation(address), None, "{address}");
        }
    }

    #[test]
    fn other_addresses_are_refused_unquoted() {
        for (address, reason) in [
            ("registry.example.org", "begins with https://"),
            ("HTTPS://registry.example.org", "begins with https://"),
            ("file:///CANARY", "begins with https://"),
            ("", "begins with https://"),
            ("http://registry.example.org", "for this computer only"),
            ("http://127.0.0.1.example.org", "for this computer only"),
            ("https://me:CANARY@registry.example.org", "a user name or a password"),
            ("https://registry.example.org?key=CANARY", "a query (?)"),
            ("https://registry.example.org/#CANARY", "a fragment (#)"),
            ("https://registry.example.org/a/../CANARY", "a plain path"),
            ("https://registry.example.org/a b", "a plain path"),
            ("https://registry.example.org/\u{1b}CANARY", "a plain path"),
            ("https://", "expected a host"),
            ("https:///path", "expected a host"),
            ("https://registry example.org", "expected a host"),
            ("https://registry.example.org:0", "expected a host"),
            ("https://registry.example.org:+1", "expected a host"),
            ("https://registry.example.org\\CANARY", "expected a host"),
            ("https://[::1", "expected a host"),
        ] {
            let message = registry_address_violation(address).expect(reason);
            assert!(
                message.contains(reason) && !message.contains("CANARY"),
                "{address}: {message}"
            );
        }
        let long = format!("https://registry.example.org/{}", "a".repeat(MAX_ADDRESS));
        assert!(registry_address_violation(&long).is_some_and(|text| text.contains("at most 300")));
    }
}
