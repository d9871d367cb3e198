//! The whole engine, one life after another, each ended by a power cut at a call that nobody chose.
//!
//! Between the cuts there is everything that a person and a machine do: jobs of all schedules made, changed, switched
//! off and on and removed, pauses, runs by hand, attempts that fail and are made again, questions of runs answered, steps of the clock both ways, other zone
//! data, and time. At the end the ledger and the timeline are compared with the rows. Whether a call that got no answer
//! was done is read from the next life; it must have been done whole or not at all.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rouse_core::approval::{Answer, AnsweredFrom, ApprovalState};
use rouse_core::id::seed_ids;
use rouse_core::job::{Job, job_from_json};
use rouse_core::time::Clock as _;
use rouse_core::{ApprovalId, JobId, Run, RunState, RunTrigger, UnixMs};
use rouse_scheduler::{RunMode, SchedulerHandle};
use rouse_store::{Decided, RunQuery, Store};
use rouse_testkit::dice::{count_or, first_seed};
use rouse_testkit::faulty_disk::{Fault, Lasts};
use rouse_testkit::{Dice, FaultyDisk, ManualClock};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::digest::Digest;
use super::hands::{ATTEMPTS, Effect, Ledger, start};
use super::script::NOW;
use super::timeline::{Event, Required, name};
use super::{folder, folder_of, integrity, open};
use crate::rules::Rules;
use crate::world::shape::{DAY, HOUR, MINUTE, SECOND, Shape, ZONES};

const LIVES: usize = 8;
const JOBS: usize = 7;
const STEPS: usize = 60;

/// A world of several lives.
struct Lives {
    dice: Dice,
    clock: ManualClock,
    rules: Rules,
    ledger: Ledger,
    folder: TempDir,
    events: Vec<Event>,
    /// The last call got no answer: its event is the last but what happened to the clock since.
    unsure: Option<usize>,
    /// Jobs that are there, with their schedule and whether they are on.
    jobs: HashMap<JobId, (Shape, bool)>,
    /// Who waits for whom.
    listeners: HashMap<JobId, JobId>,
    made: usize,
    versions: usize,
    is_paused: bool,
    /// Which life this is.
    life: usize,
    /// Questions that a person has seen, with the life in which.
    seen: HashMap<ApprovalId, usize>,
    /// Answers that were acknowledged, with their name.
    answers: Vec<(ApprovalId, &'static str)>,
    /// Answers to what an earlier life had asked.
    answered_later: usize,
    /// Waits for a next attempt that a power cut has left.
    waits_left: usize,
    /// Every call to the disk, every event and every effect so far.
    trace: Digest,
}

impl Lives {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            clock: ManualClock::new(NOW),
            rules: Rules::default(),
            ledger: Ledger::default(),
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

    /// One life up to its power cut; the next one finds what the cut left.
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
        // The power goes now at the latest: closing writes nothing more.
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
        // Nobody is there to see these.
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

