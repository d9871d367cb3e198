//! Tool call jobs whose hook requires an approval or rewrites the call: the run parks, and the approved call runs
//! once.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use rouse_tests::{EngineBuilder, HOUR, MINUTE, NOON, TestEngine, echo_job, tool_calls};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::write_hooks;

/// Requires an approval until the file `calm` exists beside the settings.
const REQUIRE_APPROVAL: &str =
    r#"cat >/dev/null; [ -e calm ] || echo '{"decision":"ask","reason":"look first"}'"#;

/// Rewrites the command until the file `calm` exists beside the settings.
const REWRITE: &str = r#"cat >/dev/null; [ -e calm ] || echo '{"decision":"rewrite","arguments":{"command":"printf b >>made"}}'"#;

/// A data directory with a hook, and a workspace.
struct HookedHome {
    data: TempDir,
    workspace: TempDir,
}

impl HookedHome {
    fn with(script: &str) -> Self {
        let [data, workspace] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        write_hooks(data.path(), &[("before_tool_call", script)]);
        Self { data, workspace }
    }

    fn plan(&self) -> EngineBuilder {
        let root = self.workspace.path().to_str().expect("a path");
        EngineBuilder::new(self.data.path()).env("FILE_WORKSPACE_ROOT", root)
    }

    /// From now on the hook allows every call.
    fn allow_all(&self) {
        fs::write(self.data.path().join("calm"), "").expect("a file");
    }

    /// One letter for each executed call.
    fn written_letters(&self) -> String {
        read_text(&self.workspace.path().join("made"))
    }
}

fn read_text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// A job whose call appends a letter.
fn letter_job(policies: Value) -> Value {
    json!({
        "name": "Mark",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "run_command", "arguments": { "command": "printf a >>made" } },
        "policies": policies,
    })
}

/// Starts a job whose call needs an approval, and returns the job id and the approval.
async fn start_with_approval(engine: &TestEngine, job: Value) -> (String, Value) {
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let run = engine.wait_for_run(&id, "awaitingApproval").await;
    let detail = engine.run_detail(&run).await;
    assert!(tool_calls(&detail).is_empty(), "no call before the decision");
    (id, detail["approvals"][0].clone())
}

/// The detail of the only run of the job, once finished.
async fn finished_detail(engine: &TestEngine, id: &str) -> Value {
    engine.run_detail(&engine.finished_runs(id, 1).await[0]).await
}

/// The gate decisions on the calls of a run.
fn decisions(detail: &Value) -> Vec<Value> {
    tool_calls(detail).iter().map(|step| step["gate"]["decision"].clone()).collect()
}

#[tokio::test]
async fn call_with_hook_approval_runs_once_after_decision() {
    for kind in ["once", "run"] {
        let home = HookedHome::with(REQUIRE_APPROVAL);
        let engine = home.plan().build().await;
        let (id, approval) = start_with_approval(&engine, letter_job(json!({}))).await;
        let reason = approval["requestReason"].as_str().expect("words");
        assert!(reason.ends_with("requires an approval: look first"), "{reason}");
        assert_eq!(approval["arguments"], json!({ "command": "printf a >>made" }));
        assert_eq!(home.written_letters(), "");
        engine.decide(&approval, kind).await;
        let ended = finished_detail(&engine, &id).await;
        assert_eq!(
            (&ended["run"]["state"], home.written_letters().as_str()),
            (&json!("succeeded"), "a")
        );
        assert_eq!(decisions(&ended), ["approved"]);
        engine.host.stop().await;
    }
}

#[tokio::test]
async fn hook_approval_cannot_be_granted() {
    let home = HookedHome::with(REQUIRE_APPROVAL);
    let engine = home.plan().build().await;
    let (id, approval) = start_with_approval(&engine, letter_job(json!({}))).await;
    let reason = approval["noGrantReason"].as_str().expect("why not");
    assert_eq!(reason, "A hook requires approval every time, so the call cannot be granted.");
    let always = json!({ "id": approval["id"], "decision": { "kind": "always" }, "from": "cli" });
    let refused = engine.try_call("approvals.decide", always).await.expect_err("refused");
    assert!(refused.message.contains(reason), "{refused:?}");
    assert_eq!(engine.call("grants.list", json!({})).await["grants"], json!([]));
    engine.decide(&approval, "once").await;
    assert_eq!(finished_detail(&engine, &id).await["run"]["state"], "succeeded");
    engine.host.stop().await;
}

