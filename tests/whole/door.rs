//! The server's door: silence keeps nobody else out.

use rouse_gateway::Client;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::house::Plan;

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
