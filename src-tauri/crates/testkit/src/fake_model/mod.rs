//! A model server on a real socket: plain HTTP/1.1 on loopback, one thread a connection.
//!
//! Owns the recording of requests and the ways in which a reply can arrive: whole, dripped in small pieces, cut,
//! reset, or held until the client goes away. It refuses to understand what it replays: what a provider's format
//! looks like is in the fixtures of the tests and in `sse`. Replies are chunked, because a chunk is what a client
//! reads as one piece; so a drip stays a drip however the kernel joins the bytes.

pub mod sse;

mod connection;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::Value;

/// A running server; it stops when it is dropped.
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What one request said.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `POST`.
    pub method: String,
    /// `/v1/messages`.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text; empty for a reply that resets the connection.
    pub body: String,
}

/// One reply.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    ending: Ending,
    piece: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The whole body and its end.
    Whole,
    /// The connection closes after so many bytes, without the end of the body.
    Cut(usize),
    /// The connection is reset after so many bytes.
    Reset(usize),
    /// After so many bytes nothing comes any more, until the client closes.
    Hold(usize),
}

struct Shared {
    handler: Box<dyn Fn(&Recorded) -> Reply + Send + Sync>,
    requests: Mutex<Vec<Recorded>>,
    gone: Mutex<usize>,
    changed: Condvar,
    stopping: AtomicBool,
}

impl FakeModel {
    /// Replies with these, in order; afterwards with status 500.
    #[must_use]
    pub fn replying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        Self::start(move |_| {
            let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| {
                Reply::json(500, r#"{"error":{"message":"the script is over"}}"#)
            })
        })
    }

    /// Replies with what `handler` makes of each request.
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
            gone: Mutex::default(),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { address, shared }
    }

    /// `http://127.0.0.1:…`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }

    /// The JSON bodies of the requests so far.
    #[must_use]
    pub fn bodies(&self) -> Vec<Value> {
        self.requests().iter().map(Recorded::json).collect()
    }

    /// Blocks until a client has gone away while its reply was held.
    pub fn wait_until_client_gone(&self) {
        let mut gone = lock(&self.shared.gone);
        while *gone == 0 {
            gone = self.shared.changed.wait(gone).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts; when nobody listens any more there is nothing to wake.
        drop(TcpStream::connect(self.address));
    }
}

impl Recorded {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; nothing when it is none.
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

    /// A body of another type.
    #[must_use]
    pub fn typed(content_type: &str, body: impl Into<String>) -> Self {
        Self::new(200, content_type, body)
    }

    fn new(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into(), ending: Ending::Whole, piece: usize::MAX }
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In pieces of so many bytes.
    #[must_use]
    pub const fn dripped(mut self, piece: usize) -> Self {
        self.piece = piece;
        self
    }

    /// Closes the connection after `text` first appeared.
    #[must_use]
    pub fn cut_after(mut self, text: &str) -> Self {
        self.ending = Ending::Cut(self.end_of(text));
        self
    }

    /// Resets the connection after `text` first appeared.
    #[must_use]
    pub fn reset_after(mut self, text: &str) -> Self {
        self.ending = Ending::Reset(self.end_of(text));
        self
    }

    /// Says nothing more after `text` first appeared, until the client closes.
    #[must_use]
    pub fn held_after(mut self, text: &str) -> Self {
        self.ending = Ending::Hold(self.end_of(text));
        self
    }

    fn end_of(&self, text: &str) -> usize {
        let start =
            self.body.find(text).expect("BUG: the reply does not hold the text to stop after");
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
