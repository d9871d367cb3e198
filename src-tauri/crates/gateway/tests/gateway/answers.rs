//! What a client can branch on: codes, fields, revisions; and a handler that breaks breaks nothing else.

use rouse_core::Clock as _;
use rouse_gateway::{BoundPort, ClientError, ErrorCode, RpcError};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::house::{House, draft};

#[track_caller]
fn assert_code(result: Result<Value, RpcError>, code: ErrorCode) -> RpcError {
    let error = result.expect_err("refused");
    assert_eq!(error.code, code.number(), "{error:?}");
    error
}

#[tokio::test]
async fn every_refusal_has_its_code() {
    let house = House::build().await;
    let job = house.add("One").await;
    let id = &job["id"];
    assert_code(house.try_call("nothing", json!({})).await, ErrorCode::MethodNotFound);
    assert_code(house.try_call("cron.get", json!({ "id": "x" })).await, ErrorCode::NotFound);
    assert_code(house.try_call("runs.get", json!({ "id": "x" })).await, ErrorCode::NotFound);
    assert_code(house.try_call("deliveries.get", json!({ "id": "x" })).await, ErrorCode::NotFound);
    assert_code(house.try_call("cron.get", json!({ "id": [] })).await, ErrorCode::InvalidParams);
    assert_code(house.try_call("cron.get", Value::Null).await, ErrorCode::InvalidParams);
    let mut twin = draft("Twin");
    twin["id"] = id.clone();
    assert_code(house.try_call("cron.add", twin).await, ErrorCode::Exists);
    house.stop().await;
}

#[tokio::test]
async fn a_job_is_named_by_its_id_under_either_name() {
    let house = House::build().await;
    let job = house.add("One").await;
    for method in ["tools.effective", "cron.get"] {
        let by_id = house.call(method, json!({ "id": job["id"] })).await;
        assert_eq!(house.call(method, json!({ "jobId": job["id"] })).await, by_id, "{method}");
        let unknown = house.try_call(method, json!({ "jobId": "x" })).await;
        assert_code(unknown, ErrorCode::NotFound);
        let both = house.try_call(method, json!({ "id": job["id"], "jobId": job["id"] })).await;
        assert_code(both, ErrorCode::InvalidParams);
    }
    house.stop().await;
}

#[tokio::test]
async fn a_stale_change_is_refused_with_the_present_revision() {
    let house = House::build().await;
    let job = house.add("One").await;
    let seen = job["state"]["revision"].clone();
    let rename = |name: &str| json!({ "id": job["id"], "patch": { "name": name }, "expectedRevision": seen });
    let renamed = house.call("cron.update", rename("Two")).await;
    let error = assert_code(house.try_call("cron.update", rename("Three")).await, ErrorCode::Stale);
    assert_eq!(error.data["revision"], renamed["job"]["state"]["revision"]);
    assert_eq!(house.call("cron.get", json!({ "id": job["id"] })).await["job"]["name"], "Two");
    house.stop().await;
}

#[tokio::test]
async fn jobs_come_a_hundred_at_a_time_and_the_cursor_leads_on() {
    let house = House::build().await;
    for number in 0..101 {
        house.add(&format!("Job {number:03}")).await;
    }
    let names = |page: &Value| -> Vec<String> {
        let jobs = page["jobs"].as_array().expect("a list");
        jobs.iter().map(|view| view["job"]["name"].as_str().expect("text").to_owned()).collect()
    };
    let first = house.call("cron.list", json!({})).await;
    assert_eq!((names(&first).len(), names(&first)[99].as_str()), (100, "Job 099"));
    let rest = house.call("cron.list", json!({ "cursor": first["nextCursor"] })).await;
    assert_eq!((names(&rest), &rest["nextCursor"]), (vec!["Job 100".to_owned()], &Value::Null));
    let most = house.call("cron.list", json!({ "limit": 500 })).await;
    assert_eq!((names(&most).len(), &most["nextCursor"]), (101, &Value::Null));
    for (limit, jobs) in [(0, 1), (2, 2)] {
        let page = house.call("cron.list", json!({ "limit": limit })).await;
        assert_eq!(names(&page).len(), jobs, "{limit}");
        assert!(page["nextCursor"].is_string());
    }
    house.stop().await;
}

#[tokio::test]
async fn a_run_moves_no_revision() {
    let house = House::build().await;
    let job = house.add("One").await;
    let mut events = house.gateway.events(house.gateway.newest_event().await);
    house.call("cron.run", json!({ "id": job["id"], "mode": "force" })).await;
    while events.next().await.expect("the engine goes on").data["action"] != "finished" {}
    let view = house.call("cron.get", json!({ "id": job["id"] })).await;
    assert_eq!(view["job"]["state"]["lastStatus"], "ok");
    assert_eq!(
        view["job"]["state"]["revision"], job["state"]["revision"],
        "an open editor stays valid"
    );
    house.stop().await;
}

