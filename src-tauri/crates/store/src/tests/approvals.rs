//! Approvals: parking, decisions, grants, clock rollback.

use std::collections::BTreeMap;

use rouse_core::approval::{
    Approval, ApprovalDecision, ApprovalScope, ApprovalState, ArgumentRule, Authorization,
    DecisionSurface, Fingerprint, GrantFolder, GrantScope, NewGrant, Surroundings,
};
use rouse_core::delivery::DeliveryState;
use rouse_core::{ApprovalId, Outcome};

use super::*;
use crate::sql::Durability;
use crate::{DecisionResult, NewStep, ParkRequest, RunEnd, StepKind, StoreError};

const MINUTE: i64 = 60_000;

/// A running run of the job `job`.
async fn running(fixture: &Fixture) -> Run {
    fixture.store.insert_job(&job("job"), NOW).await.unwrap();
    let run = Run { id: RunId::new("run"), state: RunState::Running, ..slot_run("job", NOW) };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    run
}

pub(super) fn approval(id: &str, command: &str) -> Approval {
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
        reason: "It changes things.".to_owned(),
        is_highest: false,
        requested_at: NOW,
        expires_at: NOW.plus_ms(30 * MINUTE),
        state: ApprovalState::Pending,
        decided_from: None,
        used_at: None,
        input: None,
    }
}

pub(super) async fn parked(fixture: &Fixture, approvals: Vec<Approval>) -> Run {
    let run = running(fixture).await;
    let usage = Usage { input_tokens: 5, output_tokens: 2, ..Usage::default() };
    let park = ParkRequest {
        run_id: run.id,
        approvals,
        usage,
        worked_ms: 0,
        deliveries: Vec::new(),
        now: NOW,
    };
    fixture.store.park_run(&park).await.unwrap().expect("running")
}

async fn state_of_run(fixture: &Fixture) -> RunState {
    fixture.store.run(&RunId::new("run")).await.unwrap().unwrap().state
}

#[tokio::test]
async fn parked_run_resumes_after_last_decision() {
    let fixture = Fixture::new().await;
    let run = parked(&fixture, vec![approval("a", "ls"), approval("b", "rm x")]).await;
    assert_eq!((run.state, run.usage.input_tokens), (RunState::AwaitingApproval, 5));
    assert_eq!(
        fixture.store.pending_approvals().await.unwrap(),
        [approval("a", "ls"), approval("b", "rm x")]
    );

    let first = fixture
        .store
        .decide_approval(&ApprovalId::new("a"), &ApprovalDecision::Once, DecisionSurface::Page, NOW)
        .await
        .unwrap();
    assert!(
        matches!(&first, DecisionResult::Counts { resumed, .. } if resumed.is_empty()),
        "{first:?}"
    );
    assert_eq!(state_of_run(&fixture).await, RunState::AwaitingApproval);

    let no = ApprovalDecision::Deny { reason: Some("Not that one.".to_owned()) };
    let last = fixture
        .store
        .decide_approval(&ApprovalId::new("b"), &no, DecisionSurface::Page, NOW)
        .await
        .unwrap();
    let DecisionResult::Counts { approval, resumed } = last else { panic!("{last:?}") };
    let [run] = resumed.as_slice() else { panic!("{resumed:?}") };
    let denied = ApprovalState::Denied { reason: Some("Not that one.".to_owned()), at: NOW };
    assert_eq!((approval.state, run.state), (denied, RunState::Queued));
    assert_eq!(state_of_run(&fixture).await, RunState::Queued);
}

/// Parks another run of the job with these approvals.
async fn park_another(fixture: &Fixture, run: &str, approvals: Vec<Approval>) {
    let run = Run {
        id: RunId::new(run),
        state: RunState::Running,
        slot_at: None,
        ..slot_run("job", NOW)
    };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let approvals = approvals.into_iter().map(|asked| Approval { run_id: run.id.clone(), ..asked });
    let park = ParkRequest {
        run_id: run.id.clone(),
        approvals: approvals.collect(),
        usage: Usage::default(),
        worked_ms: 0,
        deliveries: Vec::new(),
        now: NOW,
    };
    fixture.store.park_run(&park).await.unwrap().expect("running");
}

