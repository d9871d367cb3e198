//! The redaction of the access token in the answers of a server.
//!
//! Owns the search in headers and body. A server that echoes the token of a request would put the token into errors,
//! logs and transcripts. Never changes other headers, such as the id of a session. Pitfall: a token that is split between two pieces of a body;
//! the end of a piece is held back while it may be the beginning of the token.

use rouse_core::http_exchange::{HttpBody, HttpExchangeError, HttpExchangeResponse};
use rouse_core::tool::BoxFuture;

use crate::sign_in::{MIN_REDACTED_BYTES, REDACTED};

/// The headers that errors quote.
const QUOTED_HEADERS: [&str; 2] = ["content-type", "www-authenticate"];

/// The answer without `token`.
pub(super) fn without_token(response: HttpExchangeResponse, token: &str) -> HttpExchangeResponse {
    if token.len() < MIN_REDACTED_BYTES {
        return response;
    }
    let HttpExchangeResponse { status, mut headers, body } = response;
    for (name, value) in &mut headers {
        if QUOTED_HEADERS.contains(&name.as_str()) {
            *value = value.replace(token, REDACTED);
        }
    }
    let mut forms = vec![token.as_bytes().to_vec()];
    if token.contains('/') {
        // JSON may escape a slash.
        forms.push(token.replace('/', "\\/").into_bytes());
    }
    let body = Box::new(RedactedBody { body: Some(body), forms, held: Vec::new() });
    HttpExchangeResponse { status, headers, body }
}

/// A body without a token.
struct RedactedBody {
    /// The body; none after its end.
    body: Option<Box<dyn HttpBody>>,
    /// The written forms of the token.
    forms: Vec<Vec<u8>>,
    /// Received bytes that may be the beginning of the token.
    held: Vec<u8>,
}

impl RedactedBody {
    /// The received bytes without tokens. Before the end of the body, a beginning of the token stays held.
    fn take_clean(&mut self) -> Vec<u8> {
        let mut clean = std::mem::take(&mut self.held);
        for form in &self.forms {
            clean = replace_token(clean, form);
        }
        if self.body.is_some() {
            let begun = self.forms.iter().map(|form| begun_bytes(&clean, form)).max();
            self.held = clean.split_off(clean.len() - begun.unwrap_or(0));
        }
        clean
    }
}

impl HttpBody for RedactedBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        Box::pin(async move {
            while let Some(body) = &mut self.body {
                let piece = body.next().await?;
                match piece {
                    Some(piece) => self.held.extend_from_slice(&piece),
                    None => self.body = None,
                }
                let clean = self.take_clean();
                if !clean.is_empty() {
                    return Ok(Some(clean));
                }
            }
            Ok(None)
        })
    }
}

fn replace_token(bytes: Vec<u8>, token: &[u8]) -> Vec<u8> {
    let mut clean = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.windows(token.len()).position(|window| window == token) {
        clean.extend_from_slice(&rest[..at]);
        clean.extend_from_slice(REDACTED.as_bytes());
        rest = &rest[at + token.len()..];
    }
    if clean.is_empty() {
        return bytes;
    }
    clean.extend_from_slice(rest);
    clean
}

/// The length of the longest end of `bytes` that is a beginning of `token`.
fn begun_bytes(bytes: &[u8], token: &[u8]) -> usize {
    let longest = bytes.len().min(token.len() - 1);
    (1..=longest).rev().find(|length| bytes.ends_with(&token[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "abcabc/xyz";

    struct Pieces(Vec<&'static str>);

    impl HttpBody for Pieces {
        fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
            let piece = (!self.0.is_empty()).then(|| self.0.remove(0).as_bytes().to_vec());
            Box::pin(async move { Ok(piece) })
        }
    }

    async fn pieces(received: &[&'static str]) -> Vec<String> {
        let body = Box::new(Pieces(received.to_vec()));
        let response = HttpExchangeResponse { status: 200, headers: Vec::new(), body };
        let mut body = without_token(response, TOKEN).body;
        let mut clean = Vec::new();
        while let Some(piece) = body.next().await.expect("a whole body") {
            clean.push(String::from_utf8(piece).expect("text"));
        }
        clean
    }

    #[tokio::test]
    async fn token_in_a_body_is_redacted() {
        for received in [
            vec!["<abcabc/xyz>"],
            vec!["<abc", "abc/", "xyz>"],
            vec!["<abcabc\\/x", "yz>"],
            vec!["<", "a", "b", "c", "a", "b", "c", "/", "x", "y", "z", ">"],
        ] {
            assert_eq!(pieces(&received).await.concat(), format!("<{REDACTED}>"), "{received:?}");
        }
        let text = pieces(&["abc", "abcabc/xyz", "abcabc/xy"]).await.concat();
        assert_eq!(text, format!("abc{REDACTED}abcabc/xy"));
    }

    #[tokio::test]
    async fn finished_event_is_not_held_back() {
        assert_eq!(pieces(&["data: 1\n\n", "data: 2\n\n"]).await, ["data: 1\n\n", "data: 2\n\n"]);
    }

    #[test]
    fn token_in_a_header_is_redacted() {
        let challenge = format!("Bearer error=\"{TOKEN} is unknown\"");
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![header("www-authenticate", &challenge), header("mcp-session-id", TOKEN)];
        let body = Box::new(Pieces(Vec::new()));
        let clean = without_token(HttpExchangeResponse { status: 401, headers, body }, TOKEN);
        assert_eq!(clean.headers[0].1, format!("Bearer error=\"{REDACTED} is unknown\""));
        assert_eq!(clean.headers[1].1, TOKEN);
    }
}
