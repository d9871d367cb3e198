//! Summaries in transcripts, and the taint of runs.

use rouse_core::SessionKey;
use rouse_core::message::Message;
use rouse_core::run::Usage;

use super::*;
use crate::{
    JournalNote, NewStep, StepEnd, StepKind, StepStatus, TranscriptEntry, TranscriptSummary,
};

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn summary(text: &str, until: i64) -> TranscriptSummary {
    TranscriptSummary {
        text: text.to_owned(),
        made_by: RunId::new("r9"),
        until,
        messages: 2,
        first_at: NOW,
        last_at: NOW.plus_ms(1),
        is_tainted: true,
        untrusted_skills: Vec::new(),
    }
}

async fn texts(fixture: &Fixture, session: &SessionKey) -> Vec<Message> {
    let messages = fixture.store.messages(session, 100).await.unwrap();
    messages.into_iter().map(|stored| stored.message).collect()
}

#[tokio::test]
async fn summary_is_part_of_the_transcript_but_no_message() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let (main, other) = (SessionKey::main(), SessionKey::of_job(&JobId::new("a")));
    let run = RunId::new("r1");
    assert_eq!(store.summary(&main).await.unwrap(), None);
    // A message may look like a summary.
    let four = [user("1"), user("2"), user(r#"{"role":"summary""#), user("4")];
    store.append_messages(&main, Some(&run), &four, NOW).await.unwrap();
    store.append_messages(&other, None, &four[..1], NOW).await.unwrap();
    let second = store.messages(&main, 10).await.unwrap()[1].id;
    let first = summary("\"One\"\nand two", second);
    store.add_summary(&main, first.clone(), NOW.plus_ms(5)).await.unwrap();
    store.append_messages(&main, Some(&run), &[user("5")], NOW.plus_ms(6)).await.unwrap();

    assert_eq!(store.summary(&main).await.unwrap(), Some(first.clone()));
    assert_eq!(store.summary(&other).await.unwrap(), None);
    assert_eq!(texts(&fixture, &main).await.len(), 5);
    assert_eq!(store.messages_of_run(&main, &run).await.unwrap().len(), 5);
    let after = store.messages_after(&main, second, 10).await.unwrap();
    let after: Vec<Message> = after.into_iter().map(|stored| stored.message).collect();
    assert_eq!(after, [four[2].clone(), four[3].clone(), user("5")]);
    let newest = store.messages_after(&main, second, 2).await.unwrap();
    assert_eq!(newest[0].message, four[3]);
    assert_eq!(store.count_rows_after(&main, second).await.unwrap(), 4, "rows with the summary");
    let rows = store.transcript_before(&main, None, 3).await.unwrap();
    let rows: Vec<TranscriptEntry> = rows.into_iter().map(|row| row.entry).collect();
    let [_, _, _, four] = four;
    assert_eq!(
        rows,
        [
            TranscriptEntry::Message(four),
            TranscriptEntry::Summary(first),
            TranscriptEntry::Message(user("5"))
        ]
    );

    let second = summary("More", second + 1);
    store.add_summary(&main, second.clone(), NOW.plus_ms(7)).await.unwrap();
    assert_eq!(store.summary(&main).await.unwrap(), Some(second), "the newest summary counts");
}

#[tokio::test]
async fn summary_survives_its_run_and_goes_with_its_session() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let session = SessionKey::of_job(&JobId::new("a"));
    let mut runs = Vec::new();
    for minute in 0..2 {
        let at = NOW.plus_ms(minute * 60_000);
        let run = Run {
            state: RunState::Succeeded,
            finished_at: Some(at),
            id: RunId::generate(at),
            ..slot_run("a", at)
        };
        store.insert_run(&run, at).await.unwrap();
        store.append_messages(&session, Some(&run.id), &[user("x")], at).await.unwrap();
        let made = TranscriptSummary { made_by: run.id.clone(), ..summary("So far", 1) };
        store.add_summary(&session, made, at).await.unwrap();
        runs.push(run.id);
    }
    let later = NOW.plus_ms(86_400_000);
    while store.prune_runs_of(Some(&JobId::new("a")), 1, later).await.unwrap() {}
    assert_eq!(store.run(&runs[0]).await.unwrap(), None);
    assert_eq!(store.transcript_before(&session, None, 9).await.unwrap().len(), 3);
    assert!(store.summary(&session).await.unwrap().is_some());
    while store.prune_oldest_runs(later).await.unwrap() {}
    assert_eq!(store.session(&session).await.unwrap(), None, "the session is deleted");
    assert_eq!(store.transcript_before(&session, None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn run_taint_is_read_from_journals() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let (reads, notes) = (fixture.running("a").await, fixture.running("b").await);
    let step = NewStep {
        run_id: reads.clone(),
        kind: StepKind::ToolCall,
        name: "http".to_owned(),
        call_id: None,
        repeatable: true,
        input: json!({}),
        gate: None,
    };
    store.begin_step(&step, NOW).await.unwrap();
    let tell = async |is_tainted: bool| {
        let input = json!({ "fromOutside": is_tainted });
        let note = JournalNote { run_id: &notes, name: "n", input, output: None, is_error: false };
        store.add_note(note, NOW).await.unwrap();
    };
    tell(false).await;
    let any =
        async |runs: &[RunId], tools: &[&str]| store.is_any_run_tainted(runs, tools).await.unwrap();
    let both = [notes.clone(), reads.clone()];
    assert!(any(&both, &["echo"]).await);
    assert!(!any(&both, &["http"]).await && !any(&both[..1], &["echo"]).await);
    assert!(!any(&[], &["echo"]).await);
    tell(true).await;
    assert!(any(&both[..1], &[]).await);
}

#[tokio::test]
async fn unfinished_summary_is_found_in_any_run() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let runs = [fixture.running("a").await, fixture.running("b").await, fixture.running("c").await];
    let asks = async |run: &RunId, kind, status| {
        let step = NewStep {
            run_id: run.clone(),
            kind,
            name: "m-1".to_owned(),
            call_id: None,
            repeatable: true,
            input: json!({}),
            gate: None,
        };
        let seq = store.begin_step(&step, NOW).await.unwrap();
        let usage = Usage::default();
        let end = StepEnd { status, output: None, is_error: false, usage, duration_ms: None };
        store.end_step(run, seq, &end, NOW).await.unwrap();
    };
    let in_vain = async |runs: &[RunId]| store.has_unfinished_summary(runs).await.unwrap();
    asks(&runs[0], StepKind::Summary, StepStatus::Finished).await;
    asks(&runs[1], StepKind::ModelTurn, StepStatus::Failed).await;
    assert!(!in_vain(&runs).await && !in_vain(&[]).await);
    asks(&runs[2], StepKind::Summary, StepStatus::Failed).await;
    assert!(in_vain(&runs).await && !in_vain(&runs[..2]).await);
}
