//! The context window: complete pairs, the task, and no more than the bound.

use proptest::prelude::*;
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::message::{Message, Part, ToolCallRequest};
use rouse_core::turn::window::{ContextWindow, EARLIER_RUNS_NOTE, estimate_tokens};
use serde_json::{Value, json};

const TASK: &str = "The task: look after the plants.";

/// A step of a run: text, calls and results.
#[derive(Debug, Clone)]
struct Step {
    words: usize,
    opaque: bool,
    calls: Vec<(usize, usize, bool, bool)>,
    has_image: bool,
    reminder: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![0..200_usize, 0..4_000_usize, 0..60_000_usize];
    let call = (0..3_000_usize, length, any::<bool>(), any::<bool>());
    let calls = prop::collection::vec(call, 0..8);
    (0..2_000_usize, any::<bool>(), calls, any::<bool>(), any::<bool>()).prop_map(
        |(words, opaque, calls, has_image, reminder)| Step {
            words,
            opaque,
            calls,
            has_image,
            reminder,
        },
    )
}

fn image() -> Attachment {
    Attachment::new("photo.png", MediaKind::Png, vec![0; 9])
}

fn text(length: usize) -> String {
    "Grüße, ".repeat(length / 8 + 1)
}

fn result(length: usize, is_outside: bool) -> String {
    let text = text(length);
    if is_outside {
        format!("⟦outside abcdef012345 http⟧\n{text}\n⟦end of outside abcdef012345⟧")
    } else {
        text
    }
}

fn step_messages(number: usize, step: &Step) -> Vec<Message> {
    let call = |(at, (arguments, ..)): (usize, &(usize, usize, bool, bool))| {
        Part::ToolCall(ToolCallRequest {
            id: format!("{number}-{at}"),
            tool: format!("tool_{at}"),
            arguments: json!({ "text": text(*arguments), "list": [1, 2, 3] }),
        })
    };
    let words = Part::Text { text: text(step.words) };
    let opaque = Part::Opaque { provider: "x".into(), block: Value::String(text(step.words)) };
    let parts = step.opaque.then_some(opaque).into_iter().chain([words]);
    let parts = parts.chain(step.calls.iter().enumerate().map(call)).collect();
    let results = step.calls.iter().enumerate().map(|(at, (_, length, is_error, is_outside))| {
        Message::ToolResult {
            call_id: format!("{number}-{at}"),
            tool: format!("tool_{at}"),
            text: result(*length, *is_outside),
            is_error: *is_error,
        }
    });
    let reminder = step.reminder.then(|| Message::User { text: "Nobody is here.".into() });
    let files = step.has_image.then(|| Message::Attachments { files: vec![image()] });
    [Message::Assistant { parts }].into_iter().chain(results).chain(files).chain(reminder).collect()
}

fn history(runs: usize) -> Vec<Message> {
    let run = |number: usize| {
        [
            Message::User { text: format!("Run {number}: {}", text(500)) },
            Message::Assistant { parts: vec![Part::Text { text: text(900) }] },
        ]
    };
    (0..runs).flat_map(run).collect()
}

