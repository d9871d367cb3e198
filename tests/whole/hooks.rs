//! Hook commands of the settings file, which decide calls and deliveries and receive run events; and redaction of a
//! delivery.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rouse_agent::{Hook, HookDecision, HookError, HookNotification, ToolCallEvent, ToolsResolved};
use rouse_core::tool::BoxFuture;
use rouse_testkit::Recorder;
use rouse_testkit::scripted_model::says;
use rouse_tests::{EngineBuilder, TestEngine, agent_job, echo_job};
use serde_json::{Value, json};

/// Writes a settings file with a shell script per hook point.
pub(crate) fn write_hooks(folder: &Path, hooks: &[(&str, &str)]) {
    let mut text = String::new();
    for (on, script) in hooks {
        text.push_str(&format!(
            "[[hooks]]\non = \"{on}\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n\n"
        ));
    }
    fs::write(folder.join("config.toml"), text).expect("a file");
}

async fn run_job(engine: &TestEngine, job: Value) -> Value {
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await.remove(0)
}

async fn settled_delivery(engine: &TestEngine, run: &Value) -> Value {
    engine
        .wait_until(async |engine| {
            let delivery = engine.run_detail(run).await["deliveries"][0].clone();
            (delivery["state"] != "pending").then_some(delivery)
        })
        .await
}

#[tokio::test]
async fn hook_command_denies_call_of_tool_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let denies = r#"read line; case "$line" in *'"tool":"echo"'*) echo '{"decision":"deny","reason":"not here"}' ;; esac"#;
    write_hooks(folder.path(), &[("before_tool_call", denies)]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    let run = run_job(&engine, echo_job(&json!({ "kind": "manual" }))).await;
    assert_eq!(run["state"], "failed", "{run}");
    assert!(
        run["error"].as_str().is_some_and(|reason| reason.ends_with("denied the call: not here")),
        "{run}"
    );
    let hooks = engine.call("hooks.list", json!({})).await;
    let [hook] = hooks["hooks"].as_array().expect("hooks").as_slice() else { panic!("{hooks}") };
    assert_eq!(
        (&hook["on"], &hook["isConsulted"], &hook["timeoutMs"], &hook["command"][2]),
        (&json!("before_tool_call"), &json!(true), &json!(10_000), &json!(denies))
    );
    assert_eq!((&hook["calls"], &hook["failures"]), (&json!(1), &json!(0)));
    assert_eq!(hook["last"]["problem"], Value::Null, "a denial is no problem: {hook}");
    engine.host.stop().await;
}

#[tokio::test]
async fn hook_command_rewrites_or_suppresses_delivery() {
    let rewrites = r#"cat >/dev/null; echo '{"decision":"rewrite","title":"From the hook"}'"#;
    let holds = r#"cat >/dev/null; echo '{"decision":"deny","reason":"private"}'"#;
    for (script, state) in [(rewrites, "delivered"), (holds, "suppressed")] {
        let folder = tempfile::tempdir().expect("a folder");
        write_hooks(folder.path(), &[("before_delivery", script)]);
        let engine = EngineBuilder::new(folder.path()).build().await;
        let run = run_job(&engine, echo_job(&json!({ "kind": "manual" }))).await;
        let delivery = settled_delivery(&engine, &run).await;
        assert_eq!(delivery["state"], state, "{delivery}");
        let shown = engine.notifier.shown.take_all();
        match state {
            "delivered" => assert_eq!(shown[0].title, "From the hook"),
            _ => assert!(
                shown.is_empty()
                    && delivery["reason"]
                        .as_str()
                        .is_some_and(|reason| reason.ends_with("suppressed the delivery: private")),
                "{delivery}"
            ),
        }
        engine.host.stop().await;
    }
}

#[tokio::test]
async fn hook_events_carry_context_of_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let points =
        ["before_tool_call", "after_tool_call", "run_started", "run_finished", "before_delivery"];
    let file = folder.path().join("events");
    let script = format!("read -r line; printf '%s\\n' \"$line\" >>'{}'", file.display());
    write_hooks(folder.path(), &points.map(|on| (on, script.as_str())));
    let engine = EngineBuilder::new(folder.path()).build().await;
    let run = run_job(&engine, echo_job(&json!({ "kind": "manual" }))).await;
    settled_delivery(&engine, &run).await;
    // Stopping the host waits for notification hooks.
    engine.host.stop().await;
    let events = fs::read_to_string(file).expect("a file");
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let job = run["jobId"].as_str().expect("a job");
    let context = json!({
        "agentId": job,
        "sessionKey": format!("cron:{job}"),
        "sessionId": format!("cron:{job}"),
        "runId": run["id"],
        "workspaceDir": folder.path().join("workspace"),
    });
    for on in points {
        let event = events.iter().find(|event| event["hook"] == on).expect(on);
        assert_eq!(event["context"], context, "{event}");
    }
}

