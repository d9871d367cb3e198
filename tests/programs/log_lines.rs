//! The log of a day with many events: each line has module and name, and lines about a job or run carry its id.
//! Payloads are absent unless enabled, and keys are always absent.

use std::collections::HashMap;

use rouse_tests::model_calling;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};
use crate::logs::log_records;
use crate::probes::echo;

/// A marker in all job, model and user text.
const PAYLOAD: &str = "PAYLOAD-canary-77ab";
const KEY: &str = "sk-test-KEYcanary0123456789abcdef";

/// The names of jobs and runs by id.
#[derive(Default)]
struct KnownNames {
    jobs: HashMap<String, String>,
    /// The job of the run, if any, and the name of the run.
    runs: HashMap<String, (Option<String>, String)>,
}

impl KnownNames {
    async fn learn(&mut self, engine: &EngineProcess<'_>) {
        let list = engine.call("cron.list", json!({ "includeDisabled": true })).await;
        for view in list["jobs"].as_array().expect("jobs") {
            let job = view.get("job").unwrap_or(view);
            self.jobs.insert(text(&job["id"]), text(&job["name"]));
        }
        self.learn_runs(engine).await;
    }

    async fn learn_runs(&mut self, engine: &EngineProcess<'_>) {
        let list = engine.call("runs.list", json!({ "limit": 500 })).await;
        for run in list["runs"].as_array().unwrap_or_else(|| panic!("{list}")) {
            let job = run["jobId"].as_str().map(str::to_owned);
            self.runs.insert(text(&run["id"]), (job, text(&run["jobName"])));
        }
    }

    /// The defect of a line, if any.
    fn find_defect(&self, line: &Value) -> Option<String> {
        for key in ["time", "level", "module", "name", "message"] {
            if line[key].as_str().is_none_or(str::is_empty) {
                return Some(format!("no `{key}`"));
            }
        }
        let all = line.to_string();
        let about_run = self.runs.iter().find(|(id, _)| all.contains(id.as_str()));
        if let Some((id, (job, name))) = about_run {
            let expected = (&json!(id), &json!(job), &json!(name));
            let found = (&line["runId"], &line["jobId"], &line["name"]);
            return (found != expected).then(|| format!("belongs to the run {expected:?}"));
        }
        let (id, name) = self.jobs.iter().find(|(id, _)| all.contains(id.as_str()))?;
        let found = (&line["jobId"], &line["name"]);
        (found != (&json!(id), &json!(name))).then(|| format!("belongs to the job {id}, {name}"))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn job(id: &str, more: Value) -> Value {
    let mut job = echo(id);
    job["payload"]["arguments"]["text"] = json!(PAYLOAD);
    job["id"] = json!(format!("id-of-{id}"));
    let fields = job.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    job
}

async fn run_to_end(engine: &EngineProcess<'_>, id: &str) {
    let before = engine.runs(id).await.len();
    engine.start_run(id).await;
    engine.finished_runs(id, before + 1).await;
}

/// Jobs that succeed, fail, are skipped, paused, triggered by events, changed and removed.
async fn run_varied_jobs(engine: &EngineProcess<'_>) {
    let failing = json!({
        "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": "nowhere" } },
        "policies": { "pauseAfterFailures": 1 },
    });
    let after = json!({
        "schedule": { "kind": "event", "source": "job", "filters": { "jobId": "id-of-well" } },
        "policies": { "cooldownSeconds": 3_600 },
    });
    let condition = json!({ "payload": {
        "kind": "toolCall", "tool": "echo", "arguments": { "text": PAYLOAD },
        "notifyWhen": { "cel": "result.nothing == 1" },
    } });
    let reminder = json!({
        "sessionTarget": "main",
        "payload": { "kind": "systemEvent", "text": PAYLOAD },
    });
    let mute = json!({ "description": "Its row is garbled in the evening." });
    let well = engine.add_job(job("well", json!({}))).await;
    let after = engine.add_job(job("after", after)).await;
    for count in [1, 2] {
        run_to_end(engine, &well).await;
        engine.finished_runs(&after, count).await;
    }
    for (id, more) in
        [("failing", failing), ("condition", condition), ("reminder", reminder), ("mute", mute)]
    {
        let id = engine.add_job(job(id, more)).await;
        run_to_end(engine, &id).await;
    }
    let gone = engine.add_job(job("gone", json!({}))).await;
    engine.call("cron.update", json!({ "id": gone, "patch": { "description": "x" } })).await;
    engine.call("wake", json!({ "mode": "now", "text": PAYLOAD })).await;
    engine.call("cron.remove", json!({ "id": gone })).await;
}

/// The pending approval of a job. The main session may have another.
async fn pending_approval_of(engine: &EngineProcess<'_>, job: &str) -> Value {
    engine
        .wait_until(async |engine| {
            let open = engine.call("approvals.list", json!({})).await;
            open["approvals"].as_array()?.iter().find(|approval| approval["jobId"] == job).cloned()
        })
        .await
}

