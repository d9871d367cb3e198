//! Grants: standing permissions of a job.
//!
//! Owns the coverage of a grant: exactly one call, or arguments that match a pattern, in the folder that the person has
//! seen. Refuses patterns over shell text (no pattern describes the effect of a command) and calls whose tool gives a
//! reason against grants.
//! Pitfall: comparing arguments alone; the same relative path in another folder is another file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use super::fingerprint::{Fingerprint, Surroundings, canonical};
use super::request::Approval;
use crate::tool::ToolSpec;
use crate::{GrantId, JobId, UnixMs};

/// Why a pattern stored without a folder is void.
const UNBOUND: &str =
    "Created before Rouse bound grants to folders. Allow the call again at the next request.";

/// The terms of a grant to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewGrant {
    /// The covered calls.
    pub covers: GrantScope,
    /// When the grant expires; never when none.
    pub expires_at: Option<UnixMs>,
    /// The maximum calls; unlimited when none.
    pub uses: Option<u32>,
}

/// A standing permission of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// Identity.
    pub id: GrantId,
    /// The job.
    pub job_id: JobId,
    /// The tool.
    pub tool: String,
    /// The covered calls.
    pub covers: GrantScope,
    /// The instant of creation.
    pub created_at: UnixMs,
    /// The expiry; never when none.
    pub expires_at: Option<UnixMs>,
    /// The remaining calls; unlimited when none.
    pub uses_left: Option<u32>,
    /// The calls made with the grant.
    pub used: u32,
    /// When the person revoked the grant.
    pub revoked_at: Option<UnixMs>,
}

/// The calls that a grant covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum GrantScope {
    /// Exactly one call.
    Exact {
        /// The fingerprint.
        fingerprint: Fingerprint,
        /// The arguments, for display.
        arguments: Value,
    },
    /// Arguments that each match a rule. An argument without a rule matches nothing.
    Pattern {
        /// The rules by argument name.
        rules: BTreeMap<String, ArgumentRule>,
        /// The folder in which the calls work.
        #[serde(default)]
        works_in: GrantFolder,
    },
}

/// The folder in which the calls of a pattern work. The same relative path in another folder is another file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GrantFolder {
    /// Unknown: stored before folders were recorded. Covers nothing.
    #[default]
    Unknown,
    /// No folder.
    NoFolder,
    /// This folder.
    Folder(String),
}

impl GrantFolder {
    fn of(surroundings: &Surroundings) -> Self {
        surroundings.directory.clone().map_or(Self::NoFolder, Self::Folder)
    }
}

/// The allowed values of an argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", tag = "rule", content = "value")]
pub enum ArgumentRule {
    /// Any value.
    Any,
    /// Exactly this value.
    Equals(#[ts(type = "unknown")] Value),
    /// Any of these values.
    OneOf(#[ts(type = "unknown[]")] Vec<Value>),
    /// A path or URL at or below this one, segment by segment: `a/b/c` is below `a/b`; `a/bc` and `a/b/../c` are not,
    /// nor is any spelling that a server might decode to them (`..%2fc`, `..;/c`).
    Below(String),
}

/// Why a grant cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The call needs approval every time.
    #[error("{0} needs approval every time; no grant can cover this tool")]
    Highest(String),
    /// The tool names a reason against a grant for this call.
    #[error("{0}")]
    Ungranted(String),
    /// A pattern over shell text.
    #[error("{tool}.{argument} is read by a shell, so only exactly this call can be granted")]
    ShellText {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// The pattern does not match the call under approval.
    #[error("the pattern does not cover the requested call: see {0}")]
    DoesNotCover(String),
    /// The run has no job that could hold a grant.
    #[error("only runs of a job can be granted for always")]
    NoJob,
}

impl GrantScope {
    /// Exactly the call of this request.
    #[must_use]
    pub fn exact_call(request: &Approval) -> Self {
        let (fingerprint, arguments) = (request.grant_fingerprint(), request.arguments.clone());
        Self::Exact { fingerprint, arguments }
    }

    /// Calls that match `rules` in the folder of this request.
    #[must_use]
    pub fn matching(request: &Approval, rules: BTreeMap<String, ArgumentRule>) -> Self {
        let works_in = GrantFolder::of(&request.surroundings);
        Self::Pattern { rules, works_in }
    }
}

impl Grant {
    /// Whether the grant is valid at `now`: not revoked, void, expired or used up.
    #[must_use]
    pub fn is_valid(&self, now: UnixMs) -> bool {
        self.revoked_at.is_none()
            && self.void_reason().is_none()
            && self.expires_at.is_none_or(|end| now < end)
            && self.uses_left != Some(0)
    }

    /// Why the grant covers no call at all, as a sentence; none for a valid grant.
    #[must_use]
    pub const fn void_reason(&self) -> Option<&'static str> {
        match self.covers {
            GrantScope::Pattern { works_in: GrantFolder::Unknown, .. } => Some(UNBOUND),
            GrantScope::Pattern { .. } | GrantScope::Exact { .. } => None,
        }
    }

    /// Whether the grant covers exactly one call.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self.covers, GrantScope::Exact { .. })
    }

