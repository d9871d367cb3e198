//! Tests against real files. Each verb has a test that would fail without the verb.

mod approvals;
mod input_requests;
mod attempts;
mod backup;
mod call_attachments;
mod causes;
mod claims;
mod crash;
mod due_jobs;
mod events;
mod fetches;
mod finish;
mod unreadable_rows;
#[cfg(unix)]
mod file_identity;
mod incidents;
mod jobs;
mod memory;
mod open;
mod outbox;
mod run_list;
mod query_plans;
mod prepared_claims;
mod retention;
mod runs;
mod sessions;
mod settings;
mod spending;
mod steps;
mod summaries;
mod system_events;
mod transactions;
mod migrations;
mod batches;
mod tool_builds;
mod compiled_components;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rouse_core::channel::{ChannelName, MessageKind, Route};
use rouse_core::delivery::NewDelivery;
use rouse_core::event::{Event, EventKind};
use rouse_core::incident::IncidentStep;
use rouse_core::job::stored_job_from_json;
use rouse_core::run::Usage;
use rouse_core::slots::DecidedSlots;
use rouse_core::time::QuietPolicy;
use rouse_core::{DeliveryId, Job, JobId, Run, RunId, RunState, RunTrigger, UnixMs};
use serde_json::{Value, json};

use crate::{Claim, DueJob, EventListener, Postponement, Store};

/// The instant most tests begin at.
const NOW: UnixMs = UnixMs(1_800_000_000_000);

/// A store in a temporary folder, and the events of the listener.
struct Fixture {
    folder: tempfile::TempDir,
    store: Store,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let events = Arc::default();
        let store = Store::open(&folder.path().join("rouse.db"), listener(&events)).await.unwrap();
        Self { folder, store, events }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("rouse.db")
    }

    /// The events since the last call.
    fn take_events(&self) -> Vec<(EventKind, Value)> {
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        events.into_iter().map(|event| (event.kind, event.data)).collect()
    }

    async fn insert_job(&self, id: &str, next: Option<UnixMs>) -> Job {
        let mut job = job(id);
        job.state.next_run_at = next;
        self.store.insert_job(&job, NOW).await.unwrap()
    }

    /// A job with a queued run for the slot.
    async fn queued(&self, job: &str) -> RunId {
        self.insert_job(job, Some(NOW)).await;
        let run = slot_run(job, NOW);
        let id = run.id.clone();
        let claimed =
            self.store.claim(&[claim(job, NOW, None, vec![run])], NOW).await.unwrap().runs;
        assert_eq!(claimed, std::slice::from_ref(&id));
        self.take_events();
        id
    }

    /// A job with a running run for the slot.
    async fn running(&self, job: &str) -> RunId {
        let id = self.queued(job).await;
        self.store.start_runs(std::slice::from_ref(&id), NOW.plus_ms(5)).await.unwrap();
        self.take_events();
        id
    }

    /// Damages a row.
    async fn garble(&self, statement: &'static str, id: &str) {
        let mut tx = self.store.begin("garble", crate::sql::Durability::Full, NOW).await.unwrap();
        let changed = tx.execute(sqlx::query(statement).bind(id)).await.unwrap();
        assert_eq!(changed, 1);
        tx.commit().await.unwrap();
    }

    /// All due jobs.
    async fn due(&self) -> Vec<DueJob> {
        let (mut batches, mut due) = (self.store.due_jobs(NOW, 3), Vec::new());
        while let Some(batch) = batches.next().await.unwrap() {
            due.extend(batch);
        }
        due
    }

    async fn run(&self, id: &RunId) -> Run {
        self.store.run(id).await.unwrap().unwrap()
    }

    async fn job(&self, id: &str) -> Job {
        self.store.job(&JobId::new(id)).await.unwrap().unwrap()
    }
}

/// Key, creation, last change and message count of every session.
async fn sessions(store: &Store) -> Vec<(String, i64, i64, i64)> {
    let query = "SELECT key, created_at, updated_at, message_count FROM sessions ORDER BY key";
    sqlx::query_as(query).fetch_all(&store.readers).await.unwrap()
}

fn listener(received: &Arc<Mutex<Vec<Event>>>) -> EventListener {
    let received = received.clone();
    Arc::new(move |events| received.lock().unwrap().extend_from_slice(events))
}

fn job(id: &str) -> Job {
    let document = json!({
        "id": id,
        "name": format!("Job {id}"),
        "createdAtMs": NOW.0,
        "updatedAtMs": NOW.0,
        "schedule": { "kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin" },
        "payload": { "kind": "agentTurn", "message": "Look at the news", "futureKey": [1, 2] },
        "colour": "blue"
    });
    stored_job_from_json(document).unwrap()
}

/// A queued run for a slot.
fn slot_run(job: &str, slot: UnixMs) -> Run {
    Run {
        job_id: Some(JobId::new(job)),
        job_name: format!("Job {job}"),
        slot_at: Some(slot),
        trigger: RunTrigger::Schedule,
        ..manual_run()
    }
}

/// A queued run without a job.
fn manual_run() -> Run {
    Run {
        job_name: "Heartbeat".to_owned(),
        payload: json!({ "kind": "systemEvent", "text": "Hi" }),
        ..Run::queued(RunId::generate(NOW), RunTrigger::Manual, NOW)
    }
}

fn claim(job: &str, slot_at: UnixMs, next_run_at: Option<UnixMs>, runs: Vec<Run>) -> Claim {
    let decided = DecidedSlots { until: Some(slot_at), settled_until: None };
    let (coalesce_key, fired) = (None, Vec::new());
    Claim { job_id: JobId::new(job), slot_at, next_run_at, decided, runs, coalesce_key, fired }
}

/// A postponement without a network until `next_attempt_at`.
fn until(next_attempt_at: UnixMs) -> Postponement<'static> {
    let reason = "no network";
    Postponement { reason, next_attempt_at, attempts_began_at: NOW, may_have_arrived: false }
}

fn delivery(id: &str) -> NewDelivery {
    NewDelivery {
        id: DeliveryId::new(id),
        kind: MessageKind::Report,
        approval: None,
        route: Route::notification(),
        title: "Job a".to_owned(),
        body: "Done.".to_owned(),
        text: None,
        quiet_hours: QuietPolicy::RESPECT,
    }
}
