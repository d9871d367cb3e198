//! Who may stay: how many connections are open at once, and how long one may take to say what it wants.
//!
//! Every connection takes a file descriptor, and without any no run can start a process or open a file. So there are
//! few places. A connection is a stranger's until one of its requests has shown the token or a session; when every
//! place is taken, the stranger that came first goes, so that silence can never lock out who belongs here. A WebSocket
//! keeps the place of the connection that it was. One could get this wrong by counting requests: a silent connection
//! makes none.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::Router;
use axum::serve::Listener as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections that are open at once, WebSockets among them. A browser needs a handful.
const PLACES: usize = 128;
/// How long a connection may be without a whole head of a request: from its start, and from one request to the next.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// The place of one connection, in the extensions of each of its requests.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    is_known: AtomicBool,
    leave: CancellationToken,
}

impl Place {
    /// The caller has shown who it is: it may stay.
    pub(super) fn keep(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }
}

/// The door of one server.
pub(super) struct Door {
    places: Arc<Semaphore>,
    strangers: Mutex<VecDeque<Weak<Place>>>,
    head_within: Duration,
}

impl Default for Door {
    fn default() -> Self {
        Self::new(PLACES, HEAD_WITHIN)
    }
}

impl Door {
    fn new(places: usize, head_within: Duration) -> Self {
        let places = Arc::new(Semaphore::new(places));
        Self { places, strangers: Mutex::default(), head_within }
    }

    /// Lets callers in until `closing`, then waits for the requests in progress.
    pub(super) async fn serve(
        self,
        mut listener: TcpListener,
        router: Router,
        closing: CancellationToken,
    ) {
        let connections = TaskTracker::new();
        let next = async |listener: &mut TcpListener| {
            // It tries again by itself when the system has no descriptor left.
            let (stream, _) = listener.accept().await;
            (stream, self.place().await)
        };
        while let Some((stream, place)) = closing.run_until_cancelled(next(&mut listener)).await {
            let (router, closing) = (router.clone(), closing.clone());
            connections.spawn(connection(stream, place, router, closing, self.head_within));
        }
        drop(listener);
        connections.close();
        connections.wait().await;
    }

    /// A place for one more, taken from the stranger that came first when there is no other.
    async fn place(&self) -> Arc<Place> {
        if self.places.available_permits() == 0 {
            self.show_a_stranger_out();
        }
        let permit = Arc::clone(&self.places).acquire_owned().await;
        let place = Arc::new(Place {
            _permit: permit.expect("BUG: the places of a door are never closed"),
            is_known: AtomicBool::new(false),
            leave: CancellationToken::new(),
        });
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        strangers.retain(|stranger| stranger.upgrade().is_some_and(|place| !place.known()));
        strangers.push_back(Arc::downgrade(&place));
        place
    }

    fn show_a_stranger_out(&self) {
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(stranger) = strangers.pop_front() {
            if let Some(place) = stranger.upgrade().filter(|place| !place.known()) {
                place.leave.cancel();
                return;
            }
        }
        tracing::warn!("every connection is in use; the next caller waits");
    }
}

impl Place {
    fn known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }
}

async fn connection(
    stream: TcpStream,
    place: Arc<Place>,
    router: Router,
    closing: CancellationToken,
    head_within: Duration,
) {
    let leave = place.leave.clone();
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&place));
        let answer = router.call(request);
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head_within);
    let served = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = leave.cancelled() => return,
        () = closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::task::JoinHandle;

    use super::*;

    /// A server whose `/known` takes every caller for a known one.
    async fn open(door: Door) -> (std::net::SocketAddr, CancellationToken, JoinHandle<()>) {
        let known = get(async |Extension(place): Extension<Arc<Place>>| {
            place.keep();
            "yes"
        });
        let router = Router::new().route("/known", known);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let closing = CancellationToken::new();
        let served = tokio::spawn(door.serve(listener, router, closing.clone()));
        (address, closing, served)
    }

    /// A connection that has shown who it is and stays open.
    async fn known(address: std::net::SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(b"GET /known HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it writes");
        let mut answer = [0; 1024];
        let count = stream.read(&mut answer).await.expect("an answer");
        assert!(answer[..count].ends_with(b"yes"), "{:?}", String::from_utf8_lossy(&answer));
        stream
    }

    /// Waits until the server has closed a connection that has sent nothing.
    async fn until_closed(mut silent: TcpStream) {
        assert!(matches!(silent.read(&mut [0]).await, Ok(0) | Err(_)), "nothing was asked");
    }

    #[tokio::test]
    async fn the_silent_go_first_and_the_known_stay() {
        let (address, closing, served) = open(Door::new(3, HEAD_WITHIN)).await;
        let mut friend = known(address).await;
        let mut silent = Vec::new();
        for _ in 0..20 {
            silent.push(TcpStream::connect(address).await.expect("a connection"));
        }
        drop(known(address).await);
        for stranger in silent.drain(..17) {
            until_closed(stranger).await;
        }
        friend.write_all(b"GET /known HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("still open");
        assert_ne!(friend.read(&mut [0; 1024]).await.expect("an answer"), 0);
        closing.cancel();
        served.await.expect("a clean end");
    }

    #[tokio::test]
    async fn a_head_that_never_ends_ends_its_connection() {
        let (address, closing, served) = open(Door::new(3, Duration::from_millis(20))).await;
        let silent = TcpStream::connect(address).await.expect("a connection");
        let mut half = TcpStream::connect(address).await.expect("a connection");
        half.write_all(b"GET /known HTTP/1.1\r\nhost:").await.expect("it writes");
        let mut kept = known(address).await;
        until_closed(silent).await;
        // What is said about the half request does not matter, only that its descriptor comes back.
        half.read_to_end(&mut Vec::new()).await.expect("closed");
        kept.read_to_end(&mut Vec::new()).await.expect("closed: nothing more was asked");
        closing.cancel();
        served.await.expect("a clean end");
    }
}
