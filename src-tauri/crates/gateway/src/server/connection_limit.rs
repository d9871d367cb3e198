//! Limit of open connections, and header timeout of a connection.
//!
//! Every connection takes a file descriptor, and without any, no run can start a process or open a file. So the limit follows
//! from the process's limit. At the limit, one connection is evicted for the next caller: the oldest without a token or session,
//! else the oldest idle one, else the oldest WebSocket, whose client resumes. An active request is never cut off.
//! Pitfall: counting requests; a silent connection makes none.

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

/// Maximum time until the request header is complete, from the start of a connection or the end of the request before.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// The permit of one connection, an extension of each of its requests.
pub(super) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    is_authenticated: AtomicBool,
    is_websocket: AtomicBool,
    active_requests: AtomicUsize,
    eviction: CancellationToken,
}

impl ConnectionPermit {
    /// Records that the caller has shown a token or a session.
    pub(super) fn mark_authenticated(&self) {
        self.is_authenticated.store(true, Ordering::Relaxed);
    }

    /// Records the upgrade to a WebSocket, which must close when the returned token is cancelled.
    pub(super) fn mark_websocket(&self) -> CancellationToken {
        self.is_websocket.store(true, Ordering::Relaxed);
        self.eviction.clone()
    }

    /// The rank for eviction; none during an active request.
    fn eviction_rank(&self) -> Option<EvictionRank> {
        if !self.is_authenticated.load(Ordering::Relaxed) {
            Some(EvictionRank::Unauthenticated)
        } else if self.is_websocket.load(Ordering::Relaxed) {
            Some(EvictionRank::WebSocket)
        } else {
            (self.active_requests.load(Ordering::Relaxed) == 0).then_some(EvictionRank::Idle)
        }
    }
}

/// The order of eviction, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EvictionRank {
    Unauthenticated,
    Idle,
    WebSocket,
}

/// Counts an active request until dropped.
struct ActiveRequest(Arc<ConnectionPermit>);

