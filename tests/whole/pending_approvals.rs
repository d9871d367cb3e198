//! Work that a pending approval blocks, and how `blockedWork` describes it.

use rouse_testkit::scripted_model::{calls, says};
use rouse_tests::{EngineBuilder, HOUR, NOON, TestEngine, agent_job};
use serde_json::{Value, json};

/// Returns the pending approvals as soon as there are `count`.
async fn pending(engine: &TestEngine, count: usize) -> Vec<Value> {
    engine
        .wait_until(async |engine| {
            let pending = engine.call("approvals.list", json!({})).await["approvals"].take();
            pending.as_array().filter(|pending| pending.len() == count).cloned()
        })
        .await
}

fn hourly(overlap: &str) -> Value {
    let mut job = agent_job("Write");
    job["schedule"] = json!({ "kind": "every", "everyMs": HOUR, "anchorMs": NOON });
    job["policies"] = json!({ "overlap": overlap, "approvalSeconds": 86_400 });
    job
}

#[tokio::test]
async fn later_slots_run_past_pending_approval() {
    for overlap in ["skip", "queue", "parallel", "cancelOther"] {
        let folder = tempfile::tempdir().expect("a folder");
        let write = json!({ "path": "a.txt", "content": "x" });
        let script = [
            calls([("c1", "write_file", write)]),
            says("Second."),
            says("Third."),
            says("Done at last."),
        ];
        let engine = EngineBuilder::new(folder.path())
            .model(script)
            .env("HEARTBEAT_ENABLED", "false")
            .build()
            .await;
        let id = engine.add_job(hourly(overlap)).await;
        engine.clock.advance(HOUR);
        let approval = pending(&engine, 1).await.remove(0);
        assert_eq!(
            approval["blockedWork"],
            json!({
                "text": "Only this run. Later runs of the job are not blocked.",
                "otherApprovals": 0, "followers": [], "laterRuns": 0,
            }),
            "{overlap}"
        );
        for (runs, summary) in [(2, "Second."), (3, "Third.")] {
            engine.clock.advance(HOUR);
            let newest = engine
                .wait_until(async |engine| {
                    let runs_now = engine.runs(&id).await;
                    let newest = runs_now.first().filter(|_| runs_now.len() == runs)?;
                    (newest["state"] == "succeeded").then(|| newest.clone())
                })
                .await;
            assert_eq!(newest["summary"], summary, "{overlap}");
        }
        let shown = engine.call("approvals.get", json!({ "id": approval["id"] })).await;
        let text = "Only this run. 2 later runs of the job were not blocked.";
        assert_eq!(shown["blockedWork"]["text"], text, "{overlap}");
        assert_eq!(shown["blockedWork"]["laterRuns"], 2, "{overlap}");

        let decided = engine.decide(&approval, "deny").await;
        assert_eq!(decided["approval"]["blockedWork"], Value::Null, "{overlap}");
        let runs = engine.finished_runs(&id, 3).await;
        assert_eq!(runs[2]["summary"], "Done at last.", "{overlap}");
        engine.host.stop().await;
    }
}

#[tokio::test]
async fn followers_wait_for_run_with_pending_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let both = calls([("c1", "write_file", write("a.txt")), ("c2", "write_file", write("b.txt"))]);
    let engine = EngineBuilder::new(folder.path()).model([both, says("Done.")]).build().await;
    let id = engine.add_job(agent_job("Write")).await;
    let echo = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" } });
    let after = |name: &str, enabled: bool| {
        let filters = json!({ "jobId": id });
        let schedule = json!({ "kind": "event", "source": "job", "filters": filters });
        json!({ "name": name, "enabled": enabled, "schedule": schedule, "payload": echo })
    };
    let report = engine.add_job(after("Report", true)).await;
    engine.add_job(after("Not any more", false)).await;
    engine.start_run(&id).await;
    let approvals = pending(&engine, 2).await;
    for approval in &approvals {
        let text = "This run, and \u{201c}Report\u{201d}, which starts after it. \
            One other approval of this run is pending.";
        assert_eq!(approval["blockedWork"]["text"], text);
        assert_eq!(
            approval["blockedWork"]["followers"],
            json!([{ "id": report, "name": "Report" }])
        );
        assert_eq!(approval["blockedWork"]["otherApprovals"], 1);
    }
    assert_eq!(engine.runs(&report).await, [Value::Null; 0], "the follower waits");
    for approval in &approvals {
        engine.decide(approval, "deny").await;
    }
    assert_eq!(engine.finished_runs(&report, 1).await[0]["state"], "succeeded");
    engine.host.stop().await;
}

#[tokio::test]
async fn pending_approval_of_main_session_blocks_its_turn_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = json!({ "path": "a.txt", "content": "x" });
    let script = [calls([("c1", "write_file", write)]), says("Hello.")];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;
    engine.call("chat.send", json!({ "text": "Write it down" })).await;
    let approval = pending(&engine, 1).await.remove(0);
    assert_eq!(approval["blockedWork"]["text"], "Only this turn of the main session.");
    let other = engine.call("chat.send", json!({ "text": "Are you there?" })).await;
    engine
        .wait_until(async |engine| {
            let run = engine.call("runs.get", json!({ "id": other["runId"] })).await;
            (run["run"]["state"] == "succeeded").then_some(())
        })
        .await;
    engine.host.stop().await;
}
