//! The reference servers of PyPI.

use rouse_tests::EngineBuilder;
use rouse_tests::mcp::install_and_accept;
use serde_json::{Value, json};

use crate::fixture::{python_server, succeed, with_folder};

#[tokio::test]
async fn time_converts_between_zones() {
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    let server = python_server("mcp-server-time", &["--local-timezone", "UTC"]);
    install_and_accept(&engine, "zones", server).await;
    // Zones without daylight saving time, because the server takes the present day.
    let question =
        json!({ "source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC" });
    let answer = succeed(&engine, "zones_convert_time", question).await;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let converted = answer["target"]["datetime"].as_str().expect("a time");
    assert!(converted.ends_with("T03:00:00+00:00"), "{answer}");
    engine.host.stop().await;
}

#[tokio::test]
async fn git_reports_the_status_of_the_declared_folder() {
    let home = tempfile::tempdir().expect("a folder");
    let data = tempfile::tempdir().expect("a folder");
    let repository = data.path().canonicalize().expect("a real path");
    let mut init = std::process::Command::new("git");
    init.args(["init", "--quiet"]).arg(&repository);
    assert!(init.status().expect("git is installed").success());
    std::fs::write(repository.join("note.txt"), "tea").expect("a file");
    let path = repository.to_str().expect("a path in UTF-8");
    let server = with_folder(python_server("mcp-server-git", &["--repository", path]), path);
    let engine = EngineBuilder::new(home.path()).build().await;
    install_and_accept(&engine, "git", server).await;
    let status = succeed(&engine, "git_git_status", json!({ "repo_path": path })).await;
    assert!(status.contains("Untracked files") && status.contains("note.txt"), "{status}");
    engine.host.stop().await;
}

/// The server itself would fetch from this computer.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn fetch_without_hosts_reaches_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket option");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    let server = python_server("mcp-server-fetch", &["--allow-private-ips"]);
    install_and_accept(&engine, "fetch", server).await;
    let error = crate::fixture::fail(&engine, "fetch", json!({ "url": url })).await;
    assert!(error.contains("connection issue"), "{error}");
    let connection = listener.accept();
    assert!(connection.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
    engine.host.stop().await;
}
