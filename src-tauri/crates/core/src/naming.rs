//! Names of jobs without a given name, and names of jobs in the log.
//!
//! A derived name is the beginning of the task. The log replaces a derived name by kind and id, because the name
//! repeats the task.
//! Pitfall: taking a given name for a derived name; a given name is logged unchanged.

use serde_json::Value;

use crate::text::capitalize;
use crate::text::escape_invisible;

/// Maximum characters of a derived name.
const MOST: usize = 48;
/// Characters of an id in the log.
const SHORT_ID: usize = 8;
/// Arguments that describe a call, the most specific first.
pub const TELLING: [&str; 7] = ["command", "url", "path", "query", "title", "name", "text"];

/// The derived name of a job with `payload` (JSON).
#[must_use]
pub fn from_payload(payload: &Value) -> String {
    let part = |key: &str| payload[key].as_str().unwrap_or_default();
    let name = match part("kind") {
        "systemEvent" => from_words(part("text")),
        "agentTurn" => from_words(part("message")),
        _ => from_call(part("tool"), &payload["arguments"]),
    };
    if name.is_empty() { "Job".to_owned() } else { name }
}

/// The new derived name after a change of the payload, if `name` was derived from `old`. A stale derived name would be
/// logged like a given name.
#[must_use]
pub fn made_anew(name: &str, old: &Value, new: &Value) -> Option<String> {
    let made = from_payload(new);
    (made != from_payload(old) && is_made_from(old, name)).then_some(made)
}

/// The name of a job in the log: a given name, or kind and id for a derived name.
#[must_use]
pub fn for_log(name: &str, payload: &Value, id: &str) -> String {
    if !is_made_from(payload, name) {
        return name.to_owned();
    }
    let kind = match payload["kind"].as_str() {
        Some("systemEvent") => "reminder",
        Some("agentTurn") => "agent job",
        _ => payload["tool"].as_str().unwrap_or("job"),
    };
    format!("{kind} {}", &id[..id.floor_char_boundary(SHORT_ID)])
}

/// The log name of an unreadable job: the stored name may be derived.
#[must_use]
pub fn of_unread(id: &str) -> String {
    format!("job {}", &id[..id.floor_char_boundary(SHORT_ID)])
}

/// Whether the name is derived from the payload, with or without a number, or is the command of a crontab line.
fn is_made_from(payload: &Value, name: &str) -> bool {
    let made = from_payload(payload);
    let says_nothing = made == "Job" || payload["tool"] == made.as_str();
    let number = name.strip_prefix(&made).map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
    if !says_nothing && number.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit())) {
        return true;
    }
    let command =
        payload["arguments"]["command"].as_str().filter(|_| payload["tool"] == "run_command");
    let begins = name.strip_suffix('…').map(|cut| command.is_some_and(|line| line.contains(cut)));
    begins.unwrap_or_else(|| command == Some(name))
}

/// `http: example.org/status`, `run_command: df -h`.
#[must_use]
pub fn from_call(tool: &str, arguments: &Value) -> String {
    match about(arguments) {
        None => tool.to_owned(),
        Some(about) => shortened(&format!("{tool}: {about}")),
    }
}

/// The host or file of a call, for notifications; none for commands and texts. Of an address only the host: paths can hold
/// keys.
#[must_use]
pub fn place_of_call(tool: &str, arguments: &Value) -> Option<String> {
    if let Some(address) = arguments["url"].as_str() {
        return host_of(address).map(shortened);
    }
    let named = |key: &str| arguments[key].as_str().map(first_line);
    let name = || named("name").filter(|_| tool == "create_workspace");
    named("path").or_else(name).filter(|place| !place.is_empty()).map(|place| shortened(&place))
}

/// The host of an address in plain form; none for other forms, so that no wrong host is shown.
fn host_of(address: &str) -> Option<&str> {
    let (_, behind) = address.split_once("://")?;
    let authority = until(behind, &["/", "\\", "?", "#"]);
    let host = authority.rsplit('@').next()?;
    let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
    (is_plain && !host.is_empty()).then_some(host)
}

fn about(arguments: &Value) -> Option<String> {
    let about = TELLING.iter().find_map(|key| arguments[key].as_str()).map(first_line);
    let about = about.filter(|about| !about.is_empty())?;
    let address = about.strip_prefix("https://").or_else(|| about.strip_prefix("http://"));
    Some(address.map_or(about.as_str(), host_and_path).to_owned())
}

/// Host and path of an address, without credentials and query: derived names are visible.
fn host_and_path(address: &str) -> &str {
    let page = until(address, &["?", "#"]);
    let end_of_host = page.find('/').unwrap_or(page.len());
    let begin = page[..end_of_host].rfind('@').map_or(0, |at| at + 1);
    page[begin..].trim_end_matches('/')
}

/// The first sentence, or the first clause of a long sentence.
fn from_words(text: &str) -> String {
    let line = first_line(text);
    let sentence = until(&line, &[". ", "! ", "? ", "; ", ": "]);
    let whole = sentence.trim_end_matches(['.', '!', ';', ':', ',']);
    let clause = if whole.chars().count() <= MOST { whole } else { until(whole, &[", ", " – "]) };
    capitalize(&shortened(clause))
}

fn first_line(text: &str) -> String {
    escape_invisible(text.trim().lines().next().unwrap_or_default()).replace('\t', " ")
}

/// The text before the first mark.
fn until<'t>(text: &'t str, marks: &[&str]) -> &'t str {
    let end = marks.iter().filter_map(|mark| text.find(mark)).min();
    &text[..end.unwrap_or(text.len())]
}

