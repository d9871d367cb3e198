//! Browser sign-in: a single-use code, a cookie that scripts cannot read, and a page key that other local servers
//! cannot see.

use futures_util::{SinkExt as _, StreamExt as _};
use rouse_gateway::{Client, page_proof};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderName;

use crate::engine::{EngineProcess, TestHome};
use crate::http::{HttpReply, Request};
use crate::probes::rpc;

/// A socket with this header.
pub(crate) async fn socket_with(
    engine: &EngineProcess<'_>,
    query: &str,
    (name, value): (&'static str, &str),
) -> WebSocketStream<TcpStream> {
    let mut request =
        format!("ws://{}/ws{query}", engine.address).into_client_request().expect("a request");
    request.headers_mut().insert(HeaderName::from_static(name), value.parse().expect("a header"));
    let stream = TcpStream::connect(&engine.address).await.expect("the engine listens");
    tokio_tungstenite::client_async(request, stream).await.expect("a socket").0
}

fn exchange_code(engine: &EngineProcess<'_>, code: &str) -> HttpReply {
    Request::post(&engine.address, "/auth/exchange", &json!({ "code": code }))
        .with("Origin", &format!("http://{}", engine.address))
        .send()
}

/// The code in an address of `rouse open --print`.
fn code_of(address: &str) -> String {
    address.trim().split_once("#code=").expect("a code behind the #").1.to_owned()
}

/// A signed-in browser page.
struct PageSession {
    /// The cookie as sent back.
    cookie: String,
    key: String,
}

impl PageSession {
    fn of(reply: &HttpReply) -> Self {
        let set = reply.header("set-cookie").expect("a cookie");
        let cookie = set.split(';').next().expect("a pair").to_owned();
        Self { cookie, key: reply.json()["pageKey"].as_str().expect("a key").to_owned() }
    }

    /// The proof for the current engine process.
    fn proof(&self, engine: &EngineProcess<'_>) -> String {
        let start_id = Request::new(&engine.address, "GET", "/auth/start-id").send().body;
        page_proof(&format!("http://{}", engine.address), &start_id, &self.key)
    }

    /// The cookie under its name at the port of this engine.
    fn cookie_at(&self, engine: &EngineProcess<'_>) -> String {
        let (_, session) = self.cookie.split_once('=').expect("a pair");
        let port = engine.address.rsplit(':').next().expect("a port");
        format!("rouse_session_{port}={session}")
    }

    fn authenticated(&self, engine: &EngineProcess<'_>, request: Request) -> Request {
        request.with("Cookie", &self.cookie_at(engine)).with("Rouse-Page", &self.proof(engine))
    }
}

#[tokio::test]
async fn sign_in_code_works_once_and_sets_strict_cookie() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let address = home.rouse(["open", "--print", "/runs"]).ok().to_owned();
    assert!(address.starts_with(&format!("http://{}/runs#code=", engine.address)), "{address}");
    assert!(!address.contains(&engine.token()), "the token is never in an address");
    let code = code_of(&address);
    let signed_in = exchange_code(&engine, &code);
    assert_eq!(signed_in.status, 200);
    assert!(!signed_in.body.contains(&engine.token()), "{}", signed_in.body);
    let cookie = signed_in.header("set-cookie").expect("a cookie").to_owned();
    let attributes: Vec<&str> = cookie.split("; ").skip(1).collect();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(attributes.contains(&attribute), "{cookie}");
    }
    assert!(!attributes.iter().any(|attribute| attribute.starts_with("Domain")), "{cookie}");
    assert!(!cookie.contains(&engine.token()) && !cookie.contains(&code), "{cookie}");
    let again = exchange_code(&engine, &code);
    assert_eq!(again.status, 401, "{again:#?}");
    assert_eq!(again.header("set-cookie"), None);
}

#[tokio::test]
async fn wrong_sign_in_code_is_refused() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let good = code_of(home.rouse(["open", "--print"]).ok());
    let half = &good[..32];
    for code in
        ["", "0", half, &engine.token(), &"0".repeat(64), &good.to_uppercase(), &format!("{good} ")]
    {
        let reply = exchange_code(&engine, code);
        assert_eq!((reply.status, reply.header("set-cookie")), (401, None), "{code}");
    }
    for body in [
        json!(null),
        json!([good]),
        json!({ "code": [good] }),
        json!({ "Code": good }),
        json!(good),
    ] {
        let reply = Request::post(&engine.address, "/auth/exchange", &body).send();
        assert_eq!((reply.status, reply.header("set-cookie")), (401, None), "{body}");
    }
    let form = Request::new(&engine.address, "POST", "/auth/exchange")
        .with("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("code={good}"));
    assert_eq!(form.send().status, 415);
    assert_eq!(exchange_code(&engine, &good).status, 200, "refused codes do not consume the code");
}

