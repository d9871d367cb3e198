//! The jobs with an event trigger, in memory.
//!
//! Every end of a run is an event, so triggers are matched without the store. Whether a job may fire is read from the
//! store when an event matches; a job that was disabled a moment ago may still be listed here. An invalid pattern
//! pauses only the job with that pattern. Small patterns match first, so a pattern that uses up the effort for an event
//! takes the effort from larger patterns only.
//! Pitfall: do not read the jobs for every event.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use rouse_core::JobId;
use rouse_core::cause::{Cause, JOB, Pattern, SearchBudget};
use rouse_core::job::{EventTrigger, Job, ScheduleSpec};

use super::pattern_match::{EventPattern, PatternMemory, compile_in_background};

/// The event triggers of all jobs.
#[derive(Debug)]
pub(crate) struct EventListeners {
    by_job: BTreeMap<JobId, Listener>,
    is_stale: bool,
    memory: Arc<PatternMemory>,
    uncompiled: Vec<Weak<EventPattern>>,
}

#[derive(Debug)]
struct Listener {
    revision: i64,
    trigger: EventTrigger,
    pattern: Option<Arc<EventPattern>>,
}

/// An event that fires a job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MatchedEvent {
    /// The event under the id for which the job fires once.
    pub(crate) cause: Cause,
    /// Why the match is undecided; the run is skipped for this reason.
    pub(crate) undecided: Option<String>,
}

/// A job with an invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InvalidPattern {
    pub(crate) job_id: JobId,
    /// The job's revision with that pattern.
    pub(crate) revision: i64,
    pub(crate) reason: String,
}

impl Default for EventListeners {
    fn default() -> Self {
        Self {
            by_job: BTreeMap::new(),
            is_stale: true,
            memory: Arc::default(),
            uncompiled: Vec::new(),
        }
    }
}

impl EventListeners {
    /// Notes that a job was added or changed.
    pub(crate) const fn invalidate(&mut self) {
        self.is_stale = true;
    }

    pub(crate) const fn is_stale(&self) -> bool {
        self.is_stale
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_job.is_empty()
    }

    /// Whether a trigger filters on the state of ended runs, so that skipped runs may fire the job.
    pub(crate) fn match_skipped_runs(&self) -> bool {
        self.by_job.values().any(|listener| {
            let filters = &listener.trigger.filters;
            listener.trigger.source == JOB
                && (filters.contains_key("status") || filters.contains_key("state"))
        })
    }

    /// The jobs that `cause` fires, by id, so that the same events always fire in the same order.
    pub(crate) fn matches_of(&self, cause: &Cause) -> BTreeMap<JobId, MatchedEvent> {
        let fits = |(id, listener): &(&JobId, &Listener)| cause.matches(&listener.trigger, id);
        let mut fitting: Vec<(usize, &JobId, &Listener)> = self
            .by_job
            .iter()
            .filter(fits)
            .map(|(id, listener)| (listener.pattern_size(), id, listener))
            .collect();
        fitting.sort_unstable_by_key(|(size, id, _)| (*size, *id));
        let mut effort = SearchBudget::default();
        let matches = fitting.into_iter().filter_map(|(_, id, listener)| {
            let undecided = match listener.matches_pattern(cause, &mut effort) {
                Ok(true) => None,
                Ok(false) => return None,
                Err(reason) => Some(reason),
            };
            let cause = cause.for_listener(&listener.trigger);
            Some((id.clone(), MatchedEvent { cause, undecided }))
        });
        matches.collect()
    }

    /// Compiles new patterns on another thread.
    pub(crate) fn compile_in_background(&mut self) {
        compile_in_background(std::mem::take(&mut self.uncompiled));
    }

    /// Waits until an invalid pattern is found.
    pub(crate) async fn found_invalid(&self) {
        self.memory.found_invalid().await;
    }

    /// Whether an invalid pattern was found since the last call.
    pub(crate) fn take_has_invalid(&self) -> bool {
        self.memory.take_has_invalid()
    }

