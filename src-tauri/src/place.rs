//! A page of the UI, as a path: where the tray, a notification, a link or a second start leads.
//!
//! Owns the rule of what may be such a path. Paths come from outside (a link on a web page can be `rouse://…`), so
//! anything but plain path and query characters is refused, and a place can only ever be *shown*, never acted upon.

use std::fmt;

use rouse_core::{ApprovalId, DeliveryId, JobId, RunId};

/// A path within the UI, known to be harmless in an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place(String);

/// More than any page of ours needs.
const LONGEST: usize = 512;

impl Place {
    /// The first page.
    pub(crate) fn home() -> Self {
        Self::fixed("/")
    }

    /// A page that always exists.
    pub(crate) fn fixed(path: &'static str) -> Self {
        Self(path.to_owned())
    }

    /// The page of a job.
    pub(crate) fn job(id: &JobId) -> Self {
        Self(format!("/jobs/{}", encode(id.as_str())))
    }

    /// The page of a run.
    pub(crate) fn run(id: &RunId) -> Self {
        Self(format!("/runs/{}", encode(id.as_str())))
    }

    /// The page of a question.
    pub(crate) fn approval(id: &ApprovalId) -> Self {
        Self(format!("/approvals/{}", encode(id.as_str())))
    }

    /// The runs that a digest tells of.
    pub(crate) fn digest(id: &DeliveryId) -> Self {
        Self(format!("/runs?digest={}", encode(id.as_str())))
    }

    /// Reads a path (`/runs/1`) or a link (`rouse://runs/1`).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let path = match text.strip_prefix("rouse:") {
            // Systems that take the first segment for a host put a slash behind it.
            Some(rest) => format!("/{}", rest.trim_matches('/')),
            None => text.to_owned(),
        };
        let harmless = path.starts_with('/')
            && !path.starts_with("//")
            && path.len() <= LONGEST
            && path.chars().all(is_plain)
            && !path.split(['/', '?']).any(|part| part == "..");
        harmless.then_some(Self(path))
    }

    /// The path, `/` first.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '/' | '-' | '_' | '.' | '~' | '?' | '=' | '&' | '%' | ',')
}

/// Percent-encodes what is not plain; ids of imported jobs can be any text.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<String> {
        Place::parse(text).map(|place| place.to_string())
    }

    #[test]
    fn paths_and_links_lead_to_the_same_page() {
        assert_eq!(parsed("/runs/0197-a").as_deref(), Some("/runs/0197-a"));
        assert_eq!(parsed("rouse://runs/0197-a").as_deref(), Some("/runs/0197-a"));
        assert_eq!(parsed("rouse:/runs/0197-a").as_deref(), Some("/runs/0197-a"));
        assert_eq!(parsed("rouse://").as_deref(), Some("/"));
        assert_eq!(parsed("rouse://settings/").as_deref(), Some("/settings"));
        assert_eq!(
            parsed("/runs?states=failed&jobId=a").as_deref(),
            Some("/runs?states=failed&jobId=a")
        );
    }

    #[test]
    fn anything_that_is_not_a_plain_path_is_refused() {
        let long = format!("/{}", "a".repeat(LONGEST));
        for bad in [
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
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
        assert_eq!(
            parsed("rouse:////evil.example").as_deref(),
            Some("/evil.example"),
            "stays inside the UI"
        );
    }

    #[test]
    fn an_imported_id_stays_one_segment() {
        let place = Place::job(&JobId::new("a/b c?ü"));
        assert_eq!(place.as_str(), "/jobs/a%2Fb%20c%3F%C3%BC");
        assert_eq!(Place::parse(place.as_str()), Some(place));
    }
}
