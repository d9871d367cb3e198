//! Every MCP tool over the loopback server.

use rouse_gateway::McpOrigin;
use serde_json::{Value, json};

use crate::fixture::{GatewayFixture, NOON, draft};
use crate::mcp_client::{McpTestClient, modern_request, request};

const WRITING: [&str; 5] = ["job_create", "job_update", "job_delete", "job_run", "wake"];

/// Valid arguments of a writing tool, for a job with this id and name.
fn arguments_of(tool: &str, job: &Value) -> Value {
    match tool {
        "job_create" => json!({ "name": "New", "schedule": { "kind": "manual" }, "reminder": "x" }),
        "job_update" => {
            json!({ "id": job["id"], "revision": job["state"]["revision"], "name": "Other" })
        }
        "job_delete" => json!({ "id": job["id"], "name": job["name"] }),
        "job_run" => json!({ "id": job["id"] }),
        "wake" => json!({ "text": "Look" }),
        other => panic!("{other} does not write"),
    }
}

#[tokio::test]
async fn created_job_has_signature_and_outlook() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let call = json!({
        "name": "job_create",
        "arguments": {
            "name": "Report", "message": "Sum up the mail.", "notify": "always",
            "schedule": { "kind": "cron", "expr": "30 7 * * 1-5", "tz": "Europe/Berlin" },
        },
    });
    let (status, reply) = client.modern_call("tools/call", call).await;
    let content = &reply["result"]["structuredContent"];
    assert_eq!((status, &reply["result"]["isError"]), (200, &json!(false)), "{reply}");
    assert_eq!(content["nextTimes"].as_array().map(Vec::len), Some(5), "{content}");
    assert_eq!(content["asksApproval"], json!([]), "this engine has no tools");
    assert!(content["personMustDo"].is_array());
    assert_eq!(content["job"]["createdBy"], "test-client");
    let id = content["job"]["id"].as_str().expect("an id");
    let job = fixture.call("cron.get", json!({ "id": id })).await["job"].clone();
    assert_eq!(job["createdBy"], json!({ "kind": "agent", "client": "test-client" }));
    assert_eq!(job["payload"]["message"], "Sum up the mail.");
    assert_eq!(job["policies"]["notify"], "always");
    fixture.stop().await;
}

#[tokio::test]
async fn token_name_stands_in_the_signature() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::with_scope(&fixture, "write").await;
    let arguments = arguments_of("job_create", &Value::Null);
    let content = client.succeed("job_create", arguments).await;
    assert_eq!(content["job"]["createdBy"], "token token-write");
    fixture.stop().await;
}

#[tokio::test]
async fn invalid_job_is_an_error_that_names_the_field() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let manual = json!({ "kind": "manual" });
    for (arguments, part) in [
        (json!({ "schedule": manual, "message": "x" }), "name"),
        (json!({ "name": "A", "message": "x" }), "schedule"),
        (json!({ "name": "A", "schedule": manual }), "no task"),
        (json!({ "name": "A", "schedule": manual, "message": "x", "reminder": "y" }), "only one"),
        (json!({ "name": "A", "schedule": manual, "message": "x", "policies": {} }), "is unknown"),
        (
            json!({ "name": "A", "schedule": { "kind": "cron", "expr": "99 * * * *" }, "message": "x" }),
            "schedule",
        ),
    ] {
        let message = client.fail("job_create", arguments.clone()).await;
        assert!(message.contains(part), "{arguments}: {message}");
    }
    assert_eq!(client.succeed("jobs_list", json!({})).await["jobs"], json!([]));
    fixture.stop().await;
}

#[tokio::test]
async fn job_is_changed_run_and_deleted() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let id = fixture.add("Tea").await["id"].as_str().expect("an id").to_owned();
    let shown = client.succeed("job_get", json!({ "id": id })).await;
    assert_eq!((&shown["job"]["name"], &shown["job"]["reminder"]), (&json!("Tea"), &json!("Tea.")));
    let revision = &shown["job"]["revision"];
    let change = json!({ "id": id, "revision": revision, "name": "Coffee" });
    let changed = client.succeed("job_update", change.clone()).await;
    assert_eq!(changed["job"]["name"], "Coffee");
    client.fail("job_update", change).await;
    let empty = json!({ "id": id, "revision": 1 });
    assert!(client.fail("job_update", empty).await.contains("nothing to change"));

    let started = client.succeed("job_run", json!({ "id": id })).await;
    let run = started["runId"].as_str().expect("a run").to_owned();
    let waited = client.succeed("run_wait", json!({ "id": run })).await;
    assert_eq!(
        (&waited["isUnderWay"], &waited["run"]["state"]),
        (&json!(false), &json!("succeeded"))
    );
    assert_eq!(client.succeed("run_get", json!({ "id": run })).await["run"]["jobName"], "Coffee");
    let listed = client.succeed("runs_list", json!({ "jobId": id, "states": ["succeeded"] })).await;
    assert_eq!(listed["runs"][0]["id"], run.as_str());

    let wrong = json!({ "id": id, "name": "coffee" });
    assert!(client.fail("job_delete", wrong).await.contains("another name"));
    let deleted = client.succeed("job_delete", json!({ "id": id, "name": "Coffee" })).await;
    assert_eq!(deleted["deleted"], "Coffee");
    assert!(client.fail("job_get", json!({ "id": id })).await.contains("no job"));
    fixture.stop().await;
}

