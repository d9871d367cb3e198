//! Checks of a written job beyond the JSON schema.
//!
//! Owns formats of texts (patterns, hosts, folders, names) and rules across fields: zones, event sources, session
//! target, nested folder grants, jitter. Reads the JSON document, so that all violations are reported at once. Never
//! checks a stored job.

use serde_json::Value;

use super::folder::FolderGrant;
use super::server::JobServer;
use crate::RunState;
use crate::cause::{self, Pattern};
use crate::channel::channel_target_violation;
use crate::json_fields::FieldError;
use crate::schedule::{CronPattern, Zones, no_zone};
use crate::skills::is_skill_name;
use crate::time::{quiet_hours_violations, time_of_day};

/// Keys of an `agentTurn` that have no effect on a coding agent.
const MODEL_KEYS: [&str; 9] = [
    "model",
    "fallbacks",
    "useTools",
    "tools",
    "maxSteps",
    "maxTokens",
    "effort",
    "skills",
    "servers",
];
/// More grants than a person reads.
const MAX_FOLDERS: usize = 20;
/// More grants than a person reads.
const MAX_HOSTS: usize = 50;

/// Why `text` is not in `format`.
pub(super) fn format_violation(format: &str, text: &str) -> Option<String> {
    match format {
        "channel-target" => channel_target_violation(text),
        "cron-pattern" => CronPattern::parse(text).err().map(|error| error.to_string()),
        "event-pattern" => Pattern::complaint(text).filter(|_| !text.is_empty()),
        "folder-grant" => text.parse::<FolderGrant>().err(),
        "host" => (!is_host(&text.trim().to_ascii_lowercase())).then(|| {
            let expected = "expected a host such as api.example.org or 192.168.1.20:8080";
            format!("{expected}, found `{text}`")
        }),
        "model" => text.trim().is_empty().then(|| "must name a model".to_owned()),
        "skill-name" => (!is_skill_name(text))
            .then(|| "must be the name of a skill: small letters, digits and hyphens".to_owned()),
        "job-server" => text.parse::<JobServer>().err(),
        "time-of-day" => time_of_day(text.trim()).err(),
        _ => None,
    }
}

/// All violations of the rules across fields.
pub(super) fn violations(job: &Value, zones: &Zones) -> Vec<FieldError> {
    let mut checks = Checks { job, found: Vec::new() };
    checks.zone("schedule.tz", &job["schedule"]["tz"], zones);
    for error in quiet_hours_violations(&job["policies"]["quietHours"], zones) {
        checks.add(&format!("policies.quietHours.{}", error.path), error.message);
    }
    checks.event_source();
    checks.event_filters();
    checks.jitter();
    checks.session_target();
    checks.coding_agent();
    checks.folders();
    let hosts = job["policies"]["hosts"].as_array().map_or(0, Vec::len);
    if hosts > MAX_HOSTS {
        checks.add("policies.hosts", format!("expected at most {MAX_HOSTS} hosts, found {hosts}"));
    }
    checks.found
}

struct Checks<'a> {
    job: &'a Value,
    found: Vec<FieldError>,
}

