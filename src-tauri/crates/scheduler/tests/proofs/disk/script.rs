//! Writes of every durable kind, and the acknowledged writes.

use rouse_core::approval::{
    Approval, ApprovalDecision, ApprovalState, Authorization, DecisionSurface, Fingerprint,
    GrantScope, NewGrant, Surroundings,
};
use rouse_core::channel::{MessageKind, Route};
use rouse_core::delivery::NewDelivery;
use rouse_core::job::job_from_json;
use rouse_core::run::Usage;
use rouse_core::slots::DecidedSlots;
use rouse_core::time::QuietPolicy;
use rouse_core::{
    ApprovalId, DeliveryId, Job, JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs,
};
use rouse_store::{
    Claim, DecisionResult, NewStep, ParkRequest, RunEnd, StepKind, Store, StoreError,
};
use rouse_testkit::FaultyDisk;
use serde_json::json;

pub(super) const NOW: UnixMs = UnixMs(1_800_000_000_000);

/// The content of an acknowledged write.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AcknowledgedWrite {
    Saved(JobId),
    Removed(JobId),
    /// The run has a row, and the job has moved on to this slot.
    Claimed(RunId, JobId, UnixMs),
    Ended(RunId, RunState),
    InOutbox(DeliveryId),
    Setting(i64),
    Event(String),
    /// An open approval without a decision, of a parked run.
    Parked(RunId, ApprovalId),
    /// A requested approval; a decision may have followed.
    ApprovalRequested(ApprovalId),
    /// The decision with this name counts.
    ApprovalDecided(ApprovalId, &'static str),
    /// The job has a grant.
    Granted(JobId),
    /// The allowed call is in the journal, and the approval allows nothing more.
    Used(RunId, ApprovalId),
    /// The same for the grant of the job.
    GrantUsed(RunId, JobId),
}

/// Writes in sequence, and the acknowledged writes.
pub(super) struct Script<'d> {
    disk: &'d FaultyDisk,
    pub(super) acknowledged: Vec<AcknowledgedWrite>,
    /// Writes that the store refused.
    pub(super) refused: usize,
}

impl<'d> Script<'d> {
    pub(super) const fn new(disk: &'d FaultyDisk) -> Self {
        Self { disk, acknowledged: Vec::new(), refused: 0 }
    }

    fn answered<T>(
        &mut self,
        answer: Result<T, StoreError>,
        acknowledged: impl IntoIterator<Item = AcknowledgedWrite>,
    ) {
        match answer {
            Ok(_) => {
                self.acknowledged.extend(acknowledged);
                self.disk.note(u64::try_from(self.acknowledged.len()).expect("few"));
            }
            Err(_) => self.refused += 1,
        }
    }

    /// A round of writes; rounds differ by number.
    pub(super) async fn round(&mut self, store: &Store, round: i64) {
        let (kept, gone) = (job(&format!("kept-{round}")), job(&format!("gone-{round}")));
        for job in [&kept, &gone] {
            let saved = store.insert_job(job, NOW).await;
            self.answered(saved, [AcknowledgedWrite::Saved(job.id.clone())]);
        }
        let run = run(&kept, round);
        let next = NOW.plus_ms(60_000);
        let claims = [Claim {
            job_id: kept.id.clone(),
            slot_at: NOW,
            next_run_at: Some(next),
            decided: DecidedSlots::default(),
            runs: vec![run.clone()],
            coalesce_key: None,
            fired: Vec::new(),
        }];
        let claimed = match round % 2 {
            0 => store.claim(&claims, NOW).await.map(|claimed| !claimed.runs.is_empty()),
            _ => claim_prepared(store, &claims).await,
        };
        // A job that was not saved has nothing to claim.
        if let Ok(is_claimed) = claimed {
            let write = AcknowledgedWrite::Claimed(run.id.clone(), kept.id.clone(), next);
            self.answered(Ok(()), is_claimed.then_some(write));
        }
        // Not durable alone; the following end makes it durable.
        drop(store.start_runs(std::slice::from_ref(&run.id), NOW).await);
        self.end(store, &run, round).await;
        let removed = store.remove_job(&gone.id, NOW).await;
        self.answered(removed, [AcknowledgedWrite::Removed(gone.id)]);
        let put = store.put_setting("round", &json!(round), None, NOW).await;
        self.answered(put, [AcknowledgedWrite::Setting(round)]);
        let text = format!("event {round}");
        let queued = store.queue_system_event(&text, "test", &[], NOW).await;
        self.answered(queued, [AcknowledgedWrite::Event(text)]);
        self.decide_approvals(store, &kept, round).await;
    }

