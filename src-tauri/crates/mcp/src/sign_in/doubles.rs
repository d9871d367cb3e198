//! Doubles for sign-ins: the book of one server, and a server with its sign-in server in memory.
//!
//! For tests of this crate only. The double checks PKCE, the resource and the client as a strict sign-in server does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rouse_core::UnixMs;
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, OAuthClientSettings, ServerDefinition,
    ServerTransport, ToolListing, UnfilledSecret,
};
use rouse_core::http_exchange::HttpExchangeRequest;
use rouse_core::tool::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) use super::memory_store::MemorySignIns;
use crate::connection::doubles::{FakeAnswer, FakeExchange, Reaction, legacy_server};

/// The endpoint of the server.
pub(crate) const SERVER_URL: &str = "https://mcp.example/mcp";

const METADATA_URL: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
const CHALLENGE: &str =
    r#"Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp""#;
const WRITE_CHALLENGE: &str = r#"Bearer error="insufficient_scope", scope="write""#;

/// A book with one server over HTTP. Every secret is `s3cret`.
pub(crate) struct OneServerBook {
    /// The client of the server; none if the server is not installed.
    pub(crate) settings: Mutex<Option<OAuthClientSettings>>,
}

impl ExtensionBook for OneServerBook {
    fn get(&self, _: &ExtensionName) -> Option<Extension> {
        let settings = self.settings.lock().expect("a lock").clone()?;
        let transport = ServerTransport::Http {
            url: SERVER_URL.to_owned(),
            headers: BTreeMap::new(),
            oauth: Some(settings),
        };
        Some(Extension::installed(ServerDefinition::new(transport), UnixMs(0)))
    }

    fn all(&self) -> Vec<(ExtensionName, Extension)> {
        Vec::new()
    }

    fn record_listing(&self, _: &ExtensionName, _: Option<String>, _: &ToolListing) {}

    fn fill_secrets(&self, _: &ExtensionName, text: &str) -> Result<String, UnfilledSecret> {
        Ok(text.replace("{{secret:CLIENT}}", "s3cret"))
    }

    fn check_files<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// How the servers behave.
pub(crate) struct OAuthRules {
    /// The sign-in server that the server names.
    pub(crate) issuer: &'static str,
    /// The token endpoint.
    pub(crate) token_endpoint: &'static str,
    pub(crate) registers_clients: bool,
    /// The secret that a registered client gets.
    pub(crate) registered_secret: Option<&'static str>,
    /// The proof that the token endpoint wants of a confidential client: id and secret.
    pub(crate) wanted_client: Option<&'static str>,
    /// Whether the metadata of the server is behind a redirect.
    pub(crate) is_redirected: bool,
    /// The answer to a refresh instead of tokens.
    pub(crate) refresh_failure: Option<(u16, &'static str)>,
    pub(crate) gives_refresh_token: bool,
    /// The length of a token.
    pub(crate) token_length: usize,
    /// The life of an access token in seconds.
    pub(crate) expires_in: u32,
    /// Whether the server wants the scope `write`, which no token has.
    pub(crate) wants_write: bool,
    /// The status of an answer that repeats the token, in place of the tool list.
    pub(crate) echo_status: Option<u16>,
    /// The challenge of the last link.
    pub(crate) code_challenge: String,
    /// The token that the server accepts.
    pub(crate) accepted: String,
    /// The number of issued tokens.
    issued: usize,
}

/// A server with its sign-in server.
pub(crate) struct OAuthDouble {
    pub(crate) exchange: Arc<FakeExchange>,
    rules: Arc<Mutex<OAuthRules>>,
}

impl OAuthDouble {
    pub(crate) fn new() -> Self {
        let rules = Arc::new(Mutex::new(OAuthRules {
            issuer: "https://auth.example",
            token_endpoint: "https://auth.example/token",
            registers_clients: true,
            registered_secret: None,
            wanted_client: None,
            is_redirected: false,
            refresh_failure: None,
            gives_refresh_token: true,
            token_length: 0,
            expires_in: 3_600,
            wants_write: false,
            echo_status: None,
            code_challenge: String::new(),
            accepted: String::new(),
            issued: 0,
        }));
        let shared = Arc::clone(&rules);
        let exchange = FakeExchange::new(move |request, message| {
            let mut rules = shared.lock().expect("a lock");
            rules.answer(request, message)
        });
        Self { exchange, rules }
    }

    pub(crate) fn rules(&self) -> MutexGuard<'_, OAuthRules> {
        self.rules.lock().expect("a lock")
    }

    /// The requests whose address begins with `start`.
    pub(crate) fn requests_to(&self, start: &str) -> Vec<HttpExchangeRequest> {
        let requests = self.exchange.requests.lock().expect("a lock");
        requests.iter().filter(|request| request.url.starts_with(start)).cloned().collect()
    }

