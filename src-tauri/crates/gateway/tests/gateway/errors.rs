//! Error codes, fields and revisions for clients, and panics in handlers.

use rouse_core::Clock as _;
use rouse_gateway::{BoundPort, ClientError, ErrorCode, RpcError};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::fixture::{GatewayFixture, draft};

#[track_caller]
fn assert_code(result: Result<Value, RpcError>, code: ErrorCode) -> RpcError {
    let error = result.expect_err("refused");
    assert_eq!(error.code, code.number(), "{error:?}");
    error
}

#[tokio::test]
async fn every_error_has_its_code() {
    let fixture = GatewayFixture::new().await;
    let job = fixture.add("One").await;
    let id = &job["id"];
    assert_code(fixture.try_call("nothing", json!({})).await, ErrorCode::MethodNotFound);
    assert_code(fixture.try_call("cron.get", json!({ "id": "x" })).await, ErrorCode::NotFound);
    assert_code(fixture.try_call("runs.get", json!({ "id": "x" })).await, ErrorCode::NotFound);
    assert_code(
        fixture.try_call("deliveries.get", json!({ "id": "x" })).await,
        ErrorCode::NotFound,
    );
    assert_code(fixture.try_call("cron.get", json!({ "id": [] })).await, ErrorCode::InvalidParams);
    assert_code(fixture.try_call("cron.get", Value::Null).await, ErrorCode::InvalidParams);
    let mut twin = draft("Twin");
    twin["id"] = id.clone();
    assert_code(fixture.try_call("cron.add", twin).await, ErrorCode::Exists);
    fixture.stop().await;
}

#[tokio::test]
async fn job_id_has_the_alias_job_id_field() {
    let fixture = GatewayFixture::new().await;
    let job = fixture.add("One").await;
    for method in ["tools.effective", "cron.get"] {
        let by_id = fixture.call(method, json!({ "id": job["id"] })).await;
        assert_eq!(fixture.call(method, json!({ "jobId": job["id"] })).await, by_id, "{method}");
        let unknown = fixture.try_call(method, json!({ "jobId": "x" })).await;
        assert_code(unknown, ErrorCode::NotFound);
        let both = fixture.try_call(method, json!({ "id": job["id"], "jobId": job["id"] })).await;
        assert_code(both, ErrorCode::InvalidParams);
    }
    fixture.stop().await;
}

#[tokio::test]
async fn stale_update_error_holds_the_current_revision() {
    let fixture = GatewayFixture::new().await;
    let job = fixture.add("One").await;
    let revision = job["state"]["revision"].clone();
    let rename = |name: &str| json!({ "id": job["id"], "patch": { "name": name }, "expectedRevision": revision });
    let renamed = fixture.call("cron.update", rename("Two")).await;
    let error =
        assert_code(fixture.try_call("cron.update", rename("Three")).await, ErrorCode::Stale);
    assert_eq!(error.data["revision"], renamed["job"]["state"]["revision"]);
    assert_eq!(fixture.call("cron.get", json!({ "id": job["id"] })).await["job"]["name"], "Two");
    fixture.stop().await;
}

#[tokio::test]
async fn job_list_has_pages_of_a_hundred() {
    let fixture = GatewayFixture::new().await;
    for number in 0..101 {
        fixture.add(&format!("Job {number:03}")).await;
    }
    let names = |page: &Value| -> Vec<String> {
        let jobs = page["jobs"].as_array().expect("a list");
        jobs.iter().map(|view| view["job"]["name"].as_str().expect("text").to_owned()).collect()
    };
    let first = fixture.call("cron.list", json!({})).await;
    assert_eq!((names(&first).len(), names(&first)[99].as_str()), (100, "Job 099"));
    let rest = fixture.call("cron.list", json!({ "cursor": first["nextCursor"] })).await;
    assert_eq!((names(&rest), &rest["nextCursor"]), (vec!["Job 100".to_owned()], &Value::Null));
    let all = fixture.call("cron.list", json!({ "limit": 500 })).await;
    assert_eq!((names(&all).len(), &all["nextCursor"]), (101, &Value::Null));
    for (limit, jobs) in [(0, 1), (2, 2)] {
        let page = fixture.call("cron.list", json!({ "limit": limit })).await;
        assert_eq!(names(&page).len(), jobs, "{limit}");
        assert!(page["nextCursor"].is_string());
    }
    fixture.stop().await;
}

#[tokio::test]
async fn run_keeps_the_revision_of_its_job() {
    let fixture = GatewayFixture::new().await;
    let job = fixture.add("One").await;
    let mut events = fixture.gateway.events(fixture.gateway.newest_event().await);
    fixture.call("cron.run", json!({ "id": job["id"], "mode": "force" })).await;
    while events.next().await.expect("an event").data["action"] != "finished" {}
    let view = fixture.call("cron.get", json!({ "id": job["id"] })).await;
    assert_eq!(view["job"]["state"]["lastStatus"], "ok");
    assert_eq!(
        view["job"]["state"]["revision"], job["state"]["revision"],
        "an open editor stays valid"
    );
    fixture.stop().await;
}

