//! The command or URL of an MCP server in one line; a sentence for a tool without a server.
//!
//! Each word is quoted where needed, so the line shows where each argument ends. Never shortens. Invisible characters
//! stay; whoever prints the line escapes them.

use rouse_core::extension::ServerTransport;
use rouse_core::text::quote_word;

/// The command with its arguments, or the URL.
#[must_use]
pub fn command_text(transport: &ServerTransport) -> String {
    match transport {
        ServerTransport::Stdio { command, arguments, .. } => {
            let words = std::iter::once(command).chain(arguments);
            words.map(|word| quote_word(word)).collect::<Vec<_>>().join(" ")
        }
        ServerTransport::Http { url, .. } => url.clone(),
        ServerTransport::Wasm { .. } => "runs in Rouse's own sandbox".to_owned(),
    }
}
