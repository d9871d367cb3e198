//! The hosts that a job grants.
//!
//! Owns what an entry looks like: a name or an address, with a port or without. It refuses URLs, paths and wildcards, so
//! that nobody believes to have granted something else than what counts.

use crate::json_fields::Fields;

/// More would be a list that nobody reads.
const MOST: usize = 50;

pub(super) fn read(fields: &mut Fields<'_>, key: &str) -> Vec<String> {
    let mut hosts = Vec::new();
    for (at, written) in fields.texts(key).unwrap_or_default().into_iter().enumerate() {
        let host = written.trim().to_ascii_lowercase();
        if !is_host(&host) {
            let problem = "expected a host such as api.example.org or 192.168.1.20:8080";
            fields.complain(&format!("{key}[{at}]"), format!("{problem}, found `{written}`"));
        }
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if hosts.len() > MOST {
        fields.complain(key, format!("expected at most {MOST} hosts, found {}", hosts.len()));
    }
    hosts
}

fn is_host(text: &str) -> bool {
    let is_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !is_v6 => (name, Some(port)),
        _ => (text, None),
    };
    let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = match in_brackets {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_v6 || is_dns_name(name),
    };
    is_name && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Letters, digits and hyphens between dots (RFC 1123, section 2.1), and the underscore that local names have.
fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        (1..=63).contains(&label.len()) && label.chars().all(is_plain)
    };
    (1..=253).contains(&name.len()) && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn names_and_addresses_with_ports_or_without_are_hosts() {
        for good in [
            "example.org",
            "nas",
            "192.168.1.20:8080",
            "[fd00::5]:8000",
            "fd00::5",
            "bücher.de",
            "a_b.lan:1",
        ] {
            assert!(is_host(good), "{good}");
        }
    }

    #[test]
    fn whatever_else_somebody_may_mean_is_none() {
        for bad in [
            "",
            "https://example.org",
            "example.org/a",
            "*.example.org",
            "a b",
            "a:",
            "a:0",
            "a:70000",
            "a..b",
            "user@a",
            "[x]:1",
        ] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
