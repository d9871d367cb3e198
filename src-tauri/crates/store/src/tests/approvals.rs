use std::collections::BTreeMap;

use rouse_core::approval::{
    Answer, AnsweredFrom, Approval, ApprovalState, Cover, Fingerprint, NewGrant, Permit, Rule,
    Scope, Surroundings, WorksIn,
};
use rouse_core::{ApprovalId, Outcome};

use super::*;
use crate::finish::Finish;
use crate::write::Durability;
use crate::{Decided, NewStep, Park, StepKind};

const MINUTE: i64 = 60_000;

/// A run of the job `job` at work.
async fn at_work(fixture: &Fixture) -> Run {
    fixture.store.insert_job(&job("job"), NOW).await.unwrap();
    let run = Run { id: RunId::new("run"), state: RunState::Running, ..slot_run("job", NOW) };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    run
}

fn question(id: &str, command: &str) -> Approval {
    let arguments = json!({ "command": command });
    Approval {
        id: ApprovalId::new(id),
        run_id: RunId::new("run"),
        job_id: Some(JobId::new("job")),
        job_name: "job".to_owned(),
        call_id: format!("call-{id}"),
        tool: "run_command".to_owned(),
        fingerprint: Fingerprint::of("run_command", &arguments, &Surroundings::default()),
        arguments,
        surroundings: Surroundings { directory: Some("/w".to_owned()), ..Surroundings::default() },
        preview: command.to_owned(),
        why: "It changes things.".to_owned(),
        is_highest: false,
        asked_at: NOW,
        expires_at: NOW.plus_ms(30 * MINUTE),
        state: ApprovalState::Pending,
        answered_from: None,
        used_at: None,
    }
}

async fn parked(fixture: &Fixture, questions: Vec<Approval>) -> Run {
    let run = at_work(fixture).await;
    let usage = Usage { input_tokens: 5, output_tokens: 2, ..Usage::default() };
    let park =
        Park { run_id: run.id, questions, usage, worked_ms: 0, deliveries: Vec::new(), now: NOW };
    fixture.store.park_run(&park).await.unwrap().expect("it was at work")
}

async fn state_of_run(fixture: &Fixture) -> RunState {
    fixture.store.run(&RunId::new("run")).await.unwrap().unwrap().state
}

#[tokio::test]
async fn a_run_is_parked_with_its_questions_and_goes_on_with_the_last_answer() {
    let fixture = Fixture::new().await;
    let run = parked(&fixture, vec![question("a", "ls"), question("b", "rm x")]).await;
    assert_eq!((run.state, run.usage.input_tokens), (RunState::AwaitingApproval, 5));
    assert_eq!(
        fixture.store.pending_approvals().await.unwrap(),
        [question("a", "ls"), question("b", "rm x")]
    );

    let first = fixture
        .store
        .decide(&ApprovalId::new("a"), &Answer::Once, AnsweredFrom::Page, NOW)
        .await
        .unwrap();
    assert!(matches!(&first, Decided::Counts { goes_on, .. } if goes_on.is_empty()), "{first:?}");
    assert_eq!(state_of_run(&fixture).await, RunState::AwaitingApproval);

    let no = Answer::Deny { reason: Some("Not that one.".to_owned()) };
    let last =
        fixture.store.decide(&ApprovalId::new("b"), &no, AnsweredFrom::Page, NOW).await.unwrap();
    let Decided::Counts { approval, goes_on } = last else { panic!("{last:?}") };
    let [run] = goes_on.as_slice() else { panic!("{goes_on:?}") };
    let denied = ApprovalState::Denied { reason: Some("Not that one.".to_owned()), at: NOW };
    assert_eq!((approval.state, run.state), (denied, RunState::Queued));
    assert_eq!(state_of_run(&fixture).await, RunState::Queued);
}

