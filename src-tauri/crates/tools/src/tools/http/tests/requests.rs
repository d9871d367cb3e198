//! Requests on the wire, redirects of requests with side effects, and approvals.

use std::path::Path;

use rouse_core::tool::{
    Annotations, ApprovalRule, Destination, Fault, MAX_OUTPUT_BYTES, SandboxMode, Tool,
    ToolContext, ToolOutput,
};
use serde_json::{Value, json};

use crate::http_guard::HttpConfig;
use crate::http_guard::tests::server::{Server, Then, ok, redirect};
use crate::test_context::{call, call_with, context};
use crate::tools::http::Http;
use crate::tools::http::request::MAX_BODY_BYTES;

fn tool(allowed: &[&Server]) -> Http {
    let allow_private_hosts = allowed.iter().map(|server| server.entry()).collect();
    Http::new(HttpConfig { allow_private_hosts, ..HttpConfig::default() })
}

async fn send(server: &Server, arguments: Value) -> ToolOutput {
    call(&tool(&[server]), arguments).await
}

#[tokio::test]
async fn every_method_is_sent_with_headers_and_body() {
    let server = Server::saying("done").await;
    let json_type = "content-type: application/json\r\n";
    let cases = [
        (json!({}), "GET", "", ""),
        (json!({ "method": "HEAD" }), "HEAD", "", ""),
        (json!({ "method": "OPTIONS" }), "OPTIONS", "", ""),
        (json!({ "method": "DELETE" }), "DELETE", "", ""),
        (json!({ "method": "POST" }), "POST", "", ""),
        (
            json!({ "method": "POST", "json": { "a": [1, null] } }),
            "POST",
            json_type,
            "{\"a\":[1,null]}",
        ),
        (json!({ "method": "PUT", "json": null }), "PUT", json_type, "null"),
        (
            json!({ "method": "PATCH", "body": "Grüße" }),
            "PATCH",
            "content-type: text/plain; charset=utf-8\r\n",
            "Grüße",
        ),
        (
            json!({ "method": "POST", "body": "a=b", "headers": { "Content-Type": "application/x-www-form-urlencoded", "X-Key": "k" } }),
            "POST",
            "content-type: application/x-www-form-urlencoded\r\n",
            "a=b",
        ),
    ];
    for (mut arguments, method, content_type, body) in cases {
        arguments["url"] = server.url("/path").into();
        let output = send(&server, arguments.clone()).await;
        assert!(!output.is_error(), "{arguments}: {output:?}");
        let request = server.requests().pop().expect("a request");
        let (head, sent) = request.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with(&format!("{method} /path HTTP/1.1\r\n")), "{request}");
        assert!((head.to_lowercase() + "\r\n").contains(content_type), "{request}");
        assert_eq!(sent, body, "{arguments}");
        assert_eq!(head.contains("content-type"), !content_type.is_empty(), "{request}");
    }
    assert!(server.requests().last().is_some_and(|request| request.contains("x-key: k\r\n")));
}

