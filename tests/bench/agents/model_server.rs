//! A local model server with a known time.
//!
//! Owns a loopback socket, a thread per connection, and three times of each exchange: request complete, first byte of
//! the answer, last byte. Keeps connections open, as providers do. Pitfall: closing after each answer would add a TCP
//! handshake to every measured call.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The reply to a request.
pub(crate) struct ServerReply {
    /// The time between the request and the first byte.
    pub(crate) delay: Duration,
    /// The event stream.
    pub(crate) events: String,
}

/// The times of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpExchange {
    /// The last byte of the request was read.
    pub(crate) received: Instant,
    /// The first byte of the answer is about to be written.
    pub(crate) answering: Instant,
    /// The last byte of the answer was written.
    pub(crate) answered: Instant,
}

impl HttpExchange {
    /// The time of the server.
    pub(crate) fn elapsed(&self) -> Duration {
        self.answered - self.received
    }
}

/// A running server, for the life of the process.
pub(crate) struct ModelServer {
    address: SocketAddr,
    exchanges: Arc<Mutex<Vec<HttpExchange>>>,
}

type Handler = dyn Fn(&str) -> ServerReply + Send + Sync;

impl ModelServer {
    /// Starts a server that replies by the request body.
    pub(crate) fn start(
        handler: impl Fn(&str) -> ServerReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let exchanges = Arc::default();
        let (handler, record) = (Arc::new(handler) as Arc<Handler>, Arc::clone(&exchanges));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (handler, record) = (Arc::clone(&handler), Arc::clone(&record));
                // A client that disconnects ends its connection.
                thread::spawn(move || drop(serve(stream, handler.as_ref(), &record)));
            }
        });
        Ok(Self { address, exchanges })
    }

    /// `config.toml` with this server as the only provider.
    pub(crate) fn config(&self) -> String {
        format!(
            "[providers.local]\nkind = \"openai\"\nbaseUrl = \"http://{}/v1\"\nmodel = \"bench-1\"\n",
            self.address
        )
    }

    /// The exchanges since the last call, in the order of their answers.
    pub(crate) fn take(&self) -> Vec<HttpExchange> {
        std::mem::take(&mut *lock(&self.exchanges))
    }
}

fn serve(
    mut stream: TcpStream,
    handler: &Handler,
    record: &Mutex<Vec<HttpExchange>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(body) = read_request(&mut reader)? {
        let received = now();
        let ServerReply { delay, events } = handler(&body);
        if !delay.is_zero() {
            #[expect(clippy::disallowed_methods, reason = "the time of a model that thinks")]
            thread::sleep(delay);
        }
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
            events.len()
        );
        let answering = now();
        stream.write_all(answer.as_bytes())?;
        lock(record).push(HttpExchange { received, answering, answered: now() });
    }
    Ok(())
}

/// The body of the next request; none at the end of the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(String::from_utf8_lossy(&body).into_owned()))
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    Instant::now()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
