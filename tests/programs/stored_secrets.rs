//! `rouse secrets`: values are stored and never printed.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::engine::TestHome;
use crate::http::Request;

const VALUE: &str = "sunflower-42-Tango/x";

/// The files that contain `VALUE`, except the secret store.
fn leaks(home: &TestHome) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(VALUE.len()).any(|part| part == VALUE.as_bytes());
    let written = home.written_files().into_iter();
    written
        .filter(|(path, bytes)| holds(bytes) && !path.ends_with("secrets.json"))
        .map(|(path, _)| path.display().to_string())
        .collect()
}

#[tokio::test]
async fn secret_is_stored_listed_and_removed_without_its_value() {
    let home = TestHome::new().env("ROUSE_LOG", "trace").env("ROUSE_LOG_PAYLOADS", "1");
    let engine = home.serve().await;
    assert!(home.rouse(["secrets", "list"]).ok().starts_with("No secrets."));
    let set = ["secrets", "set", "mail", "--host", "api.example.com", "--host", "b.example:8443"];
    let stored = home.rouse_with_input(set, &format!("{VALUE}\n"));
    assert!(stored.ok().starts_with("Stored mail, only for api.example.com, b.example:8443.\n"));
    assert!(stored.out.contains("switched off (ROUSE_KEYRING=0)"), "{stored:#?}");
    let mode = std::fs::metadata(home.data().join("secrets.json")).expect("a file").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);

    let listed = home.rouse(["secrets", "list", "--json"]).json();
    assert_eq!(listed["secrets"][0]["hosts"], json!(["api.example.com", "b.example:8443"]));
    assert_eq!(listed["secrets"][0]["storedIn"], "file");
    let answers = [
        listed.to_string(),
        home.rouse(["secrets", "list"]).ok().to_owned(),
        home.rouse(["doctor"]).out,
        home.rouse(["status"]).ok().to_owned(),
        stored.out,
    ];
    for printed in &answers {
        assert!(!printed.contains("sunflower"), "{printed}");
    }
    for warned in &answers[1..4] {
        assert!(warned.contains("The only secret is kept in "), "{warned}");
    }
    // Another value for the same hosts.
    assert!(
        home.rouse_with_input(["secrets", "set", "mail"], "another-value-1")
            .ok()
            .contains("b.example:8443")
    );
    assert_eq!(home.rouse(["secrets", "rm", "mail"]).ok(), "Removed mail.\n");
    assert_eq!(home.rouse(["secrets", "rm", "mail"]).code, 4);
    assert_eq!(engine.call("secrets.list", json!({})).await["secrets"], json!([]));
    assert_eq!(leaks(&home), Vec::<String>::new());
}

#[tokio::test]
async fn short_secret_value_warns_of_weak_redaction() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let stored = home.rouse_with_input(["secrets", "set", "pin", "--host", "a.example"], "47115");
    assert!(stored.ok().contains("fewer than 8 characters"), "{stored:#?}");
    let listed = engine.call("secrets.list", json!({})).await;
    let warning = listed["secrets"][0]["warning"].as_str().expect("a warning");
    assert!(warning.contains("a whole field") && !warning.contains("47115"), "{warning}");
}

#[tokio::test]
async fn secret_value_on_command_line_is_refused() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let output = home.rouse(["secrets", "set", "mail", VALUE, "--host", "a.example"]);
    assert_eq!(output.code, 2, "{output:#?}");
    let output = home.rouse_with_input(["secrets", "set", "mail", "--host", "a.example"], "pin");
    assert_eq!(output.code, 2, "{output:#?}");
    assert!(output.err.contains("value: a secret has at least 4 characters"), "{output:#?}");
    let set = ["secrets", "set", "mail", "--host", "a.example"];
    home.rouse_with_input(set, "\n")
        .assert_error(2, "No value was given: type the value or pipe it.");
    let output = home.rouse_with_input(["secrets", "set", "mail"], "");
    assert!(output.err.contains("--host: a secret is bound to at least one host"), "{output:#?}");
    assert!(!home.data().join("secrets.json").exists());
}

