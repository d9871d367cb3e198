//! Progress of running calls.
//!
//! In memory only: the newest message of each call, until the results of the calls are in the transcript or the run
//! ends. A page that opens meanwhile misses nothing. The tools limit the rate. Pitfall: progress of an ended call; a
//! page shows progress only for a step that is still running.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rouse_core::RunId;
use rouse_core::call_progress::CallProgress;

use crate::events::EventBus;
use crate::wire::CallProgressView;

/// The newest progress of each call, by the step of the call.
type ProgressByStep = BTreeMap<u32, CallProgressView>;

/// The progress of the calls of all runs. Cheap to clone.
#[derive(Clone)]
pub struct LiveProgress {
    by_run: Arc<Mutex<HashMap<RunId, ProgressByStep>>>,
    bus: EventBus,
}

impl LiveProgress {
    /// Starts empty.
    #[must_use]
    pub fn new(bus: EventBus) -> Self {
        Self { by_run: Arc::default(), bus }
    }

    /// Takes and publishes a message of a call of `run`.
    pub fn report(&self, run: &RunId, progress: CallProgress<'_>) {
        let CallProgress { step, tool, text } = progress;
        let view = CallProgressView { step, tool: tool.to_owned(), text: text.to_owned() };
        self.lock().entry(run.clone()).or_default().insert(step, view.clone());
        self.bus.publish_progress(run.as_str(), &view);
    }

    /// Removes the progress of `run`.
    pub fn clear(&self, run: &RunId) {
        self.lock().remove(run);
    }

    /// The newest progress of each call of `run`.
    #[must_use]
    pub fn of_run(&self, run: &RunId) -> Vec<CallProgressView> {
        self.lock().get(run).map(|steps| steps.values().cloned().collect()).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, ProgressByStep>> {
        self.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(progress: &LiveProgress, run: &RunId) -> Vec<String> {
        let views = progress.of_run(run).into_iter();
        views.map(|view| format!("{} {}: {}", view.step, view.tool, view.text)).collect()
    }

    #[test]
    fn newest_message_of_each_call_is_kept() {
        let (progress, run) = (LiveProgress::new(EventBus::default()), RunId::new("r1"));
        for (step, text) in [(3, "1 of 2"), (2, "half"), (3, "2 of 2")] {
            progress.report(&run, CallProgress { step, tool: "cal_list", text });
        }
        assert_eq!(texts(&progress, &run), ["2 cal_list: half", "3 cal_list: 2 of 2"]);
        assert_eq!(texts(&progress, &RunId::new("r2")), [""; 0]);
        progress.clear(&run);
        assert_eq!(texts(&progress, &run), [""; 0]);
    }
}
