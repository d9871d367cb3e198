//! The database of an engine against the effects of the jobs and the arithmetic of the schedules.
//!
//! A job keeps only the newest rows of skipped slots. Slots before the newest pruned row cannot be counted, all later
//! slots are. Pitfall: counting per job only, because a duplicate would hide a lost run.

mod tests;

use std::collections::{BTreeMap, HashMap};

use rouse_testkit::dice::is_long;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use super::jobs::{ALL_DONE, MarkServer, ledger, ledger_runs, notes};
use super::{AcknowledgedJob, Acknowledgements, limits};
use crate::engine::TestHome;

/// The minimum number of rows before pruning.
const CROWD: usize = 200;

/// A row of the runs table.
#[derive(Debug, Clone)]
pub(super) struct RunRow {
    id: String,
    job_id: String,
    slot_at: Option<i64>,
    state: String,
    slot_count: i64,
    attempt: i64,
    retry_of: Option<String>,
    created_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    /// The reason of the state, or empty.
    reason: String,
    /// The summary, or empty.
    summary: String,
}

impl RunRow {
    fn read(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            job_id: row.try_get::<Option<_>, _>("job_id")?.unwrap_or_default(),
            slot_at: row.try_get("slot_at")?,
            state: row.try_get("state")?,
            slot_count: row.try_get("stands_for")?,
            attempt: row.try_get("attempt")?,
            retry_of: row.try_get("retry_of")?,
            created_at: row.try_get("created_at")?,
            started_at: row.try_get("started_at")?,
            finished_at: row.try_get("finished_at")?,
            reason: row.try_get::<Option<_>, _>("reason")?.unwrap_or_default(),
            summary: row.try_get::<Option<_>, _>("summary")?.unwrap_or_default(),
        })
    }
}

impl RunRow {
    fn is(&self, states: &[&str]) -> bool {
        states.contains(&self.state.as_str())
    }

    pub(super) fn has_worked(&self) -> bool {
        self.is(&["succeeded", "nothingToReport"])
    }

    pub(super) fn has_failed(&self) -> bool {
        self.is(&["failed", "timedOut"])
    }

    /// Whether the run ended without the remaining attempts.
    fn lacks_attempts(&self) -> bool {
        self.reason.ends_with("so it was not retried")
    }

    /// Whether retries were withheld for another reason than a newer slot. Such a run does not pause its job.
    pub(super) fn is_held_back(&self) -> bool {
        self.lacks_attempts() && !self.reason.contains("Replaced by a newer slot, so")
    }

    /// Whether the run ended by a result.
    pub(super) fn has_own_result(&self) -> bool {
        (self.has_worked() || self.has_failed()) && !self.lacks_attempts()
    }

    /// The number of started attempts.
    pub(super) fn attempts(&self) -> usize {
        usize::try_from(self.attempt).expect("few")
    }

    /// The delay between slot and claim.
    pub(super) fn claim_delay(&self) -> i64 {
        self.slot_at.map_or(0, |slot| self.created_at - slot)
    }

    /// Whether one tick claimed both slots as catch-up.
    pub(super) fn is_claimed_with(&self, other: &Self) -> bool {
        let is_slot = |row: &Self| row.slot_at.is_some() && row.state != "missed";
        is_slot(self) && is_slot(other) && self.created_at == other.created_at
    }

    /// Start and end of the work.
    pub(super) fn work_span(&self) -> Option<(i64, i64)> {
        self.started_at.filter(|_| self.attempts() > 0).zip(self.finished_at)
    }
}

/// A stored job.
#[derive(Debug)]
pub(super) struct CurrentJob {
    pub(super) job: Value,
    pub(super) next: Option<i64>,
    pub(super) is_enabled: bool,
}

/// All compared records.
#[derive(Debug, Default)]
pub(super) struct RunRecords {
    pub(super) jobs: HashMap<String, CurrentJob>,
    /// By end time.
    pub(super) rows: Vec<RunRow>,
    /// The newest pruned slot by job.
    pub(super) pruned: HashMap<String, i64>,
    /// The number of runs that events and calls fired, by job.
    pub(super) fired: HashMap<String, usize>,
    /// System events by text.
    pub(super) lines: HashMap<String, usize>,
    /// The number of ledger lines by run.
    pub(super) ledger: BTreeMap<String, usize>,
    /// The number of server requests by job.
    pub(super) marks: HashMap<String, usize>,
    /// The number of memory lines by job.
    pub(super) notes: HashMap<String, usize>,
}

