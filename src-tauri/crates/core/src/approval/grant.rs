//! A standing yes of one job, and what it covers.
//!
//! Owns what a grant is good for: exactly one call, or arguments that fit a pattern which the person has seen, in the
//! folder that they have seen. It refuses patterns over text that a shell reads, because no pattern over a text tells what
//! a shell makes of it, and any grant for a call that says why none can be held. One could get it wrong by comparing
//! arguments alone: the same path below another folder is another file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Approval, Fingerprint, Surroundings, canonical, values_in};
use crate::tool::ToolSpec;
use crate::{GrantId, JobId, UnixMs};

/// Why a pattern that was kept without its folder does not count.
const UNBOUND: &str =
    "It was made before Rouse bound a grant to its folder; allow it again when a call of it asks.";

/// A grant about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewGrant {
    /// What it covers.
    pub covers: Cover,
    /// When it ends by itself.
    pub expires_at: Option<UnixMs>,
    /// How many calls it is good for.
    pub uses: Option<u32>,
}

/// A standing yes of one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// Identity.
    pub id: GrantId,
    /// The job.
    pub job_id: JobId,
    /// The tool.
    pub tool: String,
    /// What it covers.
    pub covers: Cover,
    /// When it was given.
    pub created_at: UnixMs,
    /// When it ends by itself.
    pub expires_at: Option<UnixMs>,
    /// Calls it is still good for; any number when none.
    pub uses_left: Option<u32>,
    /// Calls that it has covered.
    pub used: u32,
    /// When a person took it back.
    pub revoked_at: Option<UnixMs>,
}

/// What a grant covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Cover {
    /// Exactly one call.
    Exact {
        /// Its fingerprint.
        fingerprint: Fingerprint,
        /// Its arguments, to show.
        arguments: Value,
        /// The stored secrets whose values it writes down here, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<String>,
    },
    /// Arguments that each fit their rule; one without a rule fits nothing.
    Pattern {
        /// By name.
        rules: BTreeMap<String, Rule>,
        /// The stored secrets whose values may stand in them, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<String>,
        /// Where the calls work.
        #[serde(default)]
        works_in: WorksIn,
    },
}

/// Where the calls of a pattern work: the same path below another folder is another file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorksIn {
    /// Nobody knows: it was made before that was kept, so it covers nothing.
    #[default]
    Unknown,
    /// In no folder.
    NoFolder,
    /// In this one.
    Folder(String),
}

impl WorksIn {
    fn of(surroundings: &Surroundings) -> Self {
        surroundings.directory.clone().map_or(Self::NoFolder, Self::Folder)
    }
}

/// What one argument may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "rule", content = "value")]
pub enum Rule {
    /// Anything.
    Any,
    /// This value.
    Equals(Value),
    /// One of these values.
    OneOf(Vec<Value>),
    /// A path or URL at or below this one, part by part: below `a/b` lies `a/b/c`, not `a/bc` and not `a/b/../c`,
    /// nor what a server might read as that (`..%2fc`, `..;/c`).
    Below(String),
}

/// Why a grant cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The call belongs to the highest class.
    #[error("{0} is asked for each time; no grant can cover it")]
    Highest(String),
    /// The call is none that a standing yes could be held to, for this reason.
    #[error("{0}")]
    Ungranted(String),
    /// A pattern for a call whose text a shell reads: what that does hangs on files and folders that no pattern names.
    #[error("{tool}.{argument} is read by a shell, so only exactly this call can be granted")]
    ShellText {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// The pattern does not cover the call that it was made for.
    #[error("the pattern does not cover the call that asks for it: see {0}")]
    DoesNotCover(String),
    /// There is no job that it could belong to.
    #[error("only runs of a job can be granted for always")]
    NoJob,
}

impl Cover {
    /// Exactly the call that `asked` is about.
    #[must_use]
    pub fn exactly(asked: &Approval) -> Self {
        let (fingerprint, arguments) = (asked.standing(), asked.arguments.clone());
        Self::Exact { fingerprint, arguments, values: asked.values() }
    }

    /// Calls like the one that `asked` is about, by these rules.
    #[must_use]
    pub fn like(asked: &Approval, rules: BTreeMap<String, Rule>) -> Self {
        let works_in = WorksIn::of(&asked.surroundings);
        Self::Pattern { rules, values: asked.values(), works_in }
    }

    /// The stored secrets whose values the calls may write down here, by name: those that the person was told of.
    #[must_use]
    pub fn values(&self) -> &[String] {
        match self {
            Self::Exact { values, .. } | Self::Pattern { values, .. } => values,
        }
    }
}

impl Grant {
    /// Whether it counts at `now`.
    #[must_use]
    pub fn is_good(&self, now: UnixMs) -> bool {
        self.revoked_at.is_none()
            && self.why_void().is_none()
            && self.expires_at.is_none_or(|end| now < end)
            && self.uses_left != Some(0)
    }