    /// Whether the call that got no answer was done. None when the disk is gone already.
    async fn learn(&mut self, store: &Store) -> Option<()> {
        let Some(place) = self.unsure else { return Some(()) };
        let event = self.events[place].clone();
        let (Event::Saved { id, .. } | Event::Switched { id, .. } | Event::Removed { id }) = &event
        else {
            panic!("nobody called: {event:?}")
        };
        let job = store.job(id).await.ok()?;
        let is_done = match &event {
            Event::Saved { version, .. } => job.is_some_and(|job| job.name == name(*version)),
            Event::Switched { is_on, .. } => job.is_some_and(|job| job.enabled == *is_on),
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

    fn know(&mut self, event: &Event) {
        match event {
            Event::Saved { id, shape, .. } => {
                let is_on = self.jobs.get(id).is_none_or(|(_, is_on)| *is_on);
                self.jobs.insert(id.clone(), (shape.clone(), is_on));
            }
            Event::Switched { id, is_on } => {
                self.jobs.get_mut(id).expect("there").1 = *is_on;
            }
            Event::Removed { id } => drop(self.jobs.remove(id)),
            _ => {}
        }
    }

    /// Notes a call; without an answer, nobody knows.
    fn note<T, E>(&mut self, event: Event, answer: &Result<T, E>) -> Option<()> {
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

    /// Waits until the engine has done what is to be done now.
    async fn see(&mut self, handle: &SchedulerHandle) -> Option<()> {
        handle.status().await.ok()?;
        if handle.problem().is_some() {
            return None;
        }
        self.events.push(Event::Seen);
        Some(())
    }

    fn pass(&mut self, span: i64) {
        let from = self.now();
        self.clock.advance(u64::try_from(span).expect("positive"));
        self.events.push(Event::Passed { from, to: self.now(), rules: self.rules });
    }

    /// Up to the lead of the next whole minute, some reads long, and over it.
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
            self.events.push(Event::SetBack { to: from - by });
        } else {
            self.clock.set(UnixMs(from + by));
            self.events.push(Event::Passed { from, to: from + by, rules: self.rules });
        }
    }

    fn change_zones(&mut self) {
        if self.dice.once_in(2) {
            self.rules = self.rules.another(&mut self.dice);
            self.events.push(Event::NewRules(self.rules));
        }
        let local = *self.dice.pick(&ZONES);
        self.clock.set_zones(self.rules.zones(local));
    }

    fn shape(&mut self) -> Shape {
        let now = self.now();
        match self.dice.below(6) {
            0 => Shape::Once(now + self.dice.between(1, 2 * HOUR)),
            1 | 2 => {
                let tz = *self.dice.pick(&ZONES);
                let soon = now + self.dice.between(MINUTE, 30 * MINUTE);
                let time = self.rules.local(soon, tz).time();
                let (hour, minute) =
                    (chrono::Timelike::hour(&time), chrono::Timelike::minute(&time));
                Shape::At { hour, minute, day: None, tz }
            }
            _ => Shape::Every { every_ms: self.dice.between(1, 7) * MINUTE, anchor: 0 },
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
            // Who waits for it is there before it can end, or it is not waited for.
            let listener = JobId::new(format!("after-{number}"));
            let schedule = json!({ "kind": "event", "source": "job", "filters": { "jobId": id, "status": "ok" } });
            handle.add_job(job(&listener, "after", number, schedule, at)).await.ok()?;
            self.listeners.insert(listener, id.clone());
        }
        self.versions += 1;
        let version = self.versions;
        let added = handle.add_job(job(&id, &name(version), number, shape.schedule(), at)).await;
        self.note(Event::Saved { id, version, shape, at }, &added)
    }

    fn any(&mut self) -> Option<(JobId, Shape, bool)> {
        let mut ids: Vec<&JobId> = self.jobs.keys().collect();
        ids.sort_unstable();
        let id = (!ids.is_empty()).then(|| (*self.dice.pick(&ids)).clone())?;
        let (shape, is_on) = self.jobs[&id].clone();
        Some((id, shape, is_on))
    }

    async fn by_hand(&mut self, handle: &SchedulerHandle) {
        if let Some((id, ..)) = self.any() {
            drop(handle.run_now(&id, RunMode::Force).await);
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
        self.note(Event::Saved { id, version, shape, at }, &updated)
    }

    async fn switch(&mut self, handle: &SchedulerHandle) -> Option<()> {
        let Some((id, shape, was_on)) = self.any() else { return Some(()) };
        let is_on = !was_on;
        if is_on && matches!(shape, Shape::Once(at) if at <= self.now()) {
            return Some(());
        }
        let updated = handle.update_job(&id, json!({ "enabled": is_on }), None).await;
        self.note(Event::Switched { id, is_on }, &updated)
    }

    async fn remove(&mut self, handle: &SchedulerHandle) -> Option<()> {
        let Some((id, ..)) = self.any() else { return Some(()) };
        let removed = handle.remove_job(&id, None).await;
        self.note(Event::Removed { id }, &removed)
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

    /// Looks at the open questions and answers one of them.
    async fn answer(&mut self, handle: &SchedulerHandle, store: &Store) -> Option<()> {
        let open: Vec<ApprovalId> =
            store.pending_approvals().await.ok()?.into_iter().map(|asked| asked.id).collect();
        for id in &open {
            self.seen.entry(id.clone()).or_insert(self.life);
        }
        if open.is_empty() {
            return Some(());
        }
        let id = self.dice.pick(&open).clone();
        let (answer, name) = match self.dice.below(4) {
            0 => (Answer::Deny { reason: None }, "denied"),
            _ => (Answer::Once, "approved"),
        };
        if let Decided::Counts { .. } = handle.decide(&id, answer, AnsweredFrom::Page).await.ok()? {
            self.answered_later += usize::from(self.seen[&id] < self.life);
            self.answers.push((id, name));
        }
        Some(())
    }

    /// Every question that is still open takes its answer, and its run goes on.
    async fn answer_the_rest(&self, handle: &SchedulerHandle, store: &Store) -> Result<(), String> {
        for asked in store.pending_approvals().await.expect("read") {
            let decided = handle.decide(&asked.id, Answer::Once, AnsweredFrom::Page).await;
            let (goes_on, is_withdrawn) = match &decided {
                Ok(Decided::Counts { goes_on, .. }) => (!goes_on.is_empty(), false),
                // Its run was ended since it was looked for: by the end of its job, or for another run of it.
                Ok(Decided::TooLate(asked)) => {
                    (false, matches!(asked.state, ApprovalState::Withdrawn { .. }))
                }
                Err(_) => (false, false),
            };
            if !goes_on && !is_withdrawn {
                return Err(format!("{} takes no answer: {decided:?}", asked.id));
            }
            let run = store.run(&asked.run_id).await.expect("read").expect("it asks");
            if run.state == RunState::AwaitingApproval {
                return Err(format!("{} waits for an answer that it has got", run.id));
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

    /// A last life on a good disk, in which everything comes to its end; then the books are compared.
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
        let said = checked.expect("a runtime").block_on(integrity(self.folder.path()));
        if said == "ok" { Ok(()) } else { Err(said) }
    }

    async fn compare(&self, store: &Store) -> Result<(), String> {
        let effects = self.ledger.lock().expect("whole").clone();
        let mut worked = HashSet::new();
        for Effect { run, first, attempt } in &effects {
            // A run that makes up for another one does so only when that had not done anything yet, and a further attempt
            // is made only after the one before it.
            if !worked.insert((first.clone(), *attempt)) {
                return Err(format!("{run} repeats work of {first}, attempt {attempt}"));
            }
            if *attempt > 1 && !worked.contains(&(first.clone(), attempt - 1)) {
                return Err(format!("{run} makes attempt {attempt} without the one before"));
            }
            if store.run(run).await.expect("read").is_none() {
                return Err(format!("run {run} worked and has no row"));
            }
            for asked in store.approvals_of(run).await.expect("read") {
                let is_allowed = matches!(asked.state, ApprovalState::Approved { .. });
                if !is_allowed || asked.used_at.is_none() {
                    return Err(format!("run {run} worked, and its question is {asked:?}"));
                }
            }
        }
        self.check_answers(store).await?;
        self.check_waits(store).await?;
        let saved: HashSet<&JobId> = self
            .events
            .iter()
            .filter_map(|event| if let Event::Saved { id, .. } = event { Some(id) } else { None })
            .collect();
        for id in saved {
            let required = Required::of(id, &self.events);
            let rows = rows_of(store, id).await;
            let told = |why| format!("{id}: {why}: {required:?}");
            required.check(&rows).map_err(told)?;
            self.check_next(store, id, &required).await.map_err(told)?;
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

    /// Who waits for the next attempt has failed, has attempts left, and may go on.
    async fn check_waits(&self, store: &Store) -> Result<(), String> {
        let running = store.running_runs().await.expect("read");
        for run in running.iter().filter(|run| run.next_attempt_at.is_some()) {
            let is_for_nothing = run.attempt >= ATTEMPTS || run.error.is_none();
            if is_for_nothing || (self.is_off(run) && run.trigger != RunTrigger::Manual) {
                return Err(format!("it waits and must not: {run:?}"));
            }
        }
        Ok(())
    }

    /// Whether its job is switched off.
    fn is_off(&self, run: &Run) -> bool {
        run.job_id.as_ref().and_then(|id| self.jobs.get(id)).is_some_and(|(_, is_on)| !is_on)
    }

    /// A question that was seen is there, and an answer that was acknowledged counts.
    async fn check_answers(&self, store: &Store) -> Result<(), String> {
        for id in self.seen.keys() {
            if store.approval(id).await.expect("read").is_none() {
                return Err(format!("{id} was seen and is gone"));
            }
        }
        for (id, name) in &self.answers {
            let asked = store.approval(id).await.expect("read");
            let state = asked.map(|asked| asked.state);
            if state.as_ref().map(ApprovalState::name) != Some(name) {
                return Err(format!("{id} was {name} and is {state:?}"));
            }
        }
        Ok(())
    }

    /// A job is where it was left, and its next slot is the next one.
    async fn check_next(&self, store: &Store, id: &JobId, must: &Required) -> Result<(), String> {
        let job = store.job(id).await.expect("read");
        let job = match (job, must.is_removed) {
            (None, true) => return Ok(()),
            (Some(_), true) => return Err("it was removed and is there".to_owned()),
            (None, false) => return Err("it was saved and is gone".to_owned()),
            (Some(job), false) => job,
        };
        let last = must.versions.last().expect("saved");
        if (job.enabled, &job.name) != (must.is_on, &name(last.number)) {
            return Err(format!("it is {}, on: {}", job.name, job.enabled));
        }
        let (next, now) = (job.state.next_run_at.map(|at| at.0), self.now());
        let nearest = last.shape.next_after(now, self.rules).filter(|_| job.enabled);
        let has_fired = matches!(last.shape, Shape::Once(_)) && next.is_none() && must.was_set_back;
        if has_fired || last.may_be_next(next, nearest, self.rules) {
            return Ok(());
        }
        Err(format!("at {now} its next slot is {next:?}, not {nearest:?}"))
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

/// The lives of a seed, and the digest of all that happened in them.
fn lives_of(seed: u64) -> (Lives, u64) {
    let mut lives = Lives::new(seed);
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
fn many_lives_and_power_cuts_lose_no_slot_and_repeat_no_work() {
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
    // They have some twelve each; how many fall out of a world hangs on where the power is cut.
    assert!(effects > worlds * 5, "hardly anything happened: {effects} effects");
}

fn every_minute() -> Value {
    json!({ "kind": "every", "everyMs": MINUTE, "anchorMs": 0 })
}

/// A full disk: a sentence for the person, no busy engine, and it goes on by itself.
#[tokio::test]
async fn a_full_disk_is_said_costs_nothing_and_passes() {
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    let (clock, ledger) = (ManualClock::new(NOW), Ledger::default());
    let store = open(folder.path()).await.expect("a store");
    let handle = start(&store, &clock, &ledger).await.expect("started");
    let id = handle
        .add_job(job(&JobId::new("job"), "Job", 0, every_minute(), NOW.0))
        .await
        .expect("saved")
        .id;
    disk.fail_now(Fault::Full);
    clock.advance(MINUTE.unsigned_abs());
    handle.status().await.expect("it answers");
    let sentence = handle.problem().expect("it is said");
    assert!(sentence.contains("disk is full"), "{sentence}");

    // While it keeps still, the disk is asked for nothing but what people ask.
    handle.status().await.expect("it answers");
    let before = disk.calls();
    for _ in 0..20 {
        handle.clock_changed().await.expect("it answers");
    }
    assert!(disk.calls() - before <= 2, "{} calls while it keeps still", disk.calls() - before);

    disk.mend();
    clock.advance(2_000);
    handle.status().await.expect("it answers");
    assert_eq!(handle.problem(), None);
    handle.shutdown().await;
    let query = RunQuery { job_id: Some(id), limit: 10, ..RunQuery::default() };
    assert_eq!(store.runs(&query).await.expect("read").runs.len(), 1, "the slot fired once");
    assert_eq!(ledger.lock().expect("whole").len(), 1);
}