#[tokio::test]
async fn hook_approval_holds_call_without_approval_rule() {
    let home = HookedHome::with(REQUIRE_APPROVAL);
    let engine = home.plan().build().await;
    let (id, approval) = start_with_approval(&engine, echo_job(&json!({ "kind": "manual" }))).await;
    engine.decide(&approval, "once").await;
    let ended = finished_detail(&engine, &id).await;
    assert_eq!(
        (&ended["run"]["state"], &ended["run"]["summary"]),
        (&json!("succeeded"), &json!("hello"))
    );
    assert_eq!(decisions(&ended), ["approved"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn denied_hook_approval_ends_run() {
    for hook_allows in [false, true] {
        let home = HookedHome::with(REQUIRE_APPROVAL);
        let engine = home.plan().build().await;
        let (id, approval) = start_with_approval(&engine, letter_job(json!({}))).await;
        if hook_allows {
            home.allow_all();
        }
        engine.decide(&approval, "deny").await;
        let ended = finished_detail(&engine, &id).await;
        let run = &ended["run"];
        assert_eq!(
            (&run["state"], &run["reason"]),
            (&json!("cancelled"), &json!("You denied the call of run_command"))
        );
        assert_eq!(
            (decisions(&ended), home.written_letters().as_str()),
            (vec![json!("refused")], "")
        );
        engine.host.stop().await;
    }
}

#[tokio::test]
async fn expired_hook_approval_fails_run_and_notifies() {
    let home = HookedHome::with(REQUIRE_APPROVAL);
    let engine = home.plan().build().await;
    let (id, _) = start_with_approval(&engine, letter_job(json!({ "approvalSeconds": 600 }))).await;
    engine.clock.advance(11 * MINUTE);
    let ended = finished_detail(&engine, &id).await;
    let run = &ended["run"];
    let error = "The approval expired, so run_command was not called";
    assert_eq!((&run["state"], &run["error"]), (&json!("failed"), &json!(error)));
    assert_eq!((decisions(&ended), home.written_letters().as_str()), (vec![json!("refused")], ""));
    let deliveries = ended["deliveries"].as_array().expect("deliveries");
    assert!(
        deliveries.iter().any(|deliveries| deliveries["body"] == format!("Failed: {error}")),
        "{deliveries:?}"
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn hook_approval_survives_restart() {
    for (kind, state, written_letters) in [("once", "succeeded", "a"), ("deny", "cancelled", "")] {
        for hook_removed in [false, true] {
            let home = HookedHome::with(REQUIRE_APPROVAL);
            let engine = home.plan().build().await;
            let (id, approval) = start_with_approval(&engine, letter_job(json!({}))).await;
            let clock = engine.clock.clone();
            engine.host.stop().await;
            if hook_removed {
                fs::remove_file(home.data.path().join("config.toml")).expect("removed");
            }
            let engine = home.plan().clock(&clock).build().await;
            let open = engine.call("approvals.list", json!({})).await;
            assert_eq!(open["approvals"][0]["id"], approval["id"]);
            engine.decide(&approval, kind).await;
            let ended = finished_detail(&engine, &id).await;
            assert_eq!(
                (&ended["run"]["state"], home.written_letters().as_str()),
                (&json!(state), written_letters)
            );
            let decided = if kind == "once" { "approved" } else { "refused" };
            assert_eq!(decisions(&ended), [decided], "hook gone: {hook_removed}");
            engine.host.stop().await;
        }
    }
}

#[tokio::test]
async fn call_rewritten_by_hook_needs_its_own_approval() {
    for (kind, hook_allows, written_letters) in
        [("once", false, "b"), ("once", true, "b"), ("deny", false, ""), ("deny", true, "")]
    {
        let home = HookedHome::with(REWRITE);
        let engine = home.plan().build().await;
        let (id, approval) = start_with_approval(&engine, letter_job(json!({}))).await;
        assert_eq!(approval["arguments"], json!({ "command": "printf b >>made" }));
        assert_eq!(approval["isHighest"], true, "the rewritten command runs outside the sandbox");
        let reason = approval["requestReason"].as_str().expect("words");
        assert!(reason.contains("hook /bin/sh") && reason.contains("rewrote the call"), "{reason}");
        if hook_allows {
            home.allow_all();
        }
        engine.decide(&approval, kind).await;
        let ended = finished_detail(&engine, &id).await;
        assert_eq!(home.written_letters(), written_letters, "{kind}: {ended}");
        assert_eq!(decisions(&ended).len(), 1, "{ended}");
        engine.host.stop().await;
    }
}

#[tokio::test]
async fn hook_approval_is_denied_without_asking_policy() {
    for script in [REQUIRE_APPROVAL, REWRITE] {
        for setting in ["deny", "skip"] {
            let home = HookedHome::with(script);
            let engine = home.plan().build().await;
            let id = engine.add_job(letter_job(json!({ "approvals": setting }))).await;
            engine.start_run(&id).await;
            let ended = finished_detail(&engine, &id).await;
            let run = &ended["run"];
            let error = run["error"].as_str().expect("words");
            let named = [
                "The hook /bin/sh".to_owned(),
                format!("approval policy is `{setting}`"),
                "run_command was denied".to_owned(),
            ];
            assert!(named.iter().all(|text| error.contains(text.as_str())), "{error}");
            assert!(!error.contains("Continue without"), "{error}");
            assert_eq!(
                (&run["state"], decisions(&ended)),
                (&json!("failed"), vec![json!("refused")])
            );
            assert_eq!(
                (ended["approvals"].clone(), home.written_letters().as_str()),
                (json!([]), "")
            );
            engine.host.stop().await;
        }
    }
}

#[tokio::test]
async fn slot_is_skipped_while_same_call_is_pending() {
    let home = HookedHome::with(REQUIRE_APPROVAL);
    let engine = home.plan().env("HEARTBEAT_ENABLED", "false").build().await;
    let mut job = letter_job(json!({ "approvalSeconds": 86_400 }));
    job["schedule"] = json!({ "kind": "every", "everyMs": HOUR, "anchorMs": NOON });
    let id = engine.add_job(job).await;
    engine.clock.advance(HOUR);
    engine.wait_for_run(&id, "awaitingApproval").await;
    engine.clock.advance(HOUR);
    let later = engine.wait_for_run(&id, "skipped").await;
    let reason =
        "An approval of this exact call of run_command is already pending in an earlier run";
    assert_eq!(later["reason"], reason);
    assert_eq!(home.written_letters(), "");
    engine.host.stop().await;
}
