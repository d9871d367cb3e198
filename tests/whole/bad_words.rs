//! What a client says and nobody should believe.

use serde_json::json;

use crate::house::{MINUTE, NOON, Plan, echo};

#[tokio::test]
async fn what_a_draft_says_about_its_runs_is_not_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let at = NOON + 60_000;
    let mut draft = echo(&json!({ "kind": "at", "atMs": at }));
    draft["state"] = json!({
        "lastRunAtMs": at + 1, "nextRunAtMs": at + 2, "lastState": "failed", "lastError": "Boo",
        "consecutiveFailures": 7,
    });
    let id = house.add(draft).await;
    let state = house.job(&id).await["state"].clone();
    assert_eq!(state["nextRunAtMs"], at);
    assert_eq!((&state["lastRunAtMs"], &state["lastError"]), (&json!(null), &json!(null)));
    house.clock.advance(MINUTE);
    assert_eq!(house.ended(&id, 1).await[0]["state"], "succeeded");
    house.host.stop().await;
}

#[tokio::test]
async fn a_search_for_a_book_is_refused_by_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    for method in ["runs.list", "cron.list"] {
        let search = |count| json!({ "search": "ä".repeat(count) });
        house.call(method, search(200)).await;
        let error = house.try_call(method, search(60_000)).await.expect_err("too long");
        assert_eq!(error.code, -32602, "{method}: {error:?}");
        assert_eq!(error.data["fields"][0]["path"], "search");
    }
    house.host.stop().await;
}
