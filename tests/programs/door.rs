//! Nobody gets in who should not: every method and every route, with every disguise.

use std::net::TcpStream;

use rouse_gateway::METHODS;
use serde_json::json;

use crate::engine::Home;
use crate::http::{Reply, Request};
use crate::probes::{Stage, rpc};

/// What somebody tries, and how it has to end.
struct Disguise {
    name: &'static str,
    status: u16,
    put_on: Box<dyn Fn(Request) -> Request>,
}

impl Disguise {
    fn new(name: &'static str, status: u16, put_on: impl Fn(Request) -> Request + 'static) -> Self {
        Self { name, status, put_on: Box::new(put_on) }
    }
}

/// Those who do not know the token. The request they change carries it.
fn without_the_token(token: &str, address: &str) -> Vec<Disguise> {
    let port = address.rsplit(':').next().expect("a port");
    let cookie = format!("rouse_session_{port}");
    let [as_session, twice, empty] =
        [format!("{cookie}={token}"), format!("{cookie}=1; {cookie}=2"), format!("{cookie}=; x")];
    let wrong: String = token.chars().rev().collect();
    let (shorter, longer) = (token[..63].to_owned(), format!("{token}0"));
    let (basic, bare) = (format!("Basic {token}"), token.to_owned());
    vec![
        Disguise::new("no token", 401, |request| request.without("Authorization")),
        Disguise::new("another token", 401, move |request| request.token(&wrong)),
        Disguise::new("the beginning of the token", 401, move |request| request.token(&shorter)),
        Disguise::new("more than the token", 401, move |request| request.token(&longer)),
        Disguise::new("an empty token", 401, |request| request.token("")),
        Disguise::new("the token as a password", 401, move |request| {
            request.with("Authorization", &basic)
        }),
        Disguise::new("the token without its scheme", 401, move |request| {
            request.with("Authorization", &bare)
        }),
        Disguise::new("the token as a session", 401, move |request| {
            request.without("Authorization").with("Cookie", &as_session)
        }),
        Disguise::new("a guessed session", 401, move |request| {
            request.without("Authorization").with("Cookie", &twice)
        }),
        Disguise::new("an empty session", 401, move |request| {
            request.without("Authorization").with("Cookie", &empty)
        }),
    ]
}

/// Those who come through a browser of somebody who may.
fn from_elsewhere(address: &str) -> Vec<Disguise> {
    let port = address.rsplit(':').next().expect("a port").to_owned();
    let rebound =
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1].evil.example"];
    let mut disguises: Vec<Disguise> = rebound
        .iter()
        .map(|name| {
            let host = format!("{name}:{port}");
            Disguise::new("a name that was rebound", 403, move |request| {
                request.with("Host", &host)
            })
        })
        .collect();
    let own = address.to_owned();
    let other_names = [
        format!("http://localhost:{port}"),
        format!("https://{address}"),
        "http://127.0.0.1:1".to_owned(),
    ];
    disguises.extend(other_names.map(|origin| {
        Disguise::new("a page of another server here", 403, move |request| {
            request.with("Origin", &origin)
        })
    }));
    disguises.extend([
        Disguise::new("a host without its port", 403, |request| request.with("Host", "127.0.0.1")),
        Disguise::new("a host with another port", 403, |request| {
            request.with("Host", "127.0.0.1:1")
        }),
        Disguise::new("no host", 403, |request| request.with("Host", "")),
        Disguise::new("a foreign page", 403, |request| {
            request.with("Origin", "https://evil.example")
        }),
        Disguise::new("a page in a sandbox", 403, |request| request.with("Origin", "null")),
        Disguise::new("an empty origin", 403, |request| request.with("Origin", "")),
        Disguise::new("our origin and theirs", 403, move |request| {
            request.with("Origin", &format!("http://{own}")).and("Origin", "https://evil.example")
        }),
        Disguise::new("a script of a foreign page", 403, |request| {
            request.with("Sec-Fetch-Site", "cross-site").with("Sec-Fetch-Mode", "no-cors")
        }),
        Disguise::new("a script of a neighbour", 403, |request| {
            request.with("Sec-Fetch-Site", "same-site").with("Sec-Fetch-Mode", "cors")
        }),
    ]);
    disguises
}

