use rouse_core::UnixMs;
use rouse_core::tool::{ApprovalRule, Fault, Tool as _, ToolOutput};
use serde_json::{Value, json};

use super::super::reader::tests::{ARTICLE, pdf};
use super::*;
use crate::http_guard::tests::server::{Then, ok};
use crate::test_context::call_with;

async fn serving(content_type: &'static str, body: Vec<u8>) -> Server {
    Server::start(Box::new(move |_| (ok(content_type, &body), Then::Close))).await
}

async fn fetch(server: &Server, arguments: Value) -> ToolOutput {
    fetch_after(server, arguments, Arc::default()).await
}

async fn fetch_after(server: &Server, mut arguments: Value, history: Arc<OneFetch>) -> ToolOutput {
    let folder = tempfile::tempdir().expect("a folder");
    arguments["url"] = server.url("/page").into();
    call_with(&tool(server, history), &of_model(folder.path()), arguments).await
}

#[tokio::test]
async fn page_is_read_in_the_sandboxed_child() {
    let server = serving("text/html", ARTICLE.as_bytes().to_vec()).await;
    let output = fetch(&server, json!({})).await;
    assert_eq!(output.fault, None, "{output:?}");
    let value = &output.value;
    assert_eq!((&value["status"], &value["changed"]), (&json!(200), &json!(null)));
    assert_eq!(value["title"], "River level falls below one metre | The Valley Post");
    let content = value["content"].as_str().expect("a text");
    assert!(content.contains("**94 centimetres**"), "{content}");
    assert!(value.get("nextOffset").is_none(), "{value}");
    let request = server.requests().pop().expect("a request").to_lowercase();
    assert!(request.contains("accept-encoding: gzip, deflate, br, zstd\r\n"), "{request}");
}

#[tokio::test]
async fn encoded_pdf_is_read_in_the_sandboxed_child() {
    use std::io::Write as _;
    let file = pdf(&["The minutes of the meeting"]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&file).expect("packed");
    let packed = encoder.finish().expect("packed");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        packed.len()
    );
    let answer = [head.into_bytes(), packed].concat();
    let server = Server::start(Box::new(move |_| (answer.clone(), Then::Close))).await;
    let output = fetch(&server, json!({})).await;
    let content = output.value["content"].as_str().expect("a text");
    assert!(content.contains("The minutes of the meeting"), "{output:?}");
}

#[tokio::test]
async fn chunks_of_a_long_page_join_without_a_gap() {
    let lines: String = (0..9_000).map(|line| format!("line {line}\n")).collect();
    let server = serving("text/plain", lines.clone().into_bytes()).await;
    let (mut all, mut offset, mut parts) = (String::new(), Some(0), 0);
    while let Some(from) = offset {
        let output = fetch(&server, json!({ "offset": from })).await;
        all.push_str(output.value["content"].as_str().expect("a text"));
        assert_eq!(output.value["size"], lines.len());
        (offset, parts) = (output.value["nextOffset"].as_u64(), parts + 1);
    }
    assert!(all == lines, "{} of {} bytes", all.len(), lines.len());
    assert_eq!(parts, 3);
}

#[tokio::test]
async fn changed_compares_with_the_last_fetch() {
    let server = serving("text/plain", b"the same".to_vec()).await;
    let history = Arc::new(OneFetch::default());
    let first = fetch_after(&server, json!({}), Arc::clone(&history)).await.value;
    assert_eq!((&first["changed"], &first["lastFetchedAt"]), (&json!(null), &json!(null)));
    let hash = first["contentHash"].as_str().expect("a fingerprint").to_owned();
    let of = |content_hash: &str| PastFetch {
        content_hash: content_hash.to_owned(),
        at: UnixMs(1_774_740_600_000),
    };
    *history.0.lock().expect("not poisoned") = Some(of(&hash));
    let same = fetch_after(&server, json!({}), Arc::clone(&history)).await.value;
    let at = json!("2026-03-28T23:30:00+00:00");
    assert_eq!((&same["changed"], &same["lastFetchedAt"]), (&json!(false), &at));
    *history.0.lock().expect("not poisoned") = Some(of("another"));
    let other = fetch_after(&server, json!({}), history).await.value;
    assert_eq!(other["changed"], true);
}

