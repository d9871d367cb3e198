//! Replanning after a clock jump, a resume from suspend, or a change of zone rules.
//!
//! A jump forward needs nothing: the slots in the past are due, and the misfire policy decides. After a rollback every
//! job would sleep for the length of the step, so the next slot moves to the first slot after the new now. The store
//! leaves slots with a row alone, so no slot fires twice.
//!
//! New rules for a zone are a clock change of that zone at this instant: each pattern continues with the first time
//! that the clock had not shown by the old rules. So no fixed time is lost or doubled, however far the rules lie apart.
//! A time that the new rules skip is due at its instant by the new rules, or right after the newest slot by the old
//! rules, if later: that instant may have been another time by the old rules, and have fired. Rules are stored before
//! the jobs planned with them, so a change of rules while Rouse is off is handled at the start: slots that were due by
//! the old rules fire. If the stored rules cannot be read, the next slots begin after now. A machine that moves to
//! another zone moves no job, because each job keeps its zone. `core::slots` owns the rules themselves, and that a
//! decided slot never comes back.
//!
//! Pitfall: adopt new rules only after the slots due by the old rules are claimed and the plans are committed, or a full
//! disk loses the slots in between.

use std::collections::BTreeSet;

use rouse_core::UnixMs;
use rouse_core::job::{Schedule, ScheduleSpec};
use rouse_core::schedule::Zones;
use rouse_core::slots::{Plan, Slots};
use rouse_store::{PlannedJob, StoreError};
use serde_json::{Value, json};

use super::Engine;

/// The setting with the rules of the current plans: their `source`, and the `zones` of the jobs.
const SETTING: &str = "zoneData";

impl Engine {
    /// Notes a clock jump or a resume from suspend.
    pub(super) fn note_clock_change(&mut self) {
        self.clock.reload_zones();
        self.zones.clock_was_set = true;
    }

    /// Loads the zone rules of the current plans, in force until the slots are replanned.
    pub(super) async fn load_zone_rules(&mut self) -> Result<(), StoreError> {
        let stored = self.store.setting(SETTING).await?;
        let zones = stored.as_ref().and_then(|stored| stored.get("zones")).cloned();
        let now = self.clock.zones();
        let kept = zones.as_ref().and_then(|zones| now.with_stored_rules(zones));
        let (Some(Value::Object(rules)), Some(kept)) = (zones, kept) else {
            self.zones.are_unknown = true;
            return Ok(());
        };
        let source = stored.as_ref().and_then(|stored| stored.get("source")?.as_str());
        let is_same = |name: &String| now.zone(name) == kept.zone(name);
        if source != Some(&now.source().to_string()) || !rules.keys().all(is_same) {
            self.zones.zones = kept;
        }
        self.zones.stored = rules.into_iter().map(|(name, _)| name).collect();
        Ok(())
    }

    /// Stores the rules of a schedule's zone before a job is planned with those rules.
    pub(super) async fn store_rules_of(&mut self, schedule: &Schedule) -> Result<(), StoreError> {
        let new = zone_of(schedule).filter(|zone| !self.zones.stored.contains(*zone));
        let Some(new) = new.map(str::to_owned) else { return Ok(()) };
        let mut names = self.zones.stored.clone();
        names.insert(new);
        let zones = self.zones.zones.clone();
        self.store_rules(&zones, names, self.clock.now()).await
    }

    async fn store_rules(
        &mut self,
        zones: &Zones,
        names: BTreeSet<String>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let rules = zones.rules_json(names.iter().map(String::as_str));
        let value = json!({ "source": zones.source().to_string(), "zones": rules });
        self.store.put_setting(SETTING, &value, None, now).await?;
        self.zones.stored = names;
        Ok(())
    }

