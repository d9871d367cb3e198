//! One connection of the server: one request, one reply.
//!
//! The last byte of a request stays unread until the reply is chosen: closing a socket with unread bytes makes the kernel send a reset.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use super::{Ending, Recorded, Reply, Shared, lock};

/// Reads one request and writes its reply. A socket error ends the connection, because tests disconnect early.
pub(super) fn serve(mut stream: TcpStream, shared: &Shared) {
    let Ok(Some((request, has_unread_byte))) = read_request(&mut stream) else { return };
    let reply = (shared.handler)(&request);
    lock(&shared.requests).push(request);
    let mut last = [0_u8; 1];
    if has_unread_byte
        && !matches!(reply.ending, Ending::Reset(_))
        && stream.read_exact(&mut last).is_err()
    {
        return;
    }
    let is_held = matches!(reply.ending, Ending::Hold(_) | Ending::Silence);
    if write_reply(&mut stream, &reply).is_ok() && is_held {
        wait_for_close(&mut stream);
        *lock(&shared.disconnects) += 1;
        shared.changed.notify_all();
    }
}

/// The request and whether the last byte of its body is unread; none if the client sent nothing.
fn read_request(stream: &mut TcpStream) -> io::Result<Option<(Recorded, bool)>> {
    let Some(head) = read_head(stream)? else { return Ok(None) };
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) =
        (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut request = Recorded { method, path, headers, body: String::new() };
    let length =
        request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0_usize);
    let mut body = vec![0_u8; length];
    if let Some((last, others)) = body.split_last_mut() {
        stream.read_exact(others)?;
        stream.peek(std::slice::from_mut(last))?;
    }
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some((request, length > 0)))
}

fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut byte = [0_u8; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    Ok(Some(String::from_utf8_lossy(&head).trim_end().to_owned()))
}

fn write_reply(stream: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    let body = match reply.ending {
        Ending::Drop | Ending::Silence => return Ok(()),
        Ending::Whole => reply.body.as_bytes(),
        Ending::Cut(end) | Ending::Reset(end) | Ending::Hold(end) => &reply.body.as_bytes()[..end],
    };
    let mut head = format!(
        "HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\nconnection: close\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    for piece in body.chunks(reply.piece_bytes) {
        write!(stream, "{:x}\r\n", piece.len())?;
        stream.write_all(piece)?;
        stream.write_all(b"\r\n")?;
        stream.flush()?;
    }
    if reply.ending == Ending::Whole {
        stream.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

/// Waits for the end of the stream; a waiting client sends nothing.
fn wait_for_close(stream: &mut TcpStream) {
    let mut nothing = [0_u8; 1];
    while matches!(stream.read(&mut nothing), Ok(read) if read > 0) {}
}