/// Another run of the job that asks this.
async fn asks_too(fixture: &Fixture, run: &str, questions: Vec<Approval>) {
    let run = Run {
        id: RunId::new(run),
        state: RunState::Running,
        slot_at: None,
        ..slot_run("job", NOW)
    };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let questions = questions.into_iter().map(|asked| Approval { run_id: run.id.clone(), ..asked });
    let park = Park {
        run_id: run.id.clone(),
        questions: questions.collect(),
        usage: Usage::default(),
        worked_ms: 0,
        deliveries: Vec::new(),
        now: NOW,
    };
    fixture.store.park_run(&park).await.unwrap().expect("it was at work");
}

#[tokio::test]
async fn a_grant_answers_what_is_open_and_no_more_than_it_is_good_for() {
    let highest = Approval { is_highest: true, ..question("h", "ls 4") };
    let ungranted =
        Surroundings { ungranted: Some("No.".to_owned()), ..question("u", "ls 5").surroundings };
    let ungranted = Approval { surroundings: ungranted, ..question("u", "ls 5") };
    for (uses, covered) in [(None, vec!["b", "c"]), (Some(1), vec!["b"])] {
        let fixture = Fixture::new().await;
        let store = &fixture.store;
        parked(&fixture, vec![question("a", "ls 1"), question("b", "ls 2")]).await;
        asks_too(&fixture, "second", vec![question("c", "ls 3")]).await;
        let others = vec![question("d", "rm x"), highest.clone(), ungranted.clone()];
        asks_too(&fixture, "third", others).await;
        let rule = Rule::OneOf((1..9).map(|n| json!(format!("ls {n}"))).collect());
        let covers = Cover::Pattern {
            rules: BTreeMap::from([("command".to_owned(), rule)]),
            values: Vec::new(),
            works_in: WorksIn::Folder("/w".to_owned()),
        };
        let always = Answer::Always(NewGrant { covers, expires_at: None, uses });
        let decided =
            store.decide(&ApprovalId::new("a"), &always, AnsweredFrom::Page, NOW).await.unwrap();
        let Decided::Counts { goes_on, .. } = decided else { panic!("{decided:?}") };
        let goes_on: Vec<&str> = goes_on.iter().map(|run| run.id.as_str()).collect();
        let all = store.newest_approvals(10).await.unwrap();
        let is_covered = |asked: &&Approval| asked.state == ApprovalState::Covered { at: NOW };
        let mut found: Vec<_> =
            all.iter().filter(is_covered).map(|asked| asked.id.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, covered);
        assert_eq!(goes_on, if uses.is_none() { vec!["run", "second"] } else { vec!["run"] });
    }
}

#[tokio::test]
async fn the_first_answer_counts_and_none_after_the_end() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls")]).await;
    let end = NOW.plus_ms(30 * MINUTE);
    let id = ApprovalId::new("a");
    let late = fixture.store.decide(&id, &Answer::Once, AnsweredFrom::Page, end).await.unwrap();
    assert!(
        matches!(&late, Decided::TooLate(question) if question.state == ApprovalState::Pending)
    );
    let in_time =
        fixture.store.decide(&id, &Answer::Run, AnsweredFrom::Page, end.plus_ms(-1)).await.unwrap();
    assert!(matches!(in_time, Decided::Counts { .. }));
    let no = Answer::Deny { reason: None };
    let twice = fixture.store.decide(&id, &no, AnsweredFrom::Page, end.plus_ms(-1)).await.unwrap();
    let Decided::TooLate(question) = twice else { panic!("{twice:?}") };
    assert_eq!(question.state, ApprovalState::Approved { scope: Scope::Run, at: end.plus_ms(-1) });
    let nobody =
        fixture.store.decide(&ApprovalId::new("x"), &Answer::Once, AnsweredFrom::Page, NOW).await;
    assert!(matches!(nobody, Err(crate::StoreError::NotFound { .. })));
}

