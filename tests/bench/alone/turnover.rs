//! Claim and finish, one job after the other, beside plain SQLite with the same durability.

use anyhow::Context as _;
use rouse_core::job::Job;
use rouse_core::slots::DecidedSlots;
use rouse_core::{Outcome, Run, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Claim, Finish};
use rusqlite::Connection;
use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};

use super::floor;
use super::stage::{Stage, timed, timed_async};
use crate::report::Report;

const TURNS: u32 = 500;

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    // In turns and by the best of them: how long a disk takes for the same thing changes by the minute.
    let mut plain = f64::INFINITY;
    let (mut ours, mut driver, mut tables) = (plain, plain, plain);
    for _ in 0..6 {
        plain = plain.min(of_plain_sqlite()?);
        tables = tables.min(of_the_tables().await?);
        driver = driver.min(of_the_driver().await?);
        ours = ours.min(of_the_store().await?);
    }
    let turns = f64::from(TURNS);
    let note = |report: &mut Report, what: &str, seconds: f64| {
        report.known(&format!("claim and finish {what}"), turns / seconds, "a second");
    };
    note(report, "of plain SQLite (two durable transactions)", plain);
    note(report, "of plain SQLite in the tables and indexes of the store", tables);
    note(report, "of plain SQLite through the driver of the store", driver);
    note(report, "of the store", ours);
    let what = "claim and finish, of what plain SQLite does";
    report.at_least(what, plain / ours * 100.0, 80.0, "%");
    report.known("the same, of what it does through the driver", driver / ours * 100.0, "%");
    Ok(())
}

/// Seconds for all turns.
async fn of_the_store() -> anyhow::Result<f64> {
    let stage = Stage::new(std::sync::Arc::new(|_| {})).await?;
    let job = stage.job(0, &json!({ "kind": "every", "everyMs": 1_000, "anchorMs": 0 }))?;
    let job = stage.store.insert_job(&job, UnixMs(0)).await?;
    let (done, took) = timed_async(turns(&stage, &job)).await;
    done?;
    Ok(took.as_secs_f64())
}

async fn turns(stage: &Stage, job: &Job) -> anyhow::Result<()> {
    let first = job.state.next_run_at.context("a job without a slot")?;
    for turn in 0..i64::from(TURNS) {
        let (slot, next) = (first.plus_ms(turn * 1_000), first.plus_ms((turn + 1) * 1_000));
        let claim = Claim {
            job_id: job.id.clone(),
            slot_at: slot,
            next_run_at: Some(next),
            decided: DecidedSlots { until: Some(slot), settled_until: None },
            runs: vec![begun(job, slot)],
            under: None,
            fired: Vec::new(),
        };
        let runs = stage.store.claim(&[claim], slot).await?;
        let finish = Finish::of(
            runs.runs.into_iter().next().context("nothing was claimed")?,
            Outcome::succeeded("Done."),
            slot,
        );
        stage.store.finish_run(&finish).await?;
    }
    Ok(())
}

fn begun(job: &Job, slot: UnixMs) -> Run {
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

/// Seconds for all turns: the same rows and events, without anything that the store keeps beside them.
fn of_plain_sqlite() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = floor::plain_sqlite(folder.path())?;
    connection.execute("INSERT INTO jobs VALUES ('job', 0, NULL)", [])?;
    let (done, took) = timed(|| -> rusqlite::Result<()> {
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
            event(&write)?;
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
            event(&write)?;
            write.commit()?;
        }
        Ok(())
    });
    done?;
    Ok(took.as_secs_f64())
}

/// Seconds for all turns: the same rows of plain SQLite in the store's own tables, with their columns and indexes.
async fn of_the_tables() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let mut connection = floor::own_tables(folder.path()).await?;
    connection.execute(
        "INSERT INTO jobs (id, name, enabled, revision, next_run_at, consecutive_failures, definition)
         VALUES ('job', 'Job', 1, 1, 0, 0, ?1)",
        [floor::DEFINITION],
    )?;
    let (done, took) = timed(|| {
        (0..TURNS).try_for_each(|turn| {
            let id = format!("run-{turn:032}");
            claim_in_tables(&mut connection, &id, turn)?;
            finish_in_tables(&mut connection, &id, turn)
        })
    });
    done?;
    Ok(took.as_secs_f64())
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
        .execute((id, turn, floor::PAYLOAD))?;
    told(&write, turn)?;
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
    told(&write, turn)?;
    write.commit()
}

/// Two rows of news in the store's own table.
fn told(write: &rusqlite::Transaction<'_>, turn: u32) -> rusqlite::Result<()> {
    for kind in ["run", "cron"] {
        write
            .prepare_cached("INSERT INTO events (at, kind, data) VALUES (?1, ?2, ?3)")?
            .execute((turn, kind, floor::DEFINITION))?;
    }
    Ok(())
}

/// Two rows of news, as the store writes.
fn event(write: &rusqlite::Transaction<'_>) -> rusqlite::Result<()> {
    for _ in 0..2 {
        write
            .prepare_cached("INSERT INTO events (data) VALUES (?1)")?
            .execute(["{\"jobId\":\"job\",\"runId\":\"run\",\"state\":\"running\"}"])?;
    }
    Ok(())
}

/// Seconds for all turns: the same statements, each handed to the driver's thread and back.
async fn of_the_driver() -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    drop(floor::plain_sqlite(folder.path())?);
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("plain.db"))
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await?;
    sqlx::query("INSERT INTO jobs VALUES ('job', 0, NULL)").execute(&mut connection).await?;
    let (done, took) = timed_async(turns_of_the_driver(&mut connection)).await;
    done?;
    Ok(took.as_secs_f64())
}

async fn turns_of_the_driver(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    const NEWS: &str = "INSERT INTO events (data) VALUES (?1), (?1)";
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
            sqlx::query(NEWS).bind(EVENT),
            sqlx::query("COMMIT"),
            sqlx::query("BEGIN IMMEDIATE"),
            sqlx::query("UPDATE runs SET state = 'succeeded', finished_at = ?2 WHERE id = ?1")
                .bind(&id)
                .bind(turn),
            sqlx::query("UPDATE jobs SET last_state = 'succeeded' WHERE id = 'job'"),
            sqlx::query(NEWS).bind(EVENT),
            sqlx::query("COMMIT"),
        ];
        for step in steps {
            step.execute(&mut *connection).await?;
        }
    }
    Ok(())
}
