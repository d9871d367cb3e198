//! Start, attach, refused starts, and the stop on a signal.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::engine::TestHome;
use crate::http::Request;
use crate::probes::rpc;

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .permissions()
        .mode()
        & 0o777
}

#[tokio::test]
async fn second_start_attaches_to_the_first() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let second = home.rouse(["serve"]);
    let text = second.ok();
    assert!(text.contains(&format!("process {}", engine.pid())), "{text}");
    assert!(text.contains(&engine.address), "{text}");
    let ready: Value = home.rouse(["serve", "--port", "0", "--ready-json"]).json();
    assert_eq!(ready, json!({ "address": engine.address, "attachedTo": engine.pid() }));
    assert_eq!(
        engine.call("system.status", json!({})).await["pid"],
        engine.pid(),
        "the first goes on"
    );
    assert_eq!(engine.stop_and_read(), "", "nothing but the address on standard output");
}

#[tokio::test]
async fn private_files_have_private_modes() {
    let home = TestHome::new().config("");
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o700)).expect("our own folder");
    let engine = home.serve().await;
    engine.call("config.patch", json!({ "patch": { "cron": { "maxConcurrentRuns": 3 } } })).await;
    let private = [
        "gateway.token",
        "gateway.json",
        "config.toml",
        "rouse.db",
        "rouse.db-wal",
        "rouse.db-shm",
        "owner.lock",
    ];
    let logs = fs::read_dir(home.data().join("logs")).expect("a folder");
    let logs: Vec<PathBuf> = logs.map(|log| log.expect("a file").path()).collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    for path in private.map(|name| home.data().join(name)).iter().chain(&logs) {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    for name in ["logs", "workspace"] {
        assert_eq!(mode(&home.data().join(name)), 0o700, "{name}");
    }
    let elsewhere = TestHome::new();
    fs::remove_dir(elsewhere.data()).expect("an empty folder");
    elsewhere.serve().await;
    assert_eq!(mode(&elsewhere.data()), 0o700, "a folder that Rouse makes");
}

#[tokio::test]
async fn token_survives_restart_and_address_file_does_not() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let token = engine.token();
    assert!(engine.stop().success());
    assert!(!home.data().join("gateway.json").exists());
    home.rouse(["status"]).assert_error(3, "Rouse is not running");
    let engine = home.serve().await;
    assert_eq!(engine.token(), token);
    engine.kill();
    assert!(home.data().join("gateway.json").exists(), "a kill leaves the address file");
    for args in [
        &["status"][..],
        &["cron", "list", "--json"],
        &["wake", "--text", "x"],
        &["open", "--print"],
    ] {
        home.rouse(args).assert_error(3, "Rouse is not running");
    }
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.out.contains("Rouse is not running"), "{doctor:#?}");
    let engine = home.serve().await;
    assert_eq!(engine.token(), token);
    home.rouse(["status"]).ok();
}

#[tokio::test]
async fn newer_database_is_refused_unchanged() {
    let home = TestHome::new();
    assert!(home.serve().await.stop().success());
    let path = home.data().join("rouse.db");
    let mut bytes = fs::read(&path).expect("the database");
    // SQLite stores the user version here, in big-endian.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&path, &bytes).expect("our own file");
    let refused = home.rouse(["serve", "--port", "0", "--ready-json"]);
    refused.assert_error(1, "was made by a newer Rouse");
    assert!(refused.err.contains(&path.display().to_string()), "{refused:#?}");
    assert_eq!(fs::read(&path).expect("the database"), bytes);
    home.rouse(["status"]).assert_error(3, "not running");
}

#[tokio::test]
async fn unusable_file_is_named_and_left_unchanged() {
    let cases = [
        (
            "rouse.db",
            "this is no database, but long enough to look like one at a glance",
            "is not a database",
        ),
        ("config.toml", "[cron\n", "is not valid TOML"),
        ("config.toml", "[cron]\nmaxConcurrentRuns = 0\n", "cron.maxConcurrentRuns"),
        (
            "config.toml",
            "[providers.x]\nkind = \"gopher\"\nbaseUrl = \"ftp://x\"\n",
            "providers.x.kind",
        ),
    ];
    for (name, text, expected) in cases {
        let home = TestHome::new();
        let path = home.data().join(name);
        fs::write(&path, text).expect("a file");
        let refused = home.rouse(["serve", "--port", "0", "--ready-json"]);
        // Settings are input (exit code 2), a broken database is a failure (1).
        refused.assert_error(if name == "config.toml" { 2 } else { 1 }, expected);
        assert!(refused.err.contains(&path.display().to_string()), "{refused:#?}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), text);
    }
    let home = TestHome::new().env("HEARTBEAT_INTERVAL_MS", "soon");
    home.rouse(["serve", "--port", "0", "--ready-json"]).assert_error(2, "HEARTBEAT_INTERVAL_MS");
}

#[tokio::test]
async fn readable_data_directory_is_reported_with_its_fix() {
    let home = TestHome::new();
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o755)).expect("our own folder");
    let engine = home.serve().await;
    let remedy = format!("chmod 700 {}", home.data().display());
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&remedy), "{doctor:#?}");
    assert!(engine.stop().success());
    let stderr = fs::read_to_string(home.sibling("stderr")).expect("a file");
    assert_eq!(stderr.matches(&remedy).count(), 1, "{stderr}");
    assert_eq!(mode(&home.data()), 0o755);
}