/// The text cut to `MOST` characters, between words if possible.
fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MOST).collect();
    let words =
        cut.rfind(' ').filter(|end| *end > MOST / 2).map_or(cut.as_str(), |end| &cut[..end]);
    format!("{}…", words.trim_end_matches([' ', ',', ';', ':', '-']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{for_log, from_payload, made_anew, place_of_call};

    #[test]
    fn derived_name_follows_the_payload_and_own_name_stays() {
        let asks = |message: &str| json!({ "kind": "agentTurn", "message": message });
        let (old, new) = (asks("ask Anna about the biopsy"), asks("look at the garden"));
        let made = |name: &str| made_anew(name, &old, &new);
        assert_eq!(made("Ask Anna about the biopsy").as_deref(), Some("Look at the garden"));
        assert_eq!(made("Ask Anna about the biopsy 2").as_deref(), Some("Look at the garden"));
        assert_eq!(made("Anna"), None);
        let same_words =
            json!({ "kind": "agentTurn", "message": "ask Anna about the biopsy", "maxSteps": 3 });
        assert_eq!(made_anew("Ask Anna about the biopsy 2", &old, &same_words), None);
    }

    #[test]
    fn place_of_a_call_is_a_host_or_a_file() {
        let of = |tool, arguments| place_of_call(tool, &arguments);
        for url in [
            "https://me:key@example.org/hooks/KEY?token=abc",
            "HTTPS://example.org/s?token=KEY",
            "https://example.org\\@good.example",
            "https://example.org?KEY",
        ] {
            let place = of("http", json!({ "url": url, "body": "x" }));
            assert_eq!(place.as_deref(), Some("example.org"), "{url}");
        }
        for hidden in [
            "example.org/KEY",
            "https://good.example\n.example.org/",
            "https:///example.org",
            "https://",
        ] {
            assert_eq!(of("http", json!({ "url": hidden })), None, "{hidden:?}");
        }
        let file = json!({ "path": "notes/a\u{202e}.md\nmore", "content": "x" });
        assert_eq!(of("write_file", file).as_deref(), Some("notes/a⟨U+202E⟩.md"));
        let named = json!({ "name": "Blog" });
        assert_eq!(of("create_workspace", named.clone()).as_deref(), Some("Blog"));
        assert_eq!(of("routine_create", named), None);
        assert_eq!(of("run_command", json!({ "command": "git push" })), None);
        assert_eq!(of("notify", json!({ "title": "Tea", "body": "x" })), None);
        assert_eq!(of("echo", json!({})), None);
    }

    #[test]
    fn derived_name_is_shortened_at_words() {
        let asks =
            |message: &str| from_payload(&json!({ "kind": "agentTurn", "message": message }));
        for (message, name) in [
            ("water the plants", "Water the plants"),
            ("Read my mail. Tell me what is urgent.", "Read my mail"),
            ("Is the site up?", "Is the site up?"),
            ("Check https://example.org/a?b=c: is it up", "Check https://example.org/a?b=c"),
            (
                "Summarise the new mails in my inbox, and tell me only what needs an answer today",
                "Summarise the new mails in my inbox",
            ),
            (
                "Look through everything that has been written since yesterday evening",
                "Look through everything that has been written…",
            ),
            ("über den Tag\nund die Nacht", "Über den Tag"),
            ("  ", "Job"),
        ] {
            assert_eq!(asks(message), name);
        }
        let long = asks(&"x".repeat(300));
        assert_eq!(long.chars().count(), 49, "{long}");
    }

    #[test]
    fn call_is_named_after_its_object() {
        let calls = |tool: &str, arguments: serde_json::Value| {
            from_payload(&json!({ "kind": "toolCall", "tool": tool, "arguments": arguments }))
        };
        assert_eq!(calls("time", json!({})), "time");
        assert_eq!(
            calls("run_command", json!({ "command": "df -h", "cwd": "~" })),
            "run_command: df -h"
        );
        assert_eq!(
            calls("http", json!({ "url": "https://me:key@example.org/status?key=sk-123#a" })),
            "http: example.org/status"
        );
        assert_eq!(
            calls("http", json!({ "url": "https://example.org/status/" })),
            "http: example.org/status"
        );
        assert_eq!(calls("echo", json!({ "text": "a\nb" })), "echo: a");
    }

    #[test]
    fn log_name_of_a_job_hides_its_prompt() {
        let reminder = json!({ "kind": "systemEvent", "text": "take the pills for my HIV" });
        let command = json!({
            "kind": "toolCall", "tool": "run_command", "arguments": { "command": "echo SECRET; exit 3" },
        });
        let agent = json!({ "kind": "agentTurn", "message": "Look at my mails" });
        let time = json!({ "kind": "toolCall", "tool": "time", "arguments": {} });
        let long = "x y ".repeat(30);
        let cut =
            json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": long } });
        let cut_name: String = long.chars().take(59).chain(['…']).collect();
        for (name, payload, logged) in [
            ("Take the pills for my HIV", &reminder, "reminder 746ade12"),
            ("Take the pills for my HIV 2", &reminder, "reminder 746ade12"),
            ("Pills", &reminder, "Pills"),
            ("Take the pills for my HIV today", &reminder, "Take the pills for my HIV today"),
            ("run_command: echo SECRET; exit 3", &command, "run_command 746ade12"),
            ("echo SECRET; exit 3", &command, "run_command 746ade12"),
            ("echo", &command, "echo"),
            (&cut_name, &cut, "run_command 746ade12"),
            ("Look at my mails", &agent, "agent job 746ade12"),
            ("time", &time, "time"),
            ("Heartbeat", &json!(null), "Heartbeat"),
        ] {
            assert_eq!(for_log(name, payload, "746ade12-1b2c-7d3e"), logged, "{name}");
        }
        assert_eq!(for_log("Look at my mails", &agent, "é"), "agent job é");
    }
}