#[tokio::test]
async fn grant_covers_pending_approvals_up_to_its_uses() {
    let highest = Approval { is_highest: true, ..approval("h", "ls 4") };
    let ungranted =
        Surroundings { ungranted: Some("No.".to_owned()), ..approval("u", "ls 5").surroundings };
    let ungranted = Approval { surroundings: ungranted, ..approval("u", "ls 5") };
    for (uses, covered) in [(None, vec!["b", "c"]), (Some(1), vec!["b"])] {
        let fixture = Fixture::new().await;
        let store = &fixture.store;
        parked(&fixture, vec![approval("a", "ls 1"), approval("b", "ls 2")]).await;
        park_another(&fixture, "second", vec![approval("c", "ls 3")]).await;
        let others = vec![approval("d", "rm x"), highest.clone(), ungranted.clone()];
        park_another(&fixture, "third", others).await;
        let rule = ArgumentRule::OneOf((1..9).map(|n| json!(format!("ls {n}"))).collect());
        let covers = GrantScope::Pattern {
            rules: BTreeMap::from([("command".to_owned(), rule)]),

            works_in: GrantFolder::Folder("/w".to_owned()),
        };
        let always = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses });
        let decided = store
            .decide_approval(&ApprovalId::new("a"), &always, DecisionSurface::Page, NOW)
            .await
            .unwrap();
        let DecisionResult::Counts { resumed, .. } = decided else { panic!("{decided:?}") };
        let resumed: Vec<&str> = resumed.iter().map(|run| run.id.as_str()).collect();
        let all = store.newest_approvals(10).await.unwrap();
        let is_covered = |asked: &&Approval| asked.state == ApprovalState::Covered { at: NOW };
        let mut found: Vec<_> =
            all.iter().filter(is_covered).map(|asked| asked.id.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, covered);
        assert_eq!(resumed, if uses.is_none() { vec!["run", "second"] } else { vec!["run"] });
    }
}

#[tokio::test]
async fn first_decision_before_expiry_counts() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls")]).await;
    let end = NOW.plus_ms(30 * MINUTE);
    let id = ApprovalId::new("a");
    let late = fixture
        .store
        .decide_approval(&id, &ApprovalDecision::Once, DecisionSurface::Page, end)
        .await
        .unwrap();
    assert!(
        matches!(&late, DecisionResult::TooLate(stored) if stored.state == ApprovalState::Pending)
    );
    let in_time = fixture
        .store
        .decide_approval(&id, &ApprovalDecision::Run, DecisionSurface::Page, end.plus_ms(-1))
        .await
        .unwrap();
    assert!(matches!(in_time, DecisionResult::Counts { .. }));
    let no = ApprovalDecision::Deny { reason: None };
    let twice = fixture
        .store
        .decide_approval(&id, &no, DecisionSurface::Page, end.plus_ms(-1))
        .await
        .unwrap();
    let DecisionResult::TooLate(stored) = twice else { panic!("{twice:?}") };
    assert_eq!(
        stored.state,
        ApprovalState::Approved { scope: ApprovalScope::Run, at: end.plus_ms(-1) }
    );
    let missing = fixture
        .store
        .decide_approval(&ApprovalId::new("x"), &ApprovalDecision::Once, DecisionSurface::Page, NOW)
        .await;
    assert!(matches!(missing, Err(StoreError::NotFound { .. })));
}

#[tokio::test]
async fn expired_approval_resumes_its_run() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls")]).await;
    let end = NOW.plus_ms(30 * MINUTE);
    assert_eq!(fixture.store.next_approval_expiry().await.unwrap(), Some(end));
    assert!(fixture.store.expire_approvals(end.plus_ms(-1)).await.unwrap().is_empty());
    let resumed = fixture.store.expire_approvals(end).await.unwrap();
    assert_eq!(resumed.iter().map(|run| run.state).collect::<Vec<_>>(), [RunState::Queued]);
    assert_eq!(fixture.store.next_approval_expiry().await.unwrap(), None);
    let asked = fixture.store.approvals_of_run(&RunId::new("run")).await.unwrap();
    assert_eq!(asked[0].state, ApprovalState::Expired { at: end });
}

