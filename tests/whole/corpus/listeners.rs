//! Real servers on this computer: the attacker's server and a site with pages.
//!
//! Every received byte is recorded before the reply, so partial requests count. No network is simulated.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The reply of a site for a path.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) status: u16,
    /// Name and value as sent.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Page {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn redirect(location: impl Into<String>) -> Self {
        Self { status: 302, ..Self::ok("moved") }.with("Location", location)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn location(&self) -> Option<&str> {
        let header = self.headers.iter().find(|(name, _)| name == "Location");
        header.map(|(_, value)| value.as_str())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} x\r\nConnection: close\r\n", self.status);
        if !self.headers.iter().any(|(name, _)| name == "Content-Type") {
            head += "Content-Type: text/plain; charset=utf-8\r\n";
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        format!("{head}Content-Length: {}\r\n\r\n{}", self.body.len(), self.body).into_bytes()
    }
}

/// A server that records received bytes.
pub(crate) struct RecordingServer {
    address: SocketAddr,
    shared: Arc<ServerState>,
}

#[derive(Default)]
struct ServerState {
    received: Mutex<Vec<u8>>,
    pages: Mutex<HashMap<String, Page>>,
}

impl RecordingServer {
    pub(crate) async fn listen() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(ServerState::default());
        tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { address, shared }
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// The URL of `path`, which begins with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Serves `page` at `path`. Other paths reply "ok".
    pub(crate) fn set_page(&self, path: &str, page: Page) -> String {
        lock(&self.shared.pages).insert(path.to_owned(), page);
        self.url(path)
    }

    /// Drains the received bytes.
    pub(crate) fn take_received(&self) -> String {
        let received = std::mem::take(&mut *lock(&self.shared.received));
        String::from_utf8_lossy(&received).into_owned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("BUG: a test panicked with the lock")
}

async fn serve(listener: TcpListener, shared: Arc<ServerState>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(receive(stream, Arc::clone(&shared)));
    }
}

async fn receive(mut stream: TcpStream, shared: Arc<ServerState>) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&request) {
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => {
                request.extend_from_slice(&piece[..count]);
                lock(&shared.received).extend_from_slice(&piece[..count]);
            }
            _ => return,
        }
    }
    let line = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let path = target.split('?').next().unwrap_or_default();
    let page = lock(&shared.pages).get(path).cloned().unwrap_or_else(|| Page::ok("ok"));
    // A redirect keeps the query.
    let page = match (page.location(), target.split_once('?')) {
        (Some(location), Some((_, query))) => Page::redirect(format!("{location}?{query}")),
        _ => page,
    };
    // A client that disconnects early has sent the request anyway.
    if stream.write_all(&page.bytes()).await.is_ok() {
        drop(stream.shutdown().await);
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

/// Calls a webhook.
pub(crate) async fn post(address: SocketAddr, path: &str, secret: &str, body: &str) {
    let mut stream = TcpStream::connect(address).await.expect("the gateway");
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nX-Rouse-Secret: {secret}\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
}
