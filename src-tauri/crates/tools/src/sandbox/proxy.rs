//! The only way out of a sandbox whose job grants hosts: a proxy in the engine that answers inside.
//!
//! It takes `CONNECT` and plain `http://` requests, and opens a connection only to a host that was granted, at an
//! address that the rules of `http` allow, looked up once and connected to as it was judged. It refuses to decrypt: of
//! an encrypted connection it knows the host that was asked for and nothing more, so whoever runs a granted host, or the
//! network that many hosts share, decides where the words go from there. One could get it wrong by trusting the name in
//! a header, or by connecting to a name instead of the address that was judged.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::http::{Fetcher, OwnPorts, Rules, Target};

/// The variables by which programs find a proxy.
#[cfg(not(windows))]
pub(super) const VARIABLES: &[&str] =
    &["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// The most bytes of a request's head.
const HEAD: usize = 16 << 10;
/// The most connections at once.
const CONNECTIONS: usize = 64;

/// A proxy at work. Dropping it ends every connection.
pub(super) struct Proxy(JoinHandle<()>);

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Answers at `listener` for these hosts.
pub(super) fn answer(
    listener: std::net::TcpListener,
    hosts: &[String],
    fetcher: Fetcher,
) -> io::Result<Proxy> {
    let listener = TcpListener::from_std(listener)?;
    let granted = Rules::new(hosts, OwnPorts::default());
    let door = Arc::new(Door { granted, fetcher });
    Ok(Proxy(tokio::spawn(accept(listener, door))))
}

async fn accept(listener: TcpListener, door: Arc<Door>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(ended) = connections.join_next() => drop(ended),
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&door)))),
                Err(error) => return tracing::debug!(%error, "the proxy of a command ended"),
            },
        }
    }
}

/// Who may go through.
struct Door {
    granted: Rules,
    fetcher: Fetcher,
}

async fn serve(mut stream: TcpStream, door: Arc<Door>) {
    if let Err(error) = pass(&mut stream, &door).await {
        tracing::debug!(%error, "a connection of a command ended");
    }
}

async fn pass(stream: &mut TcpStream, door: &Door) -> io::Result<()> {
    let Some((head, rest)) = read_head(stream).await? else {
        return refuse(stream, "400 Bad Request", "This is not a request.").await;
    };
    let request = match Request::read(&head) {
        Ok(request) => request,
        Err(why) => return refuse(stream, "400 Bad Request", &why).await,
    };
    let mut server = match door.open(&request.target).await {
        Ok(server) => server,
        Err(why) => return refuse(stream, "403 Forbidden", &why).await,
    };
    match &request.forwarded {
        Some(head) => server.write_all(head.as_bytes()).await?,
        None => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(stream, &mut server).await.map(drop)
}

impl Door {
    async fn open(&self, target: &Target) -> Result<TcpStream, String> {
        if !self.granted.names(target) {
            return Err(format!("This job may not reach {}:{}.", target.host(), target.port()));
        }
        self.granted
            .check_port(target)
            .or_else(|_| self.fetcher.rules.check_port(target))
            .map_err(|error| error.to_string())?;
        let addresses =
            self.fetcher.checked_addresses(target).await.map_err(|error| error.to_string())?;
        let sockets: Vec<_> = addresses.iter().map(|ip| (*ip, target.port()).into()).collect();
        TcpStream::connect(sockets.as_slice())
            .await
            .map_err(|error| format!("{} could not be reached: {error}.", target.host()))
    }
}

/// What is asked for.
struct Request {
    target: Target,
    /// The head to send on; none when the connection itself is wanted.
    forwarded: Option<String>,
}

impl Request {
    fn read(head: &str) -> Result<Self, String> {
        // Some servers end a line there (RFC 9112, section 2.2): a second host could hide in one.
        if head.replace("\r\n", "").contains(['\r', '\n']) {
            return Err("A line of this request ends in a half of a line end.".to_owned());
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
        let target = Target::parse(&url).map_err(|error| error.to_string())?;
        if is_tunnel {
            return Ok(Self { target, forwarded: None });
        }
        if target.is_encrypted() {
            return Err("An encrypted page is asked for with CONNECT.".to_owned());
        }
        let forwarded = Some(rewritten(method, version, headers, &target));
        Ok(Self { target, forwarded })
    }
}

/// The head as the server is to see it: for the host that was judged, and for one request.
fn rewritten(method: &str, version: &str, headers: &str, target: &Target) -> String {
    let url = target.url();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let authority = format!("{}{port}", url.host_str().unwrap_or_default());
    let mut head = format!(
        "{method} {}{query} {version}\r\nHost: {authority}\r\nConnection: close\r\n",
        url.path()
    );
    let is_ours = |name: &str| {
        ["host", "connection", "keep-alive"].iter().any(|own| name.eq_ignore_ascii_case(own))
            || name.get(..6).is_some_and(|begin| begin.eq_ignore_ascii_case("proxy-"))
    };
    for line in headers.split("\r\n").filter(|line| !line.is_empty()) {
        if !line.split_once(':').is_some_and(|(name, _)| is_ours(name.trim())) {
            head.push_str(line);
            head.push_str("\r\n");
        }
    }
    head + "\r\n"
}

/// The head of a request, and what was read beyond it; none when it has no end.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    while bytes.len() < HEAD {
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
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_hides_in_half_of_a_line_end() {
        let read = |header: &str| {
            Request::read(&format!("GET http://a.example/ HTTP/1.1\r\n{header}\r\n\r\n"))
        };
        assert!(read("X: 1").is_ok());
        for header in ["X: 1\nHost: b.example", "X: 1\rHost: b.example", "\n"] {
            assert!(read(header).is_err(), "{header:?}");
        }
    }
}
