//! One hop on real sockets: what comes back, what is refused, and where it stops.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use rouse_core::tool::ToolOutput;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::server::{Server, Then, ok};
use crate::http::{Http, HttpConfig};
use crate::testing::call;

fn allowing(server: &Server) -> HttpConfig {
    HttpConfig { allow_private_hosts: vec![server.entry()], ..HttpConfig::default() }
}

async fn fetch(config: HttpConfig, arguments: Value) -> ToolOutput {
    call(&Http::new(config), arguments).await
}

async fn refusal(config: HttpConfig, url: &str) -> String {
    let output = fetch(config, json!({ "url": url })).await;
    assert!(output.is_error(), "{url}: {}", output.text());
    output.text()
}

/// The same where these ports are usual ones, so that something else than the port decides.
async fn fetch_at(ports: &[u16], config: HttpConfig, url: &str) -> ToolOutput {
    let mut http = Http::new(config);
    http.fetcher.rules.ports.extend(ports);
    call(&http, json!({ "url": url })).await
}

async fn refusal_at(ports: &[u16], config: HttpConfig, url: &str) -> String {
    let output = fetch_at(ports, config, url).await;
    assert!(output.is_error(), "{url}: {}", output.text());
    output.text()
}

#[tokio::test]
async fn fetches_a_page_from_a_host_that_the_person_named() {
    let server = Server::start(Box::new(|_| {
        (ok("text/plain; charset=utf-8", "Grüße\u{1b}[2J\r\n".as_bytes()), Then::Close)
    }))
    .await;
    let output = fetch(allowing(&server), json!({ "url": server.url("/a?b=c#d") })).await;
    let expected = json!({
        "status": 200,
        "url": server.url("/a?b=c"),
        "contentType": "text/plain; charset=utf-8",
        "body": "Grüße[2J\n",
        "truncated": false,
    });
    assert!(
        output.text().ends_with("\"body\":\"Grüße[2J\\n\"}"),
        "the body comes last: {}",
        output.text()
    );
    assert_eq!(output, ToolOutput::ok(expected));
    let request = server.requests().remove(0).to_lowercase();
    assert!(request.starts_with("get /a?b=c http/1.1\r\n"), "{request}");
    assert!(
        request.contains("user-agent: rouse/") && request.contains("accept: text/html"),
        "{request}"
    );
    assert!(
        !request.contains("referer")
            && !request.contains("cookie")
            && !request.contains("authorization"),
        "{request}"
    );
}

