//! When the wall clock was set, the machine woke up, or the rules of a zone changed.
//!
//! A step forward needs nothing: slots that lie in the past now are due, and policy decides. After a step back every
//! job would sleep for the length of the step, so a next slot that is farther away than the first one after the new now
//! is taken nearer. Slots that have their row fire no second time; the store leaves them alone.
//!
//! New rules for a zone are a change of its clock at this instant: each pattern goes on with the first time that the
//! clock had not shown by the old rules. So no fixed time is left out and none comes twice, however far the rules lie
//! apart. A time that was jumped over is due at its instant by the new rules, or right after the newest slot by the old
//! ones where that is later: the same instant may have been another time by those, and have fired. The rules that jobs are
//! planned by are written down before the jobs are, so new ones that come while Rouse is off are such a change at its
//! start: what was due by the old ones comes by them. Where nothing can be read of that, the next slots begin after now. A
//! machine that moves to another zone moves no job, because each keeps the zone it was made with.
//!
//! What a change of the clock may plan, and that it never brings a slot again that has been decided, is `core::slots`' to
//! say; up to where they are is kept with each job.
//!
//! One could get it wrong by going over to the new rules before what was due by the old ones is claimed, or before the
//! plan is on the disk: then a full disk would lose the difference between the two.

use std::collections::BTreeSet;

use rouse_core::UnixMs;
use rouse_core::job::{Schedule, ScheduleSpec};
use rouse_core::schedule::Zones;
use rouse_core::slots::{Plan, Slots};
use rouse_store::{PlannedJob, StoreError};
use serde_json::{Value, json};

use crate::engine::Engine;

/// Where the store keeps the rules that the next slots were planned with: their `source`, and the `zones` of the jobs.
const SETTING: &str = "zoneData";

impl Engine {
    /// Something told that the clock was set or the machine woke up.
    pub(crate) fn clock_changed(&mut self) {
        self.clock.look_at_zones_again();
        self.clock_was_set = true;
    }

    /// Takes up the rules that the next slots were planned with, until they are planned anew.
    pub(crate) async fn load_zone_data(&mut self) -> Result<(), StoreError> {
        let stored = self.store.setting(SETTING).await?;
        let zones = stored.as_ref().and_then(|stored| stored.get("zones")).cloned();
        let now = self.clock.zones();
        let kept = zones.as_ref().and_then(|zones| now.with_written(zones));
        let (Some(Value::Object(rules)), Some(kept)) = (zones, kept) else {
            self.rules_are_new = true;
            return Ok(());
        };
        let source = stored.as_ref().and_then(|stored| stored.get("source")?.as_str());
        let is_same = |name: &String| now.zone(name) == kept.zone(name);
        if source != Some(&now.source().to_string()) || !rules.keys().all(is_same) {
            self.zones = kept;
        }
        self.zones_kept = rules.into_iter().map(|(name, _)| name).collect();
        Ok(())
    }

    /// Writes the rules down that a job is about to be planned by, unless they are.
    pub(crate) async fn keep_rules_of(&mut self, schedule: &Schedule) -> Result<(), StoreError> {
        let new = zone_of(schedule).filter(|zone| !self.zones_kept.contains(*zone));
        let Some(new) = new.map(str::to_owned) else { return Ok(()) };
        let mut names = self.zones_kept.clone();
        names.insert(new);
        let zones = self.zones.clone();
        self.keep_rules(&zones, names, self.clock.now()).await
    }

    async fn keep_rules(
        &mut self,
        zones: &Zones,
        names: BTreeSet<String>,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let rules = zones.written(names.iter().map(String::as_str));
        let value = json!({ "source": zones.source().to_string(), "zones": rules });
        self.store.put_setting(SETTING, &value, None, now).await?;
        self.zones_kept = names;
        Ok(())
    }

