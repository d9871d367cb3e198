//! What a run remembers of the runs before it in its session.
//!
//! Owns the bound: the newest runs that fit into a number of tokens, and of each only what was said, without the tools'
//! calls and results. Those are the bulk of a transcript, they are out of date, and a call without its result is
//! refused by every provider. A run in which the model said nothing is left out with its task.
//!
//! Where older runs stood, one line says how many messages are left out, from when to when, and where they are; behind it
//! the model finds the first lines of its own newest reports among them. Those stay its own words: one could get it wrong
//! by quoting them as somebody's words to it, for a report may repeat what came from outside.

use rouse_core::RunId;
use rouse_core::SessionKey;
use rouse_core::UnixMs;
use rouse_core::message::{Message, Part};
use rouse_core::turn::window::EARLIER;
use rouse_store::{Store, StoredMessage};

use super::conversation::End;

/// The tokens that remembering may cost.
const MOST_TOKENS: usize = 8_000;

/// The most messages that are looked at: the last dozen runs or so, whose tool results are read along with them.
const MOST_MESSAGES: u32 = 120;

/// The most characters kept of one message.
const MOST_CHARACTERS: usize = 6_000;

/// The most runs that are left out and told of by a line of their report, and the most characters of such a line.
const MOST_LINES: usize = 12;
const LONGEST_LINE: usize = 160;

/// Messages of a session that are not even looked at: how many, and when the first of them was stored.
#[derive(Debug, Clone, Copy, Default)]
struct Unseen {
    messages: usize,
    since: Option<UnixMs>,
}

/// What `session` said before `run`.
pub(super) async fn of_session(
    store: &Store,
    session: &SessionKey,
    run: &RunId,
) -> Result<Vec<Message>, End> {
    let stored = store.messages(session, MOST_MESSAGES).await?;
    let row = store.session(session).await?.filter(|_| stored.len() >= MOST_MESSAGES as usize);
    let unseen = row.map_or_else(Unseen::default, |row| Unseen {
        messages: (row.messages as usize).saturating_sub(stored.len()),
        since: Some(row.created_at),
    });
    Ok(remembered(&stored, run, unseen))
}

fn remembered(stored: &[StoredMessage], run: &RunId, unseen: Unseen) -> Vec<Message> {
    let mut left = MOST_TOKENS;
    let mut newest_first: Vec<Vec<Message>> = Vec::new();
    // A message without a run is a person's own and stands for itself; it goes along with its neighbours.
    let mut groups = stored
        .chunk_by(|one, other| one.run_id == other.run_id)
        .filter(|group| group.iter().all(|message| message.run_id.as_ref() != Some(run)))
        .rev();
    let mut left_out: Vec<&[StoredMessage]> = Vec::new();
    for group in groups.by_ref() {
        let said: Vec<Message> = group.iter().filter_map(|stored| said(&stored.message)).collect();
        if !said.iter().any(|message| matches!(message, Message::Assistant { .. })) {
            continue;
        }
        let cost = said.iter().map(tokens).sum();
        let Some(rest) = left.checked_sub(cost) else {
            left_out.push(group);
            break;
        };
        left = rest;
        newest_first.push(said);
    }
    left_out.extend(groups);
    left_out.reverse();
    condensed(&left_out, unseen)
        .into_iter()
        .chain(newest_first.into_iter().rev().flatten())
        .collect()
}

