//! The jobs that wait for events, ready to be asked.
//!
//! Kept in memory, because every end of a run asks: a trigger and its pattern, which is read once per revision of its
//! job, when it is needed or a little before (`sought`). Whether the job may fire is read from the store when an event
//! fits; a job that was switched off a moment ago may still stand here. A pattern that an earlier version took and this one
//! does not makes nobody deaf but its own job, which is paused (`deaf`). Small patterns are looked for first: one that
//! takes all the effort there is for an event takes it from those that are as large. One could get it wrong by reading the
//! jobs for every event.

mod sought;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use rouse_core::JobId;
use rouse_core::cause::{Cause, Effort, JOB, Pattern};
use rouse_core::job::{EventTrigger, Job, ScheduleSpec};
use rouse_store::StoreError;

use crate::engine::Engine;
use sought::{Shared, Sought};

/// Who waits for which events.
#[derive(Debug)]
pub(crate) struct Listeners {
    by_job: BTreeMap<JobId, Listener>,
    is_stale: bool,
    shared: Arc<Shared>,
    /// Patterns that nobody has begun to read.
    unread: Vec<Weak<Sought>>,
}

#[derive(Debug)]
struct Listener {
    revision: i64,
    trigger: EventTrigger,
    pattern: Option<Arc<Sought>>,
}

/// A job that an event fires.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hears {
    /// The event, under the name for which it fires once.
    pub(crate) cause: Cause,
    /// Why nobody can say whether the event is meant for it; then its run is skipped with this reason.
    pub(crate) unclear: Option<String>,
}

/// A job whose pattern cannot be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deaf {
    /// The job.
    pub(crate) id: JobId,
    /// Its revision with that pattern.
    pub(crate) revision: i64,
    /// What is wrong, in words.
    pub(crate) reason: String,
}

impl Default for Listeners {
    fn default() -> Self {
        Self { by_job: BTreeMap::new(), is_stale: true, shared: Arc::default(), unread: Vec::new() }
    }
}

impl Listeners {
    /// A job was added or changed.
    pub(crate) const fn changed(&mut self) {
        self.is_stale = true;
    }

    /// Whether nobody waits for anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_job.is_empty()
    }

    /// Whether somebody waits for runs that did not run.
    pub(crate) fn hear_of_skips(&self) -> bool {
        self.by_job.values().any(|listener| {
            let filters = &listener.trigger.filters;
            listener.trigger.source == JOB
                && (filters.contains_key("status") || filters.contains_key("state"))
        })
    }

    /// The jobs that wait for `cause`. They come in the order of their ids, so that the same events always fire in the
    /// same order.
    pub(crate) fn waiting_for(&self, cause: &Cause) -> BTreeMap<JobId, Hears> {
        let fits = |(id, listener): &(&JobId, &Listener)| cause.fits(&listener.trigger, id);
        let mut fitting: Vec<(usize, &JobId, &Listener)> = self
            .by_job
            .iter()
            .filter(fits)
            .map(|(id, listener)| (listener.size(), id, listener))
            .collect();
        fitting.sort_unstable_by_key(|(size, id, _)| (*size, *id));
        let mut effort = Effort::default();
        let hears = fitting.into_iter().filter_map(|(_, id, listener)| {
            let unclear = match listener.finds_its_pattern(cause, &mut effort) {
                Ok(true) => None,
                Ok(false) => return None,
                Err(reason) => Some(reason),
            };
            Some((id.clone(), Hears { cause: cause.as_heard_by(&listener.trigger), unclear }))
        });
        hears.collect()
    }

    /// Reads what was not read yet, in another thread.
    pub(crate) fn read_ahead(&mut self) {
        sought::read_ahead(std::mem::take(&mut self.unread));
    }

    /// Waits for a job whose pattern cannot be looked for.
    pub(crate) async fn found_deaf(&self) {
        self.shared.found_broken().await;
    }

    /// Whether a pattern was found that cannot be looked for since this was asked.
    pub(crate) fn take_may_have_deaf(&self) -> bool {
        self.shared.take_broken()
    }

    /// Those that were found are still to be dealt with.
    pub(crate) fn may_have_deaf(&self) {
        self.shared.remember_broken();
    }

    /// The jobs whose patterns cannot be looked for, as far as they were read.
    pub(crate) fn deaf(&self) -> Vec<Deaf> {
        let deaf = self.by_job.iter().filter_map(|(id, listener)| {
            let reason = listener.pattern.as_ref()?.complaint()?.to_owned();
            Some(Deaf { id: id.clone(), revision: listener.revision, reason })
        });
        let mut deaf: Vec<Deaf> = deaf.collect();
        deaf.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        deaf
    }

    fn replace(&mut self, jobs: &[Job]) {
        let mut before = std::mem::take(&mut self.by_job);
        for job in jobs {
            let kept = before.remove(&job.id).filter(|kept| kept.revision == job.state.revision);
            let listener = kept.or_else(|| {
                let new = Listener::of(job, &self.shared)?;
                self.unread.extend(new.pattern.as_ref().map(Arc::downgrade));
                Some(new)
            });
            if let Some(listener) = listener {
                self.by_job.insert(job.id.clone(), listener);
            }
        }
        self.is_stale = false;
    }
}

