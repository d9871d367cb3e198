//! What a model says, good and bad, and what becomes of the run.

use rouse_core::model::ProviderErrorKind;
use rouse_testkit::scripted_model::{calls, fails, says};
use serde_json::{Value, json};

use crate::house::{House, Plan, ask, of_calls};

async fn force(house: &House, job: Value) -> Value {
    let id = house.add(job).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await.remove(0)
}

#[tokio::test]
async fn a_turn_with_tools_ends_with_its_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        calls([("c1", "echo", json!({ "text": "42" }))]),
        calls([(
            "c2",
            "complete_run",
            json!({ "outcome": "report", "summary": "The answer is 42." }),
        )]),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    let run = force(&house, ask("What is it?")).await;
    assert_eq!(
        (&run["state"], &run["summary"]),
        (&json!("succeeded"), &json!("The answer is 42."))
    );
    assert_eq!(run["usage"]["outputTokens"], json!(10));
    let kinds: Vec<_> = house.detail(&run).await["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|s| s["kind"].clone())
        .collect();
    assert_eq!(kinds, ["modelTurn", "toolCall", "modelTurn", "toolCall"]);
    let asked = &house.model.requests()[0];
    let task = format!("{:?}", asked.messages.last());
    let id = run["jobId"].as_str().expect("a job");
    assert!(task.contains(&format!("[cron:{id}] Ask: What is it?")), "{task}");
    assert_eq!(house.notifier.shown.next().await.body, "The answer is 42.");
    house.host.stop().await;
}

/// Whoever says yes has to see what goes out: a header that signs in can carry a whole diary as well. So a question, unlike
/// everything that tells of a call later, hides nothing; what is stored as a secret stands there as its handle anyway.
#[tokio::test]
async fn what_a_header_would_send_is_shown_to_who_is_asked_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let diary = "Dear diary, today I have told nobody anything.";
    let headers = json!({ "Authorization": "Basic dXNlcjpwYXNz", "Cookie": diary });
    let post = json!({ "url": "https://api.example.com/notes", "method": "POST", "headers": headers, "body": "Tea." });
    let script = [calls([("c1", "http", post)]), says("You said no.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let id = house.add(ask("Send it")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = house.run_in(&id, "awaitingApproval").await;
    let asked = house.question().await;
    let preview = asked["preview"].as_str().expect("words");
    assert!(preview.contains("api.example.com") && preview.contains("Tea."), "{preview}");
    assert!(preview.contains("Basic dXNlcjpwYXNz") && preview.contains(diary), "{preview}");
    assert_eq!(asked["arguments"]["headers"], headers);
    house.answer(&asked, "deny").await;
    house.run_in(&id, "succeeded").await;
    let transcript = house.call("sessions.get", json!({ "key": format!("cron:{id}") })).await;
    let steps = house.detail(&run).await;
    let told = house.notifier.shown.take_all();
    for (place, text) in [
        ("transcript", transcript.to_string()),
        ("run", format!("{}{}", steps["steps"], steps["deliveries"])),
        ("notifications", format!("{told:?}")),
    ] {
        assert!(!text.contains("dXNlcjpwYXNz") && !text.contains(diary), "{place}: {text}");
    }
    assert!(transcript.to_string().contains("[hidden: 18 characters]"), "{transcript}");
    house.host.stop().await;
}

/// The person names the values that they were shown; a list of grants is no question, so it hides them.
#[tokio::test]
async fn a_pattern_of_what_signs_in_is_listed_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let headers = json!({ "Authorization": "Basic dXNlcjpwYXNz" });
    let post = json!({ "url": "https://api.example.com/notes", "method": "POST", "headers": headers, "body": "Tea." });
    let house = Plan::new(folder.path()).model([calls([("c1", "http", post)])]).build().await;
    let id = house.add(ask("Send it")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.run_in(&id, "awaitingApproval").await;
    let asked = house.question().await;
    let shown = asked["arguments"]["headers"].clone();
    let rules = json!({
        "url": { "rule": "below", "value": "https://api.example.com/" },
        "method": { "rule": "oneOf", "value": ["POST", "PUT"] },
        "headers": { "rule": "oneOf", "value": [{ "Accept": "*/*" }, shown] },
        "body": { "rule": "any" },
    });
    let always = json!({ "kind": "always", "rules": rules });
    let answer = json!({ "id": asked["id"], "answer": always, "from": "page" });
    let decided = house.call("approvals.decide", answer).await;
    assert_eq!(decided["counts"], true, "{decided}");
    let grant = house.call("grants.list", json!({})).await["grants"][0].clone();
    let text = grant.to_string();
    assert!(text.contains("[hidden: 18 characters]") && !text.contains("dXNlcjpwYXNz"), "{text}");
    house.host.stop().await;
}

#[tokio::test]
async fn malformed_arguments_are_told_to_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        calls([("c1", "echo", json!("{\"text\": \"unfini")), ("c2", "no_such_tool", json!({}))]),
        calls([("c3", "complete_run", json!({ "outcome": "nothing_to_report", "summary": "" }))]),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    let run = force(&house, ask("Try")).await;
    assert_eq!(run["state"], "nothingToReport");
    let told = format!("{:?}", house.model.requests()[1].messages);
    assert!(told.contains("is_error: true"), "{told}");
    let steps = house.detail(&run).await["steps"].clone();
    assert_eq!((&steps[1]["isError"], &steps[2]["isError"]), (&json!(true), &json!(true)));
    house.host.stop().await;
}