#[tokio::test]
async fn ended_run_withdraws_its_approvals() {
    let fixture = Fixture::new().await;
    let run = parked(&fixture, vec![approval("a", "ls")]).await;
    let finish = RunEnd::of(run.id, Outcome::of(RunState::Cancelled), NOW);
    assert!(fixture.store.finish_run(&finish).await.unwrap().is_some());
    assert!(fixture.store.pending_approvals().await.unwrap().is_empty());
    let late = fixture
        .store
        .decide_approval(&ApprovalId::new("a"), &ApprovalDecision::Once, DecisionSurface::Page, NOW)
        .await
        .unwrap();
    assert!(
        matches!(late, DecisionResult::TooLate(stored) if stored.state == ApprovalState::Withdrawn { at: NOW })
    );
}

#[tokio::test]
async fn run_not_running_cannot_be_parked() {
    let fixture = Fixture::new().await;
    let run = Run { id: RunId::new("run"), ..slot_run("job", NOW) };
    fixture.store.insert_run(&run, NOW).await.unwrap();
    let park = ParkRequest {
        run_id: run.id,
        approvals: vec![approval("a", "ls")],
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
async fn approval_for_once_permits_one_call() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls"), approval("b", "rm x")]).await;
    fixture
        .store
        .decide_approval(&ApprovalId::new("a"), &ApprovalDecision::Once, DecisionSurface::Page, NOW)
        .await
        .unwrap();
    fixture
        .store
        .decide_approval(&ApprovalId::new("b"), &ApprovalDecision::Run, DecisionSurface::Page, NOW)
        .await
        .unwrap();
    let begun = async |id: &str| {
        let permit = Authorization::Approval(ApprovalId::new(id));
        fixture.store.begin_permitted_step(&step(), &permit, NOW).await.unwrap()
    };
    assert_eq!((begun("a").await, begun("a").await), (Some(1), None));
    assert_eq!((begun("b").await, begun("b").await), (Some(2), Some(3)));
    let steps = fixture.store.steps(&RunId::new("run")).await.unwrap();
    assert_eq!(steps[0].call_id.as_deref(), Some("call-a"));
}

#[tokio::test]
async fn grant_ends_after_its_uses_or_expiry() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls")]).await;
    let rules = BTreeMap::from([("command".to_owned(), ArgumentRule::Equals(json!("ls")))]);
    let grant = NewGrant {
        covers: GrantScope::Pattern { rules, works_in: GrantFolder::Folder("/work".to_owned()) },
        expires_at: Some(NOW.plus_ms(MINUTE)),
        uses: Some(2),
    };
    fixture
        .store
        .decide_approval(
            &ApprovalId::new("a"),
            &ApprovalDecision::Always(grant.clone()),
            DecisionSurface::Page,
            NOW,
        )
        .await
        .unwrap();
    let grants = fixture.store.grants_of_job(&JobId::new("job")).await.unwrap();
    let [granted] = grants.as_slice() else { panic!("{grants:?}") };
    assert_eq!((&granted.covers, granted.uses_left, granted.used), (&grant.covers, Some(2), 0));
    let permit = Authorization::Grant(granted.id.clone());
    let begun =
        async |now| fixture.store.begin_permitted_step(&step(), &permit, now).await.unwrap();
    assert!(begun(NOW.plus_ms(MINUTE)).await.is_none(), "the grant had ended");
    assert!(begun(NOW).await.is_some() && begun(NOW).await.is_some());
    assert!(begun(NOW).await.is_none(), "the grant was used up");
    let used = fixture.store.grants().await.unwrap();
    assert_eq!((used[0].used, used[0].uses_left), (2, Some(0)));
    assert!(fixture.store.revoke_grant(&granted.id, NOW).await.unwrap());
    assert!(!fixture.store.revoke_grant(&granted.id, NOW).await.unwrap());
}

#[tokio::test]
async fn deleted_job_loses_its_grants() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls")]).await;
    let rules = BTreeMap::from([("command".to_owned(), ArgumentRule::Any)]);
    let grant = NewGrant {
        covers: GrantScope::Pattern { rules, works_in: GrantFolder::NoFolder },
        expires_at: None,
        uses: None,
    };
    let always = ApprovalDecision::Always(grant);
    let asked = ApprovalId::new("a");
    fixture.store.decide_approval(&asked, &always, DecisionSurface::Page, NOW).await.unwrap();
    let id = JobId::new("job");
    assert!(fixture.store.grants_of_job(&id).await.unwrap()[0].is_valid(NOW));
    fixture.store.remove_job(&id, NOW).await.unwrap().expect("a job");
    // Another job gets the id.
    fixture.store.insert_job(&job("job"), NOW).await.unwrap();
    assert!(!fixture.store.grants_of_job(&id).await.unwrap()[0].is_valid(NOW));
}