impl Listener {
    fn of(job: &Job, shared: &Arc<Shared>) -> Option<Self> {
        let ScheduleSpec::Event(trigger) = &job.schedule.spec else { return None };
        let pattern = trigger.pattern.clone();
        let pattern = pattern.map(|text| Arc::new(Sought::new(text, Arc::clone(shared))));
        Some(Self { revision: job.state.revision, trigger: trigger.clone(), pattern })
    }

    fn size(&self) -> usize {
        let pattern = self.pattern.as_ref().and_then(|sought| sought.pattern().ok());
        pattern.map_or(0, Pattern::size)
    }

    fn finds_its_pattern(&self, cause: &Cause, effort: &mut Effort) -> Result<bool, String> {
        match self.pattern.as_ref().map(|sought| sought.pattern()) {
            None => Ok(true),
            Some(Ok(pattern)) => pattern.is_found_in(&cause.text, effort),
            Some(Err(reason)) => Err(format!("{reason}. Change the pattern.")),
        }
    }
}

impl Engine {
    /// Takes up what was changed since the last event.
    pub(crate) async fn refresh_listeners(&mut self) -> Result<(), StoreError> {
        if self.listeners.is_stale {
            let jobs = self.store.listening_jobs().await?;
            self.listeners.replace(&jobs);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;
    use rouse_core::job::stored_job_from_json;
    use serde_json::{Value, json};

    use super::*;

    fn job(id: &str, revision: i64, schedule: Value) -> Job {
        let document = json!({
            "id": id, "name": id, "schedule": schedule,
            "payload": { "kind": "toolCall", "tool": "echo" }
        });
        let mut job = stored_job_from_json(document).expect("a job");
        job.state.revision = revision;
        job
    }

    fn wakes(id: &str, revision: i64, pattern: &str) -> Job {
        job(id, revision, json!({ "kind": "event", "source": "wake", "pattern": pattern }))
    }

    fn who(listeners: &Listeners, text: &str) -> Vec<String> {
        let ids = listeners.waiting_for(&Cause::wake(text, UnixMs(0)));
        ids.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn those_whose_trigger_fits_are_found_in_order() {
        let mut listeners = Listeners::default();
        let other = job("c", 1, json!({ "kind": "event", "source": "webhook" }));
        listeners.replace(&[wakes("b", 1, "tea"), wakes("a", 1, "^tea$"), other]);
        assert_eq!(who(&listeners, "tea"), ["a", "b"]);
        assert_eq!(who(&listeners, "green tea"), ["b"]);
    }

    #[test]
    fn a_trigger_is_read_again_only_with_its_revision() {
        let mut listeners = Listeners::default();
        listeners.replace(&[wakes("a", 1, "tea")]);
        // Cannot happen in life: it shows that the same revision is not read a second time.
        listeners.replace(&[wakes("a", 1, "coffee")]);
        assert_eq!(who(&listeners, "tea"), ["a"]);
        listeners.replace(&[wakes("a", 2, "coffee")]);
        assert_eq!((who(&listeners, "tea").len(), who(&listeners, "coffee").len()), (0, 1));
        listeners.replace(&[]);
        assert!(listeners.is_empty());
    }

    #[test]
    fn a_thousand_listeners_are_asked_without_the_store() {
        let mut listeners = Listeners::default();
        let jobs: Vec<Job> =
            (0..1_000).map(|n| wakes(&format!("{n:04}"), 1, &format!("^{n}$"))).collect();
        listeners.replace(&jobs);
        assert_eq!(who(&listeners, "512"), ["0512"]);
    }
}