    /// Whether the grant is valid at `now` and names this call by arguments, whatever the state of the files.
    #[must_use]
    pub fn names_call(&self, tool: &str, arguments: &Value, now: UnixMs) -> bool {
        let is_these = |granted: &Value| canonical(granted) == canonical(arguments);
        self.tool == tool
            && self.is_valid(now)
            && matches!(&self.covers, GrantScope::Exact { arguments, .. } if is_these(arguments))
    }

    /// Whether the grant covers a call of `tool` with these surroundings.
    #[must_use]
    pub fn covers(&self, tool: &str, arguments: &Value, surroundings: &Surroundings) -> bool {
        self.tool == tool
            && match &self.covers {
                GrantScope::Exact { fingerprint, .. } => {
                    *fingerprint == Fingerprint::for_grant(tool, arguments, surroundings)
                }
                GrantScope::Pattern { rules, works_in, .. } => {
                    *works_in == GrantFolder::of(surroundings)
                        && first_mismatch(rules, arguments).is_none()
                }
            }
    }

    /// Whether the call can be granted and the grant covers the call.
    #[must_use]
    pub fn permits_call(
        &self,
        tool: &str,
        arguments: &Value,
        surroundings: &Surroundings,
        is_highest: bool,
    ) -> bool {
        !is_highest
            && surroundings.ungranted.is_none()
            && self.covers(tool, arguments, surroundings)
    }

    /// Whether the grant permits the call under this request.
    #[must_use]
    pub fn covers_request(&self, request: &Approval) -> bool {
        self.permits_call(
            &request.tool,
            &request.arguments,
            &request.surroundings,
            request.is_highest,
        )
    }
}