#[tokio::test]
async fn page_session_opens_rpc_and_socket_only() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let page =
        PageSession::of(&exchange_code(&engine, &code_of(home.rouse(["open", "--print"]).ok())));
    let cookie = page.cookie.clone();
    let own = format!("http://{}", engine.address);
    let status = rpc("system.status", &json!({}));
    let call = Request::post(&engine.address, "/rpc", &status).with("Origin", &own);
    let call = page.authenticated(&engine, call);
    assert!(call.send().json()["result"]["pid"].is_number());
    let beside_others = call.clone().with("Cookie", &format!("theme=dark; {cookie}; x=y"));
    assert_eq!(beside_others.send().status, 200);

    let in_address = format!("?page={}", page.proof(&engine));
    let mut socket = socket_with(&engine, &in_address, ("cookie", &cookie)).await;
    socket.send(Message::text(status.to_string())).await.expect("sent");
    let answer = socket.next().await.expect("an answer").expect("a message");
    let answer: Value = serde_json::from_str(answer.to_text().expect("text")).expect("JSON");
    assert_eq!(answer["result"]["pid"], engine.pid());

    let foreign = call.clone().with("Origin", "https://evil.example").send();
    assert_eq!(foreign.status, 403, "a foreign page with the cookie");
    let upgrade = Request::upgrade(&engine.address, "/ws").with("Cookie", &cookie);
    assert_eq!(upgrade.clone().send().status, 401, "the cookie alone is not enough");
    let upgrade = page.authenticated(&engine, upgrade);
    assert_eq!(upgrade.with("Origin", "https://evil.example").send().status, 403);
    let another = Request::post(&engine.address, "/auth/code", &json!({}));
    assert_eq!(
        page.authenticated(&engine, another).send().status,
        401,
        "a session makes no more sessions"
    );
    let wrong_token = call.token("wrong").send();
    assert_eq!(wrong_token.status, 401, "a token has priority over the cookie");
}

#[tokio::test]
async fn page_session_survives_restart_but_not_new_token() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let page =
        PageSession::of(&exchange_code(&engine, &code_of(home.rouse(["open", "--print"]).ok())));
    let shown_before = page.proof(&engine);
    let unused = code_of(home.rouse(["open", "--print"]).ok());
    assert!(engine.stop().success());
    let engine = home.serve().await;
    let list = |engine: &EngineProcess<'_>| {
        let call = Request::post(&engine.address, "/rpc", &rpc("cron.list", &json!({})));
        page.authenticated(engine, call).send().status
    };
    assert_eq!(list(&engine), 200);
    let replayed = Request::post(&engine.address, "/rpc", &rpc("cron.list", &json!({})));
    let replayed =
        replayed.with("Cookie", &page.cookie_at(&engine)).with("Rouse-Page", &shown_before);
    assert_eq!(replayed.send().status, 401, "the proof of an earlier process");
    assert_eq!(exchange_code(&engine, &unused).status, 401, "a code does not survive");
    assert!(engine.stop().success());
    std::fs::remove_file(Client::token_path(&home.data())).expect("the token");
    assert_eq!(list(&home.serve().await), 401);
}

#[tokio::test]
async fn page_session_cannot_attach_as_screen() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let address = home.rouse(["open", "--print"]).ok().to_owned();
    let page = PageSession::of(&exchange_code(&engine, &code_of(&address)));
    let as_page = |path: &str| page.authenticated(&engine, Request::upgrade(&engine.address, path));
    assert_eq!(as_page("/ws").send().status, 101, "listening is allowed");
    assert_eq!(as_page("/ws?screen=true").send().status, 403);
    let status = engine.call("system.status", json!({})).await;
    assert_eq!(status["notifications"]["available"], false);
    let program = Request::upgrade(&engine.address, "/ws?screen=true").token(&engine.token());
    assert_eq!(program.send().status, 101);
}
