use rouse_core::SessionKey;
use rouse_core::message::{Message, Part};
use rouse_core::run::Outcome;

use super::*;
use crate::{Entry, Finish, Inherited, NewStep, SkillText, StepKind, StoreError, StoredEntry};

fn said(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

async fn texts(fixture: &Fixture, session: &SessionKey, limit: u32) -> Vec<Message> {
    let messages = fixture.store.messages(session, limit).await.unwrap();
    messages.into_iter().map(|stored| stored.message).collect()
}

#[tokio::test]
async fn a_transcript_grows_in_order_and_names_its_run() {
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
    let messages = [said("one"), answer, result];
    fixture.store.append_messages(&session, Some(&id), &messages, NOW).await.unwrap();
    fixture.store.append_messages(&session, None, &[said("two")], NOW.plus_ms(1)).await.unwrap();
    fixture.store.append_messages(&session, None, &[], NOW.plus_ms(9)).await.unwrap();

    let stored = fixture.store.messages(&session, 10).await.unwrap();
    let [one, answer, result] = messages;
    let wanted = [one, answer, result.clone(), said("two")];
    assert_eq!(texts(&fixture, &session, 10).await, wanted);
    assert_eq!(texts(&fixture, &session, 2).await, [result, said("two")]);
    assert_eq!((stored[0].run_id.clone(), stored[0].at), (Some(id.clone()), NOW));
    assert_eq!((stored[3].run_id.clone(), stored[3].at), (None, NOW.plus_ms(1)));
    assert_eq!(fixture.run(&id).await.session, Some(session.clone()));
    assert_eq!(texts(&fixture, &SessionKey::main(), 10).await, []);

    fixture
        .store
        .append_messages(&SessionKey::main(), None, &[said("x")], NOW.plus_ms(5))
        .await
        .unwrap();
    let (at, later) = (NOW.plus_ms(5).0, NOW.plus_ms(1).0);
    let kept = [("cron:a".to_owned(), NOW.0, later, 4), ("main".to_owned(), at, at, 1)];
    assert_eq!(sessions(&fixture.store).await, kept);
}

#[tokio::test]
async fn a_main_turn_takes_what_it_saw_and_nothing_else() {
    let fixture = Fixture::new().await;
    let run = manual_run();
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let mut ids = Vec::new();
    for text in ["first", "second", "came later"] {
        ids.push(fixture.store.queue_system_event(text, "wake", &[], NOW).await.unwrap());
    }
    fixture.told();
    fixture.store.drain_system_events(&run.id, &ids[..2], NOW).await.unwrap();
    let pending = fixture.store.pending_system_events(1_000).await.unwrap();
    assert_eq!(pending.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(), ["came later"]);
    assert_eq!(fixture.told(), [(EventKind::Heartbeat, json!({ "queued": 1 }))]);
}

#[tokio::test]
async fn sessions_are_listed_and_a_transcript_is_read_from_its_end() {
    let fixture = Fixture::new().await;
    let (main, other) = (SessionKey::main(), SessionKey::of_job(&JobId::new("a")));
    assert_eq!(fixture.store.sessions(10).await.unwrap(), []);
    assert_eq!(fixture.store.session(&main).await.unwrap(), None);
    let five: Vec<Message> = (0..5).map(|number| said(&number.to_string())).collect();
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
    let said = |page: &[StoredEntry]| page.iter().map(|it| it.entry.clone()).collect::<Vec<_>>();
    let five: Vec<Entry> = five.into_iter().map(Entry::Said).collect();
    assert_eq!(said(&newest), five[3..]);
    let earlier = page(Some(newest[0].id)).await;
    assert_eq!(said(&earlier), five[1..3]);
    assert_eq!(page(Some(earlier[0].id)).await.len(), 1);
}

#[tokio::test]
async fn what_a_session_leaves_to_its_next_runs_only_grows_and_is_never_believed_when_it_is_damaged()
 {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let session = SessionKey::of_job(&JobId::new("a"));
    let text = |skill: &str| SkillText {
        skill: skill.to_owned(),
        path: Some("a.txt".to_owned()),
        digest: "00ff".to_owned(),
    };
    let left = |from_outside, skills: &[&str]| Inherited {
        from_outside,
        skill_texts: skills.iter().map(|skill| text(skill)).collect(),
    };
    assert_eq!(store.inherited(&session).await.unwrap(), Inherited::default());
    store.append_messages(&session, None, &[said("one")], NOW).await.unwrap();
    assert!(!store.session_knows_outside(&session, &[]).await.unwrap());
    for (new, all) in [
        (left(false, &[]), left(false, &[])),
        (left(false, &["tea"]), left(false, &["tea"])),
        (left(true, &[]), left(true, &["tea"])),
        (left(false, &["tea", "mail"]), left(true, &["tea", "mail"])),
    ] {
        store.bequeath(&session, &new, NOW).await.unwrap();
        assert_eq!(store.inherited(&session).await.unwrap(), all);
    }
    assert!(store.session_knows_outside(&session, &[]).await.unwrap());
    assert_eq!(store.session(&session).await.unwrap().unwrap().messages, 1);

    let garbled = "UPDATE sessions SET skill_texts = '{' WHERE key = ?1";
    fixture.garble(garbled, session.as_str()).await;
    for _ in 0..2 {
        let read = store.inherited(&session).await.unwrap();
        assert_eq!(read.skill_texts[0].skill, "?", "nobody can trust it");
        store.bequeath(&session, &left(true, &["tea"]), NOW).await.unwrap();
    }
    assert_eq!(store.inherited(&session).await.unwrap().skill_texts.len(), 2);
    store.clear_session(&session, NOW).await.unwrap();
    assert_eq!(store.inherited(&session).await.unwrap(), Inherited::default());
}

#[tokio::test]
async fn a_session_is_cleared_with_all_that_tells_what_it_has_read() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let id = fixture.running("a").await;
    let session = SessionKey::of_job(&JobId::new("a"));
    let messages = [said("one"), said("two")];
    store.append_messages(&session, Some(&id), &messages, NOW).await.unwrap();
    store.append_messages(&SessionKey::main(), None, &[said("kept")], NOW).await.unwrap();
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
    assert!(store.session_knows_outside(&session, &["http"]).await.unwrap());

    let early = store.clear_session(&session, NOW).await;
    assert!(matches!(early, Err(StoreError::InUse { run }) if run == id));
    assert_eq!(texts(&fixture, &session, 9).await, messages);
    let end = Finish::of(id.clone(), Outcome::of(RunState::Succeeded), NOW);
    store.finish_run(&end).await.unwrap();
    // A run that waits for its turn has been told nothing yet.
    let next = slot_run("a", NOW.plus_ms(60_000));
    store.insert_run(&next, NOW).await.unwrap();
    fixture.told();
    assert!(store.clear_session(&session, NOW).await.unwrap());
    let event = json!({ "session": "cron:a", "jobId": "a" });
    assert_eq!(fixture.told(), [(EventKind::Session, event)]);
    assert_eq!(store.session(&session).await.unwrap(), None);
    assert_eq!(store.transcript_before(&session, None, 9).await.unwrap(), []);
    assert!(!store.session_knows_outside(&session, &["http"]).await.unwrap());
    assert_eq!(store.session_reads(&session, "http").await.unwrap().calls, []);
    assert_eq!(store.steps(&id).await.unwrap().len(), 1, "the journal stays");
    assert!(!store.clear_session(&session, NOW).await.unwrap());
    assert_eq!(fixture.told(), [], "nothing has changed");
    assert_eq!(texts(&fixture, &SessionKey::main(), 9).await, [said("kept")]);

    // One that waits again after it has begun goes on with what was said.
    store.start_runs(std::slice::from_ref(&next.id), NOW).await.unwrap();
    store.append_messages(&session, Some(&next.id), &[said("x")], NOW).await.unwrap();
    fixture.garble("UPDATE runs SET state = 'queued' WHERE id = ?1", next.id.as_str()).await;
    let early = store.clear_session(&session, NOW).await;
    assert!(matches!(early, Err(StoreError::InUse { run }) if run == next.id));
}

#[tokio::test]
async fn a_run_that_belongs_to_no_session_is_in_the_way_of_none() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    store.append_messages(&SessionKey::main(), None, &[said("Hello")], NOW).await.unwrap();
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