#[tokio::test]
async fn secret_without_keyring_prints_the_reason() {
    let nowhere = "unix:path=/nonexistent/bus";
    let home = TestHome::new().env("ROUSE_KEYRING", "1").env("DBUS_SESSION_BUS_ADDRESS", nowhere);
    let _engine = home.serve().await;
    let stored = home.rouse_with_input(["secrets", "set", "mail", "--host", "a.example"], VALUE);
    assert!(stored.ok().contains("because the system's keyring cannot be used: "), "{stored:#?}");
}

/// Echoes a request and returns the text.
async fn echo_once(listener: TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.expect("a client");
    let mut received = Vec::new();
    while !received.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut some = [0; 4_096];
        let count = stream.read(&mut some).await.expect("read");
        assert!(count > 0, "a truncated request");
        received.extend_from_slice(&some[..count]);
    }
    let received = String::from_utf8(received).expect("text");
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{received}",
        received.len()
    );
    stream.write_all(answer.as_bytes()).await.expect("written");
    received
}

#[tokio::test]
async fn secret_handle_is_resolved_for_its_host_only() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = format!("127.0.0.1:{}", listener.local_addr().expect("an address").port());
    let home = TestHome::new()
        .config(&format!("[tools]\nallowPrivateHosts = [\"{host}\"]\n"))
        .env("ROUSE_LOG", "trace")
        .env("ROUSE_LOG_PAYLOADS", "1");
    let engine = home.serve().await;
    let bound = format!("http://{host}");
    home.rouse_with_input(["secrets", "set", "svc", "--host", &bound], VALUE).ok();
    let request = json!({
        "url": format!("http://{host}/a?key={{{{secret:svc}}}}"),
        "headers": { "Authorization": "Bearer {{secret:svc}}" },
    });
    let job = json!({
        "name": "Ask the service",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "http", "arguments": request },
    });
    let id = engine.add_job(job).await;
    let server = tokio::spawn(echo_once(listener));
    let run = engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    let received = server.await.expect("an answer");
    assert!(received.starts_with("GET /a?key=sunflower-42-Tango%2Fx HTTP/1.1"), "{received}");
    assert!(
        received.to_lowercase().contains("authorization: bearer sunflower-42-tango/x"),
        "{received}"
    );

    let shown = home.rouse(["runs", "show", &run, "--json"]).json();
    assert_eq!(shown["run"]["state"], "succeeded", "{shown}");
    assert!(shown["steps"][0].to_string().contains("Bearer {{secret:svc}}"), "{shown}");
    assert!(shown.to_string().contains("Bearer [redacted: secret:svc]"), "{shown}");
    assert!(!shown.to_string().contains("sunflower"), "{shown}");
    for (path, bytes) in home.written_files() {
        let found = bytes.windows(12).any(|part| part == b"sunflower-42");
        assert!(!found || path.ends_with("secrets.json"), "{} holds the value", path.display());
    }
}

#[tokio::test]
async fn webhook_body_is_stored_without_secret_value() {
    let home = TestHome::new().env("ROUSE_LOG", "trace");
    let engine = home.serve().await;
    home.rouse_with_input(["secrets", "set", "mail", "--host", "a.example"], VALUE).ok();
    let add = ["--json", "cron", "add", "--name", "Deploy", "--webhook", "--tool", "time"];
    let job = home.rouse(add).json()["job"]["id"].as_str().expect("an id").to_owned();
    let view = home.rouse(["--json", "cron", "webhook", "Deploy", "--rotate"]).json();
    let secret = view["secret"].as_str().expect("a secret");
    let bearer = format!("Bearer {secret}");
    let call = || {
        Request::new(&engine.address, "POST", &format!("/hooks/jobs/{job}"))
            .body(format!("key={VALUE}"))
            .with("Authorization", &bearer)
            .with("Idempotency-Key", VALUE)
            .send()
    };
    assert_eq!(call().status, 202);
    assert_eq!(call().status, 200, "the same call again");
    let run = engine.finished_runs(&job, 1).await.remove(0);
    let detail = engine.call("runs.get", json!({ "id": run["id"] })).await;
    assert_eq!(detail["cause"]["text"], "key=[redacted: secret:mail]");
    assert!(engine.stop().success());
    assert_eq!(leaks(&home), Vec::<String>::new());
}
