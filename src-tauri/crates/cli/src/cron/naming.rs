//! What a job is called when nobody has said: the beginning of what it does, as a person would shorten it.
//!
//! It refuses to cut a word, and to give a name that another job has: a name is what people type. One could get it wrong
//! by naming all jobs of one tool after the tool.

use rouse_core::words::capitalised;
use rouse_gateway::wire::CronListResult;
use serde_json::Value;

use super::list;
use crate::exit::Failure;
use crate::output::plain;
use crate::session::Session;

/// The most characters of a name that nobody gave.
const MOST: usize = 48;
/// Arguments that say what a call is about, the most telling first.
pub(crate) const TELLING: [&str; 7] = ["command", "url", "path", "query", "title", "name", "text"];

/// A name for a job that does `payload`, and that no other job has.
pub(super) async fn name_for(payload: &Value, session: &Session) -> Result<String, Failure> {
    let name = from_payload(payload);
    let list = list::read(session, true, Some(&name), usize::MAX).await?;
    let list: CronListResult = serde_json::from_value(list)?;
    let taken = |wanted: &str| list.jobs.iter().any(|view| view.job["name"] == wanted);
    if !taken(&name) {
        return Ok(name);
    }
    let numbered = (2..).map(|n| format!("{name} {n}")).find(|name| !taken(name));
    Ok(numbered.expect("BUG: numbers do not end"))
}

fn from_payload(payload: &Value) -> String {
    let part = |key: &str| payload[key].as_str().unwrap_or_default();
    let name = match part("kind") {
        "systemEvent" => from_words(part("text")),
        "agentTurn" => from_words(part("message")),
        _ => from_call(part("tool"), &payload["arguments"]),
    };
    if name.is_empty() { "Job".to_owned() } else { name }
}

/// `http: example.org/status`, `run_command: df -h`.
fn from_call(tool: &str, arguments: &Value) -> String {
    let about = TELLING.iter().find_map(|key| arguments[key].as_str()).map(first_line);
    match about.filter(|about| !about.is_empty()) {
        None => tool.to_owned(),
        Some(about) => {
            let address = about.strip_prefix("https://").or_else(|| about.strip_prefix("http://"));
            let about = address.map_or(about.as_str(), host_and_path);
            shortened(&format!("{tool}: {about}"))
        }
    }
}

/// Of an address what names the page: keys stand before an `@` and behind a `?`, and names stand in the log.
fn host_and_path(address: &str) -> &str {
    let page = until(address, &["?", "#"]);
    let end_of_host = page.find('/').unwrap_or(page.len());
    let begin = page[..end_of_host].rfind('@').map_or(0, |at| at + 1);
    page[begin..].trim_end_matches('/')
}

/// The first sentence; of a long one the first clause.
fn from_words(text: &str) -> String {
    let line = first_line(text);
    let sentence = until(&line, &[". ", "! ", "? ", "; ", ": "]);
    let whole = sentence.trim_end_matches(['.', '!', ';', ':', ',']);
    let clause = if whole.chars().count() <= MOST { whole } else { until(whole, &[", ", " – "]) };
    capitalised(&shortened(clause))
}

fn first_line(text: &str) -> String {
    plain(text.trim().lines().next().unwrap_or_default()).replace('\t', " ")
}

/// The text up to the first of these marks.
fn until<'t>(text: &'t str, marks: &[&str]) -> &'t str {
    let end = marks.iter().filter_map(|mark| text.find(mark)).min();
    &text[..end.unwrap_or(text.len())]
}

/// At most so many characters, cut between words where there are any.
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

    use super::from_payload;

    #[test]
    fn a_name_is_what_a_person_would_shorten_it_to() {
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
    fn a_call_is_named_after_what_it_is_about() {
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
}