#[tokio::test]
async fn panic_in_a_handler_is_an_internal_error() {
    let fixture = GatewayFixture::new().await;
    for method in ["config.get", "config.patch", "set-heartbeats"] {
        let params = json!({ "patch": {}, "enabled": true });
        let error =
            assert_code(fixture.try_call(method, params.clone()).await, ErrorCode::Internal);
        assert!(!error.message.contains("panic"), "for the log only: {error:?}");
        let remote = fixture.client.call(method, params).await;
        assert!(matches!(remote, Err(ClientError::Rpc(rpc)) if rpc == error));
    }
    fixture.add("Still working").await;
    fixture.stop().await;
}

#[tokio::test]
async fn stop_does_not_wait_for_an_incomplete_request() {
    let fixture = GatewayFixture::new().await;
    let client = fixture.client.clone();
    let mut open = TcpStream::connect(client.endpoint().expect("an endpoint").address)
        .await
        .expect("a connection");
    open.write_all(b"POST /rpc HTTP/1.1\r\nHost: 127").await.expect("a write");
    fixture.call("cron.status", json!({})).await;
    fixture.stop().await;
    assert!(matches!(client.call("cron.status", json!({})).await, Err(ClientError::NotRunning)));
}

#[tokio::test]
async fn chat_message_detects_models_first() {
    let fixture = GatewayFixture::new().await;
    let sent = fixture.call("chat.send", json!({ "text": "Hello" })).await;
    assert!(sent["runId"].is_string(), "{sent}");
}

#[tokio::test]
async fn port_in_use_error_names_a_fix() {
    let first = BoundPort::bind(0, false).await.expect("a port");
    let error = BoundPort::bind(first.number(), false).await.err().expect("a port in use");
    assert_eq!(
        error.to_string(),
        format!(
            "cannot listen on 127.0.0.1:{}: another program uses it; choose another port or omit --port",
            first.number()
        )
    );
}

#[tokio::test]
async fn key_in_arguments_is_reported_without_the_key() {
    let fixture = GatewayFixture::new().await;
    let key = "ghp_R7f2Qm9LzX4vKt8Wb3Yc6Nd1Hs5Jp0Ga2Ue4";
    let call = |header: &str| {
        let headers = json!({ "Authorization": header });
        let arguments = json!({ "url": "https://api.github.com/user", "headers": headers });
        let mut job = draft("Stars");
        job["payload"] = json!({ "kind": "toolCall", "tool": "http", "arguments": arguments });
        job
    };
    let argument_warnings = |warnings: &Value| -> Vec<String> {
        let warnings = warnings.as_array().expect("a list").iter();
        let filtered = warnings.filter(|warning| warning["field"] == "payload.arguments");
        filtered.map(|warning| warning["message"].as_str().expect("text").to_owned()).collect()
    };
    let check =
        async |header: &str| fixture.call("cron.check", json!({ "job": call(header) })).await;
    let bare = check(&format!("Bearer {key}")).await;
    let [message] = &argument_warnings(&bare["warnings"])[..] else { panic!("{bare}") };
    assert!(message.contains("rouse secrets set NAME --host HOST"), "{message}");
    assert!(!bare.to_string().contains(key), "{bare}");
    let handle = check("Bearer {{secret:github}}").await;
    assert!(argument_warnings(&handle["warnings"]).is_empty(), "{handle}");
    fixture.stop().await;
}

#[tokio::test]
async fn job_view_has_the_zone_of_its_schedule_text() {
    let fixture = GatewayFixture::new().await;
    let mut job = draft("Once");
    job["schedule"] = json!({ "kind": "at", "atMs": fixture.clock.now().0 + 3_600_000 });
    let saved = fixture.call("cron.add", job).await;
    assert_eq!(saved["zone"], fixture.clock.zone().name(), "{saved}");
    fixture.stop().await;
}

#[tokio::test]
async fn failed_notification_shows_until_one_succeeds() {
    let fixture = GatewayFixture::new().await;
    let notifications =
        async || fixture.call("system.status", json!({})).await["notifications"].take();
    assert_eq!(
        notifications().await,
        json!({ "available": true, "reason": null, "failing": false })
    );
    fixture.notification_error.send_replace(Some("No app shows it.".to_owned()));
    let failing = json!({ "available": false, "reason": "No app shows it.", "failing": true });
    assert_eq!(notifications().await, failing);
    fixture.notification_error.send_replace(None);
    assert_eq!(notifications().await["available"], true);
    fixture.stop().await;
}

#[tokio::test]
async fn invalid_zone_is_a_problem_of_the_engine() {
    let fixture = GatewayFixture::new().await;
    let problem = "TZ=Mars/Phobos is not a time zone, so Rouse uses UTC.";
    let zones = fixture.clock.zones().with_local_problem(problem.to_owned());
    fixture.clock.set_zones(zones);
    assert_eq!(fixture.call("system.status", json!({})).await["problem"], problem);
    fixture.stop().await;
}