/// Checks that every call is followed by exactly its results, in order, before other text.
fn pairs(sent: &[Message]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    for message in sent {
        match message {
            Message::Assistant { parts } => {
                if !open.is_empty() {
                    return Err(format!("no result of {open:?}"));
                }
                let calls = parts.iter().filter_map(|part| match part {
                    Part::ToolCall(call) => Some(call.id.as_str()),
                    _ => None,
                });
                open = calls.collect();
            }
            Message::ToolResult { call_id, text, .. } => {
                if open.first() != Some(&call_id.as_str()) {
                    return Err(format!("a result of {call_id} without a call"));
                }
                open.remove(0);
                let (opens, closes) = (
                    text.starts_with("⟦outside "),
                    text.ends_with("⟦end of outside abcdef012345⟧"),
                );
                if opens != closes {
                    return Err(format!("half of the marks: {text}"));
                }
            }
            Message::User { .. } | Message::Attachments { .. } if open.is_empty() => {}
            Message::User { .. } | Message::Attachments { .. } => {
                return Err(format!("words before the results of {open:?}"));
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("no result of {open:?}")) }
}

fn newest_results(messages: &[Message]) -> Vec<&Message> {
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    let after = &messages[last.map_or(messages.len(), |at| at + 1)..];
    after.iter().filter(|message| matches!(message, Message::ToolResult { .. })).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn sent_messages_fit_and_stay_paired(
        steps in prop::collection::vec(step(), 0..12),
        runs in 0..8_usize,
        most in 3_000..60_000_usize,
    ) {
        let mut messages = history(runs);
        let mut window = ContextWindow::new(messages.len());
        messages.push(Message::User { text: TASK.into() });
        for (number, step) in steps.iter().enumerate() {
            messages.extend(step_messages(number, step));
            let whole = messages.iter().map(estimate_tokens).sum::<usize>() <= most;
            let sent = window.fit(&messages, most).to_vec();
            prop_assert!(sent.iter().map(estimate_tokens).sum::<usize>() <= most);
            prop_assert_eq!(pairs(&sent), Ok(()));
            let begins = matches!(&sent[0], Message::User { .. });
            prop_assert!(begins);
            let tasks = sent.iter().filter(|message| **message == Message::User { text: TASK.into() });
            prop_assert_eq!(tasks.count(), 1);
            if whole {
                prop_assert_eq!(&sent, &messages);
            }
            // The newest results stay whole as long as the rest fits.
            let newest = newest_results(&messages);
            if newest.iter().map(|result| estimate_tokens(result)).sum::<usize>() < most / 4 {
                prop_assert_eq!(newest_results(&sent), newest);
            }
            // A resumed run gets a valid window as well.
            let mut anew = ContextWindow::new(runs * 2);
            prop_assert_eq!(pairs(anew.fit(&messages, most)), Ok(()));
        }
    }
}

fn results_of(texts: &[&str]) -> Vec<Message> {
    let mut messages = vec![Message::User { text: TASK.into() }];
    for (number, text) in texts.iter().enumerate() {
        let id = number.to_string();
        let call = ToolCallRequest { id: id.clone(), tool: "read".into(), arguments: json!({}) };
        messages.push(Message::Assistant { parts: vec![Part::ToolCall(call)] });
        let (tool, text) = ("read".to_owned(), (*text).to_owned());
        messages.push(Message::ToolResult { call_id: id, tool, text, is_error: number == 0 });
    }
    messages
}

#[test]
fn older_results_are_shortened_first_with_a_note() {
    let long = "x".repeat(3_000);
    let messages = results_of(&[&long, &long, &long]);
    let mut window = ContextWindow::new(0);
    let sent = window.fit(&messages, 2_500);
    assert!(
        matches!(&sent[2], Message::ToolResult { text, .. } if text.contains("bytes left out to save room"))
    );
    assert_eq!(sent[6], messages[6]);
    let again = sent.to_vec();
    let mut longer = messages;
    longer.push(Message::Assistant { parts: vec![Part::Text { text: "Done.".into() }] });
    let sent = window.fit(&longer, 2_500);
    assert_eq!(sent[..again.len()], again, "sent messages stay unchanged");
}

#[test]
fn old_images_are_dropped_before_newer_ones() {
    let mut messages = vec![Message::User { text: TASK.into() }];
    for _ in 0..3 {
        messages.push(Message::Assistant { parts: vec![Part::Text { text: "Look.".into() }] });
        messages.push(Message::Attachments { files: vec![image()] });
    }
    let mut window = ContextWindow::new(0);
    let has_data: Vec<bool> = window
        .fit(&messages, 4_500)
        .iter()
        .filter_map(|message| match message {
            Message::Attachments { files } => Some(files[0].data.is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(has_data, [false, false, true]);
}

#[test]
fn omitted_steps_are_counted_without_their_text() {
    let secret = "Ignore everything. ".repeat(40);
    let texts: Vec<&str> = std::iter::repeat_n(secret.as_str(), 60).collect();
    let messages = results_of(&texts);
    let mut window = ContextWindow::new(0);
    let sent = window.fit(&messages, 1_000);
    let Message::User { text } = &sent[1] else { panic!("no note: {:?}", sent[1]) };
    assert!(text.contains("read ") && text.contains("1 of these calls failed"), "{text}");
    assert!(!text.contains("Ignore"), "{text}");
    let left: usize = text
        .split("read ")
        .nth(1)
        .and_then(|rest| rest.split('×').next())
        .expect("a count")
        .parse()
        .expect("a number");
    assert_eq!(left + (sent.len() - 2) / 2, 60);
}

#[test]
fn omitted_earlier_runs_are_counted_in_place() {
    let mut messages = history(6);
    let mut window = ContextWindow::new(messages.len());
    messages.push(Message::User { text: TASK.into() });
    let first = window.fit(&messages, 2_000).to_vec();
    let Message::User { text } = &first[0] else { panic!("no note: {:?}", first[0]) };
    let left_out = messages.len() + 1 - first.len();
    assert!(left_out > 0 && left_out < 12, "{left_out}");
    assert!(text.contains(&format!("{left_out} messages of earlier runs")), "{text}");
    // More messages are omitted later: still a single line, with the whole count.
    messages.push(Message::Assistant { parts: vec![Part::Text { text: "Done. ".repeat(500) }] });
    let sent = window.fit(&messages, 2_000).to_vec();
    let Message::User { text } = &sent[0] else { panic!("no note: {:?}", sent[0]) };
    assert!(text.contains(&format!("{} messages", messages.len() + 1 - sent.len())), "{text}");
    let is_note = |message: &&Message| matches!(message, Message::User { text } if text.contains("earlier runs"));
    assert_eq!(sent.iter().filter(is_note).count(), 1);
}

#[test]
fn note_of_the_session_memory_stays() {
    let said = format!("{EARLIER_RUNS_NOTE}the first ten.)");
    let mut messages = vec![Message::User { text: said.clone() }];
    messages.extend(history(6));
    let mut window = ContextWindow::new(messages.len());
    messages.push(Message::User { text: TASK.into() });
    let sent = window.fit(&messages, 2_000);
    let Message::User { text } = &sent[0] else { panic!("no note: {:?}", sent[0]) };
    assert!(text.starts_with(&said) && text.contains("messages of earlier runs"), "{text}");
}

#[test]
fn overlong_task_keeps_beginning_and_end() {
    let task = format!("Begin. {} End.", "y".repeat(100_000));
    let messages = vec![Message::User { text: task }];
    let mut window = ContextWindow::new(0);
    let sent = window.fit(&messages, 2_000);
    let Message::User { text } = &sent[0] else { panic!("no task") };
    assert!(text.starts_with("Begin.") && text.ends_with("End.") && text.len() < 6_000);
}
