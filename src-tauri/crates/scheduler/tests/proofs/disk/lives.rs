//! The whole engine, one life after another, each ended by a power cut at a call that nobody chose.
//!
//! A run's effect is written into a ledger that no power cut reaches, after its step was journalled as one that must not
//! be repeated: as a tool would do it. At the end the ledger is compared with the rows.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use rouse_core::job::{Job, job_from_json};
use rouse_core::time::Clock as _;
use rouse_core::tool::BoxFuture;
use rouse_core::{JobId, Outcome, Run, RunId, UnixMs};
use rouse_scheduler::{
    HeartbeatConfig, MainSession, RunMode, Runner, Scheduler, SchedulerConfig, SchedulerHandle,
};
use rouse_store::{NewStep, RunQuery, StepKind, Store};
use rouse_testkit::dice::{count_or, first_seed};
use rouse_testkit::faulty_disk::{Fault, Lasts};
use rouse_testkit::{Dice, FaultyDisk, ManualClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::script::NOW;
use super::{folder, folder_of, integrity, open};

const MINUTE: i64 = 60_000;
const LIVES: usize = 8;
const JOBS: usize = 6;

/// What runs did: the run, and the one that it makes up for, or itself.
type Ledger = Arc<Mutex<Vec<(RunId, RunId)>>>;

struct Hands {
    store: Store,
    ledger: Ledger,
    clock: ManualClock,
}

impl Runner for Hands {
    fn run(&self, run: Run, _: Option<Job>, _: CancellationToken) -> BoxFuture<'static, Outcome> {
        let (store, ledger, now) = (self.store.clone(), self.ledger.clone(), self.clock.now());
        Box::pin(async move {
            let step = NewStep {
                call_id: None,
                run_id: run.id.clone(),
                kind: StepKind::ToolCall,
                name: "mark".to_owned(),
                input: Value::Null,
                repeatable: false,
            };
            if store.begin_step(&step, now).await.is_err() {
                return Outcome::failed("The step could not be journalled.");
            }
            let first = run.retry_of.clone().unwrap_or_else(|| run.id.clone());
            ledger.lock().expect("whole").push((run.id.clone(), first));
            // Some runs are still at work when the power goes.
            match run.id.as_str().bytes().last() {
                Some(b'0'..=b'3') => std::future::pending().await,
                Some(b'4'..=b'6') => Outcome::failed("It did not work."),
                _ => Outcome::succeeded("Done."),
            }
        })
    }
}

struct Nobody;

