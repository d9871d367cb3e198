//! Claim and finish, job by job, compared with plain SQLite of the same durability.

use anyhow::Context as _;
use rouse_core::job::Job;
use rouse_core::slots::DecidedSlots;
use rouse_core::{Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Claim, RunEnd};
use rusqlite::Connection;
use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};

use super::baselines;
use super::fixture::{SchedulerFixture, timed, timed_async};
use crate::report::Report;

const TURNS: u32 = 500;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    // Alternates and takes the best, because disk times vary from minute to minute.
    let mut plain = f64::INFINITY;
    let (mut ours, mut driver, mut tables) = (plain, plain, plain);
    for _ in 0..6 {
        plain = plain.min(measure_plain_sqlite()?);
        tables = tables.min(measure_store_tables().await?);
        driver = driver.min(measure_driver().await?);
        ours = ours.min(measure_store().await?);
    }
    let turns = f64::from(TURNS);
    let report_rate = |report: &mut Report, label: &str, seconds: f64| {
        report.info(&format!("claim and finish {label}"), turns / seconds, "a second");
    };
    report_rate(report, "with plain SQLite (two durable transactions)", plain);
    report_rate(report, "with plain SQLite in the store's tables and indexes", tables);
    report_rate(report, "with plain SQLite through the store's driver", driver);
    report_rate(report, "with the store", ours);
    let label = "claim and finish, relative to plain SQLite";
    report.at_least(label, plain / ours * 100.0, 80.0, "%");
    report.info(
        "the same, relative to plain SQLite through the driver",
        driver / ours * 100.0,
        "%",
    );
    Ok(())
}

/// The seconds of all turns with the store.
async fn measure_store() -> anyhow::Result<f64> {
    let fixture = SchedulerFixture::new(std::sync::Arc::new(|_| {})).await?;
    let job = fixture.job(0, &json!({ "kind": "every", "everyMs": 1_000, "anchorMs": 0 }))?;
    let job = fixture.store.insert_job(&job, UnixMs(0)).await?;
    let (result, elapsed) = timed_async(run_turns(&fixture, &job)).await;
    result?;
    Ok(elapsed.as_secs_f64())
}

async fn run_turns(fixture: &SchedulerFixture, job: &Job) -> anyhow::Result<()> {
    let first = job.state.next_run_at.context("a job without a slot")?;
    for turn in 0..i64::from(TURNS) {
        let (slot, next) = (first.plus_ms(turn * 1_000), first.plus_ms((turn + 1) * 1_000));
        let claim = Claim {
            job_id: job.id.clone(),
            slot_at: slot,
            next_run_at: Some(next),
            decided: DecidedSlots { until: Some(slot), settled_until: None },
            runs: vec![started_run(job, slot)],
            coalesce_key: None,
            fired: Vec::new(),
        };
        let runs = fixture.store.claim(&[claim], slot).await?;
        let finish = RunEnd::of(
            runs.runs.into_iter().next().context("nothing was claimed")?,
            Outcome::succeeded("Done."),
            slot,
        );
        fixture.store.finish_run(&finish).await?;
    }
    Ok(())
}

fn started_run(job: &Job, slot: UnixMs) -> Run {
    Run {
        job_id: Some(job.id.clone()),
        job_name: job.name.clone(),
        slot_at: Some(slot),
        state: RunState::Running,
        started_at: Some(slot),
        attempt: 1,
        payload: json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" } }),
        ..Run::queued(RunId::generate(slot), RunTrigger::Schedule, slot)
    }
}

/// The seconds of all turns with plain SQLite: the same rows and events without the store's other columns.
fn measure_plain_sqlite() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = baselines::plain_sqlite(folder.path())?;
    connection.execute("INSERT INTO jobs VALUES ('job', 0, NULL)", [])?;
    let (result, elapsed) = timed(|| -> rusqlite::Result<()> {
        for turn in 0..TURNS {
            let id = format!("run-{turn:032}");
            let write = connection.transaction()?;
            write
                .prepare_cached(
                    "UPDATE jobs SET next_run_at = ?1 WHERE id = 'job' AND next_run_at = ?2",
                )?
                .execute([turn + 1, turn])?;
            write
                .prepare_cached(
                    "INSERT INTO runs (id, job_id, slot_at, state, payload) VALUES (?1, 'job', ?2, 'running', ?3)",
                )?
                .execute((&id, turn, "{\"kind\":\"toolCall\",\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}"))?;
            insert_events(&write)?;
            write.commit()?;
            let write = connection.transaction()?;
            write
                .prepare_cached(
                    "UPDATE runs SET state = 'succeeded', finished_at = ?2 WHERE id = ?1",
                )?
                .execute((&id, turn))?;
            write
                .prepare_cached("UPDATE jobs SET last_state = 'succeeded' WHERE id = 'job'")?
                .execute([])?;
            insert_events(&write)?;
            write.commit()?;
        }
        Ok(())
    });
    result?;
    Ok(elapsed.as_secs_f64())
}

