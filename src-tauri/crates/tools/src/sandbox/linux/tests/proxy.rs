//! Granted hosts, reached from inside through the engine's proxy.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;

use rouse_core::tool::BoxFuture;

use super::*;
use crate::http_guard::{AddressScope, Resolver, classify_address};

/// The attacker's request: `target` is `CONNECT host:port` or a URL.
pub(super) fn ask(target: &str, path: &str) {
    let mut proxy = TcpStream::connect(("127.0.0.1", PROXY_PORT)).expect("a proxy");
    let mut ask = |text: String| proxy.write_all(text.as_bytes()).expect("asked");
    if target.starts_with("http://") {
        ask(format!(
            "GET {target}{path} HTTP/1.1\r\nHost: elsewhere.example\r\nProxy-Authorization: x\r\n\r\n"
        ));
    } else {
        ask(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"));
        ask(format!("GET {path} HTTP/1.1\r\nHost: tunnel\r\n\r\n"));
    }
    let mut answer = String::new();
    proxy.read_to_string(&mut answer).expect("answered");
    writeln!(io::stdout(), "\n{answer}").expect("written");
}

/// Resolves every name to this computer.
struct LocalResolver;

impl Resolver for LocalResolver {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(vec![Ipv4Addr::LOCALHOST.into()])))
    }
}

/// Treats 127.0.0.1 as public, because a test server has no public address.
fn classify_in_test(address: IpAddr) -> AddressScope {
    if address == IpAddr::V4(Ipv4Addr::LOCALHOST) {
        AddressScope::Public
    } else {
        classify_address(address)
    }
}

/// An outside server that answers a single request and returns the head.
fn server() -> (u16, std::thread::JoinHandle<Option<String>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("bound").port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().ok()?;
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).ok()? == 1 {
            head.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello from outside").ok()?;
        Some(String::from_utf8_lossy(&head).into_owned())
    });
    (port, served)
}

async fn answer(grants: &[String], target: &str, public: bool) -> Option<String> {
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.hosts = grants.to_vec();
    let line = fixture.attacker(&format!("proxy {target} /page?x=1"));
    let mut fetcher = Fetcher::new(&HttpConfig::default());
    fetcher.resolver = Arc::new(LocalResolver);
    if public {
        fetcher.rules.classify = classify_in_test;
    }
    let line = format!("echo $https_proxy; {line}");
    let completed =
        fixture.start_with(&line, fetcher)?.finish(fixture.limit).await.expect("an end");
    Some(completed.stdout.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn granted_host_is_reached_by_tunnel_and_plain_http() {
    for scheme in ["", "http://"] {
        let (port, served) = server();
        let grants = [format!("granted.example:{port}")];
        let Some(output) = answer(&grants, &format!("{scheme}granted.example:{port}"), true).await
        else {
            return;
        };
        assert!(output.contains("hello from outside"), "{output}");
        assert!(output.starts_with("http://127.0.0.1:3128\n"), "{output}");
        let head = served.join().expect("served").expect("asked");
        assert!(head.starts_with("GET /page?x=1 HTTP/1.1\r\n"), "{head}");
        assert!(!head.contains("elsewhere.example") && !head.contains("Proxy-"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_hosts_and_private_addresses_are_refused() {
    let (port, _served) = server();
    let granted = [format!("granted.example:{port}"), format!("127.0.0.1:{port}")];
    let cases = [
        (format!("other.example:{port}"), true, "may not reach"),
        ("granted.example:1".to_owned(), true, "may not reach"),
        (format!("granted.example:{port}"), false, "is this computer"),
        (format!("127.0.0.1:{port}"), false, "is this computer"),
        (format!("http://granted.example:{port}"), false, "is this computer"),
        (format!("user@granted.example:{port}"), true, "400 Bad Request"),
    ];
    for (target, public, why) in cases {
        let Some(output) = answer(&granted, &target, public).await else { return };
        assert!(output.contains(why) && !output.contains("hello"), "{target}: {output}");
    }
}

#[tokio::test]
async fn proxy_is_absent_without_granted_hosts() {
    let fixture = SandboxFixture::new();
    let Some(output) = fixture.output_of("env | grep -i proxy; cat /proc/net/tcp | wc -l").await
    else {
        return;
    };
    assert_eq!(output, "1");
}
