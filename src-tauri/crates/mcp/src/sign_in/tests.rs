//! Sign-ins and refreshes against a strict sign-in server in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::extension::{
    ExtensionName, OAuthClientSettings, SignInCallback, SignInEnd, SignInRecord, SignInState,
    SignInStore as _,
};
use rouse_testkit::ManualClock;
use serde_json::{Map, Value, json};

use super::doubles::{MemorySignIns, OAuthDouble, OneServerBook, SERVER_URL, parameters};
use super::{ServerSignIns, ServerTokens, SignInError, SignInErrorKind};
use crate::connection::Connection;

const HOUR_MS: u64 = 3_600_000;
const PORT: u16 = 7717;

struct SignInFixture {
    sign_ins: ServerSignIns,
    oauth: OAuthDouble,
    book: Arc<OneServerBook>,
    store: Arc<MemorySignIns>,
    clock: ManualClock,
}

impl SignInFixture {
    fn new() -> Self {
        Self::with(OAuthClientSettings::default())
    }

    fn with(settings: OAuthClientSettings) -> Self {
        let book = Arc::new(OneServerBook { settings: Mutex::new(Some(settings)) });
        let (oauth, store) = (OAuthDouble::new(), Arc::new(MemorySignIns::default()));
        let clock = ManualClock::new(UnixMs(1_795_262_400_000));
        let sign_ins = ServerSignIns::new(
            Arc::clone(&oauth.exchange) as _,
            Arc::clone(&book) as _,
            Arc::clone(&store) as _,
            Arc::new(clock.clone()),
        );
        Self { sign_ins, oauth, book, store, clock }
    }

    /// The sign-ins after a restart of Rouse.
    fn restarted(self) -> Self {
        let sign_ins = ServerSignIns::new(
            Arc::clone(&self.oauth.exchange) as _,
            Arc::clone(&self.book) as _,
            Arc::clone(&self.store) as _,
            Arc::new(self.clock.clone()),
        );
        Self { sign_ins, ..self }
    }

    /// The parameters of a new link.
    async fn link(&self) -> BTreeMap<String, String> {
        let link = self.sign_ins.begin(&name(), PORT).await.expect("a link");
        let (endpoint, query) = link.split_once('?').expect("a query");
        assert_eq!(endpoint, "https://auth.example/authorize");
        let link = parameters(query);
        self.oauth.rules().code_challenge.clone_from(&link["code_challenge"]);
        link
    }

    async fn refusal(&self) -> String {
        self.sign_ins.begin(&name(), PORT).await.expect_err("no link").text
    }

    async fn sign_in(&self) {
        let callback = callback(&self.link().await);
        assert_eq!(self.sign_ins.finish(callback).await, Ok(name()));
    }

    fn tokens(&self) -> ServerTokens {
        ServerTokens::new(self.sign_ins.clone(), name(), SERVER_URL.to_owned())
    }

    async fn token(&self) -> Result<Option<String>, SignInError> {
        self.tokens().token().await
    }

    fn record(&self) -> SignInRecord {
        self.store.record(&name()).expect("a record")
    }

    async fn state(&self) -> SignInState {
        self.sign_ins.status(&name()).await.state
    }
}

fn name() -> ExtensionName {
    "cal".parse().expect("a name")
}

fn callback(link: &BTreeMap<String, String>) -> SignInCallback {
    let code = Some("code".to_owned());
    SignInCallback { state: link["state"].clone(), code, ..SignInCallback::default() }
}

fn entered_client() -> OAuthClientSettings {
    OAuthClientSettings {
        client_id: Some("entered".to_owned()),
        client_secret: Some("{{secret:CLIENT}}".to_owned()),
        ..OAuthClientSettings::default()
    }
}

