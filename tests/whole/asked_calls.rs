//! A job that makes one call, and a hook that wants the call asked or makes another one of it: the run waits for a person
//! like any other, and what the person has said yes to is made, once.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::config;
use crate::house::{HOUR, House, MINUTE, NOON, Plan, echo, of_calls};

/// Asks, until there is a file `calm` beside the settings.
const ASKS: &str =
    r#"cat >/dev/null; [ -e calm ] || echo '{"decision":"ask","reason":"look first"}'"#;

/// Makes another command of it, until there is a file `calm` beside the settings.
const REWRITES: &str = r#"cat >/dev/null; [ -e calm ] || echo '{"decision":"rewrite","arguments":{"command":"printf b >>made"}}'"#;

/// A data directory with a hook, and a workspace.
struct Scene {
    data: TempDir,
    workspace: TempDir,
}

impl Scene {
    fn with(script: &str) -> Self {
        let [data, workspace] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        config(data.path(), &[("before_tool_call", script)]);
        Self { data, workspace }
    }

    fn plan(&self) -> Plan<'_> {
        let root = self.workspace.path().to_str().expect("a path");
        Plan::new(self.data.path()).env("FILE_WORKSPACE_ROOT", root)
    }

    /// From now on the hook has nothing against anything.
    fn calm(&self) {
        fs::write(self.data.path().join("calm"), "").expect("a file");
    }

    /// What the calls have written, one letter each.
    fn made(&self) -> String {
        read(&self.workspace.path().join("made"))
    }
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// A job that writes one letter whenever its call is made.
fn marks(policies: Value) -> Value {
    json!({
        "name": "Mark",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": "printf a >>made" } },
        "policies": policies,
    })
}

async fn fire(house: &House, id: &str) {
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
}

/// Fires a job whose call is asked about; answers the job and the question.
async fn asked(house: &House, job: Value) -> (String, Value) {
    let id = house.add(job).await;
    fire(house, &id).await;
    let run = house.run_in(&id, "awaitingApproval").await;
    let detail = house.detail(&run).await;
    assert!(of_calls(&detail).is_empty(), "nothing is done before the yes");
    (id, detail["approvals"][0].clone())
}

/// The only run of the job, when it is over, with everything about it.
async fn over(house: &House, id: &str) -> Value {
    house.detail(&house.ended(id, 1).await[0]).await
}

/// The decisions of the gate on the calls of a run.
fn decisions(detail: &Value) -> Vec<Value> {
    of_calls(detail).iter().map(|step| step["gate"]["decision"].clone()).collect()
}

#[tokio::test]
async fn what_a_hook_wants_asked_waits_for_the_yes_and_is_made_once() {
    for says in ["once", "run"] {
        let scene = Scene::with(ASKS);
        let house = scene.plan().build().await;
        let (id, question) = asked(&house, marks(json!({}))).await;
        let why = question["why"].as_str().expect("words");
        assert!(why.ends_with("wants it asked: look first"), "{why}");
        assert_eq!(question["arguments"], json!({ "command": "printf a >>made" }));
        assert_eq!(scene.made(), "");
        house.answer(&question, says).await;
        let ended = over(&house, &id).await;
        assert_eq!((&ended["run"]["state"], scene.made().as_str()), (&json!("succeeded"), "a"));
        assert_eq!(decisions(&ended), ["answered"]);
        house.host.stop().await;
    }
}

#[tokio::test]
async fn a_question_of_a_hook_takes_no_standing_yes() {
    let scene = Scene::with(ASKS);
    let house = scene.plan().build().await;
    let (id, question) = asked(&house, marks(json!({}))).await;
    let why = question["ungranted"].as_str().expect("why not");
    assert!(why.contains("A hook wants") && why.contains("cannot be allowed for always"), "{why}");
    let always = json!({ "id": question["id"], "answer": { "kind": "always" }, "from": "cli" });
    let refused = house.try_call("approvals.decide", always).await.expect_err("refused");
    assert!(refused.message.contains(why), "{refused:?}");
    assert_eq!(house.call("grants.list", json!({})).await["grants"], json!([]));
    house.answer(&question, "once").await;
    assert_eq!(over(&house, &id).await["run"]["state"], "succeeded");
    house.host.stop().await;
}

#[tokio::test]
async fn a_call_that_needs_no_yes_by_itself_waits_as_well() {
    let scene = Scene::with(ASKS);
    let house = scene.plan().build().await;
    let (id, question) = asked(&house, echo(&json!({ "kind": "manual" }))).await;
    house.answer(&question, "once").await;
    let ended = over(&house, &id).await;
    assert_eq!(
        (&ended["run"]["state"], &ended["run"]["summary"]),
        (&json!("succeeded"), &json!("hello"))
    );
    assert_eq!(decisions(&ended), ["answered"]);
    house.host.stop().await;
}

