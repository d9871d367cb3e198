//! What an engine says about its jobs, read from its file, against what they did and what their schedules say.
//!
//! A job of many slots that were left out keeps the newest of those rows only. Up to the newest slot whose row is gone
//! nobody can say how many rows there were; from there on every slot is counted. One could get it wrong by judging per
//! job alone: a run that came twice would hide behind one that did not come.

mod tests;

use std::collections::{BTreeMap, HashMap};

use rouse_testkit::dice::is_long;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use super::jobs::{ALL_DONE, MarkServer, ledger, notes, runs_in};
use super::{Promised, Told, limits};
use crate::engine::Home;

/// Before rows of a job go, it has at least so many.
const CROWD: usize = 200;

/// A run's row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    id: String,
    job_id: String,
    slot_at: Option<i64>,
    state: String,
    stands_for: i64,
    attempt: i64,
    retry_of: Option<String>,
    created_at: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    /// Why it is in its state, if it says so.
    reason: String,
    /// What it says of itself.
    summary: String,
}

impl Row {
    fn read(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            job_id: row.try_get::<Option<_>, _>("job_id")?.unwrap_or_default(),
            slot_at: row.try_get("slot_at")?,
            state: row.try_get("state")?,
            stands_for: row.try_get("stands_for")?,
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

impl Row {
    fn is(&self, states: &[&str]) -> bool {
        states.contains(&self.state.as_str())
    }

    pub(super) fn has_worked(&self) -> bool {
        self.is(&["succeeded", "nothingToReport"])
    }

    pub(super) fn has_failed(&self) -> bool {
        self.is(&["failed", "timedOut"])
    }

    /// Whether it ended with attempts left that were not made.
    fn is_given_up(&self) -> bool {
        self.reason.ends_with("so no further attempt was made")
    }

    /// Whether it was kept from attempts that it had left, and not because a newer run of its job was there: then it
    /// pauses nothing.
    pub(super) fn is_kept_back(&self) -> bool {
        self.is_given_up() && !self.reason.contains("A newer slot took its place, so")
    }

    /// Whether its end is its own, and not what was left of it.
    pub(super) fn has_ended_its_work(&self) -> bool {
        (self.has_worked() || self.has_failed()) && !self.is_given_up()
    }

    /// How often its work was begun.
    pub(super) fn begun(&self) -> usize {
        usize::try_from(self.attempt).expect("few")
    }

    /// How long after its slot it was made.
    pub(super) fn claimed_late(&self) -> i64 {
        self.slot_at.map_or(0, |slot| self.created_at - slot)
    }

    /// Whether one look at the clock found both slots, to be made up for.
    pub(super) fn is_claimed_with(&self, other: &Self) -> bool {
        let is_slot = |row: &Self| row.slot_at.is_some() && row.state != "missed";
        is_slot(self) && is_slot(other) && self.created_at == other.created_at
    }

    /// From when to when it was at work.
    pub(super) fn at_work(&self) -> Option<(i64, i64)> {
        self.started_at.filter(|_| self.begun() > 0).zip(self.finished_at)
    }
}

/// A job as it is now.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) job: Value,
    pub(super) next: Option<i64>,
    pub(super) is_enabled: bool,
}

/// Everything that is compared.
#[derive(Debug, Default)]
pub(super) struct Books {
    pub(super) jobs: HashMap<String, Saved>,
    /// In the order of their ends.
    pub(super) rows: Vec<Row>,
    /// The newest slot of each job whose row is no longer kept.
    pub(super) pruned: HashMap<String, i64>,
    /// How many runs an event or a call fired, by job.
    pub(super) fired: HashMap<String, usize>,
    /// Lines for the main session, by text.
    pub(super) lines: HashMap<String, usize>,
    /// How often each run wrote into the ledger.
    pub(super) ledger: BTreeMap<String, usize>,
    /// How often each job asked the server.
    pub(super) marks: HashMap<String, usize>,
    /// How many lines the agent of each job wrote.
    pub(super) notes: HashMap<String, usize>,
}

impl Books {
    /// The books of an engine that is not there any more. It also asks whether the file is whole.
    pub(super) async fn of(home: &Home, server: &MarkServer, place: &str) -> Self {
        let url = format!("sqlite:{}?mode=ro", home.data().join("rouse.db").display());
        let file = SqlitePool::connect(&url).await.expect("opened");
        let said: String =
            sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&file).await.expect("an answer");
        assert_eq!(said, "ok", "{place}");
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
        for run in runs_in(&ledger(home)) {
            *written.entry(run).or_default() += 1;
        }
        Self {
            rows: rows.iter().map(|row| Row::read(row).expect("a row")).collect(),
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
                    (id, Saved { job, next, is_enabled })
                })
                .collect(),
        }
    }

    /// Compares everything; the first thing that does not hold, in words.
    pub(super) fn check(&self, told: &Told) -> Result<(), String> {
        for row in &self.rows {
            if row.finished_at.is_none() {
                return Err(format!("a run without an end: {row:?}"));
            }
        }
        for id in &told.started {
            if !self.rows.iter().any(|row| row.id == *id) {
                return Err(format!("run {id} was promised and is gone"));
            }
        }
        self.check_ledger()?;
        for Promised { job: sent, by_ms } in &told.saved {
            let rows: Vec<&Row> =
                self.rows.iter().filter(|row| sent["id"] == *row.job_id).collect();
            match self.jobs.get(sent["id"].as_str().unwrap_or_default()) {
                Some(saved) => self
                    .check_slots(saved, *by_ms, &rows)
                    .and_then(|()| limits::check(saved, &rows))
                    .and_then(|()| self.check_fired(saved, &rows, told)),
                None if limits::goes(sent) && rows.iter().any(|row| row.has_ended_its_work()) => {
                    Ok(())
                }
                None => Err("it was saved and is gone".to_owned()),
            }
            .and_then(|()| self.check_effects(sent, &rows))
            .map_err(|why| format!("{}: {why}\n{sent}\n{rows:#?}", sent["id"]))?;
        }
        Ok(())
    }

    /// What there is to compare.
    pub(super) fn in_words(&self) -> String {
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

    /// The kinds of things of which nothing happened, so that nothing was compared.
    pub(super) fn missing(&self, told: &Told) -> Vec<&'static str> {
        let kinds: HashMap<&str, &str> = told
            .saved
            .iter()
            .filter_map(|Promised { job, .. }| {
                Some((job["id"].as_str()?, job["schedule"]["kind"].as_str()?))
            })
            .collect();
        let kind_of = |row: &Row| kinds.get(row.job_id.as_str()).copied();
        let of_job =
            |id: &str| self.rows.iter().filter(|row| row.job_id == *id).collect::<Vec<_>>();
        let missed = |why: &str| {
            let is_it = |row: &Row| row.state == "missed" && row.reason.starts_with(why);
            self.rows.iter().any(is_it)
        };
        let is_gone = |saved: &Promised| {
            !self.jobs.contains_key(saved.job["id"].as_str().unwrap_or_default())
        };
        let happened = |what: &dyn Fn(&Row) -> bool| self.rows.iter().any(what);
        let of_kind = |kind| happened(&|row| kind_of(row) == Some(kind) && row.begun() > 0);
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
            ("jobs that went with their run", told.saved.iter().any(is_gone)),
            ("jobs that were paused", self.jobs.values().any(|saved| !saved.is_enabled)),
            ("slots that came too late", missed("Later than")),
            // These take more lives, or longer ones, than a few.
            ("slots beyond a limit", !is_long() || missed("Older than the newest")),
            ("runs beside each other", {
                !is_long() || self.jobs.keys().any(|id| limits::beside_each_other(&of_job(id)) > 1)
            }),
        ]
        .into_iter()
        .filter(|(_, is_there)| !is_there)
        .map(|(kind, _)| kind)
        .collect()
    }

    /// No work was begun twice: neither by a run nor by the one that makes up for it.
    fn check_ledger(&self) -> Result<(), String> {
        let rows: HashMap<&str, &Row> =
            self.rows.iter().map(|row| (row.id.as_str(), row)).collect();
        let mut done: HashMap<&str, &str> = HashMap::new();
        for (run, times) in &self.ledger {
            let Some(mut row) = rows.get(run.as_str()) else {
                // Its job may have been removed, never the run.
                return Err(format!("run {run} worked and has no row"));
            };
            let fits = match self.is_tried_again(row) {
                true => (1..=row.begun()).contains(times),
                false => *times == 1 && row.begun() == 1,
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

    /// Whether the command of its job ends by itself, and with a failure.
    fn is_tried_again(&self, row: &Row) -> bool {
        let job = self.jobs.get(&row.job_id).map(|saved| &saved.job);
        let command = job.and_then(|job| job["payload"]["arguments"]["command"].as_str());
        command.is_some_and(|command| command.ends_with("exit 3"))
    }

    /// Every slot stands in exactly one row, but for those whose rows are no longer kept.
    fn check_slots(&self, saved: &Saved, by_ms: i64, rows: &[&Row]) -> Result<(), String> {
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
            |row: &&&Row| row.slot_at.is_some_and(|slot| pruned.is_none_or(|at| slot > at));
        let stand_for: i64 = rows.iter().filter(is_newer).map(|row| row.stands_for).sum();
        // A job that was paused has none after its last.
        let last = slots.last().copied().filter(|_| !saved.is_enabled);
        let (least, most) = passed(&saved.job, by_ms, pruned, saved.next, last)?;
        if (least..=most).contains(&stand_for) {
            return Ok(());
        }
        Err(format!("{least} to {most} slots passed, and the rows stand for {stand_for}"))
    }

    /// What a job did is what its rows say.
    fn check_effects(&self, job: &Value, rows: &[&Row]) -> Result<(), String> {
        let id = job["id"].as_str().unwrap_or_default();
        let (payload, quiet) = (&job["payload"], ["skipped", "missed"]);
        let worked = || rows.iter().filter(|row| row.has_worked());
        let never = rows.iter().find(|row| row.is(&quiet) && row.begun() > 0);
        if let Some(row) = never {
            return Err(format!("it is said to be left out, and began: {row:?}"));
        }
        let holds = match (payload["kind"].as_str(), payload["tool"].as_str()) {
            (Some("systemEvent"), _) => {
                self.lines.get(id).copied().unwrap_or(0) == worked().count()
            }
            // One whose model was not told how a call ended may have written, and once at most.
            (Some("agentTurn"), _) => {
                let known = worked().filter(|row| row.summary == ALL_DONE).count();
                let begun = rows.iter().filter(|row| row.begun() > 0).count();
                (known..=begun).contains(&self.notes.get(id).copied().unwrap_or(0))
            }
            (_, Some("run_command")) => worked().all(|row| self.ledger.contains_key(&row.id)),
            (_, Some("http")) => {
                let begun = rows.iter().map(|row| row.begun()).sum();
                let marks = self.marks.get(id).copied().unwrap_or(0);
                (worked().count()..=begun).contains(&marks)
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

    /// An event fires who waits for it once, and so does a call.
    fn check_fired(&self, saved: &Saved, rows: &[&Row], told: &Told) -> Result<(), String> {
        let id = saved.job["id"].as_str().unwrap_or_default();
        let schedule = &saved.job["schedule"];
        let fired = self.fired.get(id).copied().unwrap_or(0);
        if let Some(source) = schedule["filters"]["jobId"].as_str() {
            let ends =
                self.rows.iter().filter(|row| row.job_id == source && row.has_worked()).count();
            // One that is paused hears of no more.
            if fired > ends || (fired < ends && saved.is_enabled) {
                return Err(format!("{source} worked {ends} times, and that fired {fired} runs"));
            }
        }
        if schedule["kind"] == "webhook" {
            let keys = |calls: &[(String, String)]| calls.iter().filter(|(to, _)| to == id).count();
            let (taken, sent) = (keys(&told.taken), keys(&told.sent));
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

/// How many slots lie between a job's beginning, or a slot `since`, and its next slot, by plain arithmetic: at least, and
/// at most. A job begins when the engine takes it, which is somewhere between the moment it was asked to and `by`, when it
/// had answered: whether it fires at a slot between the two depends on who was first. Where there is a `last` slot, the one
/// after it counts as the next.
fn passed(
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
    let next_of = |what: &str, every: i64| {
        let next = next.or(last.map(|last| last + every));
        next.ok_or_else(|| format!("{what} goes on"))
    };
    match schedule["kind"].as_str() {
        Some("every") => {
            let every = number("everyMs").expect("an interval");
            let next = next_of("an interval", every)?;
            let anchor = number("anchorMs").expect("an anchor");
            let place = |slot: i64| (slot - anchor).div_euclid(every);
            let after = |from: i64| place(next) - (place(from) + 1).max(0);
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
            let passed = i64::from(next.is_none() && since.is_none_or(|since| since < at));
            if next.is_some_and(|next| next != at) {
                return Err(format!("{at} is its instant, and {next:?} its next slot"));
            }
            Ok((passed, passed))
        }
        _ => Ok((0, 0)),
    }
}
