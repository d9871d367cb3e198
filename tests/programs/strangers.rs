//! Who is believed, and who is shown the token: only the engine that knows it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use serde_json::json;

use crate::engine::Home;

/// Takes the port of an engine that is gone, agrees to everything, and hands on all that it hears.
fn squat(address: &str) -> mpsc::Receiver<String> {
    let listener = TcpListener::bind(address).expect("the port of a dead engine");
    let (tell, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tell = tell.clone();
            std::thread::spawn(move || listen(stream, &tell));
        }
    });
    heard
}

fn listen(mut stream: TcpStream, tell: &mpsc::Sender<String>) {
    let lie = json!({ "jsonrpc": "2.0", "id": 1, "code": "0", "result": {
        "jobs": [], "paused": false, "queued": true, "version": "9.9.9",
    } });
    let lie = lie.to_string();
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{lie}",
        lie.len()
    );
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let heard = String::from_utf8_lossy(&buffer[..count]).into_owned();
        if tell.send(heard).is_err() || stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn who_takes_the_port_of_a_killed_engine_gets_no_token_and_is_not_believed() {
    let home = Home::new();
    let engine = home.serve().await;
    let (address, token) = (engine.address.clone(), engine.token());
    engine.kill();
    let heard = squat(&address);
    for args in [
        &["cron", "list", "--json"][..],
        &["cron", "list"],
        &["wake", "--text", "x"],
        &["open", "--print"],
        &["chat", "Hello."],
    ] {
        home.rouse(args).refused(3, "does not prove that it is your Rouse");
    }
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    assert!(doctor.out.contains("Rouse is not running"), "{doctor:#?}");
    assert!(doctor.out.contains("does not prove"), "{doctor:#?}");
    let heard: Vec<String> = heard.try_iter().collect();
    assert!(heard.len() >= 6, "each was asked: {heard:?}");
    for words in heard {
        assert!(!words.contains(&token) && !words.contains("Bearer"), "{words}");
    }
    let engine = home.serve().await;
    assert_ne!(engine.address, address);
    home.rouse(["cron", "list"]).ok();
}
