//! Devices over the server: pairing, sign-in at a name, scopes, revocation.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::StreamExt as _;
use rouse_core::JobId;
use rouse_gateway::wire::DeviceScope;
use rouse_gateway::{ErrorCode, METHOD_SCOPES, MethodScope, page_proof};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::fixture::{GatewayFixture, NAME};
use crate::tool_offers::park_run;

const HOUR_MS: u64 = 3_600_000;

/// A browser with a key, at the name of the proxy.
struct Phone {
    pair: EcdsaKeyPair,
    id: String,
}

impl Phone {
    async fn paired(fixture: &GatewayFixture, name: &str, scope: DeviceScope) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let code = pairing_code(fixture, scope).await;
        let public_key = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let request = json!({ "code": code, "name": name, "publicKey": public_key });
        let (status, reply) = post(fixture, "/auth/pair", "", &request).await;
        assert_eq!(status, 200, "{reply}");
        let id = body_of(&reply)["id"].as_str().expect("an id").to_owned();
        Self { pair, id }
    }

    /// Signs a new nonce in.
    async fn sign_in(&self, fixture: &GatewayFixture) -> (u16, String) {
        let (status, reply) =
            post(fixture, "/auth/challenge", "", &json!({ "device": self.id })).await;
        if status != 200 {
            return (status, reply);
        }
        let nonce = body_of(&reply)["nonce"].as_str().expect("a nonce").to_owned();
        let text = format!("Rouse device sign-in\nhttps://{NAME}\n{}\n{nonce}", self.id);
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes()).expect("signed");
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref());
        let request = json!({ "device": self.id, "nonce": nonce, "signature": signature });
        post(fixture, "/auth/sign-in", "", &request).await
    }

    async fn page(&self, fixture: &GatewayFixture) -> PhonePage {
        let (status, reply) = self.sign_in(fixture).await;
        assert_eq!(status, 200, "{reply}");
        let cookie = set_cookie(&reply).expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        let start_id = fixture.send_raw("GET", "/auth/start-id", "", b"").await.1;
        let start_id = start_id.split_once("\r\n\r\n").expect("a body").1;
        let key = body_of(&reply)["pageKey"].as_str().expect("a key").to_owned();
        PhonePage { cookie, proof: page_proof(&format!("https://{NAME}"), start_id, &key) }
    }
}

/// A signed-in page.
struct PhonePage {
    cookie: String,
    proof: String,
}

impl PhonePage {
    fn headers(&self) -> String {
        format!("Cookie: {}\r\nRouse-Page: {}\r\n", self.cookie, self.proof)
    }

    async fn call(&self, fixture: &GatewayFixture, method: &str, params: Value) -> (u16, Value) {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, reply) = post(fixture, "/rpc", &self.headers(), &request).await;
        (status, if status == 200 { body_of(&reply) } else { Value::Null })
    }

    async fn status(&self, fixture: &GatewayFixture) -> u16 {
        self.call(fixture, "cron.status", json!({})).await.0
    }

    async fn socket(&self, fixture: &GatewayFixture) -> WebSocketStream<TcpStream> {
        let address = format!("127.0.0.1:{}", fixture.port());
        let url = format!("ws://{address}/ws?after=0&page={}", self.proof);
        let mut request = url.into_client_request().expect("a request");
        let headers = request.headers_mut();
        headers.insert("host", NAME.parse().expect("a header"));
        headers.insert("origin", format!("https://{NAME}").parse().expect("a header"));
        headers.insert("cookie", self.cookie.parse().expect("a header"));
        let stream = TcpStream::connect(address).await.expect("a connection");
        tokio_tungstenite::client_async(request, stream).await.expect("a socket").0
    }
}

/// Posts JSON to the name of the proxy.
async fn post(fixture: &GatewayFixture, path: &str, headers: &str, body: &Value) -> (u16, String) {
    let headers = format!("Content-Type: application/json\r\nOrigin: https://{NAME}\r\n{headers}");
    fixture.send_to(NAME, ("POST", path), &headers, body.to_string().as_bytes()).await
}

fn body_of(reply: &str) -> Value {
    let body = reply.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {reply}"))
}

fn set_cookie(reply: &str) -> Option<&str> {
    reply.lines().find_map(|line| line.strip_prefix("set-cookie: "))
}