    /// Replans slots and heartbeat after a change of clock, zone or rules.
    pub(super) async fn replan_if_needed(&mut self) -> Result<(), StoreError> {
        let zones = self.clock.zones();
        let old = &self.zones.zones;
        let has_new_rules = self.zones.are_unknown || !zones.has_same_data(old);
        let has_moved = zones.local() != old.local();
        if !(has_new_rules || has_moved || self.zones.clock_was_set) {
            return Ok(());
        }
        if has_new_rules || self.zones.clock_was_set {
            self.replan_slots(&zones, has_new_rules).await?;
        }
        self.zones.zones = zones;
        self.zones.are_unknown = false;
        self.replan_heartbeat().await?;
        self.zones.clock_was_set = false;
        Ok(())
    }

    /// Replans the next slots with a single read and a single write.
    pub(super) async fn replan_slots(
        &mut self,
        zones: &Zones,
        has_new_rules: bool,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let replan = Replan {
            now,
            old: &self.zones.zones,
            new: zones,
            has_new_rules,
            old_are_known: !self.zones.are_unknown,
            only_changed_zones: !(self.zones.clock_was_set || self.zones.are_unknown),
        };
        let jobs = self.store.planned_jobs().await?;
        let names =
            jobs.iter().filter_map(|job| zone_of(&job.schedule)).map(str::to_owned).collect();
        let (mut moved, mut next_run_at) = (Vec::new(), None);
        for job in jobs {
            let plan = replan.new_plan(&job);
            let next = plan.unwrap_or(job.plan).next;
            next_run_at = next_run_at.into_iter().chain(next).min();
            moved.extend(plan.map(|plan| (job, plan)));
        }
        self.log_replan(zones, moved.len(), next_run_at);
        if !moved.is_empty() {
            self.store.save_plans(&moved, now).await?;
            self.slots.invalidate();
        }
        if has_new_rules {
            self.store_rules(zones, names, now).await?;
        }
        Ok(())
    }

    fn log_replan(&self, zones: &Zones, jobs: usize, next_run_at: Option<UnixMs>) {
        let (zones, next_run_at_ms) = (zones.source().to_string(), next_run_at.map(|at| at.0));
        if self.zones.are_unknown {
            // The first start has no earlier rules.
            tracing::debug!(zones, jobs, next_run_at_ms, "next slots are replanned");
        } else {
            tracing::info!(zones, jobs, next_run_at_ms, "next slots are replanned");
        }
    }
}

/// The parameters of a replanning of all jobs.
struct Replan<'a> {
    now: UnixMs,
    old: &'a Zones,
    new: &'a Zones,
    has_new_rules: bool,
    old_are_known: bool,
    only_changed_zones: bool,
}

impl Replan<'_> {
    /// The new plan of `job`; none if unchanged.
    fn new_plan(&self, job: &PlannedJob) -> Option<Plan> {
        // A due slot is claimed unchanged.
        let is_due = job.plan.next <= Some(self.now);
        if is_due || (self.only_changed_zones && self.has_same_rules(job)) {
            return None;
        }
        let slots = Self::slots(job, self.new)?;
        let has_new_rules = self.has_new_rules && zone_of(&job.schedule).is_some();
        let old = Self::slots(job, self.old).filter(|_| self.old_are_known);
        let plan = match old {
            _ if !has_new_rules => slots.plan_after_clock_rollback(job.plan, self.now),
            Some(old) => slots.plan_by_new_rules(&old, job.plan, self.now),
            None => slots.plan_after(job.plan.decided, self.now),
        };
        Some(plan).filter(|plan| *plan != job.plan)
    }

    fn has_same_rules(&self, job: &PlannedJob) -> bool {
        zone_of(&job.schedule).is_none_or(|zone| self.old.zone(zone) == self.new.zone(zone))
    }

    /// None for an unreadable schedule, which the tick reports.
    fn slots(job: &PlannedJob, zones: &Zones) -> Option<Slots> {
        // silent-ok: the tick records the error.
        Slots::of_job(&job.schedule, &job.id, job.created_at, zones).ok()
    }
}

/// The zone of a schedule; only a cron pattern has a zone.
fn zone_of(schedule: &Schedule) -> Option<&str> {
    match &schedule.spec {
        ScheduleSpec::Cron { tz, .. } => Some(tz),
        _ => None,
    }
}
