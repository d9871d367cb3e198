//! What an engine says about its jobs, read from its file, against what they did and what their schedules say.
//!
//! One could get it wrong by judging per job alone: a run that came twice would hide behind one that did not come.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use sqlx::SqlitePool;

use super::Told;
use super::jobs::{MarkServer, ledger, runs_in};
use crate::engine::Home;

/// A clock of the gateway and one of the engine may see a job's beginning this far apart.
const BEGINNING_MS: i64 = 250;

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
    is_over: bool,
}

type Columns = (String, Option<String>, Option<i64>, String, i64, i64, Option<String>, bool);

impl From<Columns> for Row {
    fn from(columns: Columns) -> Self {
        let (id, job_id, slot_at, state, stands_for, attempt, retry_of, is_over) = columns;
        let job_id = job_id.unwrap_or_default();
        Self { id, job_id, slot_at, state, stands_for, attempt, retry_of, is_over }
    }
}

impl Row {
    fn is(&self, states: &[&str]) -> bool {
        states.contains(&self.state.as_str())
    }

    fn has_worked(&self) -> bool {
        self.is(&["succeeded", "nothingToReport"])
    }

    /// How often its work was begun.
    fn begun(&self) -> usize {
        usize::try_from(self.attempt).expect("few")
    }
}

/// Everything that is compared.
#[derive(Debug, Default)]
pub(super) struct Books {
    /// Definition and next slot.
    pub(super) jobs: HashMap<String, (Value, Option<i64>)>,
    pub(super) rows: Vec<Row>,
    /// How many runs an event or a call fired, by job.
    pub(super) fired: HashMap<String, usize>,
    /// Lines for the main session, by text.
    pub(super) lines: HashMap<String, usize>,
    /// How often each run wrote into the ledger.
    pub(super) ledger: BTreeMap<String, usize>,
    /// How often each job asked the server.
    pub(super) marks: HashMap<String, usize>,
}

