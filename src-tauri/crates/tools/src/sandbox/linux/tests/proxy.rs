//! Granted hosts, asked for from inside through the engine's proxy.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;

use rouse_core::tool::BoxFuture;

use super::*;
use crate::http::{Reach, Resolve, reach};

/// What the attacker does: `target` is `CONNECT host:port` or a URL.
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

/// Every name is this computer.
struct Here;

impl Resolve for Here {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(vec![Ipv4Addr::LOCALHOST.into()])))
    }
}

/// Only tests have a public address of their own: in here 127.0.0.1 is one.
fn reach_in_test(address: IpAddr) -> Reach {
    if address == IpAddr::V4(Ipv4Addr::LOCALHOST) { Reach::Public } else { reach(address) }
}

/// A server outside that says what it was asked, once.
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
    let mut room = Room::new();
    room.sandbox.hosts = grants.to_vec();
    let line = room.attacker(&format!("proxy {target} /page?x=1"));
    let mut fetcher = Fetcher::new(&HttpConfig::default());
    fetcher.resolver = Arc::new(Here);
    if public {
        fetcher.rules.reach = reach_in_test;
    }
    let line = format!("echo $https_proxy; {line}");
    let finished = room.start_with(&line, fetcher)?.finish(room.limit).await.expect("an end");
    Some(finished.stdout.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_host_is_reached_through_a_tunnel_and_plainly() {
    for scheme in ["", "http://"] {
        let (port, served) = server();
        let grants = [format!("granted.example:{port}")];
        let Some(said) = answer(&grants, &format!("{scheme}granted.example:{port}"), true).await
        else {
            return;
        };
        assert!(said.contains("hello from outside"), "{said}");
        assert!(said.starts_with("http://127.0.0.1:3128\n"), "{said}");
        let asked = served.join().expect("served").expect("asked");
        assert!(asked.starts_with("GET /page?x=1 HTTP/1.1\r\n"), "{asked}");
        assert!(!asked.contains("elsewhere.example") && !asked.contains("Proxy-"), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_host_and_a_private_address_are_not() {
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
        let Some(said) = answer(&granted, &target, public).await else { return };
        assert!(said.contains(why) && !said.contains("hello"), "{target}: {said}");
    }
}

#[tokio::test]
async fn without_a_grant_there_is_no_proxy() {
    let room = Room::new();
    let Some(said) = room.says("env | grep -i proxy; cat /proc/net/tcp | wc -l").await else {
        return;
    };
    assert_eq!(said, "1");
}