#[tokio::test]
async fn sign_in_registers_a_native_client() {
    let fixture = SignInFixture::new();
    let link = fixture.link().await;
    assert_eq!(fixture.state().await, SignInState::Pending);
    for (parameter, value) in [
        ("client_id", "registered"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", "http://127.0.0.1:7717/oauth/callback"),
        ("resource", SERVER_URL),
        ("scope", "read"),
    ] {
        assert_eq!(link[parameter], value, "{parameter}");
    }
    assert!(link["state"].len() >= 64, "at least 256 bits");
    let registration = fixture.oauth.requests_to("https://auth.example/register").remove(0);
    let registration: Value = serde_json::from_slice(&registration.body).expect("JSON");
    assert_eq!(registration["application_type"], "native");
    assert_eq!(registration["redirect_uris"], json!(["http://127.0.0.1:7717/oauth/callback"]));
    assert_eq!(fixture.sign_ins.finish(callback(&link)).await, Ok(name()));
    assert_eq!(fixture.state().await, SignInState::SignedIn);
    assert_eq!(fixture.token().await, Ok(Some("access-1-".to_owned())));
    assert_eq!(fixture.record().scopes, ["read"]);
}

#[tokio::test]
async fn redirect_address_and_scopes_can_be_chosen() {
    let fixture = SignInFixture::with(OAuthClientSettings {
        scopes: Some(vec!["mail".to_owned()]),
        redirect_host: Some("localhost".to_owned()),
        redirect_port: Some(3118),
        ..OAuthClientSettings::default()
    });
    let link = fixture.link().await;
    assert_eq!(link["redirect_uri"], "http://localhost:3118/oauth/callback");
    assert_eq!(link["scope"], "mail");
}

#[tokio::test]
async fn entered_client_refreshes_after_a_restart() {
    let fixture = SignInFixture::with(entered_client());
    fixture.oauth.rules().wanted_client = Some("entered:s3cret");
    fixture.sign_in().await;
    assert!(fixture.oauth.requests_to("https://auth.example/register").is_empty());
    let fixture = fixture.restarted();
    fixture.clock.advance(HOUR_MS);
    assert_eq!(fixture.token().await, Ok(Some("access-2-".to_owned())));
}

#[tokio::test]
async fn registered_secret_refreshes_after_a_restart() {
    let fixture = SignInFixture::new();
    fixture.oauth.rules().registered_secret = Some("given");
    fixture.oauth.rules().wanted_client = Some("registered:given");
    fixture.sign_in().await;
    let fixture = fixture.restarted();
    fixture.clock.advance(HOUR_MS);
    assert_eq!(fixture.token().await, Ok(Some("access-2-".to_owned())));
}

#[tokio::test]
async fn token_is_refreshed_thirty_seconds_early() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    fixture.clock.advance(HOUR_MS - 30_001);
    assert_eq!(fixture.token().await, Ok(Some("access-1-".to_owned())));
    fixture.clock.advance(1);
    assert_eq!(fixture.token().await, Ok(Some("access-2-".to_owned())));
    let refreshed = fixture.sign_ins.status(&name()).await.refreshed_at_ms.expect("a time");
    assert_eq!(refreshed.0, fixture.record().signed_in_at_ms.0 + 3_570_000);
}

#[tokio::test]
async fn two_runs_spend_one_refresh_token() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    fixture.clock.advance(HOUR_MS);
    let (first, second) = tokio::join!(fixture.token(), fixture.token());
    assert_eq!(first, Ok(Some("access-2-".to_owned())));
    assert_eq!(first, second);
    assert_eq!(fixture.oauth.refreshes(), 1);
}

#[tokio::test]
async fn dropped_caller_does_not_lose_a_rotated_token() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    fixture.clock.advance(HOUR_MS);
    // The caller goes away before the refresh begins.
    let tokens = fixture.tokens();
    drop(tokio::time::timeout(Duration::ZERO, tokens.token()).await);
    assert_eq!(fixture.token().await, Ok(Some("access-2-".to_owned())));
    assert_eq!(fixture.oauth.refreshes(), 1);
}

#[tokio::test]
async fn server_error_keeps_the_sign_in() {
    for failure in [(500, "server_error"), (503, "temporarily_unavailable"), (400, "slow_down")] {
        let fixture = SignInFixture::new();
        fixture.sign_in().await;
        fixture.oauth.rules().refresh_failure = Some(failure);
        fixture.clock.advance(HOUR_MS);
        let error = fixture.token().await.expect_err("no token");
        assert_eq!(error.kind, SignInErrorKind::Transient, "{error}");
        assert_eq!(fixture.token().await, Err(error));
        assert_eq!(fixture.oauth.refreshes(), 1, "a pause between two attempts");
        assert_eq!(fixture.state().await, SignInState::SignedIn);
        fixture.oauth.rules().refresh_failure = None;
        fixture.clock.advance(5_000);
        assert_eq!(fixture.token().await, Ok(Some("access-2-".to_owned())));
    }
}

