use std::sync::Arc;

use rouse_core::message::ToolCallRequest;
use serde_json::json;

use super::*;
use crate::secret::SecretBook;

const NONE: Unseen = Unseen { messages: 0, since: None };

/// The bound of a model that reads a lot.
const MOST_TOKENS: usize = 8_000;
const SHARE: Share = Share { all: MOST_TOKENS, newest: MOST_TOKENS };

fn remembered(transcript: &[StoredMessage], run: &RunId, unseen: Unseen) -> Vec<Message> {
    let mut stored = transcript.to_vec();
    stored.retain(|message| message.run_id.as_ref() != Some(run));
    Memory { summary: None, stored, unseen, zone: Zone::UTC }
        .told(SHARE, &Safety::new(Arc::new(SecretBook::default())))
}

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
    assert_eq!(remembered(&transcript, &RunId::new("2"), NONE), [user("task"), assistant("Rain.")]);
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
    let at =
        |day: i64, message| StoredMessage { at: UnixMs(day * 86_400_000), ..stored("1", message) };
    let transcript = [at(40, user("task")), at(41, assistant("done"))];
    let unseen = Unseen { messages: 300, since: Some(UnixMs(0)) };
    let kept = remembered(&transcript, &RunId::new("2"), unseen);
    assert_eq!(kept[1..], [user("task"), assistant("done")]);
    let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
    assert!(text.starts_with(EARLIER) && text.contains("300 messages, from 1970-01-01."), "{text}");
}

/// Four in the morning of a new year, where it is still the old one in Greenwich.
#[test]
fn days_are_told_as_the_person_counts_them() {
    let stored = |run: &str, message| StoredMessage {
        at: UnixMs(1_767_207_600_000),
        ..stored(run, message)
    };
    let long = assistant(&"y".repeat(MOST_CHARACTERS));
    let mut transcript = vec![stored("old", user("old")), stored("old", assistant("Rain."))];
    transcript.extend((0..6).map(|run| stored(&run.to_string(), long.clone())));
    let zone = Zone::from(chrono_tz::Asia::Tokyo);
    let memory = Memory { summary: None, stored: transcript, unseen: NONE, zone };
    let told = memory.told(SHARE, &Safety::new(Arc::new(SecretBook::default())));
    let told = format!("{told:?}");
    assert!(told.contains("from 2026-01-01 to 2026-01-01."), "{told}");
    assert!(told.contains("- 2026-01-01: Rain."), "{told}");
    let older = memory.too_much_for(MOST_TOKENS).expect("too much");
    let record = older.record(100_000);
    assert!(record.contains("[2026-01-01] Answered: Rain."), "{record}");
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
fn of_a_small_share_the_newest_run_is_told_and_lines_of_those_before_it() {
    let long = "y".repeat(MOST_CHARACTERS);
    let stored = (0..9).map(|run| stored(&run.to_string(), assistant(&long))).collect();
    let memory = Memory { summary: None, stored, unseen: NONE, zone: Zone::UTC };
    let safety = Safety::new(Arc::new(SecretBook::default()));
    let told = memory.told(Share { all: 150, newest: 2_000 }, &safety);
    assert_eq!((told.len(), &told[2]), (3, &assistant(&long)));
    let Message::Assistant { parts } = &told[1] else { panic!("no digest: {told:?}") };
    let Part::Text { text } = &parts[0] else { panic!("no words") };
    assert_eq!(text.lines().count(), 1 + 3, "{text}");
    let told = memory.told(Share { all: 150, newest: 1_000 }, &safety);
    assert_eq!(told.len(), 2, "not even the newest fits: {told:?}");
}

#[test]
fn one_long_message_is_cut() {
    let transcript = [stored("1", user("task")), stored("1", assistant(&"é".repeat(100_000)))];
    let kept = remembered(&transcript, &RunId::new("2"), NONE);
    assert!(matches!(&kept[1], Message::Assistant { parts }
        if matches!(&parts[0], Part::Text { text } if text.chars().count() == MOST_CHARACTERS + 2)));
}