#[tokio::test]
async fn what_nobody_answers_expires_and_its_run_goes_on_to_hear_of_it() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls")]).await;
    let end = NOW.plus_ms(30 * MINUTE);
    assert_eq!(fixture.store.next_expiry().await.unwrap(), Some(end));
    assert!(fixture.store.expire_approvals(end.plus_ms(-1)).await.unwrap().is_empty());
    let goes_on = fixture.store.expire_approvals(end).await.unwrap();
    assert_eq!(goes_on.iter().map(|run| run.state).collect::<Vec<_>>(), [RunState::Queued]);
    assert_eq!(fixture.store.next_expiry().await.unwrap(), None);
    let asked = fixture.store.approvals_of(&RunId::new("run")).await.unwrap();
    assert_eq!(asked[0].state, ApprovalState::Expired { at: end });
}

#[tokio::test]
async fn the_end_of_a_run_takes_its_questions_back() {
    let fixture = Fixture::new().await;
    let run = parked(&fixture, vec![question("a", "ls")]).await;
    let finish = Finish::of(run.id, Outcome::of(RunState::Cancelled), NOW);
    assert!(fixture.store.finish_run(&finish).await.unwrap().is_some());
    assert!(fixture.store.pending_approvals().await.unwrap().is_empty());
    let late = fixture
        .store
        .decide(&ApprovalId::new("a"), &Answer::Once, AnsweredFrom::Page, NOW)
        .await
        .unwrap();
    assert!(
        matches!(late, Decided::TooLate(question) if question.state == ApprovalState::Withdrawn { at: NOW })
    );
}

#[tokio::test]
async fn a_run_that_is_over_cannot_be_parked() {
    let fixture = Fixture::new().await;
    let run = Run { id: RunId::new("run"), ..slot_run("job", NOW) };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let park = Park {
        run_id: run.id,
        questions: vec![question("a", "ls")],
        usage: Usage::default(),
        worked_ms: 0,
        deliveries: Vec::new(),
        now: NOW,
    };
    assert_eq!(fixture.store.park_run(&park).await.unwrap(), None);
    assert!(fixture.store.pending_approvals().await.unwrap().is_empty());
}

fn step() -> NewStep {
    NewStep {
        gate: None,
        call_id: Some("call-a".to_owned()),
        run_id: RunId::new("run"),
        kind: StepKind::ToolCall,
        name: "run_command".to_owned(),
        repeatable: false,
        input: json!({}),
    }
}

#[tokio::test]
async fn a_yes_for_once_is_used_up_by_one_call_and_one_for_the_run_is_not() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls"), question("b", "rm x")]).await;
    fixture
        .store
        .decide(&ApprovalId::new("a"), &Answer::Once, AnsweredFrom::Page, NOW)
        .await
        .unwrap();
    fixture
        .store
        .decide(&ApprovalId::new("b"), &Answer::Run, AnsweredFrom::Page, NOW)
        .await
        .unwrap();
    let begun = async |id: &str| {
        let permit = Permit::Answer(ApprovalId::new(id));
        fixture.store.begin_permitted_step(&step(), &permit, NOW).await.unwrap()
    };
    assert_eq!((begun("a").await, begun("a").await), (Some(1), None));
    assert_eq!((begun("b").await, begun("b").await), (Some(2), Some(3)));
    let steps = fixture.store.steps(&RunId::new("run")).await.unwrap();
    assert_eq!(steps[0].call_id.as_deref(), Some("call-a"));
}

#[tokio::test]
async fn a_grant_counts_its_uses_and_ends() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls")]).await;
    let rules = BTreeMap::from([("command".to_owned(), Rule::Equals(json!("ls")))]);
    let grant = NewGrant {
        covers: Cover::Pattern {
            rules,
            values: vec!["mail".to_owned()],
            works_in: WorksIn::Folder("/work".to_owned()),
        },
        expires_at: Some(NOW.plus_ms(MINUTE)),
        uses: Some(2),
    };
    fixture
        .store
        .decide(&ApprovalId::new("a"), &Answer::Always(grant.clone()), AnsweredFrom::Page, NOW)
        .await
        .unwrap();
    let grants = fixture.store.grants_of(&JobId::new("job")).await.unwrap();
    let [granted] = grants.as_slice() else { panic!("{grants:?}") };
    assert_eq!((&granted.covers, granted.uses_left, granted.used), (&grant.covers, Some(2), 0));
    let permit = Permit::Grant(granted.id.clone());
    let begun =
        async |now| fixture.store.begin_permitted_step(&step(), &permit, now).await.unwrap();
    assert!(begun(NOW.plus_ms(MINUTE)).await.is_none(), "it had ended");
    assert!(begun(NOW).await.is_some() && begun(NOW).await.is_some());
    assert!(begun(NOW).await.is_none(), "it was used up");
    let used = fixture.store.grants().await.unwrap();
    assert_eq!((used[0].used, used[0].uses_left), (2, Some(0)));
    assert!(fixture.store.revoke_grant(&granted.id, NOW).await.unwrap());
    assert!(!fixture.store.revoke_grant(&granted.id, NOW).await.unwrap());
}

