//! What a run remembers of the runs before it in its session.
//!
//! Owns the bound: the newest runs that fit into a number of tokens, and of each only what was said, without the tools'
//! calls and results. Those are the bulk of a transcript, they are out of date, and a call without its result is
//! refused by every provider. A run in which the model said nothing is left out with its task.

use rouse_core::RunId;
use rouse_core::SessionKey;
use rouse_core::message::{Message, Part};
use rouse_store::{Store, StoredMessage};

use super::conversation::End;

/// The tokens that remembering may cost.
const MOST_TOKENS: usize = 8_000;

/// The most messages that are looked at: the last dozen runs or so, whose tool results are read along with them.
const MOST_MESSAGES: u32 = 120;

/// The most characters kept of one message.
const MOST_CHARACTERS: usize = 6_000;

/// What `session` said before `run`.
pub(super) async fn of_session(
    store: &Store,
    session: &SessionKey,
    run: &RunId,
) -> Result<Vec<Message>, End> {
    Ok(remembered(&store.messages(session, MOST_MESSAGES).await?, run))
}

fn remembered(stored: &[StoredMessage], run: &RunId) -> Vec<Message> {
    let mut left = MOST_TOKENS;
    let mut newest_first: Vec<Vec<Message>> = Vec::new();
    // A message without a run is a person's own and stands for itself; it goes along with its neighbours.
    for group in stored.chunk_by(|one, other| one.run_id == other.run_id).rev() {
        if group.iter().any(|message| message.run_id.as_ref() == Some(run)) {
            continue;
        }
        let said: Vec<Message> = group.iter().filter_map(|stored| said(&stored.message)).collect();
        if !said.iter().any(|message| matches!(message, Message::Assistant { .. })) {
            continue;
        }
        let cost = said.iter().map(tokens).sum();
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
        newest_first.push(said);
    }
    newest_first.into_iter().rev().flatten().collect()
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
    use rouse_core::UnixMs;
    use rouse_core::message::ToolCallRequest;
    use serde_json::json;

    use super::*;

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
        assert_eq!(remembered(&transcript, &RunId::new("2")), [user("task"), assistant("Rain.")]);
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
        assert_eq!(remembered(&transcript, &RunId::new("4")), expected);
    }

    #[test]
    fn another_attempt_does_not_remember_the_first() {
        let transcript = [stored("1", user("task")), stored("1", assistant("half"))];
        assert_eq!(remembered(&transcript, &RunId::new("1")), []);
    }

    #[test]
    fn the_newest_runs_that_fit_are_kept_and_none_beyond_a_gap() {
        let long = "y".repeat(MOST_CHARACTERS);
        let mut transcript = vec![stored("old", user("old")), stored("old", assistant("old"))];
        for run in 0..8 {
            transcript.push(stored(&run.to_string(), user("task")));
            transcript.push(stored(&run.to_string(), assistant(&long)));
        }
        let kept = remembered(&transcript, &RunId::new("now"));
        assert_eq!(kept.len(), 2 * (MOST_TOKENS * 4 / MOST_CHARACTERS));
        assert!(!kept.contains(&user("old")));
    }

    #[test]
    fn one_long_message_is_cut() {
        let transcript = [stored("1", user("task")), stored("1", assistant(&"é".repeat(100_000)))];
        let kept = remembered(&transcript, &RunId::new("2"));
        assert!(matches!(&kept[1], Message::Assistant { parts }
            if matches!(&parts[0], Part::Text { text } if text.chars().count() == MOST_CHARACTERS + 2)));
    }
}
