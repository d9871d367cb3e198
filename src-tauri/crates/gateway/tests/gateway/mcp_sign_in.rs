//! Sign-ins at MCP servers: the redirect address and its page, over a port in memory.

use std::time::Duration;

use rouse_core::extension::{ExtensionName, SignInCallback, SignInEnd, SignInState, SignInStatus};
use rouse_core::tool::BoxFuture;
use rouse_gateway::{RpcError, SignIns};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::extensions::MemoryExtensions;
use crate::fixture::GatewayFixture;

/// The state of every link.
const STATE: &str = "good";

impl SignIns for MemoryExtensions {
    fn begin<'a>(
        &'a self,
        _: &'a ExtensionName,
        port: u16,
    ) -> BoxFuture<'a, Result<String, RpcError>> {
        self.is_sign_in_pending.send_replace(true);
        let url = format!("https://auth.example/authorize?state={STATE}&port={port}");
        Box::pin(std::future::ready(Ok(url)))
    }

    fn finish(&self, callback: SignInCallback) -> BoxFuture<'_, SignInEnd> {
        let is_known = callback.state == STATE && self.is_sign_in_pending.send_replace(false);
        let end = if is_known { SignInEnd::SignedIn } else { SignInEnd::UnknownState };
        Box::pin(std::future::ready(end))
    }

    fn cancel(&self, _: &ExtensionName) -> bool {
        self.is_sign_in_pending.send_replace(false)
    }

    fn await_end<'a>(&'a self, _: &'a ExtensionName, limit: Duration) -> BoxFuture<'a, ()> {
        let mut pending = self.is_sign_in_pending.subscribe();
        Box::pin(async move {
            let ended = pending.wait_for(|is_pending| !is_pending);
            drop(tokio::time::timeout(limit, ended).await);
        })
    }

    fn sign_out<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, Result<bool, RpcError>> {
        Box::pin(std::future::ready(Ok(true)))
    }

    fn status<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, SignInStatus> {
        let is_pending = *self.is_sign_in_pending.borrow();
        let state = if is_pending { SignInState::Pending } else { SignInState::SignedOut };
        let status =
            SignInStatus { state, reason: None, signed_in_at_ms: None, refreshed_at_ms: None };
        Box::pin(std::future::ready(status))
    }
}

/// Installs the server `docs` with this OAuth client.
async fn install(fixture: &GatewayFixture, oauth: Value) {
    let transport = json!({ "kind": "http", "url": "https://mcp.example", "oauth": oauth });
    let draft = json!({ "name": "docs", "server": { "transport": transport } });
    let page = fixture.call("extensions.preview", draft.clone()).await;
    let mut params = draft;
    params["accept"] = page["hash"].clone();
    fixture.call("extensions.install", params).await;
}

async fn start(fixture: &GatewayFixture) -> String {
    let link = fixture.call("extensions.signIn", json!({ "name": "docs" })).await;
    link["url"].as_str().expect("a URL").to_owned()
}

#[tokio::test]
async fn callback_with_the_state_needs_no_token() {
    let fixture = GatewayFixture::new().await;
    install(&fixture, json!({})).await;
    let url = start(&fixture).await;
    assert!(url.ends_with(&format!("&port={}", fixture.port())), "{url}");
    let navigation = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
    let path = format!("/oauth/callback?state={STATE}&code=c&iss=i&other=x");
    let (status, reply) = fixture.send_raw("GET", &path, navigation, b"").await;
    assert_eq!(status, 200, "{reply}");
    assert!(reply.contains("You can close this window."), "{reply}");
    let ended = fixture.call("extensions.awaitSignIn", json!({ "name": "docs" })).await;
    assert_eq!(ended["state"], "signedOut");
    assert_eq!(fixture.send_raw("GET", &path, navigation, b"").await.0, 400, "used");
    fixture.stop().await;
}

#[tokio::test]
async fn callback_page_has_no_text_of_the_query() {
    let fixture = GatewayFixture::new().await;
    for query in ["state=marker&error=marker", "marker", "state=marker&state=marker", ""] {
        let path = format!("/oauth/callback?{query}");
        let (status, reply) = fixture.send_raw("GET", &path, "", b"").await;
        assert_eq!(status, 400, "{reply}");
        assert!(!reply.contains("marker") && !reply.contains("<script"), "{reply}");
        assert!(reply.contains("cache-control: no-store"), "{reply}");
        assert!(reply.contains("content-security-policy: default-src 'none'"), "{reply}");
    }
    fixture.stop().await;
}

#[tokio::test]
async fn redirect_port_of_the_definition_is_open() {
    let fixture = GatewayFixture::new().await;
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = free.local_addr().expect("an address");
    drop(free);
    install(&fixture, json!({ "redirectPort": address.port() })).await;
    start(&fixture).await;
    // A second start uses the port that is open.
    start(&fixture).await;
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "GET /oauth/callback?state={STATE}&code=c HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("a write");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.expect("text");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    fixture.stop().await;
}

#[tokio::test]
async fn used_redirect_port_cancels_the_sign_in() {
    let fixture = GatewayFixture::new().await;
    let used = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = used.local_addr().expect("an address").port();
    install(&fixture, json!({ "redirectPort": port })).await;
    let refused = fixture.try_call("extensions.signIn", json!({ "name": "docs" })).await;
    let error = refused.expect_err("a used port").message;
    assert!(error.contains(&format!("The port {port} of the redirect address")), "{error}");
    let status = fixture.call("extensions.awaitSignIn", json!({ "name": "docs" })).await;
    assert_eq!(status["state"], "signedOut");
    fixture.stop().await;
}
