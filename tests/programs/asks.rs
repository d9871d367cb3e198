//! A run that asks, by the real programs: the question on the command line, the answer, and what a restart, a late
//! answer and a kill at any moment leave of both.

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply, sse};
use serde_json::{Value, json};

use crate::engine::{Engine, Home};

/// A home whose model is this server.
pub(crate) fn home_with(server: &FakeModel) -> Home {
    Home::new().config(&settings_of(server))
}

/// The settings by which this server is the model.
pub(crate) fn settings_of(server: &FakeModel) -> String {
    format!(
        "[providers.mine]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"fake-1\"\n",
        server.url(),
    )
}

/// A model that makes these calls one after the other and then says that it is done, as often as it is asked.
pub(crate) fn calling(calls: Vec<(&'static str, Value)>) -> FakeModel {
    FakeModel::start(move |request: &Recorded| {
        let body = request.json();
        let said = |message: &&Value| message["role"] == "assistant";
        let messages = body["messages"].as_array().expect("messages");
        // What earlier runs of the session have said stands before the task.
        let task = messages.iter().rposition(|message| message["role"] == "user");
        let since = task.map_or(0, |task| task + 1);
        let step = messages.iter().skip(since).filter(said).count();
        match calls.get(step) {
            Some((tool, arguments)) => {
                Reply::events(sse::chat_calls(&format!("call_{step}"), tool, arguments))
            }
            None => Reply::events(sse::chat_says("All done.")),
        }
    })
}

fn agent(name: &str, policies: Value) -> Value {
    json!({
        "id": name, "name": name, "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": "Do it." }, "policies": policies,
    })
}

fn write(text: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": "report.md", "content": text }))
}

/// The one open question, once it is asked.
pub(crate) async fn question(engine: &Engine<'_>) -> Value {
    engine
        .until(async |engine| {
            let asked = engine.call("approvals.list", json!({})).await;
            asked["approvals"].as_array()?.first().cloned()
        })
        .await
}

fn report(home: &Home) -> Option<String> {
    std::fs::read_to_string(home.data().join("workspace").join("report.md")).ok()
}

