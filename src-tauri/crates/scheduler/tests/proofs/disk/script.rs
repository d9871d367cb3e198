//! Writes of every durable kind, and what each of them promises once it has been answered.

use rouse_core::delivery::{Channel, NewDelivery};
use rouse_core::job::job_from_json;
use rouse_core::quiet::QuietPolicy;
use rouse_core::{DeliveryId, Job, JobId, Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Claim, Finish, Store, StoreError};
use rouse_testkit::FaultyDisk;
use serde_json::json;

pub(super) const NOW: UnixMs = UnixMs(1_800_000_000_000);

/// What somebody was told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Promise {
    Saved(JobId),
    Removed(JobId),
    /// The run has its row, and its job has gone on to this slot.
    Claimed(RunId, JobId, UnixMs),
    Ended(RunId, RunState),
    InOutbox(DeliveryId),
    Setting(i64),
    Event(String),
}

/// Writes, one after the other, and the promises that were made.
pub(super) struct Script<'d> {
    disk: &'d FaultyDisk,
    pub(super) promises: Vec<Promise>,
    /// Writes that the store refused.
    pub(super) refused: usize,
}

impl<'d> Script<'d> {
    pub(super) const fn new(disk: &'d FaultyDisk) -> Self {
        Self { disk, promises: Vec::new(), refused: 0 }
    }

    fn answered<T>(
        &mut self,
        answer: Result<T, StoreError>,
        promises: impl IntoIterator<Item = Promise>,
    ) {
        match answer {
            Ok(_) => {
                self.promises.extend(promises);
                self.disk.note(u64::try_from(self.promises.len()).expect("few"));
            }
            Err(_) => self.refused += 1,
        }
    }

    /// One round of writes; rounds differ by their number.
    pub(super) async fn round(&mut self, store: &Store, round: i64) {
        let (kept, gone) = (job(&format!("kept-{round}")), job(&format!("gone-{round}")));
        for job in [&kept, &gone] {
            let saved = store.insert_job(job, NOW).await;
            self.answered(saved, [Promise::Saved(job.id.clone())]);
        }
        let run = run(&kept, round);
        let next = NOW.plus_ms(60_000);
        let claims = [Claim {
            job_id: kept.id.clone(),
            slot_at: NOW,
            next_run_at: Some(next),
            runs: vec![run.clone()],
            fired: Vec::new(),
        }];
        // A job that was not saved has nothing to claim.
        if let Ok(claimed) = store.claim(&claims, NOW).await {
            let promise =
                claimed.first().map(|id| Promise::Claimed(id.clone(), kept.id.clone(), next));
            self.answered(Ok(()), promise);
        }
        // Not durable by itself; the end that follows takes it along.
        drop(store.start_runs(std::slice::from_ref(&run.id), NOW).await);
        self.end(store, &run, round).await;
        let removed = store.remove_job(&gone.id, NOW).await;
        self.answered(removed, [Promise::Removed(gone.id)]);
        let put = store.put_setting("round", &json!(round), None, NOW).await;
        self.answered(put, [Promise::Setting(round)]);
        let text = format!("event {round}");
        let queued = store.queue_system_event(&text, "test", &[], NOW).await;
        self.answered(queued, [Promise::Event(text)]);
    }

    async fn end(&mut self, store: &Store, run: &Run, round: i64) {
        let id = DeliveryId::new(format!("delivery-{round}"));
        let delivery = NewDelivery {
            id: id.clone(),
            channel: Channel::Notification,
            to: None,
            title: "Job".to_owned(),
            body: "Done. ".repeat(100),
            quiet_hours: QuietPolicy::default(),
        };
        let outcome = Outcome::succeeded("Done.");
        let state = outcome.state;
        let finish =
            Finish { deliveries: vec![delivery], ..Finish::of(run.id.clone(), outcome, NOW) };
        match store.finish_run(&finish).await {
            // Its row is not there: its claim was refused.
            Ok(None) => {}
            ended => {
                self.answered(ended, [Promise::Ended(run.id.clone(), state), Promise::InOutbox(id)])
            }
        }
    }
}

/// Whether the store knows what was promised; `later` promises may have followed.
pub(super) async fn is_kept(
    store: &Store,
    promise: &Promise,
    asked_to_go: bool,
) -> Result<bool, StoreError> {
    Ok(match promise {
        Promise::Saved(id) => asked_to_go || store.job(id).await?.is_some(),
        Promise::Removed(id) => store.job(id).await?.is_none(),
        Promise::Claimed(run, job, next) => {
            let job = store.job(job).await?;
            store.run(run).await?.is_some()
                && job.is_some_and(|job| job.state.next_run_at == Some(*next))
        }
        Promise::Ended(run, state) => store.run(run).await?.is_some_and(|run| run.state == *state),
        Promise::InOutbox(id) => store.delivery(id).await?.is_some(),
        Promise::Setting(round) => {
            let stored = store.setting("round").await?;
            stored.and_then(|value| value.as_i64()).is_some_and(|stored| stored >= *round)
        }
        Promise::Event(text) => {
            store.pending_system_events().await?.iter().any(|event| event.text == *text)
        }
    })
}

/// All of these promises that the store does not know.
pub(super) async fn broken(
    store: &Store,
    promises: &[Promise],
) -> Result<Vec<Promise>, StoreError> {
    let mut broken = Vec::new();
    for promise in promises {
        // Its removal may have been on its way, answered or not.
        let asked_to_go = matches!(promise, Promise::Saved(id) if id.as_str().starts_with("gone-"));
        if !is_kept(store, promise, asked_to_go).await? {
            broken.push(promise.clone());
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