#[tokio::test]
async fn list_has_pages_of_bounded_size() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    for number in 0..30 {
        let mut job = draft(&format!("Job {number}"));
        job["payload"]["text"] = "x".repeat(5_000).into();
        fixture.call("cron.add", job).await;
    }
    let mut seen = 0;
    let mut cursor = Value::Null;
    loop {
        let page = client.succeed("jobs_list", json!({ "limit": 500, "cursor": cursor })).await;
        assert!(page.to_string().len() <= 40_000, "{}", page.to_string().len());
        seen += page["jobs"].as_array().expect("jobs").len();
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, 30);
    fixture.stop().await;
}

#[tokio::test]
async fn preview_shows_local_times_and_creates_nothing() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let schedule = json!({ "kind": "every", "every": "1h" });
    let preview = client.succeed("job_preview", json!({ "schedule": schedule, "count": 2 })).await;
    assert_eq!(preview["nextTimes"].as_array().map(Vec::len), Some(2), "{preview}");
    assert_eq!(client.succeed("jobs_list", json!({})).await["jobs"], json!([]));
    fixture.stop().await;
}

#[tokio::test]
async fn wake_queues_untrusted_text() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::with_scope(&fixture, "write").await;
    let woken = client.succeed("wake", json!({ "text": "The build is done" })).await;
    assert_eq!(woken["queuedEvents"], 1);
    let queued = fixture.store.pending_system_events(10).await.expect("read");
    assert!(queued[0].is_tainted, "the author is a program outside Rouse");
    let status = fixture.call("heartbeat.status", json!({})).await;
    assert_eq!(status["lastRequest"]["reason"], "MCP: token token-write");
    let later = json!({ "text": "Later", "mode": "next-heartbeat" });
    assert_eq!(client.succeed("wake", later).await["queuedEvents"], 2);
    fixture.stop().await;
}

#[tokio::test]
async fn approvals_are_listed_and_nothing_decides_them() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let listed = client.succeed("approvals_list", json!({})).await;
    assert_eq!((&listed["approvals"], &listed["count"]), (&json!([]), &json!(0)));
    let tools = client.handshake_call("tools/list", json!({})).await.1;
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.iter().all(|name| !name.contains("decide") && !name.contains("grant")));
    fixture.stop().await;
}

#[tokio::test]
async fn read_scope_cannot_write() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::with_scope(&fixture, "read").await;
    let job = fixture.add("Tea").await;
    for tool in WRITING {
        let message = client.fail(tool, arguments_of(tool, &job)).await;
        assert!(message.contains("may only read"), "{tool}: {message}");
    }
    let jobs = client.succeed("jobs_list", json!({})).await;
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(fixture.store.pending_system_events(10).await.expect("read").len(), 0);
    fixture.stop().await;
}

#[tokio::test]
async fn program_of_a_run_may_only_read() {
    let fixture = GatewayFixture::new().await;
    let job = fixture.add("Tea").await;
    let origin = McpOrigin { client: Some("codex".to_owned()), run_id: Some("r-42".to_owned()) };
    for tool in WRITING {
        let params = json!({ "name": tool, "arguments": arguments_of(tool, &job) });
        for message in [request("tools/call", params.clone()), modern_request("tools/call", params)]
        {
            let reply = fixture.client.forward_mcp(&message, &origin).await.expect("a response");
            let result = reply.expect("a body")["result"].clone();
            assert_eq!(result["isError"], true, "{tool}: {result}");
            let text = result["content"][0]["text"].as_str().expect("words");
            assert!(text.contains("run r-42"), "{text}");
        }
    }
    let list = request("tools/call", json!({ "name": "jobs_list" }));
    let reply = fixture.client.forward_mcp(&list, &origin).await.expect("a response");
    assert_eq!(reply.expect("a body")["result"]["isError"], false);
    assert_eq!(
        fixture.call("cron.list", json!({})).await["jobs"].as_array().map(Vec::len),
        Some(1)
    );
    fixture.stop().await;
}

#[tokio::test]
async fn relative_time_counts_from_now() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let arguments =
        json!({ "name": "Tea", "schedule": { "kind": "at", "at": "20m" }, "reminder": "Tea" });
    let created = client.succeed("job_create", arguments).await;
    assert_eq!(created["job"]["nextRun"], created["nextTimes"][0], "{created}");
    let id = &created["job"]["id"];
    let job = fixture.call("cron.get", json!({ "id": id })).await["job"].clone();
    assert_eq!(job["state"]["nextRunAtMs"], NOON.0 + 1_200_000);
    fixture.stop().await;
}
