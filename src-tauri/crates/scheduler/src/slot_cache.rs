//! Compiled cron patterns of jobs that fire often.
//!
//! Reading a pattern costs more than asking it, and a pattern is some kilobytes, so a bounded number of them is kept by
//! job and revision. Intervals and instants compile for nothing and are not kept.

use std::collections::HashMap;

use rouse_core::JobId;
use rouse_core::job::{Job, ScheduleSpec};
use rouse_core::schedule::Zones;
use rouse_core::slots::Slots;

/// About 1.5 MB of patterns.
const MOST: usize = 256;

/// Slots by job and revision.
#[derive(Debug)]
pub(crate) struct SlotCache {
    zones: Zones,
    kept: HashMap<JobId, (i64, Slots)>,
}

impl SlotCache {
    pub(crate) fn new(zones: Zones) -> Self {
        Self { zones, kept: HashMap::new() }
    }

    /// The rules that the slots follow.
    pub(crate) const fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Goes over to other rules; answers those until now.
    pub(crate) fn follow(&mut self, zones: Zones) -> Zones {
        self.kept.clear();
        std::mem::replace(&mut self.zones, zones)
    }

    /// The slots of `job`.
    ///
    /// # Errors
    /// Why its schedule cannot be read by this version.
    pub(crate) fn of(&mut self, job: &Job) -> Result<Slots, String> {
        if !matches!(job.schedule.spec, ScheduleSpec::Cron { .. }) {
            return Slots::compile(&job.schedule, &job.id, &self.zones);
        }
        let revision = job.state.revision;
        if let Some((kept, slots)) = self.kept.get(&job.id)
            && *kept == revision
        {
            return Ok(slots.clone());
        }
        let slots = Slots::compile(&job.schedule, &job.id, &self.zones)?;
        if self.kept.len() >= MOST {
            self.kept.clear();
        }
        self.kept.insert(job.id.clone(), (revision, slots.clone()));
        Ok(slots)
    }

    /// Forgets a job.
    pub(crate) fn forget(&mut self, id: &JobId) {
        self.kept.remove(id);
    }
}