#[tokio::test]
async fn replaced_job_loses_grants_edited_job_keeps_grants() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls"), approval("b", "df")]).await;
    let rules = || BTreeMap::from([("command".to_owned(), ArgumentRule::Any)]);
    for (asked, uses) in [("a", None), ("b", Some(1))] {
        let covers = GrantScope::Pattern { rules: rules(), works_in: GrantFolder::NoFolder };
        let always = ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses });
        let asked = ApprovalId::new(asked);
        fixture.store.decide_approval(&asked, &always, DecisionSurface::Page, NOW).await.unwrap();
    }
    let id = JobId::new("job");
    let used = fixture.store.grants_of_job(&id).await.unwrap();
    let used = &used.iter().find(|grant| grant.uses_left.is_some()).unwrap().id;
    let permit = Authorization::Grant(used.clone());
    fixture
        .store
        .begin_permitted_step(&step(), &permit, NOW)
        .await
        .unwrap()
        .expect("the grant counts");
    let job = fixture.store.job(&id).await.unwrap().unwrap();
    let good = async || {
        let grants = fixture.store.grants_of_job(&id).await.unwrap();
        grants.iter().filter(|grant| grant.is_valid(NOW)).count()
    };
    fixture.store.update_job(&job, None, NOW).await.unwrap();
    assert_eq!(good().await, 1, "the editing person reviews the grants");
    let stale = fixture.store.replace_job(&job, Some(1), NOW).await;
    assert!(stale.is_err() && good().await == 1, "nothing is written: {stale:?}");
    fixture.store.replace_job(&job, None, NOW).await.unwrap();
    assert_eq!(good().await, 0);
    let grants = fixture.store.grants_of_job(&id).await.unwrap();
    let used_up = grants.iter().find(|grant| grant.id == *used).unwrap();
    assert_eq!(used_up.revoked_at, None, "a used-up grant is not revoked");
}

#[tokio::test]
async fn deleted_job_parks_no_run_and_gets_no_grant() {
    let fixture = Fixture::new().await;
    let run = running(&fixture).await;
    let park = |id: &str| ParkRequest {
        run_id: run.id.clone(),
        approvals: vec![approval(id, "ls")],
        usage: Usage { input_tokens: 5, ..Usage::default() },
        worked_ms: 0,
        deliveries: Vec::new(),
        now: NOW,
    };
    let id = JobId::new("job");
    fixture.store.remove_job(&id, NOW).await.unwrap().expect("a job");
    let refused = fixture.store.park_run(&park("a")).await;
    assert!(matches!(refused, Err(StoreError::NotFound { what: "job", .. })), "{refused:?}");
    assert!(fixture.store.approvals_of_run(&run.id).await.unwrap().is_empty());
    let stored = fixture.store.run(&run.id).await.unwrap().unwrap();
    assert_eq!((stored.state, stored.usage.input_tokens), (RunState::Running, 0));

    fixture.store.insert_job(&job("job"), NOW).await.unwrap();
    fixture.store.park_run(&park("b")).await.unwrap().expect("running");
    // Deleted without withdrawing the approvals.
    let mut tx = fixture.store.begin("delete the job", Durability::Full, NOW).await.unwrap();
    tx.execute(sqlx::query("DELETE FROM jobs")).await.unwrap();
    tx.commit().await.unwrap();
    let rules = BTreeMap::from([("command".to_owned(), ArgumentRule::Any)]);
    let grant = NewGrant {
        covers: GrantScope::Pattern { rules, works_in: GrantFolder::NoFolder },
        expires_at: None,
        uses: None,
    };
    let asked = ApprovalId::new("b");
    let always = ApprovalDecision::Always(grant);
    let refused = fixture.store.decide_approval(&asked, &always, DecisionSurface::Page, NOW).await;
    assert_eq!(refused.expect_err("no job").to_string(), "There is no job job.");
    assert!(fixture.store.grants().await.unwrap().is_empty());
    let stands = fixture.store.approval(&asked).await.unwrap().unwrap();
    assert_eq!(stands.state, ApprovalState::Pending);
}

