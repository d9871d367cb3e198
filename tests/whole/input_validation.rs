//! Client input that the engine ignores or refuses.

use rouse_tests::{EngineBuilder, MINUTE, NOON, echo_job};
use serde_json::json;

#[tokio::test]
async fn run_state_in_draft_is_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let at = NOON + 60_000;
    let mut draft = echo_job(&json!({ "kind": "at", "atMs": at }));
    draft["state"] = json!({
        "lastRunAtMs": at + 1, "nextRunAtMs": at + 2, "lastState": "failed", "lastError": "Boo",
        "consecutiveFailures": 7,
    });
    let id = engine.add_job(draft).await;
    let state = engine.job(&id).await["state"].clone();
    assert_eq!(state["nextRunAtMs"], at);
    assert_eq!((&state["lastRunAtMs"], &state["lastError"]), (&json!(null), &json!(null)));
    engine.clock.advance(MINUTE);
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "succeeded");
    engine.host.stop().await;
}

#[tokio::test]
async fn oversized_search_is_refused_by_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    for method in ["runs.list", "cron.list"] {
        let search = |count| json!({ "search": "ä".repeat(count) });
        engine.call(method, search(200)).await;
        let error = engine.try_call(method, search(60_000)).await.expect_err("too long");
        assert_eq!(error.code, -32602, "{method}: {error:?}");
        assert_eq!(error.data["fields"][0]["path"], "search");
    }
    engine.host.stop().await;
}