impl Books {
    /// The books of an engine that is not there any more. It also asks whether the file is whole.
    pub(super) async fn of(home: &Home, server: &MarkServer, place: &str) -> Self {
        let url = format!("sqlite:{}?mode=ro", home.data().join("rouse.db").display());
        let file = SqlitePool::connect(&url).await.expect("opened");
        let said: String =
            sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&file).await.expect("an answer");
        assert_eq!(said, "ok", "{place}");
        let jobs: Vec<(String, String, Option<i64>)> =
            sqlx::query_as("SELECT id, definition, next_run_at FROM jobs")
                .fetch_all(&file)
                .await
                .expect("jobs");
        let rows: Vec<Columns> = sqlx::query_as(
            "SELECT id, job_id, slot_at, state, stands_for, attempt, retry_of,
                    finished_at IS NOT NULL FROM runs",
        )
        .fetch_all(&file)
        .await
        .expect("runs");
        let count = async |query| {
            let counts: Vec<(String, i64)> =
                sqlx::query_as(query).fetch_all(&file).await.expect("counts");
            counts.into_iter().map(|(key, n)| (key, usize::try_from(n).expect("few"))).collect()
        };
        let mut written = BTreeMap::new();
        for run in runs_in(&ledger(home)) {
            *written.entry(run).or_default() += 1;
        }
        Self {
            rows: rows.into_iter().map(Row::from).collect(),
            fired: count(
                "SELECT job_id, count(*) FROM causes WHERE id IS NOT NULL GROUP BY job_id",
            )
            .await,
            lines: count("SELECT text, count(*) FROM system_events GROUP BY text").await,
            ledger: written,
            marks: jobs.iter().map(|(id, ..)| (id.clone(), server.count(id))).collect(),
            jobs: jobs
                .into_iter()
                .map(|(id, job, next)| (id, (serde_json::from_str(&job).expect("JSON"), next)))
                .collect(),
        }
    }

    /// Compares everything; the first thing that does not hold, in words.
    pub(super) fn check(&self, told: &Told) -> Result<(), String> {
        for row in &self.rows {
            if !row.is_over {
                return Err(format!("a run without an end: {row:?}"));
            }
        }
        for id in &told.started {
            if !self.rows.iter().any(|row| row.id == *id) {
                return Err(format!("run {id} was promised and is gone"));
            }
        }
        self.check_ledger()?;
        for id in &told.saved {
            let (job, next) =
                self.jobs.get(id).ok_or_else(|| format!("{id} was saved and is gone"))?;
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.job_id == *id).collect();
            self.check_slots(job, *next, &rows)
                .and_then(|()| self.check_effects(job, &rows))
                .and_then(|()| self.check_fired(job, &rows, told))
                .map_err(|why| format!("{id}: {why}\n{job}\n{rows:#?}"))?;
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
            "{} runs: {states:?}; {} commands, {} calls, {} lines, {} fired",
            self.rows.len(),
            self.ledger.len(),
            sum(&self.marks),
            sum(&self.lines),
            sum(&self.fired)
        )
    }

    /// The kinds of things of which nothing happened, so that nothing was compared.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let kind_of = |row: &Row| {
            self.jobs.get(&row.job_id).and_then(|(job, _)| job["schedule"]["kind"].as_str())
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
            if *times != 1 || row.begun() != 1 {
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

    /// Every slot stands in exactly one row.
    fn check_slots(&self, job: &Value, next: Option<i64>, rows: &[&Row]) -> Result<(), String> {
        let of_slots = || rows.iter().filter(|row| row.slot_at.is_some());
        let mut slots: Vec<_> = of_slots().filter_map(|row| row.slot_at).collect();
        slots.sort_unstable();
        if slots.windows(2).any(|two| two[0] == two[1]) {
            return Err("a slot has two rows".to_owned());
        }
        let stand_for: i64 = of_slots().map(|row| row.stands_for).sum();
        let (least, most) = passed(job, next)?;
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
            "{} runs worked; {:?} lines, {:?} calls",
            worked().count(),
            self.lines.get(id),
            self.marks.get(id)
        ))
    }

    /// An event fires who waits for it once, and so does a call.
    fn check_fired(&self, job: &Value, rows: &[&Row], told: &Told) -> Result<(), String> {
        let id = job["id"].as_str().unwrap_or_default();
        let schedule = &job["schedule"];
        let fired = self.fired.get(id).copied().unwrap_or(0);
        if let Some(source) = schedule["filters"]["jobId"].as_str() {
            let ends =
                self.rows.iter().filter(|row| row.job_id == source && row.has_worked()).count();
            if fired != ends {
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

/// How many slots lie between a job's beginning and its next slot, by plain arithmetic: at least, and at most. The two
/// differ only where a slot lies so close to the beginning that nobody can say which was first.
fn passed(job: &Value, next: Option<i64>) -> Result<(i64, i64), String> {
    let schedule = &job["schedule"];
    let number = |key: &str| schedule[key].as_i64();
    let created = job["createdAtMs"].as_i64().expect("a beginning");
    let next_of = |what: &str| next.ok_or_else(|| format!("{what} goes on"));
    match schedule["kind"].as_str() {
        Some("every") => {
            let next = next_of("an interval")?;
            let every = number("everyMs").expect("an interval");
            let anchor = number("anchorMs").expect("an anchor");
            let slots = (next - anchor).div_euclid(every);
            // The anchor of its own making is the moment when the job was made, and no slot.
            let passed = slots - i64::from(anchor <= created);
            Ok((passed, passed))
        }
        Some("cron") => {
            let next = next_of("a pattern")?;
            let two = 2_000;
            let since = |from: i64| next.div_euclid(two) - 1 - from.div_euclid(two);
            Ok((since(created + BEGINNING_MS), since(created)))
        }
        Some("at") => {
            let (at, passed) = (number("atMs").expect("an instant"), i64::from(next.is_none()));
            if next.is_some_and(|next| next != at) {
                return Err(format!("{at} is its instant, and {next:?} its next slot"));
            }
            Ok((passed, passed))
        }
        _ => Ok((0, 0)),
    }
}

/// Books that are in order, and what must not pass for such.
#[test]
fn books_that_are_not_in_order_are_refused() {
    let job = |id: &str, schedule: Value, payload: Value| {
        let job = json!({ "id": id, "createdAtMs": 0, "schedule": schedule, "payload": payload });
        (id.to_owned(), job)
    };
    let (_, tick) = job(
        "tick",
        json!({ "kind": "every", "everyMs": 1_000, "anchorMs": 0 }),
        json!({ "kind": "toolCall", "tool": "run_command" }),
    );
    let (_, after) = job("after", super::after("tick"), super::reminder("after"));
    let (_, hook) =
        job("hook", json!({ "kind": "webhook" }), json!({ "kind": "toolCall", "tool": "http" }));
    let row = |id: &str, job: &str, slot: Option<i64>, state: &str| Row {
        id: id.to_owned(),
        job_id: job.to_owned(),
        slot_at: slot,
        state: state.to_owned(),
        stands_for: 1,
        attempt: 1,
        retry_of: None,
        is_over: true,
    };
    let whole = || {
        let again = Row { retry_of: Some("t2".to_owned()), ..row("t3", "tick", None, "succeeded") };
        Books {
            jobs: HashMap::from([
                ("tick".to_owned(), (tick.clone(), Some(4_000))),
                ("after".to_owned(), (after.clone(), None)),
                ("hook".to_owned(), (hook.clone(), None)),
            ]),
            rows: vec![
                row("t1", "tick", Some(1_000), "succeeded"),
                row("t2", "tick", Some(2_000), "interrupted"),
                again,
                Row { attempt: 0, ..row("t4", "tick", Some(3_000), "skipped") },
                row("a1", "after", None, "succeeded"),
                row("a2", "after", None, "succeeded"),
                row("h1", "hook", None, "failed"),
            ],
            fired: HashMap::from([("after".to_owned(), 2), ("hook".to_owned(), 1)]),
            lines: HashMap::from([("after".to_owned(), 2)]),
            ledger: BTreeMap::from([("t1".to_owned(), 1), ("t3".to_owned(), 1)]),
            marks: HashMap::from([("hook".to_owned(), 1)]),
        }
    };
    let call = ("hook".to_owned(), "key".to_owned());
    let told = Told {
        saved: ["tick", "after", "hook"].map(str::to_owned).to_vec(),
        started: vec!["t1".to_owned()],
        sent: vec![call.clone()],
        taken: vec![call],
    };
    assert_eq!(whole().check(&told), Ok(()));
    type Spoil = fn(&mut Books);
    let spoiled: [(&str, Spoil); 14] = [
        ("is gone", |books| drop(books.rows.remove(0))),
        ("was saved and is gone", |books| drop(books.jobs.remove("hook"))),
        ("without an end", |books| books.rows[1].is_over = false),
        ("worked 2 times", |books| *books.ledger.get_mut("t1").expect("there") = 2),
        ("did the work of t2", |books| {
            books.ledger.insert("t2".to_owned(), 1);
        }),
        ("has no row", |books| {
            books.ledger.insert("t9".to_owned(), 1);
        }),
        ("a slot has two rows", |books| books.rows[1].slot_at = Some(1_000)),
        ("stand for 2", |books| drop(books.rows.remove(3))),
        ("stand for 4", |books| books.rows[3].stands_for = 2),
        ("left out, and began", |books| books.rows[3].attempt = 1),
        ("2 runs worked", |books| {
            books.ledger.remove("t1");
        }),
        ("Some(3) lines", |books| *books.lines.get_mut("after").expect("there") = 3),
        ("that fired 1 runs", |books| *books.fired.get_mut("after").expect("there") = 1),
        ("1 of 1 calls were taken, and 0", |books| {
            books.rows.pop();
            books.marks.clear();
        }),
    ];
    for (words, spoil) in spoiled {
        let mut books = whole();
        spoil(&mut books);
        let why = books.check(&told).expect_err(words);
        assert!(why.contains(words), "`{words}` is not in: {why}");
    }
    let mut books = whole();
    books.marks.clear();
    books.rows[6].state = "succeeded".to_owned();
    assert!(books.check(&told).is_err(), "a call that worked was made");
    books.marks.insert("hook".to_owned(), 2);
    assert!(books.check(&told).is_err(), "a run calls once an attempt");
}
