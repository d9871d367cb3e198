//! The whole engine over several process lives, each ended by a power cut at a random disk call.
//!
//! Between the cuts: jobs of all schedules added, edited, disabled, enabled and deleted, pauses, manual runs, retries,
//! approvals, clock jumps both ways, new zone data, and time. At the end, the ledger and the timeline are compared with
//! the rows. Whether an unacknowledged call was done is read in the next life; the call must be whole or absent.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_core::approval::{ApprovalDecision, ApprovalState, DecisionSurface};
use rouse_core::id::seed_ids;
use rouse_core::job::{Job, job_from_json};
use rouse_core::time::Clock as _;
use rouse_core::{ApprovalId, JobId, Run, RunState, RunTrigger, UnixMs};
use rouse_scheduler::{ManualRunMode, SchedulerHandle};
use rouse_store::{DecisionResult, RunQuery, Store};
use rouse_testkit::dice::{count_or, first_seed};
use rouse_testkit::faulty_disk::{Fault, Lasts};
use rouse_testkit::{Dice, FaultyDisk, ManualClock};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::digest::Digest;
use super::engine::{ATTEMPTS, Effect, EffectLedger, start};
use super::script::NOW;
use super::timeline::{RequiredSlots, TimelineEvent, name};
use super::{folder, folder_of, integrity, open};
use crate::rules::ZoneRelease;
use crate::world::shape::{DAY, HOUR, MINUTE, SECOND, ScheduleShape, ZONES};

const LIVES: usize = 8;
const JOBS: usize = 7;
const STEPS: usize = 60;