#[tokio::test]
async fn impossible_request_is_refused_before_the_approval() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut context = context(folder.path());
    let allowed = ["10.0.0.7:9000".to_owned()].to_vec();
    let http = Http::new(HttpConfig { allow_private_hosts: allowed, ..HttpConfig::default() });
    for (url, expected) in [
        ("https://example.com:22/", Some("Port 22 is not allowed")),
        ("http://127.0.0.1/", Some("is this computer")),
        ("http://[::1]:8080/", Some("is this computer")),
        ("http://192.168.1.20/", Some("is a private network address")),
        ("http://169.254.169.254/", Some("a cloud metadata address")),
        ("http://10.0.0.7:9000/", None),
        ("https://example.com/", None),
        ("https://another.example:8443/", None),
        ("https://named.example:9443/", None),
    ] {
        let hosts = ["example.com".to_owned(), "named.example:9443".to_owned()].to_vec();
        context.sandbox = SandboxMode::Sandboxed { hosts };
        let arguments = json!({ "url": url, "method": "POST" });
        let bound = http.surroundings(&arguments, &context).await;
        match (bound, expected) {
            (Ok(_), None) => {}
            (Err(refusal), Some(expected)) => {
                assert!(refusal.text().contains(expected), "{url}: {refusal:?}");
                assert_eq!(refusal.fault, Some(Fault::NotAuthorised), "{url}");
            }
            other => panic!("{url}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn invalid_request_is_refused_before_the_approval() {
    let server = Server::saying("done").await;
    let large = "x".repeat(MAX_BODY_BYTES + 1);
    let cases = [
        (json!({ "body": "x" }), "GET takes no body"),
        (json!({ "method": "HEAD", "json": 1 }), "HEAD takes no body"),
        (json!({ "method": "POST", "body": "x", "json": 1 }), "as body or as json, not both"),
        (json!({ "method": "POST", "body": large }), "the limit is 1048576"),
        (json!({ "method": "POST", "json": [large] }), "the limit is 1048576"),
        (json!({ "method": "TRACE" }), "Invalid arguments"),
        (json!({ "method": "get" }), "Invalid arguments"),
        (json!({ "method": "CONNECT" }), "Invalid arguments"),
        (json!({ "headers": { "Content-Type": "text/plain" } }), "cannot be set"),
        (json!({ "method": "POST", "headers": { "Content-Length": "0" } }), "cannot be set"),
        (json!({ "url": "ftp://x/" }), "http"),
    ];
    for (mut arguments, expected) in cases {
        if arguments.get("url").is_none() {
            arguments["url"] = server.url("/").into();
        }
        let output = send(&server, arguments.clone()).await;
        assert_eq!(output.fault, Some(Fault::InvalidParameters), "{arguments} {output:?}");
        assert!(output.text().contains(expected), "{expected}: {}", output.text());
        let context = context(Path::new("/nonexistent-workspace"));
        let bound = tool(&[&server]).surroundings(&arguments, &context).await;
        assert_eq!(bound.expect_err(expected).fault, Some(Fault::InvalidParameters));
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

/// Status, method, and the method and body at the redirect's target.
const MOVED: &[(u16, &str, &str, bool)] = &[
    (301, "GET", "GET", false),
    (302, "HEAD", "HEAD", false),
    (303, "HEAD", "HEAD", false),
    (301, "POST", "GET", false),
    (302, "POST", "GET", false),
    (303, "POST", "GET", false),
    (303, "PUT", "GET", false),
    (303, "DELETE", "GET", false),
    (301, "PUT", "PUT", true),
    (302, "PATCH", "PATCH", true),
    (307, "POST", "POST", true),
    (308, "POST", "POST", true),
    (308, "DELETE", "DELETE", true),
];

fn redirected(status: u16, to: &str) -> Vec<u8> {
    let answer = String::from_utf8(redirect(to)).expect("a text");
    answer.replace("302 Found", &format!("{status} Moved")).into_bytes()
}

#[tokio::test]
async fn same_origin_redirect_keeps_method_and_body_by_status() {
    for (status, method, then, keeps_body) in MOVED {
        let server = Server::start(Box::new(move |path| match path {
            "/" => (redirected(*status, "/there"), Then::Close),
            _ => (ok("text/plain", b"there"), Then::Close),
        }))
        .await;
        let mut arguments = json!({ "url": server.url("/"), "method": method });
        if !matches!(*method, "GET" | "HEAD") {
            arguments["body"] = "canary".into();
        }
        let output = send(&server, arguments).await;
        assert!(!output.is_error(), "{status} {method}: {output:?}");
        let request = server.requests().pop().expect("a request");
        assert!(request.starts_with(&format!("{then} /there ")), "{status} {method}: {request}");
        assert_eq!(request.ends_with("canary"), *keeps_body, "{status} {method}: {request}");
        assert_eq!(request.contains("content-type"), *keeps_body, "{status} {method}: {request}");
    }
}

#[tokio::test]
async fn write_request_follows_no_cross_origin_redirect() {
    let other = Server::saying("secret").await;
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = other.url("/there");
        let first =
            Server::start(Box::new(move |_| (redirected(status, &elsewhere), Then::Close))).await;
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let arguments = json!({ "url": first.url("/"), "method": method, "body": "canary" });
            let output = call(&tool(&[&first, &other]), arguments).await;
            assert_eq!(output.value["status"], status, "{method}: {output:?}");
            assert_eq!(output.value["location"], other.url("/there"), "{method}");
        }
    }
    assert_eq!(other.requests(), Vec::<String>::new());
}

fn of_job(hosts: &[&str]) -> ToolContext {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let sandbox = SandboxMode::Sandboxed { hosts };
    ToolContext { sandbox, ..context(Path::new("/nonexistent-workspace")) }
}

#[test]
fn credential_headers_are_marked_sensitive() {
    let tool = Http::new(HttpConfig::default());
    for name in [
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "X-Api-Key",
        "X-Auth-Token",
        "Private-Token",
        "X-Goog-Api-Key",
        "X-Amz-Security-Token",
    ] {
        let shown = tool.spec().shown(&json!({ "headers": { name: "tulip-9" } }));
        assert!(!shown.to_string().contains("tulip"), "{name}");
    }
}

#[test]
fn only_a_plain_read_of_an_allowed_host_needs_no_approval() {
    use ApprovalRule::{Never, UnlessGranted};
    let tool = Http::new(HttpConfig::default());
    let any: &[&str] = &[];
    let own: &[&str] = &["example.com", "api.example.com:8443"];
    let url = "https://example.com/a?b=c";
    let headers = |name: &str| json!({ "url": url, "headers": { name: "x" } });
    let cases = [
        (any, json!({ "url": url }), Never),
        (any, json!({ "url": url, "method": "HEAD" }), Never),
        (any, json!({ "url": url, "maxBytes": 5 }), Never),
        (any, headers("Accept"), Never),
        (any, headers("if-none-match"), Never),
        (any, headers("Authorization"), UnlessGranted),
        (any, headers("COOKIE"), UnlessGranted),
        (any, headers("X-Api-Key"), UnlessGranted),
        (any, headers("X-Auth-Token"), UnlessGranted),
        (any, headers("X-Anything"), UnlessGranted),
        (any, json!({ "url": url, "method": "POST" }), UnlessGranted),
        (any, json!({ "url": url, "method": "PUT", "body": "x" }), UnlessGranted),
        (any, json!({ "url": url, "method": "PATCH" }), UnlessGranted),
        (any, json!({ "url": url, "method": "DELETE" }), UnlessGranted),
        (any, json!({ "url": url, "method": "OPTIONS" }), UnlessGranted),
        (any, json!({ "url": url, "json": null }), UnlessGranted),
        (any, json!({ "url": "no url" }), UnlessGranted),
        (any, json!({}), UnlessGranted),
        (own, json!({ "url": url }), Never),
        (own, json!({ "url": "http://EXAMPLE.com:8080/" }), Never),
        (own, json!({ "url": "https://api.example.com:8443/" }), Never),
        (own, json!({ "url": "https://api.example.com/" }), UnlessGranted),
        (own, json!({ "url": "https://other.example.com/" }), UnlessGranted),
        (own, json!({ "url": "https://example.com.evil.org/" }), UnlessGranted),
        (own, headers("Authorization"), UnlessGranted),
        (own, json!({ "url": url, "method": "POST" }), UnlessGranted),
    ];
    for (hosts, arguments, expected) in cases {
        assert_eq!(tool.approval(&arguments, &of_job(hosts)), expected, "{hosts:?} {arguments}");
    }
}

#[test]
fn annotations_follow_the_method() {
    let tool = Http::new(HttpConfig::default());
    let of =
        |method: &str| tool.annotations(&json!({ "url": "https://a.example", "method": method }));
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert!(of(method).read_only && of(method).open_world, "{method}");
    }
    for method in ["PUT", "DELETE"] {
        let does = of(method);
        assert!(!does.read_only && does.idempotent && does.destructive && does.open_world);
    }
    for method in ["POST", "PATCH", "NONE"] {
        assert_eq!(of(method), Annotations::ANYTHING, "{method}");
    }
    assert_eq!(tool.spec().annotations, Annotations::ANYTHING);
}

#[tokio::test]
async fn redirects_stay_on_the_hosts_of_the_job() {
    let far = Server::saying("far").await;
    let near = Server::redirecting_to(format!("http://localhost:{}/", far.port)).await;
    let tool = Http::new(HttpConfig {
        allow_private_hosts: vec![near.entry(), format!("localhost:{}", far.port)],
        ..HttpConfig::default()
    });
    let fetch = async |hosts: &[&str]| {
        let arguments = json!({ "url": near.url("/") });
        let policy = rouse_core::policy::ToolPolicy::default();
        match policy.judge(tool.spec(), arguments) {
            rouse_core::policy::PolicyVerdict::Allowed(call) => {
                tool.call(call, &of_job(hosts)).await
            }
            other => panic!("not let through: {other:?}"),
        }
    };
    assert_eq!(fetch(&[]).await.value["body"], "far");
    assert_eq!(fetch(&["localhost"]).await.value["body"], "far", "one host requested, one granted");
    let before = far.requests().len();
    let refused = fetch(&["example.com"]).await;
    assert_eq!(refused.fault, Some(Fault::NotAuthorised), "{refused:?}");
    assert!(refused.text().contains("not among the hosts of this job"), "{refused:?}");
    assert_eq!(far.requests().len(), before);
}

#[tokio::test]
async fn hosts_of_the_job_bind_every_hop_of_its_own_call() {
    let far = Server::saying("far").await;
    let near = Server::redirecting_to(format!("http://localhost:{}/", far.port)).await;
    let tool = Http::new(HttpConfig {
        allow_private_hosts: vec![near.entry(), format!("localhost:{}", far.port)],
        ..HttpConfig::default()
    });
    let fetch = async |hosts: &[&str]| {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let sandbox = SandboxMode::ByPersonUnsandboxed { hosts };
        let context = ToolContext { sandbox, ..context(Path::new("/nonexistent-workspace")) };
        let arguments = json!({ "url": near.url("/") });
        let policy = rouse_core::policy::ToolPolicy::for_written_call("http", &arguments);
        match policy.judge(tool.spec(), arguments) {
            rouse_core::policy::PolicyVerdict::Allowed(call) => tool.call(call, &context).await,
            other => panic!("not let through: {other:?}"),
        }
    };
    let near_entry = near.entry();
    assert_eq!(fetch(&[]).await.value["body"], "far", "a job that names none");
    assert_eq!(fetch(&[&near_entry, "localhost"]).await.value["body"], "far", "both are named");
    let (near_count, far_count) = (near.requests().len(), far.requests().len());
    let refused = fetch(&["example.com", "localhost"]).await;
    assert_eq!(refused.fault, Some(Fault::NotAuthorised), "{refused:?}");
    let words = format!("{near_entry} is not among the hosts of this job (example.com, localhost)");
    assert!(refused.text().contains(&words), "{refused:?}");
    assert_eq!(near.requests().len(), near_count, "nothing was sent");
    let refused = fetch(&[&near_entry]).await;
    assert!(refused.text().contains("localhost"), "{refused:?}");
    assert!(refused.text().contains("not among the hosts of this job"), "{refused:?}");
    assert_eq!(far.requests().len(), far_count, "no redirect leaves the list");
}

#[tokio::test]
async fn approval_shows_the_request_with_invisible_characters() {
    let tool = Http::new(HttpConfig::default());
    let shown = async |arguments: Value| tool.preview(&arguments, &of_job(&[])).await;
    let url = "https://example.com/\u{202e}x";
    let headers = json!({ "X-A": "1\u{200b}" });
    let text =
        shown(json!({ "url": url, "method": "PUT", "headers": headers, "body": "a\u{1b}b" })).await;
    assert_eq!(text, "PUT https://example.com/⟨U+202E⟩x\nX-A: 1⟨U+200B⟩\n\na⟨U+001B⟩b");
    let text = shown(json!({ "url": url, "method": "POST", "json": { "a": 1 } })).await;
    assert!(text.ends_with("\n\n{\n  \"a\": 1\n}"), "{text}");
    assert!(shown(json!({ "url": 1 })).await.contains("Invalid arguments"));
}

#[tokio::test]
async fn every_failure_has_its_fault() {
    let broken = Server::start(Box::new(|_| {
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec(), Then::Close)
    }))
    .await;
    let silent = Server::start(Box::new(|_| (Vec::new(), Then::Hang))).await;
    let refusing = Server::start(Box::new(|_| {
        (b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(), Then::Close)
    }))
    .await;
    let wanting = Server::start(Box::new(|_| {
        (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(), Then::Close)
    }))
    .await;
    let allow_private_hosts = [&broken, &silent, &refusing, &wanting].map(Server::entry).to_vec();
    let timeout = std::time::Duration::from_millis(100);
    let tool = Http::new(HttpConfig { allow_private_hosts, timeout, ..HttpConfig::default() });
    let cases = [
        (broken.url("/"), Fault::ExternalService),
        (refusing.url("/"), Fault::ExternalService),
        (wanting.url("/"), Fault::Refused),
        (silent.url("/"), Fault::Timeout),
        ("http://127.0.0.1/".to_owned(), Fault::NotAuthorised),
        ("http://169.254.169.254/".to_owned(), Fault::NotAuthorised),
        ("http://example.com:22/".to_owned(), Fault::NotAuthorised),
        ("http://user@example.com/".to_owned(), Fault::InvalidParameters),
    ];
    for (url, fault) in cases {
        let output = call(&tool, json!({ "url": url })).await;
        assert_eq!(output.fault, Some(fault), "{url}: {output:?}");
        let is_transient = matches!(fault, Fault::ExternalService | Fault::Timeout);
        assert_eq!(fault.is_transient(), is_transient, "{url}");
        assert!(!output.text().contains("carried out"), "{output:?}");
    }
    let posted = call(&tool, json!({ "url": silent.url("/"), "method": "POST" })).await;
    assert!(posted.text().ends_with("It may have been carried out anyway."), "{posted:?}");
    let circle = Server::redirecting_to("/".to_owned()).await;
    let posted = send(&circle, json!({ "url": circle.url("/"), "method": "POST" })).await;
    assert!(posted.text().ends_with("It may have been carried out anyway."), "{posted:?}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("a bound socket").to_string();
    drop(closed);
    let config = HttpConfig { allow_private_hosts: vec![address.clone()], ..HttpConfig::default() };
    let url = format!("http://{address}/");
    let posted = call(&Http::new(config), json!({ "url": url, "method": "POST" })).await;
    assert_eq!(posted.fault, Some(Fault::Unreached), "{posted:?}");
    assert!(!posted.text().contains("carried out"), "{posted:?}");
}

#[tokio::test]
async fn request_redirected_to_a_dead_host_counts_as_arrived() {
    let see_other = b"HTTP/1.1 303 See Other\r\nLocation: /done\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let gone = Server::once(Box::new(|_| (see_other.to_vec(), Then::Close))).await;
    let posted = send(&gone, json!({ "url": gone.url("/"), "method": "POST" })).await;
    assert_eq!(gone.requests().len(), 1);
    assert_eq!(posted.fault, Some(Fault::ExternalService), "an unreached request is sent again");
    assert!(posted.text().contains("redirects to /done, which was not reached"), "{posted:?}");
    assert!(posted.text().ends_with("It may have been carried out anyway."), "{posted:?}");
}

#[test]
fn destination_is_the_single_host_of_the_call() {
    let http = tool(&[]);
    let to = |url: &str| http.destination(&json!({ "url": url }));
    let at = |host: &str, port, is_encrypted| {
        Some(Destination { host: host.to_owned(), port, is_encrypted })
    };
    assert_eq!(to("https://API.example.com/a?k={{secret:x}}"), at("api.example.com", 443, true));
    assert_eq!(to("http://192.0.2.7:8080/"), at("192.0.2.7", 8_080, false));
    assert_eq!(to("https://[2001:DB8::1]/"), at("[2001:db8::1]", 443, true));
    assert_eq!(to("https://{{secret:x}}/"), None);
    assert_eq!(to("https://user@example.com/"), None);
    assert_eq!(http.destination(&json!({ "path": "x" })), None);
}

#[tokio::test]
async fn long_body_is_paged_with_a_hint() {
    let body: String = (0..20_000).map(|line| format!("\"line {line}\"\n")).collect();
    let sent = body.clone().into_bytes();
    let server = Server::start(Box::new(move |_| (ok("text/html", &sent), Then::Close))).await;
    let folder = tempfile::tempdir().expect("a folder");
    let sandbox = SandboxMode::Sandboxed { hosts: Vec::new() };
    let of_model = ToolContext { sandbox, ..context(folder.path()) };
    let http = tool(&[&server]);
    let (mut all, mut offset) = (String::new(), Some(0));
    while let Some(from) = offset {
        let arguments = json!({ "url": server.url("/"), "offset": from });
        let value = call_with(&http, &of_model, arguments).await.value;
        assert!(value.to_string().len() <= MAX_OUTPUT_BYTES, "{}", value.to_string().len());
        all.push_str(value["body"].as_str().expect("a text"));
        offset = value["nextOffset"].as_u64();
        assert_eq!(value["truncated"], offset.is_some());
        let hint = value["hint"].as_str().unwrap_or("web_fetch");
        assert!(hint.contains("web_fetch"), "{hint}");
    }
    assert!(all == body, "{} of {} bytes", all.len(), body.len());
    // A call written by a person gets all of the body.
    let whole = call(&http, json!({ "url": server.url("/"), "maxBytes": 200_000 })).await.value;
    assert_eq!(
        (whole["body"].as_str().map(str::len), &whole["truncated"]),
        (Some(200_000), &json!(true))
    );
}

#[tokio::test]
async fn offset_requires_get() {
    let server = Server::saying("done").await;
    let post = json!({ "url": server.url("/"), "method": "POST", "offset": 5 });
    let output = send(&server, post).await;
    assert_eq!(output.fault, Some(Fault::InvalidParameters), "{output:?}");
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn image_body_is_attached_unless_truncated() {
    let photo = crate::media::tests::png(3, 2);
    let answer = ok("application/octet-stream", &photo);
    let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
    let url = server.url("/photo");
    let output = send(&server, json!({ "url": url })).await;
    assert_eq!(output.attachments[0].data.as_deref(), Some(photo.as_slice()));
    let whole = "(The body is a PNG image.)";
    assert_eq!((&output.value["body"], &output.value["truncated"]), (&json!(whole), &json!(false)));
    let output = send(&server, json!({ "url": url, "maxBytes": 12 })).await;
    assert_eq!(output.attachments, []);
    let cut = "(The body is a PNG image, longer than maxBytes. web_fetch reads more.)";
    assert_eq!(output.value["body"], cut);
}