/// Those who send what a form of a foreign page can send.
fn as_a_form() -> Vec<Disguise> {
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "",
    ]
    .map(|kind| Disguise::new("a form", 415, move |request| request.with("Content-Type", kind)))
    .into_iter()
    .chain([Disguise::new("no kind of content", 415, |request| request.without("Content-Type"))])
    .collect()
}

#[track_caller]
fn assert_refused(disguise: &Disguise, what: &str, reply: &Reply) {
    assert_eq!(reply.status, disguise.status, "{what} as {}: {reply:#?}", disguise.name);
    assert!(!reply.body.contains("jsonrpc"), "{what} as {}: {reply:#?}", disguise.name);
    assert_no_cors(reply);
}

/// A page of another origin can read nothing, not even a refusal.
#[track_caller]
fn assert_no_cors(reply: &Reply) {
    assert!(reply.headers().all(|name| !name.starts_with("access-control-")), "{reply:#?}");
}

#[tokio::test]
async fn no_method_lets_a_stranger_in() {
    let home = Home::new();
    let stage = Stage::set(&home).await;
    let (address, token) = (stage.engine.address.clone(), stage.engine.token());
    let disguises: Vec<Disguise> =
        [without_the_token(&token, &address), from_elsewhere(&address), as_a_form()]
            .into_iter()
            .flatten()
            .collect();
    let before = stage.state().await;
    for (method, request) in stage.requests() {
        let call = Request::post(&address, "/rpc", &request).token(&token);
        for disguise in &disguises {
            assert_refused(disguise, method, &(disguise.put_on)(call.clone()).send());
        }
    }
    assert_eq!(stage.state().await, before, "a refused request did something");
    // The very same requests do their work for who may: what was refused above was worth refusing.
    // There is no Ollama here to pull into.
    for (method, request) in stage.requests().into_iter().filter(|(name, _)| *name != "models.pull")
    {
        let reply = Request::post(&address, "/rpc", &request).token(&token).send();
        assert_eq!(reply.status, 200, "{method}: {reply:#?}");
        assert!(reply.json().get("result").is_some(), "{method}: {reply:#?}");
        assert_no_cors(&reply);
    }
    assert_ne!(stage.state().await, before);
}

#[tokio::test]
async fn no_method_can_be_called_by_an_address() {
    let home = Home::new();
    let stage = Stage::set(&home).await;
    let (address, token) = (stage.engine.address.clone(), stage.engine.token());
    let before = stage.state().await;
    for method in METHODS {
        let paths = [
            format!("/rpc?method={method}&token={token}"),
            format!("/rpc/{method}"),
            format!("/{method}?access_token={token}"),
        ];
        for path in paths {
            let reply = Request::new(&address, "GET", &path).token(&token).send();
            let is_page =
                reply.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
            assert!(reply.status == 405 || reply.status == 404 || is_page, "{path}: {reply:#?}");
            assert!(!reply.body.contains("jsonrpc"), "{path}: {reply:#?}");
        }
    }
    for verb in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        for path in ["/rpc", "/auth/code", "/auth/exchange"] {
            let reply = Request::new(&address, verb, path).token(&token).send();
            assert_eq!(reply.status, 405, "{verb} {path}: {reply:#?}");
            assert_no_cors(&reply);
        }
    }
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn no_route_answers_a_foreign_page_or_a_rebound_name() {
    let home = Home::new();
    let engine = home.serve().await;
    let token = engine.token();
    let rpc = rpc("cron.status", &json!({}));
    let routes = [
        Request::post(&engine.address, "/rpc", &rpc),
        Request::post(&engine.address, "/auth/code", &json!({})),
        Request::post(&engine.address, "/auth/exchange", &json!({ "code": "x" })),
        Request::upgrade(&engine.address, "/ws"),
        Request::upgrade(&engine.address, "/ws?after=0"),
        Request::new(&engine.address, "GET", "/healthz"),
        Request::new(&engine.address, "GET", "/"),
        Request::new(&engine.address, "GET", "/index.html"),
        Request::new(&engine.address, "GET", "/jobs/new"),
        Request::new(&engine.address, "GET", "/assets/nothing.js"),
        Request::new(&engine.address, "OPTIONS", "/rpc"),
    ];
    for route in routes {
        for disguise in from_elsewhere(&engine.address) {
            let reply = (disguise.put_on)(route.clone().token(&token)).send();
            assert_refused(&disguise, &format!("{route:?}"), &reply);
        }
    }
}

