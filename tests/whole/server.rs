//! The server under silent connections and without a writable address file.

use rouse_gateway::Client;
use rouse_tests::{EngineBuilder, MINUTE, echo_job};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

#[tokio::test]
async fn silent_connections_do_not_block_clients() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut connections = Vec::new();
    for _ in 0..200 {
        connections.push(TcpStream::connect(engine.host.address()).await.expect("a connection"));
    }
    let client = Client::find(folder.path()).expect("a running engine");
    client.call("cron.status", json!({})).await.expect("an answer");
    let mut oldest = connections.swap_remove(0);
    // The end of the stream or a reset: the descriptor is free again.
    assert!(matches!(oldest.read(&mut [0]).await, Ok(0) | Err(_)));
    engine.host.stop().await;
}

#[tokio::test]
async fn jobs_fire_without_writable_address_file() {
    let folder = tempfile::tempdir().expect("a folder");
    // Like a full disk: neither the new file nor the target can be written.
    for name in ["gateway.new", "gateway.json"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let engine = EngineBuilder::new(folder.path()).build().await;
    let id = engine.add_job(echo_job(&json!({ "kind": "every", "everyMs": 60_000 }))).await;
    engine.clock.advance(MINUTE);
    assert_eq!(engine.finished_runs(&id, 1).await[0]["state"], "succeeded");
    engine.host.stop().await;
}