#[tokio::test]
async fn call_of_a_person_omits_fields_that_change() {
    let server = serving("text/plain", b"the same".to_vec()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let url = json!({ "url": server.url("/page") });
    let value = call_with(&tool(&server, Arc::default()), &context(folder.path()), url).await.value;
    assert!(value.get("changed").is_none() && value.get("lastFetchedAt").is_none(), "{value}");
}

#[tokio::test]
async fn error_status_has_the_servers_text() {
    let answer =
        b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>No.</p>";
    let server = Server::start(Box::new(|_| (answer.to_vec(), Then::Close))).await;
    let output = fetch(&server, json!({})).await;
    assert_eq!(output.fault, Some(Fault::Refused));
    assert_eq!(output.words.as_deref(), Some("The server answered 404 (Not Found)."));
}

#[tokio::test]
async fn approval_and_egress_match_a_get_of_http() {
    let server = serving("text/plain", Vec::new()).await;
    let (folder, web_fetch) =
        (tempfile::tempdir().expect("a folder"), tool(&server, Arc::default()));
    let http = crate::tools::http::Http::new(HttpConfig::default());
    let hosts = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
    let sandboxed = |names: &[&str]| SandboxMode::Sandboxed { hosts: hosts(names) };
    let cases = [
        (sandboxed(&[]), hosts(&[]), ApprovalRule::Never, true),
        (sandboxed(&[]), hosts(&["example.com"]), ApprovalRule::Never, false),
        (sandboxed(&["example.com"]), hosts(&[]), ApprovalRule::Never, false),
        (sandboxed(&["example.org"]), hosts(&[]), ApprovalRule::UnlessGranted, true),
    ];
    let url = json!({ "url": "https://example.com/a?b=c" });
    for (sandbox, named_hosts, rule, has_egress) in cases {
        let context = ToolContext { sandbox, named_hosts, ..context(folder.path()) };
        assert_eq!(web_fetch.approval(&url, &context), rule);
        assert_eq!(http.approval(&url, &context), rule);
        assert_eq!(web_fetch.has_egress(&url, &context), has_egress);
        assert_eq!(http.has_egress(&url, &context), has_egress);
    }
    assert_eq!(web_fetch.destination(&url), None, "no stored secret goes along");
    let context = of_model(folder.path());
    for url in
        ["http://127.0.0.1/", "http://169.254.169.254/", "https://example.com:22/", "ftp://x/"]
    {
        let refused = web_fetch.surroundings(&json!({ "url": url }), &context).await;
        assert!(refused.is_err(), "{url}");
    }
}

#[tokio::test]
async fn image_is_attached_and_compared() {
    let photo = crate::media::tests::png(3, 2);
    let server = serving("image/png", photo.clone()).await;
    let output = fetch(&server, json!({})).await;
    assert_eq!(output.attachments.len(), 1);
    assert_eq!(output.attachments[0].data.as_deref(), Some(photo.as_slice()));
    assert_eq!(output.value["note"], "The response is a PNG image.");
    assert_eq!(output.value["content"], "");
    let other = serving("image/png", crate::media::tests::png(4, 2)).await;
    assert_ne!(fetch(&other, json!({})).await.value["contentHash"], output.value["contentHash"]);
}

#[tokio::test]
async fn address_without_scheme_is_an_argument_error() {
    let server = serving("text/plain", Vec::new()).await;
    let web_fetch = tool(&server, Arc::default());
    let error = |url: &str| web_fetch.argument_error(&json!({ "url": url }));
    assert!(error("example.org").is_some());
    assert_eq!(error("https://example.org"), None);
}
