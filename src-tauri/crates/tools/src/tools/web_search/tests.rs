//! Each provider against a server that follows the provider's documentation.

use std::sync::Mutex;
use std::time::Duration;

use rouse_core::tool::{ApprovalRule, Fault};

use super::*;
use crate::http_guard::tests::server::{Server, Then, ok};
use crate::test_context::{call, context};

struct Settings(Mutex<Option<SearchAccess>>);

impl SearchSettings for Settings {
    fn is_set_up(&self) -> bool {
        self.0.lock().expect("not poisoned").is_some()
    }

    fn access(&self) -> BoxFuture<'_, Result<SearchAccess, String>> {
        let access = self.0.lock().expect("not poisoned").clone();
        Box::pin(std::future::ready(access.ok_or_else(|| "Set up a provider.".to_owned())))
    }
}

fn tool(access: Option<SearchAccess>) -> WebSearch {
    WebSearch::new(Arc::new(Settings(Mutex::new(access))), GatewayPorts::default())
}

async fn answering(bytes: Vec<u8>) -> Server {
    Server::start(Box::new(move |_| (bytes.clone(), Then::Close))).await
}

fn access(kind: SearchKind, server: &Server) -> SearchAccess {
    let key = kind.key_variable().map(|_| "key-0123456789".to_owned());
    SearchAccess { kind, url: Some(server.url("")), key }
}

async fn search(kind: SearchKind, server: &Server) -> ToolOutput {
    let arguments = json!({ "query": "low river & bridge", "count": 2 });
    call(&tool(Some(access(kind, server))), arguments).await
}

#[tokio::test]
async fn each_provider_gets_its_documented_request() {
    let results = json!([
        { "title": "One", "url": "https://one.example/", "content": "First <strong>text</strong> &amp; more",
          "description": "First <strong>text</strong> &amp; more", "snippet": "First text &amp; more",
          "highlights": ["First text & more"] },
        { "title": "No address" },
        { "title": "Two", "url": "https://two.example/", "content": "", "description": "", "snippet": "", "highlights": [] },
        { "title": "Three", "url": "https://three.example/" },
    ]);
    let list = json!({ "results": results });
    let cases = [
        (
            SearchKind::Searxng,
            list.clone(),
            "GET /search?q=low%20river%20%26%20bridge&format=json",
            "",
            "",
        ),
        (
            SearchKind::Brave,
            json!({ "web": list }),
            "GET /res/v1/web/search?q=low%20river%20%26%20bridge&count=2&text_decorations=false",
            "x-subscription-token: key-0123456789\r\n",
            "",
        ),
        (
            SearchKind::Tavily,
            list.clone(),
            "POST /search",
            "authorization: Bearer key-0123456789\r\n",
            r#"{"query":"low river & bridge","max_results":2}"#,
        ),
        (
            SearchKind::Exa,
            list.clone(),
            "POST /search",
            "x-api-key: key-0123456789\r\n",
            r#"{"query":"low river & bridge","numResults":2,"contents":{"highlights":true}}"#,
        ),
        (
            SearchKind::Kagi,
            json!({ "data": { "search": results } }),
            "GET /api/v1/search?q=low%20river%20%26%20bridge&limit=2",
            "authorization: Bot key-0123456789\r\n",
            "",
        ),
        (
            SearchKind::Kagi,
            json!({ "data": results }),
            "GET /api/v1/search?",
            "authorization: Bot ",
            "",
        ),
    ];
    for (kind, answer, line, header, body) in cases {
        let server = answering(ok("application/json", answer.to_string().as_bytes())).await;
        let output = search(kind, &server).await;
        let wanted = json!({ "provider": kind.name(), "results": [
            { "title": "One", "url": "https://one.example/", "snippet": "First text & more" },
            { "title": "Two", "url": "https://two.example/", "snippet": "" },
        ] });
        assert_eq!(output.value, wanted, "{kind:?}");
        let request = server.requests().pop().expect("a request");
        assert!(request.starts_with(line), "{request}");
        assert!(request.contains(header) && request.ends_with(body), "{request}");
    }
}