#[tokio::test]
async fn what_a_job_was_granted_ends_with_it() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls")]).await;
    let rules = BTreeMap::from([("command".to_owned(), Rule::Any)]);
    let grant = NewGrant {
        covers: Cover::Pattern { rules, values: Vec::new(), works_in: WorksIn::NoFolder },
        expires_at: None,
        uses: None,
    };
    let always = Answer::Always(grant);
    let asked = ApprovalId::new("a");
    fixture.store.decide(&asked, &always, AnsweredFrom::Page, NOW).await.unwrap();
    let id = JobId::new("job");
    assert!(fixture.store.grants_of(&id).await.unwrap()[0].is_good(NOW));
    fixture.store.remove_job(&id, NOW).await.unwrap().expect("it was there");
    // Another job may be made under its id.
    fixture.store.insert_job(&job("job"), NOW).await.unwrap();
    assert!(!fixture.store.grants_of(&id).await.unwrap()[0].is_good(NOW));
}

#[tokio::test]
async fn what_a_job_was_granted_ends_in_the_write_that_replaces_it_and_not_with_an_edit() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls"), question("b", "df")]).await;
    let rules = || BTreeMap::from([("command".to_owned(), Rule::Any)]);
    for (asked, uses) in [("a", None), ("b", Some(1))] {
        let covers =
            Cover::Pattern { rules: rules(), values: Vec::new(), works_in: WorksIn::NoFolder };
        let always = Answer::Always(NewGrant { covers, expires_at: None, uses });
        let asked = ApprovalId::new(asked);
        fixture.store.decide(&asked, &always, AnsweredFrom::Page, NOW).await.unwrap();
    }
    let id = JobId::new("job");
    let used = fixture.store.grants_of(&id).await.unwrap();
    let used = &used.iter().find(|grant| grant.uses_left.is_some()).unwrap().id;
    let permit = Permit::Grant(used.clone());
    fixture.store.begin_permitted_step(&step(), &permit, NOW).await.unwrap().expect("it counts");
    let job = fixture.store.job(&id).await.unwrap().unwrap();
    let good = async || {
        let grants = fixture.store.grants_of(&id).await.unwrap();
        grants.iter().filter(|grant| grant.is_good(NOW)).count()
    };
    fixture.store.update_job(&job, None, NOW).await.unwrap();
    assert_eq!(good().await, 1, "a person who edits sees them");
    let stale = fixture.store.replace_job(&job, Some(1), NOW).await;
    assert!(stale.is_err() && good().await == 1, "nothing of it is written: {stale:?}");
    fixture.store.replace_job(&job, None, NOW).await.unwrap();
    assert_eq!(good().await, 0);
    let grants = fixture.store.grants_of(&id).await.unwrap();
    let used_up = grants.iter().find(|grant| grant.id == *used).unwrap();
    assert_eq!(used_up.revoked_at, None, "nobody has taken back what was used up");
}

