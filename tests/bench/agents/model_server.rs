//! A local model server whose own time is known.
//!
//! Owns one loopback socket, a thread per connection, and three instants of each exchange: request complete, first byte of
//! the answer, last byte of the answer. Keeps connections open, as providers do. Pitfall: a server that closes after each
//! answer would add a TCP handshake to every measured model call.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The answer to one request.
pub(crate) struct Answer {
    /// The time between the request and the first byte.
    pub(crate) delay: Duration,
    /// The event stream.
    pub(crate) events: String,
}

/// The instants of one exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    /// The last byte of the request was read.
    pub(crate) received: Instant,
    /// The first byte of the answer was about to be written.
    pub(crate) answering: Instant,
    /// The last byte of the answer was written.
    pub(crate) answered: Instant,
}

impl Exchange {
    /// How long the server took.
    pub(crate) fn took(&self) -> Duration {
        self.answered - self.received
    }
}

/// A running server; it lives as long as the process.
pub(crate) struct ModelServer {
    address: SocketAddr,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

type Handler = dyn Fn(&str) -> Answer + Send + Sync;

impl ModelServer {
    /// Answers each request by its body.
    pub(crate) fn start(
        handler: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let exchanges = Arc::default();
        let (handler, record) = (Arc::new(handler) as Arc<Handler>, Arc::clone(&exchanges));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (handler, record) = (Arc::clone(&handler), Arc::clone(&record));
                // A client that goes away ends its connection.
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
    pub(crate) fn take(&self) -> Vec<Exchange> {
        std::mem::take(&mut *lock(&self.exchanges))
    }
}

fn serve(
    mut stream: TcpStream,
    handler: &Handler,
    record: &Mutex<Vec<Exchange>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(body) = read_request(&mut reader)? {
        let received = now();
        let Answer { delay, events } = handler(&body);
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
        lock(record).push(Exchange { received, answering, answered: now() });
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
