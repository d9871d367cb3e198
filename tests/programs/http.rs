//! Raw HTTP, for requests that no client library would send.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

/// One request as sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    address: String,
    first_line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request to `address` with the matching Host header.
    pub(crate) fn new(address: &str, method: &str, path: &str) -> Self {
        Self {
            address: address.to_owned(),
            first_line: format!("{method} {path} HTTP/1.1"),
            headers: vec![("Host".to_owned(), address.to_owned())],
            body: Vec::new(),
        }
    }

    /// A JSON request.
    pub(crate) fn post(address: &str, path: &str, body: &Value) -> Self {
        Self::new(address, "POST", path)
            .with("Content-Type", "application/json")
            .body(body.to_string())
    }

    /// A WebSocket upgrade request.
    pub(crate) fn upgrade(address: &str, path: &str) -> Self {
        Self::new(address, "GET", path)
            .with("Connection", "Upgrade")
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13")
            .with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// Replaces a header.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.with("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the request and returns the reply.
    pub(crate) fn send(&self) -> HttpReply {
        self.try_send().unwrap_or_else(|error| panic!("{error} for {}", self.head()))
    }

    /// Sends the request to an engine that may die meanwhile.
    pub(crate) fn try_send(&self) -> io::Result<HttpReply> {
        let mut stream = TcpStream::connect(&self.address)?;
        // A server that refuses early closes the stream during the write. Its reply counts.
        let written =
            stream.write_all(self.head().as_bytes()).and_then(|()| stream.write_all(&self.body));
        HttpReply::read(&mut stream)
            .map_err(|error| io::Error::new(error.kind(), format!("{error} ({written:?})")))
    }

    /// Sends the first `count` bytes and keeps the connection open.
    pub(crate) fn send_part(&self, count: usize) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the engine listens");
        let request = [self.head().as_bytes(), &self.body].concat();
        stream.write_all(&request[..count.min(request.len())]).expect("sent");
        stream
    }

    pub(crate) fn head_length(&self) -> usize {
        self.head().len()
    }

    fn head(&self) -> String {
        let mut head = format!("{}\r\n", self.first_line);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let has_length =
            self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if !self.body.is_empty() && !has_length {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head + "\r\n"
    }
}

#[derive(Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl HttpReply {
    fn read(stream: &mut TcpStream) -> io::Result<Self> {
        let mut head = Vec::new();
        let mut byte = [0_u8; 1];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|status| status.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        let mut reply = Self { status: status.unwrap_or(0), headers, body: String::new() };
        let length =
            reply.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0_u8; length];
        stream.read_exact(&mut body)?;
        reply.body = String::from_utf8_lossy(&body).into_owned();
        Ok(reply)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|(name, _)| name.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}