/// A world of several lives.
struct EngineLives {
    dice: Dice,
    clock: ManualClock,
    rules: ZoneRelease,
    ledger: EffectLedger,
    folder: TempDir,
    events: Vec<TimelineEvent>,
    /// The index of the event of an unacknowledged call.
    unsure: Option<usize>,
    /// Existing jobs, with schedule and enabled state.
    jobs: HashMap<JobId, (ScheduleShape, bool)>,
    /// Follow-up jobs and their sources.
    listeners: HashMap<JobId, JobId>,
    made: usize,
    versions: usize,
    is_paused: bool,
    /// The number of the current life.
    life: usize,
    /// Approvals that were shown, with the life in which.
    seen: HashMap<ApprovalId, usize>,
    /// Decisions that were acknowledged, by name.
    answers: Vec<(ApprovalId, &'static str)>,
    /// Decisions on approvals of an earlier life.
    answered_later: usize,
    /// Backoffs that survived a power cut.
    waits_left: usize,
    /// Every call to the disk, every event and every effect so far.
    trace: Digest,
}

impl EngineLives {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            clock: ManualClock::new(NOW),
            rules: ZoneRelease::default(),
            ledger: EffectLedger::default(),
            folder: folder(),
            events: Vec::new(),
            unsure: None,
            jobs: HashMap::new(),
            listeners: HashMap::new(),
            made: 0,
            versions: 0,
            is_paused: false,
            life: 0,
            seen: HashMap::new(),
            answers: Vec::new(),
            answered_later: 0,
            waits_left: 0,
            trace: Digest::default(),
        }
    }

    fn now(&self) -> i64 {
        self.clock.now().0
    }

    /// Plays a life up to the power cut. The next life starts from the disk image.
    fn live(&mut self) {
        self.life += 1;
        let disk = FaultyDisk::over(self.folder.path());
        disk.record();
        let calls = u64::try_from(self.dice.between(30, 1_200)).expect("positive");
        seed_ids(self.dice.number());
        disk.fail_at(calls, Fault::Broken, Lasts::UntilMended);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(self.days());
        // The power is cut by now: closing writes nothing more.
        disk.fail_now(Fault::Broken);
        drop(runtime);
        disk.wait_until_closed();
        let record = disk.recorded();
        self.trace.add_record(record.entries());
        self.trace.add(&(disk.calls().min(calls), self.now(), self.events.len()));
        let image = record.image(record.entries().len(), || self.dice.number());
        drop(disk);
        self.folder = folder_of(&image);
        let span = self.dice.between(0, 20 * MINUTE);
        self.pass(span);
        // These happen while Rouse is off.
        match self.dice.below(8) {
            0 => self.set_clock(),
            1 => self.change_zones(),
            _ => {}
        }
    }

    async fn days(&mut self) {
        let Ok(store) = open(self.folder.path()).await else { return };
        if self.learn(&store).await.is_none() {
            return;
        }
        let Ok(left) = store.running_runs().await else { return };
        self.waits_left += left.iter().filter(|run| run.next_attempt_at.is_some()).count();
        let Some(handle) = start(&store, &self.clock, &self.ledger).await else { return };
        if self.see(&handle).await.is_none() {
            return;
        }
        for _ in 0..STEPS {
            if self.act(&handle, &store).await.is_none() {
                return;
            }
        }
    }

    /// Finds out whether the unacknowledged call was done. None when the disk has failed already.
    async fn learn(&mut self, store: &Store) -> Option<()> {
        let Some(place) = self.unsure else { return Some(()) };
        let event = self.events[place].clone();
        let (TimelineEvent::Saved { id, .. }
        | TimelineEvent::Switched { id, .. }
        | TimelineEvent::Removed { id }) = &event
        else {
            panic!("no call: {event:?}")
        };
        let job = store.job(id).await.ok()?;
        let is_done = match &event {
            TimelineEvent::Saved { version, .. } => {
                job.is_some_and(|job| job.name == name(*version))
            }
            TimelineEvent::Switched { is_on, .. } => job.is_some_and(|job| job.enabled == *is_on),
            _ => job.is_none(),
        };
        self.unsure = None;
        if is_done {
            self.know(&event);
        } else {
            self.events.remove(place);
        }
        Some(())
    }

    fn know(&mut self, event: &TimelineEvent) {
        match event {
            TimelineEvent::Saved { id, shape, .. } => {
                let is_on = self.jobs.get(id).is_none_or(|(_, is_on)| *is_on);
                self.jobs.insert(id.clone(), (shape.clone(), is_on));
            }
            TimelineEvent::Switched { id, is_on } => {
                self.jobs.get_mut(id).expect("there").1 = *is_on;
            }
            TimelineEvent::Removed { id } => drop(self.jobs.remove(id)),
            _ => {}
        }
    }

    /// Records a call. An unacknowledged call is resolved in the next life.
    fn note<T, E>(&mut self, event: TimelineEvent, answer: &Result<T, E>) -> Option<()> {
        self.events.push(event.clone());
        if answer.is_err() {
            self.unsure = Some(self.events.len() - 1);
            return None;
        }
        self.know(&event);
        Some(())
    }

    /// None when the disk is gone.
    async fn act(&mut self, handle: &SchedulerHandle, store: &Store) -> Option<()> {
        match self.dice.below(20) {
            0..=2 => self.add(handle).await?,
            3 => self.by_hand(handle).await,
            4 | 5 => self.edit(handle).await?,
            6 => self.switch(handle).await?,
            7 if self.dice.once_in(3) => self.remove(handle).await?,
            8 if self.is_paused || self.dice.once_in(3) => self.pause_or_resume(handle).await?,
            9 if self.dice.once_in(3) => self.set_clock(),
            10 if self.dice.once_in(3) => {
                self.change_zones();
                handle.clock_changed().await.ok()?;
            }
            11..=13 => self.answer(handle, store).await?,
            14 | 15 => self.pass_a_lead(store).await?,
            _ => {
                let span = self.dice.between(1, 5 * MINUTE);
                self.pass(span);
            }
        }
        self.see(handle).await
    }

    /// Waits until the engine has caught up.
    async fn see(&mut self, handle: &SchedulerHandle) -> Option<()> {
        handle.status().await.ok()?;
        if handle.problem().is_some() {
            return None;
        }
        self.events.push(TimelineEvent::Seen);
        Some(())
    }

    fn pass(&mut self, span: i64) {
        let from = self.now();
        self.clock.advance(u64::try_from(span).expect("positive"));
        self.events.push(TimelineEvent::Passed { from, to: self.now(), rules: self.rules });
    }

    /// Advances into the lead of the next whole minute, reads a few times, and advances past the minute.
    async fn pass_a_lead(&mut self, store: &Store) -> Option<()> {
        let whole = (self.now() / MINUTE + 1) * MINUTE;
        let lead = self.dice.between(1, 5);
        if whole - lead > self.now() {
            self.pass(whole - lead - self.now());
        }
        for _ in 0..self.dice.below(20) {
            store.last_seq().await.ok()?;
        }
        let over = self.dice.between(0, 40);
        self.pass(whole + over - self.now());
        Some(())
    }

    /// By a second up to four hundred days, either way.
    fn set_clock(&mut self) {
        let longest = *self.dice.pick(&[MINUTE, HOUR, DAY, 400 * DAY]);
        let by = self.dice.between(SECOND, longest);
        let from = self.now();
        if self.dice.once_in(2) {
            self.clock.set(UnixMs(from - by));
            self.events.push(TimelineEvent::SetBack { to: from - by });
        } else {
            self.clock.set(UnixMs(from + by));
            self.events.push(TimelineEvent::Passed { from, to: from + by, rules: self.rules });
        }
    }

    fn change_zones(&mut self) {
        if self.dice.once_in(2) {
            self.rules = self.rules.another(&mut self.dice);
            self.events.push(TimelineEvent::NewRules(self.rules));
        }
        let local = *self.dice.pick(&ZONES);
        self.clock.set_zones(self.rules.zones(local));
    }

    fn shape(&mut self) -> ScheduleShape {
        let now = self.now();
        match self.dice.below(6) {
            0 => ScheduleShape::Once(now + self.dice.between(1, 2 * HOUR)),
            1 | 2 => {
                let tz = *self.dice.pick(&ZONES);
                let soon = now + self.dice.between(MINUTE, 30 * MINUTE);
                let time = self.rules.local(soon, tz).time();
                let (hour, minute) =
                    (chrono::Timelike::hour(&time), chrono::Timelike::minute(&time));
                ScheduleShape::At { hour, minute, day: None, tz }
            }
            _ => ScheduleShape::Every { every_ms: self.dice.between(1, 7) * MINUTE, anchor: 0 },
        }
    }

    async fn add(&mut self, handle: &SchedulerHandle) -> Option<()> {
        if self.jobs.len() >= JOBS {
            return Some(());
        }
        let (number, shape, at) = (self.made, self.shape(), self.now());
        self.made += 1;
        let id = JobId::new(format!("job-{number}"));
        if number.is_multiple_of(2) {
            // The follow-up job exists before the first end of the source.
            let listener = JobId::new(format!("after-{number}"));
            let schedule = json!({ "kind": "event", "source": "job", "filters": { "jobId": id, "status": "ok" } });
            handle.add_job(job(&listener, "after", number, schedule, at)).await.ok()?;
            self.listeners.insert(listener, id.clone());
        }
        self.versions += 1;
        let version = self.versions;
        let added = handle.add_job(job(&id, &name(version), number, shape.schedule(), at)).await;
        self.note(TimelineEvent::Saved { id, version, shape, at }, &added)
    }

    fn any(&mut self) -> Option<(JobId, ScheduleShape, bool)> {
        let mut ids: Vec<&JobId> = self.jobs.keys().collect();
        ids.sort_unstable();
        let id = (!ids.is_empty()).then(|| (*self.dice.pick(&ids)).clone())?;
        let (shape, is_on) = self.jobs[&id].clone();
        Some((id, shape, is_on))
    }

    async fn by_hand(&mut self, handle: &SchedulerHandle) {
        if let Some((id, ..)) = self.any() {
            drop(handle.run_now(&id, ManualRunMode::Force).await);
        }
    }

    async fn edit(&mut self, handle: &SchedulerHandle) -> Option<()> {
        let Some((id, ..)) = self.any() else { return Some(()) };
        if self.dice.once_in(2) {
            handle.update_job(&id, json!({ "description": "x" }), None).await.ok()?;
            return Some(());
        }
        let (shape, at) = (self.shape(), self.now());
        self.versions += 1;
        let version = self.versions;
        let mut schedule =
            json!({ "everyMs": null, "anchorMs": null, "expr": null, "tz": null, "atMs": null });
        let new = shape.schedule().as_object().expect("an object").clone();
        schedule.as_object_mut().expect("an object").extend(new);
        let patch = json!({ "name": name(version), "schedule": schedule });
        let updated = handle.update_job(&id, patch, None).await;
        self.note(TimelineEvent::Saved { id, version, shape, at }, &updated)
    }

    async fn switch(&mut self, handle: &SchedulerHandle) -> Option<()> {
        let Some((id, shape, was_on)) = self.any() else { return Some(()) };
        let is_on = !was_on;
        if is_on && matches!(shape, ScheduleShape::Once(at) if at <= self.now()) {
            return Some(());
        }
        let updated = handle.update_job(&id, json!({ "enabled": is_on }), None).await;
        self.note(TimelineEvent::Switched { id, is_on }, &updated)
    }

    async fn remove(&mut self, handle: &SchedulerHandle) -> Option<()> {
        let Some((id, ..)) = self.any() else { return Some(()) };
        let removed = handle.remove_job(&id, None).await;
        self.note(TimelineEvent::Removed { id }, &removed)
    }

    async fn pause_or_resume(&mut self, handle: &SchedulerHandle) -> Option<()> {
        if self.is_paused {
            handle.resume().await.ok()?;
        } else {
            let until = self.now() + self.dice.between(MINUTE, HOUR);
            let until = self.dice.once_in(2).then_some(UnixMs(until));
            handle.pause(until).await.ok()?;
        }
        self.is_paused = !self.is_paused;
        Some(())
    }

    /// Decides an open approval.
    async fn answer(&mut self, handle: &SchedulerHandle, store: &Store) -> Option<()> {
        let open: Vec<ApprovalId> =
            store.pending_approvals().await.ok()?.into_iter().map(|approval| approval.id).collect();
        for id in &open {
            self.seen.entry(id.clone()).or_insert(self.life);
        }
        if open.is_empty() {
            return Some(());
        }
        let id = self.dice.pick(&open).clone();
        let (answer, name) = match self.dice.below(4) {
            0 => (ApprovalDecision::Deny { reason: None }, "denied"),
            _ => (ApprovalDecision::Once, "approved"),
        };
        if let DecisionResult::Counts { .. } =
            handle.decide(&id, answer, DecisionSurface::Page).await.ok()?
        {
            self.answered_later += usize::from(self.seen[&id] < self.life);
            self.answers.push((id, name));
        }
        Some(())
    }

    /// Decides every open approval; the run must resume.
    async fn answer_the_rest(&self, handle: &SchedulerHandle, store: &Store) -> Result<(), String> {
        for approval in store.pending_approvals().await.expect("read") {
            let decided =
                handle.decide(&approval.id, ApprovalDecision::Once, DecisionSurface::Page).await;
            let (is_resumed, is_withdrawn) = match &decided {
                Ok(DecisionResult::Counts { resumed, .. }) => (!resumed.is_empty(), false),
                // The run ended meanwhile, with the job or replaced by another run.
                Ok(DecisionResult::TooLate(approval)) => {
                    (false, matches!(approval.state, ApprovalState::Withdrawn { .. }))
                }
                Err(_) => (false, false),
            };
            if !is_resumed && !is_withdrawn {
                return Err(format!("{} takes no answer: {decided:?}", approval.id));
            }
            let run = store.run(&approval.run_id).await.expect("read").expect("a run");
            if run.state == RunState::AwaitingApproval {
                return Err(format!("{} waits for a recorded decision", run.id));
            }
        }
        Ok(())
    }

    /// The digest of everything that happened.
    fn digest(&self) -> u64 {
        let mut whole = self.trace.clone();
        whole.add(&format!("{:?}", self.events));
        whole.add(&format!("{:?}", self.ledger.lock().expect("whole")));
        whole.value()
    }

    /// A last life on a good disk, in which everything ends; then the books are compared.
    fn close_the_books(mut self) -> Result<(), String> {
        seed_ids(self.dice.number());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let store = open(self.folder.path()).await.map_err(|error| format!("{error:?}"))?;
            self.learn(&store).await.expect("a good disk");
            let handle = start(&store, &self.clock, &self.ledger).await.expect("started");
            if self.see(&handle).await.is_none() {
                return Err(format!("on a good disk: {:?}", handle.problem()));
            }
            self.answer_the_rest(&handle, &store).await?;
            handle.shutdown().await;
            let compared = self.compare(&store).await;
            store.close().await;
            compared
        })?;
        let checked = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let verdict = checked.expect("a runtime").block_on(integrity(self.folder.path()));
        if verdict == "ok" { Ok(()) } else { Err(verdict) }
    }

    async fn compare(&self, store: &Store) -> Result<(), String> {
        let effects = self.ledger.lock().expect("whole").clone();
        let mut worked = HashSet::new();
        for Effect { run, first, attempt } in &effects {
            // A catch-up run works only if the interrupted run had not, and a retry only after the attempt before.
            if !worked.insert((first.clone(), *attempt)) {
                return Err(format!("{run} repeats work of {first}, attempt {attempt}"));
            }
            if *attempt > 1 && !worked.contains(&(first.clone(), attempt - 1)) {
                return Err(format!("{run} makes attempt {attempt} without the attempt before"));
            }
            if store.run(run).await.expect("read").is_none() {
                return Err(format!("run {run} worked and has no row"));
            }
            for asked in store.approvals_of_run(run).await.expect("read") {
                let is_allowed = matches!(asked.state, ApprovalState::Approved { .. });
                if !is_allowed || asked.used_at.is_none() {
                    return Err(format!("run {run} worked, and the approval is {asked:?}"));
                }
            }
        }
        self.check_answers(store).await?;
        self.check_waits(store).await?;
        let saved: HashSet<&JobId> = self
            .events
            .iter()
            .filter_map(
                |event| if let TimelineEvent::Saved { id, .. } = event { Some(id) } else { None },
            )
            .collect();
        for id in saved {
            let required = RequiredSlots::of(id, &self.events);
            let rows = rows_of(store, id).await;
            let describe = |why| format!("{id}: {why}: {required:?}");
            required.check(&rows).map_err(describe)?;
            self.check_next(store, id, &required).await.map_err(describe)?;
        }
        for (listener, source) in &self.listeners {
            let fired = rows_of(store, listener).await;
            let fired = fired.iter().filter(|run| run.trigger == RunTrigger::Event).count();
            let ended = rows_of(store, source).await;
            let ended = ended.iter().filter(|run| run.state == RunState::Succeeded).count();
            if fired != ended {
                return Err(format!("{source} worked {ended} times and fired {fired} runs"));
            }
        }
        Ok(())
    }

    /// A run in backoff has failed, has attempts left, and may continue.
    async fn check_waits(&self, store: &Store) -> Result<(), String> {
        let running = store.running_runs().await.expect("read");
        for run in running.iter().filter(|run| run.next_attempt_at.is_some()) {
            let is_for_nothing = run.attempt >= ATTEMPTS || run.error.is_none();
            if is_for_nothing || (self.is_off(run) && run.trigger != RunTrigger::Manual) {
                return Err(format!("the run must not wait: {run:?}"));
            }
        }
        Ok(())
    }

    /// Whether the job is disabled.
    fn is_off(&self, run: &Run) -> bool {
        run.job_id.as_ref().and_then(|id| self.jobs.get(id)).is_some_and(|(_, is_on)| !is_on)
    }

    /// A shown approval exists, and an acknowledged decision counts.
    async fn check_answers(&self, store: &Store) -> Result<(), String> {
        for id in self.seen.keys() {
            if store.approval(id).await.expect("read").is_none() {
                return Err(format!("{id} was seen and is gone"));
            }
        }
        for (id, name) in &self.answers {
            let approval = store.approval(id).await.expect("read");
            let state = approval.map(|approval| approval.state);
            if state.as_ref().map(ApprovalState::name) != Some(name) {
                return Err(format!("{id} was {name} and is {state:?}"));
            }
        }
        Ok(())
    }

    /// A job is in the last known state, and the next slot is right.
    async fn check_next(
        &self,
        store: &Store,
        id: &JobId,
        must: &RequiredSlots,
    ) -> Result<(), String> {
        let job = store.job(id).await.expect("read");
        let job = match (job, must.is_removed) {
            (None, true) => return Ok(()),
            (Some(_), true) => return Err("removed, but present".to_owned()),
            (None, false) => return Err("saved, but missing".to_owned()),
            (Some(job), false) => job,
        };
        let last = must.versions.last().expect("saved");
        if (job.enabled, &job.name) != (must.is_on, &name(last.number)) {
            return Err(format!("found {}, on: {}", job.name, job.enabled));
        }
        let (next, now) = (job.state.next_run_at.map(|at| at.0), self.now());
        let nearest = last.shape.next_after(now, self.rules).filter(|_| job.enabled);
        let has_fired =
            matches!(last.shape, ScheduleShape::Once(_)) && next.is_none() && must.was_set_back;
        if has_fired || last.may_be_next(next, nearest, self.rules) {
            return Ok(());
        }
        Err(format!("at {now} the next slot is {next:?}, not {nearest:?}"))
    }
}

