//! An MCP server over HTTP for measurements: 40 tools that return their name.
//!
//! Owns a loopback socket and a thread for each connection. Speaks 2026-07-28 only. Answers one request for each
//! connection, as Rouse opens a connection for each request.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

/// The tools of the server, `tool_0` to `tool_39`.
pub(super) const TOOLS: usize = 40;

/// A running server, for the life of the process.
pub(super) struct HttpDouble {
    pub(super) address: SocketAddr,
}

impl HttpDouble {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that disconnects ends its connection.
                thread::spawn(move || drop(serve(stream)));
            }
        });
        Ok(Self { address })
    }

    /// The definition for an installation.
    pub(super) fn definition(&self) -> Value {
        json!({ "transport": { "kind": "http", "url": format!("http://{}/mcp", self.address) } })
    }
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let body = read_body(&mut BufReader::new(stream.try_clone()?))?;
    let message: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
    let answer = match result_of(&message) {
        Some(mut result) => {
            result["resultType"] = "complete".into();
            let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            let body = body.to_string();
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            )
        }
        None => "HTTP/1.1 202 Accepted\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".into(),
    };
    stream.write_all(answer.as_bytes())
}

/// The result of a request; none for a notification.
fn result_of(message: &Value) -> Option<Value> {
    message.get("id")?;
    Some(match message["method"].as_str() {
        Some("server/discover") => json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} },
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "bench", "version": "1" } },
        }),
        Some("tools/list") => json!({
            "tools": (0..TOOLS).map(listed_tool).collect::<Vec<_>>(),
            "ttlMs": 0,
            "cacheScope": "private",
        }),
        _ => json!({ "content": [{ "type": "text", "text": message["params"]["name"] }] }),
    })
}

/// A tool with a description and a schema of an ordinary length.
fn listed_tool(number: usize) -> Value {
    let parameter = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "name": format!("tool_{number}"),
        "description": format!(
            "Searches the records of register {number} and returns the matching entries with their dates, newest first."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": parameter("Words that each entry contains"),
                "from": parameter("First day of the entries, as YYYY-MM-DD"),
                "until": parameter("Last day of the entries, as YYYY-MM-DD"),
            },
            "required": ["text"],
        },
        "annotations": { "readOnlyHint": true },
    })
}

/// The body of a request with a length.
fn read_body(reader: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
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
    Ok(body)
}