#[tokio::test]
async fn an_empty_answer_or_a_question_is_never_a_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [says(""), says(""), says("Shall I?"), says("Shall I really?")];
    let house = Plan::new(folder.path()).model(script).build().await;
    for _ in 0..2 {
        assert_eq!(force(&house, ask("Do it")).await["state"], "failed");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn silence_is_an_outcome_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("ROUTINE_OK")]).build().await;
    let run = force(&house, ask("Anything new?")).await;
    assert_eq!(run["state"], "nothingToReport");
    assert!(house.notifier.shown.take_all().is_empty());
    house.host.stop().await;
}

#[tokio::test]
async fn a_provider_s_refusal_is_the_run_s_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path())
        .model([fails(ProviderErrorKind::Auth, "The key was refused.")])
        .build()
        .await;
    let run = force(&house, ask("Hello")).await;
    assert_eq!(run["state"], "failed");
    assert!(
        run["error"].as_str().is_some_and(|error| error.contains("The key was refused.")),
        "{run}"
    );
    house.host.stop().await;
}

#[tokio::test]
async fn without_a_model_the_run_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let run = force(&house, ask("Hello")).await;
    assert_eq!(run["state"], "failed");
    assert!(
        run["error"].as_str().is_some_and(|error| error.starts_with("No model is set up.")),
        "{run}"
    );
    assert_eq!(house.call("system.status", json!({})).await["model"], json!(null));
    house.host.stop().await;
}

#[tokio::test]
async fn the_summary_is_posted_to_main_with_its_prefix() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Three mails.")]).build().await;
    let mut job = ask("Count mails");
    job["isolation"] = json!({ "postToMainPrefix": "Mail" });
    force(&house, job).await;
    assert_eq!(house.call("heartbeat.status", json!({})).await["queuedEvents"], json!(1));
    house.host.stop().await;
}

/// Out of the sandbox each command of a model is asked for, whatever was granted, and so the list says.
#[tokio::test]
async fn what_is_said_of_how_a_tool_asks_is_how_it_asks_in_the_runs_of_the_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    for (sandbox, asks) in [("required", "unlessGranted"), ("open", "always")] {
        let mut job = ask("Clean up");
        job["policies"] = json!({ "sandbox": sandbox });
        let id = house.add(job).await;
        let shown = house.call("tools.effective", json!({ "id": id })).await;
        let tools = shown["tools"].as_array().expect("tools");
        let command = tools.iter().find(|tool| tool["name"] == "run_command").expect("offered");
        assert_eq!(command["approval"], asks, "{sandbox}");
        assert!(sandbox == "required" || command["whyNotHere"].is_null(), "{command}");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_refused_and_not_asked_about() {
    let folder = tempfile::tempdir().expect("a folder");
    let impossible = [
        json!({ "name": ".." }),
        json!({ "name": "a", "path": "b" }),
        json!({ "name": "a/b" }),
        json!({ "path": "." }),
        json!({ "path": "../out" }),
        json!({ "name": "there" }),
        json!({ "name": "file", "allowExisting": true }),
    ];
    let ids = ["c0", "c1", "c2", "c3", "c4", "c5", "c6"];
    let made = ids.into_iter().zip(impossible.clone());
    let made = made.map(|(id, arguments)| (id, "create_workspace", arguments));
    let house = Plan::new(folder.path()).model([calls(made), says("None.")]).build().await;
    let workspace = folder.path().join("workspace");
    std::fs::create_dir_all(workspace.join("there")).expect("a folder");
    std::fs::write(workspace.join("file"), "x").expect("a file");
    let id = house.add(ask("Make them")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = house.ended(&id, 1).await.remove(0);
    assert_eq!(run["state"], "succeeded", "{run}");
    let detail = house.detail(&run).await;
    let steps = of_calls(&detail);
    assert_eq!(steps.len(), impossible.len(), "{detail}");
    for step in steps {
        assert_eq!(step["isError"], true, "{step}");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn a_job_that_offers_nothing_that_asks_offers_what_it_was_granted() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = || calls([("c1", "write_file", json!({ "path": "a.txt", "content": "Tea." }))]);
    let script = [write(), says("One."), write(), says("Two."), says("Three.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let id = house.add(ask("Write it")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.run_in(&id, "awaitingApproval").await;
    house.answer(&house.question().await, "always").await;
    house.ended(&id, 1).await;
    let patch = json!({ "id": id, "patch": { "policies": { "approvals": "skip" } } });
    house.call("cron.update", patch).await;

    let file = folder.path().join("workspace/a.txt");
    std::fs::remove_file(&file).expect("written");
    let told = async || {
        let shown = house.call("tools.effective", json!({ "id": id })).await;
        let tools = shown["tools"].as_array().expect("tools").iter();
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let offered = |request: usize| {
        let tools = house.model.requests()[request].tools.clone();
        tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    let before = told().await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 2).await;
    assert_eq!(std::fs::read_to_string(&file).expect("written again"), "Tea.");
    assert_eq!(offered(2), before);
    let is_there = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    assert!(is_there(&before, "write_file") && !is_there(&before, "run_command"), "{before:?}");

    let grant = house.call("grants.list", json!({})).await["grants"][0]["id"].clone();
    house.call("grants.revoke", json!({ "id": grant })).await;
    let after = told().await;
    assert!(!is_there(&after, "write_file"), "{after:?}");
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 3).await;
    assert_eq!(offered(4), after);
    house.host.stop().await;
}