#[tokio::test]
async fn a_run_whose_job_is_gone_is_not_parked_and_no_grant_is_made_for_it() {
    let fixture = Fixture::new().await;
    let run = at_work(&fixture).await;
    let park = |id: &str| Park {
        run_id: run.id.clone(),
        questions: vec![question(id, "ls")],
        usage: Usage { input_tokens: 5, ..Usage::default() },
        worked_ms: 0,
        deliveries: Vec::new(),
        now: NOW,
    };
    let id = JobId::new("job");
    fixture.store.remove_job(&id, NOW).await.unwrap().expect("it was there");
    let refused = fixture.store.park_run(&park("a")).await;
    assert!(matches!(refused, Err(crate::StoreError::NotFound { what: "job", .. })), "{refused:?}");
    assert!(fixture.store.approvals_of(&run.id).await.unwrap().is_empty());
    let stored = fixture.store.run(&run.id).await.unwrap().unwrap();
    assert_eq!((stored.state, stored.usage.input_tokens), (RunState::Running, 0));

    fixture.store.insert_job(&job("job"), NOW).await.unwrap();
    fixture.store.park_run(&park("b")).await.unwrap().expect("it was at work");
    // Gone in a way that took no question back.
    let mut write = fixture.store.write("take it away", Durability::Full, NOW).await.unwrap();
    write.run(sqlx::query("DELETE FROM jobs")).await.unwrap();
    write.commit().await.unwrap();
    let rules = BTreeMap::from([("command".to_owned(), Rule::Any)]);
    let grant = NewGrant {
        covers: Cover::Pattern { rules, values: Vec::new(), works_in: WorksIn::NoFolder },
        expires_at: None,
        uses: None,
    };
    let asked = ApprovalId::new("b");
    let always = Answer::Always(grant);
    let refused = fixture.store.decide(&asked, &always, AnsweredFrom::Page, NOW).await;
    assert_eq!(refused.expect_err("no job").to_string(), "There is no job job.");
    assert!(fixture.store.grants().await.unwrap().is_empty());
    let stands = fixture.store.approval(&asked).await.unwrap().unwrap();
    assert_eq!(stands.state, ApprovalState::Pending);
}

#[tokio::test]
async fn a_held_question_of_a_clock_far_ahead_has_its_time_when_that_is_set_back() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls")]).await;
    let (run, id) = (RunId::new("run"), DeliveryId::new("d"));
    fixture.store.enqueue_delivery(Some(&run), &delivery("d"), NOW).await.unwrap();
    let expiry = async || fixture.store.next_expiry().await.unwrap();
    fixture.store.hold_delivery(&id, NOW.plus_ms(60 * MINUTE), NOW).await.unwrap();
    assert_eq!(expiry().await, Some(NOW.plus_ms(90 * MINUTE)));

    let right = NOW.plus_ms(-400 * 24 * 60 * MINUTE);
    assert!(fixture.store.take_nearer(MINUTE, right).await.unwrap());
    assert_eq!(expiry().await, Some(right.plus_ms(30 * MINUTE)));
    let held = fixture.store.delivery(&id).await.unwrap().unwrap();
    assert_eq!((held.created_at, held.held_until), (right, Some(right)));
    assert!(!fixture.store.take_nearer(MINUTE, right).await.unwrap(), "nothing is left");
    fixture.store.hold_delivery(&id, right.plus_ms(5 * MINUTE), right).await.unwrap();
    assert_eq!(expiry().await, Some(right.plus_ms(35 * MINUTE)), "it is quiet now, too");
}

/// Answers a question with a grant that lasts for so long.
async fn give(fixture: &Fixture, asked: &str, now: UnixMs, lasts: i64) {
    let rules = BTreeMap::from([("command".to_owned(), Rule::Any)]);
    let covers = Cover::Pattern { rules, values: Vec::new(), works_in: WorksIn::NoFolder };
    let always =
        Answer::Always(NewGrant { covers, expires_at: Some(now.plus_ms(lasts)), uses: None });
    let asked = ApprovalId::new(asked);
    let decided = fixture.store.decide(&asked, &always, AnsweredFrom::Page, now).await.unwrap();
    assert!(matches!(decided, Decided::Counts { .. }), "{decided:?}");
}