/// The seconds of all turns with plain SQLite in the store's own tables and indexes.
async fn measure_store_tables() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = baselines::store_tables(folder.path()).await?;
    connection.execute(
        "INSERT INTO jobs (id, name, enabled, revision, next_run_at, consecutive_failures, definition)
         VALUES ('job', 'Job', 1, 1, 0, 0, ?1)",
        [baselines::DEFINITION],
    )?;
    let (result, elapsed) = timed(|| {
        (0..TURNS).try_for_each(|turn| {
            let id = format!("run-{turn:032}");
            claim_in_tables(&mut connection, &id, turn)?;
            finish_in_tables(&mut connection, &id, turn)
        })
    });
    result?;
    Ok(elapsed.as_secs_f64())
}

fn claim_in_tables(connection: &mut Connection, id: &str, turn: u32) -> rusqlite::Result<()> {
    let write = connection.transaction()?;
    write
        .prepare_cached("UPDATE jobs SET next_run_at = ?1, last_run_at = ?2 WHERE id = 'job' AND next_run_at = ?2")?
        .execute([turn + 1, turn])?;
    write
        .prepare_cached(
            "INSERT INTO runs (id, job_id, job_name, slot_at, trigger, state, stands_for, created_at, started_at,
                 attempt, input_tokens, cached_input_tokens, output_tokens, payload)
             VALUES (?1, 'job', 'Job', ?2, 'schedule', 'running', 1, ?2, ?2, 1, 0, 0, 0, ?3)",
        )?
        .execute((id, turn, baselines::PAYLOAD))?;
    insert_store_events(&write, turn)?;
    write.commit()
}

fn finish_in_tables(connection: &mut Connection, id: &str, turn: u32) -> rusqlite::Result<()> {
    let write = connection.transaction()?;
    write
        .prepare_cached("UPDATE runs SET state = 'succeeded', finished_at = ?2, summary = 'Done.' WHERE id = ?1")?
        .execute((id, turn))?;
    write
        .prepare_cached(
            "UPDATE jobs SET last_state = 'succeeded', last_duration_ms = 0 WHERE id = 'job'",
        )?
        .execute([])?;
    insert_store_events(&write, turn)?;
    write.commit()
}

/// Two event rows in the store's own table.
fn insert_store_events(write: &rusqlite::Transaction<'_>, turn: u32) -> rusqlite::Result<()> {
    for kind in ["run", "cron"] {
        write
            .prepare_cached("INSERT INTO events (at, kind, data) VALUES (?1, ?2, ?3)")?
            .execute((turn, kind, baselines::DEFINITION))?;
    }
    Ok(())
}

/// Two event rows, as the store writes.
fn insert_events(write: &rusqlite::Transaction<'_>) -> rusqlite::Result<()> {
    for _ in 0..2 {
        write
            .prepare_cached("INSERT INTO events (data) VALUES (?1)")?
            .execute(["{\"jobId\":\"job\",\"runId\":\"run\",\"state\":\"running\"}"])?;
    }
    Ok(())
}

/// The seconds of all turns with the same statements through the driver's thread.
async fn measure_driver() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    drop(baselines::plain_sqlite(folder.path())?);
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("plain.db"))
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await?;
    sqlx::query("INSERT INTO jobs VALUES ('job', 0, NULL)").execute(&mut connection).await?;
    let (result, elapsed) = timed_async(run_driver_turns(&mut connection)).await;
    result?;
    Ok(elapsed.as_secs_f64())
}

async fn run_driver_turns(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    const INSERT_EVENTS: &str = "INSERT INTO events (data) VALUES (?1), (?1)";
    const EVENT: &str = "{\"jobId\":\"job\",\"runId\":\"run\",\"state\":\"running\"}";
    for turn in 0..TURNS {
        let id = format!("run-{turn:032}");
        let steps = [
            sqlx::query("BEGIN IMMEDIATE"),
            sqlx::query("UPDATE jobs SET next_run_at = ?1 WHERE id = 'job' AND next_run_at = ?2")
                .bind(turn + 1)
                .bind(turn),
            sqlx::query(
                "INSERT INTO runs (id, job_id, slot_at, state, payload) VALUES (?1, 'job', ?2, 'running', ?3)",
            )
            .bind(&id)
            .bind(turn)
            .bind("{\"kind\":\"toolCall\",\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}"),
            sqlx::query(INSERT_EVENTS).bind(EVENT),
            sqlx::query("COMMIT"),
            sqlx::query("BEGIN IMMEDIATE"),
            sqlx::query("UPDATE runs SET state = 'succeeded', finished_at = ?2 WHERE id = ?1")
                .bind(&id)
                .bind(turn),
            sqlx::query("UPDATE jobs SET last_state = 'succeeded' WHERE id = 'job'"),
            sqlx::query(INSERT_EVENTS).bind(EVENT),
            sqlx::query("COMMIT"),
        ];
        for step in steps {
            step.execute(&mut *connection).await?;
        }
    }
    Ok(())
}