#[tokio::test]
async fn held_approval_keeps_lifetime_after_clock_rollback() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls")]).await;
    let (run, id) = (RunId::new("run"), DeliveryId::new("d"));
    fixture.store.enqueue_delivery(Some(&run), &delivery("d"), NOW).await.unwrap();
    let expiry = async || fixture.store.next_approval_expiry().await.unwrap();
    fixture.store.hold_delivery(&id, NOW.plus_ms(60 * MINUTE), NOW).await.unwrap();
    assert_eq!(expiry().await, Some(NOW.plus_ms(90 * MINUTE)));

    let right = NOW.plus_ms(-400 * 24 * 60 * MINUTE);
    assert!(fixture.store.adjust_after_clock_rollback(MINUTE, right).await.unwrap());
    assert_eq!(expiry().await, Some(right.plus_ms(30 * MINUTE)));
    let held = fixture.store.delivery(&id).await.unwrap().unwrap();
    assert_eq!((held.created_at, held.held_until), (right, Some(right)));
    assert!(
        !fixture.store.adjust_after_clock_rollback(MINUTE, right).await.unwrap(),
        "nothing is left to adjust"
    );
    fixture.store.hold_delivery(&id, right.plus_ms(5 * MINUTE), right).await.unwrap();
    assert_eq!(expiry().await, Some(right.plus_ms(35 * MINUTE)), "held again");
}

/// Decides an approval with a grant of this lifetime.
async fn grant(fixture: &Fixture, asked: &str, now: UnixMs, lasts: i64) {
    let rules = BTreeMap::from([("command".to_owned(), ArgumentRule::Any)]);
    let covers = GrantScope::Pattern { rules, works_in: GrantFolder::NoFolder };
    let always = ApprovalDecision::Always(NewGrant {
        covers,
        expires_at: Some(now.plus_ms(lasts)),
        uses: None,
    });
    let asked = ApprovalId::new(asked);
    let decided =
        fixture.store.decide_approval(&asked, &always, DecisionSurface::Page, now).await.unwrap();
    assert!(matches!(decided, DecisionResult::Counts { .. }), "{decided:?}");
}

#[tokio::test]
async fn clock_rollback_keeps_grant_lifetime() {
    let fixture = Fixture::new().await;
    parked(&fixture, vec![approval("a", "ls"), approval("b", "df")]).await;
    let (half, late) = (NOW.plus_ms(5 * MINUTE), NOW.plus_ms(20 * MINUTE));
    grant(&fixture, "a", NOW, 10 * MINUTE).await;
    grant(&fixture, "b", late, 60 * MINUTE).await;
    assert!(fixture.store.adjust_after_clock_rollback(MINUTE, half).await.unwrap());
    let grants = fixture.store.grants_of_job(&JobId::new("job")).await.unwrap();
    let [ended, moved] = grants.as_slice() else { panic!("{grants:?}") };
    assert!(!ended.is_valid(half), "the grant had ended: {ended:?}");
    assert_eq!(
        (moved.created_at, moved.expires_at, moved.is_valid(half)),
        (half, Some(half.plus_ms(60 * MINUTE)), true)
    );
}

