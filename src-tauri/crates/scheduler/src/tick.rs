//! `tick(now)`: the one function that claims.
//!
//! Every slot that is due becomes rows and every job moves to its next slot, in one transaction; what its lane and the
//! cap let start begins with it, and only then any work is done. A slot that has a row already is left alone, so neither a
//! clock that was set back nor a second tick can
//! fire it again. One could get it wrong by ending a job's other runs before the claim is on the disk: a crash in
//! between would leave neither the old run nor the new one.

use std::collections::HashSet;
use std::sync::Arc;

use rouse_core::decide::{ClaimPlan, Due, Firing, PlannedRun, plan_claim};
use rouse_core::job::{Job, Payload, payload_to_json};
use rouse_core::schedule::Zones;
use rouse_core::slots::{DecidedSlots, Slots};
use rouse_core::{Run, RunId, RunState, RunTrigger, SessionKey, UnixMs};
use rouse_store::{Claim, Claimed, Counted, DueJob, DueJobs, StoreError};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::TickReport;
use crate::end_log::log_end;
use crate::engine::Engine;
use crate::events::{Follow, rows};
use crate::execute::{Waiting, begun};
use crate::lanes::Startable;

/// Most jobs of one transaction. More of them take several: the first of a crowd begins while the rest is claimed.
pub(crate) const BATCH: u32 = 512;
pub(crate) const PAUSED: &str = "Everything was paused";
pub(crate) const REPLACED: &str = "A newer slot took its place";

/// What a plan depends on besides its job.
pub(crate) struct Planning {
    zones: Zones,
    now: UnixMs,
    firing: Firing,
    /// Since when everything is paused.
    paused_since: Option<UnixMs>,
}

impl Planning {
    /// Plans the rest of a crowd in a task of its own: the next batch is ready when the one before is on the disk.
    fn begin(self, mut due: DueJobs) -> mpsc::Receiver<Result<Vec<Planned>, StoreError>> {
        let (plans, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(batch) = due.next().await.transpose() {
                let has_failed = batch.is_err();
                let sent = plans.send(batch.map(|batch| self.plan_all(batch))).await;
                // Whoever does not want the rest has dropped the other end.
                if sent.is_err() || has_failed {
                    return;
                }
            }
        });
        receiver
    }

    pub(crate) fn plan_all(&self, batch: Vec<DueJob>) -> Vec<Planned> {
        batch.into_iter().filter_map(|due| self.plan(due)).collect()
    }

    fn plan(&self, due: DueJob) -> Option<Planned> {
        let DueJob { job, queued, active, last_run_at } = due;
        let slot = job.state.next_run_at?;
        let plan = match Slots::of_job(&job.schedule, &job.id, job.created_at, &self.zones) {
            Ok(slots) => {
                let due = Due { job: &job, slots: &slots, slot, queued, active, last_run_at };
                plan_claim(due, self.now, &self.firing)
            }
            Err(reason) => unreadable(slot, job.state.decided, &reason),
        };
        let payload = payload_to_json(&job.payload);
        let runs = plan.runs.into_iter().map(|run| claimed_run(&job, run, &payload, self.now));
        let claim = Claim {
            job_id: job.id.clone(),
            slot_at: slot,
            next_run_at: plan.next_run_at,
            decided: plan.decided,
            runs: runs.collect(),
            under: Some(self.under(&job)),
            fired: Vec::new(),
        };
        let follows = Follows { job: Arc::new(job), cancel_others: plan.cancel_others };
        Some(Planned { claim, follows })
    }

    /// What a slot that is left out must have in common with those that share its row: the job as it is, and the pause.
    fn under(&self, job: &Job) -> String {
        let revision = job.state.revision;
        match self.paused_since {
            Some(since) => format!("{revision}/{}", since.0),
            None => revision.to_string(),
        }
    }
}

/// A job's claim and what follows it.
pub(crate) struct Planned {
    claim: Claim,
    follows: Follows,
}

impl Planned {
    fn rows(&self) -> impl Iterator<Item = (&Arc<Job>, &Run)> {
        self.claim.runs.iter().map(|run| (&self.follows.job, run))
    }

    /// Whether its slots do nothing but fire: none is left out, and none takes the place of another.
    pub(crate) fn only_fires(&self) -> bool {
        let fires = |run: &Run| run.state == RunState::Queued;
        !self.follows.cancel_others && self.claim.runs.iter().all(fires)
    }
}

struct Follows {
    job: Arc<Job>,
    cancel_others: bool,
}

/// Claims for one transaction, and what becomes of them in memory.
pub(crate) struct Draft {
    claims: Vec<Claim>,
    follows: Vec<Follows>,
    /// The runs that begin with them.
    places: Vec<Startable<Waiting>>,
    /// What the ends among them fire.
    fires: Vec<Follow>,
}

impl Draft {
    pub(crate) fn claims(&self) -> &[Claim] {
        &self.claims
    }
}

