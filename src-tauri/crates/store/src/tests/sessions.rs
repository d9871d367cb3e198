//! Transcripts, session taint, clearing.

use rouse_core::SessionKey;
use rouse_core::message::{Message, Part};
use rouse_core::run::Outcome;

use super::*;
use crate::{
    NewStep, RunEnd, SessionTaint, SkillText, StepKind, StoreError, TranscriptEntry, TranscriptRow,
};

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

async fn texts(fixture: &Fixture, session: &SessionKey, limit: u32) -> Vec<Message> {
    let messages = fixture.store.messages(session, limit).await.unwrap();
    messages.into_iter().map(|stored| stored.message).collect()
}

#[tokio::test]
async fn transcript_keeps_order_and_run() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let answer = Message::Assistant {
        parts: vec![Part::Opaque {
            provider: "p".to_owned(),
            block: json!({ "z": 1, "a": [2, null] }),
        }],
    };
    let result = Message::ToolResult {
        call_id: "1".to_owned(),
        tool: "echo".to_owned(),
        text: "\"quoted\"\n✓".to_owned(),
        is_error: true,
    };
    let messages = [user("one"), answer, result];
    fixture.store.append_messages(&session, Some(&id), &messages, NOW).await.unwrap();
    fixture.store.append_messages(&session, None, &[user("two")], NOW.plus_ms(1)).await.unwrap();
    fixture.store.append_messages(&session, None, &[], NOW.plus_ms(9)).await.unwrap();

    let stored = fixture.store.messages(&session, 10).await.unwrap();
    let [one, answer, result] = messages;
    let wanted = [one, answer, result.clone(), user("two")];
    assert_eq!(texts(&fixture, &session, 10).await, wanted);
    assert_eq!(texts(&fixture, &session, 2).await, [result, user("two")]);
    assert_eq!((stored[0].run_id.clone(), stored[0].at), (Some(id.clone()), NOW));
    assert_eq!((stored[3].run_id.clone(), stored[3].at), (None, NOW.plus_ms(1)));
    assert_eq!(fixture.run(&id).await.session, Some(session.clone()));
    assert_eq!(texts(&fixture, &SessionKey::main(), 10).await, []);

    fixture
        .store
        .append_messages(&SessionKey::main(), None, &[user("x")], NOW.plus_ms(5))
        .await
        .unwrap();
    let (at, later) = (NOW.plus_ms(5).0, NOW.plus_ms(1).0);
    let kept = [("cron:a".to_owned(), NOW.0, later, 4), ("main".to_owned(), at, at, 1)];
    assert_eq!(sessions(&fixture.store).await, kept);
}

#[tokio::test]
async fn main_turn_drains_only_its_lines() {
    let fixture = Fixture::new().await;
    let run = manual_run();
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let mut ids = Vec::new();
    for text in ["first", "second", "came later"] {
        ids.push(fixture.store.queue_system_event(text, "wake", &[], NOW).await.unwrap());
    }
    fixture.take_events();
    fixture.store.drain_system_events(&run.id, &ids[..2], NOW).await.unwrap();
    let pending = fixture.store.pending_system_events(1_000).await.unwrap();
    assert_eq!(pending.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(), ["came later"]);
    assert_eq!(fixture.take_events(), [(EventKind::Heartbeat, json!({ "queued": 1 }))]);
}

#[tokio::test]
async fn transcript_pages_are_read_from_the_end() {
    let fixture = Fixture::new().await;
    let (main, other) = (SessionKey::main(), SessionKey::of_job(&JobId::new("a")));
    assert_eq!(fixture.store.sessions(10).await.unwrap(), []);
    assert_eq!(fixture.store.session(&main).await.unwrap(), None);
    let five: Vec<Message> = (0..5).map(|number| user(&number.to_string())).collect();
    fixture.store.append_messages(&main, None, &five, NOW).await.unwrap();
    fixture.store.append_messages(&other, None, &five[..1], NOW.plus_ms(1)).await.unwrap();
    let listed = fixture.store.sessions(10).await.unwrap();
    let keys: Vec<_> = listed.iter().map(|row| (row.key.clone(), row.messages)).collect();
    assert_eq!(keys, [(other.clone(), 1), (main.clone(), 5)]);
    assert_eq!(fixture.store.sessions(1).await.unwrap(), listed[..1]);
    assert_eq!(fixture.store.session(&main).await.unwrap().as_ref(), Some(&listed[1]));
    assert_eq!((other.job_id(), main.job_id()), (Some(JobId::new("a")), None));

    let page = async |before| fixture.store.transcript_before(&main, before, 2).await.unwrap();
    let newest = page(None).await;
    let entries =
        |page: &[TranscriptRow]| page.iter().map(|it| it.entry.clone()).collect::<Vec<_>>();
    let five: Vec<TranscriptEntry> = five.into_iter().map(TranscriptEntry::Message).collect();
    assert_eq!(entries(&newest), five[3..]);
    let earlier = page(Some(newest[0].id)).await;
    assert_eq!(entries(&earlier), five[1..3]);
    assert_eq!(page(Some(earlier[0].id)).await.len(), 1);
}

