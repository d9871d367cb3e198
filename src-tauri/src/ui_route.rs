//! UI page as a validated path: target of the tray, notifications, links and second instances.
//!
//! Owns the validation. Paths may come from outside (`rouse://…` on a web page), so only plain path
//! and query characters pass, and a route is only ever shown.

use std::fmt;

use rouse_core::{ApprovalId, DeliveryId, JobId, RunId};

/// Validated path within the UI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UiRoute(String);

/// Query parameter of a page of another computer.
const COMPUTER: &str = "computer=";
/// Maximum length.
const MAX_LENGTH: usize = 512;

impl UiRoute {
    /// Home page.
    pub(crate) fn home() -> Self {
        Self::fixed("/")
    }

    /// Fixed page.
    pub(crate) fn fixed(path: &'static str) -> Self {
        Self(path.to_owned())
    }

    /// Page of a job.
    pub(crate) fn job(id: &JobId) -> Self {
        Self(format!("/jobs/{}", encode(id.as_str())))
    }

    /// Page of a run.
    pub(crate) fn run(id: &RunId) -> Self {
        Self(format!("/runs/{}", encode(id.as_str())))
    }

    /// Page of an approval.
    pub(crate) fn approval(id: &ApprovalId) -> Self {
        Self(format!("/approvals/{}", encode(id.as_str())))
    }

    /// Runs of a digest.
    pub(crate) fn digest(id: &DeliveryId) -> Self {
        Self(format!("/runs?digest={}", encode(id.as_str())))
    }

    /// The same page of another computer.
    pub(crate) fn on_computer(self, name: &str) -> Self {
        let separator = if self.0.contains('?') { '&' } else { '?' };
        Self(format!("{}{separator}{COMPUTER}{}", self.0, encode(name)))
    }

    /// Splits the computer from its page; none is this computer.
    pub(crate) fn split_computer(self) -> (Option<String>, Self) {
        let Some((path, query)) = self.0.split_once('?') else { return (None, self) };
        let (computers, others): (Vec<&str>, Vec<&str>) =
            query.split('&').partition(|part| part.starts_with(COMPUTER));
        let name = computers.first().and_then(|part| part.strip_prefix(COMPUTER)).and_then(decode);
        let query =
            if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        (name, Self(format!("{path}{query}")))
    }

    /// Parses a path (`/runs/1`) or a link (`rouse://runs/1`).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let path = match text.strip_prefix("rouse:") {
            // Some systems treat the first segment as a host and append a slash.
            Some(rest) => format!("/{}", rest.trim_matches('/')),
            None => text.to_owned(),
        };
        let is_safe = path.starts_with('/')
            && !path.starts_with("//")
            && path.len() <= MAX_LENGTH
            && path.chars().all(is_plain)
            && !path.split(['/', '?']).any(|part| part == "..");
        is_safe.then_some(Self(path))
    }

    /// Path with a leading `/`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UiRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '/' | '-' | '_' | '.' | '~' | '?' | '=' | '&' | '%' | ',')
}

/// Percent-encodes an id; imported ids can be any text.
fn encode(id: &str) -> String {
    id.bytes().fold(String::with_capacity(id.len()), |mut text, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte))
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}

/// Decodes a percent-encoded name; none if it is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (high, low) = (char::from(rest.next()?), char::from(rest.next()?));
        let value = high.to_digit(16)? * 16 + low.to_digit(16)?;
        // silent-ok: two hexadecimal digits are at most 255.
        bytes.push(u8::try_from(value).ok()?);
    }
    // silent-ok: a link with such a name leads to no computer.
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<String> {
        UiRoute::parse(text).map(|route| route.to_string())
    }

    #[test]
    fn path_and_link_parse_to_same_route() {
        assert_eq!(parse("/runs/0197-a").as_deref(), Some("/runs/0197-a"));
        assert_eq!(parse("rouse://runs/0197-a").as_deref(), Some("/runs/0197-a"));
        assert_eq!(parse("rouse:/runs/0197-a").as_deref(), Some("/runs/0197-a"));
        assert_eq!(parse("rouse://").as_deref(), Some("/"));
        assert_eq!(parse("rouse://settings/").as_deref(), Some("/settings"));
        assert_eq!(
            parse("rouse://install?npm=%40scope%2Ffiles%401.2.3&name=files").as_deref(),
            Some("/install?npm=%40scope%2Ffiles%401.2.3&name=files")
        );
        assert_eq!(
            parse("/runs?states=failed&jobId=a").as_deref(),
            Some("/runs?states=failed&jobId=a")
        );
    }

    #[test]
    fn unsafe_path_is_rejected() {
        let long = format!("/{}", "a".repeat(MAX_LENGTH));
        let long_link = format!("rouse://install?npm={}", "a".repeat(4_000));
        for invalid in [
            "",
            "runs",
            "//evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/a b",
            "/a\nb",
            "/<script>",
            "/jobs/../..",
            "/a#b",
            "/a\\b",
            "/jobs/“x”",
            &long,
            &long_link,
        ] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
        assert_eq!(
            parse("rouse:////evil.example").as_deref(),
            Some("/evil.example"),
            "stays inside the UI"
        );
    }

    #[test]
    fn computer_of_a_page_round_trips() {
        let run = UiRoute::run(&RunId::new("1"));
        let there = run.clone().on_computer("büro & keller");
        assert_eq!(UiRoute::parse(there.as_str()), Some(there.clone()));
        assert_eq!(there.split_computer(), (Some("büro & keller".to_owned()), run.clone()));
        assert_eq!(run.clone().split_computer(), (None, run));
        let digest = UiRoute::digest(&DeliveryId::new("d"));
        let there = digest.clone().on_computer("box");
        assert_eq!(there.as_str(), "/runs?digest=d&computer=box");
        assert_eq!(there.split_computer(), (Some("box".to_owned()), digest));
        let invalid = UiRoute::fixed("/runs?computer=%zz");
        assert_eq!(invalid.split_computer(), (None, UiRoute::fixed("/runs")));
    }

    #[test]
    fn imported_id_stays_one_segment() {
        let route = UiRoute::job(&JobId::new("a/b c?ü"));
        assert_eq!(route.as_str(), "/jobs/a%2Fb%20c%3F%C3%BC");
        assert_eq!(UiRoute::parse(route.as_str()), Some(route));
    }
}