impl NewGrant {
    /// Checks whether this grant may be made for `approval` of a call of `tool`.
    ///
    /// # Errors
    /// The reason against the grant.
    pub fn check(&self, approval: &Approval, tool: &ToolSpec) -> Result<(), GrantError> {
        if approval.is_highest {
            return Err(GrantError::Highest(approval.tool.clone()));
        }
        if approval.job_id.is_none() {
            return Err(GrantError::NoJob);
        }
        if let Some(why) = &approval.surroundings.ungranted {
            return Err(GrantError::Ungranted(why.clone()));
        }
        match &self.covers {
            GrantScope::Exact { fingerprint, .. }
                if *fingerprint == approval.grant_fingerprint() =>
            {
                Ok(())
            }
            GrantScope::Exact { .. } => Err(GrantError::DoesNotCover("the fingerprint".to_owned())),
            GrantScope::Pattern { works_in, .. }
                if *works_in != GrantFolder::of(&approval.surroundings) =>
            {
                Err(GrantError::DoesNotCover("the folder".to_owned()))
            }
            GrantScope::Pattern { rules, .. } => {
                if let Some(argument) = tool.shell_text.first() {
                    let (tool, argument) = (approval.tool.clone(), argument.clone());
                    return Err(GrantError::ShellText { tool, argument });
                }
                match first_mismatch(rules, &approval.arguments) {
                    Some(argument) => Err(GrantError::DoesNotCover(argument)),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The first argument that does not match; none when all do.
fn first_mismatch(rules: &BTreeMap<String, ArgumentRule>, arguments: &Value) -> Option<String> {
    let Value::Object(fields) = arguments else { return Some("the arguments".to_owned()) };
    let fits =
        |(name, value): &(&String, &Value)| rules.get(*name).is_some_and(|rule| rule.fits(value));
    if let Some((name, _)) = fields.iter().find(|field| !fits(field)) {
        return Some(name.clone());
    }
    // A missing argument has a default that the person did not see, so only `Any` allows a missing argument.
    let is_left_out = |(name, rule): &(&String, &ArgumentRule)| {
        **rule != ArgumentRule::Any && !fields.contains_key(*name)
    };
    rules.iter().find(is_left_out).map(|(name, _)| name.clone())
}

impl ArgumentRule {
    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Equals(wanted) => canonical(wanted) == canonical(value),
            Self::OneOf(wanted) => {
                wanted.iter().any(|wanted| canonical(wanted) == canonical(value))
            }
            Self::Below(root) => value.as_str().is_some_and(|text| lies_below(root, text)),
        }
    }
}

/// Compares segment by segment, and refuses every way to climb or to name another host.
fn lies_below(root: &str, text: &str) -> bool {
    // Without a host in the root, the caller could append a host.
    let names_no_host =
        root.split_once("://").is_some_and(|(_, host)| host.trim_matches('/').is_empty());
    let root = root.trim_end_matches('/');
    if root.is_empty() || names_no_host {
        return false;
    }
    let Some(rest) = text.strip_prefix(root) else { return false };
    let begins_a_part = rest.is_empty() || rest.starts_with(['/', '?', '#']);
    let lower = rest.to_ascii_lowercase();
    // Some servers cut a segment at `;` and some do not.
    let leads_up = |part: &str| matches!(part.split(';').next(), Some("." | ".."));
    let climbs = lower.replace("%3b", ";").split(['/', '?', '#']).any(leads_up);
    let is_odd = |c: char| c.is_control() || c == '\\';
    let hides_dots = text.to_ascii_lowercase().contains("%2e");
    // Some servers decode a path before splitting, some even twice.
    let path = lower.split(['?', '#']).next().unwrap_or_default();
    let hides_parts = ["%2f", "%5c", "%25"].iter().any(|escape| path.contains(escape));
    let is_plain = begins_a_part && !climbs && !hides_dots && !hides_parts;
    is_plain && !text.contains(is_odd) && is_read_one_way(path)
}

/// Characters that some servers read as a dot, a slash or a backslash.
const LIKE_DOTS_AND_SLASHES: &[char] = &[
    '\u{2024}', '\u{2025}', '\u{2026}', '\u{2044}', '\u{2215}', '\u{3002}', '\u{fe52}', '\u{ff0e}',
    '\u{ff0f}', '\u{ff3c}', '\u{ff61}',
];

/// Whether every server decodes the path to the same text, without a segment that climbs.
fn is_read_one_way(path: &str) -> bool {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else { return false };
        bytes.push(u8::try_from(high * 16 + low).expect("BUG: two digits are a byte"));
    }
    let Ok(read) = String::from_utf8(bytes) else { return false };
    let leads_up = |part: &str| {
        let name = part.split(';').next().unwrap_or_default().trim();
        matches!(name, "." | "..")
    };
    !read.contains(|c: char| c.is_control() || LIKE_DOTS_AND_SLASHES.contains(&c))
        && !read.split('/').any(leads_up)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pattern_covers_only_matching_calls() {
        let rules = BTreeMap::from([
            ("url".to_owned(), ArgumentRule::Below("https://example.com/api".to_owned())),
            ("method".to_owned(), ArgumentRule::OneOf(vec![json!("GET"), json!("HEAD")])),
            ("maxBytes".to_owned(), ArgumentRule::Any),
        ]);
        let fits = |arguments: Value| first_mismatch(&rules, &arguments).is_none();
        let url = |url: &str| fits(json!({"method": "GET", "url": url}));
        for good in [
            "https://example.com/api",
            "https://example.com/api/v1?x=1",
            "https://example.com/api#a",
            "https://example.com/api/a%20b;v=1/...;x/.well-known",
            "https://example.com/api?of=a%2Fb&to=100%25#a%5Cb",
            "https://example.com/api/M%C3%B6hre%20%26%20x?part=1%2",
        ] {
            assert!(url(good), "{good}");
        }
        for bad in [
            "https://example.com/apix",
            "https://example.com.evil.org/api",
            "https://example.com/api/../admin",
            "https://example.com/api/%2E%2e/admin",
            "https://example.com/api\\..\\admin",
            "http://example.com/api",
            "https://example.com/api/./x",
            "https://example.com/api/..%2fadmin",
            "https://example.com/api/..%5Cadmin",
            "https://example.com/api/..;/admin",
            "https://example.com/api/..;x=1/admin",
            "https://example.com/api/.;/x",
            "https://example.com/api/%252e%252e/admin",
            "https://example.com/api;/../admin",
            "https://example.com/api/a%2F..%2f..%2fadmin?x=1",
            "https://example.com/api/%c0%ae%c0%ae/admin",
            "https://example.com/api/..%c0%afadmin",
            "https://example.com/api/\u{ff0e}\u{ff0e}/admin",
            "https://example.com/api/%ef%bc%8e%ef%bc%8e/admin",
            "https://example.com/api/..%00/admin",
            "https://example.com/api/..%20/admin",
            "https://example.com/api/%u002e%u002e/admin",
            "https://example.com/api/%2",
            "https://example.com/api/\n",
            "https://user@example.com/api",
            "",
        ] {
            assert!(!url(bad), "{bad}");
        }
        assert!(fits(json!({"method": "HEAD", "url": "https://example.com/api", "maxBytes": 5})));
        assert!(!fits(json!({"method": "POST", "url": "https://example.com/api"})));
        assert!(!fits(json!({"url": "https://example.com/api"})), "a method that was left out");
        assert!(
            !fits(json!({"method": "GET", "url": "https://example.com/api", "body": "x"})),
            "an argument more"
        );
        assert!(!fits(json!("GET")));
        for root in ["", "https://", "/"] {
            assert!(
                !ArgumentRule::Below(root.to_owned()).fits(&json!("https://evil.example/x")),
                "{root}"
            );
        }
    }
}
