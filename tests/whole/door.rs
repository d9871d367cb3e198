//! The server's door: silence keeps nobody else out, and it opens without its address on a file.

use rouse_gateway::Client;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::house::{MINUTE, Plan, echo};

#[tokio::test]
async fn two_hundred_silent_connections_keep_nobody_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(house.host.address()).await.expect("a connection"));
    }
    let client = Client::find(folder.path()).expect("a running engine");
    client.call("cron.status", json!({})).await.expect("an answer");
    let mut oldest = silent.swap_remove(0);
    // The end of the stream, or a reset: the descriptor is back.
    assert!(matches!(oldest.read(&mut [0]).await, Ok(0) | Err(_)));
    house.host.stop().await;
}

#[tokio::test]
async fn an_engine_that_cannot_say_where_it_listens_fires_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    // As on a full disk: neither a new file nor what it would replace can be written.
    for name in ["gateway.new", "gateway.json"] {
        std::fs::create_dir(folder.path().join(name)).expect("something in the way");
    }
    let house = Plan::new(folder.path()).build().await;
    let id = house.add(echo(&json!({ "kind": "every", "everyMs": 60_000 }))).await;
    house.clock.advance(MINUTE);
    assert_eq!(house.ended(&id, 1).await[0]["state"], "succeeded");
    house.host.stop().await;
}