async fn rows_of(store: &Store, id: &JobId) -> Vec<Run> {
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let job_id = Some(id.clone());
        let query = RunQuery { job_id, limit: 500, before, ..RunQuery::default() };
        let page = store.runs(&query).await.expect("read");
        rows.extend(page.runs);
        before = page.next;
        if before.is_none() {
            return rows;
        }
    }
}

pub(super) fn job(id: &JobId, name: &str, number: usize, schedule: Value, now: i64) -> Job {
    let modes = ["runOnce", "runAll", "skip"];
    let overlaps = ["skip", "queue", "parallel", "cancelOther"];
    let payload = match number % 3 {
        1 => json!({ "kind": "agentTurn", "message": "Ask, if you must." }),
        _ => json!({ "kind": "toolCall", "tool": "echo" }),
    };
    let document = json!({
        "id": id,
        "name": name,
        "schedule": schedule,
        "payload": payload,
        "runtime": { "maxAttempts": ATTEMPTS, "retryBackoffMs": MINUTE },
        "policies": {
            "misfire": { "mode": modes[number % 3] },
            "overlap": overlaps[number % 4],
            "timeoutSeconds": 600,
        },
    });
    job_from_json(document, UnixMs(now), chrono_tz::UTC).expect("a valid job")
}

/// Plays the lives of a seed. Returns lives and digest.
fn lives_of(seed: u64) -> (EngineLives, u64) {
    let mut lives = EngineLives::new(seed);
    (0..LIVES).for_each(|_| lives.live());
    let digest = lives.digest();
    (lives, digest)
}

