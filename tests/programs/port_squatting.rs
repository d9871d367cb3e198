//! A squatter on the port of a dead engine gets no token and is not trusted.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use serde_json::json;

use crate::engine::TestHome;

/// Takes the port of a dead engine, accepts every request and forwards the received bytes.
fn squat(address: &str) -> mpsc::Receiver<String> {
    let listener = TcpListener::bind(address).expect("the port of a dead engine");
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || listen(stream, &sender));
        }
    });
    received
}

fn listen(mut stream: TcpStream, sender: &mpsc::Sender<String>) {
    let forged = json!({ "jsonrpc": "2.0", "id": 1, "code": "0", "result": {
        "jobs": [], "paused": false, "queued": true, "version": "9.9.9",
    } });
    let forged = forged.to_string();
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{forged}",
        forged.len()
    );
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let received = String::from_utf8_lossy(&buffer[..count]).into_owned();
        if sender.send(received).is_err() || stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn squatter_on_port_gets_no_token_and_is_rejected() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let (address, token) = (engine.address.clone(), engine.token());
    engine.kill();
    let received = squat(&address);
    for args in [
        &["cron", "list", "--json"][..],
        &["cron", "list"],
        &["wake", "--text", "x"],
        &["open", "--print"],
        &["chat", "Hello."],
    ] {
        home.rouse(args).assert_error(3, "does not prove that it is your Rouse");
    }
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    assert!(doctor.out.contains("Rouse is not running"), "{doctor:#?}");
    assert!(doctor.out.contains("does not prove"), "{doctor:#?}");
    let received: Vec<String> = received.try_iter().collect();
    assert!(received.len() >= 6, "{received:?}");
    for text in received {
        assert!(!text.contains(&token) && !text.contains("Bearer"), "{text}");
    }
    let engine = home.serve().await;
    assert_ne!(engine.address, address);
    home.rouse(["cron", "list"]).ok();
}