/// An approved agent run, a run cancelled during an approval, and a kill of the engine.
async fn run_until_kill(engine: EngineProcess<'_>, known: &mut KnownNames) {
    let agent =
        |id: &str| job(id, json!({ "payload": { "kind": "agentTurn", "message": PAYLOAD } }));
    let writer = engine.add_job(agent("writer")).await;
    engine.start_run(&writer).await;
    let approval = pending_approval_of(&engine, &writer).await;
    let decision = json!({ "id": approval["id"], "decision": { "kind": "once" }, "from": "page" });
    engine.call("approvals.decide", decision).await;
    engine.finished_runs(&writer, 1).await;
    let stopped = engine.add_job(agent("stopped")).await;
    let run = engine.start_run(&stopped).await;
    pending_approval_of(&engine, &stopped).await;
    engine.call("runs.cancel", json!({ "id": run })).await;
    engine.finished_runs(&stopped, 1).await;
    let long = json!({ "payload": {
        "kind": "toolCall", "tool": "run_command", "arguments": { "command": "sleep 600" },
    } });
    let long = engine.add_job(job("long", long)).await;
    engine.start_run(&long).await;
    engine
        .wait_until(async |engine| {
            let runs = engine.runs(&long).await;
            runs.iter().any(|run| run["state"] == "running").then_some(())
        })
        .await;
    known.learn(&engine).await;
    engine.kill();
}

/// Writes unreadable rows and an invalid pattern.
fn damage_rows(home: &TestHome) {
    let file = Connection::open(home.data().join("rouse.db")).expect("a file");
    let cron = json!({
        "id": "id-of-garbled", "name": "garbled", "schedule": { "kind": "cron", "expr": "nonsense" },
        "payload": { "kind": "nonsense" },
    });
    let invalid_pattern = json!({ "kind": "event", "source": "wake", "pattern": "tea(" });
    let invalid_source = json!({ "kind": "event", "source": 5 });
    for (id, sql, value) in [
        (
            "id-of-after",
            "UPDATE jobs SET definition = json_set(definition, '$.schedule', json(?2)) WHERE id = ?1",
            invalid_pattern.to_string(),
        ),
        (
            "id-of-mute",
            "UPDATE jobs SET definition = json_set(definition, '$.schedule', json(?2)) WHERE id = ?1",
            invalid_source.to_string(),
        ),
        (
            "id-of-well",
            "UPDATE jobs SET definition = ?2, next_run_at = 1000 WHERE id = ?1",
            cron.to_string(),
        ),
        ("id-of-condition", "UPDATE jobs SET last_state = ?2 WHERE id = ?1", "sunny".to_owned()),
    ] {
        let changed = file.execute(sql, [id, &value]).expect("written");
        assert_eq!(changed, 1, "{id}");
    }
}

/// Runs the day from the first start to the stop after kill and damage. Returns the checked log lines.
async fn logged_day(payloads: &str) -> Vec<Value> {
    let server =
        model_calling(vec![("write_file", json!({ "path": "report.md", "content": PAYLOAD }))]);
    let home = TestHome::with_model(&server)
        .env("ROUSE_LOG", "debug")
        .env("ROUSE_LOG_PAYLOADS", payloads)
        .env("OPENAI_API_KEY", KEY);
    let mut known = KnownNames::default();
    // Includes the example job.
    let engine = home.serve_plain();
    known.learn(&engine).await;
    run_varied_jobs(&engine).await;
    run_until_kill(engine, &mut known).await;
    damage_rows(&home);
    let engine = home.serve_plain();
    engine
        .wait_until(async |engine| {
            let runs = engine.runs("id-of-after").await;
            runs.first().is_some_and(|run| run["state"] == "failed").then_some(())
        })
        .await;
    engine.call("cron.list", json!({ "includeDisabled": true })).await;
    engine.call("cron.pause", json!({})).await;
    engine.call("cron.resume", json!({})).await;
    // The morning has recorded the names of the damaged jobs.
    known.learn_runs(&engine).await;
    assert!(engine.stop().success());
    let written = log_records(&home);
    let wrong: Vec<String> = written
        .iter()
        .filter_map(|line| known.find_defect(line).map(|defect| format!("{defect}: {line}")))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), written.len(), wrong.join("\n"));
    for message in [
        "created the example job",
        "cron: job skipped",
        "a job was switched off",
        "a run was parked for an approval",
        "an approval was decided",
        "a run was interrupted",
        "a job receives no events",
        "a due job cannot be read and is disabled",
        "the state of a job's newest run is unknown",
    ] {
        assert!(written.iter().any(|line| line["message"] == message), "no `{message}`");
    }
    assert!(!written.iter().any(|line| line.to_string().contains(KEY)), "a key is in the log");
    written
}

#[tokio::test]
async fn log_lines_name_module_event_job_and_run() {
    let written = logged_day("0").await;
    let leaks: Vec<&Value> =
        written.iter().filter(|line| line.to_string().contains(PAYLOAD)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[tokio::test]
async fn log_lines_with_payloads_are_complete_without_keys() {
    let written = logged_day("1").await;
    for message in ["cron: job payload", "cron: job outcome"] {
        let has_message = |line: &&Value| line["message"] == message;
        let has_payload =
            written.iter().filter(has_message).any(|line| line.to_string().contains(PAYLOAD));
        assert!(has_payload, "no `{message}` with payload: {written:#?}");
    }
}
