//! Approvals by command: list, show, allow, deny, grants, restart and late decisions.

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use rouse_tests::model_calling;
use serde_json::{Value, json};

use crate::engine::TestHome;

fn agent(name: &str, policies: Value) -> Value {
    json!({
        "id": name, "name": name, "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Do it." }, "policies": policies,
    })
}

fn write(text: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": "report.md", "content": text }))
}

fn report(home: &TestHome) -> Option<String> {
    std::fs::read_to_string(home.data().join("workspace").join("report.md")).ok()
}

#[tokio::test]
async fn approval_is_listed_shown_and_decided_by_command() {
    let server = model_calling(vec![write("one\n")]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent("writer", json!({}))).await;
    let run = engine.start_run(&id).await;
    let approval = engine.pending_approval().await;
    let approval = approval["id"].as_str().expect("an id");
    assert_eq!(report(&home), None, "nothing was written before the answer");

    let list = home.rouse(["approvals", "list"]);
    assert!(list.ok().contains("write_file") && list.ok().contains("writer"), "{list:?}");
    let shown = home.rouse(["approvals", "show", approval]);
    assert!(shown.ok().contains("report.md") && shown.ok().contains("one"), "{shown:?}");
    assert!(home.rouse(["status"]).ok().contains("1 approval is pending: rouse approvals list"));
    let shown = home.rouse(["runs", "show", &run]);
    assert!(shown.ok().contains(&format!("rouse approvals show {approval}")), "{shown:?}");
    let suffix = &approval[approval.len() - 8..];
    for reference in [suffix, "writer"] {
        assert_eq!(home.rouse(["approvals", "show", reference, "--json"]).json()["id"], approval);
    }
    for reference in ["last", &run[run.len() - 8..]] {
        assert_eq!(home.rouse(["runs", "show", reference, "--json"]).json()["run"]["id"], run);
    }
    let unnamed = home.rouse(["approvals", "allow"]);
    unnamed.assert_error(2, "Name the approval. Pending: write_file");
    assert!(unnamed.err.contains(approval) && report(&home).is_none(), "{unnamed:?}");
    let by_job = home.rouse(["approvals", "allow", "writer"]);
    by_job.assert_error(2, "Name the approval. Pending: write_file");
    assert!(report(&home).is_none(), "{by_job:?}");
    let allowed = home.rouse(["approvals", "allow", suffix]);
    assert_eq!(allowed.ok().trim(), "Allowed. The run continues.");
    home.rouse(["approvals", "allow"]).assert_error(4, "No approval is pending");
    home.rouse(["grants", "revoke", "nope"]).assert_error(4, "There is no grant nope");
    home.rouse(["skills", "trust", "nope"]).assert_error(4, "There is no skill nope");

    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "succeeded");
    assert_eq!(report(&home).as_deref(), Some("one\n"));
    home.rouse(["approvals", "deny", approval]).assert_error(5, "too late");
    home.rouse(["approvals", "show", "nobody"]).assert_error(4, "no approval");
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["approvals"][0]["decidedFrom"], "cli", "{detail:#}");
    assert!(home.rouse(["approvals", "list"]).ok().contains("Nothing needs you."));
}

#[tokio::test]
async fn run_with_three_approvals_resumes_after_the_last_decision() {
    let server = FakeModel::start(|request: &Recorded| {
        let messages = request.json()["messages"].as_array().expect("messages").clone();
        if messages.iter().any(|message| message["role"] == "tool") {
            Reply::events(sse::chat_says("All done."))
        } else {
            Reply::events(three_calls())
        }
    });
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent("writer", json!({}))).await;
    engine.start_run(&id).await;
    let approvals = engine
        .wait_until(async |engine| {
            let approvals = engine.call("approvals.list", json!({})).await["approvals"].take();
            approvals.as_array().filter(|approvals| approvals.len() == 3).cloned()
        })
        .await;
    let [first, second, third] = [0, 1, 2].map(|n| approvals[n]["id"].as_str().expect("an id"));
    let output = home.rouse(["approvals", "allow", first]);
    assert_eq!(output.ok().trim(), "Allowed. 2 more approvals of this run are pending.");
    let off = home.rouse(["cron", "disable", "writer"]);
    assert!(off.ok().contains("waits for an approval. To cancel: rouse runs cancel "), "{off:#?}");
    let output = home.rouse(["approvals", "deny", second]);
    assert_eq!(output.ok().trim(), "Denied. One more approval of this run is pending.");
    let output = home.rouse(["approvals", "deny", third]);
    assert_eq!(output.ok().trim(), "Denied. The run continues without the call.");
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "succeeded");
}

