//! A proxy before the engine that can hold back the answer to a call of a webhook.
//!
//! Owns the moment between the engine's commit and the caller's knowledge of it. Handles one request after the other.
//! Never repeats a request. Pitfall: the gateway refuses a foreign `Host`, so the proxy replaces its own address.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The time limit of a held answer, for a slow machine.
const HOLD_TIMEOUT: Duration = Duration::from_secs(120);

/// The proxy, until the end of the test program.
pub(crate) struct HoldingProxy {
    /// `127.0.0.1:…`
    pub(crate) address: String,
    state: Arc<Mutex<ProxyState>>,
    held: Receiver<TcpStream>,
}

struct ProxyState {
    /// Address of the engine.
    engine: String,
    /// Whether the next answer of a webhook is held back.
    is_holding: bool,
}

impl HoldingProxy {
    /// A proxy before the engine at this address.
    pub(crate) fn start(engine: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = ProxyState { engine: engine.to_owned(), is_holding: false };
        let state = Arc::new(Mutex::new(state));
        let (held_tx, held) = channel();
        let (own, shared) = (address.clone(), Arc::clone(&state));
        thread::spawn(move || serve(&listener, &own, &shared, &held_tx));
        Self { address, state, held }
    }

    /// Forwards to another engine.
    pub(crate) fn set_engine(&self, engine: &str) {
        engine.clone_into(&mut self.state.lock().expect("not poisoned").engine);
    }

    /// Holds back the next answer of the engine to a call of a webhook.
    pub(crate) fn hold_next(&self) {
        self.state.lock().expect("not poisoned").is_holding = true;
    }

    /// Waits until the engine has answered the held call. Dropping the connection loses the answer.
    pub(crate) fn wait_for_held(&self) -> TcpStream {
        self.held.recv_timeout(HOLD_TIMEOUT).expect("a call of the webhook")
    }
}

fn serve(listener: &TcpListener, own: &str, state: &Mutex<ProxyState>, held: &Sender<TcpStream>) {
    for connection in listener.incoming() {
        let Ok(mut connection) = connection else { continue };
        let engine = state.lock().expect("not poisoned").engine.clone();
        let request = read_request(&mut connection, own, &engine);
        // Without an answer, the connection closes, like that of a dead engine.
        let Ok((request, answer)) = request.and_then(|request| {
            let answer = forward(&request, &engine)?;
            Ok((request, answer))
        }) else {
            continue;
        };
        let is_webhook = request.starts_with(b"POST /hooks/");
        let is_held = is_webhook && {
            let mut state = state.lock().expect("not poisoned");
            std::mem::take(&mut state.is_holding)
        };
        if is_held {
            held.send(connection).expect("the test waits");
        } else {
            // A killed worker reads no answer.
            drop(connection.write_all(&answer));
        }
    }
}

/// Reads a request with a body of known length, with the address of the engine in its head.
fn read_request(connection: &mut TcpStream, own: &str, engine: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end + 4]).into_owned();
            if bytes.len() >= end + 4 + body_length(&head) {
                let body = &bytes[end + 4..];
                return Ok([head.replace(own, engine).as_bytes(), body].concat());
            }
        }
        let mut part = [0; 4_096];
        match connection.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
}

fn body_length(head: &str) -> usize {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    length.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

/// The complete answer. Workers ask for the end of the connection after it.
fn forward(request: &[u8], engine: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(engine)?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}