#[tokio::test]
async fn token_is_used_to_its_end_while_refreshes_fail() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    fixture.oauth.rules().refresh_failure = Some((500, "server_error"));
    fixture.clock.advance(HOUR_MS - 10_000);
    assert_eq!(fixture.token().await, Ok(Some("access-1-".to_owned())));
    fixture.clock.advance(10_000);
    assert!(fixture.token().await.is_err());
}

#[tokio::test]
async fn rejected_refresh_token_is_never_sent_again() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    fixture.oauth.rules().refresh_failure = Some((400, "invalid_grant"));
    fixture.clock.advance(HOUR_MS - 10_000);
    let error = fixture.token().await.expect_err("no token");
    assert_eq!(error.kind, SignInErrorKind::NeedsSignIn);
    assert!(error.text.contains("`rouse mcp login cal`"), "{error}");
    assert_eq!(fixture.sign_ins.need(&name()), Some(error.text));
    let fixture = fixture.restarted();
    assert!(fixture.token().await.is_err());
    assert_eq!(fixture.oauth.refreshes(), 1);
    assert_eq!(fixture.state().await, SignInState::NeedsSignIn);
    fixture.oauth.rules().refresh_failure = None;
    fixture.sign_in().await;
    assert_eq!(fixture.token().await, Ok(Some("access-2-".to_owned())));
    assert_eq!(fixture.sign_ins.need(&name()), None);
}

#[tokio::test]
async fn sign_in_without_refresh_token_ends_with_its_token() {
    let fixture = SignInFixture::new();
    fixture.oauth.rules().gives_refresh_token = false;
    fixture.sign_in().await;
    fixture.clock.advance(HOUR_MS - 1);
    assert_eq!(fixture.token().await, Ok(Some("access-1-".to_owned())));
    fixture.clock.advance(1);
    let error = fixture.token().await.expect_err("no token");
    assert_eq!(error.kind, SignInErrorKind::NeedsSignIn);
}

#[tokio::test]
async fn moved_sign_in_server_gets_no_old_token() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    fixture.clock.advance(HOUR_MS);
    let mut moved = fixture.record();
    moved.issuer = "https://old.example".to_owned();
    fixture.store.save(&name(), moved).await.expect("saved");
    let error = fixture.token().await.expect_err("no token");
    assert_eq!(error.kind, SignInErrorKind::NeedsSignIn);
    assert_eq!(fixture.oauth.refreshes(), 0);
}

#[tokio::test]
async fn missing_scopes_are_requested_at_the_next_sign_in() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    let challenge = r#"Bearer error="insufficient_scope", scope="write""#;
    fixture.tokens().note_rejection(403, r#"Bearer error="invalid_request""#).await;
    assert_eq!(fixture.state().await, SignInState::SignedIn);
    fixture.tokens().note_rejection(403, challenge).await;
    let fixture = fixture.restarted();
    let status = fixture.sign_ins.status(&name()).await;
    assert_eq!(status.state, SignInState::NeedsSignIn);
    assert!(status.reason.is_some_and(|reason| reason.contains("write")));
    // Other tools still work.
    assert_eq!(fixture.token().await, Ok(Some("access-1-".to_owned())));
    let link = fixture.link().await;
    assert_eq!(link["scope"], "read write");
    assert_eq!(fixture.sign_ins.finish(callback(&link)).await, Ok(name()));
    assert_eq!(fixture.state().await, SignInState::SignedIn);
}

#[tokio::test]
async fn callback_of_another_issuer_is_refused() {
    let fixture = SignInFixture::new();
    let link = fixture.link().await;
    let iss = Some("https://evil.example".to_owned());
    let forged = SignInCallback { iss, ..callback(&link) };
    assert_eq!(fixture.sign_ins.finish(forged).await, Err(SignInEnd::Failed));
    assert!(fixture.oauth.requests_to("https://auth.example/token").is_empty());
    assert_eq!(fixture.state().await, SignInState::SignedOut);
}

