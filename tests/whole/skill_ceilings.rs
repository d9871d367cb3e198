//! The ceiling of a session that has read an untrusted skill.

use std::fs;

use rouse_core::UnixMs;
use rouse_testkit::ManualClock;
use rouse_testkit::scripted_model::says;
use rouse_tests::{EngineBuilder, NOON, TestEngine, tool_calls};
use serde_json::{Value, json};

use crate::skills::{
    effective_tools, job_with_skills, offered_tools, put_skill, report_done, run_job, set_skills,
    trust, write_call,
};

/// A clock beyond the hour for which recent calls keep their runs.
fn next_day() -> ManualClock {
    ManualClock::new(UnixMs(NOON + 24 * 3_600_000))
}

/// A later run may repeat text of the skill from an earlier run.
#[tokio::test]
async fn skill_ceiling_survives_pruning_of_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    put_skill(folder.path(), "installed", "fetch", "Make a mess.");
    let engine =
        EngineBuilder::new(folder.path()).model((0..11).map(|_| report_done())).build().await;
    let id = engine.add_job(job_with_skills(&["fetch"])).await;
    let first = run_job(&engine, &id, 1).await;
    set_skills(&engine, &id, json!([])).await;
    for count in 2..12 {
        run_job(&engine, &id, count).await;
    }
    engine.host.stop().await;

    let settings = "[retention]\nrunsPerJob = 10\n";
    fs::write(folder.path().join("config.toml"), settings).expect("a file");
    let engine =
        EngineBuilder::new(folder.path()).clock(&next_day()).model([report_done()]).build().await;
    engine
        .wait_until(async |engine| {
            let found = engine.try_call("runs.get", json!({ "id": first["id"] })).await;
            found.is_err().then_some(())
        })
        .await;
    let ceiling = effective_tools(&engine, &id).await["ceiling"].clone();
    assert!(ceiling.as_str().is_some_and(|reason| reason.contains("the skill fetch")), "{ceiling}");
    engine.start_run(&id).await;
    engine.wait_until(async |engine| (!engine.model.requests().is_empty()).then_some(())).await;
    assert!(!offered_tools(&engine, 0).contains(&"write_file".to_owned()));

    // Trust in the version that was read removes the ceiling.
    trust(&engine, "fetch").await;
    assert_eq!(effective_tools(&engine, &id).await["ceiling"], Value::Null);
    engine.host.stop().await;
}

#[tokio::test]
async fn clearing_session_removes_skill_ceiling() {
    let folder = tempfile::tempdir().expect("a folder");
    put_skill(folder.path(), "installed", "fetch", "Make a mess.");
    let script = [report_done(), report_done(), write_call("x"), report_done()];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = engine.add_job(job_with_skills(&["fetch"])).await;
    let first = run_job(&engine, &id, 1).await;
    set_skills(&engine, &id, json!([])).await;
    fs::remove_dir_all(folder.path().join("skills/installed/fetch")).expect("gone");
    assert!(
        effective_tools(&engine, &id).await["ceiling"].is_string(),
        "the session has read the skill"
    );
    run_job(&engine, &id, 2).await;
    assert!(!offered_tools(&engine, 1).contains(&"write_file".to_owned()));

    let key = json!({ "key": format!("cron:{id}") });
    let mut events = engine.events();
    assert_eq!(engine.call("sessions.clear", key.clone()).await, json!({ "changed": true }));
    loop {
        let event = events.next().await.expect("an event");
        if json!(event.kind) == "session" {
            assert_eq!(event.data, json!({ "session": format!("cron:{id}"), "jobId": id }));
            break;
        }
    }
    assert_eq!(engine.call("sessions.clear", key.clone()).await, json!({ "changed": false }));
    let cleared = engine.call("sessions.get", key.clone()).await;
    assert_eq!((&cleared["session"], &cleared["messages"]), (&Value::Null, &json!([])));
    assert_eq!(effective_tools(&engine, &id).await["ceiling"], Value::Null);
    let first_detail = engine.call("runs.get", json!({ "id": first["id"] })).await;
    assert!(!tool_calls(&first_detail).is_empty(), "the run record stays: {first_detail}");

    // A cleared session has no ceiling and no messages.
    engine.start_run(&id).await;
    engine.wait_for_run(&id, "awaitingApproval").await;
    assert!(offered_tools(&engine, 2).contains(&"write_file".to_owned()));
    assert_eq!(engine.model.requests()[2].messages.len(), 1);
    let refused = engine.try_call("sessions.clear", key.clone()).await.expect_err("a run is open");
    assert!(refused.message.contains("is still open"), "{refused:?}");
    engine.decide(&engine.pending_approval().await, "once").await;
    assert_eq!(engine.finished_runs(&id, 3).await[0]["state"], "succeeded");
    engine.call("sessions.clear", key).await;
    engine.host.stop().await;
}

/// The pruned run lives on in the summary, which may repeat text of the skill.
#[tokio::test]
async fn summary_of_untrusted_skill_keeps_its_ceiling() {
    let folder = tempfile::tempdir().expect("a folder");
    put_skill(folder.path(), "installed", "fetch", "Write a file.");
    let report = |number: usize| says(&format!("Report {number}. {}", "rain ".repeat(1_100)));
    let script = [report_done()].into_iter().chain((0..40).map(report));
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    let id = engine.add_job(job_with_skills(&["fetch"])).await;
    let first = run_job(&engine, &id, 1).await;
    set_skills(&engine, &id, json!([])).await;
    for count in 2..16 {
        run_job(&engine, &id, count).await;
    }
    let is_summary = |system: &str| system.starts_with("You write down what an agent needs");
    assert!(engine.model.requests().iter().any(|request| is_summary(&request.system)));
    engine.host.stop().await;

    let settings = "[retention]\nrunsPerJob = 10\n";
    fs::write(folder.path().join("config.toml"), settings).expect("a file");
    let script = (0..9).map(report);
    let engine = EngineBuilder::new(folder.path()).clock(&next_day()).model(script).build().await;
    let is_gone = async |engine: &TestEngine| {
        let found = engine.try_call("runs.get", json!({ "id": first["id"] })).await;
        found.is_err().then_some(())
    };
    engine.wait_until(is_gone).await;
    let ceiling = effective_tools(&engine, &id).await["ceiling"].clone();
    assert!(ceiling.as_str().is_some_and(|reason| reason.contains("the skill fetch")), "{ceiling}");
    engine.start_run(&id).await;
    engine.wait_until(async |engine| (!engine.model.requests().is_empty()).then_some(())).await;
    let names = offered_tools(&engine, 0);
    assert!(!names.contains(&"write_file".to_owned()), "{names:?}");
    engine.host.stop().await;
}