/// An in-process hook that rewrites every call and records its `after_tools_resolved` events.
#[derive(Default)]
struct RewritingHook {
    resolved: Recorder<ToolsResolved>,
}

impl Hook for RewritingHook {
    fn name(&self) -> &'static str {
        "in-process"
    }

    fn after_tools_resolved<'h>(&'h self, event: &'h ToolsResolved) -> HookNotification<'h> {
        self.resolved.record(event.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn before_tool_call<'h>(
        &'h self,
        _: &'h ToolCallEvent,
    ) -> BoxFuture<'h, Result<HookDecision, HookError>> {
        let answer = HookDecision::Rewrite(json!({ "text": "written anew" }));
        Box::pin(std::future::ready(Ok(answer)))
    }
}

#[tokio::test]
async fn in_process_hook_runs_before_hook_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let denies = r#"read line; case "$line" in *'written anew'*) echo '{"decision":"deny","reason":"seen anew"}' ;; esac"#;
    write_hooks(folder.path(), &[("before_tool_call", denies)]);
    let engine =
        EngineBuilder::new(folder.path()).hook(Arc::new(RewritingHook::default())).build().await;
    let run = run_job(&engine, echo_job(&json!({ "kind": "manual" }))).await;
    assert_eq!(run["state"], "failed", "{run}");
    assert!(run["error"].as_str().is_some_and(|reason| reason.contains("seen anew")), "{run}");
    let hooks = engine.call("hooks.list", json!({})).await;
    assert_eq!(hooks["hooks"].as_array().map(Vec::len), Some(1), "only hooks of the settings");
    assert_eq!(hooks["hooks"][0]["calls"], 1, "{hooks}");
    engine.host.stop().await;
}

#[tokio::test]
async fn hook_context_has_shared_session_and_own_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Arc::new(RewritingHook::default());
    let engine = EngineBuilder::new(folder.path())
        .model([says("One."), says("Two."), says("Three.")])
        .hook(Arc::clone(&hook) as Arc<dyn Hook>)
        .build()
        .await;
    let id = engine.add_job(agent_job("Count.")).await;
    let mut runs = Vec::new();
    for count in 1..=2 {
        engine.start_run(&id).await;
        runs.push(engine.finished_runs(&id, count).await.remove(0));
    }
    run_job(&engine, agent_job("Count, too.")).await;
    engine.host.stop().await;
    let events = hook.resolved.take_all();
    let [first, second, other] = events.as_slice() else { panic!("three attempts: {events:?}") };
    let context = |event: &ToolsResolved| serde_json::to_value(&event.context).expect("JSON");
    let (first, second, other) = (context(first), context(second), context(other));
    assert_eq!(first["sessionId"], second["sessionId"]);
    assert_eq!(first["sessionKey"], format!("cron:{id}"));
    assert_ne!(first["sessionId"], other["sessionId"], "another job has another session");
    assert_eq!([&first["runId"], &second["runId"]], [&runs[0]["id"], &runs[1]["id"]]);
}

#[tokio::test]
async fn hook_command_is_notified_of_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    write_hooks(folder.path(), &[("run_finished", "cat >pipe")]);
    let engine = EngineBuilder::new(folder.path()).build().await;
    let run = run_job(&engine, echo_job(&json!({ "kind": "manual" }))).await;
    let event = tokio::fs::read_to_string(&pipe).await.expect("read");
    let event: Value = serde_json::from_str(&event).expect("JSON");
    assert_eq!((&event["hook"], &event["state"]), (&json!("run_finished"), &json!("succeeded")));
    assert_eq!(event["runId"], run["id"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn hooks_cannot_be_set_by_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let patch = json!({ "patch": { "hooks": [{ "on": "run_started", "command": ["x"] }] } });
    let refused = engine.try_call("config.patch", patch).await.expect_err("refused");
    assert!(
        refused.message.contains("hooks: can be changed in the settings file only"),
        "{refused}"
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn new_secret_is_redacted_in_delivery_and_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut job = echo_job(&json!({ "kind": "manual" }));
    job["payload"]["arguments"] = json!({ "text": "it is sunflower-42-Tango" });
    let id = engine.add_job(job).await;
    let secret = json!({ "name": "mail", "value": "sunflower-42-Tango", "hosts": ["a.example"] });
    let view = engine.call("secrets.set", secret).await;
    assert_eq!((&view["name"], &view["storedIn"]), (&json!("mail"), &json!("file")));
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    settled_delivery(&engine, &run).await;
    let shown = engine.notifier.shown.take_all();
    assert!(shown[0].body.contains("the value of a stored secret (mail)"), "{:?}", shown[0]);
    let detail = engine.run_detail(&run).await;
    let stored = format!("{}{}", detail["steps"], detail["run"]["summary"]);
    assert!(stored.contains("secret:mail") && !stored.contains("sunflower"), "{stored}");
    engine.host.stop().await;
}
