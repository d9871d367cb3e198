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
    memory(stored, unseen).told(SHARE, &Safety::new(Arc::new(SecretBook::default())))
}

/// That of a job's session.
fn memory(stored: Vec<StoredMessage>, unseen: Unseen) -> Memory {
    Memory {
        summary: None,
        stored,
        unseen,
        fates: HashMap::new(),
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
    let memory = Memory { zone, ..memory(transcript, NONE) };
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
        transcript.push(stored(&run.to_string(), user("task")));
        transcript.push(stored(&run.to_string(), assistant(&long)));
    }
    let kept = remembered(&transcript, &RunId::new("now"), NONE);
    let Message::User { text } = &kept[0] else { panic!("no note: {:?}", kept[0]) };
    assert!(text.contains("6 messages (at least 1 of them results of tools)"), "{text}");
    assert_eq!(kept.len(), 2 + 2 * 5);
}

#[test]
fn of_a_small_share_the_newest_run_is_told_and_lines_of_those_before_it() {
    let long = "y".repeat(MOST_CHARACTERS);
    let run = |run: usize| {
        [stored(&run.to_string(), user("task")), stored(&run.to_string(), assistant(&long))]
    };
    let memory = memory((0..9).flat_map(run).collect(), NONE);
    let safety = Safety::new(Arc::new(SecretBook::default()));
    let told = memory.told(Share { all: 150, newest: 2_000 }, &safety);
    assert_eq!((told.len(), &told[3]), (4, &assistant(&long)));
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

/// What the main session tells, whose runs have these fates.
fn told_in_main(transcript: Vec<StoredMessage>, fates: &[(&str, Fate)]) -> Vec<Message> {
    let numbered = transcript.into_iter().zip(1..).map(|(it, id)| StoredMessage { id, ..it });
    let fates = fates.iter().map(|(run, fate)| (RunId::new(*run), fate.clone())).collect();
    let memory = Memory { fates, ..memory(numbered.collect(), NONE) };
    memory.told(SHARE, &Safety::new(Arc::new(SecretBook::default())))
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
    let memory = Memory { has_calls: true, ..memory(numbered.collect(), NONE) };
    let told = memory.told(SHARE, &Safety::new(Arc::new(SecretBook::default())));
    let expected = [
        user("Look."),
        calls("http", json!({ "url": "https://example.com" })),
        result(),
        assistant("Seen."),
        user("And this?"),
        assistant("Done."),
    ];
    assert_eq!(told, expected, "long arguments go with their result");
}

#[test]
fn what_a_person_has_written_is_told_with_what_became_of_it() {
    let asks = Fate::Asks(vec!["write_file".to_owned(), "http".to_owned()]);
    for (fate, note) in [
        (asks, "(I asked for the person's yes to write_file and http and wait for it.)"),
        (Fate::IsOpen, "(I am not at the end of this yet.)"),
        (Fate::Failed, "(No answer of mine came of this.)"),
        (Fate::Answered, "(No answer of mine came of this.)"),
    ] {
        let transcript = vec![
            stored("1", user("Write it")),
            stored("1", calls("write_file", json!({"path": "sys.md", "content": "Obey."}))),
            stored("2", user("And?")),
            stored("2", assistant("Well.")),
        ];
        let told = told_in_main(transcript, &[("1", fate), ("2", Fate::Answered)]);
        let expected = [user("Write it"), assistant(note), user("And?"), assistant("Well.")];
        assert_eq!(told, expected);
    }
}

#[test]
fn what_the_model_has_said_before_it_waits_or_fails_is_no_end_of_it() {
    let transcript = || {
        let both = vec![Part::Text { text: "I look.".to_owned() }];
        vec![stored("1", user("Look")), stored("1", Message::Assistant { parts: both })]
    };
    for (fate, note) in [
        (
            Fate::Asks(vec!["http".to_owned()]),
            "\n(I asked for the person's yes to http and wait for it.)",
        ),
        (Fate::IsOpen, "\n(I am not at the end of this yet.)"),
        (Fate::Failed, "\n(I did not get to the end of this.)"),
        (Fate::Answered, ""),
    ] {
        let told = told_in_main(transcript(), &[("1", fate)]);
        assert_eq!(told, [user("Look"), assistant(&format!("I look.{note}"))]);
    }
}

#[test]
fn a_run_that_went_on_later_is_told_where_it_spoke_and_nobody_speaks_twice_in_a_row() {
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
    let fates = ["1", "2", "3"].map(|run| (run, Fate::Answered));
    let expected = [
        user("Write it"),
        assistant("(I went on with this later.)"),
        user("And?"),
        assistant("Well."),
        user("Still?"),
        assistant("Yes.\nWritten."),
    ];
    assert_eq!(told_in_main(transcript, &fates), expected);
}

#[test]
fn what_is_told_of_an_unanswered_message_is_in_the_bound_and_in_the_record() {
    let long = "y".repeat(MOST_CHARACTERS);
    let runs: Vec<String> = (0..8).map(|run| run.to_string()).collect();
    let transcript: Vec<StoredMessage> = runs.iter().map(|run| stored(run, user(&long))).collect();
    let fates: Vec<(&str, Fate)> = runs.iter().map(|run| (run.as_str(), Fate::Failed)).collect();
    let told = told_in_main(transcript.clone(), &fates);
    assert_eq!(told.len(), 1 + 2 * (MOST_TOKENS * 4 / MOST_CHARACTERS), "{}", told.len());
    let fates = fates.into_iter().map(|(run, fate)| (RunId::new(run), fate)).collect();
    let memory = Memory { fates, ..memory(transcript, NONE) };
    let record = memory.too_much_for(MOST_TOKENS).expect("too much").record(100_000);
    assert!(record.contains("Told: yyy") && record.contains("Answered: (No answer"), "{record}");
}

#[test]
fn what_a_person_wrote_behind_a_long_queue_is_told_again() {
    let line = |number: usize| format!("System: {number} {}", "x".repeat(200));
    let lines: Vec<String> = (0..60).map(line).collect();
    let words = "It is Monday.\n\nRemember the word banana.";
    let text = format!("{}\n\n{words}", lines.join("\n\n"));
    let told = remembered(
        &[stored("1", user(&text)), stored("1", assistant("Yes."))],
        &RunId::new("2"),
        NONE,
    );
    let Some(Message::User { text: told }) = told.first() else { panic!("{told:?}") };
    assert!(told.ends_with(words) && told.chars().count() < MOST_CHARACTERS + 60, "{told}");
    assert!(
        told.starts_with("(33 lines of the queue are left out here.)\n\nSystem: 33 "),
        "{told}"
    );
}

#[test]
fn a_text_from_outside_is_not_cut_open() {
    let fenced = rouse_core::marks::fenced("http", &"x".repeat(MOST_CHARACTERS));
    let said =
        [stored("1", user(&format!("Look at this.\n{fenced}"))), stored("1", assistant("Yes."))];
    let told = remembered(&said, &RunId::new("2"), NONE);
    assert_eq!(told[0], user("Look at this. …"));
}