    /// Why it covers no call, whatever it says, as a sentence; none when it does.
    #[must_use]
    pub const fn why_void(&self) -> Option<&'static str> {
        match self.covers {
            Cover::Pattern { works_in: WorksIn::Unknown, .. } => Some(UNBOUND),
            Cover::Pattern { .. } | Cover::Exact { .. } => None,
        }
    }

    /// Whether it is for exactly one call and all that it works with.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self.covers, Cover::Exact { .. })
    }

    /// Whether it counts at `now` and is for exactly this call of `tool`, whatever the call works with by now.
    #[must_use]
    pub fn names(&self, tool: &str, arguments: &Value, now: UnixMs) -> bool {
        let is_these = |granted: &Value| canonical(granted) == canonical(arguments);
        self.tool == tool
            && self.is_good(now)
            && matches!(&self.covers, Cover::Exact { arguments, .. } if is_these(arguments))
    }

    /// Whether it covers a call of `tool` that works with `surroundings`.
    #[must_use]
    pub fn covers(&self, tool: &str, arguments: &Value, surroundings: &Surroundings) -> bool {
        let told = self.covers.values();
        self.tool == tool
            && values_in(arguments, surroundings).iter().all(|value| told.contains(value))
            && match &self.covers {
                Cover::Exact { fingerprint, .. } => {
                    *fingerprint == Fingerprint::standing(tool, arguments, surroundings)
                }
                Cover::Pattern { rules, works_in, .. } => {
                    *works_in == WorksIn::of(surroundings) && misfit(rules, arguments).is_none()
                }
            }
    }

    /// Whether it says yes to a call: none of the highest class, and none to which no standing yes could be held.
    #[must_use]
    pub fn says_yes(
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

    /// Whether it says yes to the call that is asked about.
    #[must_use]
    pub fn answers(&self, asked: &Approval) -> bool {
        self.says_yes(&asked.tool, &asked.arguments, &asked.surroundings, asked.is_highest)
    }
}

impl NewGrant {
    /// Whether it may be made as the answer to `approval` about a call of `tool`.
    ///
    /// # Errors
    /// Why not.
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
        if self.covers.values() != approval.values() {
            return Err(GrantError::DoesNotCover("the stored secrets".to_owned()));
        }
        match &self.covers {
            Cover::Exact { fingerprint, .. } if *fingerprint == approval.standing() => Ok(()),
            Cover::Exact { .. } => Err(GrantError::DoesNotCover("the fingerprint".to_owned())),
            Cover::Pattern { works_in, .. } if *works_in != WorksIn::of(&approval.surroundings) => {
                Err(GrantError::DoesNotCover("the folder".to_owned()))
            }
            Cover::Pattern { rules, .. } => {
                if let Some(argument) = tool.shell_text.first() {
                    let (tool, argument) = (approval.tool.clone(), argument.clone());
                    return Err(GrantError::ShellText { tool, argument });
                }
                match misfit(rules, &approval.arguments) {
                    Some(argument) => Err(GrantError::DoesNotCover(argument)),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The first argument that does not fit; none when all do.
fn misfit(rules: &BTreeMap<String, Rule>, arguments: &Value) -> Option<String> {
    let Value::Object(fields) = arguments else { return Some("the arguments".to_owned()) };
    let fits =
        |(name, value): &(&String, &Value)| rules.get(*name).is_some_and(|rule| rule.fits(value));
    if let Some((name, _)) = fields.iter().find(|field| !fits(field)) {
        return Some(name.clone());
    }
    // What is left out has a default that the person did not see; only a rule for anything allows that.
    let is_left_out =
        |(name, rule): &(&String, &Rule)| **rule != Rule::Any && !fields.contains_key(*name);
    rules.iter().find(is_left_out).map(|(name, _)| name.clone())
}

impl Rule {
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

/// Compares part by part and refuses everything by which a path can climb or a URL can name another host.
fn lies_below(root: &str, text: &str) -> bool {
    // Without its host a URL could go on with one of the caller's choice.
    let names_no_host =
        root.split_once("://").is_some_and(|(_, host)| host.trim_matches('/').is_empty());
    let root = root.trim_end_matches('/');
    if root.is_empty() || names_no_host {
        return false;
    }
    let Some(rest) = text.strip_prefix(root) else { return false };
    let begins_a_part = rest.is_empty() || rest.starts_with(['/', '?', '#']);
    let lower = rest.to_ascii_lowercase();
    // What stands behind a `;` belongs to the part for some servers and not for others.
    let leads_up = |part: &str| matches!(part.split(';').next(), Some("." | ".."));
    let climbs = lower.replace("%3b", ";").split(['/', '?', '#']).any(leads_up);
    let is_odd = |c: char| c.is_control() || c == '\\';
    let hides_dots = text.to_ascii_lowercase().contains("%2e");
    // Some servers decode a path before they take it apart, and some decode it twice.
    let path = lower.split(['?', '#']).next().unwrap_or_default();
    let hides_parts = ["%2f", "%5c", "%25"].iter().any(|escape| path.contains(escape));
    let is_plain = begins_a_part && !climbs && !hides_dots && !hides_parts;
    is_plain && !text.contains(is_odd) && is_read_one_way(path)
}

/// Characters that some servers take for a dot, a slash or a backslash.
const LIKE_DOTS_AND_SLASHES: &[char] = &[
    '\u{2024}', '\u{2025}', '\u{2026}', '\u{2044}', '\u{2215}', '\u{3002}', '\u{fe52}', '\u{ff0e}',
    '\u{ff0f}', '\u{ff3c}', '\u{ff61}',
];

/// Whether every server reads the escapes of a path as the same text, and no part of that as one that leads up.
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
    fn a_pattern_covers_what_it_says_and_nothing_else() {
        let rules = BTreeMap::from([
            ("url".to_owned(), Rule::Below("https://example.com/api".to_owned())),
            ("method".to_owned(), Rule::OneOf(vec![json!("GET"), json!("HEAD")])),
            ("maxBytes".to_owned(), Rule::Any),
        ]);
        let fits = |arguments: Value| misfit(&rules, &arguments).is_none();
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
            assert!(!Rule::Below(root.to_owned()).fits(&json!("https://evil.example/x")), "{root}");
        }
    }
}
