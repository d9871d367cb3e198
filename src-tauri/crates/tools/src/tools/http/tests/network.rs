//! A hop on real sockets: responses, refusals and limits.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use rouse_core::tool::ToolOutput;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::http_guard::HttpConfig;
use crate::http_guard::tests::server::{Server, Then, ok};
use crate::test_context::call;
use crate::tools::http::Http;

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

/// Adds `ports` to the allowed ports, so that another rule decides.
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
async fn allowed_private_host_is_fetched() {
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
async fn local_host_without_permission_is_refused() {
    let server = Server::saying("secret").await;
    // The port is allowed, so the address is refused.
    let refusal = async |url: &str| refusal_at(&[server.port], HttpConfig::default(), url).await;
    for host in ["127.0.0.1", "localhost"] {
        let message = refusal(&format!("http://{host}:{}/", server.port)).await;
        assert!(message.contains("is this computer") && !message.contains("secret"), "{message}");
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
async fn allowed_host_covers_its_own_name_and_port_only() {
    let server = Server::saying("hello").await;
    let other = Server::saying("secret").await;
    let message = refusal(allowing(&server), &other.url("/")).await;
    assert!(message.contains(&format!("Port {}", other.port)), "{message}");
    let message = refusal(allowing(&server), &format!("http://localhost:{}/", server.port)).await;
    assert!(message.contains("Port"), "{message}");
    // With both ports allowed, host and port of the entry still count.
    let open = [server.port, other.port];
    for url in [other.url("/"), format!("http://localhost:{}/", server.port)] {
        let message = refusal_at(&open, allowing(&server), &url).await;
        assert!(message.contains("is this computer"), "{message}");
        assert!(message.contains("setting `tools.allowPrivateHosts`"), "{message}");
    }
    assert!(server.requests().is_empty() && other.requests().is_empty());
}

#[tokio::test]
async fn nonstandard_port_is_refused_before_any_lookup() {
    for port in [1, 21, 22, 25, 79, 81, 6379, 11434, 65535] {
        let message =
            refusal(HttpConfig::default(), &format!("http://does-not-exist.invalid:{port}/")).await;
        assert!(message.contains(&format!("Port {port} is not allowed")), "{message}");
        assert!(
            message.contains("host:port in the setting `tools.allowPrivateHosts`"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn gateway_port_is_refused_even_for_an_allowed_host() {
    let server = Server::saying("gateway").await;
    let config = allowing(&server);
    let gateway_ports = config.gateway_ports.clone();
    let tool = Http::new(config);
    assert!(!call(&tool, json!({ "url": server.url("/") })).await.is_error());
    // The gateway learns the port after the tools are built.
    gateway_ports.add(server.port);
    let output = call(&tool, json!({ "url": server.url("/") })).await;
    assert!(
        output.is_error() && output.text().contains("Rouse's own address"),
        "{}",
        output.text()
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn metadata_address_cannot_be_allowed() {
    let named = ["169.254.169.254", "0.0.0.0", "::ffff:127.0.0.1"].map(str::to_owned).to_vec();
    let config = || HttpConfig { allow_private_hosts: named.clone(), ..HttpConfig::default() };
    for url in
        ["http://169.254.169.254/latest/meta-data", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/"]
    {
        let message = refusal(config(), url).await;
        assert!(message.contains("cannot be fetched"), "{message}");
    }
}

#[tokio::test]
async fn error_status_is_an_error_with_the_servers_text() {
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
async fn endless_body_is_truncated_at_the_limit() {
    let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    let server = Server::start(Box::new(move |_| (head.clone(), Then::Flood))).await;
    let config = HttpConfig { max_bytes: 10_000, ..allowing(&server) };
    let output = fetch(config.clone(), json!({ "url": server.url("/") })).await;
    assert_eq!(output.value["truncated"], true);
    assert_eq!(output.value["body"], "x".repeat(10_000));
    // The caller can only lower the limit.
    for (wanted, expected) in [(10, 10), (1_000_000, 10_000)] {
        let output =
            fetch(config.clone(), json!({ "url": server.url("/"), "maxBytes": wanted })).await;
        assert_eq!(output.value["body"].as_str().map(str::len), Some(expected));
    }
}

#[tokio::test]
async fn limit_counts_decoded_bytes() {
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
async fn body_that_ends_at_the_limit_is_whole() {
    let server = Server::saying("12345").await;
    let config = HttpConfig { max_bytes: 5, ..allowing(&server) };
    let output = fetch(config, json!({ "url": server.url("/") })).await;
    assert_eq!(
        (&output.value["truncated"], &output.value["body"]),
        (&json!(false), &json!("12345"))
    );
}

#[tokio::test]
async fn body_is_decoded_or_marked_as_binary() {
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
async fn silent_server_and_stalled_body_time_out() {
    let stalls: [&[u8]; 2] = [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"];
    for bytes in stalls {
        let server = Server::start(Box::new(move |_| (bytes.to_vec(), Then::Hang))).await;
        let config = HttpConfig { timeout: Duration::from_millis(100), ..allowing(&server) };
        let message = refusal(config, &server.url("/")).await;
        assert!(message.contains("No complete response"), "{message}");
    }
}

#[tokio::test]
async fn broken_connection_is_an_error_not_a_short_page() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_vec();
    let server = Server::start(Box::new(move |_| (bytes.clone(), Then::Close))).await;
    let message = refusal(allowing(&server), &server.url("/")).await;
    assert!(message.contains("could not be fetched") && !message.contains("half"), "{message}");
}

#[tokio::test]
async fn https_url_uses_tls_only() {
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
    let message = refusal(config, &format!("https://127.0.0.1:{port}/")).await;
    assert!(message.contains("127.0.0.1 could not be fetched"), "{message}");
    assert_eq!(heard.await.expect("a listener"), 0x16, "a TLS handshake begins with this byte");
}

#[tokio::test]
async fn ipv6_address_can_be_allowed() {
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
async fn connection_headers_cannot_be_set() {
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

const PROXY_CHILD: &str = "tools::http::tests::network::allowed_private_host_is_fetched";

#[tokio::test]
async fn proxy_in_the_environment_is_not_used() {
    let proxy = Server::saying("through the proxy").await;
    let address = format!("http://127.0.0.1:{}", proxy.port);
    // Runs the other test in a process with a proxy in the environment.
    let mut child = tokio::process::Command::new(std::env::current_exe().expect("the test binary"));
    child.args(["--exact", PROXY_CHILD]).env_remove("no_proxy").env_remove("NO_PROXY");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        child.env(name, &address);
    }
    let output = child.output().await.expect("the test binary runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
    assert_eq!(proxy.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn invalid_host_entries_have_no_effect() {
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
async fn json_error_body_is_shown_in_one_line() {
    let answer = b"HTTP/1.1 403 No\r\nContent-Length: 19\r\nConnection: close\r\n\r\n{\n  \"error\": \"no\"\n}".to_vec();
    let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
    let output = fetch(allowing(&server), json!({ "url": server.url("/") })).await;
    let words = r#"The server answered 403 (Forbidden): {"error":"no"}"#;
    assert_eq!(output.words.as_deref(), Some(words));
}

/// Redaction recognises a secret only as a whole.
#[tokio::test]
async fn error_body_is_not_truncated_before_redaction() {
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