impl Engine {
    /// Claims every slot that is due at `now` and starts what may start.
    pub(crate) async fn tick(&mut self, now: UnixMs) -> Result<TickReport, StoreError> {
        let mut report = TickReport::default();
        self.take_up_once().await?;
        if let Some(until) = self.pause_end().filter(|until| *until <= now) {
            // After a sleep over the end of a pause, only what was due before the end was paused.
            let firing = self.firing_unless(Some(PAUSED));
            self.claim_due(until.plus_ms(-1), &firing, &mut report).await?;
            self.end_pause(now).await?;
        }
        self.claim_due(now, &self.firing_at(now), &mut report).await?;
        report.started.extend(self.start_startable().await?);
        Ok(report)
    }

    /// Whether anything may fire at `now`. A pause that is over by then holds up nothing, even if nobody has ended it.
    pub(crate) fn firing_at(&self, now: UnixMs) -> Firing {
        let holds = self.pause.is_some_and(|pause| pause.holds_at(now));
        self.firing_unless(holds.then_some(PAUSED))
    }

    fn firing_unless(&self, paused: Option<&str>) -> Firing {
        match (self.config.firing, paused) {
            (false, _) => Firing::Off(self.config.off_reason.clone()),
            (true, Some(reason)) => Firing::Off(reason.to_owned()),
            (true, None) => Firing::On,
        }
    }

    pub(crate) async fn claim_due(
        &mut self,
        now: UnixMs,
        firing: &Firing,
        report: &mut TickReport,
    ) -> Result<(), StoreError> {
        self.next_due_is_stale = true;
        let planning = self.planning(now, firing.clone());
        let (first, due) = match self.looked_ahead(now) {
            Some(all) => (Some(all), None),
            None => {
                let mut due = self.store.due_jobs(now, BATCH);
                (due.next().await?, Some(due))
            }
        };
        let Some(first) = first else { return Ok(()) };
        self.refresh_listeners().await?;
        let first = planning.plan_all(first);
        // Nearly always there is no rest, and every walk to another task would make the first one later.
        let rest = due.filter(DueJobs::may_have_more);
        let mut rest = rest.map(|rest| planning.begin(rest));
        self.claim(first, now, report).await?;
        while let Some(rest) = &mut rest
            && let Some(planned) = rest.recv().await
        {
            self.claim(planned?, now, report).await?;
        }
        Ok(())
    }

    async fn claim(
        &mut self,
        mut planned: Vec<Planned>,
        now: UnixMs,
        report: &mut TickReport,
    ) -> Result<(), StoreError> {
        let all = || planned.iter().flat_map(Planned::rows);
        let told = self.tell_missed(all()).await?;
        let mut ends = self.quiet_ends(all().map(|(_, run)| run));
        ends.extend(self.lines_of(&told, all().map(|(_, run)| run)));
        let fires = self.plan_events(ends).await?;
        // All of them at once, so that two rows that fire the same job meet its overlap policy.
        if let Some(first) = planned.first_mut() {
            first.claim.fired = rows(&fires);
        }
        let draft = self.draft(planned, fires, self.clock.now());
        match self.store.claim_and_tell(&draft.claims, &told, now).await {
            Ok(claimed) => {
                if !told.is_empty() {
                    self.outbox.notify_one();
                }
                self.settle(draft, claimed, report);
                Ok(())
            }
            Err(error) => {
                self.take_back(vec![draft]);
                Err(error)
            }
        }
    }

    pub(crate) fn planning(&self, now: UnixMs, firing: Firing) -> Planning {
        let paused_since = self.pause.map(|pause| pause.since);
        Planning { zones: self.zones.clone(), now, firing, paused_since }
    }

    /// Gives the planned runs their places; those that have one begin at `begin_at`.
    pub(crate) fn draft(
        &mut self,
        mut planned: Vec<Planned>,
        fires: Vec<Follow>,
        begin_at: UnixMs,
    ) -> Draft {
        let places = self.take_places(&mut planned, begin_at);
        let (claims, follows) =
            planned.into_iter().map(|Planned { claim, follows }| (claim, follows)).unzip();
        Draft { claims, follows, places, fires }
    }

    /// Puts the planned runs into their lanes and marks those that may start at once: they begin with the claim, which
    /// saves a transaction between a slot and its work. A run that takes the place of others waits until it is claimed.
    fn take_places(
        &mut self,
        planned: &mut [Planned],
        begin_at: UnixMs,
    ) -> Vec<Startable<Waiting>> {
        for Planned { claim, follows } in planned.iter().filter(|p| !p.follows.cancel_others) {
            for run in claim.runs.iter().filter(|run| run.state == RunState::Queued) {
                self.enqueue(run.clone(), Some(Arc::clone(&follows.job)));
            }
        }
        self.take_places_back();
        let startable = self.lanes.take_startable();
        // One that has become too late meanwhile is claimed like one that waits, and ends as such.
        let in_time = startable.iter().filter(|run| run.load.too_late(begin_at).is_none());
        let ids: HashSet<&RunId> = in_time.map(|run| &run.id).collect();
        let mut claimed = HashSet::new();
        for run in planned.iter_mut().flat_map(|planned| &mut planned.claim.runs) {
            if ids.contains(&run.id) {
                claimed.insert(run.id.clone());
                *run = begun(run.clone(), begin_at);
            }
        }
        // A run that had waited before begins by `start_runs`, as the store has it as queued.
        let (places, others) =
            startable.into_iter().partition(|startable| claimed.contains(&startable.id));
        self.lanes.put_back(others);
        places
    }