#[test]
fn same_seed_plays_same_lives_on_busy_machine() {
    let (_, idle) = lives_of(9);
    let is_over = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let played = std::panic::catch_unwind(|| lives_of(9).1);
        is_over.store(true, Ordering::Relaxed);
        played.expect("the lives end")
    });
    assert_eq!(idle, busy);
}

#[test]
fn power_cuts_lose_no_slot_and_repeat_no_work() {
    let worlds = count_or(24);
    let (mut effects, mut answers, mut answered_later, mut again, mut waits_left) = (0, 0, 0, 0, 0);
    for n in 0..worlds {
        let seed = first_seed() + u64::try_from(n).expect("few");
        let (lives, digest) = lives_of(seed);
        let done = lives.ledger.lock().expect("whole").clone();
        effects += done.len();
        again += done.iter().filter(|effect| effect.attempt > 1).count();
        waits_left += lives.waits_left;
        (answers, answered_later) =
            (answers + lives.answers.len(), answered_later + lives.answered_later);
        println!("seed {seed}: digest {digest:016x}");
        lives.close_the_books().unwrap_or_else(|why| panic!("ROUSE_SEED={seed}: {why}"));
    }
    println!(
        "{worlds} worlds of {LIVES} lives, {effects} effects, {answers} answers, {answered_later} of them after a cut, \
         {again} further attempts, {waits_left} waits for one over a cut"
    );
    assert!(again > worlds, "hardly anything was tried again: {again} further attempts");
    assert!(waits_left > 0, "no wait for an attempt outlived a cut");
    assert!(answers >= worlds, "hardly anything was asked: {answers} answers");
    assert!(answered_later > 0, "no answer came after a cut");
    // About twelve each; the exact number depends on the cuts.
    assert!(effects > worlds * 5, "hardly anything happened: {effects} effects");
}