impl Checks<'_> {
    fn add(&mut self, path: &str, message: impl Into<String>) {
        self.found.push(FieldError { path: path.to_owned(), message: message.into() });
    }

    fn zone(&mut self, path: &str, name: &Value, zones: &Zones) {
        if let Some(name) = name.as_str().filter(|name| zones.zone(name).is_none()) {
            self.add(path, no_zone(name));
        }
    }

    /// An enabled job with an unknown source would never fire, without a sign.
    fn event_source(&mut self) {
        let schedule = &self.job["schedule"];
        let source = schedule["source"].as_str().map(str::trim).unwrap_or_default();
        let is_checked = schedule["kind"] == "event" && self.job["enabled"] != false;
        if is_checked && !source.is_empty() && !cause::SOURCES.contains(&source) {
            let known = cause::SOURCES.join(", ");
            let found = format!("found `{source}`: no event ever comes from there");
            self.add("schedule.source", format!("expected one of {known}, {found}"));
        }
    }

    fn event_filters(&mut self) {
        let schedule = &self.job["schedule"];
        let source = schedule["source"].as_str().unwrap_or_default();
        let filters = &schedule["filters"];
        if schedule["kind"] != "event" || ![cause::JOB, cause::CRON].contains(&source) {
            return;
        }
        if source == cause::JOB && !filters["status"].is_null() && !is_end(&filters["status"]) {
            let expected = "expected ok, error, skipped or the final state of a run";
            self.add("schedule.filters.status", expected);
        }
        for (key, own) in [("jobId", &self.job["id"]), ("name", &self.job["name"])] {
            if !filters[key].is_null() && filters[key] == *own {
                let path = format!("schedule.filters.{key}");
                self.add(&path, "names the job itself; a job cannot come after itself");
            }
        }
    }

    fn jitter(&mut self) {
        let schedule = &self.job["schedule"];
        let has_slots =
            !["event", "webhook", "manual"].iter().any(|kind| schedule["kind"] == *kind);
        if !has_slots && schedule["jitterMs"].as_f64().is_some_and(|jitter| jitter > 0.0) {
            self.add(JITTER, "spreads the times of at, every and cron: this schedule has none");
        }
    }

    /// A main-session job never runs an agent or a tool itself (RFC "Execution semantics").
    fn session_target(&mut self) {
        let target = self.job["sessionTarget"].as_str();
        match (target, self.job["payload"]["kind"].as_str()) {
            (Some("main"), Some(kind @ ("agentTurn" | "toolCall"))) => self.add(
                "sessionTarget",
                format!("`main` takes a systemEvent; use `isolated` for a payload of kind {kind}"),
            ),
            (Some("isolated"), Some("systemEvent")) => self.add(
                "sessionTarget",
                "`isolated` takes an agentTurn or a toolCall; use `main` for a systemEvent",
            ),
            _ => {}
        }
    }

    /// A coding agent has its own model and tools.
    fn coding_agent(&mut self) {
        let payload = &self.job["payload"];
        let Some(agent) = payload["agent"].as_str() else {
            if !payload["cwd"].is_null() {
                self.add("payload.cwd", "is the folder of a coding agent, and the job has none");
            }
            return;
        };
        let is_set = |key: &&&str| match &payload[**key] {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            _ => true,
        };
        for key in MODEL_KEYS.iter().filter(is_set) {
            let message = format!("is for a model, and {agent} works on this task; remove it");
            self.add(&format!("payload.{key}"), message);
        }
    }

    /// With nested grants, a command with the outer grant could replace the inner folder.
    fn folders(&mut self) {
        let texts = self.job["policies"]["folders"].as_array().into_iter().flatten();
        let grants: Vec<FolderGrant> =
            texts.filter_map(|text| text.as_str()?.parse().ok()).collect();
        let nested = grants.iter().find_map(|inner| {
            let outer = grants.iter().find(|outer| *outer != inner && outer.covers(inner))?;
            Some(format!("{} is already covered by {outer}; remove it", inner.path))
        });
        if let Some(message) = nested {
            self.add("policies.folders", message);
        } else if grants.len() > MAX_FOLDERS {
            let found = grants.len();
            self.add(
                "policies.folders",
                format!("expected at most {MAX_FOLDERS} folders, found {found}"),
            );
        }
    }
}

/// The path of the jitter, which an import keeps even without effect.
pub(super) const JITTER: &str = "schedule.jitterMs";

fn is_end(status: &Value) -> bool {
    status.as_str().is_some_and(|word| {
        ["ok", "error", "skipped"].contains(&word)
            || RunState::from_name(word).is_some_and(RunState::is_final)
    })
}

fn is_host(text: &str) -> bool {
    let is_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !is_v6 => (name, Some(port)),
        _ => (text, None),
    };
    let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = match in_brackets {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_v6 || is_dns_name(name),
    };
    is_name && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Letters, digits and hyphens between dots (RFC 1123, section 2.1), and the underscore that local names have.
fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        (1..=63).contains(&label.len()) && label.chars().all(is_plain)
    };
    (1..=253).contains(&name.len()) && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn name_or_address_with_or_without_port_is_a_host() {
        for good in [
            "example.org",
            "nas",
            "192.168.1.20:8080",
            "[fd00::5]:8000",
            "fd00::5",
            "bücher.de",
            "a_b.lan:1",
        ] {
            assert!(is_host(good), "{good}");
        }
    }

    #[test]
    fn url_path_and_wildcard_are_no_hosts() {
        for bad in [
            "",
            "https://example.org",
            "example.org/a",
            "*.example.org",
            "a b",
            "a:",
            "a:0",
            "a:70000",
            "a..b",
            "user@a",
            "[x]:1",
        ] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