#[tokio::test]
async fn unwritable_log_is_reported_once_and_jobs_run() {
    let home = TestHome::new();
    fs::write(home.data().join("logs"), "in the way").expect("a file");
    let engine = home.serve().await;
    let id = engine.add_job(json!({ "name": "Tea", "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "time" } })).await;
    engine.start_run(&id).await;
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "succeeded");
    let text = format!("The log in {} cannot be written", home.data().join("logs").display());
    let status = engine.call("system.status", json!({})).await;
    assert!(status["problem"].as_str().expect("a problem").contains(&text), "{status:#}");
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&text), "{doctor:#?}");
    assert!(engine.stop().success());
    let stderr = fs::read_to_string(home.sibling("stderr")).expect("a file");
    assert_eq!(stderr.matches(&text).count(), 1, "{stderr}");
}

#[tokio::test]
async fn taken_port_is_refused_before_first_start() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let home = TestHome::new();
    let refused = home.rouse(["serve", "--port", &port, "--ready-json"]);
    refused.assert_error(1, &format!("cannot listen on 127.0.0.1:{port}"));
    let engine = home.serve_plain();
    let status = engine.call("system.status", json!({})).await;
    let example = json!({ "id": status["firstStart"]["exampleJobId"] });
    let made_at = engine.call("cron.get", example).await["job"]["createdAtMs"].as_i64();
    assert!(
        made_at >= status["startedAtMs"].as_i64(),
        "the first start is the first that succeeds"
    );
}

#[tokio::test]
async fn stop_ends_engine_with_open_connections() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let call = Request::post(&engine.address, "/rpc", &rpc("cron.list", &json!({})))
        .token(&engine.token());
    let stream = engine.client.events(Some(0)).await.expect("a stream");
    let _open = [
        call.send_part(0),
        call.send_part(5),
        call.send_part(call.head_length() - 1),
        call.send_part(call.head_length() + 5),
        call.clone().without("Authorization").send_part(call.head_length()),
        Request::upgrade(&engine.address, "/ws").token(&engine.token()).send_part(usize::MAX),
    ];
    // An answer to a later request proves that the requests above were read.
    engine.call("cron.list", json!({})).await;
    assert!(engine.stop().success());
    drop(stream);
}

#[tokio::test]
async fn serve_delivers_embedded_page() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let page = Request::new(&engine.address, "GET", "/").send();
    assert_eq!(page.status, 200, "build the page first: cd ui && npm run build");
    assert!(
        page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")),
        "{page:#?}"
    );
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let script =
        page.body.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a script");
    let script = Request::new(&engine.address, "GET", script).send();
    assert_eq!(script.status, 200);
    assert!(
        script.header("cache-control").is_some_and(|cache| cache.contains("immutable")),
        "{:?}",
        script.header("cache-control")
    );
    assert_eq!(Request::new(&engine.address, "GET", "/assets/none.js").send().status, 404);
    let route = Request::new(&engine.address, "GET", "/jobs/some-id").send();
    assert_eq!(route.body, page.body, "a route of the page is the page");
}

#[tokio::test]
async fn unreachable_engine_differs_from_stopped_engine() {
    for name in ["gateway.json", "gateway.token"] {
        let home = TestHome::new();
        let engine = home.serve().await;
        let path = home.data().join(name);
        let kept = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("our own file");
        let gone = format!("{} is missing", path.display());
        for args in [&["status"][..], &["cron", "list"], &["serve", "--ready-json"]] {
            let output = home.rouse(args);
            output.assert_error(3, &gone);
            assert!(output.err.contains("restart Rouse"), "{output:#?}");
        }
        let doctor = home.rouse(["doctor"]);
        assert_eq!(doctor.code, 1, "{doctor:#?}");
        assert!(doctor.out.contains(&gone), "{doctor:#?}");
        assert!(!doctor.out.contains("no job fires"), "{doctor:#?}");
        assert!(doctor.out.contains("Sandbox") || doctor.out.contains("sandbox"), "{doctor:#?}");
        fs::write(&path, kept).expect("our own file");
        assert!(engine.stop().success());
    }
}

#[tokio::test]
async fn deleted_lock_does_not_allow_second_engine() {
    let home = TestHome::new();
    let engine = home.serve().await;
    fs::remove_file(home.data().join("owner.lock")).expect("the lock");
    let second: Value = home.rouse(["serve", "--port", "0", "--ready-json"]).json();
    assert_eq!(second["attachedTo"], engine.pid(), "{second}");
}
