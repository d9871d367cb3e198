//! What a question holds up while nobody answers it, told as it is.

use rouse_testkit::scripted_model::{calls, says};
use serde_json::{Value, json};

use crate::house::{HOUR, House, NOON, Plan, ask};

/// The open questions, as soon as there are `count`.
async fn open(house: &House, count: usize) -> Vec<Value> {
    house
        .until(async |house| {
            let open = house.call("approvals.list", json!({})).await["approvals"].take();
            open.as_array().filter(|open| open.len() == count).cloned()
        })
        .await
}

fn hourly(overlap: &str) -> Value {
    let mut job = ask("Write");
    job["schedule"] = json!({ "kind": "every", "everyMs": HOUR, "anchorMs": NOON });
    job["policies"] = json!({ "overlap": overlap, "approvalSeconds": 86_400 });
    job
}

#[tokio::test]
async fn later_slots_of_a_job_go_by_a_question_whatever_its_overlap_policy_says() {
    for overlap in ["skip", "queue", "parallel", "cancelOther"] {
        let folder = tempfile::tempdir().expect("a folder");
        let write = json!({ "path": "a.txt", "content": "x" });
        let script = [
            calls([("c1", "write_file", write)]),
            says("Second."),
            says("Third."),
            says("Done at last."),
        ];
        let house =
            Plan::new(folder.path()).model(script).env("HEARTBEAT_ENABLED", "false").build().await;
        let id = house.add(hourly(overlap)).await;
        house.clock.advance(HOUR);
        let asked = open(&house, 1).await.remove(0);
        assert_eq!(
            asked["holdsUp"],
            json!({
                "text": "Only this run. Later runs of the job do not wait for it.",
                "questions": 0, "followers": [], "passedBy": 0,
            }),
            "{overlap}"
        );
        for (runs, said) in [(2, "Second."), (3, "Third.")] {
            house.clock.advance(HOUR);
            let newest = house
                .until(async |house| {
                    let runs_now = house.runs(&id).await;
                    let newest = runs_now.first().filter(|_| runs_now.len() == runs)?;
                    (newest["state"] == "succeeded").then(|| newest.clone())
                })
                .await;
            assert_eq!(newest["summary"], said, "{overlap}");
        }
        let shown = house.call("approvals.get", json!({ "id": asked["id"] })).await;
        let says = "Only this run. 2 later runs of the job did not wait for it.";
        assert_eq!(shown["holdsUp"]["text"], says, "{overlap}");
        assert_eq!(shown["holdsUp"]["passedBy"], 2, "{overlap}");

        let decided = house.answer(&asked, "deny").await;
        assert_eq!(decided["approval"]["holdsUp"], Value::Null, "{overlap}");
        let runs = house.ended(&id, 3).await;
        assert_eq!(runs[2]["summary"], "Done at last.", "{overlap}");
        house.host.stop().await;
    }
}

#[tokio::test]
async fn the_jobs_that_start_after_a_run_wait_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let both = calls([("c1", "write_file", write("a.txt")), ("c2", "write_file", write("b.txt"))]);
    let house = Plan::new(folder.path()).model([both, says("Done.")]).build().await;
    let id = house.add(ask("Write")).await;
    let echo = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" } });
    let after = |name: &str, enabled: bool| {
        let filters = json!({ "jobId": id });
        let schedule = json!({ "kind": "event", "source": "job", "filters": filters });
        json!({ "name": name, "enabled": enabled, "schedule": schedule, "payload": echo })
    };
    let report = house.add(after("Report", true)).await;
    house.add(after("Not any more", false)).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let asked = open(&house, 2).await;
    for question in &asked {
        let said = "This run, and \u{201c}Report\u{201d}, which starts after it. \
            One more question of this run needs an answer, too.";
        assert_eq!(question["holdsUp"]["text"], said);
        assert_eq!(question["holdsUp"]["followers"], json!([{ "id": report, "name": "Report" }]));
        assert_eq!(question["holdsUp"]["questions"], 1);
    }
    assert_eq!(house.runs(&report).await, [Value::Null; 0], "it waits, truly");
    for question in &asked {
        house.answer(question, "deny").await;
    }
    assert_eq!(house.ended(&report, 1).await[0]["state"], "succeeded");
    house.host.stop().await;
}

#[tokio::test]
async fn a_question_of_the_main_session_holds_up_its_turn_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = json!({ "path": "a.txt", "content": "x" });
    let script = [calls([("c1", "write_file", write)]), says("Hello.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    house.call("chat.send", json!({ "text": "Write it down" })).await;
    let asked = open(&house, 1).await.remove(0);
    assert_eq!(asked["holdsUp"]["text"], "Only this turn of the main session.");
    let other = house.call("chat.send", json!({ "text": "Are you there?" })).await;
    house
        .until(async |house| {
            let run = house.call("runs.get", json!({ "id": other["runId"] })).await;
            (run["run"]["state"] == "succeeded").then_some(())
        })
        .await;
    house.host.stop().await;
}