    /// The number of refreshes so far.
    pub(crate) fn refreshes(&self) -> usize {
        let requests = self.requests_to("https://auth.example/token");
        let grants = requests.iter().map(|request| form(&request.body));
        grants.filter(|form| form["grant_type"] == "refresh_token").count()
    }
}

impl OAuthRules {
    fn answer(&mut self, request: &HttpExchangeRequest, message: &Value) -> FakeAnswer {
        match request.url.as_str() {
            SERVER_URL => self.server_answer(request, message),
            METADATA_URL if !self.is_redirected => json_answer(
                200,
                &json!({ "resource": SERVER_URL, "authorization_servers": [self.issuer],
                    "scopes_supported": ["read"] }),
            ),
            _ if self.is_redirected => FakeAnswer {
                status: 302,
                headers: vec![("location", "https://elsewhere.example/metadata")],
                pieces: Vec::new(),
            },
            "https://auth.example/.well-known/oauth-authorization-server" => {
                let mut metadata = json!({
                    "issuer": self.issuer,
                    "authorization_endpoint": "https://auth.example/authorize",
                    "token_endpoint": self.token_endpoint,
                    "code_challenge_methods_supported": ["S256"],
                });
                if self.registers_clients {
                    metadata["registration_endpoint"] = json!("https://auth.example/register");
                }
                json_answer(200, &metadata)
            }
            "https://auth.example/register" => json_answer(
                201,
                &json!({ "client_id": "registered", "client_secret": self.registered_secret,
                    "redirect_uris": message["redirect_uris"] }),
            ),
            "https://auth.example/token" => self.token_answer(request),
            url if url.starts_with("https://auth.example/authorize?") => self.redirect(url),
            _ => FakeAnswer::empty(404),
        }
    }

    /// The server itself: a legacy MCP server behind a token.
    fn server_answer(&self, request: &HttpExchangeRequest, message: &Value) -> FakeAnswer {
        let token =
            header(request, "authorization").and_then(|value| value.strip_prefix("Bearer "));
        if self.accepted.is_empty() || token != Some(self.accepted.as_str()) {
            let headers = vec![("www-authenticate", CHALLENGE)];
            return FakeAnswer { status: 401, headers, pieces: Vec::new() };
        }
        if self.wants_write {
            let headers = vec![("www-authenticate", WRITE_CHALLENGE)];
            return FakeAnswer { status: 403, headers, pieces: Vec::new() };
        }
        if let Some(status) = self.echo_status.filter(|_| message["method"] == "tools/list") {
            let description = format!("You sent {}.", self.accepted);
            let tools = json!([{ "name": "work", "description": description,
                "inputSchema": { "type": "object" } }]);
            return json_answer(
                status,
                &json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "tools": tools } }),
            );
        }
        match legacy_server(message, &["work"]).pop() {
            Some(Reaction::Say(answer)) => json_answer(200, &answer),
            _ if message["method"] == "server/discover" => FakeAnswer::empty(400),
            _ => FakeAnswer::empty(202),
        }
    }

    /// Signs the person in at once.
    fn redirect(&mut self, link: &str) -> FakeAnswer {
        let (_, query) = link.split_once('?').expect("a query");
        let link = parameters(query);
        self.code_challenge.clone_from(&link["code_challenge"]);
        let location = format!("{}?code=code&state={}", link["redirect_uri"], link["state"]);
        // The double lives as long as the test.
        let headers = vec![("location", &*location.leak())];
        FakeAnswer { status: 302, headers, pieces: Vec::new() }
    }

    fn token_answer(&mut self, request: &HttpExchangeRequest) -> FakeAnswer {
        let form = form(&request.body);
        let client =
            header(request, "authorization").and_then(|value| value.strip_prefix("Basic "));
        let client = client.map(|text| STANDARD.decode(text).expect("base64"));
        let client = client.map(|bytes| String::from_utf8(bytes).expect("text"));
        if client.as_deref() != self.wanted_client {
            return json_answer(401, &json!({ "error": "invalid_client" }));
        }
        if form.get("resource").map(String::as_str) != Some(SERVER_URL) {
            return json_answer(400, &json!({ "error": "invalid_target" }));
        }
        let is_granted = match form["grant_type"].as_str() {
            "authorization_code" => {
                let challenge = Sha256::digest(form["code_verifier"].as_bytes());
                URL_SAFE_NO_PAD.encode(challenge) == self.code_challenge && form["code"] == "code"
            }
            _ => form["refresh_token"] == self.refresh_token(),
        };
        match self.refresh_failure {
            Some((status, error)) if form["grant_type"] == "refresh_token" => {
                json_answer(status, &json!({ "error": error }))
            }
            _ if !is_granted => json_answer(400, &json!({ "error": "invalid_grant" })),
            _ => self.issue(),
        }
    }

    fn issue(&mut self) -> FakeAnswer {
        self.issued += 1;
        self.accepted = format!("access-{}-{}", self.issued, "a".repeat(self.token_length));
        let refresh = self.gives_refresh_token.then(|| self.refresh_token());
        json_answer(
            200,
            &json!({ "access_token": self.accepted, "token_type": "Bearer",
                "expires_in": self.expires_in, "refresh_token": refresh }),
        )
    }

    /// The refresh token of the last answer. Each is good once.
    fn refresh_token(&self) -> String {
        format!("refresh-{}-{}", self.issued, "r".repeat(self.token_length))
    }
}

fn json_answer(status: u16, body: &Value) -> FakeAnswer {
    FakeAnswer::body(status, "application/json", &body.to_string())
}

fn header<'r>(request: &'r HttpExchangeRequest, name: &str) -> Option<&'r str> {
    request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The fields of a form.
pub(crate) fn form(body: &[u8]) -> BTreeMap<String, String> {
    parameters(std::str::from_utf8(body).expect("text"))
}

/// The parameters of a query.
pub(crate) fn parameters(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().expect("a digit"), rest.next().expect("a digit")];
                let digits = std::str::from_utf8(&digits).expect("text");
                u8::from_str_radix(digits, 16).expect("a number")
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).expect("text")
}