    pub(crate) async fn plan_anew_if_needed(&mut self) -> Result<(), StoreError> {
        let zones = self.clock.zones();
        let until_now = &self.zones;
        let has_new_rules = self.rules_are_new || !zones.has_data_of(until_now);
        let has_moved = zones.local() != until_now.local();
        if !(has_new_rules || has_moved || self.clock_was_set) {
            return Ok(());
        }
        if has_new_rules || self.clock_was_set {
            self.plan_anew(&zones, has_new_rules).await?;
        }
        self.zones = zones;
        self.rules_are_new = false;
        self.plan_beat_anew().await?;
        self.clock_was_set = false;
        Ok(())
    }

    fn log_planned(&self, zones: &Zones, jobs: usize, next_run_at: Option<UnixMs>) {
        let (zones, next_run_at_ms) = (zones.source().to_string(), next_run_at.map(|at| at.0));
        match self.rules_are_new {
            // A start that knows of no rules before has nothing to tell.
            true => tracing::debug!(zones, jobs, next_run_at_ms, "next slots are planned anew"),
            false => tracing::info!(zones, jobs, next_run_at_ms, "next slots are planned anew"),
        }
    }

    /// One read, one write.
    pub(crate) async fn plan_anew(
        &mut self,
        zones: &Zones,
        has_new_rules: bool,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let planning = Planning {
            now,
            old: &self.zones,
            new: zones,
            has_new_rules,
            knows_old_rules: !self.rules_are_new,
            only_changed_zones: !(self.clock_was_set || self.rules_are_new),
        };
        let jobs = self.store.planned_jobs().await?;
        let names =
            jobs.iter().filter_map(|job| zone_of(&job.schedule)).map(str::to_owned).collect();
        let (mut moved, mut next_run_at) = (Vec::new(), None);
        for job in jobs {
            let plan = planning.moved(&job);
            let next = plan.unwrap_or(job.plan).next;
            next_run_at = next_run_at.into_iter().chain(next).min();
            moved.extend(plan.map(|plan| (job, plan)));
        }
        self.log_planned(zones, moved.len(), next_run_at);
        if !moved.is_empty() {
            self.store.set_next_run(&moved, now).await?;
            self.next_due_is_stale = true;
        }
        if has_new_rules {
            self.keep_rules(zones, names, now).await?;
        }
        Ok(())
    }
}

/// What all jobs of one look have in common.
struct Planning<'a> {
    now: UnixMs,
    old: &'a Zones,
    new: &'a Zones,
    has_new_rules: bool,
    /// False for those of an earlier life of which nothing can be read.
    knows_old_rules: bool,
    /// Whether jobs in zones whose rules stay as they were need no look.
    only_changed_zones: bool,
}

impl Planning<'_> {
    /// The plan of `job` where it is not the one it has.
    fn moved(&self, job: &PlannedJob) -> Option<Plan> {
        // What is due is claimed as it is.
        let is_due = job.plan.next <= Some(self.now);
        if is_due || (self.only_changed_zones && self.keeps_its_rules(job)) {
            return None;
        }
        let slots = Self::slots(job, self.new)?;
        let has_new_rules = self.has_new_rules && zone_of(&job.schedule).is_some();
        let old = Self::slots(job, self.old).filter(|_| self.knows_old_rules);
        let plan = match old {
            _ if !has_new_rules => slots.nearer_plan(job.plan, self.now),
            Some(old) => slots.plan_by_new_rules(&old, job.plan, self.now),
            None => slots.plan_after(job.plan.decided, self.now),
        };
        Some(plan).filter(|plan| *plan != job.plan)
    }

    fn keeps_its_rules(&self, job: &PlannedJob) -> bool {
        zone_of(&job.schedule).is_none_or(|zone| self.old.zone(zone) == self.new.zone(zone))
    }

    /// None for a schedule that this version cannot read; its tick says why.
    fn slots(job: &PlannedJob, zones: &Zones) -> Option<Slots> {
        // silent-ok: the tick records it with its reason.
        Slots::of_job(&job.schedule, &job.id, job.created_at, zones).ok()
    }
}

/// The zone whose rules a schedule follows, which only a pattern does.
fn zone_of(schedule: &Schedule) -> Option<&str> {
    match &schedule.spec {
        ScheduleSpec::Cron { tz, .. } => Some(tz),
        _ => None,
    }
}
