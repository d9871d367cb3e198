//! Jobs that wait for events and can hear none: their pattern cannot be read.
//!
//! An earlier version may have taken what this one does not, and a disk or a hand may have garbled it. Such a job is
//! paused with a run on record that failed of it, as any other job that cannot do its work: one incident, one
//! notification, and only for this job. One could get it wrong by only skipping what events would have fired: nobody would
//! learn of it before the event that he waits for.

use rouse_core::decide::{Ended, JobFate, announce};
use rouse_core::job::{Job, payload_to_json};
use rouse_core::{DeliveryId, Outcome, RunTrigger};
use rouse_store::{Finish, StoreError};

use crate::end_log::log_finish;
use crate::engine::Engine;
use crate::events::rows;
use crate::listeners::Deaf;
use crate::tick::new_run;

impl Engine {
    /// Pauses the jobs whose patterns turned out to be unreadable.
    pub(crate) async fn pause_deaf(&mut self) -> Result<(), StoreError> {
        // Before they are looked at: one that is found meanwhile is looked at the next time.
        if !self.listeners.take_may_have_deaf() {
            return Ok(());
        }
        let paused = self.pause_all_deaf().await;
        if paused.is_err() {
            self.listeners.may_have_deaf();
        }
        paused
    }

    async fn pause_all_deaf(&mut self) -> Result<(), StoreError> {
        self.refresh_listeners().await?;
        for deaf in self.listeners.deaf() {
            self.pause_one_deaf(deaf).await?;
        }
        Ok(())
    }

    async fn pause_one_deaf(&mut self, deaf: Deaf) -> Result<(), StoreError> {
        let Deaf { id, revision, reason } = deaf;
        let is_it = |job: &Job| job.enabled && job.state.revision == revision;
        let Some(job) = self.store.job(&id).await?.filter(is_it) else { return Ok(()) };
        let now = self.clock.now();
        let run = new_run(Some(&job), RunTrigger::Event, payload_to_json(&job.payload), now);
        let error = format!("{reason}. Change the pattern and switch the job on again.");
        let outcome = Outcome::failed(error);
        let fate = JobFate::IsPaused(reason);
        let incident = self.incident_step(Some(&job), &outcome, now).await?;
        let ended = Ended {
            job: Some(&job),
            run: &run,
            outcome: &outcome,
            fate: &fate,
            incident: &incident,
            previous_result: None,
        };
        let said = announce(&ended, DeliveryId::generate(now));
        let follows = self.plan_after(&run, &outcome, said.system_event.as_deref()).await?;
        let finish = Finish {
            fired: rows(&follows),
            deliveries: said.deliveries,
            system_event: said.system_event,
            incident,
            pause_job: fate.pause_reason().map(str::to_owned),
            ..Finish::of(run.id.clone(), outcome, now)
        };
        let is_new = self.store.insert_ended(&run, &finish).await?.is_some();
        log_finish(&run, &finish.outcome, None, now);
        self.remember_incident(Some(&id), &finish.incident);
        self.follow(follows, |_| is_new);
        self.listeners.changed();
        self.outbox.notify_one();
        self.settle_job(&job, &fate, &run.id);
        Ok(())
    }
}