    /// Notes that jobs with invalid patterns are still to be paused.
    pub(crate) fn set_has_invalid(&self) {
        self.memory.set_has_invalid();
    }

    /// The jobs with compiled, invalid patterns.
    pub(crate) fn invalid_patterns(&self) -> Vec<InvalidPattern> {
        let invalid = self.by_job.iter().filter_map(|(id, listener)| {
            let reason = listener.pattern.as_ref()?.error()?.to_owned();
            Some(InvalidPattern { job_id: id.clone(), revision: listener.revision, reason })
        });
        invalid.collect()
    }

    /// Takes the triggers of `jobs`. A pattern is kept as long as the revision of the job is the same.
    pub(crate) fn replace(&mut self, jobs: &[Job]) {
        let mut before = std::mem::take(&mut self.by_job);
        for job in jobs {
            let kept = before.remove(&job.id).filter(|kept| kept.revision == job.state.revision);
            let listener = kept.or_else(|| {
                let new = Listener::of(job, &self.memory)?;
                self.uncompiled.extend(new.pattern.as_ref().map(Arc::downgrade));
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
    fn of(job: &Job, memory: &Arc<PatternMemory>) -> Option<Self> {
        let ScheduleSpec::Event(trigger) = &job.schedule.spec else { return None };
        let pattern = trigger.pattern.clone();
        let pattern = pattern.map(|text| Arc::new(EventPattern::new(text, Arc::clone(memory))));
        Some(Self { revision: job.state.revision, trigger: trigger.clone(), pattern })
    }

    fn pattern_size(&self) -> usize {
        let pattern = self.pattern.as_ref().and_then(|pattern| pattern.get().ok());
        pattern.map_or(0, Pattern::size)
    }

    fn matches_pattern(&self, cause: &Cause, effort: &mut SearchBudget) -> Result<bool, String> {
        match self.pattern.as_ref().map(|pattern| pattern.get()) {
            None => Ok(true),
            Some(Ok(pattern)) => pattern.is_found_in(&cause.text, effort),
            Some(Err(reason)) => Err(format!("{reason}. Change the pattern.")),
        }
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

    fn wake_job(id: &str, revision: i64, pattern: &str) -> Job {
        job(id, revision, json!({ "kind": "event", "source": "wake", "pattern": pattern }))
    }

    fn matching_ids(listeners: &EventListeners, text: &str) -> Vec<String> {
        let ids = listeners.matches_of(&Cause::wake(text, UnixMs(0)));
        ids.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn matching_jobs_are_found_by_id() {
        let mut listeners = EventListeners::default();
        let other = job("c", 1, json!({ "kind": "event", "source": "webhook" }));
        listeners.replace(&[wake_job("b", 1, "tea"), wake_job("a", 1, "^tea$"), other]);
        assert_eq!(matching_ids(&listeners, "tea"), ["a", "b"]);
        assert_eq!(matching_ids(&listeners, "green tea"), ["b"]);
    }

    #[test]
    fn pattern_is_recompiled_only_for_a_new_revision() {
        let mut listeners = EventListeners::default();
        listeners.replace(&[wake_job("a", 1, "tea")]);
        // The same revision with another pattern cannot occur; the test shows that the pattern is not compiled again.
        listeners.replace(&[wake_job("a", 1, "coffee")]);
        assert_eq!(matching_ids(&listeners, "tea"), ["a"]);
        listeners.replace(&[wake_job("a", 2, "coffee")]);
        assert_eq!(
            (matching_ids(&listeners, "tea").len(), matching_ids(&listeners, "coffee").len()),
            (0, 1)
        );
        listeners.replace(&[]);
        assert!(listeners.is_empty());
    }

    #[test]
    fn thousand_listeners_match_without_the_store() {
        let mut listeners = EventListeners::default();
        let jobs: Vec<Job> =
            (0..1_000).map(|n| wake_job(&format!("{n:04}"), 1, &format!("^{n}$"))).collect();
        listeners.replace(&jobs);
        assert_eq!(matching_ids(&listeners, "512"), ["0512"]);
    }
}
