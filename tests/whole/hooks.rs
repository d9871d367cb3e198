//! Hooks of the settings file: real commands that are asked about calls and deliveries, and told of runs; and secrets that
//! a real delivery does not show.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rouse_agent::{CallAnswer, CallSeen, Hook, HookError, Told, ToolsResolved};
use rouse_core::tool::BoxFuture;
use rouse_testkit::Recorder;
use rouse_testkit::scripted_model::says;
use serde_json::{Value, json};

use crate::house::{House, Plan, ask, echo};

/// A settings file with this hook for each step, a shell script each.
pub(crate) fn config(folder: &Path, hooks: &[(&str, &str)]) {
    let mut text = String::new();
    for (on, script) in hooks {
        text.push_str(&format!(
            "[[hooks]]\non = \"{on}\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n\n"
        ));
    }
    fs::write(folder.join("config.toml"), text).expect("a file");
}

async fn ran(house: &House, job: Value) -> Value {
    let id = house.add(job).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await.remove(0)
}

async fn delivered(house: &House, run: &Value) -> Value {
    house
        .until(async |house| {
            let delivery = house.detail(run).await["deliveries"][0].clone();
            (delivery["state"] != "pending").then_some(delivery)
        })
        .await
}

#[tokio::test]
async fn a_command_of_the_settings_can_forbid_a_call_also_of_a_job_without_a_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let no = r#"read line; case "$line" in *'"tool":"echo"'*) echo '{"decision":"deny","reason":"not here"}' ;; esac"#;
    config(folder.path(), &[("before_tool_call", no)]);
    let house = Plan::new(folder.path()).build().await;
    let run = ran(&house, echo(&json!({ "kind": "manual" }))).await;
    assert_eq!(run["state"], "failed", "{run}");
    assert!(run["error"].as_str().is_some_and(|why| why.ends_with("says no: not here")), "{run}");
    let hooks = house.call("hooks.list", json!({})).await;
    let [hook] = hooks["hooks"].as_array().expect("hooks").as_slice() else { panic!("{hooks}") };
    assert_eq!(
        (&hook["on"], &hook["isAsked"], &hook["timeoutMs"], &hook["command"][2]),
        (&json!("before_tool_call"), &json!(true), &json!(10_000), &json!(no))
    );
    assert_eq!((&hook["calls"], &hook["failures"]), (&json!(1), &json!(0)));
    assert_eq!(hook["last"]["problem"], Value::Null, "a no is an answer: {hook}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_command_of_the_settings_rewrites_what_is_shown_or_holds_it_back() {
    let rewrites = r#"cat >/dev/null; echo '{"decision":"rewrite","title":"From the hook"}'"#;
    let holds = r#"cat >/dev/null; echo '{"decision":"deny","reason":"private"}'"#;
    for (script, state) in [(rewrites, "delivered"), (holds, "suppressed")] {
        let folder = tempfile::tempdir().expect("a folder");
        config(folder.path(), &[("before_delivery", script)]);
        let house = Plan::new(folder.path()).build().await;
        let run = ran(&house, echo(&json!({ "kind": "manual" }))).await;
        let delivery = delivered(&house, &run).await;
        assert_eq!(delivery["state"], state, "{delivery}");
        let shown = house.notifier.shown.take_all();
        match state {
            "delivered" => assert_eq!(shown[0].title, "From the hook"),
            _ => assert!(
                shown.is_empty()
                    && delivery["reason"]
                        .as_str()
                        .is_some_and(|why| why.ends_with("held it back: private")),
                "{delivery}"
            ),
        }
        house.host.stop().await;
    }
}

#[tokio::test]
async fn every_step_says_whose_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let points =
        ["before_tool_call", "after_tool_call", "run_started", "run_finished", "before_delivery"];
    let told = folder.path().join("told");
    let writes = format!("read -r line; printf '%s\\n' \"$line\" >>'{}'", told.display());
    config(folder.path(), &points.map(|on| (on, writes.as_str())));
    let house = Plan::new(folder.path()).build().await;
    let run = ran(&house, echo(&json!({ "kind": "manual" }))).await;
    delivered(&house, &run).await;
    // What is only told is waited for here.
    house.host.stop().await;
    let told = fs::read_to_string(told).expect("a file");
    let told: Vec<Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let job = run["jobId"].as_str().expect("a job");
    let context = json!({
        "agentId": job,
        "sessionKey": format!("cron:{job}"),
        "sessionId": format!("cron:{job}"),
        "runId": run["id"],
        "workspaceDir": folder.path().join("workspace"),
    });
    for on in points {
        let event = told.iter().find(|event| event["hook"] == on).expect(on);
        assert_eq!(event["context"], context, "{event}");
    }
}

