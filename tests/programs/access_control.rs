//! Access control: every method and route with invalid credentials, foreign origins and form content types.

use std::net::TcpStream;

use rouse_gateway::METHODS;
use serde_json::json;

use crate::engine::TestHome;
use crate::http::{HttpReply, Request};
use crate::probes::{ProbeEngine, rpc};

/// A modified request and the expected status.
struct RequestVariant {
    name: &'static str,
    status: u16,
    apply: Box<dyn Fn(Request) -> Request>,
}

impl RequestVariant {
    fn new(name: &'static str, status: u16, apply: impl Fn(Request) -> Request + 'static) -> Self {
        Self { name, status, apply: Box::new(apply) }
    }
}

/// Requests without the valid token. Each replaces the token of the original request.
fn wrong_credentials(token: &str, address: &str) -> Vec<RequestVariant> {
    let port = address.rsplit(':').next().expect("a port");
    let cookie = format!("rouse_session_{port}");
    let [as_session, twice, empty] =
        [format!("{cookie}={token}"), format!("{cookie}=1; {cookie}=2"), format!("{cookie}=; x")];
    let wrong: String = token.chars().rev().collect();
    let (shorter, longer) = (token[..63].to_owned(), format!("{token}0"));
    let (basic, bare) = (format!("Basic {token}"), token.to_owned());
    vec![
        RequestVariant::new("no token", 401, |request| request.without("Authorization")),
        RequestVariant::new("another token", 401, move |request| request.token(&wrong)),
        RequestVariant::new("the beginning of the token", 401, move |request| {
            request.token(&shorter)
        }),
        RequestVariant::new("more than the token", 401, move |request| request.token(&longer)),
        RequestVariant::new("an empty token", 401, |request| request.token("")),
        RequestVariant::new("the token as a password", 401, move |request| {
            request.with("Authorization", &basic)
        }),
        RequestVariant::new("the token without its scheme", 401, move |request| {
            request.with("Authorization", &bare)
        }),
        RequestVariant::new("the token as a session", 401, move |request| {
            request.without("Authorization").with("Cookie", &as_session)
        }),
        RequestVariant::new("a guessed session", 401, move |request| {
            request.without("Authorization").with("Cookie", &twice)
        }),
        RequestVariant::new("an empty session", 401, move |request| {
            request.without("Authorization").with("Cookie", &empty)
        }),
    ]
}