#[tokio::test]
async fn session_taint_only_grows_and_survives_damage() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let session = SessionKey::of_job(&JobId::new("a"));
    let text = |skill: &str| SkillText {
        skill: skill.to_owned(),
        path: Some("a.txt".to_owned()),
        digest: "00ff".to_owned(),
    };
    let taint = |is_tainted, skills: &[&str]| SessionTaint {
        is_tainted,
        skill_texts: skills.iter().map(|skill| text(skill)).collect(),
    };
    assert_eq!(store.session_taint(&session).await.unwrap(), SessionTaint::default());
    store.append_messages(&session, None, &[user("one")], NOW).await.unwrap();
    assert!(!store.is_session_tainted(&session, &[]).await.unwrap());
    for (new, all) in [
        (taint(false, &[]), taint(false, &[])),
        (taint(false, &["tea"]), taint(false, &["tea"])),
        (taint(true, &[]), taint(true, &["tea"])),
        (taint(false, &["tea", "mail"]), taint(true, &["tea", "mail"])),
    ] {
        store.record_taint(&session, &new, NOW).await.unwrap();
        assert_eq!(store.session_taint(&session).await.unwrap(), all);
    }
    assert!(store.is_session_tainted(&session, &[]).await.unwrap());
    assert_eq!(store.session(&session).await.unwrap().unwrap().messages, 1);

    let garbled = "UPDATE sessions SET skill_texts = '{' WHERE key = $1";
    fixture.garble(garbled, session.as_str()).await;
    for _ in 0..2 {
        let read = store.session_taint(&session).await.unwrap();
        assert_eq!(read.skill_texts[0].skill, "?", "the session stays tainted");
        store.record_taint(&session, &taint(true, &["tea"]), NOW).await.unwrap();
    }
    assert_eq!(store.session_taint(&session).await.unwrap().skill_texts.len(), 2);
    store.clear_session(&session, NOW).await.unwrap();
    assert_eq!(store.session_taint(&session).await.unwrap(), SessionTaint::default());
}

#[tokio::test]
async fn cleared_session_loses_transcript_and_taint() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = fixture.running("a").await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let messages = [user("one"), user("two")];
    store.append_messages(&session, Some(&id), &messages, NOW).await.unwrap();
    store.append_messages(&SessionKey::main(), None, &[user("kept")], NOW).await.unwrap();
    let step = NewStep {
        run_id: id.clone(),
        kind: StepKind::ToolCall,
        name: "http".to_owned(),
        repeatable: true,
        input: json!({}),
        call_id: None,
        gate: None,
    };
    store.begin_step(&step, NOW).await.unwrap();
    assert!(store.is_session_tainted(&session, &["echo"]).await.unwrap());

    let early = store.clear_session(&session, NOW).await;
    assert!(matches!(early, Err(StoreError::InUse { run }) if run == id));
    assert_eq!(texts(&fixture, &session, 9).await, messages);
    let end = RunEnd::of(id.clone(), Outcome::of(RunState::Succeeded), NOW);
    store.finish_run(&end).await.unwrap();
    // A queued run does not know the transcript yet.
    let next = slot_run("a", NOW.plus_ms(60_000));
    store.insert_run(&next, NOW).await.unwrap();
    fixture.take_events();
    assert!(store.clear_session(&session, NOW).await.unwrap());
    let event = json!({ "session": "cron:a", "jobId": "a" });
    assert_eq!(fixture.take_events(), [(EventKind::Session, event)]);
    assert_eq!(store.session(&session).await.unwrap(), None);
    assert_eq!(store.transcript_before(&session, None, 9).await.unwrap(), []);
    assert!(!store.is_session_tainted(&session, &["echo"]).await.unwrap());
    assert_eq!(store.session_reads(&session, "http").await.unwrap().calls, []);
    assert_eq!(store.steps(&id).await.unwrap().len(), 1, "the journal stays");
    assert!(!store.clear_session(&session, NOW).await.unwrap());
    assert_eq!(fixture.take_events(), [], "nothing has changed");
    assert_eq!(texts(&fixture, &SessionKey::main(), 9).await, [user("kept")]);

    // A queued run that has begun before knows the summary.
    store.start_runs(std::slice::from_ref(&next.id), NOW).await.unwrap();
    store.append_messages(&session, Some(&next.id), &[user("x")], NOW).await.unwrap();
    fixture.garble("UPDATE runs SET state = 'queued' WHERE id = $1", next.id.as_str()).await;
    let early = store.clear_session(&session, NOW).await;
    assert!(matches!(early, Err(StoreError::InUse { run }) if run == next.id));
}

#[tokio::test]
async fn run_without_session_does_not_block_clearing() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    store.append_messages(&SessionKey::main(), None, &[user("Hello")], NOW).await.unwrap();
    let tried = Run {
        job_id: None,
        slot_at: None,
        session: None,
        state: RunState::Running,
        started_at: Some(NOW),
        ..slot_run("a", NOW)
    };
    store.insert_run(&tried, NOW).await.unwrap();
    assert!(store.clear_session(&SessionKey::main(), NOW).await.unwrap());
}
