//! A loopback proxy that adds a token, because the suites send no header of their own.
//!
//! Owns one request for each connection. Every other header stays as the suite sent it, but for the port in `Host` and
//! `Origin`, so that the engine judges foreign hosts.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// The most bytes of a request's head.
const MAX_HEAD: usize = 64 << 10;

/// A running proxy. Dropping stops it.
pub(super) struct AuthorizingProxy {
    /// The address of the proxy.
    pub(super) address: SocketAddr,
    _accepting: AbortOnDropHandle<()>,
}

impl AuthorizingProxy {
    /// Starts a proxy to `engine` that adds `token`.
    pub(super) async fn start(engine: SocketAddr, token: String) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let token = token.clone();
                tokio::spawn(async move {
                    if let Err(error) = forward(client, engine, address.port(), &token).await {
                        eprintln!("a request was not forwarded: {error}");
                    }
                });
            }
        });
        Ok(Self { address, _accepting: AbortOnDropHandle::new(accepting) })
    }
}

async fn forward(
    mut client: TcpStream,
    engine: SocketAddr,
    own_port: u16,
    token: &str,
) -> io::Result<()> {
    let mut received = Vec::new();
    let head_end = loop {
        if let Some(at) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at;
        }
        if received.len() > MAX_HEAD || client.read_buf(&mut received).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let (head, rest) = received.split_at(head_end);
    let head = String::from_utf8_lossy(head);
    let mut forwarded = String::new();
    for line in head.split("\r\n") {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "connection" => continue,
            "host" | "origin" => {
                let engine_port = format!(":{}", engine.port());
                forwarded.push_str(&line.replace(&format!(":{own_port}"), &engine_port));
            }
            _ => forwarded.push_str(line),
        }
        forwarded.push_str("\r\n");
    }
    forwarded.push_str("Connection: close\r\nAuthorization: Bearer ");
    forwarded.push_str(token);
    let mut server = TcpStream::connect(engine).await?;
    server.write_all(forwarded.as_bytes()).await?;
    server.write_all(rest).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
