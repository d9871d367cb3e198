//! A visit of an MCP server for the conformance suite: connect, sign in, list, call each tool.
//!
//! Owns the arguments that a schema suggests, and sign-ins without a browser: the sign-in server of a scenario redirects
//! at once. Never part of an engine: no person accepts the tools and no gate judges the calls, so only a developer's
//! command may use it. Pitfall: calling a listed tool that Rouse does not admit; some scenarios expect that such a tool
//! is never called.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::AuthorizationCallback;
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, OAuthClientSettings, ServerDefinition,
    ServerTransport, SignInCallback, ToolListing, UnfilledSecret,
};
use rouse_core::http_exchange::{HttpExchange, HttpExchangeRequest};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use serde_json::{Map, Value};

use crate::catalogue;
use crate::connection::{Connection, ConnectionError};
use crate::sign_in::{MemorySignIns, ServerSignIns, ServerTokens};

/// The time limit of a call without progress.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// The most sign-ins of a visit: the first, and one for wider scopes or another sign-in server.
const MAX_SIGN_INS: usize = 2;

/// The port of the redirect address, where nothing listens.
const REDIRECT_PORT: u16 = 7717;

/// Connects to the server at `url`, lists its tools and calls each once. With `toolCalls` in the `context` of the
/// scenario, makes these calls instead. Signs in when the server asks for a sign-in, with the client of the `context` if
/// there is one, and begins anew.
///
/// # Errors
/// The connection, a sign-in, the list or a call failed: the cause as a sentence. A tool may answer with an error.
pub async fn visit_server(
    exchange: Arc<dyn HttpExchange>,
    clock: Arc<dyn Clock>,
    url: &str,
    context: &Value,
) -> Result<(), String> {
    let book = Arc::new(VisitedServer::new(url, context));
    let store = Arc::new(MemorySignIns::default());
    let sign_ins = ServerSignIns::new(Arc::clone(&exchange), book, store, clock);
    let server: ExtensionName = "visited".parse().expect("BUG: the name is valid");
    let tokens = ServerTokens::new(sign_ins.clone(), server.clone(), url.to_owned());
    for _ in 0..MAX_SIGN_INS {
        match visit(&exchange, url, tokens.clone(), context).await {
            Err(ConnectionError::NeedsSignIn(_)) => {
                sign_in(exchange.as_ref(), &sign_ins, &server).await?;
            }
            visited => return visited.map_err(|error| error.to_string()),
        }
    }
    visit(&exchange, url, tokens, context).await.map_err(|error| error.to_string())
}

/// Signs in without a browser: opens the address and takes the redirect as the callback.
async fn sign_in(
    exchange: &dyn HttpExchange,
    sign_ins: &ServerSignIns,
    server: &ExtensionName,
) -> Result<(), String> {
    let link = sign_ins.begin(server, REDIRECT_PORT).await.map_err(|error| error.text)?;
    let request =
        HttpExchangeRequest { method: "GET", url: link, headers: Vec::new(), body: Vec::new() };
    let answer = exchange.exchange(request).await.map_err(|error| error.to_string())?;
    let location = answer.headers.iter().find(|(name, _)| name == "location");
    let (_, location) = location.ok_or_else(|| {
        format!("The sign-in server answered with HTTP {} and no redirect.", answer.status)
    })?;
    let callback =
        AuthorizationCallback::from_redirect_url(location).map_err(|error| error.to_string())?;
    let callback = SignInCallback {
        state: callback.csrf_token,
        code: Some(callback.code),
        iss: callback.issuer,
        error: None,
    };
    match sign_ins.finish(callback).await {
        Ok(_) => Ok(()),
        Err(end) => {
            let reason = sign_ins.status(server).await.reason;
            Err(reason.unwrap_or_else(|| format!("The sign-in ended with {end:?}.")))
        }
    }
}

async fn visit(
    exchange: &Arc<dyn HttpExchange>,
    url: &str,
    tokens: ServerTokens,
    context: &Value,
) -> Result<(), ConnectionError> {
    let opened =
        Connection::open_http(Arc::clone(exchange), url, &BTreeMap::new(), Some(tokens)).await;
    let connection = opened?;
    let visited = call_tools(&connection, context).await;
    connection.close().await;
    visited
}

async fn call_tools(connection: &Connection, context: &Value) -> Result<(), ConnectionError> {
    let tools = catalogue::admit(connection.list_tools().await?).tools;
    let calls: Vec<(String, Map<String, Value>)> = match context["toolCalls"].as_array() {
        Some(calls) => calls.iter().filter_map(read_call).collect(),
        None => tools
            .into_iter()
            .map(|tool| (tool.name, sample_arguments(&tool.input_schema)))
            .collect(),
    };
    for (name, arguments) in calls {
        connection.call_tool(&name, arguments, None, CALL_LIMIT, Box::new(|_| ())).await?;
    }
    Ok(())
}

/// A call of the context; none if it has another form.
fn read_call(call: &Value) -> Option<(String, Map<String, Value>)> {
    Some((call["name"].as_str()?.to_owned(), call["arguments"].as_object()?.clone()))
}

/// Values for the required properties of a schema.
fn sample_arguments(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    names.map(|name| (name.to_owned(), sample_value(&schema["properties"][name]))).collect()
}

