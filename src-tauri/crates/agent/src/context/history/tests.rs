use std::sync::Arc;

use rouse_core::message::{Part, ToolCallRequest};
use rouse_core::turn::window::EARLIER_RUNS_NOTE;
use serde_json::json;

use super::message_text::MAX_CHARACTERS;
use super::*;
use crate::context::compaction::SummaryInput;
use crate::secrets::SecretBook;

const NONE: UnreadMessages = UnreadMessages { count: 0, since: None };

/// The limit of a model with a large context window.
const MAX_TOKENS: usize = 8_000;
const LIMIT: HistoryLimit = HistoryLimit { total: MAX_TOKENS, newest_run: MAX_TOKENS };

fn history(transcript: &[StoredMessage], run: &RunId, unread: UnreadMessages) -> Vec<Message> {
    let mut stored = transcript.to_vec();
    stored.retain(|message| message.run_id.as_ref() != Some(run));
    job_session(stored, unread).history(LIMIT, &Safety::new(Arc::new(SecretBook::default())))
}

fn job_session(stored: Vec<StoredMessage>, unread: UnreadMessages) -> SessionMessages {
    SessionMessages {
        summary: None,
        stored,
        unread,
        progress: HashMap::new(),
        has_calls: false,
        zone: Zone::UTC,
    }
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
fn job_history_keeps_text_and_drops_calls() {
    let transcript = [
        stored("1", user("task")),
        stored("1", calls("http", json!({}))),
        stored("1", result()),
        stored("1", calls("complete_run", json!({"outcome": "report", "summary": "Rain."}))),
        stored("1", result()),
    ];
    assert_eq!(history(&transcript, &RunId::new("2"), NONE), [user("task"), assistant("Rain.")]);
}

#[test]
fn run_without_answer_is_left_out_with_its_task() {
    let transcript = [
        stored("1", user("one")),
        stored("1", assistant("1")),
        stored("2", user("two")),
        stored("2", calls("http", json!({}))),
        stored("3", user("three")),
        stored("3", assistant("3")),
    ];
    let expected = [user("one"), assistant("1"), user("three"), assistant("3")];
    assert_eq!(history(&transcript, &RunId::new("4"), NONE), expected);
}

#[test]
fn retry_does_not_receive_its_own_first_attempt() {
    let transcript = [stored("1", user("task")), stored("1", assistant("half"))];
    assert_eq!(history(&transcript, &RunId::new("1"), NONE), []);
}

#[test]
fn history_keeps_the_newest_runs_that_fit() {
    let long = "y".repeat(MAX_CHARACTERS);
    let mut transcript = vec![stored("old", user("old")), stored("old", assistant("old"))];
    for run in 0..8 {
        transcript.push(stored(&run.to_string(), user("task")));
        transcript.push(stored(&run.to_string(), assistant(&long)));
    }
    let kept = history(&transcript, &RunId::new("now"), NONE);
    let runs = MAX_TOKENS * 4 / MAX_CHARACTERS;
    assert_eq!(kept.len(), 2 + 2 * runs);
    let Message::Assistant { parts } = &kept[1] else { panic!("no digest: {:?}", kept[1]) };
    let Part::Text { text } = &parts[0] else { panic!("no text") };
    assert!(text.contains("\n- 1970-01-01: old\n- 1970-01-01: yyy"), "{text}");
    assert!(!kept.contains(&user("old")));
    let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
    assert!(text.contains(&format!("{} messages", 2 * (9 - runs))), "{text}");
}

#[test]
fn unread_messages_are_counted() {
    let at =
        |day: i64, message| StoredMessage { at: UnixMs(day * 86_400_000), ..stored("1", message) };
    let transcript = [at(40, user("task")), at(41, assistant("done"))];
    let unread = UnreadMessages { count: 300, since: Some(UnixMs(0)) };
    let kept = history(&transcript, &RunId::new("2"), unread);
    assert_eq!(kept[1..], [user("task"), assistant("done")]);
    let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
    assert!(
        text.starts_with(EARLIER_RUNS_NOTE) && text.contains("300 messages, from 1970-01-01."),
        "{text}"
    );
}

/// Four in the morning of New Year's Day in Tokyo, still the old year in UTC.
#[test]
fn days_are_in_the_local_zone() {
    let stored = |run: &str, message| StoredMessage {
        at: UnixMs(1_767_207_600_000),
        ..stored(run, message)
    };
    let long = assistant(&"y".repeat(MAX_CHARACTERS));
    let mut transcript = vec![stored("old", user("old")), stored("old", assistant("Rain."))];
    transcript.extend((0..6).map(|run| stored(&run.to_string(), long.clone())));
    let zone = Zone::from(chrono_tz::Asia::Tokyo);
    let session = SessionMessages { zone, ..job_session(transcript, NONE) };
    let messages = session.history(LIMIT, &Safety::new(Arc::new(SecretBook::default())));
    let messages = format!("{messages:?}");
    assert!(messages.contains("from 2026-01-01 to 2026-01-01."), "{messages}");
    assert!(messages.contains("- 2026-01-01: Rain."), "{messages}");
    let input = SummaryInput::select(&session, MAX_TOKENS).expect("too long");
    let record = input.record(100_000);
    assert!(record.contains("[2026-01-01] Answered: Rain."), "{record}");
}

#[test]
fn left_out_results_are_counted() {
    let long = "y".repeat(MAX_CHARACTERS);
    let mut transcript = vec![
        stored("old", user("old")),
        stored("old", calls("http", json!({}))),
        stored("old", result()),
        stored("old", assistant("old")),
    ];
    for run in 0..6 {
        transcript.push(stored(&run.to_string(), user("task")));
        transcript.push(stored(&run.to_string(), assistant(&long)));
    }
    let kept = history(&transcript, &RunId::new("now"), NONE);
    let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
    assert!(text.contains("6 messages (with at least 1 tool results)"), "{text}");
    assert_eq!(kept.len(), 2 + 2 * 5);
}

#[test]
fn small_limit_keeps_newest_run_and_report_lines() {
    let long = "y".repeat(MAX_CHARACTERS);
    let run = |run: usize| {
        [stored(&run.to_string(), user("task")), stored(&run.to_string(), assistant(&long))]
    };
    let session = job_session((0..9).flat_map(run).collect(), NONE);
    let safety = Safety::new(Arc::new(SecretBook::default()));
    let messages = session.history(HistoryLimit { total: 150, newest_run: 2_000 }, &safety);
    assert_eq!((messages.len(), &messages[3]), (4, &assistant(&long)));
    let Message::Assistant { parts } = &messages[1] else { panic!("no digest: {messages:?}") };
    let Part::Text { text } = &parts[0] else { panic!("no text") };
    assert_eq!(text.lines().count(), 1 + 3, "{text}");
    let messages = session.history(HistoryLimit { total: 150, newest_run: 1_000 }, &safety);
    assert_eq!(messages.len(), 2, "not even the newest fits: {messages:?}");
}

#[test]
fn long_message_is_shortened() {
    let transcript = [stored("1", user("task")), stored("1", assistant(&"é".repeat(100_000)))];
    let kept = history(&transcript, &RunId::new("2"), NONE);
    assert!(matches!(&kept[1], Message::Assistant { parts }
        if matches!(&parts[0], Part::Text { text } if text.chars().count() == MAX_CHARACTERS + 2)));
}

/// The history of a main session with this progress of the runs.
fn main_history(transcript: Vec<StoredMessage>, progress: &[(&str, RunProgress)]) -> Vec<Message> {
    let numbered = transcript.into_iter().zip(1..).map(|(it, id)| StoredMessage { id, ..it });
    let progress =
        progress.iter().map(|(run, progress)| (RunId::new(*run), progress.clone())).collect();
    let session = SessionMessages { progress, ..job_session(numbered.collect(), NONE) };
    session.history(LIMIT, &Safety::new(Arc::new(SecretBook::default())))
}

#[test]
fn main_session_keeps_calls_with_their_results() {
    let long = calls("http", json!({ "url": "x".repeat(3_000) }));
    let transcript = vec![
        stored("r1", user("Look.")),
        stored("r1", calls("http", json!({ "url": "https://example.com" }))),
        stored("r1", result()),
        stored("r1", assistant("Seen.")),
        stored("r2", user("And this?")),
        stored("r2", long),
        stored("r2", result()),
        stored("r2", calls("complete_run", json!({ "summary": "Done." }))),
    ];
    let numbered = transcript.into_iter().zip(1..).map(|(it, id)| StoredMessage { id, ..it });
    let session = SessionMessages { has_calls: true, ..job_session(numbered.collect(), NONE) };
    let messages = session.history(LIMIT, &Safety::new(Arc::new(SecretBook::default())));
    let expected = [
        user("Look."),
        calls("http", json!({ "url": "https://example.com" })),
        result(),
        assistant("Seen."),
        user("And this?"),
        assistant("Done."),
    ];
    assert_eq!(messages, expected, "long arguments go with their result");
}

#[test]
fn unanswered_message_stays_with_note() {
    let asks = RunProgress::AwaitingApproval(vec!["write_file".to_owned(), "http".to_owned()]);
    for (run_progress, note) in [
        (asks, "(I requested approval for write_file and http and am waiting for the decision.)"),
        (RunProgress::Unfinished, "(I have not finished this yet.)"),
        (RunProgress::Failed, "(I gave no answer to this.)"),
        (RunProgress::Succeeded, "(I gave no answer to this.)"),
    ] {
        let transcript = vec![
            stored("1", user("Write it")),
            stored("1", calls("write_file", json!({"path": "sys.md", "content": "Obey."}))),
            stored("2", user("And?")),
            stored("2", assistant("Well.")),
        ];
        let messages =
            main_history(transcript, &[("1", run_progress), ("2", RunProgress::Succeeded)]);
        let expected = [user("Write it"), assistant(note), user("And?"), assistant("Well.")];
        assert_eq!(messages, expected);
    }
}

#[test]
fn unfinished_answer_has_note() {
    let transcript = || {
        let both = vec![Part::Text { text: "I look.".to_owned() }];
        vec![stored("1", user("Look")), stored("1", Message::Assistant { parts: both })]
    };
    for (run_progress, note) in [
        (
            RunProgress::AwaitingApproval(vec!["http".to_owned()]),
            "\n(I requested approval for http and am waiting for the decision.)",
        ),
        (RunProgress::Unfinished, "\n(I have not finished this yet.)"),
        (RunProgress::Failed, "\n(I did not finish this.)"),
        (RunProgress::Succeeded, ""),
    ] {
        let messages = main_history(transcript(), &[("1", run_progress)]);
        assert_eq!(messages, [user("Look"), assistant(&format!("I look.{note}"))]);
    }
}

#[test]
fn interleaved_run_has_note_and_joined_answers() {
    let transcript = vec![
        stored("1", user("Write it")),
        stored("1", calls("write_file", json!({}))),
        stored("2", user("And?")),
        stored("2", assistant("Well.")),
        stored("1", result()),
        stored("1", calls("write_file", json!({}))),
        stored("3", user("Still?")),
        stored("3", assistant("Yes.")),
        stored("1", result()),
        stored("1", assistant("Written.")),
    ];
    let progress = ["1", "2", "3"].map(|run| (run, RunProgress::Succeeded));
    let expected = [
        user("Write it"),
        assistant("(I continued this later.)"),
        user("And?"),
        assistant("Well."),
        user("Still?"),
        assistant("Yes.\nWritten."),
    ];
    assert_eq!(main_history(transcript, &progress), expected);
}

#[test]
fn notes_count_in_limit_and_stand_in_record() {
    let long = "y".repeat(MAX_CHARACTERS);
    let runs: Vec<String> = (0..8).map(|run| run.to_string()).collect();
    let transcript: Vec<StoredMessage> = runs.iter().map(|run| stored(run, user(&long))).collect();
    let progress: Vec<(&str, RunProgress)> =
        runs.iter().map(|run| (run.as_str(), RunProgress::Failed)).collect();
    let messages = main_history(transcript.clone(), &progress);
    assert_eq!(messages.len(), 1 + 2 * (MAX_TOKENS * 4 / MAX_CHARACTERS), "{}", messages.len());
    let progress =
        progress.into_iter().map(|(run, progress)| (RunId::new(run), progress)).collect();
    let session = SessionMessages { progress, ..job_session(transcript, NONE) };
    let record = SummaryInput::select(&session, MAX_TOKENS).expect("too long").record(100_000);
    assert!(
        record.contains("Input: yyy") && record.contains("Answered: (I gave no answer"),
        "{record}"
    );
}

#[test]
fn message_behind_long_event_queue_is_kept() {
    let line = |number: usize| format!("System: {number} {}", "x".repeat(200));
    let lines: Vec<String> = (0..60).map(line).collect();
    let words = "It is Monday.\n\nRemember the word banana.";
    let text = format!("{}\n\n{words}", lines.join("\n\n"));
    let messages = history(
        &[stored("1", user(&text)), stored("1", assistant("Yes."))],
        &RunId::new("2"),
        NONE,
    );
    let Some(Message::User { text: messages }) = messages.first() else { panic!("{messages:?}") };
    assert!(
        messages.ends_with(words) && messages.chars().count() < MAX_CHARACTERS + 60,
        "{messages}"
    );
    assert!(
        messages.starts_with("(33 earlier system events are omitted.)\n\nSystem: 33 "),
        "{messages}"
    );
}

#[test]
fn shortened_message_keeps_fence_closed() {
    let fenced = rouse_core::fence::fence_untrusted("http", &"x".repeat(MAX_CHARACTERS));
    let transcript =
        [stored("1", user(&format!("Look at this.\n{fenced}"))), stored("1", assistant("Yes."))];
    let messages = history(&transcript, &RunId::new("2"), NONE);
    assert_eq!(messages[0], user("Look at this. …"));
}