#[tokio::test]
async fn without_the_persons_word_nothing_local_is_reached() {
    let server = Server::saying("secret").await;
    // The port is opened, so that it is the address that is refused.
    let refusal = async |url: &str| refusal_at(&[server.port], HttpConfig::default(), url).await;
    for host in ["127.0.0.1", "localhost"] {
        let said = refusal(&format!("http://{host}:{}/", server.port)).await;
        assert!(said.contains("is this computer") && !said.contains("secret"), "{said}");
    }
    for host in [
        "127.0.0.2",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ] {
        refusal(&format!("http://{host}:{}/", server.port)).await;
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_named_host_is_that_host_and_that_port_only() {
    let server = Server::saying("hello").await;
    let other = Server::saying("secret").await;
    let said = refusal(allowing(&server), &other.url("/")).await;
    assert!(said.contains(&format!("Port {}", other.port)), "{said}");
    let said = refusal(allowing(&server), &format!("http://localhost:{}/", server.port)).await;
    assert!(said.contains("Port"), "{said}");
    // With both ports open to all it is still the host that counts, and its port.
    let open = [server.port, other.port];
    for url in [other.url("/"), format!("http://localhost:{}/", server.port)] {
        let said = refusal_at(&open, allowing(&server), &url).await;
        assert!(said.contains("is this computer"), "{said}");
    }
    assert!(server.requests().is_empty() && other.requests().is_empty());
}

#[tokio::test]
async fn unusual_ports_are_refused_before_any_lookup() {
    for port in [1, 21, 22, 25, 79, 81, 6379, 11434, 65535] {
        let said =
            refusal(HttpConfig::default(), &format!("http://does-not-exist.invalid:{port}/")).await;
        assert!(said.contains(&format!("Port {port} is not allowed")), "{said}");
    }
}

#[tokio::test]
async fn rouses_own_port_stays_out_of_reach_even_for_a_named_host() {
    let server = Server::saying("gateway").await;
    let config = allowing(&server);
    let own_ports = config.own_ports.clone();
    let tool = Http::new(config);
    assert!(!call(&tool, json!({ "url": server.url("/") })).await.is_error());
    // The gateway learns its port later than the tools are made.
    own_ports.add(server.port);
    let output = call(&tool, json!({ "url": server.url("/") })).await;
    assert!(
        output.is_error() && output.text().contains("Rouse's own address"),
        "{}",
        output.text()
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_metadata_address_cannot_even_be_named() {
    let named = ["169.254.169.254", "0.0.0.0", "::ffff:127.0.0.1"].map(str::to_owned).to_vec();
    let config = || HttpConfig { allow_private_hosts: named.clone(), ..HttpConfig::default() };
    for url in
        ["http://169.254.169.254/latest/meta-data", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/"]
    {
        let said = refusal(config(), url).await;
        assert!(said.contains("cannot be fetched"), "{said}");
    }
}

#[tokio::test]
async fn the_answer_of_a_server_that_refuses_is_an_error_with_its_words() {
    let answer =
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope".to_vec();
    let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
    let output = fetch(allowing(&server), json!({ "url": server.url("/") })).await;
    assert!(output.is_error());
    assert_eq!((&output.value["status"], &output.value["body"]), (&json!(404), &json!("nope")));
    assert_eq!(output.words.as_deref(), Some("The server answered 404 (Not Found): nope"));
    assert_eq!(output.value["contentType"], Value::Null);
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_limit() {
    let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    let server = Server::start(Box::new(move |_| (head.clone(), Then::Flood))).await;
    let config = HttpConfig { max_bytes: 10_000, ..allowing(&server) };
    let output = fetch(config.clone(), json!({ "url": server.url("/") })).await;
    assert_eq!(output.value["truncated"], true);
    assert_eq!(output.value["body"], "x".repeat(10_000));
    // The caller can ask for less, not for more.
    for (wanted, expected) in [(10, 10), (1_000_000, 10_000)] {
        let output =
            fetch(config.clone(), json!({ "url": server.url("/"), "maxBytes": wanted })).await;
        assert_eq!(output.value["body"].as_str().map(str::len), Some(expected));
    }
}

#[tokio::test]
async fn a_packed_body_counts_unpacked() {
    const PACKED: &[u8] = include_bytes!("million_a.gz");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        PACKED.len()
    );
    let answer = [head.as_bytes(), PACKED].concat();
    let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
    let config = HttpConfig { max_bytes: 5_000, ..allowing(&server) };
    let output = fetch(config, json!({ "url": server.url("/") })).await;
    assert_eq!(
        (&output.value["truncated"], &output.value["body"]),
        (&json!(true), &json!("a".repeat(5_000)))
    );
}

#[tokio::test]
async fn a_body_that_ends_at_the_limit_is_whole() {
    let server = Server::saying("12345").await;
    let config = HttpConfig { max_bytes: 5, ..allowing(&server) };
    let output = fetch(config, json!({ "url": server.url("/") })).await;
    assert_eq!(
        (&output.value["truncated"], &output.value["body"]),
        (&json!(false), &json!("12345"))
    );
}

#[tokio::test]
async fn bodies_become_text_or_say_that_they_are_none() {
    let cases: [(&str, &[u8], usize, &str); 6] = [
        ("text/html; charset=ISO-8859-1", b"Gr\xfc\xdfe", 100, "Grüße"),
        ("text/html; Charset=\"shift_jis\"", b"\x93\xfa\x96\x7b", 100, "日本"),
        ("text/plain", "\u{feff}Grüße".as_bytes(), 100, "Grüße"),
        ("text/plain", b"broken \xff\xfe text", 100, "broken \u{fffd}\u{fffd} text"),
        ("text/plain", "aü".as_bytes(), 2, "a"),
        ("image/png", b"\x89PNG\0\0", 100, "(The body is binary and is not shown.)"),
    ];
    for (content_type, body, max_bytes, expected) in cases {
        let answer = ok(content_type, body);
        let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
        let config = HttpConfig { max_bytes, ..allowing(&server) };
        let output = fetch(config, json!({ "url": server.url("/") })).await;
        assert_eq!(output.value["body"], expected, "{content_type}");
    }
}

#[tokio::test]
async fn a_silent_server_and_a_body_that_stalls_run_out_of_time() {
    let stalls: [&[u8]; 2] = [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"];
    for bytes in stalls {
        let server = Server::start(Box::new(move |_| (bytes.to_vec(), Then::Hang))).await;
        let config = HttpConfig { timeout: Duration::from_millis(100), ..allowing(&server) };
        let said = refusal(config, &server.url("/")).await;
        assert!(said.contains("No complete answer"), "{said}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error_and_not_a_short_page() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_vec();
    let server = Server::start(Box::new(move |_| (bytes.clone(), Then::Close))).await;
    let said = refusal(allowing(&server), &server.url("/")).await;
    assert!(said.contains("could not be fetched") && !said.contains("half"), "{said}");
}

#[tokio::test]
async fn an_https_address_is_spoken_to_in_tls_and_nothing_else() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("a bound socket").port();
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a caller");
        stream.read_u8().await.expect("a byte")
    });
    let config = HttpConfig {
        allow_private_hosts: vec![format!("127.0.0.1:{port}")],
        ..HttpConfig::default()
    };
    let said = refusal(config, &format!("https://127.0.0.1:{port}/")).await;
    assert!(said.contains("127.0.0.1 could not be fetched"), "{said}");
    assert_eq!(heard.await.expect("it listened"), 0x16, "a TLS handshake begins with this byte");
}

#[tokio::test]
async fn an_address_of_ipv6_can_be_named_too() {
    let Ok(probe) = std::net::TcpListener::bind("[::1]:0") else {
        return;
    };
    drop(probe);
    let answer = ok("text/plain", b"six");
    let server = Server::start_on(
        "::1".parse().expect("an address"),
        Box::new(move |_| (answer.clone(), Then::Close)),
    )
    .await;
    let config = HttpConfig {
        allow_private_hosts: vec![format!("[::1]:{}", server.port)],
        ..HttpConfig::default()
    };
    let output = fetch(config, json!({ "url": format!("http://[::1]:{}/", server.port) })).await;
    assert_eq!(output.value["body"], "six", "{}", output.text());
}

#[tokio::test]
async fn headers_that_speak_for_the_connection_cannot_be_set() {
    let refused = [
        "Host",
        "Connection",
        "Content-Length",
        "Transfer-Encoding",
        "TE",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "Accept-Encoding",
        "X-Forwarded-For",
        "Forwarded",
        "bad name",
        "",
    ];
    for name in refused {
        let output = fetch(
            HttpConfig::default(),
            json!({ "url": "http://127.0.0.1/", "headers": { name: "x" } }),
        )
        .await;
        assert!(output.text().contains("cannot be set"), "{name}: {}", output.text());
    }
    let output = fetch(
        HttpConfig::default(),
        json!({ "url": "http://127.0.0.1/", "headers": { "A": "x\r\nB: y" } }),
    )
    .await;
    assert!(output.text().contains("not valid"), "{}", output.text());
}

const PROXY_CHILD: &str = "http::tests::network::fetches_a_page_from_a_host_that_the_person_named";

#[tokio::test]
async fn a_proxy_in_the_environment_is_not_used() {
    let proxy = Server::saying("through the proxy").await;
    let address = format!("http://127.0.0.1:{}", proxy.port);
    // The other test again, in a process of its own whose environment names a proxy.
    let mut child = tokio::process::Command::new(std::env::current_exe().expect("the test binary"));
    child.args(["--exact", PROXY_CHILD]).env_remove("no_proxy").env_remove("NO_PROXY");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        child.env(name, &address);
    }
    let output = child.output().await.expect("the test binary runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(proxy.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn entries_that_are_no_hosts_have_no_effect() {
    let server = Server::saying("secret").await;
    let url = server.url("/");
    for entry in
        ["*", "0.0.0.0/0", "127.0.0.0/8", "", "http://127.0.0.1", &url, "127.1", "user@127.0.0.1"]
    {
        let config =
            HttpConfig { allow_private_hosts: vec![entry.to_owned()], ..HttpConfig::default() };
        refusal_at(&[server.port], config, &url).await;
    }
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST).to_string();
    let config = HttpConfig { allow_private_hosts: vec![loopback], ..HttpConfig::default() };
    assert!(!fetch_at(&[server.port], config, &url).await.is_error());
}

#[tokio::test]
async fn a_server_that_says_in_json_what_is_wrong_is_told_in_one_line() {
    let answer = b"HTTP/1.1 403 No\r\nContent-Length: 19\r\nConnection: close\r\n\r\n{\n  \"error\": \"no\"\n}".to_vec();
    let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
    let output = fetch(allowing(&server), json!({ "url": server.url("/") })).await;
    let words = r#"The server answered 403 (Forbidden): {"error":"no"}"#;
    assert_eq!(output.words.as_deref(), Some(words));
}

/// A secret in it is recognised only as a whole.
#[tokio::test]
async fn what_a_server_says_is_wrong_is_not_cut_before_it_is_looked_through() {
    let body = format!("{}{}", "x".repeat(600), "\nsunflower-42-Tango");
    let answer = format!(
        "HTTP/1.1 403 No\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = answer.into_bytes();
    let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
    let output = fetch(allowing(&server), json!({ "url": server.url("/") })).await;
    let words = output.words.expect("words");
    assert!(words.ends_with("sunflower-42-Tango"), "{words}");
}