async fn pairing_code(fixture: &GatewayFixture, scope: DeviceScope) -> String {
    let pairing = fixture.call("devices.pair", json!({ "scope": scope })).await;
    let url = pairing["links"][0]["url"].as_str().expect("a link");
    url.strip_prefix(&format!("https://{NAME}/#pair=")).expect("a code").to_owned()
}

/// The end of a socket.
async fn is_closed(mut socket: WebSocketStream<TcpStream>) -> bool {
    let end = async {
        while let Some(Ok(message)) = socket.next().await {
            drop(message)
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), end).await.is_ok()
}

#[tokio::test]
async fn device_signs_in_at_a_name_with_a_secure_cookie() {
    let fixture = GatewayFixture::new().await;
    let phone = Phone::paired(&fixture, "phone", DeviceScope::Read).await;
    let (status, reply) = phone.sign_in(&fixture).await;
    assert_eq!(status, 200, "{reply}");
    let (pair, attributes) =
        set_cookie(&reply).expect("a cookie").split_once("; ").expect("attributes");
    assert!(pair.starts_with("__Host-rouse_session="), "{pair}");
    assert_eq!(attributes, "Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200");
    assert_eq!(body_of(&reply)["scope"], "read");
    let page = phone.page(&fixture).await;
    assert_eq!(page.status(&fixture).await, 200);
    fixture.stop().await;
}

#[tokio::test]
async fn device_session_needs_the_proof_of_its_origin() {
    let fixture = GatewayFixture::new().await;
    let phone = Phone::paired(&fixture, "phone", DeviceScope::Write).await;
    let (page, other) = (phone.page(&fixture).await, phone.page(&fixture).await);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "cron.status" });
    let stolen = format!("Cookie: {}\r\n", page.cookie);
    assert_eq!(post(&fixture, "/rpc", &stolen, &call).await.0, 401, "the cookie alone");
    let mixed = format!("Cookie: {}\r\nRouse-Page: {}\r\n", page.cookie, other.proof);
    assert_eq!(post(&fixture, "/rpc", &mixed, &call).await.0, 401, "of another session");
    let session = page.cookie.split_once('=').expect("a pair").1;
    let local = format!(
        "Cookie: rouse_session_{}={session}\r\nRouse-Page: {}\r\n",
        fixture.port(),
        page.proof
    );
    assert_eq!(fixture.post("/rpc", &local, &call).await.0, 401, "relayed to loopback");
    fixture.stop().await;
}

#[tokio::test]
async fn proxy_headers_are_no_identity() {
    let fixture = GatewayFixture::new().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "cron.status" });
    let forged = "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\n\
                  Tailscale-User-Login: anna@example.org\r\nX-Forwarded-User: anna\r\n";
    assert_eq!(post(&fixture, "/rpc", forged, &call).await.0, 401);
    let forged = format!("{forged}X-Forwarded-Host: {NAME}\r\nContent-Type: application/json\r\n");
    let body = call.to_string();
    let (status, _) =
        fixture.send_to("evil.example", ("POST", "/rpc"), &forged, body.as_bytes()).await;
    assert_eq!(status, 403);
    fixture.stop().await;
}

#[tokio::test]
async fn code_of_rouse_open_is_refused_at_a_name() {
    let fixture = GatewayFixture::new().await;
    let url = fixture.client.sign_in_url("/").await.expect("a URL");
    let code = json!({ "code": url.split_once("#code=").expect("a code").1 });
    let (status, reply) = post(&fixture, "/auth/exchange", "", &code).await;
    assert_eq!((status, set_cookie(&reply)), (403, None));
    assert_eq!(fixture.post("/auth/exchange", "", &code).await.0, 200, "the code is unused");
    fixture.stop().await;
}

#[tokio::test]
async fn device_calls_exactly_the_methods_of_its_scope() {
    let fixture = GatewayFixture::new().await;
    for (scope, highest) in [
        (DeviceScope::Read, MethodScope::Read),
        (DeviceScope::Approve, MethodScope::Approve),
        (DeviceScope::Write, MethodScope::Write),
    ] {
        let phone = Phone::paired(&fixture, scope.name(), scope).await;
        let page = phone.page(&fixture).await;
        for (method, needed) in METHOD_SCOPES {
            // No method accepts a text, so an allowed call fails at its parameters and does nothing.
            let (status, reply) = page.call(&fixture, method, json!("no parameters")).await;
            let code = reply["error"]["code"].as_i64();
            let expected = if *needed <= highest {
                ErrorCode::InvalidParams.number()
            } else {
                ErrorCode::Forbidden.number()
            };
            assert_eq!((status, code), (200, Some(expected)), "{method} with {scope:?}: {reply}");
        }
    }
    fixture.stop().await;
}