#[tokio::test]
async fn callback_needs_the_state_of_an_open_link() {
    let fixture = SignInFixture::new();
    let (first, link) = (fixture.link().await, fixture.link().await);
    let wrong = SignInCallback { state: "x".repeat(86), ..callback(&link) };
    for unknown in [wrong, callback(&first), SignInCallback::default()] {
        let end = fixture.sign_ins.finish(unknown).await;
        assert_eq!(end, Err(SignInEnd::UnknownState));
    }
    assert_eq!(fixture.sign_ins.finish(callback(&link)).await, Ok(name()));
    assert_eq!(fixture.sign_ins.finish(callback(&link)).await, Err(SignInEnd::UnknownState));
    let late = fixture.link().await;
    fixture.clock.advance(600_000);
    assert_eq!(fixture.sign_ins.finish(callback(&late)).await, Err(SignInEnd::UnknownState));
}

#[tokio::test]
async fn refusal_of_the_person_is_named() {
    let fixture = SignInFixture::new();
    let link = fixture.link().await;
    let error = Some("access_denied".to_owned());
    let denied = SignInCallback { error, code: None, ..callback(&link) };
    assert_eq!(fixture.sign_ins.finish(denied).await, Err(SignInEnd::Failed));
    let status = fixture.sign_ins.status(&name()).await;
    assert!(status.reason.is_some_and(|reason| reason.contains("the access was denied")));
}

#[tokio::test]
async fn metadata_behind_a_redirect_is_not_read() {
    let fixture = SignInFixture::new();
    fixture.oauth.rules().is_redirected = true;
    let refusal = fixture.refusal().await;
    assert!(refusal.contains("publishes no sign-in"), "{refusal}");
    assert!(fixture.oauth.requests_to("https://elsewhere.example").is_empty());
}

#[tokio::test]
async fn sign_in_server_at_a_private_address_is_refused() {
    for private in ["https://10.0.0.5", "https://169.254.169.254", "https://localhost"] {
        let fixture = SignInFixture::new();
        fixture.oauth.rules().issuer = private;
        let refusal = fixture.refusal().await;
        assert!(refusal.contains("is not possible"), "{refusal}");
        assert!(fixture.oauth.requests_to(private).is_empty());
    }
}

#[tokio::test]
async fn endpoint_without_encryption_is_refused() {
    let fixture = SignInFixture::new();
    fixture.oauth.rules().token_endpoint = "http://auth.example/token";
    let refusal = fixture.refusal().await;
    assert!(refusal.contains("does not begin with https://"), "{refusal}");
}

#[tokio::test]
async fn sign_in_without_registration_needs_a_client_id() {
    let fixture = SignInFixture::new();
    fixture.oauth.rules().registers_clients = false;
    let refusal = fixture.refusal().await;
    assert!(refusal.contains("enter the client id"), "{refusal}");
}

#[tokio::test]
async fn large_tokens_are_kept_and_sent() {
    let fixture = SignInFixture::new();
    fixture.oauth.rules().token_length = 8_192;
    fixture.sign_in().await;
    fixture.clock.advance(HOUR_MS);
    let token = fixture.token().await.expect("a token").expect("signed in");
    assert!(token.starts_with("access-2-") && token.len() > 8_192);
}

#[tokio::test]
async fn removed_server_gets_no_record() {
    let fixture = SignInFixture::new();
    let link = fixture.link().await;
    *fixture.book.settings.lock().expect("a lock") = None;
    assert_eq!(fixture.sign_ins.finish(callback(&link)).await, Err(SignInEnd::Failed));
    assert_eq!(fixture.store.record(&name()), None);
}

#[tokio::test]
async fn sign_out_deletes_tokens_and_link() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    let link = fixture.link().await;
    assert_eq!(fixture.sign_ins.sign_out(&name()).await, Ok(true));
    assert_eq!(fixture.token().await, Ok(None));
    assert_eq!(fixture.sign_ins.finish(callback(&link)).await, Err(SignInEnd::UnknownState));
    assert_eq!(fixture.sign_ins.sign_out(&name()).await, Ok(false));
}

