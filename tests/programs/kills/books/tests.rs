//! What the books must refuse.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::super::jobs::{ALL_DONE, after, reminder};
use super::super::{Promised, Told};
use super::{Books, Row, Saved, passed};

/// One that was saved at once.
fn promised(job: &Value) -> Promised {
    Promised { job: job.clone(), by_ms: 0 }
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
    let (_, after) = job("after", after("tick"), reminder("after"));
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
        created_at: slot.unwrap_or(0),
        started_at: None,
        finished_at: Some(0),
        reason: String::new(),
        summary: String::new(),
    };
    let saved = |job: &Value, next: Option<i64>| Saved { job: job.clone(), next, is_enabled: true };
    let whole = || {
        let again = Row { retry_of: Some("t2".to_owned()), ..row("t3", "tick", None, "succeeded") };
        Books {
            jobs: HashMap::from([
                ("tick".to_owned(), saved(&tick, Some(4_000))),
                ("after".to_owned(), saved(&after, None)),
                ("hook".to_owned(), saved(&hook, None)),
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
            pruned: HashMap::new(),
            fired: HashMap::from([("after".to_owned(), 2), ("hook".to_owned(), 1)]),
            lines: HashMap::from([("after".to_owned(), 2)]),
            ledger: BTreeMap::from([("t1".to_owned(), 1), ("t3".to_owned(), 1)]),
            marks: HashMap::from([("hook".to_owned(), 1)]),
            notes: HashMap::new(),
        }
    };
    let call = ("hook".to_owned(), "key".to_owned());
    let told = Told {
        saved: [&tick, &after, &hook].map(promised).into(),
        started: vec!["t1".to_owned()],
        sent: vec![call.clone()],
        taken: vec![call],
    };
    assert_eq!(whole().check(&told), Ok(()));
    type Spoil = fn(&mut Books);
    let spoiled: [(&str, Spoil); 14] = [
        ("is gone", |books| drop(books.rows.remove(0))),
        ("it was saved and is gone", |books| drop(books.jobs.remove("hook"))),
        ("without an end", |books| books.rows[1].finished_at = None),
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

/// A job that keeps to its limits, and one that does not.
#[test]
fn a_job_beyond_its_limits_is_refused() {
    let row = |created_at: i64, state: &str| Row {
        id: String::new(),
        job_id: "agent".to_owned(),
        slot_at: Some(created_at),
        state: state.to_owned(),
        stands_for: 1,
        attempt: 1,
        retry_of: None,
        created_at,
        started_at: Some(created_at),
        finished_at: Some(created_at + 100),
        reason: String::new(),
        summary: ALL_DONE.to_owned(),
    };
    let whole = || {
        let rows = vec![row(1_000, "failed"), row(2_000, "succeeded"), row(3_000, "timedOut")];
        let job = json!({
            "id": "agent", "createdAtMs": 0, "deleteAfterRun": false,
            "schedule": { "kind": "every", "everyMs": 1_000, "anchorMs": 0 },
            "payload": { "kind": "agentTurn" },
            "policies": {
                "misfire": { "mode": "runAll", "limit": 1, "maxLatenessSeconds": 1 },
                "overlap": "parallel", "maxConcurrent": 1, "pauseAfterFailures": 2,
            },
        });
        let saved = Saved { job, next: Some(4_000), is_enabled: true };
        let notes = HashMap::from([("agent".to_owned(), 3)]);
        Books {
            jobs: HashMap::from([("agent".to_owned(), saved)]),
            rows,
            notes,
            ..Books::default()
        }
    };
    let told = |books: &Books| {
        let job = books.jobs.get("agent").map_or_else(
            || json!({ "id": "agent", "payload": { "kind": "agentTurn" }, "deleteAfterRun": true }),
            |saved| saved.job.clone(),
        );
        Told { saved: vec![promised(&job)], ..Told::default() }
    };
    let gone = || Books { jobs: HashMap::new(), ..whole() };
    for books in [whole(), gone()] {
        assert_eq!(books.check(&told(&books)), Ok(()));
    }
    fn agent(books: &mut Books) -> &mut Saved {
        books.jobs.get_mut("agent").expect("there")
    }
    type Spoil = fn(&mut Books);
    let spoiled: [(&str, Spoil); 9] = [
        ("it is still there", |books| agent(books).job["deleteAfterRun"] = json!(true)),
        ("it was claimed later than 1 s", |books| books.rows[1].created_at = 3_001),
        ("2 of 1 slots were made up for", |books| books.rows[1].created_at = 3_000),
        ("2 of 1 runs were at work", |books| books.rows[0].finished_at = Some(2_001)),
        ("3 failures in a row of 2, and enabled: true", |books| {
            books.rows[1].state = "failed".to_owned();
        }),
        ("1 failures in a row of 2, and enabled: false", |books| agent(books).is_enabled = false),
        ("Some(4) notes", |books| *books.notes.get_mut("agent").expect("there") = 4),
        ("Some(0) notes", |books| *books.notes.get_mut("agent").expect("there") = 0),
        ("nothing pauses it", |books| {
            let saved = agent(books);
            saved.job["policies"]["pauseAfterFailures"] = Value::Null;
            saved.is_enabled = false;
        }),
    ];
    for (words, spoil) in spoiled {
        let mut books = whole();
        spoil(&mut books);
        let why = books.check(&told(&books)).expect_err(words);
        assert!(why.contains(words), "`{words}` is not in: {why}");
    }
    let mut books = gone();
    books.rows.iter_mut().for_each(|row| row.state = "interrupted".to_owned());
    assert!(books.check(&told(&books)).is_err(), "no run has ended, and the job is gone");
    // A run that is kept from its further attempts counts, pauses nothing, and takes no job with it; one whose place a newer
    // run took can pause its job.
    let (kept_back, replaced) = ("Everything was paused", "A newer slot took its place");
    let end_as = |row: &mut Row, why: &str| {
        row.reason = format!("{why}, so no further attempt was made");
    };
    let refused = |books: &Books, words: &str| {
        let why = books.check(&told(books)).expect_err(words);
        assert!(why.contains(words), "`{words}` is not in: {why}");
    };
    let mut books = whole();
    books.rows.swap(0, 1);
    end_as(&mut books.rows[2], kept_back);
    assert_eq!(books.check(&told(&books)), Ok(()), "the second failure of two was given up");
    books.rows.push(Row { slot_at: None, attempt: 0, ..row(3_400, "skipped") });
    assert_eq!(books.check(&told(&books)), Ok(()), "what is left out after it is no failure");
    books.rows.pop();
    agent(&mut books).is_enabled = false;
    refused(&books, "1 failures in a row of 2, and enabled: false");
    agent(&mut books).is_enabled = true;
    books.rows.push(Row { slot_at: None, ..row(3_500, "failed") });
    books.notes.insert("agent".to_owned(), 4);
    refused(&books, "3 failures in a row of 2, and enabled: true");
    let mut books = whole();
    books.rows.swap(0, 1);
    end_as(&mut books.rows[2], replaced);
    refused(&books, "2 failures in a row of 2, and enabled: true");
    for why in [kept_back, replaced] {
        let mut books = whole();
        books.rows.iter_mut().for_each(|row| end_as(row, why));
        agent(&mut books).job["deleteAfterRun"] = json!(true);
        assert_eq!(books.check(&told(&books)), Ok(()), "it stays when its runs were given up");
        books.jobs.clear();
        refused(&books, "it was saved and is gone");
    }
    // A paused job has no slot after its last.
    let mut books = whole();
    books.rows[1].state = "failed".to_owned();
    (agent(&mut books).next, agent(&mut books).is_enabled) = (None, false);
    assert_eq!(books.check(&told(&books)), Ok(()));
}

/// A job of whose slots so many were left out that their oldest rows are not kept.
#[test]
fn what_is_no_longer_kept_is_accounted_for_and_what_is_lost_is_found() {
    let every = json!({ "kind": "every", "everyMs": 1_000, "anchorMs": 0 });
    let pattern = json!({ "kind": "cron", "expr": "*/2 * * * * *" });
    for (schedule, step) in [(every, 1_000), (pattern, 2_000)] {
        let row = |place: i64| Row {
            id: format!("r{place}"),
            job_id: "job".to_owned(),
            slot_at: Some(place * step),
            state: "skipped".to_owned(),
            stands_for: 1,
            attempt: 0,
            retry_of: None,
            created_at: place * step,
            started_at: None,
            finished_at: Some(place * step),
            reason: String::new(),
            summary: String::new(),
        };
        let job = json!({
            "id": "job", "createdAtMs": 0, "schedule": schedule, "payload": { "kind": "systemEvent" },
        });
        let told = Told { saved: vec![promised(&job)], ..Told::default() };
        let next = Some(261 * step);
        // Those up to the fiftieth are gone; one that ran among them is still there, and the last stands for three.
        let whole = || {
            let ran = Row { attempt: 1, state: "failed".to_owned(), ..row(20) };
            let many = Row { stands_for: 3, ..row(260) };
            let rows = (51..=257).map(row).chain([ran, many]).collect();
            let saved = Saved { job: job.clone(), next, is_enabled: true };
            Books {
                jobs: HashMap::from([("job".to_owned(), saved)]),
                rows,
                pruned: HashMap::from([("job".to_owned(), 50 * step)]),
                ..Books::default()
            }
        };
        assert_eq!(whole().check(&told), Ok(()));
        type Spoil = fn(&mut Books);
        let spoiled: [(&str, Spoil); 5] = [
            ("210 to 210 slots passed, and the rows stand for 209", |books| {
                books.rows.remove(0);
            }),
            ("stand for 209", |books| drop(books.rows.remove(100))),
            ("stand for 211", |books| books.rows[7].stands_for = 2),
            ("and the rows stand for 211", |books| books.pruned.clear()),
            ("rows were pruned, and 199 are left", |books| books.rows.truncate(199)),
        ];
        for (words, spoil) in spoiled {
            let mut books = whole();
            spoil(&mut books);
            let why = books.check(&told).expect_err(words);
            assert!(why.contains(words), "`{words}` is not in: {why}");
        }
    }
}

/// Slots between the moment a job was sent and the one when its sender was told may have fired, or not: no later one.
#[test]
fn only_slots_before_the_promise_may_have_no_row() {
    let every = json!({ "kind": "every", "everyMs": 1_000, "anchorMs": 500 });
    let pattern = json!({ "kind": "cron", "expr": "*/2 * * * * *" });
    for (schedule, slots) in [(every, [1_500, 2_500, 3_500]), (pattern, [2_000, 4_000, 6_000])] {
        let job = json!({ "createdAtMs": 500, "schedule": schedule });
        let next = 2 * slots[2] - slots[1];
        for (by, least) in [(500, 3), (slots[0] - 1, 3), (slots[0], 2), (slots[1] + 1, 1)] {
            assert_eq!(
                passed(&job, by, None, Some(next), None),
                Ok((least, 3)),
                "{schedule}, {by}"
            );
        }
        // A slot that stood in a row is younger than the promise.
        assert_eq!(passed(&job, 500, Some(slots[1]), Some(next), None), Ok((1, 1)));
    }
}