fn every_minute() -> Value {
    json!({ "kind": "every", "everyMs": MINUTE, "anchorMs": 0 })
}

/// A full disk is reported, causes no busy loop, and passes.
#[tokio::test]
async fn full_disk_is_reported_and_passes() {
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    let (clock, ledger) = (ManualClock::new(NOW), EffectLedger::default());
    let store = open(folder.path()).await.expect("a store");
    let handle = start(&store, &clock, &ledger).await.expect("started");
    let id = handle
        .add_job(job(&JobId::new("job"), "Job", 0, every_minute(), NOW.0))
        .await
        .expect("saved")
        .id;
    disk.fail_now(Fault::Full);
    clock.advance(MINUTE.unsigned_abs());
    handle.status().await.expect("an answer");
    let sentence = handle.problem().expect("a sentence");
    assert!(sentence.contains("disk is full"), "{sentence}");

    // In a backoff the engine makes no disk call of its own.
    handle.status().await.expect("an answer");
    let before = disk.calls();
    for _ in 0..20 {
        handle.clock_changed().await.expect("an answer");
    }
    assert!(disk.calls() - before <= 2, "{} disk calls in the backoff", disk.calls() - before);

    disk.repair();
    clock.advance(2_000);
    handle.status().await.expect("an answer");
    assert_eq!(handle.problem(), None);
    handle.shutdown().await;
    let query = RunQuery { job_id: Some(id), limit: 10, ..RunQuery::default() };
    assert_eq!(store.runs(&query).await.expect("read").runs.len(), 1, "the slot fired once");
    assert_eq!(ledger.lock().expect("whole").len(), 1);
}