impl MainSession for Nobody {
    fn has_work(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

async fn start(store: &Store, clock: &ManualClock, ledger: &Ledger) -> Option<SchedulerHandle> {
    let scheduler = Scheduler {
        store: store.clone(),
        clock: Arc::new(clock.clone()),
        timer: Box::new(clock.timer()),
        runner: Arc::new(Hands {
            store: store.clone(),
            ledger: ledger.clone(),
            clock: clock.clone(),
        }),
        main_session: Arc::new(Nobody),
        model: watch::Sender::new(false).subscribe(),
        outbox: Arc::new(Notify::new()),
        config: SchedulerConfig {
            max_concurrent_runs: 3,
            firing: true,
            off_reason: String::new(),
            heartbeat: HeartbeatConfig {
                enabled: false,
                every_ms: 30 * MINUTE,
                active_hours: None,
            },
        },
    };
    scheduler.start().await.ok()
}

/// A world of several lives.
struct Lives {
    dice: Dice,
    clock: ManualClock,
    ledger: Ledger,
    folder: TempDir,
    /// Jobs that somebody was told are saved.
    saved: HashSet<JobId>,
}

impl Lives {
    fn new(seed: u64) -> Self {
        let (dice, clock) = (Dice::new(seed), ManualClock::new(NOW));
        Self { dice, clock, ledger: Ledger::default(), folder: folder(), saved: HashSet::new() }
    }

    /// One life up to its power cut; the next one finds what the cut left.
    fn live(&mut self) {
        let disk = FaultyDisk::over(self.folder.path());
        disk.record();
        disk.fail_at(
            u64::try_from(self.dice.between(30, 900)).expect("positive"),
            Fault::Broken,
            Lasts::UntilMended,
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(self.days());
        drop(runtime);
        disk.wait_until_closed();
        let record = disk.recorded();
        let image = record.image(record.entries().len(), || self.dice.number());
        drop(disk);
        self.folder = folder_of(&image);
        self.clock.advance(u64::try_from(self.dice.between(0, 20 * MINUTE)).expect("positive"));
    }

    async fn days(&mut self) {
        let Ok(store) = open(self.folder.path()).await else { return };
        let Some(handle) = start(&store, &self.clock, &self.ledger).await else { return };
        for _ in 0..60 {
            if self.act(&handle).await.is_none() {
                return;
            }
        }
    }

    /// None when the disk is gone.
    async fn act(&mut self, handle: &SchedulerHandle) -> Option<()> {
        let number = self.dice.below(JOBS);
        let id = JobId::new(format!("job-{number}"));
        match self.dice.below(8) {
            0 | 1 if !self.saved.contains(&id) => {
                // It may be there already, saved by a call that got no answer.
                if handle.add_job(job(number, self.clock.now())).await.is_ok() {
                    self.saved.insert(id);
                }
            }
            2 => drop(handle.run_now(&id, RunMode::Force).await),
            3 => drop(handle.update_job(&id, json!({ "description": "x" }), None).await),
            _ => {
                let span = self.dice.between(1, 5 * MINUTE);
                self.clock.advance(u64::try_from(span).expect("positive"));
            }
        }
        handle.status().await.ok()?;
        handle.problem().is_none().then_some(())
    }

    /// A last life on a good disk, in which everything comes to its end; then the books are compared.
    fn close_the_books(mut self, seed: u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let store = open(self.folder.path())
                .await
                .unwrap_or_else(|e| panic!("ROUSE_SEED={seed}: {e:?}"));
            let handle = start(&store, &self.clock, &self.ledger).await.expect("started");
            self.act(&handle)
                .await
                .unwrap_or_else(|| panic!("ROUSE_SEED={seed}: {:?}", handle.problem()));
            handle.shutdown().await;
            self.compare(&store, seed).await;
            store.close().await;
        });
        let checked = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let said = checked.expect("a runtime").block_on(integrity(self.folder.path()));
        assert_eq!(said, "ok", "ROUSE_SEED={seed}");
    }

    async fn compare(&self, store: &Store, seed: u64) {
        let effects = self.ledger.lock().expect("whole").clone();
        let mut worked = HashSet::new();
        for (run, first) in &effects {
            // A run that makes up for another one does so only when that had not done anything yet.
            assert!(
                worked.insert(first.clone()),
                "ROUSE_SEED={seed}: {run} repeats work of {first}"
            );
            let row = store.run(run).await.expect("read");
            assert!(row.is_some(), "ROUSE_SEED={seed}: run {run} worked and has no row");
        }
        for id in &self.saved {
            let job = store.job(id).await.expect("read");
            let job =
                job.unwrap_or_else(|| panic!("ROUSE_SEED={seed}: {id} was saved and is gone"));
            self.count_slots(store, &job, seed).await;
        }
    }

    /// Every slot since the job was made stands in exactly one row.
    async fn count_slots(&self, store: &Store, job: &Job, seed: u64) {
        let query = RunQuery { job_id: Some(job.id.clone()), limit: 500, ..RunQuery::default() };
        let rows = store.runs(&query).await.expect("read").runs;
        let stand_for: i64 = rows
            .iter()
            .filter(|run| run.slot_at.is_some())
            .map(|run| i64::from(run.stands_for))
            .sum();
        let next = job.state.next_run_at.expect("an interval goes on");
        let first = job.created_at.0.div_euclid(MINUTE) + 1;
        let passed = next.0.div_euclid(MINUTE) - first;
        assert!(next > self.clock.now(), "ROUSE_SEED={seed}: the next slot lies in the past");
        assert_eq!(
            stand_for, passed,
            "ROUSE_SEED={seed}: slots of {} and the rows for them",
            job.id
        );
    }
}

fn job(number: usize, now: UnixMs) -> Job {
    let modes = ["runOnce", "runAll", "skip"];
    let overlaps = ["skip", "queue", "parallel", "cancelOther"];
    let document = json!({
        "id": format!("job-{number}"),
        "name": "Job",
        "schedule": { "kind": "every", "everyMs": MINUTE, "anchorMs": 0 },
        "payload": { "kind": "toolCall", "tool": "echo" },
        "policies": {
            "misfire": { "mode": modes[number % 3] },
            "overlap": overlaps[number % 4],
            "timeoutSeconds": 600,
        },
    });
    job_from_json(document, now, chrono_tz::UTC).expect("a valid job")
}

#[test]
fn many_lives_and_power_cuts_lose_no_slot_and_repeat_no_work() {
    let worlds = count_or(24);
    let mut effects = 0;
    for n in 0..worlds {
        let seed = first_seed() + u64::try_from(n).expect("few");
        let mut lives = Lives::new(seed);
        (0..LIVES).for_each(|_| lives.live());
        effects += lives.ledger.lock().expect("whole").len();
        lives.close_the_books(seed);
    }
    println!("{worlds} worlds of {LIVES} lives, {effects} effects");
    assert!(effects > worlds * 10, "hardly anything happened: {effects} effects");
}

/// A full disk: a sentence for the person, no busy engine, and it goes on by itself.
#[tokio::test]
async fn a_full_disk_is_said_costs_nothing_and_passes() {
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    let (clock, ledger) = (ManualClock::new(NOW), Ledger::default());
    let store = open(folder.path()).await.expect("a store");
    let handle = start(&store, &clock, &ledger).await.expect("started");
    let id = handle.add_job(job(0, NOW)).await.expect("saved").id;
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