#[tokio::test]
async fn provider_errors_name_the_remedy() {
    let answer = |status: &str, headers: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
            .into_bytes()
    };
    let wait = |seconds| Fault::RateLimited { retry_after: Duration::from_secs(seconds) };
    let cases = [
        (
            SearchKind::Tavily,
            answer("401 Unauthorized", "", r#"{"detail":{"error":"Unauthorized"}}"#),
            Fault::Refused,
            "Tavily refused the key (401). Check the key at https://app.tavily.com",
        ),
        (
            SearchKind::Brave,
            answer(
                "422 Unprocessable",
                "",
                r#"{"error":{"detail":"The provided subscription token is invalid."}}"#,
            ),
            Fault::Refused,
            "Brave Search refused the key (422)",
        ),
        (
            SearchKind::Exa,
            answer("402 Payment Required", "", r#"{"error":"You have no credits left"}"#),
            Fault::Refused,
            "no credit left. Add credit at https://dashboard.exa.ai",
        ),
        (
            SearchKind::Kagi,
            answer(
                "400 Bad HttpRequest",
                "",
                r#"{"error":[{"code":101,"msg":"Insufficient credit"}]}"#,
            ),
            Fault::Refused,
            "no credit left. Add credit at https://kagi.com",
        ),
        (SearchKind::Tavily, answer("432 Limit", "", ""), Fault::Refused, "no credit left"),
        (
            SearchKind::Exa,
            answer("429 Too Many", "Retry-After: 7\r\n", ""),
            wait(7),
            "Try again in 7 s",
        ),
        (
            SearchKind::Brave,
            answer(
                "429 Too Many",
                "X-RateLimit-Remaining: 0, 14\r\nX-RateLimit-Reset: 1, 1419704\r\n",
                "",
            ),
            wait(1),
            "Try again in 1 s",
        ),
        (
            SearchKind::Searxng,
            answer("403 Forbidden", "", ""),
            Fault::Refused,
            "Add json to search.formats",
        ),
        (
            SearchKind::Kagi,
            answer("500 Oops", "", "key-0123456789 is broken"),
            Fault::ExternalService,
            "Kagi answered 500: [key] is broken",
        ),
        (
            SearchKind::Brave,
            ok("text/html", b"<p>Welcome</p>"),
            Fault::ExternalService,
            "sent an unexpected response",
        ),
    ];
    for (kind, answer, fault, words) in cases {
        let server = answering(answer).await;
        let output = search(kind, &server).await;
        assert_eq!(output.fault, Some(fault), "{output:?}");
        assert!(output.text().contains(words), "{output:?}");
    }
}

#[tokio::test]
async fn key_is_not_sent_along_a_redirect() {
    let other = answering(ok("application/json", b"{\"results\":[]}")).await;
    let location =
        format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", other.url("/"));
    let server = answering(location.into_bytes()).await;
    let output = search(SearchKind::Brave, &server).await;
    assert!(output.is_error(), "{output:?}");
    assert_eq!(other.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn search_without_a_provider_is_not_offered() {
    let without = tool(None);
    assert!(!without.is_set_up());
    let none = SandboxMode::Sandboxed { hosts: Vec::new() };
    assert_eq!(without.unavailable_reason(&none).await.as_deref(), Some("Set up a provider."));
    let output = call(&without, json!({ "query": "x" })).await;
    assert_eq!(
        (output.fault, output.text()),
        (Some(Fault::Refused), "Set up a provider.".to_owned())
    );
}

#[test]
fn query_needs_no_approval_and_counts_as_egress() {
    let search = tool(None);
    let (query, folder) = (json!({ "query": "x" }), std::path::PathBuf::from("/nonexistent"));
    assert_eq!(search.approval(&query, &context(&folder)), ApprovalRule::Never);
    assert!(search.has_egress(&query, &context(&folder)));
    assert!(search.spec().untrusted_output);
}