    /// A run with an open approval, and a run whose approvals are decided in all three ways and used.
    async fn decide_approvals(&mut self, store: &Store, job: &Job, round: i64) {
        let waits = at_work(job, &format!("waits-{round}"));
        let open = approval_of(&waits, &format!("open-{round}"));
        let write = AcknowledgedWrite::Parked(waits.id.clone(), open.id.clone());
        self.park(store, &waits, vec![open], [write]).await;

        let asking_run = at_work(job, &format!("asks-{round}"));
        let approvals =
            ["once", "always", "no"].map(|way| approval_of(&asking_run, &format!("{way}-{round}")));
        let [once, always, no] = approvals.clone().map(|approval| approval.id);
        let requests =
            [&once, &always, &no].map(|id| AcknowledgedWrite::ApprovalRequested(id.clone()));
        if !self.park(store, &asking_run, approvals.to_vec(), requests).await {
            return;
        }
        let granted = [
            AcknowledgedWrite::ApprovalDecided(always.clone(), "approved"),
            AcknowledgedWrite::Granted(job.id.clone()),
        ];
        self.decide(store, &always, ApprovalDecision::Always(grant()), granted).await;
        let denied = AcknowledgedWrite::ApprovalDecided(no.clone(), "denied");
        self.decide(store, &no, ApprovalDecision::Deny { reason: None }, [denied]).await;
        let approved = AcknowledgedWrite::ApprovalDecided(once.clone(), "approved");
        self.decide(store, &once, ApprovalDecision::Once, [approved]).await;
        // Not durable alone; the following write makes it durable.
        drop(store.start_runs(std::slice::from_ref(&asking_run.id), NOW).await);
        let used = AcknowledgedWrite::Used(asking_run.id.clone(), once.clone());
        self.use_up(store, &asking_run.id, &Authorization::Approval(once), used).await;
        let grants = store.grants_of_job(&job.id).await.unwrap_or_default();
        if let Some(grant) = grants.first() {
            let used = AcknowledgedWrite::GrantUsed(asking_run.id.clone(), job.id.clone());
            self.use_up(store, &asking_run.id, &Authorization::Grant(grant.id.clone()), used).await;
        }
    }

    /// True when the run waits for decisions.
    async fn park(
        &mut self,
        store: &Store,
        run: &Run,
        approvals: Vec<Approval>,
        acknowledged: impl IntoIterator<Item = AcknowledgedWrite>,
    ) -> bool {
        if store.insert_run(run, NOW).await.is_err() {
            self.refused += 1;
            return false;
        }
        let (run_id, usage) = (run.id.clone(), Usage::default());
        let park = ParkRequest {
            run_id,
            approvals,
            usage,
            worked_ms: 0,
            deliveries: Vec::new(),
            now: NOW,
        };
        let parked = store.park_run(&park).await;
        let is_parked = matches!(parked, Ok(Some(_)));
        assert!(is_parked || parked.is_err(), "an active run can be parked");
        self.answered(parked, acknowledged);
        is_parked
    }