/// A hook in this process that writes everything anew, and remembers whose tools it was told of.
#[derive(Default)]
struct InProcess {
    resolved: Recorder<ToolsResolved>,
}

impl Hook for InProcess {
    fn name(&self) -> &'static str {
        "in-process"
    }

    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> Told<'h> {
        self.resolved.record(event.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h CallSeen,
    ) -> BoxFuture<'h, Result<CallAnswer, HookError>> {
        let answer = CallAnswer::Rewrite(json!({ "text": "written anew" }));
        Box::pin(std::future::ready(Ok(answer)))
    }
}

#[tokio::test]
async fn a_hook_in_this_process_is_asked_before_those_of_the_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let no = r#"read line; case "$line" in *'written anew'*) echo '{"decision":"deny","reason":"seen anew"}' ;; esac"#;
    config(folder.path(), &[("before_tool_call", no)]);
    let house = Plan::new(folder.path()).hook(Arc::new(InProcess::default())).build().await;
    let run = ran(&house, echo(&json!({ "kind": "manual" }))).await;
    assert_eq!(run["state"], "failed", "{run}");
    assert!(run["error"].as_str().is_some_and(|why| why.ends_with("no: seen anew")), "{run}");
    let hooks = house.call("hooks.list", json!({})).await;
    assert_eq!(hooks["hooks"].as_array().map(Vec::len), Some(1), "a person has set up one");
    assert_eq!(hooks["hooks"][0]["calls"], 1, "of the call as it was rewritten: {hooks}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_hook_is_told_of_the_session_that_a_job_s_runs_share_and_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Arc::new(InProcess::default());
    let house = Plan::new(folder.path())
        .model([says("One."), says("Two."), says("Three.")])
        .hook(Arc::clone(&hook) as Arc<dyn Hook>)
        .build()
        .await;
    let id = house.add(ask("Count.")).await;
    let mut runs = Vec::new();
    for count in 1..=2 {
        house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        runs.push(house.ended(&id, count).await.remove(0));
    }
    ran(&house, ask("Count, too.")).await;
    house.host.stop().await;
    let told = hook.resolved.take_all();
    let [first, second, other] = told.as_slice() else { panic!("three attempts: {told:?}") };
    let told = |event: &ToolsResolved| serde_json::to_value(&event.context).expect("JSON");
    let (first, second, other) = (told(first), told(second), told(other));
    assert_eq!(first["sessionId"], second["sessionId"]);
    assert_eq!(first["sessionKey"], format!("cron:{id}"));
    assert_ne!(first["sessionId"], other["sessionId"], "another job has another session");
    assert_eq!([&first["runId"], &second["runId"]], [&runs[0]["id"], &runs[1]["id"]]);
}

#[tokio::test]
async fn a_command_of_the_settings_is_told_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    config(folder.path(), &[("run_finished", "cat >pipe")]);
    let house = Plan::new(folder.path()).build().await;
    let run = ran(&house, echo(&json!({ "kind": "manual" }))).await;
    let told = tokio::fs::read_to_string(&pipe).await.expect("read");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((&told["hook"], &told["state"]), (&json!("run_finished"), &json!("succeeded")));
    assert_eq!(told["runId"], run["id"]);
    house.host.stop().await;
}

#[tokio::test]
async fn no_client_can_name_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let patch = json!({ "patch": { "hooks": [{ "on": "run_started", "command": ["x"] }] } });
    let refused = house.try_call("config.patch", patch).await.expect_err("refused");
    assert!(
        refused.message.contains("hooks: can be changed in the settings file only"),
        "{refused}"
    );
    house.host.stop().await;
}

#[tokio::test]
async fn a_stored_secret_is_recognised_as_soon_as_it_is_stored_and_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut job = echo(&json!({ "kind": "manual" }));
    job["payload"]["arguments"] = json!({ "text": "it is sunflower-42-Tango" });
    let id = house.add(job).await;
    let secret = json!({ "name": "mail", "value": "sunflower-42-Tango", "hosts": ["a.example"] });
    let view = house.call("secrets.set", secret).await;
    assert_eq!((&view["name"], &view["keptIn"]), (&json!("mail"), &json!("file")));
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = house.ended(&id, 1).await.remove(0);
    delivered(&house, &run).await;
    let shown = house.notifier.shown.take_all();
    assert_eq!(shown[0].body, "it is [redacted: secret:mail]", "{:?}", shown[0]);
    let detail = house.detail(&run).await;
    let kept = format!("{}{}", detail["steps"], detail["run"]["summary"]);
    assert!(kept.contains("secret:mail") && !kept.contains("sunflower"), "{kept}");
    house.host.stop().await;
}