/// A value that a schema allows, as far as its type and its listed values tell.
fn sample_value(schema: &Value) -> Value {
    let listed = schema["enum"].as_array().and_then(|values| values.first());
    if let Some(value) = schema.get("const").or(schema.get("default")).or(listed) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("object") => Value::Object(sample_arguments(schema)),
        Some("array") => Value::Array(Vec::new()),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(1.into()),
        Some("boolean") => true.into(),
        Some("null") => Value::Null,
        _ => "text".into(),
    }
}

/// The visited server as the only extension. The client of the context has its secret, not a handle.
struct VisitedServer {
    url: String,
    client: OAuthClientSettings,
}

impl VisitedServer {
    /// The server at `url`, with the client in the context of the scenario.
    fn new(url: &str, context: &Value) -> Self {
        let text = |key: &str| context[key].as_str().map(str::to_owned);
        let client = OAuthClientSettings {
            client_id: text("client_id"),
            client_secret: text("client_secret"),
            ..OAuthClientSettings::default()
        };
        Self { url: url.to_owned(), client }
    }
}

impl ExtensionBook for VisitedServer {
    fn get(&self, _: &ExtensionName) -> Option<Extension> {
        let transport = ServerTransport::Http {
            url: self.url.clone(),
            headers: BTreeMap::new(),
            oauth: Some(self.client.clone()),
        };
        Some(Extension::installed(ServerDefinition::new(transport), UnixMs(0)))
    }

    fn all(&self) -> Vec<(ExtensionName, Extension)> {
        Vec::new()
    }

    fn record_listing(&self, _: &ExtensionName, _: Option<String>, _: &ToolListing) {}

    fn fill_secrets(&self, _: &ExtensionName, text: &str) -> Result<String, UnfilledSecret> {
        Ok(text.to_owned())
    }

    fn check_files<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use rouse_testkit::ManualClock;
    use serde_json::json;

    use super::*;
    use crate::connection::doubles::{FakeAnswer, FakeExchange};
    use crate::sign_in::doubles::{OAuthDouble, SERVER_URL, parameters};

    fn clock() -> Arc<dyn Clock> {
        Arc::new(ManualClock::new(UnixMs(1_795_262_400_000)))
    }

    #[test]
    fn required_properties_get_allowed_values() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": { "type": "number", "minimum": 5 },
                "unit": { "enum": ["metric", "imperial"] },
                "place": {
                    "type": "object",
                    "properties": { "city": { "type": "string" } },
                    "required": ["city"],
                },
                "note": { "type": "string" },
            },
            "required": ["a", "unit", "place"],
        });
        let expected = json!({ "a": 5, "unit": "metric", "place": { "city": "text" } });
        assert_eq!(Value::Object(sample_arguments(&schema)), expected);
        assert_eq!(sample_arguments(&json!(true)), Map::new());
    }

    #[tokio::test]
    async fn calls_of_the_context_replace_the_listed_tools() {
        let exchange = FakeExchange::new(|_, message| match message["method"].as_str() {
            Some("server/discover") => FakeAnswer::result(
                message,
                &json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
                    "_meta": {
                        "io.modelcontextprotocol/serverInfo": { "name": "fake", "version": "1" },
                    },
                }),
            ),
            Some("tools/list") => FakeAnswer::result(
                message,
                &json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private" }),
            ),
            Some("tools/call") if message["params"]["arguments"]["region"] == "north" => {
                FakeAnswer::result(message, &json!({ "resultType": "complete", "content": [] }))
            }
            _ => FakeAnswer::empty(500),
        });
        let visit = async |region: &str| {
            let call = json!({ "name": "query", "arguments": { "region": region } });
            let context = json!({ "toolCalls": [call] });
            let exchange = Arc::clone(&exchange) as Arc<dyn HttpExchange>;
            visit_server(exchange, clock(), SERVER_URL, &context).await
        };
        assert_eq!(visit("north").await, Ok(()));
        assert!(visit("south").await.is_err());
    }

    #[tokio::test]
    async fn server_behind_a_sign_in_is_visited() {
        let oauth = OAuthDouble::new();
        oauth.rules().registers_clients = false;
        oauth.rules().wanted_client = Some("known:s3cret");
        let context = json!({ "client_id": "known", "client_secret": "s3cret" });
        let exchange = Arc::clone(&oauth.exchange) as Arc<dyn HttpExchange>;
        assert_eq!(visit_server(exchange, clock(), SERVER_URL, &context).await, Ok(()));
        assert_eq!(oauth.requests_to("https://auth.example/authorize").len(), 1);
    }

    #[tokio::test]
    async fn wider_scopes_are_requested_once() {
        let oauth = OAuthDouble::new();
        oauth.rules().wants_write = true;
        let exchange = Arc::clone(&oauth.exchange) as Arc<dyn HttpExchange>;
        let visited = visit_server(exchange, clock(), SERVER_URL, &Value::Null).await;
        assert!(visited.is_err(), "the server never grants the scope");
        let links = oauth.requests_to("https://auth.example/authorize");
        let scopes: Vec<String> = links
            .iter()
            .map(|request| {
                let (_, query) = request.url.split_once('?').expect("a query");
                parameters(query)["scope"].clone()
            })
            .collect();
        assert_eq!(scopes, ["read", "write read"]);
    }
}