/// Requests with a valid token from a foreign page or through a rebound name.
fn foreign_origins(address: &str) -> Vec<RequestVariant> {
    let port = address.rsplit(':').next().expect("a port").to_owned();
    let rebound_names =
        ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1].evil.example"];
    let mut variants: Vec<RequestVariant> = rebound_names
        .iter()
        .map(|name| {
            let host = format!("{name}:{port}");
            RequestVariant::new("a name that was rebound", 403, move |request| {
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
    variants.extend(other_names.map(|origin| {
        RequestVariant::new("a page of another server here", 403, move |request| {
            request.with("Origin", &origin)
        })
    }));
    variants.extend([
        RequestVariant::new("a host without its port", 403, |request| {
            request.with("Host", "127.0.0.1")
        }),
        RequestVariant::new("a host with another port", 403, |request| {
            request.with("Host", "127.0.0.1:1")
        }),
        RequestVariant::new("no host", 403, |request| request.with("Host", "")),
        RequestVariant::new("a foreign page", 403, |request| {
            request.with("Origin", "https://evil.example")
        }),
        RequestVariant::new("a page in a sandbox", 403, |request| request.with("Origin", "null")),
        RequestVariant::new("an empty origin", 403, |request| request.with("Origin", "")),
        RequestVariant::new("our origin and theirs", 403, move |request| {
            request.with("Origin", &format!("http://{own}")).and("Origin", "https://evil.example")
        }),
        RequestVariant::new("a script of a foreign page", 403, |request| {
            request.with("Sec-Fetch-Site", "cross-site").with("Sec-Fetch-Mode", "no-cors")
        }),
        RequestVariant::new("a script of a neighbour", 403, |request| {
            request.with("Sec-Fetch-Site", "same-site").with("Sec-Fetch-Mode", "cors")
        }),
    ]);
    variants
}

/// Requests with content types that a form of a foreign page can send.
fn form_content_types() -> Vec<RequestVariant> {
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "",
    ]
    .map(|kind| {
        RequestVariant::new("a form", 415, move |request| request.with("Content-Type", kind))
    })
    .into_iter()
    .chain([RequestVariant::new("no kind of content", 415, |request| {
        request.without("Content-Type")
    })])
    .collect()
}

#[track_caller]
fn assert_refused(variant: &RequestVariant, subject: &str, reply: &HttpReply) {
    assert_eq!(reply.status, variant.status, "{subject} as {}: {reply:#?}", variant.name);
    assert!(!reply.body.contains("jsonrpc"), "{subject} as {}: {reply:#?}", variant.name);
    assert_no_cors(reply);
}

/// A page of another origin must not read any reply.
#[track_caller]
fn assert_no_cors(reply: &HttpReply) {
    assert!(reply.headers().all(|name| !name.starts_with("access-control-")), "{reply:#?}");
}

#[tokio::test]
async fn method_without_valid_credentials_is_refused() {
    let home = TestHome::new();
    let probe = ProbeEngine::start(&home).await;
    let (address, token) = (probe.engine.address.clone(), probe.engine.token());
    let variants: Vec<RequestVariant> =
        [wrong_credentials(&token, &address), foreign_origins(&address), form_content_types()]
            .into_iter()
            .flatten()
            .collect();
    let before = probe.state().await;
    for (method, request) in probe.requests() {
        let call = Request::post(&address, "/rpc", &request).token(&token);
        for variant in &variants {
            assert_refused(variant, method, &(variant.apply)(call.clone()).send());
        }
    }
    assert_eq!(probe.state().await, before, "a refused request did something");
    // The same requests with valid credentials succeed, so the refusals above matter. `models.pull` needs an Ollama,
    // most methods of extensions need an MCP server, skills come from a registry, pairings need a bot, no call kept a
    // file, and no tool was built.
    let without_server = ["extensions.list", "extensions.preview", "extensions.verify"];
    let needs_server =
        |name: &str| name.starts_with("extensions.") && !without_server.contains(&name);
    let needs_more = [
        "models.pull",
        "skills.search",
        "skills.download",
        "runs.attachment",
        "channels.pair",
        "channels.pairing",
        "channels.confirmPairing",
        "tools.source",
        "tools.check",
    ];
    for (method, request) in probe.requests() {
        if needs_more.contains(&method) || needs_server(method) {
            continue;
        }
        let reply = Request::post(&address, "/rpc", &request).token(&token).send();
        assert_eq!(reply.status, 200, "{method}: {reply:#?}");
        assert!(reply.json().get("result").is_some(), "{method}: {reply:#?}");
        assert_no_cors(&reply);
    }
    assert_ne!(probe.state().await, before);
}

#[tokio::test]
async fn method_in_url_is_not_called() {
    let home = TestHome::new();
    let probe = ProbeEngine::start(&home).await;
    let (address, token) = (probe.engine.address.clone(), probe.engine.token());
    let before = probe.state().await;
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
    assert_eq!(probe.state().await, before);
}

#[tokio::test]
async fn route_refuses_foreign_origin_and_rebound_host() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let token = engine.token();
    let rpc = rpc("cron.status", &json!({}));
    let routes = [
        Request::post(&engine.address, "/rpc", &rpc),
        Request::post(&engine.address, "/auth/code", &json!({})),
        Request::post(&engine.address, "/auth/exchange", &json!({ "code": "x" })),
        Request::post(&engine.address, "/auth/pairing", &json!({ "code": "x" })),
        Request::post(&engine.address, "/auth/pair", &json!({ "code": "x" })),
        Request::post(&engine.address, "/auth/challenge", &json!({ "device": "x" })),
        Request::post(&engine.address, "/auth/sign-in", &json!({ "device": "x" })),
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
        for variant in foreign_origins(&engine.address) {
            let reply = (variant.apply)(route.clone().token(&token)).send();
            assert_refused(&variant, &format!("{route:?}"), &reply);
        }
    }
}

#[tokio::test]
async fn socket_without_valid_credentials_is_refused() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let token = engine.token();
    let upgrade = Request::upgrade(&engine.address, "/ws").token(&token);
    for variant in wrong_credentials(&token, &engine.address)
        .into_iter()
        .chain(foreign_origins(&engine.address))
    {
        assert_refused(&variant, "a socket", &(variant.apply)(upgrade.clone()).send());
    }
    let in_query = Request::upgrade(&engine.address, &format!("/ws?token={token}")).send();
    assert_eq!(in_query.status, 401, "{in_query:#?}");
    assert_eq!(upgrade.send().status, 101, "valid credentials open the socket");
}

#[tokio::test]
async fn page_without_credentials_leaks_nothing() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(crate::probes::echo("Secret plan")).await;
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
async fn large_body_is_refused_and_unauthenticated_body_is_not_read() {
    let home = TestHome::new();
    let probe = ProbeEngine::start(&home).await;
    let address = &probe.engine.address;
    let before = probe.state().await;
    let large_body = vec![b' '; 21 * 1024 * 1024];
    let call = Request::post(address, "/rpc", &json!({})).body(large_body);
    assert_eq!(call.clone().token(&probe.engine.token()).send().status, 413);
    assert_eq!(call.send().status, 401);
    let exchange = Request::post(address, "/auth/exchange", &json!({})).body(vec![b' '; 2_000]);
    assert_eq!(exchange.send().status, 413, "the limit before sign-in");
    // The body is announced and never sent, so the refusal must not wait for the body.
    let announced =
        Request::post(address, "/rpc", &json!({})).body("").with("Content-Length", "1000000");
    assert_eq!(announced.send().status, 401);
    let form = announced.token(&probe.engine.token()).with("Content-Type", "text/plain");
    assert_eq!(form.send().status, 415);
    assert_eq!(probe.state().await, before);
}

#[tokio::test]
async fn partial_requests_do_not_block_other_clients() {
    let home = TestHome::new();
    let probe = ProbeEngine::start(&home).await;
    let request = rpc("cron.add", &crate::probes::echo("Half"));
    let authorized =
        Request::post(&probe.engine.address, "/rpc", &request).token(&probe.engine.token());
    let unauthorized = Request::post(&probe.engine.address, "/rpc", &request);
    let before = probe.state().await;
    let mut connections: Vec<TcpStream> = Vec::new();
    for _ in 0..40 {
        connections.push(unauthorized.send_part(10));
        connections.push(unauthorized.send_part(unauthorized.head_length() - 2));
        connections.push(authorized.send_part(authorized.head_length() + 20));
    }
    assert_eq!(
        probe.state().await,
        before,
        "others are answered, and no half request did anything"
    );
    assert_eq!(authorized.send().status, 200);
    home.rouse(["cron", "list"]).ok();
    drop(connections);
    assert_eq!(
        probe.engine.call("cron.list", json!({})).await["jobs"].as_array().map(Vec::len),
        Some(5)
    );
}
