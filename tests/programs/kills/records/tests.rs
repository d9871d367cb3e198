//! Inconsistencies that the records must report.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::super::jobs::{ALL_DONE, after, reminder};
use super::super::{AcknowledgedJob, Acknowledgements};
use super::{CurrentJob, RunRecords, RunRow, passed_slots};

/// A job that was acknowledged at once.
fn acknowledged_job(job: &Value) -> AcknowledgedJob {
    AcknowledgedJob { job: job.clone(), acknowledged_ms: 0 }
}

/// Consistent records, and defects that must be found.
#[test]
fn inconsistent_records_are_refused() {
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
    let row = |id: &str, job: &str, slot: Option<i64>, state: &str| RunRow {
        id: id.to_owned(),
        job_id: job.to_owned(),
        slot_at: slot,
        state: state.to_owned(),
        slot_count: 1,
        attempt: 1,
        retry_of: None,
        created_at: slot.unwrap_or(0),
        started_at: None,
        finished_at: Some(0),
        reason: String::new(),
        summary: String::new(),
    };
    let saved =
        |job: &Value, next: Option<i64>| CurrentJob { job: job.clone(), next, is_enabled: true };
    let consistent = || {
        let again =
            RunRow { retry_of: Some("t2".to_owned()), ..row("t3", "tick", None, "succeeded") };
        RunRecords {
            jobs: HashMap::from([
                ("tick".to_owned(), saved(&tick, Some(4_000))),
                ("after".to_owned(), saved(&after, None)),
                ("hook".to_owned(), saved(&hook, None)),
            ]),
            rows: vec![
                row("t1", "tick", Some(1_000), "succeeded"),
                row("t2", "tick", Some(2_000), "interrupted"),
                again,
                RunRow { attempt: 0, ..row("t4", "tick", Some(3_000), "skipped") },
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
    let acknowledged = Acknowledgements {
        jobs: [&tick, &after, &hook].map(acknowledged_job).into(),
        run_ids: vec!["t1".to_owned()],
        sent_calls: vec![call.clone()],
        accepted_calls: vec![call],
    };
    assert_eq!(consistent().check(&acknowledged), Ok(()));
    type Defect = fn(&mut RunRecords);
    let defects: [(&str, Defect); 14] = [
        ("is gone", |records| drop(records.rows.remove(0))),
        ("the saved job is missing", |records| drop(records.jobs.remove("hook"))),
        ("without an end", |records| records.rows[1].finished_at = None),
        ("worked 2 times", |records| *records.ledger.get_mut("t1").expect("there") = 2),
        ("did the work of t2", |records| {
            records.ledger.insert("t2".to_owned(), 1);
        }),
        ("has no row", |records| {
            records.ledger.insert("t9".to_owned(), 1);
        }),
        ("a slot has two rows", |records| records.rows[1].slot_at = Some(1_000)),
        ("stand for 2", |records| drop(records.rows.remove(3))),
        ("stand for 4", |records| records.rows[3].slot_count = 2),
        ("a skipped run has started", |records| records.rows[3].attempt = 1),
        ("2 runs worked", |records| {
            records.ledger.remove("t1");
        }),
        ("Some(3) lines", |records| *records.lines.get_mut("after").expect("there") = 3),
        ("that fired 1 runs", |records| *records.fired.get_mut("after").expect("there") = 1),
        ("1 of 1 calls were taken, and 0", |records| {
            records.rows.pop();
            records.marks.clear();
        }),
    ];
    for (text, introduce) in defects {
        let mut records = consistent();
        introduce(&mut records);
        let error = records.check(&acknowledged).expect_err(text);
        assert!(error.contains(text), "`{text}` is not in: {error}");
    }
    let mut records = consistent();
    records.marks.clear();
    records.rows[6].state = "succeeded".to_owned();
    assert!(records.check(&acknowledged).is_err(), "a call that worked was made");
    records.marks.insert("hook".to_owned(), 2);
    assert!(records.check(&acknowledged).is_err(), "a run calls once an attempt");
}

/// A job within all limits, and defects that must be found.
#[test]
fn job_beyond_its_policies_is_refused() {
    let row = |created_at: i64, state: &str| RunRow {
        id: String::new(),
        job_id: "agent".to_owned(),
        slot_at: Some(created_at),
        state: state.to_owned(),
        slot_count: 1,
        attempt: 1,
        retry_of: None,
        created_at,
        started_at: Some(created_at),
        finished_at: Some(created_at + 100),
        reason: String::new(),
        summary: ALL_DONE.to_owned(),
    };
    let consistent = || {
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
        let saved = CurrentJob { job, next: Some(4_000), is_enabled: true };
        let notes = HashMap::from([("agent".to_owned(), 3)]);
        RunRecords {
            jobs: HashMap::from([("agent".to_owned(), saved)]),
            rows,
            notes,
            ..RunRecords::default()
        }
    };
    let acknowledgements = |records: &RunRecords| {
        let job = records.jobs.get("agent").map_or_else(
            || json!({ "id": "agent", "payload": { "kind": "agentTurn" }, "deleteAfterRun": true }),
            |saved| saved.job.clone(),
        );
        Acknowledgements { jobs: vec![acknowledged_job(&job)], ..Acknowledgements::default() }
    };
    let gone = || RunRecords { jobs: HashMap::new(), ..consistent() };
    for records in [consistent(), gone()] {
        assert_eq!(records.check(&acknowledgements(&records)), Ok(()));
    }
    fn agent(records: &mut RunRecords) -> &mut CurrentJob {
        records.jobs.get_mut("agent").expect("there")
    }
    type Defect = fn(&mut RunRecords);
    let defects: [(&str, Defect); 9] = [
        ("was not deleted", |records| agent(records).job["deleteAfterRun"] = json!(true)),
        ("claimed later than 1 s", |records| records.rows[1].created_at = 3_001),
        ("2 of 1 slots were caught up", |records| records.rows[1].created_at = 3_000),
        ("2 of 1 runs were at work", |records| records.rows[0].finished_at = Some(2_001)),
        ("3 failures in a row of 2, and enabled: true", |records| {
            records.rows[1].state = "failed".to_owned();
        }),
        ("1 failures in a row of 2, and enabled: false", |records| {
            agent(records).is_enabled = false
        }),
        ("Some(4) notes", |records| *records.notes.get_mut("agent").expect("there") = 4),
        ("Some(0) notes", |records| *records.notes.get_mut("agent").expect("there") = 0),
        ("disabled without a pause", |records| {
            let saved = agent(records);
            saved.job["policies"]["pauseAfterFailures"] = Value::Null;
            saved.is_enabled = false;
        }),
    ];
    for (text, introduce) in defects {
        let mut records = consistent();
        introduce(&mut records);
        let error = records.check(&acknowledgements(&records)).expect_err(text);
        assert!(error.contains(text), "`{text}` is not in: {error}");
    }
    let mut records = gone();
    records.rows.iter_mut().for_each(|row| row.state = "interrupted".to_owned());
    assert!(
        records.check(&acknowledgements(&records)).is_err(),
        "no run has ended, and the job is gone"
    );
    // A run with withheld retries counts as a failure, does not pause its job and does not delete it. A run replaced
    // by a newer slot can pause its job.
    let (kept_back, replaced) = ("Everything was paused", "Replaced by a newer slot");
    let end_as = |row: &mut RunRow, reason: &str| {
        row.reason = format!("{reason}, so it was not retried");
    };
    let refused = |records: &RunRecords, text: &str| {
        let error = records.check(&acknowledgements(records)).expect_err(text);
        assert!(error.contains(text), "`{text}` is not in: {error}");
    };
    let mut records = consistent();
    records.rows.swap(0, 1);
    end_as(&mut records.rows[2], kept_back);
    assert_eq!(
        records.check(&acknowledgements(&records)),
        Ok(()),
        "the second failure of two was given up"
    );
    records.rows.push(RunRow { slot_at: None, attempt: 0, ..row(3_400, "skipped") });
    assert_eq!(records.check(&acknowledgements(&records)), Ok(()), "a skipped run is no failure");
    records.rows.pop();
    agent(&mut records).is_enabled = false;
    refused(&records, "1 failures in a row of 2, and enabled: false");
    agent(&mut records).is_enabled = true;
    records.rows.push(RunRow { slot_at: None, ..row(3_500, "failed") });
    records.notes.insert("agent".to_owned(), 4);
    refused(&records, "3 failures in a row of 2, and enabled: true");
    let mut records = consistent();
    records.rows.swap(0, 1);
    end_as(&mut records.rows[2], replaced);
    refused(&records, "2 failures in a row of 2, and enabled: true");
    for reason in [kept_back, replaced] {
        let mut records = consistent();
        records.rows.iter_mut().for_each(|row| end_as(row, reason));
        agent(&mut records).job["deleteAfterRun"] = json!(true);
        assert_eq!(
            records.check(&acknowledgements(&records)),
            Ok(()),
            "kept after withheld attempts"
        );
        records.jobs.clear();
        refused(&records, "the saved job is missing");
    }
    // A paused job has no slot after the last run.
    let mut records = consistent();
    records.rows[1].state = "failed".to_owned();
    (agent(&mut records).next, agent(&mut records).is_enabled) = (None, false);
    assert_eq!(records.check(&acknowledgements(&records)), Ok(()));
}

/// A job with so many skipped slots that the oldest rows are pruned.
#[test]
fn pruned_rows_are_accepted_and_lost_rows_are_found() {
    let every = json!({ "kind": "every", "everyMs": 1_000, "anchorMs": 0 });
    let pattern = json!({ "kind": "cron", "expr": "*/2 * * * * *" });
    for (schedule, step) in [(every, 1_000), (pattern, 2_000)] {
        let row = |number: i64| RunRow {
            id: format!("r{number}"),
            job_id: "job".to_owned(),
            slot_at: Some(number * step),
            state: "skipped".to_owned(),
            slot_count: 1,
            attempt: 0,
            retry_of: None,
            created_at: number * step,
            started_at: None,
            finished_at: Some(number * step),
            reason: String::new(),
            summary: String::new(),
        };
        let job = json!({
            "id": "job", "createdAtMs": 0, "schedule": schedule, "payload": { "kind": "systemEvent" },
        });
        let acknowledged =
            Acknowledgements { jobs: vec![acknowledged_job(&job)], ..Acknowledgements::default() };
        let next = Some(261 * step);
        // Rows up to the fiftieth are pruned. One executed row among them is kept, and the last row stands for three
        // slots.
        let consistent = || {
            let ran = RunRow { attempt: 1, state: "failed".to_owned(), ..row(20) };
            let many = RunRow { slot_count: 3, ..row(260) };
            let rows = (51..=257).map(row).chain([ran, many]).collect();
            let saved = CurrentJob { job: job.clone(), next, is_enabled: true };
            RunRecords {
                jobs: HashMap::from([("job".to_owned(), saved)]),
                rows,
                pruned: HashMap::from([("job".to_owned(), 50 * step)]),
                ..RunRecords::default()
            }
        };
        assert_eq!(consistent().check(&acknowledged), Ok(()));
        type Defect = fn(&mut RunRecords);
        let defects: [(&str, Defect); 5] = [
            ("210 to 210 slots passed, and the rows stand for 209", |records| {
                records.rows.remove(0);
            }),
            ("stand for 209", |records| drop(records.rows.remove(100))),
            ("stand for 211", |records| records.rows[7].slot_count = 2),
            ("and the rows stand for 211", |records| records.pruned.clear()),
            ("rows were pruned, and 199 are left", |records| records.rows.truncate(199)),
        ];
        for (text, introduce) in defects {
            let mut records = consistent();
            introduce(&mut records);
            let error = records.check(&acknowledged).expect_err(text);
            assert!(error.contains(text), "`{text}` is not in: {error}");
        }
    }
}

/// Only slots between request and acknowledgement may lack a row.
#[test]
fn only_slots_before_acknowledgement_may_lack_a_row() {
    let every = json!({ "kind": "every", "everyMs": 1_000, "anchorMs": 500 });
    let pattern = json!({ "kind": "cron", "expr": "*/2 * * * * *" });
    for (schedule, slots) in [(every, [1_500, 2_500, 3_500]), (pattern, [2_000, 4_000, 6_000])] {
        let job = json!({ "createdAtMs": 500, "schedule": schedule });
        let next = 2 * slots[2] - slots[1];
        for (by, least) in [(500, 3), (slots[0] - 1, 3), (slots[0], 2), (slots[1] + 1, 1)] {
            assert_eq!(
                passed_slots(&job, by, None, Some(next), None),
                Ok((least, 3)),
                "{schedule}, {by}"
            );
        }
        // A slot with a row is later than the acknowledgement.
        assert_eq!(passed_slots(&job, 500, Some(slots[1]), Some(next), None), Ok((1, 1)));
    }
}
