//! The worker of `docs/many-machines.md`: a queue in PostgreSQL fires a job, while both sides are killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rouse_gateway::Client;
use rouse_tests::echo_job;
use serde_json::{Value, json};

use crate::fixture::python;
use crate::holding_proxy::HoldingProxy;
use crate::postgres::PostgresCluster;
use crate::served_engine::ServedEngine;

const ROWS: usize = 6;
/// The time limit of a row, for a slow machine.
const ROW_TIMEOUT: Duration = Duration::from_secs(120);

/// The environment of workers.
struct WorkerSetup {
    database: String,
    hook: String,
    secret: String,
    token: String,
}

/// A running worker. Dropping it kills the process.
struct QueueWorker(Child);

impl QueueWorker {
    /// Starts a worker, which sends its lines to `lines`.
    fn start(setup: &WorkerSetup, lines: &Sender<String>) -> Self {
        let mut command = Command::new(python());
        command
            .arg(documentation().join("examples").join("postgres_worker.py"))
            .env("DATABASE_URL", &setup.database)
            .env("ROUSE_HOOK", &setup.hook)
            .env("ROUSE_SECRET", &setup.secret)
            .env("ROUSE_TOKEN", &setup.token);
        let process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut process = process.expect("the worker starts");
        let out = BufReader::new(process.stdout.take().expect("a pipe"));
        let lines = lines.clone();
        thread::spawn(move || {
            // The test may have ended.
            out.lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
        });
        Self(process)
    }

    /// Kills the process with SIGKILL.
    fn kill(self) {
        drop(self);
    }
}

impl Drop for QueueWorker {
    fn drop(&mut self) {
        // The worker may have ended.
        if self.0.kill().is_ok() {
            self.0.wait().expect("an exit status");
        }
    }
}

fn documentation() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("docs")
}

/// The table of the page.
fn table_definition() -> String {
    let page = fs::read_to_string(documentation().join("many-machines.md")).expect("the page");
    let (_, rest) = page.split_once("```sql\n").expect("a definition");
    rest.split_once("```").expect("its end").0.to_owned()
}

/// Adds the job of the page. Returns its id.
async fn add_job(engine: &ServedEngine) -> String {
    let mut job = echo_job(&json!({ "kind": "webhook" }));
    job["policies"] = json!({ "overlap": "queue" });
    let view = engine.call("cron.add", job).await;
    view["job"]["id"].as_str().expect("an id").to_owned()
}

/// Waits until each row is reported. Two workers may report the same row.
fn wait_for_rows(lines: &Receiver<String>, rows: std::ops::RangeInclusive<usize>) {
    let mut open: BTreeSet<String> = rows.map(|row| format!("row {row}")).collect();
    while !open.is_empty() {
        let line = lines.recv_timeout(ROW_TIMEOUT);
        let line = line.unwrap_or_else(|error| panic!("{error}: {open:?} are open"));
        open.remove(line.split(':').next().expect("a row"));
    }
}

#[tokio::test]
async fn each_row_fires_once_while_both_sides_are_killed() {
    let cluster = PostgresCluster::start();
    cluster.sql(&table_definition());
    let home = tempfile::tempdir().expect("a folder");
    let engine = ServedEngine::start(&home);
    let proxy = HoldingProxy::start(&engine.address);
    let job = add_job(&engine).await;
    let webhook = engine.call("cron.webhook", json!({ "id": job })).await;
    let token = fs::read_to_string(Client::token_path(home.path()));
    let setup = WorkerSetup {
        database: cluster.url(),
        hook: format!("http://{}/hooks/jobs/{job}", proxy.address),
        secret: webhook["secret"].as_str().expect("a secret").to_owned(),
        token: token.expect("a token").trim().to_owned(),
    };
    let (line_tx, lines) = channel();

    // The worker dies between the call and its commit.
    proxy.hold_next();
    cluster.sql("INSERT INTO queue (body) VALUES ('order 1')");
    let worker = QueueWorker::start(&setup, &line_tx);
    let call = proxy.wait_for_held();
    worker.kill();
    drop(call);
    assert_eq!(cluster.sql("SELECT state FROM queue"), ["new"]);
    let workers = [(); 2].map(|()| QueueWorker::start(&setup, &line_tx));
    wait_for_rows(&lines, 1..=1);

    // The engine dies between the start of the run and its answer.
    proxy.hold_next();
    let insert = format!("SELECT 'order ' || n FROM generate_series(2, {ROWS}) n");
    cluster.sql(&format!("INSERT INTO queue (body) {insert}"));
    let call = proxy.wait_for_held();
    engine.kill();
    drop(call);
    let engine = ServedEngine::start(&home);
    proxy.set_engine(&engine.address);
    wait_for_rows(&lines, 2..=ROWS);
    drop(workers);

    assert_eq!(cluster.sql("SELECT DISTINCT state, outcome FROM queue"), ["done|succeeded"]);
    let stored: BTreeSet<String> = cluster.sql("SELECT run_id FROM queue").into_iter().collect();
    assert_eq!(stored.len(), ROWS);
    let page = engine.call("cron.runs", json!({ "id": job, "limit": 500 })).await;
    let runs = page["entries"].as_array().expect("runs");
    // The run of a call, which the engine may have repeated after its start.
    let fired_runs = runs.iter().filter(|run| run["trigger"] == "webhook");
    let fired: BTreeSet<&str> = fired_runs.map(|run| text(&run["id"])).collect();
    let stored_runs = runs.iter().filter(|run| stored.contains(text(&run["id"])));
    let origins = stored_runs.map(|run| run["retryOf"].as_str().unwrap_or(text(&run["id"])));
    assert_eq!((fired.len(), origins.collect::<BTreeSet<_>>()), (ROWS, fired), "{page:#}");
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
