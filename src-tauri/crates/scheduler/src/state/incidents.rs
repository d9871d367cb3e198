//! The jobs that may have an open incident.

use std::collections::HashSet;

use rouse_core::JobId;
use rouse_core::incident::IncidentStep;

/// Saves a read at the end of a healthy run. A superfluous job costs a read, a missing job would lose an incident.
#[derive(Debug, Default)]
pub(crate) struct OpenIncidents(HashSet<JobId>);

impl OpenIncidents {
    pub(crate) fn load(jobs: impl IntoIterator<Item = JobId>) -> Self {
        Self(jobs.into_iter().collect())
    }

    pub(crate) fn may_have(&self, job: &JobId) -> bool {
        self.0.contains(job)
    }

    /// Follows a step that is in the store.
    pub(crate) fn apply(&mut self, job: Option<&JobId>, step: &IncidentStep) {
        let Some(job) = job else { return };
        match step {
            IncidentStep::Opened { .. } | IncidentStep::Reopened { .. } => {
                self.0.insert(job.clone());
            }
            IncidentStep::Resolved { .. } => drop(self.0.remove(job)),
            IncidentStep::Recurred { .. } | IncidentStep::Nothing => {}
        }
    }
}
