//! Permission requests and reports of coding agents.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Cost, Diff, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, SessionUpdate, TextContent, ToolCall, UsageUpdate,
};
use serde_json::json;

use super::permission::{PermissionDecision, action_hash, answer_of, details_of};
use super::task_record::TaskRecord;

fn options(kinds: &[PermissionOptionKind]) -> Vec<PermissionOption> {
    let option = |kind: &PermissionOptionKind| {
        PermissionOption::new(format!("{kind:?}"), format!("{kind:?}"), *kind)
    };
    kinds.iter().map(option).collect()
}

fn usual() -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
    options(&[AllowAlways, AllowOnce, RejectOnce])
}

fn edit(new: &str) -> ToolCall {
    let diff = Diff::new("/w/a.rs", new).old_text("one\n".to_owned());
    let mut call = ToolCall::new("c1", "Edit\u{202e} a.rs");
    call.content = vec![diff.into()];
    call.raw_input = Some(json!({ "path": "/w/a.rs" }));
    call
}

/// The name of the chosen option; none for a cancelled request.
fn chosen(options: &[PermissionOption], decision: PermissionDecision) -> Option<String> {
    match answer_of(options, decision).outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.to_string()),
        _ => None,
    }
}

#[test]
fn details_show_input_and_every_changed_line() {
    let details = details_of(&edit("one\ntwo\u{200b}\n"), &usual()).expect("shown");
    assert_eq!(details.lines().next(), Some("Edit a.rs"));
    assert!(details.contains("\"path\": \"/w/a.rs\""), "{details}");
    assert!(details.contains("+two⟨U+200B⟩"), "{details}");
}

#[test]
fn request_that_no_person_can_decide_is_rejected() {
    let large = edit(&"x\n".repeat(200_000));
    assert_eq!(details_of(&large, &usual()), Err("is too large to be shown"));
    let always = options(&[PermissionOptionKind::AllowAlways]);
    assert!(details_of(&edit("x"), &always).is_err());
}

#[test]
fn content_without_a_text_is_shown_as_json() {
    let mut action = edit("one\n");
    let link = json!({ "type": "resource_link", "uri": "file:///etc/secret", "name": "\u{202e}x" });
    let link: ContentBlock = serde_json::from_value(link).expect("a link");
    action.content.push(link.into());
    let details = details_of(&action, &usual()).expect("shown");
    assert!(details.contains("/w/a.rs: no changed line"), "{details}");
    assert!(details.contains("file:///etc/secret") && details.contains("⟨U+202E⟩"), "{details}");
}

#[test]
fn titles_of_earlier_reports_stay() {
    let mut record = TaskRecord::default();
    record.apply(SessionUpdate::ToolCall(ToolCall::new("c1", "Look around")));
    drop(record.take_report());
    record.apply(SessionUpdate::ToolCall(ToolCall::new("c2", "Write a file")));
    assert_eq!(record.titles(), ["Look around", "Write a file"]);
    record.resume(record.titles());
    record.apply(SessionUpdate::ToolCall(ToolCall::new("c3", "Run it")));
    assert_eq!(record.titles(), ["Look around", "Write a file", "Run it"]);
}

#[test]
fn answer_never_allows_more_than_once() {
    use PermissionDecision::{AllowForRun, AllowOnce, Cancel, Deny};
    for (decision, expected) in [
        (AllowOnce, Some("AllowOnce")),
        (AllowForRun, Some("AllowOnce")),
        (Deny, Some("RejectOnce")),
        (Cancel, None),
    ] {
        assert_eq!(chosen(&usual(), decision).as_deref(), expected, "{decision:?}");
    }
    let without_reject = options(&[PermissionOptionKind::AllowOnce]);
    assert_eq!(chosen(&without_reject, Deny), None);
}

#[test]
fn hash_of_an_action_covers_its_content() {
    assert_eq!(action_hash(&edit("a")), action_hash(&edit("a")));
    assert_ne!(action_hash(&edit("a")), action_hash(&edit("b")));
}

fn says(text: &str) -> SessionUpdate {
    let content = ContentBlock::Text(TextContent::new(text));
    SessionUpdate::AgentMessageChunk(ContentChunk::new(content))
}

#[test]
fn report_has_the_last_message_and_the_newest_actions() {
    let mut record = TaskRecord::default();
    drop(record.apply(says("First.")));
    for number in 0..205 {
        let line = record.apply(SessionUpdate::ToolCall(ToolCall::new("c", format!("{number}"))));
        assert_eq!(line, Some(number.to_string()));
    }
    drop(record.apply(says("All ")));
    drop(record.apply(says("done.")));
    let report = record.take_report();
    assert_eq!((&report["result"], &report["earlierSteps"]), (&json!("All done."), &json!(5)));
    assert_eq!(report["steps"].as_array().map(Vec::len), Some(200));
    assert_eq!(report["steps"][0]["title"], "5");
}

#[test]
fn each_report_has_its_own_part_of_the_cost() {
    let mut record = TaskRecord::default();
    let cost = |amount, currency: &str| {
        let cost = Cost::new(amount, currency);
        SessionUpdate::UsageUpdate(UsageUpdate::new(1, 2).cost(cost))
    };
    assert_eq!(record.take_cost(), None);
    drop(record.apply(cost(0.25, "USD")));
    assert_eq!(record.take_cost(), Some(250_000));
    drop(record.apply(cost(9.0, "EUR")));
    drop(record.apply(cost(0.75, "USD")));
    assert_eq!(record.take_cost(), Some(500_000));
}