    /// Nothing was claimed: the lanes are as they were.
    pub(crate) fn take_back(&mut self, drafts: Vec<Draft>) {
        let mut ids = HashSet::new();
        for Draft { places, claims, .. } in drafts {
            self.lanes.put_back(places);
            ids.extend(claims.into_iter().flat_map(|claim| claim.runs).map(|run| run.id));
        }
        self.lanes.remove_where(|waiting| ids.contains(&waiting.run.id));
    }

    /// Follows claims that are on the disk as they were planned.
    pub(crate) fn settle_whole(&mut self, draft: Draft, report: &mut TickReport) {
        let runs = draft.claims.iter().flat_map(|claim| &claim.runs);
        let runs = runs.map(|run| run.id.clone()).collect();
        self.settle(draft, Claimed { runs, counted: Vec::new() }, report);
    }

    /// Follows claims that are on the disk.
    fn settle(&mut self, draft: Draft, claimed: Claimed, report: &mut TickReport) {
        let Draft { claims, follows, places, fires } = draft;
        let inserted: HashSet<RunId> = claimed.runs.into_iter().collect();
        report.claimed += claims.len();
        let begun = self.begin(places, |id| inserted.contains(id));
        report.started.extend(begun);
        for (claim, follows) in claims.into_iter().zip(follows) {
            follow_counted(&claim, &claimed.counted, report);
            self.settle_claim(claim, &follows, &inserted, report);
        }
        self.follow(fires, |id| inserted.contains(id));
        tracing::debug!(jobs = report.claimed, queued = report.queued.len(), "slots were claimed");
    }

    /// Follows a claim that is on the disk.
    fn settle_claim(
        &mut self,
        claim: Claim,
        follows: &Follows,
        inserted: &HashSet<RunId>,
        report: &mut TickReport,
    ) {
        let is_new = |run: &Run| inserted.contains(&run.id);
        if follows.cancel_others && claim.runs.iter().any(is_new) {
            self.replace_runs_of(&claim.job_id);
        }
        for run in claim.runs {
            match (is_new(&run), run.state) {
                (true, RunState::Queued | RunState::Running) => {
                    report.queued.push(run.id.clone());
                    if follows.cancel_others {
                        self.enqueue(run, Some(Arc::clone(&follows.job)));
                    }
                }
                (true, _) => {
                    log_end(&run, run.state, run.reason.as_deref(), run.created_at);
                    report.quiet.push(run.id);
                }
                // Its slot had fired already.
                (false, RunState::Queued) => drop(self.lanes.remove(&run.id)),
                (false, _) => {}
            }
        }
    }
}

/// A slot that was left out as the ones before stands in their row.
fn follow_counted(claim: &Claim, counted: &[Counted], report: &mut TickReport) {
    for run in &claim.runs {
        let Some(counted) = counted.iter().find(|counted| counted.planned == run.id) else {
            continue;
        };
        let row = Run { id: counted.into.clone(), ..run.clone() };
        log_end(&row, row.state, row.reason.as_deref(), row.created_at);
        report.quiet.push(row.id);
    }
}

/// The plan for a job whose schedule this version cannot read: its slot is on record, and it does not come again.
fn unreadable(slot_at: UnixMs, decided: DecidedSlots, reason: &str) -> ClaimPlan {
    let run = PlannedRun {
        slot_at,
        first_slot_at: None,
        trigger: RunTrigger::Schedule,
        state: RunState::Skipped,
        reason: Some(format!("Its schedule cannot be read: {reason}")),
        stands_for: 1,
    };
    ClaimPlan { runs: vec![run], next_run_at: None, decided, cancel_others: false }
}

fn claimed_run(job: &Job, planned: PlannedRun, payload: &Value, now: UnixMs) -> Run {
    let PlannedRun { slot_at, first_slot_at, trigger, state, reason, stands_for } = planned;
    let finished_at = state.is_final().then_some(now);
    let slot_at = Some(slot_at);
    Run {
        slot_at,
        first_slot_at,
        state,
        reason,
        stands_for,
        finished_at,
        ..new_run(Some(job), trigger, payload.clone(), now)
    }
}

/// A run that waits in its lane.
pub(crate) fn new_run(job: Option<&Job>, trigger: RunTrigger, payload: Value, now: UnixMs) -> Run {
    Run {
        job_id: job.map(|job| job.id.clone()),
        job_name: job.map_or("Heartbeat", |job| &job.name).to_owned(),
        session: session_of(job),
        payload,
        ..Run::queued(RunId::generate(now), trigger, now)
    }
}

/// The transcript that a run will write; a tool call and a reminder write none.
fn session_of(job: Option<&Job>) -> Option<SessionKey> {
    match job {
        None => Some(SessionKey::main()),
        Some(job) => {
            matches!(job.payload, Payload::AgentTurn(_)).then(|| SessionKey::of_job(&job.id))
        }
    }
}