#[tokio::test]
async fn cancelled_sign_in_ends_the_wait() {
    let fixture = SignInFixture::new();
    fixture.link().await;
    let server = name();
    let waiting = fixture.sign_ins.await_end(&server, Duration::from_secs(60));
    let cancelling = async { fixture.sign_ins.cancel(&server) };
    let ((), is_cancelled) = tokio::join!(waiting, cancelling);
    assert!(is_cancelled);
    assert_eq!(fixture.state().await, SignInState::SignedOut);
}

#[tokio::test]
async fn echoed_token_stays_out_of_errors_and_results() {
    let fixture = SignInFixture::new();
    fixture.oauth.rules().token_length = 32;
    fixture.sign_in().await;
    let token = fixture.token().await.expect("a token").expect("signed in");
    for status in [200, 500] {
        fixture.oauth.rules().echo_status = Some(status);
        let exchange = Arc::clone(&fixture.oauth.exchange);
        let tokens = Some(fixture.tokens());
        let opened = Connection::open_http(exchange, SERVER_URL, &BTreeMap::new(), tokens).await;
        let text = match opened.expect("a connection").list_tools().await {
            Ok(tools) => tools[0].description.clone(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains("You sent [redacted: sign-in token]."), "{text}");
        assert!(!text.contains(&token), "{text}");
    }
}

#[tokio::test]
async fn echoed_refresh_token_stays_out_of_the_error() {
    let fixture = SignInFixture::new();
    fixture.sign_in().await;
    fixture.oauth.rules().refresh_failure = Some((400, "refresh-1-"));
    fixture.clock.advance(HOUR_MS);
    let text = fixture.token().await.expect_err("no token").text;
    assert!(text.contains("[redacted: sign-in token]"), "{text}");
    assert!(!text.contains("refresh-1-"), "{text}");
}

#[tokio::test]
async fn idle_sign_in_is_refreshed_before_its_end() {
    let fixture = SignInFixture::new();
    let (server, day) = (name(), Duration::from_millis(24 * HOUR_MS));
    assert_eq!(fixture.sign_ins.refresh_idle(&server, day).await, Ok(false), "nobody signed in");
    fixture.oauth.rules().expires_in = 7 * 24 * 3_600;
    fixture.sign_in().await;
    fixture.clock.advance(24 * HOUR_MS - 1);
    assert_eq!(fixture.sign_ins.refresh_idle(&server, day).await, Ok(false), "used today");
    fixture.clock.advance(1);
    assert_eq!(fixture.sign_ins.refresh_idle(&server, day).await, Ok(true));
    assert_eq!(fixture.sign_ins.refresh_idle(&server, day).await, Ok(false), "used today");
    assert_eq!(fixture.oauth.refreshes(), 1);
    assert_eq!(fixture.token().await, Ok(Some("access-2-".to_owned())));
}

#[tokio::test]
async fn dead_idle_sign_in_is_not_spent_again() {
    let fixture = SignInFixture::new();
    let (server, day) = (name(), Duration::from_millis(24 * HOUR_MS));
    fixture.sign_in().await;
    fixture.oauth.rules().refresh_failure = Some((400, "invalid_grant"));
    fixture.clock.advance(24 * HOUR_MS);
    let error = fixture.sign_ins.refresh_idle(&server, day).await.expect_err("a dead token");
    assert_eq!(error.kind, SignInErrorKind::NeedsSignIn);
    assert_eq!(fixture.sign_ins.refresh_idle(&server, day).await, Ok(false));
    assert_eq!(fixture.oauth.refreshes(), 1);
    assert_eq!(fixture.state().await, SignInState::NeedsSignIn);
}

#[tokio::test]
async fn open_connection_uses_renewed_tokens() {
    let fixture = SignInFixture::new();
    let open = || {
        let exchange = Arc::clone(&fixture.oauth.exchange);
        async {
            Connection::open_http(exchange, SERVER_URL, &BTreeMap::new(), Some(fixture.tokens()))
                .await
        }
    };
    assert!(open().await.is_err(), "nobody is signed in");
    fixture.sign_in().await;
    let connection = open().await.expect("a connection");
    // The server forgets the token before its end.
    fixture.oauth.rules().accepted = "access-x".to_owned();
    let limit = Duration::from_secs(60);
    let result = connection.call_tool("work", Map::new(), None, limit, Box::new(|_| {})).await;
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(fixture.oauth.refreshes(), 1);
}
