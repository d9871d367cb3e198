//! A model server on loopback: plain HTTP/1.1, one thread per connection.
//!
//! Owns the recorded requests and the delivery of a reply: whole, in small pieces, truncated, reset or held open. Never interprets a
//! body; the wire formats are in `sse` and in the fixtures. Replies are chunked, because a client reads a chunk as one piece even when
//! the kernel joins packets.

pub mod sse;

mod connection;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;

/// A running server. Stops when dropped.
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Such as `POST`.
    pub method: String,
    /// Such as `/v1/messages`.
    pub path: String,
    /// Lower-case names and values.
    pub headers: Vec<(String, String)>,
    /// The body as text; empty for a reply that resets the connection.
    pub body: String,
}

/// A reply.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    ending: Ending,
    piece_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The whole body with its end.
    Whole,
    /// Closes the connection after this number of bytes, without the end of the body.
    Cut(usize),
    /// Resets the connection after this number of bytes.
    Reset(usize),
    /// Sends nothing after this number of bytes, until the client closes.
    Hold(usize),
    /// Closes the connection without a byte.
    Drop,
    /// Sends no byte until the client closes.
    Silence,
}

struct Shared {
    handler: Box<dyn Fn(&Recorded) -> Reply + Send + Sync>,
    requests: Mutex<Vec<Recorded>>,
    disconnects: Mutex<usize>,
    changed: Condvar,
    stopping: AtomicBool,
}

impl FakeModel {
    /// Replies in order; afterwards with status 500.
    #[must_use]
    pub fn replying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        Self::start(move |_| {
            let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| {
                Reply::json(500, r#"{"error":{"message":"the script has ended"}}"#)
            })
        })
    }

    /// Replies to each request through `handler`.
    ///
    /// # Panics
    /// When loopback has no free port.
    #[must_use]
    pub fn start(handler: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("BUG: loopback has no free port");
        let address = listener.local_addr().expect("BUG: a bound socket has no address");
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            requests: Mutex::default(),
            disconnects: Mutex::default(),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    /// `http://127.0.0.1:PORT`, without a final slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }

    /// The JSON bodies of the requests so far.
    #[must_use]
    pub fn bodies(&self) -> Vec<Value> {
        self.requests().iter().map(Recorded::json).collect()
    }

    /// Blocks until a client disconnects during a held or silent reply.
    pub fn wait_until_client_gone(&self) {
        let mut disconnects = lock(&self.shared.disconnects);
        while *disconnects == 0 {
            disconnects =
                self.shared.changed.wait(disconnects).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Wakes the accepting thread; an error means that it has ended.
        drop(TcpStream::connect(self.address));
    }
}

impl Recorded {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

impl Reply {
    /// An event stream.
    #[must_use]
    pub fn events(body: impl Into<String>) -> Self {
        Self::new(200, "text/event-stream", body)
    }

    /// A JSON document.
    #[must_use]
    pub fn json(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "application/json", body)
    }

    /// A web page.
    #[must_use]
    pub fn page(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "text/html; charset=utf-8", body)
    }

    /// A body of the given type.
    #[must_use]
    pub fn typed(content_type: &str, body: impl Into<String>) -> Self {
        Self::new(200, content_type, body)
    }

    /// Closes the connection without an answer.
    #[must_use]
    pub fn dropped() -> Self {
        Self { ending: Ending::Drop, ..Self::json(200, String::new()) }
    }

    /// Never answers. Ends when the client closes.
    #[must_use]
    pub fn silent() -> Self {
        Self { ending: Ending::Silence, ..Self::json(200, String::new()) }
    }

    fn new(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into(), ending: Ending::Whole, piece_bytes: usize::MAX }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends pieces of this number of bytes.
    #[must_use]
    pub const fn dripped(mut self, piece_bytes: usize) -> Self {
        self.piece_bytes = piece_bytes;
        self
    }

    /// Closes the connection after the first `text`.
    #[must_use]
    pub fn cut_after(mut self, text: &str) -> Self {
        self.ending = Ending::Cut(self.end_of(text));
        self
    }

    /// Resets the connection after the first `text`.
    #[must_use]
    pub fn reset_after(mut self, text: &str) -> Self {
        self.ending = Ending::Reset(self.end_of(text));
        self
    }

    /// Sends nothing after the first `text`, until the client closes.
    #[must_use]
    pub fn held_after(mut self, text: &str) -> Self {
        self.ending = Ending::Hold(self.end_of(text));
        self
    }

    fn end_of(&self, text: &str) -> usize {
        let start = self.body.find(text).expect("BUG: the reply does not contain the text");
        start + text.len()
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        thread::spawn(move || connection::serve(stream, &shared));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