    async fn decide(
        &mut self,
        store: &Store,
        id: &ApprovalId,
        answer: ApprovalDecision,
        acknowledged: impl IntoIterator<Item = AcknowledgedWrite>,
    ) {
        let decided = store.decide_approval(id, &answer, DecisionSurface::Page, NOW).await;
        let counts = matches!(decided, Ok(DecisionResult::Counts { .. }));
        assert!(counts || decided.is_err(), "the only decision counts: {decided:?}");
        self.answered(decided, acknowledged);
    }

    async fn use_up(
        &mut self,
        store: &Store,
        run: &RunId,
        permit: &Authorization,
        write: AcknowledgedWrite,
    ) {
        match store.begin_permitted_step(&step(run), permit, NOW).await {
            // The decision was refused.
            Ok(None) => {}
            begun => self.answered(begun, [write]),
        }
    }

    async fn end(&mut self, store: &Store, run: &Run, round: i64) {
        let id = DeliveryId::new(format!("delivery-{round}"));
        let delivery = NewDelivery {
            id: id.clone(),
            kind: MessageKind::Report,
            approval: None,
            route: Route::notification(),
            title: "Job".to_owned(),
            body: "Done. ".repeat(100),
            text: None,
            quiet_hours: QuietPolicy::default(),
        };
        let outcome = Outcome::succeeded("Done.");
        let state = outcome.state;
        let finish =
            RunEnd { deliveries: vec![delivery], ..RunEnd::of(run.id.clone(), outcome, NOW) };
        match store.finish_run(&finish).await {
            // There is no row: the claim was refused.
            Ok(None) => {}
            ended => self.answered(
                ended,
                [AcknowledgedWrite::Ended(run.id.clone(), state), AcknowledgedWrite::InOutbox(id)],
            ),
        }
    }
}

/// Claims that are written before the commit. Returns whether all were claimed as planned.
async fn claim_prepared(store: &Store, claims: &[Claim]) -> Result<bool, StoreError> {
    let Some(mut prepared) = store.prepare_claim(NOW).await? else { return Ok(false) };
    let is_whole = prepared.add(claims).await?;
    if is_whole {
        prepared.commit().await?
    } else {
        prepared.roll_back().await?
    }
    Ok(is_whole)
}

/// Whether the store holds `write`; later writes may have followed.
pub(super) async fn is_kept(
    store: &Store,
    write: &AcknowledgedWrite,
    asked_to_go: bool,
) -> Result<bool, StoreError> {
    Ok(match write {
        AcknowledgedWrite::Saved(id) => asked_to_go || store.job(id).await?.is_some(),
        AcknowledgedWrite::Removed(id) => store.job(id).await?.is_none(),
        AcknowledgedWrite::Claimed(run, job, next) => {
            let job = store.job(job).await?;
            store.run(run).await?.is_some()
                && job.is_some_and(|job| job.state.next_run_at == Some(*next))
        }
        AcknowledgedWrite::Ended(run, state) => {
            store.run(run).await?.is_some_and(|run| run.state == *state)
        }
        AcknowledgedWrite::InOutbox(id) => store.delivery(id).await?.is_some(),
        AcknowledgedWrite::Setting(round) => {
            let stored = store.setting("round").await?;
            stored.and_then(|value| value.as_i64()).is_some_and(|stored| stored >= *round)
        }
        AcknowledgedWrite::Event(text) => {
            store.pending_system_events(1_000).await?.iter().any(|event| event.text == *text)
        }
        AcknowledgedWrite::Parked(run, id) => {
            let (run, approval) = (store.run(run).await?, store.approval(id).await?);
            run.is_some_and(|run| run.state == RunState::AwaitingApproval)
                && approval.is_some_and(|approval| approval.state == ApprovalState::Pending)
        }
        AcknowledgedWrite::ApprovalRequested(id) => store.approval(id).await?.is_some(),
        AcknowledgedWrite::ApprovalDecided(id, name) => {
            store.approval(id).await?.is_some_and(|approval| approval.state.name() == *name)
        }
        AcknowledgedWrite::Granted(job) => store.grants_of_job(job).await?.len() == 1,
        AcknowledgedWrite::Used(run, id) => {
            is_used_up(store, run, Authorization::Approval(id.clone())).await?
        }
        AcknowledgedWrite::GrantUsed(run, job) => match store.grants_of_job(job).await?.first() {
            Some(grant) => is_used_up(store, run, Authorization::Grant(grant.id.clone())).await?,
            None => false,
        },
    })
}