#[tokio::test]
async fn a_handler_that_breaks_takes_nothing_with_it() {
    let house = House::build().await;
    for method in ["config.get", "config.patch", "set-heartbeats"] {
        let params = json!({ "patch": {}, "enabled": true });
        let error = assert_code(house.try_call(method, params.clone()).await, ErrorCode::Internal);
        assert!(!error.message.contains("fault"), "insides are for the log: {error:?}");
        let over_the_wire = house.client.call(method, params).await;
        assert!(matches!(over_the_wire, Err(ClientError::Rpc(rpc)) if rpc == error));
    }
    house.add("Still here").await;
    house.stop().await;
}

#[tokio::test]
async fn nobody_is_waited_for_at_the_end() {
    let house = House::build().await;
    let client = house.client.clone();
    let mut open = TcpStream::connect(client.endpoint().address).await.expect("it listens");
    open.write_all(b"POST /rpc HTTP/1.1\r\nHost: 127").await.expect("it reads");
    house.call("cron.status", json!({})).await;
    house.stop().await;
    assert!(matches!(client.call("cron.status", json!({})).await, Err(ClientError::NotRunning)));
}

#[tokio::test]
async fn a_message_that_comes_before_the_first_look_at_the_models_waits_for_one() {
    let house = House::build().await;
    let sent = house.call("chat.send", json!({ "text": "Hello" })).await;
    assert!(sent["runId"].is_string(), "{sent}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_refused_with_what_to_do() {
    let first = BoundPort::bind(0, false).await.expect("a port");
    let error = BoundPort::bind(first.number(), false).await.err().expect("it is taken");
    assert_eq!(
        error.to_string(),
        format!(
            "cannot listen on 127.0.0.1:{}: another program has it; name another port or leave --port out",
            first.number()
        )
    );
}

#[tokio::test]
async fn a_bare_key_in_a_call_is_warned_of_and_not_quoted() {
    let house = House::build().await;
    let key = "ghp_R7f2Qm9LzX4vKt8Wb3Yc6Nd1Hs5Jp0Ga2Ue4";
    let call = |header: &str| {
        let headers = json!({ "Authorization": header });
        let arguments = json!({ "url": "https://api.github.com/user", "headers": headers });
        let mut job = draft("Stars");
        job["payload"] = json!({ "kind": "toolCall", "tool": "http", "arguments": arguments });
        job
    };
    let about = |warnings: &Value| -> Vec<String> {
        let warnings = warnings.as_array().expect("a list").iter();
        let of_arguments = warnings.filter(|warning| warning["field"] == "payload.arguments");
        of_arguments.map(|warning| warning["message"].as_str().expect("text").to_owned()).collect()
    };
    let check = async |header: &str| house.call("cron.check", json!({ "job": call(header) })).await;
    let bare = check(&format!("Bearer {key}")).await;
    let [told] = &about(&bare["warnings"])[..] else { panic!("{bare}") };
    assert!(told.contains("rouse secrets set NAME --host HOST"), "{told}");
    assert!(!bare.to_string().contains(key), "{bare}");
    let handle = check("Bearer {{secret:github}}").await;
    assert!(about(&handle["warnings"]).is_empty(), "{handle}");
    house.stop().await;
}

#[tokio::test]
async fn a_time_that_is_told_in_words_names_the_zone_of_its_words() {
    let house = House::build().await;
    let mut job = draft("Once");
    job["schedule"] = json!({ "kind": "at", "atMs": house.clock.now().0 + 3_600_000 });
    let saved = house.call("cron.add", job).await;
    assert_eq!(saved["zone"], house.clock.zone().name(), "{saved}");
    house.stop().await;
}

#[tokio::test]
async fn a_notification_that_did_not_get_through_is_told_until_one_does() {
    let house = House::build().await;
    let told = async || house.call("system.status", json!({})).await["notifications"].take();
    assert_eq!(told().await, json!({ "available": true, "reason": null, "failing": false }));
    house.outcome.send_replace(Some("Nobody shows it.".to_owned()));
    let failing = json!({ "available": false, "reason": "Nobody shows it.", "failing": true });
    assert_eq!(told().await, failing);
    house.outcome.send_replace(None);
    assert_eq!(told().await["available"], true);
    house.stop().await;
}

#[tokio::test]
async fn a_zone_that_was_wanted_and_is_none_is_a_problem_of_everything() {
    let house = House::build().await;
    let problem = "TZ=Mars/Phobos is no zone, so UTC is used.";
    let zones = house.clock.zones().with_local_problem(problem.to_owned());
    house.clock.set_zones(zones);
    assert_eq!(house.call("system.status", json!({})).await["problem"], problem);
    house.stop().await;
}
