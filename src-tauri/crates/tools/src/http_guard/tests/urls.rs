//! Accepted and refused URLs, as written and as redirect targets.

use crate::http_guard::target::{UrlError, UrlTarget};

use UrlError::{AddressForm, Character, Host, Invalid, Length, Port, Scheme, Userinfo};

const ACCEPTED: &[(&str, &str, u16)] = &[
    ("http://example.com", "example.com", 80),
    ("https://example.com/", "example.com", 443),
    ("HTTPS://EXAMPLE.COM/Path?q=1#part", "example.com", 443),
    ("http://example.com:8080/a?b#c", "example.com", 8080),
    ("http://example.com:80/", "example.com", 80),
    ("http://a-b.c1.example/", "a-b.c1.example", 80),
    ("http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80),
    ("http://bücher.example/", "xn--bcher-kva.example", 80),
    ("http://localhost/", "localhost", 80),
    ("http://8.8.8.8/", "8.8.8.8", 80),
    ("http://127.0.0.1:8443/", "127.0.0.1", 8443),
    ("http://[2606:4700::1111]/", "2606:4700::1111", 80),
    ("http://[2606:4700:0:0:0:0:0:1111]:8080/", "2606:4700::1111", 8080),
    ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", 80),
    ("http://example.com?q", "example.com", 80),
    ("http://example.com#f", "example.com", 80),
    ("http://example.com/@user", "example.com", 80),
    ("http://example.com/?u=http://10.0.0.1@evil", "example.com", 80),
    ("http://example.com/%00%0d%0a", "example.com", 80),
    ("http://example.com/a/../../b", "example.com", 80),
    ("http://1.2.3.4.example.com/", "1.2.3.4.example.com", 80),
];

const REFUSED: &[(&str, UrlError)] = &[
    // Other schemes, and none.
    ("", Scheme),
    ("example.com", Scheme),
    ("//example.com", Scheme),
    ("/etc/passwd", Scheme),
    ("http:example.com", Scheme),
    ("http:/example.com", Scheme),
    ("ftp://example.com/", Scheme),
    ("file:///etc/passwd", Scheme),
    ("gopher://127.0.0.1:6379/_FLUSHALL", Scheme),
    ("data:text/html,hi", Scheme),
    ("javascript:alert(1)", Scheme),
    ("ws://example.com/", Scheme),
    ("unix:///var/run/docker.sock", Scheme),
    ("dict://example.com/", Scheme),
    ("view-source:http://example.com", Scheme),
    ("httpx://example.com/", Scheme),
    ("jar:http://example.com!/", Scheme),
    // Characters that parsers drop, turn around, or treat as line breaks.
    (" http://example.com", Character),
    ("http://example.com ", Character),
    ("http://exa mple.com", Character),
    ("ht\ttp://example.com", Character),
    ("http://exam\nple.com", Character),
    ("http://example.com/\r\nHost: evil", Character),
    ("http://example.com/\0", Character),
    ("http://evil.com\0.example.com/", Character),
    ("http://example.com\\@evil.com/", Character),
    ("http:\\\\example.com\\", Character),
    ("http://example.com/\u{85}", Character),
    ("http://example.com/\u{2028}", Character),
    ("http://example.com\u{3000}/", Character),
    ("http://example.com/\u{7f}", Character),
    // A user part that resembles the host.
    ("http://user@example.com/", Userinfo),
    ("http://user:pass@example.com/", Userinfo),
    ("http://example.com@127.0.0.1/", Userinfo),
    ("http://example.com:80@127.0.0.1/", Userinfo),
    ("http://@example.com/", Userinfo),
    ("http://:@example.com/", Userinfo),
    ("http://a@b@c/", Userinfo),
    // IPv4 in other forms than four decimal numbers.
    ("http://2130706433/", AddressForm),
    ("http://0x7f000001/", AddressForm),
    ("http://0x7f.1/", AddressForm),
    ("http://0x7f.0.0.1/", AddressForm),
    ("http://017700000001/", AddressForm),
    ("http://0177.0.0.1/", AddressForm),
    ("http://127.1/", AddressForm),
    ("http://127.0.1/", AddressForm),
    ("http://127.0.0.1./", AddressForm),
    ("http://0/", AddressForm),
    ("http://010.8.8.8/", AddressForm),
    ("http://①②⑦.0.0.1/", AddressForm),
    ("http://１２７.0.0.1/", AddressForm),
    ("http://127。0。0。1/", AddressForm),
    // Invalid addresses and names.
    ("http://256.0.0.1/", Invalid),
    ("http://1.2.3.4.5/", Invalid),
    ("http://[::1/", Host),
    ("http://[::1%25eth0]/", Host),
    ("http://[1.2.3.4]/", Invalid),
    ("http://[::g]/", Invalid),
    ("http:///example.com/", Host),
    ("http://", Host),
    ("http://?q", Host),
    ("http://%31%32%37.0.0.1/", Host),
    ("http://example%2ecom/", Host),
    ("http://example.com./", Host),
    ("http://localhost./", Host),
    ("http://.example.com/", Host),
    ("http://exa..mple.com/", Host),
    ("http://-example.com/", Host),
    ("http://exa_mple.com/", Host),
    ("http://exa*mple.com/", Host),
    // Ports.
    ("http://example.com:0/", Port),
    ("http://example.com:65536/", Invalid),
    ("http://example.com:80x/", Invalid),
];

/// Redirects from `https://a.example:8443/dir/page?q`.
const REDIRECTED: &[(&str, Result<&str, UrlError>)] = &[
    ("/x", Ok("https://a.example:8443/x")),
    ("x", Ok("https://a.example:8443/dir/x")),
    ("?y", Ok("https://a.example:8443/dir/page?y")),
    ("", Ok("https://a.example:8443/dir/page?q")),
    ("#z", Ok("https://a.example:8443/dir/page?q")),
    ("../../../x#f", Ok("https://a.example:8443/x")),
    ("/x?u=http://b.example/", Ok("https://a.example:8443/x?u=http://b.example/")),
    ("./b:c", Ok("https://a.example:8443/dir/b:c")),
    ("//b.example/x", Ok("https://b.example/x")),
    ("//127.0.0.1/", Ok("https://127.0.0.1/")),
    ("https://b.example/x", Ok("https://b.example/x")),
    ("http://b.example/x", Ok("http://b.example/x")),
    ("HTTP://10.0.0.1/", Ok("http://10.0.0.1/")),
    ("https:b.example", Err(Scheme)),
    ("https:/b.example", Err(Scheme)),
    ("https:\\b.example", Err(Character)),
    ("//\\b.example", Err(Character)),
    ("/\\b.example", Err(Character)),
    ("\\\\b.example", Err(Character)),
    ("/\t/b.example", Err(Character)),
    (" //b.example", Err(Character)),
    ("///b.example", Err(Host)),
    ("//u@b.example/", Err(Userinfo)),
    ("//0x7f.1/", Err(AddressForm)),
    ("//127.1/", Err(AddressForm)),
    ("//b.example./", Err(Host)),
    ("//[::1]:0/", Err(Port)),
    ("file:///etc/passwd", Err(Scheme)),
    ("javascript:alert(1)", Err(Scheme)),
    ("data:,x", Err(Scheme)),
    ("ftp://b.example/", Err(Scheme)),
    ("b:c", Err(Scheme)),
];

#[test]
fn plain_urls_are_accepted() {
    for &(text, host, port) in ACCEPTED {
        let target = UrlTarget::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((target.host().to_string().as_str(), target.port()), (host, port), "{text}");
        assert_eq!(target.url().fragment(), None, "{text}");
    }
}

#[test]
fn ambiguous_urls_are_refused_with_the_reason() {
    for &(text, expected) in REFUSED {
        assert_eq!(UrlTarget::parse(text).err(), Some(expected), "{text:?}");
    }
}

#[test]
fn overlong_urls_and_names_are_refused() {
    let path = |length: usize| format!("http://example.com/{}", "a".repeat(length - 19));
    assert!(UrlTarget::parse(&path(4_096)).is_ok());
    assert_eq!(UrlTarget::parse(&path(4_097)).err(), Some(Length));
    let label = "a".repeat(63);
    assert!(UrlTarget::parse(&format!("http://{label}.{label}.example/")).is_ok());
    assert_eq!(UrlTarget::parse(&format!("http://{label}a.example/")).err(), Some(Host));
    let name = [label.as_str(); 4].join(".");
    assert_eq!(UrlTarget::parse(&format!("http://{name}/")).err(), Some(Host));
}

#[test]
fn redirect_target_is_parsed_as_strictly() {
    let from = UrlTarget::parse("https://a.example:8443/dir/page?q").expect("a URL");
    for &(location, expected) in REDIRECTED {
        let to = from.resolve_redirect(location).map(|target| target.url().to_string());
        assert_eq!(to, expected.map(str::to_owned), "{location:?}");
    }
}

#[test]
fn origin_is_scheme_host_and_port() {
    let parse = |text| UrlTarget::parse(text).expect("a URL");
    let from = parse("https://a.example/x");
    assert!(parse("https://a.example:443/y?z").has_same_origin(&from));
    for other in [
        "http://a.example/",
        "https://a.example:8443/",
        "https://b.example/",
        "https://x.a.example/",
    ] {
        assert!(!parse(other).has_same_origin(&from), "{other}");
    }
}
