//! Exchanges with real servers: rules, streaming, and the kinds of failures.

use std::net::{Ipv4Addr, SocketAddr};

use rouse_core::http_exchange::{
    HttpBody, HttpExchange as _, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::server::{Server, Then, ok, redirect};
use crate::http_guard::{AcceptedServerUrls, GatewayPorts, GuardedHttp, HttpConfig};

fn request(url: &str) -> HttpExchangeRequest {
    HttpExchangeRequest {
        method: "POST",
        url: url.to_owned(),
        headers: vec![("x-key".to_owned(), "a secret".to_owned())],
        body: b"question".to_vec(),
    }
}

/// Allows the server at this address in the configuration.
fn guarded(entry: String) -> GuardedHttp {
    let config = HttpConfig { allow_private_hosts: vec![entry], ..HttpConfig::default() };
    GuardedHttp::new(&config, AcceptedServerUrls::default())
}

async fn exchange(server: &Server, path: &str) -> Result<HttpExchangeResponse, HttpExchangeError> {
    guarded(server.entry()).exchange(request(&server.url(path))).await
}

async fn read_all(body: &mut dyn HttpBody) -> Result<String, HttpExchangeError> {
    let mut text = String::new();
    while let Some(piece) = body.next().await? {
        text.push_str(&String::from_utf8_lossy(&piece));
    }
    Ok(text)
}

fn failure(result: Result<HttpExchangeResponse, HttpExchangeError>) -> HttpExchangeError {
    match result {
        Ok(response) => panic!("answered with {}", response.status),
        Err(error) => error,
    }
}

#[tokio::test]
async fn answer_has_status_headers_and_body() {
    let server = Server::start(Box::new(|_| {
        (
            b"HTTP/1.1 404 No\r\nX-Seen: Yes\r\nX-Odd: \xff\r\nContent-Length: 4\r\n\r\nbody"
                .to_vec(),
            Then::Close,
        )
    }))
    .await;
    let mut response = exchange(&server, "/mcp").await.expect("an answer");
    assert_eq!(response.status, 404);
    assert!(response.headers.contains(&("x-seen".to_owned(), "Yes".to_owned())));
    assert!(!response.headers.iter().any(|(name, _)| name == "x-odd"), "{:?}", response.headers);
    assert_eq!(read_all(response.body.as_mut()).await.expect("a body"), "body");
    let sent = &server.requests()[0];
    assert!(sent.starts_with("POST /mcp HTTP/1.1\r\n") && sent.ends_with("question"), "{sent}");
    assert!(sent.to_lowercase().contains("x-key: a secret\r\n"), "{sent}");
}

#[tokio::test]
async fn pieces_arrive_before_the_end() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("bound");
    let address = listener.local_addr().expect("bound");
    let (next, mut is_next) = tokio::sync::mpsc::channel::<()>(1);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut read = Vec::new();
        while !read.ends_with(b"question") {
            read.push(stream.read_u8().await.expect("the request"));
        }
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head).await.expect("sent");
        for piece in ["3\r\none\r\n", "3\r\ntwo\r\n", "0\r\n\r\n"] {
            stream.write_all(piece.as_bytes()).await.expect("sent");
            if is_next.recv().await.is_none() {
                return;
            }
        }
    });
    let guarded = guarded(address.to_string());
    let response = guarded.exchange(request(&format!("http://{address}/"))).await;
    let mut body = response.expect("an answer").body;
    for expected in [Some(b"one".to_vec()), Some(b"two".to_vec()), None] {
        assert_eq!(body.next().await.expect("a piece"), expected);
        if expected.is_some() {
            next.send(()).await.expect("the server waits");
        }
    }
}

#[tokio::test]
async fn redirect_is_answered_and_not_followed() {
    let server = Server::start(Box::new(|_| (redirect("/elsewhere"), Then::Close))).await;
    let response = exchange(&server, "/").await.expect("an answer");
    assert_eq!(response.status, 302);
    assert!(response.headers.contains(&("location".to_owned(), "/elsewhere".to_owned())));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn local_host_is_refused_until_its_url_is_accepted() {
    let server = Server::start(Box::new(|_| (ok("text/plain", b"hello"), Then::Close))).await;
    let accepted = AcceptedServerUrls::default();
    let guarded = GuardedHttp::new(&HttpConfig::default(), accepted.clone());
    for url in [server.url("/"), "http://127.0.0.1/".to_owned(), "http://10.0.0.1/".to_owned()] {
        let error = failure(guarded.exchange(request(&url)).await);
        assert!(matches!(error, HttpExchangeError::Refused(_)), "{url}: {error}");
    }
    accepted.replace(&[server.url("/mcp"), "no URL".to_owned()]);
    let mut response = guarded.exchange(request(&server.url("/"))).await.expect("an answer");
    assert_eq!(read_all(response.body.as_mut()).await.expect("a body"), "hello");
    let other_port = failure(guarded.exchange(request("http://127.0.0.1/")).await);
    assert!(matches!(other_port, HttpExchangeError::Refused(_)), "{other_port}");
    accepted.replace(&[]);
    let error = failure(guarded.exchange(request(&server.url("/"))).await);
    assert!(matches!(error, HttpExchangeError::Refused(_)), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn gateway_port_is_refused_even_if_accepted() {
    let server = Server::saying("the gateway").await;
    let gateway_ports = GatewayPorts::default();
    gateway_ports.add(server.port);
    let config = HttpConfig { gateway_ports, ..HttpConfig::default() };
    let accepted = AcceptedServerUrls::default();
    accepted.replace(&[server.url("/")]);
    let guarded = GuardedHttp::new(&config, accepted);
    let error = failure(guarded.exchange(request(&server.url("/"))).await);
    assert!(matches!(&error, HttpExchangeError::Refused(why) if why.contains("own address")));
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn invalid_header_is_refused_without_its_value() {
    let server = Server::saying("hello").await;
    let mut request = request(&server.url("/"));
    request.headers = vec![("x-key".to_owned(), "a secret\nx".to_owned())];
    let error = failure(guarded(server.entry()).exchange(request).await).to_string();
    assert!(error.contains("x-key") && !error.contains("a secret"), "{error}");
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn refused_connection_is_unreached() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("bound");
    let address: SocketAddr = listener.local_addr().expect("bound");
    drop(listener);
    let guarded = guarded(address.to_string());
    let error = failure(guarded.exchange(request(&format!("http://{address}/"))).await);
    assert!(matches!(error, HttpExchangeError::Unreached(_)), "{error}");
}

#[tokio::test]
async fn lost_answer_is_broken() {
    let server = Server::start(Box::new(|_| (Vec::new(), Then::Close))).await;
    let error = failure(exchange(&server, "/").await);
    assert!(matches!(error, HttpExchangeError::Broken(_)), "{error}");
    assert_eq!(server.requests().len(), 1, "the request is not repeated");
}

#[tokio::test]
async fn incomplete_body_is_broken() {
    let server = Server::start(Box::new(|_| {
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec(), Then::Close)
    }))
    .await;
    let mut response = exchange(&server, "/").await.expect("an answer");
    let error = read_all(response.body.as_mut()).await.expect_err("half a body");
    assert!(matches!(error, HttpExchangeError::Broken(_)), "{error}");
}