/// The authorized call is in the journal, and the authorization is good for no other call.
async fn is_used_up(store: &Store, run: &RunId, permit: Authorization) -> Result<bool, StoreError> {
    let is_journalled = store.has_unrepeatable_step(run).await?;
    Ok(is_journalled && store.begin_permitted_step(&step(run), &permit, NOW).await?.is_none())
}

/// All acknowledged writes unknown to the store.
pub(super) async fn broken(
    store: &Store,
    acknowledged: &[AcknowledgedWrite],
) -> Result<Vec<AcknowledgedWrite>, StoreError> {
    let mut broken = Vec::new();
    for write in acknowledged {
        // The removal may have been under way, acknowledged or not.
        let asked_to_go =
            matches!(write, AcknowledgedWrite::Saved(id) if id.as_str().starts_with("gone-"));
        if !is_kept(store, write, asked_to_go).await? {
            broken.push(write.clone());
        }
    }
    Ok(broken)
}

fn job(id: &str) -> Job {
    let document = json!({
        "id": id,
        "name": "Job",
        "description": "words ".repeat(60),
        "schedule": { "kind": "every", "everyMs": 60_000, "anchorMs": 0 },
        "payload": { "kind": "toolCall", "tool": "echo" },
    });
    let mut job = job_from_json(document, NOW, chrono_tz::UTC).expect("a valid job");
    job.state.next_run_at = Some(NOW);
    job
}

fn run(job: &Job, round: i64) -> Run {
    Run {
        job_id: Some(job.id.clone()),
        job_name: job.name.clone(),
        slot_at: Some(NOW),
        ..Run::queued(RunId::new(format!("run-{round}")), RunTrigger::Schedule, NOW)
    }
}

/// A manual run, active.
fn at_work(job: &Job, id: &str) -> Run {
    Run {
        job_id: Some(job.id.clone()),
        job_name: job.name.clone(),
        state: RunState::Running,
        started_at: Some(NOW),
        ..Run::queued(RunId::new(id), RunTrigger::Manual, NOW)
    }
}

/// An approval request of a run for a single call.
pub(super) fn approval_of(run: &Run, id: &str) -> Approval {
    let (arguments, surroundings) = (json!({ "command": id }), Surroundings::default());
    Approval {
        id: ApprovalId::new(id),
        run_id: run.id.clone(),
        job_id: run.job_id.clone(),
        job_name: run.job_name.clone(),
        call_id: id.to_owned(),
        tool: "run_command".to_owned(),
        fingerprint: Fingerprint::of("run_command", &arguments, &surroundings),
        arguments,
        surroundings,
        preview: id.to_owned(),
        reason: "It changes things.".to_owned(),
        is_highest: false,
        requested_at: NOW,
        expires_at: NOW.plus_ms(86_400_000),
        state: ApprovalState::Pending,
        decided_from: None,
        used_at: None,
        input: None,
    }
}

/// A grant for a single call.
fn grant() -> NewGrant {
    let arguments = json!({ "command": "always" });
    let fingerprint = Fingerprint::of("run_command", &arguments, &Surroundings::default());
    let covers = GrantScope::Exact { fingerprint, arguments };
    NewGrant { covers, expires_at: None, uses: Some(1) }
}

/// A step that must not be repeated.
pub(super) fn step(run: &RunId) -> NewStep {
    NewStep {
        gate: None,
        call_id: None,
        run_id: run.clone(),
        kind: StepKind::ToolCall,
        name: "mark".to_owned(),
        input: json!(null),
        repeatable: false,
    }
}
