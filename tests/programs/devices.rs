//! Names of a proxy in front, and `rouse devices`.

use std::net::TcpListener;

use rouse_tests::ServeProcess;
use serde_json::{Value, json};

use crate::engine::TestHome;
use crate::http::Request;

const NAMES: &str = "names = [\"box.example.org\"]\n";

#[tokio::test]
async fn name_of_the_settings_leads_to_the_engine() {
    let home = TestHome::new().config(&format!("[gateway]\n{NAMES}"));
    let engine = home.serve().await;
    let status = |host: &str| {
        Request::new(&engine.address, "GET", "/healthz").with("Host", host).send().status
    };
    assert_eq!([status("box.example.org"), status("box.example.org:443")], [200, 200]);
    assert_eq!([status("other.example.org"), status("box.example.org:80")], [403, 403]);
}

#[test]
fn name_is_off_while_another_program_has_the_port() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    let home = TestHome::new().config(&format!("[gateway]\nport = {port}\n{NAMES}"));
    let serve = ServeProcess::start(&mut home.command(["serve", "--ready-json"]));
    let ready: Value = serde_json::from_str(&serve.ready_line).expect("JSON");
    let address = ready["address"].as_str().expect("an address");
    let reply = Request::new(address, "GET", "/healthz").with("Host", "box.example.org").send();
    assert_eq!(reply.status, 403, "{reply:#?}");
}

#[test]
fn invalid_name_is_refused_with_its_key() {
    let home = TestHome::new().config("[gateway]\nnames = [\"https://box.example.org\"]\n");
    let refused = home.rouse(["serve", "--port", "0"]);
    assert_ne!(refused.code, 0, "{refused:#?}");
    assert!(refused.err.contains("gateway.names"), "{refused:#?}");
    assert!(refused.err.contains("without https://"), "{refused:#?}");
}

#[tokio::test]
async fn devices_are_paired_listed_and_revoked() {
    let home = TestHome::new().config(&format!("[gateway]\n{NAMES}"));
    let engine = home.serve().await;
    let none = home.rouse(["devices"]);
    assert_eq!(none.ok().trim(), "No devices. Pair one: rouse devices pair");
    let shown = home.rouse(["devices", "pair", "--scope", "read"]);
    assert!(shown.ok().contains("https://box.example.org/#pair="), "{shown:#?}");
    assert!(shown.out.contains("█████"), "a QR code: {shown:#?}");
    let pairing = home.rouse(["devices", "pair", "--name", "Phone", "--json"]).json();
    let [name, local] = [0, 1].map(|at| pairing["links"][at]["url"].as_str().expect("a link"));
    let (_, code) = name.split_once("#pair=").expect("a code");
    assert_eq!(local, format!("http://{}/#pair={code}", engine.address));
    // The generator of P-256 is a valid point, and the test needs no signature.
    let generator =
        "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU";
    let request = json!({ "code": code, "name": "Phone", "publicKey": generator });
    let paired = Request::post(&engine.address, "/auth/pair", &request).send();
    assert_eq!(paired.status, 200, "{paired:#?}");
    let listed = home.rouse(["devices", "list"]);
    assert!(listed.ok().contains("Phone") && listed.out.contains("approve"), "{listed:#?}");
    home.rouse(["devices", "revoke", "Tablet"]).assert_error(4, "There is no device Tablet.");
    let revoked = home.rouse(["devices", "revoke", "Phone"]);
    assert_eq!(revoked.ok().trim(), "Revoked: Phone. It is signed out.");
    assert_eq!(engine.call("devices.list", json!({})).await["devices"], json!([]));
}