#[tokio::test]
async fn decision_on_a_device_is_stored_with_its_name() {
    let fixture = GatewayFixture::new().await;
    let job = fixture.add("Tidy").await["id"].as_str().expect("an id").to_owned();
    let phone = Phone::paired(&fixture, "Anna's phone", DeviceScope::Approve).await;
    let page = phone.page(&fixture).await;
    let approval = park_run(&fixture, &JobId::new(job), true).await;
    let id = approval.id.as_str();
    // A device cannot claim another surface.
    let decision = json!({ "id": id, "decision": { "kind": "once" }, "from": "cli" });
    let (_, reply) = page.call(&fixture, "approvals.decide", decision).await;
    let decided = &reply["result"]["approval"];
    assert_eq!(
        (&decided["state"], &decided["decidedFrom"], &decided["decidedBy"]),
        (&json!("approved"), &json!("page"), &json!("Anna's phone")),
        "{reply}"
    );
    fixture.stop().await;
}

#[test]
fn protected_method_is_never_for_a_device() {
    let is_protected = |method: &str| {
        let prefixes = ["devices.", "mcpAccess."];
        let methods =
            ["config.patch", "cron.webhook", "extensions.install", "secrets.set", "secrets.remove"];
        prefixes.iter().any(|prefix| method.starts_with(prefix)) || methods.contains(&method)
    };
    let protected: Vec<_> = METHOD_SCOPES.iter().filter(|(name, _)| is_protected(name)).collect();
    assert_eq!(protected.len(), 11);
    assert!(protected.iter().all(|(_, scope)| *scope == MethodScope::Admin), "{protected:?}");
}

#[tokio::test]
async fn revocation_closes_the_socket_and_ends_the_session() {
    let fixture = GatewayFixture::new().await;
    let [lost, kept] = ["lost", "kept"].map(|name| (name, DeviceScope::Read));
    let (lost, kept) = (
        Phone::paired(&fixture, lost.0, lost.1).await,
        Phone::paired(&fixture, kept.0, kept.1).await,
    );
    let (lost_page, kept_page) = (lost.page(&fixture).await, kept.page(&fixture).await);
    let socket = lost_page.socket(&fixture).await;
    let revoked = fixture.call("devices.revoke", json!({ "id": lost.id })).await;
    assert_eq!(revoked["changed"], true);
    assert!(is_closed(socket).await, "the open socket");
    assert_eq!(lost_page.status(&fixture).await, 401);
    assert_eq!(lost.sign_in(&fixture).await.0, 401);
    assert_eq!(kept_page.status(&fixture).await, 200, "the other device");
    let listed = fixture.call("devices.list", json!({})).await;
    assert_eq!(listed["devices"].as_array().map(Vec::len), Some(1), "{listed}");
    fixture.stop().await;
}

#[tokio::test]
async fn expired_device_session_gets_no_more_events() {
    let fixture = GatewayFixture::new().await;
    let phone = Phone::paired(&fixture, "phone", DeviceScope::Read).await;
    let page = phone.page(&fixture).await;
    let socket = page.socket(&fixture).await;
    fixture.clock.advance(12 * HOUR_MS);
    assert_eq!(page.status(&fixture).await, 401);
    fixture.add("an event").await;
    assert!(is_closed(socket).await);
    assert_eq!(phone.page(&fixture).await.status(&fixture).await, 200, "a new signature");
    fixture.stop().await;
}

#[tokio::test]
async fn wrong_codes_do_not_block_the_owner() {
    let fixture = GatewayFixture::new().await;
    let code = pairing_code(&fixture, DeviceScope::Read).await;
    for _ in 0..50 {
        let wrong = json!({ "code": "guess" });
        assert_eq!(post(&fixture, "/auth/pairing", "", &wrong).await.0, 401);
    }
    let (status, offer) = post(&fixture, "/auth/pairing", "", &json!({ "code": code })).await;
    assert_eq!((status, &body_of(&offer)["scope"]), (200, &json!("read")));
    fixture.stop().await;
}
