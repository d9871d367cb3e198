//! Questions to a person, and the answers that outlive them.
//!
//! A yes is bound to a fingerprint of the call (`bound`). What was approved is what runs; when any of that is different
//! later, the answer does not count and the question is asked again. A grant is a yes for all runs of one job: for
//! exactly one call, or for arguments that fit a pattern which the person has seen. It refuses patterns over text that a
//! shell reads, because no pattern over a text tells what a shell makes of it, and any grant for a call that says why
//! none can be held. One could get it wrong by comparing arguments as the model wrote them: the same call may be written
//! in many ways.

mod asked;
mod bound;
mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::asked::asked_before;
pub use self::bound::{ABSENT, FIRES_ONCE_AT, Fingerprint, Surroundings, canonical};
pub use self::values::values_in;
use crate::tool::ToolSpec;
use crate::{ApprovalId, GrantId, JobId, RunId, UnixMs};

/// A question about one call of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Identity.
    pub id: ApprovalId,
    /// The run that waits.
    pub run_id: RunId,
    /// Its job; none for the main session.
    pub job_id: Option<JobId>,
    /// The job's name when it asked.
    pub job_name: String,
    /// The call, in the words of the model's provider.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The arguments, exactly.
    pub arguments: Value,
    /// What else decides what it does.
    pub surroundings: Surroundings,
    /// What the answer is bound to.
    pub fingerprint: Fingerprint,
    /// What would happen, for a person; nothing is cut off.
    pub preview: String,
    /// Why it is asked, as a sentence.
    pub why: String,
    /// Whether it belongs to the highest class: asked each time, granted never.
    pub is_highest: bool,
    /// When it was asked.
    pub asked_at: UnixMs,
    /// When nobody's answer counts any more.
    pub expires_at: UnixMs,
    /// Where it stands.
    pub state: ApprovalState,
    /// Where a person answered it.
    pub answered_from: Option<AnsweredFrom>,
    /// When a call was first made on the ground of its yes.
    pub used_at: Option<UnixMs>,
}

impl Approval {
    /// What a standing yes to the call is bound to.
    #[must_use]
    pub fn standing(&self) -> Fingerprint {
        Fingerprint::standing(&self.tool, &self.arguments, &self.surroundings)
    }

    /// The stored secrets whose values the call writes down here, by name.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        values_in(&self.arguments, &self.surroundings)
    }

    /// Whether a person, or nobody in time, has answered it and nothing was done by the answer yet.
    #[must_use]
    pub const fn has_unused_answer(&self) -> bool {
        self.used_at.is_none()
            && !matches!(self.state, ApprovalState::Pending | ApprovalState::Withdrawn { .. })
    }
}

/// What allows one call; used up together with the call's first line in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permit {
    /// An answer of this run.
    Answer(ApprovalId),
    /// A grant of its job.
    Grant(GrantId),
}

/// What the gate decided about a call, as it stands in the journal. A call that needs nobody's yes has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "decision", rename_all_fields = "camelCase")]
pub enum GateDecision {
    /// The person has written the call into the job.
    Written,
    /// The person said yes to it.
    Answered {
        /// The question.
        approval_id: ApprovalId,
    },
    /// A grant of the job covers it.
    Granted {
        /// The grant.
        grant_id: GrantId,
    },
    /// It was not let through.
    Refused,
}

impl From<&Permit> for GateDecision {
    fn from(permit: &Permit) -> Self {
        match permit {
            Permit::Answer(id) => Self::Answered { approval_id: id.clone() },
            Permit::Grant(id) => Self::Granted { grant_id: id.clone() },
        }
    }
}

/// Where a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredFrom {
    /// A page or a window.
    Page,
    /// The command line.
    Cli,
    /// A button of a notification.
    Notification,
    /// The tray's menu.
    Tray,
}

impl AnsweredFrom {
    /// The name in SQL and on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Cli => "cli",
            Self::Notification => "notification",
            Self::Tray => "tray",
        }
    }

    /// The place of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Page, Self::Cli, Self::Notification, Self::Tray];
        all.into_iter().find(|place| place.name() == name)
    }
}

/// Where a question stands. Everything but `Pending` is for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalState {
    /// Nobody has answered.
    Pending,
    /// Yes.
    Approved {
        /// For how much.
        scope: Scope,
        /// When.
        at: UnixMs,
    },
    /// No.
    Denied {
        /// What the model is told, in the person's words.
        reason: Option<String>,
        /// When.
        at: UnixMs,
    },
    /// Nobody answered in time.
    Expired {
        /// When.
        at: UnixMs,
    },
    /// Its run ended before anybody answered.
    Withdrawn {
        /// When.
        at: UnixMs,
    },
}

impl ApprovalState {
    /// The name in JSON and SQL.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved { .. } => "approved",
            Self::Denied { .. } => "denied",
            Self::Expired { .. } => "expired",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// This call, once.
    Once,
    /// This same call, as often as this run makes it.
    Run,
    /// This call in all runs of the job: a grant was made of it.
    Always,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Yes, for this call.
    Once,
    /// Yes, for the same call in this run.
    Run,
    /// Yes, and from now on for this job.
    Always(NewGrant),
    /// No; the model is told why.
    Deny {
        /// In the person's words.
        reason: Option<String>,
    },
}

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
    },
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
        Self::Pattern { rules, values: asked.values() }
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
            && self.expires_at.is_none_or(|end| now < end)
            && self.uses_left != Some(0)
    }

    /// Whether it is for exactly one call and all that it works with.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self.covers, Cover::Exact { .. })
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
                Cover::Pattern { rules, .. } => misfit(rules, arguments).is_none(),
            }
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
