//! The proxy in the engine through which a sandboxed command reaches granted hosts.
//!
//! Accepts `CONNECT` and plain `http://` requests, and connects only to granted hosts, at addresses that `http_guard` resolved and
//! checked. Never decrypts: of an encrypted connection the proxy knows the requested host alone, so the operator of a granted host, or
//! of a network shared by many hosts, decides where the data goes. Pitfall: to trust a `Host` header, or to connect to a name instead of
//! the checked address.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::http_guard::{Fetcher, HostRules, UrlTarget};

/// Environment variables by which programs find a proxy.
#[cfg(not(windows))]
pub(super) const VARIABLES: &[&str] =
    &["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

const MAX_HEAD_BYTES: usize = 16 << 10;
const MAX_CONNECTIONS: usize = 64;

/// A running proxy. Dropping closes every connection.
pub(super) struct Proxy(JoinHandle<()>);

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Serves `listener` for these hosts.
pub(super) fn start_proxy(
    listener: std::net::TcpListener,
    hosts: &[String],
    fetcher: Fetcher,
) -> io::Result<Proxy> {
    let listener = TcpListener::from_std(listener)?;
    let rules = Arc::new(ProxyRules { granted: HostRules::for_job(hosts), fetcher });
    Ok(Proxy(tokio::spawn(accept_connections(listener, rules))))
}

async fn accept_connections(listener: TcpListener, rules: Arc<ProxyRules>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(ended) = connections.join_next() => drop(ended),
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&rules)))),
                Err(error) => return tracing::debug!(%error, "the proxy of a command stopped"),
            },
        }
    }
}

struct ProxyRules {
    granted: HostRules,
    fetcher: Fetcher,
}

async fn serve(mut stream: TcpStream, rules: Arc<ProxyRules>) {
    if let Err(error) = forward(&mut stream, &rules).await {
        tracing::debug!(%error, "a proxied connection failed");
    }
}

async fn forward(stream: &mut TcpStream, rules: &ProxyRules) -> io::Result<()> {
    let Some((head, rest)) = read_head(stream).await? else {
        return refuse(stream, "400 Bad Request", "This is not a request.").await;
    };
    let request = match ProxyRequest::parse(&head) {
        Ok(request) => request,
        Err(why) => return refuse(stream, "400 Bad Request", &why).await,
    };
    let mut server = match rules.connect(&request.target).await {
        Ok(server) => server,
        Err(why) => {
            tracing::info!(%why, "a sandboxed process was refused a connection");
            return refuse(stream, "403 Forbidden", &why).await;
        }
    };
    match &request.forwarded_head {
        Some(head) => server.write_all(head.as_bytes()).await?,
        None => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(stream, &mut server).await.map(drop)
}

impl ProxyRules {
    async fn connect(&self, target: &UrlTarget) -> Result<TcpStream, String> {
        if !self.granted.includes(target) {
            return Err(format!("This job may not reach {}:{}.", target.host(), target.port()));
        }
        self.granted
            .check_port(target)
            .or_else(|_| self.fetcher.rules.check_port(target))
            .map_err(|error| error.to_string())?;
        let addresses =
            self.fetcher.resolve_checked(target).await.map_err(|error| error.to_string())?;
        let sockets: Vec<_> = addresses.iter().map(|ip| (*ip, target.port()).into()).collect();
        TcpStream::connect(sockets.as_slice())
            .await
            .map_err(|error| format!("{} could not be reached: {error}.", target.host()))
    }
}

/// A parsed proxy request.
struct ProxyRequest {
    target: UrlTarget,
    /// The head for the server; `None` for a tunnel.
    forwarded_head: Option<String>,
}

impl ProxyRequest {
    fn parse(head: &str) -> Result<Self, String> {
        // Some servers accept a bare CR or LF as a line end (RFC 9112, section 2.2), behind which a second host could hide.
        if head.replace("\r\n", "").contains(['\r', '\n']) {
            return Err("The request contains an incomplete line end.".to_owned());
        }
        let (line, headers) = head.split_once("\r\n").ok_or("This is not a request.")?;
        let mut words = line.split(' ');
        let (Some(method), Some(wanted), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("This is not a request.".to_owned());
        };
        let is_tunnel = method == "CONNECT";
        let url = if is_tunnel { format!("https://{wanted}/") } else { wanted.to_owned() };
        let target = UrlTarget::parse(&url).map_err(|error| error.to_string())?;
        if is_tunnel {
            return Ok(Self { target, forwarded_head: None });
        }
        if target.is_encrypted() {
            return Err("Use CONNECT for an encrypted page.".to_owned());
        }
        let forwarded_head = Some(rewrite_head(method, version, headers, &target));
        Ok(Self { target, forwarded_head })
    }
}

/// Rewrites a request's head for the checked host and a single request.
fn rewrite_head(method: &str, version: &str, headers: &str, target: &UrlTarget) -> String {
    let url = target.url();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let authority = format!("{}{port}", url.host_str().unwrap_or_default());
    let mut head = format!(
        "{method} {}{query} {version}\r\nHost: {authority}\r\nConnection: close\r\n",
        url.path()
    );
    let is_replaced = |name: &str| {
        ["host", "connection", "keep-alive"].iter().any(|own| name.eq_ignore_ascii_case(own))
            || name.get(..6).is_some_and(|begin| begin.eq_ignore_ascii_case("proxy-"))
    };
    for line in headers.split("\r\n").filter(|line| !line.is_empty()) {
        if !line.split_once(':').is_some_and(|(name, _)| is_replaced(name.trim())) {
            head.push_str(line);
            head.push_str("\r\n");
        }
    }
    head + "\r\n"
}

/// Reads the head and the following bytes of a request; `None` without a complete head.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_HEAD_BYTES {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(String::from_utf8(bytes).ok().map(|head| (head, rest)));
        }
    }
    Ok(None)
}

async fn refuse(stream: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}"
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_line_end_is_refused() {
        let parse = |header: &str| {
            ProxyRequest::parse(&format!("GET http://a.example/ HTTP/1.1\r\n{header}\r\n\r\n"))
        };
        assert!(parse("X: 1").is_ok());
        for header in ["X: 1\nHost: b.example", "X: 1\rHost: b.example", "\n"] {
            assert!(parse(header).is_err(), "{header:?}");
        }
    }
}
