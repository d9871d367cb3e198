//! The receiver of a call's arguments: the program or the address of a server.
//!
//! Owns the words about the receiver and its network for an approval, the parts that bind an approval to the receiver,
//! and the destination for secrets. Never resolves a name. Pitfall: a part of the definition outside of the hash; a
//! changed variable or folder would keep an old approval.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use http::Uri;
use rouse_core::approval::{Surroundings, canonical};
use rouse_core::extension::{ExtensionName, PinnedTool, ServerTransport};
use rouse_core::text::escape_line;
use rouse_core::text::hex_digits;
use rouse_core::tool::Destination;
use sha2::{Digest as _, Sha256};

/// Names in the environment of the surroundings.
const TOOL_DEFINITION: &str = "tool definition";
const SERVER_DEFINITION: &str = "server definition";

/// What an approval of a call is bound to: the accepted definitions of the tool and of the server.
pub(super) fn surroundings(
    extension: &ExtensionName,
    transport: &ServerTransport,
    pin: &PinnedTool,
) -> Surroundings {
    let definition = serde_json::to_value(transport).expect("BUG: a definition is JSON");
    let digest = Sha256::digest(canonical(&definition).as_bytes());
    let hash = hex_digits(&digest);
    Surroundings {
        confinement: Some(format!("by the server {extension}: {}", describe(transport))),
        environment: BTreeMap::from([
            (TOOL_DEFINITION.to_owned(), pin.hash.clone()),
            (SERVER_DEFINITION.to_owned(), hash),
        ]),
        ..Surroundings::default()
    }
}

/// The receiver in words, on one line: the host of an HTTP server, the command line and the confinement of a process.
pub(crate) fn describe(transport: &ServerTransport) -> String {
    match transport {
        ServerTransport::Http { url, .. } => match destination(transport) {
            Some(Destination { host, port, is_encrypted: true }) => format!("{host}:{port}"),
            Some(Destination { host, port, is_encrypted: false }) => {
                format!("{host}:{port}, unencrypted")
            }
            None => escape_line(url),
        },
        ServerTransport::Stdio { command, arguments, hosts, is_unconfined, .. } => {
            let words = std::iter::once(command).chain(arguments);
            let line: Vec<String> = words.map(|word| escape_line(word)).collect();
            let confinement = if *is_unconfined {
                "outside the sandbox, with all your rights".to_owned()
            } else if hosts.is_empty() {
                "in its sandbox, without a network".to_owned()
            } else {
                format!("in its sandbox, with a way to {}", escape_line(&hosts.join(", ")))
            };
            format!("the program `{}` {confinement}", line.join(" "))
        }
        ServerTransport::Wasm { .. } => "a tool that runs in Rouse's own sandbox".to_owned(),
    }
}

/// Whether a call can reach the network, as a sentence.
pub(crate) fn network_reach(transport: &ServerTransport) -> &'static str {
    match transport {
        ServerTransport::Http { .. } => match destination(transport) {
            Some(destination) if is_loopback(&destination.host) => {
                "The call stays on this computer, but the server may reach the network."
            }
            _ => "The call goes over the network.",
        },
        ServerTransport::Stdio { is_unconfined: true, .. } => {
            "The program may reach the whole network."
        }
        ServerTransport::Stdio { hosts, .. } if hosts.is_empty() => {
            "The program cannot reach the network."
        }
        ServerTransport::Stdio { .. } => "The program may reach these hosts only.",
        ServerTransport::Wasm { hosts, .. } if hosts.is_empty() => {
            "The tool cannot reach the network."
        }
        ServerTransport::Wasm { .. } => "The tool may reach these hosts only.",
    }
}

fn is_loopback(host: &str) -> bool {
    let is_local_address = host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    is_local_address || ["localhost", "[::1]"].contains(&host)
}

/// The host that receives the arguments; none for a process, and none for an ambiguous URL.
pub(super) fn destination(transport: &ServerTransport) -> Option<Destination> {
    let ServerTransport::Http { url, .. } = transport else { return None };
    let uri: Uri = url.parse().ok()?;
    let (is_encrypted, default_port) = match uri.scheme_str()? {
        "https" => (true, 443),
        "http" => (false, 80),
        _ => return None,
    };
    let authority = uri.authority()?;
    let host = authority.host().to_ascii_lowercase();
    if host.is_empty() || authority.as_str().contains('@') {
        return None;
    }
    let port = match authority.as_str().strip_prefix(authority.host())? {
        "" | ":" => default_port,
        written => written.strip_prefix(':')?.parse().ok()?,
    };
    Some(Destination { host, port, is_encrypted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(url: &str) -> ServerTransport {
        ServerTransport::Http { url: url.to_owned(), headers: BTreeMap::new(), oauth: None }
    }

    #[test]
    fn destination_is_host_and_port_of_the_url() {
        for (url, host, port, is_encrypted) in [
            ("https://mcp.example/a?b", "mcp.example", 443, true),
            ("HTTPS://MCP.Example:8443", "mcp.example", 8443, true),
            ("http://127.0.0.1:9/mcp", "127.0.0.1", 9, false),
            ("http://[::1]/mcp", "[::1]", 80, false),
        ] {
            let host = host.to_owned();
            let expected = Some(Destination { host, port, is_encrypted });
            assert_eq!(destination(&http(url)), expected, "{url}");
        }
    }

    #[test]
    fn ambiguous_url_has_no_destination() {
        for url in [
            "ftp://mcp.example",
            "mcp.example/a",
            "https://mcp.example@evil.example/",
            "https://mcp.example:99999/",
            "https://mcp.example\\@evil.example/",
            "",
        ] {
            assert_eq!(destination(&http(url)), None, "{url}");
        }
    }

    fn process(hosts: &[&str], is_unconfined: bool) -> ServerTransport {
        ServerTransport::Stdio {
            command: "/usr/bin/node".to_owned(),
            arguments: vec!["a.js\n\u{202e}".to_owned()],
            environment: BTreeMap::new(),
            folder: None,
            folders: Vec::new(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            is_unconfined,
        }
    }

    #[test]
    fn network_reach_follows_from_the_transport() {
        for (transport, expected) in [
            (http("https://mcp.example/a"), "goes over the network"),
            (http("mcp.example/a"), "goes over the network"),
            (http("http://127.0.0.1:9/"), "stays on this computer"),
            (http("http://localhost:9/"), "stays on this computer"),
            (http("http://[::1]:9/"), "stays on this computer"),
            (process(&[], false), "cannot reach the network"),
            (process(&["a.example"], false), "these hosts only"),
            (process(&["a.example"], true), "the whole network"),
        ] {
            let reach = network_reach(&transport);
            assert!(reach.contains(expected), "{reach}");
        }
    }

    #[test]
    fn receiver_is_described_on_one_line() {
        for (transport, expected) in [
            (http("https://mcp.example/a"), "mcp.example:443"),
            (http("http://mcp.example/a"), "mcp.example:80, unencrypted"),
            (process(&[], false), "without a network"),
            (process(&["a.example", "b.example"], false), "with a way to a.example, b.example"),
            (process(&[], true), "with all your rights"),
            (process(&[], false), "`/usr/bin/node a.js⟨U+000A⟩⟨U+202E⟩`"),
        ] {
            let described = describe(&transport);
            assert!(described.contains(expected) && !described.contains('\n'), "{described}");
        }
    }
}
