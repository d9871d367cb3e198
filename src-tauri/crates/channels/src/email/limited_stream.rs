//! A TCP connection that receives a limited number of bytes.
//!
//! Anybody on the way can answer before the encryption begins. Pitfall: a server that never ends its line; the reader of
//! SMTP collects the whole line in memory.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The most bytes of a conversation: the answers of a mail server are short lines.
const MAX_RECEIVED: usize = 1 << 20;

/// A connection to a mail server.
#[derive(Debug)]
pub(super) struct LimitedStream {
    stream: TcpStream,
    left: usize,
}

impl LimitedStream {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, left: MAX_RECEIVED }
    }
}

impl AsyncTokioStream for LimitedStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncRead for LimitedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::other("the mail server sends too much")));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.left = self.left.saturating_sub(buffer.filled().len() - before);
        read
    }
}

impl AsyncWrite for LimitedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn endless_answer_ends_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            while stream.write_all(&[b'x'; 65_536]).await.is_ok() {}
        });
        let stream = TcpStream::connect(address).await.expect("a connection");
        let mut limited = LimitedStream::new(stream);
        let mut received = Vec::new();
        let end = limited.read_to_end(&mut received).await.expect_err("a limit");
        assert_eq!(end.to_string(), "the mail server sends too much");
        assert!(received.len() < 2 * MAX_RECEIVED, "{}", received.len());
        drop(limited);
        server.await.expect("the server ends with the connection");
    }
}