impl RunRecords {
    /// Reads the records of a stopped engine and checks the integrity of the database.
    pub(super) async fn of(home: &TestHome, server: &MarkServer, context: &str) -> Self {
        let url = format!("sqlite:{}?mode=ro", home.data().join("rouse.db").display());
        let file = SqlitePool::connect(&url).await.expect("opened");
        let integrity: String =
            sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&file).await.expect("an answer");
        assert_eq!(integrity, "ok", "{context}");
        let jobs: Vec<(String, String, Option<i64>, bool)> =
            sqlx::query_as("SELECT id, definition, next_run_at, enabled FROM jobs")
                .fetch_all(&file)
                .await
                .expect("jobs");
        let rows = sqlx::query("SELECT * FROM runs ORDER BY finished_at, seq")
            .fetch_all(&file)
            .await
            .expect("runs");
        let count = async |query| {
            let counts: Vec<(String, i64)> =
                sqlx::query_as(query).fetch_all(&file).await.expect("counts");
            counts.into_iter().map(|(key, n)| (key, usize::try_from(n).expect("few"))).collect()
        };
        let pruned: Vec<(String, i64)> =
            sqlx::query_as("SELECT job_id, max(through_at) FROM pruned_slots GROUP BY job_id")
                .fetch_all(&file)
                .await
                .expect("slots");
        let mut written = BTreeMap::new();
        for run in ledger_runs(&ledger(home)) {
            *written.entry(run).or_default() += 1;
        }
        Self {
            rows: rows.iter().map(|row| RunRow::read(row).expect("a row")).collect(),
            pruned: pruned.into_iter().collect(),
            fired: count(
                "SELECT job_id, count(*) FROM causes WHERE id IS NOT NULL GROUP BY job_id",
            )
            .await,
            lines: count("SELECT text, count(*) FROM system_events GROUP BY text").await,
            ledger: written,
            marks: server.counts(),
            notes: notes(home),
            jobs: jobs
                .into_iter()
                .map(|(id, job, next, is_enabled)| {
                    let job = serde_json::from_str(&job).expect("JSON");
                    (id, CurrentJob { job, next, is_enabled })
                })
                .collect(),
        }
    }

    /// Compares all records and returns the first inconsistency.
    pub(super) fn check(&self, acknowledged: &Acknowledgements) -> Result<(), String> {
        for row in &self.rows {
            if row.finished_at.is_none() {
                return Err(format!("a run without an end: {row:?}"));
            }
        }
        for id in &acknowledged.run_ids {
            if !self.rows.iter().any(|row| row.id == *id) {
                return Err(format!("run {id} was promised and is gone"));
            }
        }
        self.check_ledger()?;
        for AcknowledgedJob { job: sent, acknowledged_ms } in &acknowledged.jobs {
            let rows: Vec<&RunRow> =
                self.rows.iter().filter(|row| sent["id"] == *row.job_id).collect();
            match self.jobs.get(sent["id"].as_str().unwrap_or_default()) {
                Some(saved) => self
                    .check_slots(saved, *acknowledged_ms, &rows)
                    .and_then(|()| limits::check(saved, &rows))
                    .and_then(|()| self.check_fired(saved, &rows, acknowledged)),
                None if limits::is_deleted_after_run(sent)
                    && rows.iter().any(|row| row.has_own_result()) =>
                {
                    Ok(())
                }
                None => Err("the saved job is missing".to_owned()),
            }
            .and_then(|()| self.check_effects(sent, &rows))
            .map_err(|reason| format!("{}: {reason}\n{sent}\n{rows:#?}", sent["id"]))?;
        }
        Ok(())
    }

    /// A summary of the compared records.
    pub(super) fn describe(&self) -> String {
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        for row in &self.rows {
            *states.entry(&row.state).or_default() += 1;
        }
        let sum = |counts: &HashMap<String, usize>| counts.values().sum::<usize>();
        format!(
            "{} runs: {states:?}; {} commands, {} calls, {} lines, {} fired, {} notes",
            self.rows.len(),
            self.ledger.len(),
            sum(&self.marks),
            sum(&self.lines),
            sum(&self.fired),
            sum(&self.notes)
        )
    }

    /// The kinds without a single occurrence, which were therefore not compared.
    pub(super) fn missing_kinds(&self, acknowledged: &Acknowledgements) -> Vec<&'static str> {
        let kinds: HashMap<&str, &str> = acknowledged
            .jobs
            .iter()
            .filter_map(|AcknowledgedJob { job, .. }| {
                Some((job["id"].as_str()?, job["schedule"]["kind"].as_str()?))
            })
            .collect();
        let kind_of = |row: &RunRow| kinds.get(row.job_id.as_str()).copied();
        let of_job =
            |id: &str| self.rows.iter().filter(|row| row.job_id == *id).collect::<Vec<_>>();
        let missed = |reason: &str| {
            let is_missed = |row: &RunRow| row.state == "missed" && row.reason.starts_with(reason);
            self.rows.iter().any(is_missed)
        };
        let is_gone = |saved: &AcknowledgedJob| {
            !self.jobs.contains_key(saved.job["id"].as_str().unwrap_or_default())
        };
        let happened = |subject: &dyn Fn(&RunRow) -> bool| self.rows.iter().any(subject);
        let of_kind = |kind| happened(&|row| kind_of(row) == Some(kind) && row.attempts() > 0);
        [
            ("intervals", of_kind("every")),
            ("patterns", of_kind("cron")),
            ("instants", of_kind("at")),
            ("events", of_kind("event")),
            ("webhooks", of_kind("webhook")),
            ("runs by hand", of_kind("manual")),
            ("time limits", happened(&|row| row.state == "timedOut")),
            ("further attempts", happened(&|row| row.attempt > 1)),
            ("runs that were cut off", happened(&|row| row.state == "interrupted")),
            ("runs that make up for others", happened(&|row| row.retry_of.is_some())),
            ("commands", !self.ledger.is_empty()),
            ("calls", self.marks.values().any(|count| *count > 0)),
            ("lines for the main session", !self.lines.is_empty()),
            ("notes of agents", !self.notes.is_empty()),
            ("jobs that went with their run", acknowledged.jobs.iter().any(is_gone)),
            ("jobs that were paused", self.jobs.values().any(|saved| !saved.is_enabled)),
            ("slots that came too late", missed("Later than")),
            // Needs more or longer lives.
            ("slots beyond a limit", !is_long() || missed("Older than the newest")),
            ("runs beside each other", {
                !is_long() || self.jobs.keys().any(|id| limits::max_parallel_runs(&of_job(id)) > 1)
            }),
        ]
        .into_iter()
        .filter(|(_, is_there)| !is_there)
        .map(|(kind, _)| kind)
        .collect()
    }

    /// No run and no retry works twice.
    fn check_ledger(&self) -> Result<(), String> {
        let rows: HashMap<&str, &RunRow> =
            self.rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let mut done: HashMap<&str, &str> = HashMap::new();
        for (run, times) in &self.ledger {
            let Some(mut row) = rows.get(run.as_str()) else {
                // A removed job keeps the runs.
                return Err(format!("run {run} worked and has no row"));
            };
            let fits = if self.is_retried(row) {
                (1..=row.attempts()).contains(times)
            } else {
                *times == 1 && row.attempts() == 1
            };
            if !fits {
                return Err(format!("run {run} worked {times} times: {row:?}"));
            }
            while let Some(first) = row.retry_of.as_deref().and_then(|first| rows.get(first)) {
                row = first;
            }
            if let Some(other) = done.insert(&row.id, run) {
                return Err(format!("{other} and {run} did the work of {}", row.id));
            }
        }
        Ok(())
    }

    /// Whether the command of the job fails by itself.
    fn is_retried(&self, row: &RunRow) -> bool {
        let job = self.jobs.get(&row.job_id).map(|saved| &saved.job);
        let command = job.and_then(|job| job["payload"]["arguments"]["command"].as_str());
        command.is_some_and(|command| command.ends_with("exit 3"))
    }

    /// Every slot is in exactly one row, except pruned slots.
    fn check_slots(
        &self,
        saved: &CurrentJob,
        acknowledged_ms: i64,
        rows: &[&RunRow],
    ) -> Result<(), String> {
        let pruned = self.pruned.get(saved.job["id"].as_str().unwrap_or_default()).copied();
        if pruned.is_some() && rows.len() < CROWD {
            return Err(format!("rows were pruned, and {} are left of {CROWD}", rows.len()));
        }
        let mut slots: Vec<_> = rows.iter().filter_map(|row| row.slot_at).collect();
        slots.sort_unstable();
        if slots.windows(2).any(|two| two[0] == two[1]) {
            return Err("a slot has two rows".to_owned());
        }
        let is_newer =
            |row: &&&RunRow| row.slot_at.is_some_and(|slot| pruned.is_none_or(|at| slot > at));
        let stand_for: i64 = rows.iter().filter(is_newer).map(|row| row.slot_count).sum();
        // A paused job has no slot after the last run.
        let last = slots.last().copied().filter(|_| !saved.is_enabled);
        let (least, most) = passed_slots(&saved.job, acknowledged_ms, pruned, saved.next, last)?;
        if (least..=most).contains(&stand_for) {
            return Ok(());
        }
        Err(format!("{least} to {most} slots passed, and the rows stand for {stand_for}"))
    }

    /// The effects of a job match the rows.
    fn check_effects(&self, job: &Value, rows: &[&RunRow]) -> Result<(), String> {
        let id = job["id"].as_str().unwrap_or_default();
        let (payload, quiet) = (&job["payload"], ["skipped", "missed"]);
        let worked = || rows.iter().filter(|row| row.has_worked());
        let never = rows.iter().find(|row| row.is(&quiet) && row.attempts() > 0);
        if let Some(row) = never {
            return Err(format!("a skipped run has started: {row:?}"));
        }
        let holds = match (payload["kind"].as_str(), payload["tool"].as_str()) {
            (Some("systemEvent"), _) => {
                self.lines.get(id).copied().unwrap_or(0) == worked().count()
            }
            // An agent without a result may have written the line at most once.
            (Some("agentTurn"), _) => {
                let known = worked().filter(|row| row.summary == ALL_DONE).count();
                let attempts = rows.iter().filter(|row| row.attempts() > 0).count();
                (known..=attempts).contains(&self.notes.get(id).copied().unwrap_or(0))
            }
            (_, Some("run_command")) => worked().all(|row| self.ledger.contains_key(&row.id)),
            (_, Some("http")) => {
                let attempts = rows.iter().map(|row| row.attempts()).sum();
                let marks = self.marks.get(id).copied().unwrap_or(0);
                (worked().count()..=attempts).contains(&marks)
            }
            _ => false,
        };
        if holds {
            return Ok(());
        }
        Err(format!(
            "{} runs worked; {:?} lines, {:?} calls, {:?} notes",
            worked().count(),
            self.lines.get(id),
            self.marks.get(id),
            self.notes.get(id)
        ))
    }

    /// Each event and each accepted call fires the follower once.
    fn check_fired(
        &self,
        saved: &CurrentJob,
        rows: &[&RunRow],
        acknowledged: &Acknowledgements,
    ) -> Result<(), String> {
        let id = saved.job["id"].as_str().unwrap_or_default();
        let schedule = &saved.job["schedule"];
        let fired = self.fired.get(id).copied().unwrap_or(0);
        if let Some(source) = schedule["filters"]["jobId"].as_str() {
            let ends =
                self.rows.iter().filter(|row| row.job_id == source && row.has_worked()).count();
            // A paused follower misses later events.
            if fired > ends || (fired < ends && saved.is_enabled) {
                return Err(format!("{source} worked {ends} times, and that fired {fired} runs"));
            }
        }
        if schedule["kind"] == "webhook" {
            let keys = |calls: &[(String, String)]| calls.iter().filter(|(to, _)| to == id).count();
            let (taken, sent) =
                (keys(&acknowledged.accepted_calls), keys(&acknowledged.sent_calls));
            let runs = rows.iter().filter(|row| row.retry_of.is_none()).count();
            if !(taken..=sent).contains(&runs) {
                return Err(format!(
                    "{taken} of {sent} calls were taken, and {runs} runs are there"
                ));
            }
        }
        Ok(())
    }
}