#[tokio::test]
async fn deleted_job_names_its_withdrawn_approval() {
    let server = model_calling(vec![write("one\n")]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent("writer", json!({}))).await;
    engine.start_run(&id).await;
    engine.pending_approval().await;
    let removed = home.rouse(["cron", "rm", "writer"]);
    assert_eq!(
        removed.ok(),
        "Deleted writer. Its runs stay in the history.\n\
        Its pending run is cancelled, and the approval is withdrawn.\n"
    );
}

/// One model answer with three calls that each need an approval.
fn three_calls() -> String {
    let paths = ["a.md", "b.md", "c.md"];
    let arguments = paths.map(|path| json!({ "path": path, "content": "one\n" }));
    let calls = [0, 1, 2].map(|n| (paths[n], "write_file", &arguments[n]));
    sse::chat_calls_each(&calls)
}

#[tokio::test]
async fn denial_reason_reaches_model_and_run_record() {
    let server = model_calling(vec![("echo", json!({ "text": 5 })), write("one\n")]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent("writer", json!({}))).await;
    let run = engine.start_run(&id).await;
    let approval = engine.pending_approval().await;
    let approval = approval["id"].as_str().expect("an id");
    home.rouse(["approvals", "deny", approval, "--reason", "Not in that file."]).ok();
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "succeeded");
    assert_eq!(report(&home), None);
    let last = server.bodies().pop().expect("asked").to_string();
    assert!(last.contains("Not in that file."), "{last}");

    let shown = home.rouse(["runs", "show", &run]);
    for text in ["refused: invalid arguments", "denied by you: Not in that file."] {
        assert!(shown.ok().contains(text), "no `{text}` in {shown:?}");
    }
    let detail = home.rouse(["runs", "show", &run, "--json"]).json();
    let gates: Vec<&Value> =
        detail["steps"].as_array().expect("steps").iter().map(|step| &step["gate"]).collect();
    let refused_gate =
        |reason: Value| json!({ "decision": "refused", "refusal": reason, "rewrittenBy": null });
    for gate in [
        refused_gate(json!({ "kind": "invalidArguments" })),
        refused_gate(json!({ "kind": "denied", "reason": "Not in that file." })),
    ] {
        assert!(gates.contains(&&gate), "no {gate} in {gates:?}");
    }
}

#[tokio::test]
async fn pending_approval_survives_kill_and_resumes_run() {
    let server = model_calling(vec![("echo", json!({ "text": "first" })), write("one\n")]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent("writer", json!({}))).await;
    let run = engine.start_run(&id).await;
    let approval = engine.pending_approval().await;
    engine.kill();

    let engine = home.serve().await;
    let again = engine.pending_approval().await;
    assert_eq!(again["id"], approval["id"]);
    let approval = approval["id"].as_str().expect("an id");
    let given = home.rouse(["approvals", "allow", approval, "--always", "--rule", "content=any"]);
    assert!(given.ok().contains("Granted to writer:\n  write_file: "), "{given:#?}");
    assert!(given.out.contains("To revoke: rouse grants revoke "), "{given:#?}");
    let ended = engine.finished_runs(&id, 1).await;
    assert_eq!((&ended[0]["id"], &ended[0]["state"]), (&json!(run), &json!("succeeded")));
    assert_eq!(report(&home).as_deref(), Some("one\n"));

    // The grant covers the next run until the revocation.
    engine.start_run(&id).await;
    assert_eq!(engine.finished_runs(&id, 2).await[0]["state"], "succeeded");
    let grants = home.rouse(["grants", "list", "--json"]).json();
    let grant = grants["grants"][0]["id"].as_str().expect("a grant");
    assert!(home.rouse(["grants", "list"]).ok().contains("content any"));
    let job = grants["grants"][0]["jobId"].as_str().expect("a job");
    let shown = home.rouse(["cron", "show", job]);
    let shown = shown.single_spaced();
    assert!(shown.contains("Grants write_file: content any"), "{shown}");
    home.rouse(["grants", "revoke", grant]).ok();
    engine.start_run(&id).await;
    engine.pending_approval().await;
}

