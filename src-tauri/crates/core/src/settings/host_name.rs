//! Host names of a reverse proxy.
//!
//! Owns the form: a full DNS name in small letters, nothing else. Never resolves a name.
//! Pitfall: a name that a `Host` header of another server also matches; a name is compared as a whole.

/// Maximum bytes of a name and of a label (RFC 1035, section 2.3.4).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Why `text` is no host name of a proxy.
pub(super) fn host_name_violation(text: &str) -> Option<String> {
    let problem = if text.contains("://") || text.contains('/') {
        "must be a name without https:// and without a path, such as box.tail1234.ts.net"
    } else if text.contains(':') {
        "must be a name without a port; the proxy listens on port 443"
    } else if text.contains('*') {
        "must be a whole name; list each name instead of a pattern (*)"
    } else if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        "must be in small letters"
    } else if !text.contains('.') || !is_dns_name(text) {
        "expected a full DNS name, such as box.tail1234.ts.net"
    } else if text.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
        "must be a name, not an IP address"
    } else if text.ends_with(".localhost") {
        "must not end with .localhost, which names this computer for each browser"
    } else {
        return None;
    };
    Some(problem.to_owned())
}

fn is_dns_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(is_allowed)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MAX_NAME && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_dns_names_are_accepted() {
        let long_label = format!("{}.example.org", "a".repeat(MAX_LABEL));
        for name in
            ["box.tail1234.ts.net", "a.b", "1.example.org", "xn--bcher-kva.example", &long_label]
        {
            assert_eq!(host_name_violation(name), None, "{name}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        let (long_label, long_name) =
            (format!("{}.org", "a".repeat(MAX_LABEL + 1)), "a.".repeat(130) + "org");
        for (name, reason) in [
            ("https://box.example.org", "without https://"),
            ("box.example.org/rouse", "without https://"),
            ("box.example.org:8443", "without a port"),
            ("[::1]", "without a port"),
            ("*.example.org", "a whole name"),
            ("Box.example.org", "small letters"),
            ("127.0.0.1", "not an IP address"),
            ("100.64.1.2", "not an IP address"),
            ("rouse.localhost", "must not end with .localhost"),
            ("localhost", "a full DNS name"),
            ("", "a full DNS name"),
            (".example.org", "a full DNS name"),
            ("example.org.", "a full DNS name"),
            ("-a.example.org", "a full DNS name"),
            ("a-.example.org", "a full DNS name"),
            ("a_b.example.org", "a full DNS name"),
            ("b\u{fc}cher.example", "a full DNS name"),
            (&long_label, "a full DNS name"),
            (&long_name, "a full DNS name"),
        ] {
            let message = host_name_violation(name).expect(reason);
            assert!(message.contains(reason), "{name}: {message}");
        }
    }
}