/// What stands in the place of runs that are left out; nothing when there are none.
fn condensed(groups: &[&[StoredMessage]], unseen: Unseen) -> Vec<Message> {
    let seen = || groups.iter().copied().flatten();
    let messages = seen().count() + unseen.messages;
    let first =
        unseen.since.filter(|_| unseen.messages > 0).or_else(|| seen().map(|it| it.at).next());
    let last = seen().next_back().map(|it| it.at);
    let Some(first) = first.filter(|_| messages > 0) else { return Vec::new() };
    let is_result = |stored: &&StoredMessage| matches!(stored.message, Message::ToolResult { .. });
    let results = match seen().filter(is_result).count() {
        0 => String::new(),
        some => format!(" (at least {some} of them results of tools)"),
    };
    let until = last.map_or_else(String::new, |last| format!(" to {}", day(last)));
    let text = format!(
        "{EARLIER}{messages} messages{results}, from {}{until}. The session's transcript has them, and what was worth \
         keeping is found with memory_search where that is offered.)",
        day(first)
    );
    let lines = groups.iter().rev().filter_map(|group| line_of(group)).take(MOST_LINES);
    let mut lines: Vec<String> = lines.collect();
    lines.reverse();
    let words = format!("What I reported in some of those runs:\n{}", lines.join("\n"));
    let digest = Message::Assistant { parts: vec![Part::Text { text: words }] };
    let digest = Some(digest).filter(|_| !lines.is_empty());
    std::iter::once(Message::User { text }).chain(digest).collect()
}

/// The day of a run, and the first line of what the model said last in it.
fn line_of(group: &[StoredMessage]) -> Option<String> {
    group.iter().rev().find_map(|stored| match &stored.message {
        Message::Assistant { parts } => {
            let mut lines = parts.iter().rev().filter_map(words_of).flat_map(str::lines);
            let line = lines.find(|line| !line.trim().is_empty())?;
            let line: String = line.trim().chars().take(LONGEST_LINE).collect();
            Some(format!("- {}: {line}", day(stored.at)))
        }
        Message::User { .. } | Message::ToolResult { .. } => None,
    })
}

fn day(at: UnixMs) -> String {
    at.to_utc().format("%Y-%m-%d").to_string()
}

/// What of a message is worth remembering.
fn said(message: &Message) -> Option<Message> {
    match message {
        Message::User { text } => Some(Message::User { text: shortened(text) }),
        Message::Assistant { parts } => {
            let words: Vec<&str> = parts
                .iter()
                .filter_map(words_of)
                .filter(|words| !words.trim().is_empty())
                .collect();
            let parts = vec![Part::Text { text: shortened(&words.join("\n")) }];
            (!words.is_empty()).then_some(Message::Assistant { parts })
        }
        Message::ToolResult { .. } => None,
    }
}

/// The words of a part; the summary with which a run was ended is the most important of them.
fn words_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        Part::ToolCall(call) if call.tool == "complete_run" => {
            call.arguments.get("summary")?.as_str()
        }
        Part::ToolCall(_) | Part::Opaque { .. } => None,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// A guess that is high enough for every language: four bytes a token, and a few for the envelope.
fn tokens(message: &Message) -> usize {
    let bytes = match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.len(),
        Message::Assistant { parts } => parts.iter().filter_map(words_of).map(str::len).sum(),
    };
    bytes / 4 + 8
}

#[cfg(test)]
mod tests {
    use rouse_core::message::ToolCallRequest;
    use serde_json::json;

    use super::*;

    const NONE: Unseen = Unseen { messages: 0, since: None };

    fn stored(run: &str, message: Message) -> StoredMessage {
        StoredMessage { id: 0, run_id: Some(RunId::new(run)), message, at: UnixMs(0) }
    }

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    fn assistant(text: &str) -> Message {
        Message::Assistant { parts: vec![Part::Text { text: text.to_owned() }] }
    }

    fn calls(tool: &str, arguments: serde_json::Value) -> Message {
        let call = ToolCallRequest { id: "c".to_owned(), tool: tool.to_owned(), arguments };
        Message::Assistant { parts: vec![Part::ToolCall(call)] }
    }

    fn result() -> Message {
        Message::ToolResult {
            call_id: "c".to_owned(),
            tool: "http".to_owned(),
            text: "x".to_owned(),
            is_error: false,
        }
    }