#[tokio::test]
async fn a_question_is_shown_and_answered_on_the_command_line() {
    let server = calling(vec![write("one\n")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(agent("writer", json!({}))).await;
    let run = engine.run_now(&id).await;
    let asked = question(&engine).await;
    let asked = asked["id"].as_str().expect("an id");
    assert_eq!(report(&home), None, "nothing was written before the answer");

    let list = home.rouse(["approvals", "list"]);
    assert!(list.ok().contains("write_file") && list.ok().contains("writer"), "{list:?}");
    let shown = home.rouse(["approvals", "show", asked]);
    assert!(shown.ok().contains("report.md") && shown.ok().contains("one"), "{shown:?}");
    assert!(home.rouse(["status"]).ok().contains("1 question needs you: rouse approvals list"));
    let shown = home.rouse(["runs", "show", &run]);
    assert!(shown.ok().contains(&format!("rouse approvals show {asked}")), "{shown:?}");
    let end = &asked[asked.len() - 8..];
    for which in [end, "writer"] {
        assert_eq!(home.rouse(["approvals", "show", which, "--json"]).json()["id"], asked);
    }
    for which in ["last", &run[run.len() - 8..]] {
        assert_eq!(home.rouse(["runs", "show", which, "--json"]).json()["run"]["id"], run);
    }
    let unnamed = home.rouse(["approvals", "allow"]);
    unnamed.refused(2, "Name what you allow. This waits: write_file");
    assert!(unnamed.err.contains(asked) && report(&home).is_none(), "{unnamed:?}");
    let by_job = home.rouse(["approvals", "allow", "writer"]);
    by_job.refused(2, "Name what you allow. This waits: write_file");
    assert!(report(&home).is_none(), "{by_job:?}");
    let only = home.rouse(["approvals", "allow", end]);
    assert_eq!(only.ok().trim(), "Allowed. The run goes on.");
    home.rouse(["approvals", "allow"]).refused(4, "No question waits");
    home.rouse(["grants", "revoke", "nope"]).refused(4, "There is no grant nope");
    home.rouse(["skills", "trust", "nope"]).refused(4, "There is no skill called nope");

    assert_eq!(engine.ended(&id, 1).await[0]["state"], "succeeded");
    assert_eq!(report(&home).as_deref(), Some("one\n"));
    home.rouse(["approvals", "deny", asked]).refused(5, "too late");
    home.rouse(["approvals", "show", "nobody"]).refused(4, "no question");
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["approvals"][0]["answeredFrom"], "cli", "{detail:#}");
    assert!(home.rouse(["approvals", "list"]).ok().contains("Nothing needs you."));
}

#[tokio::test]
async fn a_run_with_more_questions_is_not_said_to_go_on_until_all_have_an_answer() {
    let server = FakeModel::start(|request: &Recorded| {
        let messages = request.json()["messages"].as_array().expect("messages").clone();
        match messages.iter().any(|message| message["role"] == "tool") {
            true => Reply::events(sse::chat_says("All done.")),
            false => Reply::events(three_calls()),
        }
    });
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(agent("writer", json!({}))).await;
    engine.run_now(&id).await;
    let asked = engine
        .until(async |engine| {
            let asked = engine.call("approvals.list", json!({})).await["approvals"].take();
            asked.as_array().filter(|asked| asked.len() == 3).cloned()
        })
        .await;
    let [first, second, third] = [0, 1, 2].map(|n| asked[n]["id"].as_str().expect("an id"));
    let said = home.rouse(["approvals", "allow", first]);
    assert_eq!(said.ok().trim(), "Allowed. 2 more questions of this run need an answer.");
    let off = home.rouse(["cron", "disable", "writer"]);
    assert!(
        off.ok().contains("A run of it waits for your answer; `rouse runs cancel "),
        "{off:#?}"
    );
    let said = home.rouse(["approvals", "deny", second]);
    assert_eq!(said.ok().trim(), "Refused. One more question of this run needs an answer.");
    let said = home.rouse(["approvals", "deny", third]);
    assert_eq!(said.ok().trim(), "Refused. The run goes on without it.");
    assert_eq!(engine.ended(&id, 1).await[0]["state"], "succeeded");
}

/// One answer of a model with three calls that each need a yes.
fn three_calls() -> String {
    let paths = ["a.md", "b.md", "c.md"];
    let arguments = paths.map(|path| json!({ "path": path, "content": "one\n" }));
    let calls = [0, 1, 2].map(|n| (paths[n], "write_file", &arguments[n]));
    sse::chat_calls_each(&calls)
}

#[tokio::test]
async fn a_no_is_told_to_the_model_with_its_reason_and_to_whoever_looks_at_the_run_later() {
    let server = calling(vec![("echo", json!({ "text": 5 })), write("one\n")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(agent("writer", json!({}))).await;
    let run = engine.run_now(&id).await;
    let asked = question(&engine).await;
    let asked = asked["id"].as_str().expect("an id");
    home.rouse(["approvals", "deny", asked, "--reason", "Not in that file."]).ok();
    assert_eq!(engine.ended(&id, 1).await[0]["state"], "succeeded");
    assert_eq!(report(&home), None);
    let last = server.bodies().pop().expect("asked").to_string();
    assert!(last.contains("Not in that file."), "{last}");

    let shown = home.rouse(["runs", "show", &run]);
    for words in ["refused: did not fit the tool's parameters", "refused by you: Not in that file."]
    {
        assert!(shown.ok().contains(words), "no `{words}` in {shown:?}");
    }
    let detail = home.rouse(["runs", "show", &run, "--json"]).json();
    let gates: Vec<&Value> =
        detail["steps"].as_array().expect("steps").iter().map(|step| &step["gate"]).collect();
    let why = |why: Value| json!({ "decision": "refused", "why": why, "rewrittenBy": null });
    for gate in [
        why(json!({ "kind": "misfit" })),
        why(json!({ "kind": "denied", "reason": "Not in that file." })),
    ] {
        assert!(gates.contains(&&gate), "no {gate} in {gates:?}");
    }
}

#[tokio::test]
async fn a_question_outlives_a_kill_and_its_answer_lets_the_run_go_on() {
    let server = calling(vec![("echo", json!({ "text": "first" })), write("one\n")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(agent("writer", json!({}))).await;
    let run = engine.run_now(&id).await;
    let asked = question(&engine).await;
    engine.kill();

    let engine = home.serve().await;
    let again = question(&engine).await;
    assert_eq!(again["id"], asked["id"]);
    let asked = asked["id"].as_str().expect("an id");
    let given = home.rouse(["approvals", "allow", asked, "--always", "--rule", "content=any"]);
    assert!(given.ok().contains("need not ask for:\n  write_file: "), "{given:#?}");
    assert!(given.out.contains("Take it back: rouse grants revoke "), "{given:#?}");
    let ended = engine.ended(&id, 1).await;
    assert_eq!((&ended[0]["id"], &ended[0]["state"]), (&json!(run), &json!("succeeded")));
    assert_eq!(report(&home).as_deref(), Some("one\n"));

    // The grant covers the next run, until it is taken back.
    engine.run_now(&id).await;
    assert_eq!(engine.ended(&id, 2).await[0]["state"], "succeeded");
    let grants = home.rouse(["grants", "list", "--json"]).json();
    let grant = grants["grants"][0]["id"].as_str().expect("a grant");
    assert!(home.rouse(["grants", "list"]).ok().contains("content any"));
    let job = grants["grants"][0]["jobId"].as_str().expect("a job");
    let shown = home.rouse(["cron", "show", job]);
    let shown = shown.ok();
    assert!(shown.contains("may    write_file: content any"), "{shown}");
    home.rouse(["grants", "revoke", grant]).ok();
    engine.run_now(&id).await;
    question(&engine).await;
}

#[tokio::test]
async fn a_grant_that_the_question_does_not_bear_is_refused() {
    let server = calling(vec![("run_command", json!({ "command": "date" }))]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(agent("runner", json!({}))).await;
    engine.run_now(&id).await;
    let asked = question(&engine).await;
    let asked = asked["id"].as_str().expect("an id");
    let allow =
        |rule: &'static str| home.rouse(["approvals", "allow", asked, "--always", "--rule", rule]);
    allow("command=any").refused(2, "read by a shell");
    allow("command=equals:\"date\"").refused(2, "only exactly this call can be granted");
    allow("command=like:x").refused(2, "expected any");
    home.rouse(["runs", "cancel", engine.runs(&id).await[0]["id"].as_str().expect("an id")]).ok();
    home.rouse(["approvals", "allow", asked]).refused(5, "ended with its run");
}

#[tokio::test]
async fn a_message_is_answered_on_the_command_line_with_its_question() {
    let server = calling(vec![("echo", json!({ "text": "x" }))]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let said = home.rouse(["chat", "Hello", "there"]);
    assert_eq!(said.ok().trim(), "All done.");
    let whole = home.rouse(["chat", "Again", "--json"]).json();
    assert_eq!(
        (&whole["run"]["trigger"], &whole["run"]["summary"]),
        (&json!("chat"), &json!("All done."))
    );
    let id = home.rouse(["chat", "--no-wait", "And again"]);
    let id = id.ok().trim().to_owned();
    engine
        .until(async |engine| {
            let run = engine.call("runs.get", json!({ "id": id })).await;
            (run["run"]["state"] == "succeeded").then_some(())
        })
        .await;
    home.rouse(["chat", " "]).refused(2, "must not be empty");
    let listed = home.rouse(["sessions", "list"]);
    assert!(listed.ok().contains("with you") && listed.ok().contains("main"), "{listed:#?}");
    let shown = home.rouse(["sessions", "show"]);
    for words in ["You, ", "  Hello there", "  calls echo", "echo, ", "The model, ", "  All done."]
    {
        assert!(shown.ok().contains(words), "no `{words}` in {shown:#?}");
    }
    let last = home.rouse(["sessions", "show", "main", "--limit", "1"]);
    assert!(last.err.contains("--before") && !last.ok().contains("Hello there"), "{last:#?}");
    assert!(home.rouse(["sessions", "show", "--json"]).json()["messages"].is_array());

    home.rouse(["sessions", "clear", "main"]).refused(2, "say --yes to clear it");
    home.rouse(["sessions", "clear", "mian", "--yes"]).refused(4, "main");
    assert_eq!(home.rouse(["sessions", "clear", "main", "--yes"]).ok().trim(), "Cleared.");
    assert!(!home.rouse(["sessions", "show"]).ok().contains("Hello there"));
    let twice = home.rouse(["sessions", "clear", "main", "--yes"]);
    assert_eq!(twice.ok().trim(), "Nothing was said in it.");
    let kept = home.rouse(["runs", "show", &id, "--json"]).json();
    assert_eq!(kept["run"]["state"], "succeeded", "the runs stay: {kept}");
}

/// An answer that begins with these words, in pieces, and goes on with `rest`.
fn beginning_with(pieces: &[&str], rest: &str) -> Reply {
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
async fn the_words_of_every_turn_are_printed_once_each_on_a_line_of_its_own() {
    let server = FakeModel::replying([
        beginning_with(
            &["I", " will first look at the time,", " one moment please."],
            &sse::chat_calls("call_0", "echo", &json!({ "text": "x" })),
        ),
        beginning_with(&["It is late", " and you should"], &sse::chat_says(" go to bed now.")),
    ]);
    let home = home_with(&server);
    let _engine = home.serve().await;
    let said = home.rouse(["chat", "How late is it?"]);
    assert_eq!(
        said.ok().trim(),
        "I will first look at the time, one moment please.\nIt is late and you should go to bed now."
    );
}
