//! Who may stay: how many connections are open at once, and how long one may take to say what it wants.
//!
//! Every connection takes a file descriptor, and without any no run can start a process or open a file. So the bound follows
//! from the process's limit. A connection is a stranger's until one of its requests has shown the token or a session. When
//! every place is taken, one connection is closed for the next caller: the oldest stranger, else the oldest that is idle,
//! else the oldest WebSocket, whose client resumes. A request in progress is never cut off. Pitfall: counting requests; a
//! silent connection makes none.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// How long a connection may be without a whole head of a request: from its start, and from one request to the next.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// The place of one connection, in the extensions of each of its requests.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    is_known: AtomicBool,
    is_socket: AtomicBool,
    requests: AtomicUsize,
    leave: CancellationToken,
}

impl Place {
    /// The caller has shown who it is: it may stay.
    pub(super) fn keep(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// The connection has become a WebSocket. It ends when the answer does.
    pub(super) fn become_socket(&self) -> CancellationToken {
        self.is_socket.store(true, Ordering::Relaxed);
        self.leave.clone()
    }

    /// Who leaves first for another caller; none for one that works on a request.
    fn rank(&self) -> Option<LeavesAs> {
        if !self.known() {
            Some(LeavesAs::Stranger)
        } else if self.is_socket.load(Ordering::Relaxed) {
            Some(LeavesAs::Socket)
        } else {
            (self.requests.load(Ordering::Relaxed) == 0).then_some(LeavesAs::Idle)
        }
    }
}

/// As what a connection is closed for another one, the first to go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LeavesAs {
    Stranger,
    Idle,
    Socket,
}

/// A request in progress.
struct InProgress(Arc<Place>);

impl InProgress {
    fn of(place: Arc<Place>) -> Self {
        place.requests.fetch_add(1, Ordering::Relaxed);
        Self(place)
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The door of one server.
pub(super) struct Door {
    places: Arc<Semaphore>,
    /// Oldest first.
    taken: Mutex<VecDeque<Weak<Place>>>,
    head_within: Duration,
}

impl Door {
    /// A door for so many connections at once, WebSockets among them.
    pub(super) fn of(places: usize) -> Self {
        Self::new(places, HEAD_WITHIN)
    }

    fn new(places: usize, head_within: Duration) -> Self {
        let places = Arc::new(Semaphore::new(places));
        Self { places, taken: Mutex::default(), head_within }
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
            if let Err(error) = stream.set_nodelay(true) {
                // Each small event then waits for the acknowledgement of the one before, 40 ms on Linux.
                tracing::debug!(%error, "a connection delays small messages");
            }
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

    /// A place for one more, taken from another connection when none is free.
    async fn place(&self) -> Arc<Place> {
        if self.places.available_permits() == 0 {
            self.close_one();
        }
        let permit = Arc::clone(&self.places).acquire_owned().await;
        let place = Arc::new(Place {
            _permit: permit.expect("BUG: the places of a door are never closed"),
            is_known: AtomicBool::new(false),
            is_socket: AtomicBool::new(false),
            requests: AtomicUsize::new(0),
            leave: CancellationToken::new(),
        });
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|place| place.strong_count() > 0);
        taken.push_back(Arc::downgrade(&place));
        place
    }

    fn close_one(&self) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let open = taken.iter().filter_map(Weak::upgrade);
        let open = open.filter(|place| !place.leave.is_cancelled());
        // Of several with the same rank the first one, which is the oldest.
        let first = open.filter_map(|place| Some((place.rank()?, place))).min_by_key(|one| one.0);
        match first {
            Some((_, place)) => place.leave.cancel(),
            None => tracing::warn!("every connection works on a request; the next caller waits"),
        }
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
        let in_progress = InProgress::of(Arc::clone(&place));
        let answer = router.call(request);
        async move {
            let _in_progress = in_progress;
            Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {}))
        }
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
    async fn oldest_idle_connection_makes_room_for_next_caller() {
        let (address, closing, served) = open(Door::new(2, HEAD_WITHIN)).await;
        let (oldest, mut newer) = (known(address).await, known(address).await);
        let mut next = known(address).await;
        until_closed(oldest).await;
        for stream in [&mut newer, &mut next] {
            stream.write_all(b"GET /known HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("still open");
            assert_ne!(stream.read(&mut [0; 1024]).await.expect("an answer"), 0);
        }
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