impl ActiveRequest {
    fn new(permit: Arc<ConnectionPermit>) -> Self {
        permit.active_requests.fetch_add(1, Ordering::Relaxed);
        Self(permit)
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.active_requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connection limit of one server.
pub(super) struct ConnectionLimit {
    semaphore: Arc<Semaphore>,
    /// The open connections, oldest first.
    permits: Mutex<VecDeque<Weak<ConnectionPermit>>>,
    header_timeout: Duration,
}

impl ConnectionLimit {
    /// Allows `count` open connections, including WebSockets.
    pub(super) fn new(count: usize) -> Self {
        Self::with_timeout(count, HEADER_TIMEOUT)
    }

    fn with_timeout(count: usize, header_timeout: Duration) -> Self {
        let semaphore = Arc::new(Semaphore::new(count));
        Self { semaphore, permits: Mutex::default(), header_timeout }
    }

    /// Accepts connections until `closing`, then waits for active requests.
    pub(super) async fn serve(
        self,
        mut listener: TcpListener,
        router: Router,
        closing: CancellationToken,
    ) {
        let connections = TaskTracker::new();
        let accept = async |listener: &mut TcpListener| {
            // Axum's `accept` retries when the system has no file descriptor left.
            let (stream, _) = listener.accept().await;
            if let Err(error) = stream.set_nodelay(true) {
                // Each small event then waits for the acknowledgement of the one before, 40 ms on Linux.
                tracing::debug!(%error, "a connection delays small messages");
            }
            (stream, self.acquire().await)
        };
        while let Some((stream, permit)) = closing.run_until_cancelled(accept(&mut listener)).await
        {
            let (router, closing) = (router.clone(), closing.clone());
            let connection = serve_connection(stream, permit, router, closing, self.header_timeout);
            connections.spawn(connection);
        }
        drop(listener);
        connections.close();
        connections.wait().await;
    }

    /// Acquires a permit, at the limit by eviction of another connection.
    async fn acquire(&self) -> Arc<ConnectionPermit> {
        if self.semaphore.available_permits() == 0 {
            self.evict();
        }
        let permit = Arc::clone(&self.semaphore).acquire_owned().await;
        let permit = Arc::new(ConnectionPermit {
            _permit: permit.expect("BUG: the semaphore is never closed"),
            is_authenticated: AtomicBool::new(false),
            is_websocket: AtomicBool::new(false),
            active_requests: AtomicUsize::new(0),
            eviction: CancellationToken::new(),
        });
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        permits.retain(|permit| permit.strong_count() > 0);
        permits.push_back(Arc::downgrade(&permit));
        permit
    }

    fn evict(&self) {
        let permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let open = permits
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|permit| !permit.eviction.is_cancelled());
        // `min_by_key` returns the first of equal ranks, which is the oldest.
        let candidate = open
            .filter_map(|permit| Some((permit.eviction_rank()?, permit)))
            .min_by_key(|(rank, _)| *rank);
        match candidate {
            Some((_, permit)) => permit.eviction.cancel(),
            None => tracing::warn!("all connections have active requests; the next caller waits"),
        }
    }
}

async fn serve_connection(
    stream: TcpStream,
    permit: Arc<ConnectionPermit>,
    router: Router,
    closing: CancellationToken,
    header_timeout: Duration,
) {
    let eviction = permit.eviction.clone();
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&permit));
        let active_request = ActiveRequest::new(Arc::clone(&permit));
        let response = router.call(request);
        async move {
            let _active_request = active_request;
            Ok::<_, Infallible>(response.await.unwrap_or_else(|never| match never {}))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(header_timeout);
    let served = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = eviction.cancelled() => return,
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

    const REQUEST: &[u8] = b"GET /login HTTP/1.1\r\nhost: a\r\n\r\n";

    /// A server whose `/login` authenticates every caller.
    async fn start(
        limit: ConnectionLimit,
    ) -> (std::net::SocketAddr, CancellationToken, JoinHandle<()>) {
        let login = get(async |Extension(permit): Extension<Arc<ConnectionPermit>>| {
            permit.mark_authenticated();
            "yes"
        });
        let router = Router::new().route("/login", login);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("the address");
        let closing = CancellationToken::new();
        let served = tokio::spawn(limit.serve(listener, router, closing.clone()));
        (address, closing, served)
    }

    /// An authenticated open connection.
    async fn authenticated(address: std::net::SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(REQUEST).await.expect("a write");
        let mut response = [0; 1024];
        let count = stream.read(&mut response).await.expect("a response");
        assert!(response[..count].ends_with(b"yes"), "{:?}", String::from_utf8_lossy(&response));
        stream
    }

    /// Waits until the server has closed a silent connection.
    async fn assert_closed(mut silent: TcpStream) {
        assert!(matches!(silent.read(&mut [0]).await, Ok(0) | Err(_)), "no request was sent");
    }

    #[tokio::test]
    async fn silent_connections_are_evicted_first() {
        let (address, closing, served) = start(ConnectionLimit::new(3)).await;
        let mut client = authenticated(address).await;
        let mut silent = Vec::new();
        for _ in 0..20 {
            silent.push(TcpStream::connect(address).await.expect("a connection"));
        }
        drop(authenticated(address).await);
        for stream in silent.drain(..17) {
            assert_closed(stream).await;
        }
        client.write_all(REQUEST).await.expect("still open");
        assert_ne!(client.read(&mut [0; 1024]).await.expect("a response"), 0);
        closing.cancel();
        served.await.expect("a clean end");
    }

    #[tokio::test]
    async fn oldest_idle_connection_makes_room_for_next_caller() {
        let (address, closing, served) = start(ConnectionLimit::new(2)).await;
        let (oldest, mut newer) = (authenticated(address).await, authenticated(address).await);
        let mut next = authenticated(address).await;
        assert_closed(oldest).await;
        for stream in [&mut newer, &mut next] {
            stream.write_all(REQUEST).await.expect("still open");
            assert_ne!(stream.read(&mut [0; 1024]).await.expect("a response"), 0);
        }
        closing.cancel();
        served.await.expect("a clean end");
    }

    #[tokio::test]
    async fn incomplete_header_closes_the_connection() {
        let limit = ConnectionLimit::with_timeout(3, Duration::from_millis(20));
        let (address, closing, served) = start(limit).await;
        let silent = TcpStream::connect(address).await.expect("a connection");
        let mut half = TcpStream::connect(address).await.expect("a connection");
        half.write_all(b"GET /login HTTP/1.1\r\nhost:").await.expect("a write");
        let mut idle = authenticated(address).await;
        assert_closed(silent).await;
        // Only the release of the descriptor matters, not the response to the half request.
        half.read_to_end(&mut Vec::new()).await.expect("closed");
        idle.read_to_end(&mut Vec::new()).await.expect("closed after the timeout");
        closing.cancel();
        served.await.expect("a clean end");
    }
}