#[tokio::test]
async fn no_socket_is_opened_for_a_stranger() {
    let home = Home::new();
    let engine = home.serve().await;
    let token = engine.token();
    let upgrade = Request::upgrade(&engine.address, "/ws").token(&token);
    for disguise in without_the_token(&token, &engine.address)
        .into_iter()
        .chain(from_elsewhere(&engine.address))
    {
        assert_refused(&disguise, "a socket", &(disguise.put_on)(upgrade.clone()).send());
    }
    let in_query = Request::upgrade(&engine.address, &format!("/ws?token={token}")).send();
    assert_eq!(in_query.status, 401, "{in_query:#?}");
    assert_eq!(upgrade.send().status, 101, "and for who may, it is");
}

#[tokio::test]
async fn the_page_is_for_everybody_and_says_nothing() {
    let home = Home::new();
    let engine = home.serve().await;
    engine.add(crate::probes::echo("Secret plan")).await;
    for path in [
        "/",
        "/jobs",
        "/../../etc/passwd",
        "/assets/..%2f..%2fgateway.token",
        "/gateway.token",
        "/rouse.db",
    ] {
        let reply = Request::new(&engine.address, "GET", path).send();
        for secret in [engine.token().as_str(), "Secret plan", "root:", "SQLite"] {
            assert!(!reply.body.contains(secret), "{path}: {reply:#?}");
        }
        let policy = reply.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {reply:#?}"
        );
        assert!(!policy.contains("script-src 'self' 'unsafe"), "{path}: {reply:#?}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_no_cors(&reply);
    }
    assert_eq!(Request::new(&engine.address, "GET", "/healthz").send().body, "ok");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_that_of_a_stranger_is_not_read() {
    let home = Home::new();
    let stage = Stage::set(&home).await;
    let address = &stage.engine.address;
    let before = stage.state().await;
    let huge = vec![b' '; 21 * 1024 * 1024];
    let call = Request::post(address, "/rpc", &json!({})).body(huge);
    assert_eq!(call.clone().token(&stage.engine.token()).send().status, 413);
    assert_eq!(call.send().status, 401);
    let exchange = Request::post(address, "/auth/exchange", &json!({})).body(vec![b' '; 2_000]);
    assert_eq!(exchange.send().status, 413, "nobody has signed in yet");
    // Only announced, never sent: the refusal has to come without it.
    let announced =
        Request::post(address, "/rpc", &json!({})).body("").with("Content-Length", "1000000");
    assert_eq!(announced.send().status, 401);
    let form = announced.token(&stage.engine.token()).with("Content-Type", "text/plain");
    assert_eq!(form.send().status, 415);
    assert_eq!(stage.state().await, before);
}

#[tokio::test]
async fn half_a_request_holds_nobody_up() {
    let home = Home::new();
    let stage = Stage::set(&home).await;
    let request = rpc("cron.add", &crate::probes::echo("Half"));
    let known = Request::post(&stage.engine.address, "/rpc", &request).token(&stage.engine.token());
    let unknown = Request::post(&stage.engine.address, "/rpc", &request);
    let before = stage.state().await;
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..40 {
        open.push(unknown.send_part(10));
        open.push(unknown.send_part(unknown.head_length() - 2));
        open.push(known.send_part(known.head_length() + 20));
    }
    assert_eq!(
        stage.state().await,
        before,
        "others are answered, and no half request did anything"
    );
    assert_eq!(known.send().status, 200);
    home.rouse(["cron", "list"]).ok();
    drop(open);
    assert_eq!(
        stage.engine.call("cron.list", json!({})).await["jobs"].as_array().map(Vec::len),
        Some(5)
    );
}
