//! A server on a real socket with scripted responses; records the requests.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Maps a path to the bytes of a response and the state of the connection afterwards.
pub(crate) type Responder = Box<dyn Fn(&str) -> (Vec<u8>, Then) + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Close,
    /// Keep the connection open without sending more.
    Hang,
    /// Repeat the body until the client disconnects.
    Flood,
}

/// A running server; ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(answer: Responder) -> Self {
        Self::start_on(IpAddr::V4(Ipv4Addr::LOCALHOST), answer).await
    }

    pub(crate) async fn start_on(address: IpAddr, answer: Responder) -> Self {
        let listener = TcpListener::bind((address, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(serve(listener, Arc::new(answer), requests.clone()));
        Self { port, requests }
    }

    /// Answers a single request and stops listening.
    pub(crate) async fn once(answer: Responder) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let server = Self { port, requests: requests.clone() };
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            drop(listener);
            talk(stream, Arc::new(answer), requests).await;
        });
        server
    }

    /// Answers 200 with `body` to everything.
    pub(crate) async fn saying(body: &'static str) -> Self {
        Self::start(Box::new(move |_| (ok("text/plain", body.as_bytes()), Then::Close))).await
    }

    /// Redirects `/` to `location` and answers everything else with the path.
    pub(crate) async fn redirecting_to(location: String) -> Self {
        Self::start(Box::new(move |path| match path {
            "/" => (redirect(&location), Then::Close),
            other => (ok("text/plain", other.as_bytes()), Then::Close),
        }))
        .await
    }

    /// Heads and bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The server's entry in `allow_private_hosts`.
    pub(crate) fn entry(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

pub(crate) fn ok(content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(crate) fn redirect(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}

async fn serve(listener: TcpListener, answer: Arc<Responder>, requests: Arc<Mutex<Vec<String>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(talk(stream, answer.clone(), requests.clone()));
    }
}

async fn talk(mut stream: TcpStream, answer: Arc<Responder>, requests: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let mut lengths = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = lengths.next().and_then(|(_, length)| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("the body that was announced");
    requests.lock().expect("not poisoned").push(head + &String::from_utf8_lossy(&body));
    let (bytes, then) = answer(&path);
    // A client that has read enough disconnects.
    let mut is_read = stream.write_all(&bytes).await.is_ok();
    while is_read && then == Then::Flood {
        is_read = stream.write_all(&[b'x'; 4_096]).await.is_ok();
    }
    if then == Then::Hang {
        std::future::pending::<()>().await;
    }
}