#[tokio::test]
async fn a_no_ends_the_run_whatever_the_hook_says_by_then() {
    for changes_its_mind in [false, true] {
        let scene = Scene::with(ASKS);
        let house = scene.plan().build().await;
        let (id, question) = asked(&house, marks(json!({}))).await;
        if changes_its_mind {
            scene.calm();
        }
        house.answer(&question, "deny").await;
        let ended = over(&house, &id).await;
        let run = &ended["run"];
        assert_eq!(
            (&run["state"], &run["reason"]),
            (&json!("cancelled"), &json!("You said no, so run_command was not called"))
        );
        assert_eq!((decisions(&ended), scene.made().as_str()), (vec![json!("refused")], ""));
        house.host.stop().await;
    }
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_the_run_and_is_told() {
    let scene = Scene::with(ASKS);
    let house = scene.plan().build().await;
    let (id, _) = asked(&house, marks(json!({ "approvalSeconds": 600 }))).await;
    house.clock.advance(11 * MINUTE);
    let ended = over(&house, &id).await;
    let run = &ended["run"];
    let error = "Nobody said yes in time, so run_command was not called";
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(error)));
    assert_eq!((decisions(&ended), scene.made().as_str()), (vec![json!("refused")], ""));
    let told = ended["deliveries"].as_array().expect("deliveries");
    assert!(told.iter().any(|told| told["body"] == format!("Failed: {error}")), "{told:?}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_start_of_rouse_between_the_question_and_the_answer_changes_nothing() {
    for (says, state, made) in [("once", "succeeded", "a"), ("deny", "cancelled", "")] {
        for is_gone in [false, true] {
            let scene = Scene::with(ASKS);
            let house = scene.plan().build().await;
            let (id, question) = asked(&house, marks(json!({}))).await;
            let clock = house.clock.clone();
            house.host.stop().await;
            if is_gone {
                fs::remove_file(scene.data.path().join("config.toml")).expect("removed");
            }
            let house = scene.plan().clock(&clock).build().await;
            let open = house.call("approvals.list", json!({})).await;
            assert_eq!(open["approvals"][0]["id"], question["id"]);
            house.answer(&question, says).await;
            let ended = over(&house, &id).await;
            assert_eq!((&ended["run"]["state"], scene.made().as_str()), (&json!(state), made));
            let decided = if says == "once" { "answered" } else { "refused" };
            assert_eq!(decisions(&ended), [decided], "hook gone: {is_gone}");
            house.host.stop().await;
        }
    }
}

#[tokio::test]
async fn what_a_hook_makes_of_the_call_is_another_call_that_needs_its_own_yes() {
    for (says, changes_its_mind, made) in
        [("once", false, "b"), ("once", true, "b"), ("deny", false, ""), ("deny", true, "")]
    {
        let scene = Scene::with(REWRITES);
        let house = scene.plan().build().await;
        let (id, question) = asked(&house, marks(json!({}))).await;
        assert_eq!(question["arguments"], json!({ "command": "printf b >>made" }));
        assert_eq!(question["isHighest"], true, "with the person's own rights, and not theirs");
        let why = question["why"].as_str().expect("words");
        assert!(why.contains("hook /bin/sh") && why.contains("another call"), "{why}");
        if changes_its_mind {
            scene.calm();
        }
        house.answer(&question, says).await;
        let ended = over(&house, &id).await;
        assert_eq!(scene.made(), made, "{says}: {ended}");
        assert_eq!(decisions(&ended).len(), 1, "{ended}");
        house.host.stop().await;
    }
}

#[tokio::test]
async fn a_job_that_asks_nobody_fails_and_says_which_hook_and_which_setting() {
    for script in [ASKS, REWRITES] {
        for setting in ["deny", "skip"] {
            let scene = Scene::with(script);
            let house = scene.plan().build().await;
            let id = house.add(marks(json!({ "approvals": setting }))).await;
            fire(&house, &id).await;
            let ended = over(&house, &id).await;
            let run = &ended["run"];
            let error = run["error"].as_str().expect("words");
            let named = [
                "The hook /bin/sh".to_owned(),
                format!("approvals are set to {setting}"),
                "run_command was not called".to_owned(),
            ];
            assert!(named.iter().all(|words| error.contains(words.as_str())), "{error}");
            assert!(!error.contains("Go on without it"), "a person reads it: {error}");
            assert_eq!(
                (&run["state"], decisions(&ended)),
                (&json!("failed"), vec![json!("refused")])
            );
            assert_eq!((ended["approvals"].clone(), scene.made().as_str()), (json!([]), ""));
            house.host.stop().await;
        }
    }
}

#[tokio::test]
async fn a_later_slot_goes_by_an_open_question_and_says_so() {
    let scene = Scene::with(ASKS);
    let house = scene.plan().env("HEARTBEAT_ENABLED", "false").build().await;
    let mut job = marks(json!({ "approvalSeconds": 86_400 }));
    job["schedule"] = json!({ "kind": "every", "everyMs": HOUR, "anchorMs": NOON });
    let id = house.add(job).await;
    house.clock.advance(HOUR);
    house.run_in(&id, "awaitingApproval").await;
    house.clock.advance(HOUR);
    let later = house.run_in(&id, "skipped").await;
    let reason = "An earlier run of this job waits for an answer to this very call of run_command";
    assert_eq!(later["reason"], reason);
    assert_eq!(scene.made(), "");
    house.host.stop().await;
}