/// The minimum and maximum number of slots between the start of a job, or the slot `since`, and its next slot. The
/// job starts between its request and its acknowledgement at `by`, so slots in between may fire or not. With a `last`
/// slot, the following slot counts as the next.
fn passed_slots(
    job: &Value,
    by: i64,
    since: Option<i64>,
    next: Option<i64>,
    last: Option<i64>,
) -> Result<(i64, i64), String> {
    let schedule = &job["schedule"];
    let number = |key: &str| schedule[key].as_i64();
    let created = job["createdAtMs"].as_i64().expect("a beginning");
    let (latest, earliest) = since.map_or((by, created), |since| (since, since));
    let next_of = |subject: &str, every: i64| {
        let next = next.or(last.map(|last| last + every));
        next.ok_or_else(|| format!("{subject} goes on"))
    };
    match schedule["kind"].as_str() {
        Some("every") => {
            let every = number("everyMs").expect("an interval");
            let next = next_of("an interval", every)?;
            let anchor = number("anchorMs").expect("an anchor");
            let index = |slot: i64| (slot - anchor).div_euclid(every);
            let after = |from: i64| index(next) - (index(from) + 1).max(0);
            Ok((after(latest), after(earliest)))
        }
        Some("cron") => {
            let two = 2_000;
            let next = next_of("a pattern", two)?;
            let after = |from: i64| next.div_euclid(two) - 1 - from.div_euclid(two);
            Ok((after(latest), after(earliest)))
        }
        Some("at") => {
            let at = number("atMs").expect("an instant");
            let passed_slots = i64::from(next.is_none() && since.is_none_or(|since| since < at));
            if next.is_some_and(|next| next != at) {
                return Err(format!("the instant is {at}, but the next slot is {next:?}"));
            }
            Ok((passed_slots, passed_slots))
        }
        _ => Ok((0, 0)),
    }
}