/// Three grants for a month: made before, during and after a clock jump.
#[tokio::test]
async fn clock_jump_before_a_grant_does_not_expire_the_grant() {
    let fixture = Fixture::new().await;
    let lasting = |id| Approval { expires_at: NOW.plus_ms(i64::MAX / 4), ..approval(id, "ls") };
    parked(&fixture, ["a", "b", "c", "d"].map(lasting).into()).await;
    let month = 30 * 24 * 60 * MINUTE;
    let (ahead, right) = (NOW.plus_ms(400 * 24 * 60 * MINUTE), NOW.plus_ms(MINUTE));
    grant(&fixture, "a", NOW, month).await;
    grant(&fixture, "b", ahead, month).await;
    let again = right.plus_ms(MINUTE);
    let good = async |now| {
        let grants = fixture.store.grants_of_job(&JobId::new("job")).await.unwrap();
        grants.iter().map(|grant| grant.is_valid(now)).collect::<Vec<_>>()
    };
    fixture.take_events();
    assert!(fixture.store.adjust_after_clock_rollback(MINUTE, right).await.unwrap());
    let actions: Vec<Value> =
        fixture.take_events().iter().map(|(_, data)| data["action"].clone()).collect();
    assert!(
        actions.contains(&json!("revoked")) && actions.contains(&json!("nearer")),
        "{actions:?}"
    );
    grant(&fixture, "c", right.plus_ms(1), month).await;
    assert_eq!(good(right.plus_ms(1)).await, [false, true, true]);

    // A restart finds the events of the clock jump.
    fixture.store.adjust_after_clock_rollback(MINUTE, again).await.unwrap();
    assert_eq!(good(again).await, [false, true, true]);
    // Another clock jump, during which all grants expire.
    grant(&fixture, "d", ahead, month).await;
    assert!(fixture.store.adjust_after_clock_rollback(MINUTE, again).await.unwrap());
    assert_eq!(good(again).await, [false, false, false, true]);
}

/// The lifetime begins when the delivery is released, or when the hold ends before that.
#[tokio::test]
async fn released_approval_keeps_lifetime_from_release() {
    const HOUR: i64 = 60 * MINUTE;
    let morning = 8 * HOUR;
    for (let_go, ends) in [(HOUR, HOUR), (morning, morning), (morning + HOUR, morning)] {
        let fixture = Fixture::new().await;
        let run = running(&fixture).await;
        let park = ParkRequest {
            run_id: run.id,
            approvals: vec![approval("a", "ls")],
            usage: Usage::default(),
            worked_ms: 0,
            deliveries: delivery("d1")
                .on_routes(vec![Route::notification(), Route::of(ChannelName::new("phone"))]),
            now: NOW,
        };
        fixture.store.park_run(&park).await.unwrap();
        for row in &park.deliveries {
            fixture.store.hold_delivery(&row.id, NOW.plus_ms(morning), NOW).await.unwrap();
        }
        for row in &park.deliveries {
            fixture.store.release_approval(&row.id, NOW.plus_ms(let_go)).await.unwrap();
        }
        let asked = fixture.store.pending_approvals().await.unwrap().remove(0);
        assert_eq!(asked.expires_at, NOW.plus_ms(ends + 30 * MINUTE), "let go at {let_go}");
    }
}

/// A laptop without a network requests at 03:00 over two channels; one of them arrives after two hours.
#[tokio::test]
async fn approval_lifetime_begins_with_first_delivery() {
    let fixture = Fixture::new().await;
    let run = running(&fixture).await;
    let rows = delivery("d1")
        .on_routes(vec![Route::of(ChannelName::new("phone")), Route::of(ChannelName::new("mail"))]);
    let rows: Vec<NewDelivery> =
        rows.into_iter().map(|row| NewDelivery { kind: MessageKind::Approval, ..row }).collect();
    let park = ParkRequest {
        run_id: run.id,
        approvals: vec![approval("a", "ls")],
        usage: Usage::default(),
        worked_ms: 0,
        deliveries: rows.clone(),
        now: NOW,
    };
    fixture.store.park_run(&park).await.unwrap();
    let expiry_in_minutes = async || {
        let pending = fixture.store.pending_approvals().await.unwrap().remove(0);
        (pending.expires_at.0 - NOW.0) / MINUTE
    };
    let at = |minutes: i64| NOW.plus_ms(minutes * MINUTE);

    let (phone, mail) = (&rows[0].id, &rows[1].id);
    fixture.store.postpone_delivery(phone, &until(at(60)), at(1)).await.unwrap();
    assert_eq!(expiry_in_minutes().await, 60 + 30);
    fixture.store.settle_delivery(phone, DeliveryState::Delivered, None, at(120)).await.unwrap();
    assert_eq!(expiry_in_minutes().await, 120 + 30);
    fixture.store.postpone_delivery(mail, &until(at(130)), at(121)).await.unwrap();
    fixture.store.settle_delivery(mail, DeliveryState::Delivered, None, at(130)).await.unwrap();
    assert_eq!(expiry_in_minutes().await, 120 + 30, "the person has seen the request");
}