#[tokio::test]
async fn grant_rule_beyond_the_call_is_refused() {
    let server = model_calling(vec![("run_command", json!({ "command": "date" }))]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent("runner", json!({}))).await;
    engine.start_run(&id).await;
    let approval = engine.pending_approval().await;
    let approval = approval["id"].as_str().expect("an id");
    let allow = |rule: &'static str| {
        home.rouse(["approvals", "allow", approval, "--always", "--rule", rule])
    };
    allow("command=any").assert_error(2, "read by a shell");
    allow("command=equals:\"date\"").assert_error(2, "only exactly this call can be granted");
    allow("command=like:x").assert_error(2, "expected any");
    home.rouse(["runs", "cancel", engine.runs(&id).await[0]["id"].as_str().expect("an id")]).ok();
    home.rouse(["approvals", "allow", approval]).assert_error(5, "ended with its run");
}

#[tokio::test]
async fn chat_command_prints_answer_and_lists_session() {
    let server = model_calling(vec![("echo", json!({ "text": "x" }))]);
    let home = TestHome::with_model(&server);
    let engine = home.serve().await;
    let output = home.rouse(["chat", "Hello", "there"]);
    assert_eq!(output.ok().trim(), "All done.");
    let answer = home.rouse(["chat", "Again", "--json"]).json();
    assert_eq!(
        (&answer["run"]["trigger"], &answer["run"]["summary"]),
        (&json!("chat"), &json!("All done."))
    );
    let id = home.rouse(["chat", "--no-wait", "And again"]);
    let id = id.ok().trim().to_owned();
    engine
        .wait_until(async |engine| {
            let run = engine.call("runs.get", json!({ "id": id })).await;
            (run["run"]["state"] == "succeeded").then_some(())
        })
        .await;
    home.rouse(["chat", " "]).assert_error(2, "must not be empty");
    let listed = home.rouse(["sessions", "list"]);
    assert!(listed.ok().contains("with you") && listed.ok().contains("main"), "{listed:#?}");
    let shown = home.rouse(["sessions", "show"]);
    for text in ["You, ", "  Hello there", "  calls echo", "echo, ", "The model, ", "  All done."] {
        assert!(shown.ok().contains(text), "no `{text}` in {shown:#?}");
    }
    let last = home.rouse(["sessions", "show", "main", "--limit", "1"]);
    assert!(last.err.contains("--before") && !last.ok().contains("Hello there"), "{last:#?}");
    assert!(home.rouse(["sessions", "show", "--json"]).json()["messages"].is_array());

    home.rouse(["sessions", "clear", "main"]).assert_error(2, "add --yes to clear it");
    home.rouse(["sessions", "clear", "mian", "--yes"]).assert_error(4, "main");
    assert_eq!(home.rouse(["sessions", "clear", "main", "--yes"]).ok().trim(), "Cleared.");
    assert!(!home.rouse(["sessions", "show"]).ok().contains("Hello there"));
    let twice = home.rouse(["sessions", "clear", "main", "--yes"]);
    assert_eq!(twice.ok().trim(), "Already empty.");
    let kept = home.rouse(["runs", "show", &id, "--json"]).json();
    assert_eq!(kept["run"]["state"], "succeeded", "the runs stay: {kept}");
}

/// An answer that streams `pieces` and continues with `rest`.
fn streamed_reply(pieces: &[&str], rest: &str) -> Reply {
    let chunk = |text: &&str| {
        let delta = json!({ "role": "assistant", "content": text });
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": null }]);
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake-1",
            "choices": choices, "usage": null,
        });
        format!("data: {chunk}\n\n")
    };
    Reply::events(pieces.iter().map(chunk).chain([rest.to_owned()]).collect::<String>())
}

#[tokio::test]
async fn chat_prints_text_of_each_turn_once_on_its_own_line() {
    let server = FakeModel::replying([
        streamed_reply(
            &["I", " will first look at the time,", " one moment please."],
            &sse::chat_calls("call_0", "echo", &json!({ "text": "x" })),
        ),
        streamed_reply(&["It is late", " and you should"], &sse::chat_says(" go to bed now.")),
    ]);
    let home = TestHome::with_model(&server);
    let _engine = home.serve().await;
    let output = home.rouse(["chat", "How late is it?"]);
    assert_eq!(
        output.ok().trim(),
        "I will first look at the time, one moment please.\nIt is late and you should go to bed now."
    );
}