#[tokio::test]
async fn a_clock_that_is_set_back_neither_revives_a_grant_nor_stretches_it() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![question("a", "ls"), question("b", "df")]).await;
    let (half, late) = (NOW.plus_ms(5 * MINUTE), NOW.plus_ms(20 * MINUTE));
    give(&fixture, "a", NOW, 10 * MINUTE).await;
    give(&fixture, "b", late, 60 * MINUTE).await;
    assert!(fixture.store.take_nearer(MINUTE, half).await.unwrap());
    let grants = fixture.store.grants_of(&JobId::new("job")).await.unwrap();
    let [ended, moved] = grants.as_slice() else { panic!("{grants:?}") };
    assert!(!ended.is_good(half), "it had ended: {ended:?}");
    assert_eq!(
        (moved.created_at, moved.expires_at, moved.is_good(half)),
        (half, Some(half.plus_ms(60 * MINUTE)), true)
    );
}

/// Three grants for a month: before the clock was far ahead, while it was, and when it was right again.
#[tokio::test]
async fn what_a_clock_has_shown_before_a_grant_was_given_does_not_end_it() {
    let fixture = Fixture::new().await;
    let lasting = |id| Approval { expires_at: NOW.plus_ms(i64::MAX / 4), ..question(id, "ls") };
    parked(&fixture, ["a", "b", "c", "d"].map(lasting).into()).await;
    let month = 30 * 24 * 60 * MINUTE;
    let (ahead, right) = (NOW.plus_ms(400 * 24 * 60 * MINUTE), NOW.plus_ms(MINUTE));
    give(&fixture, "a", NOW, month).await;
    give(&fixture, "b", ahead, month).await;
    let again = right.plus_ms(MINUTE);
    let good = async |now| {
        let grants = fixture.store.grants_of(&JobId::new("job")).await.unwrap();
        grants.iter().map(|grant| grant.is_good(now)).collect::<Vec<_>>()
    };
    fixture.told();
    assert!(fixture.store.take_nearer(MINUTE, right).await.unwrap());
    let actions: Vec<Value> =
        fixture.told().iter().map(|(_, told)| told["action"].clone()).collect();
    assert!(
        actions.contains(&json!("revoked")) && actions.contains(&json!("nearer")),
        "{actions:?}"
    );
    give(&fixture, "c", right.plus_ms(1), month).await;
    assert_eq!(good(right.plus_ms(1)).await, [false, true, true]);

    // As a start does that finds the events of the clock that was ahead.
    fixture.store.take_nearer(MINUTE, again).await.unwrap();
    assert_eq!(good(again).await, [false, true, true]);
    // Far ahead for another moment, in which all of them have ended.
    give(&fixture, "d", ahead, month).await;
    assert!(fixture.store.take_nearer(MINUTE, again).await.unwrap());
    assert_eq!(good(again).await, [false, false, false, true]);
}

/// The time for an answer begins when the question is told, and is never longer for that.
#[tokio::test]
async fn a_question_that_is_let_go_before_the_morning_ends_as_long_after_that() {
    const HOUR: i64 = 60 * MINUTE;
    let morning = 8 * HOUR;
    for (let_go, ends) in [(HOUR, HOUR), (morning, morning), (morning + HOUR, morning)] {
        let fixture = Fixture::new().await;
        let run = at_work(&fixture).await;
        let park = Park {
            run_id: run.id,
            questions: vec![question("a", "ls")],
            usage: Usage::default(),
            worked_ms: 0,
            deliveries: vec![delivery("d1")],
            now: NOW,
        };
        fixture.store.park_run(&park).await.unwrap();
        let id = DeliveryId::new("d1");
        fixture.store.hold_delivery(&id, NOW.plus_ms(morning), NOW).await.unwrap();
        fixture.store.release_delivery(&id, NOW.plus_ms(let_go)).await.unwrap();
        let asked = fixture.store.pending_approvals().await.unwrap().remove(0);
        assert_eq!(asked.expires_at, NOW.plus_ms(ends + 30 * MINUTE), "let go at {let_go}");
    }
}