    #[test]
    fn words_and_summaries_stay_calls_and_results_go() {
        let transcript = [
            stored("1", user("task")),
            stored("1", calls("http", json!({}))),
            stored("1", result()),
            stored("1", calls("complete_run", json!({"outcome": "report", "summary": "Rain."}))),
            stored("1", result()),
        ];
        assert_eq!(
            remembered(&transcript, &RunId::new("2"), NONE),
            [user("task"), assistant("Rain.")]
        );
    }

    #[test]
    fn a_run_without_a_word_is_left_out_with_its_task() {
        let transcript = [
            stored("1", user("one")),
            stored("1", assistant("1")),
            stored("2", user("two")),
            stored("2", calls("http", json!({}))),
            stored("3", user("three")),
            stored("3", assistant("3")),
        ];
        let expected = [user("one"), assistant("1"), user("three"), assistant("3")];
        assert_eq!(remembered(&transcript, &RunId::new("4"), NONE), expected);
    }

    #[test]
    fn another_attempt_does_not_remember_the_first() {
        let transcript = [stored("1", user("task")), stored("1", assistant("half"))];
        assert_eq!(remembered(&transcript, &RunId::new("1"), NONE), []);
    }

    #[test]
    fn the_newest_runs_that_fit_are_kept_and_none_beyond_a_gap() {
        let long = "y".repeat(MOST_CHARACTERS);
        let mut transcript = vec![stored("old", user("old")), stored("old", assistant("old"))];
        for run in 0..8 {
            transcript.push(stored(&run.to_string(), user("task")));
            transcript.push(stored(&run.to_string(), assistant(&long)));
        }
        let kept = remembered(&transcript, &RunId::new("now"), NONE);
        let runs = MOST_TOKENS * 4 / MOST_CHARACTERS;
        assert_eq!(kept.len(), 2 + 2 * runs);
        let Message::Assistant { parts } = &kept[1] else { panic!("no digest: {:?}", kept[1]) };
        let Part::Text { text } = &parts[0] else { panic!("no words") };
        assert!(text.contains("\n- 1970-01-01: old\n- 1970-01-01: yyy"), "{text}");
        assert!(!kept.contains(&user("old")));
        let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
        assert!(text.contains(&format!("{} messages", 2 * (9 - runs))), "{text}");
    }

    #[test]
    fn what_is_not_even_looked_at_is_counted_too() {
        let at = |day: i64, message| StoredMessage {
            at: UnixMs(day * 86_400_000),
            ..stored("1", message)
        };
        let transcript = [at(40, user("task")), at(41, assistant("done"))];
        let unseen = Unseen { messages: 300, since: Some(UnixMs(0)) };
        let kept = remembered(&transcript, &RunId::new("2"), unseen);
        assert_eq!(kept[1..], [user("task"), assistant("done")]);
        let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
        assert!(
            text.starts_with(EARLIER) && text.contains("300 messages, from 1970-01-01."),
            "{text}"
        );
    }

    #[test]
    fn results_that_are_left_out_go_with_their_calls_and_are_counted() {
        let long = "y".repeat(MOST_CHARACTERS);
        let mut transcript = vec![
            stored("old", user("old")),
            stored("old", calls("http", json!({}))),
            stored("old", result()),
            stored("old", assistant("old")),
        ];
        for run in 0..6 {
            transcript.push(stored(&run.to_string(), assistant(&long)));
        }
        let kept = remembered(&transcript, &RunId::new("now"), NONE);
        let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
        assert!(text.contains("5 messages (at least 1 of them results of tools)"), "{text}");
        assert_eq!(kept.len(), 2 + 5);
    }

    #[test]
    fn one_long_message_is_cut() {
        let transcript = [stored("1", user("task")), stored("1", assistant(&"é".repeat(100_000)))];
        let kept = remembered(&transcript, &RunId::new("2"), NONE);
        assert!(matches!(&kept[1], Message::Assistant { parts }
            if matches!(&parts[0], Part::Text { text } if text.chars().count() == MOST_CHARACTERS + 2)));
    }
}
