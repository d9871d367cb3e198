//! An MCP client over the loopback server, in both eras.

use serde_json::{Value, json};

use crate::fixture::GatewayFixture;

pub(crate) const MODERN: &str = "2026-07-28";

/// A client with a token.
pub(crate) struct McpTestClient<'f> {
    pub(crate) fixture: &'f GatewayFixture,
    pub(crate) token: String,
}

impl<'f> McpTestClient<'f> {
    /// A client with the token of the person, as `rouse mcp serve`.
    pub(crate) fn of_person(fixture: &'f GatewayFixture) -> Self {
        Self { fixture, token: fixture.token() }
    }

    /// A client with a token of the MCP server.
    pub(crate) async fn with_scope(fixture: &'f GatewayFixture, scope: &str) -> Self {
        let params = json!({ "name": format!("token-{scope}"), "scope": scope });
        let created = fixture.call("mcpAccess.create", params).await;
        Self { fixture, token: created["token"].as_str().expect("a token").to_owned() }
    }

    /// Posts a message; returns the status and the JSON body, null without one.
    pub(crate) async fn post(&self, headers: &str, message: &Value) -> (u16, Value) {
        let headers = format!("Authorization: Bearer {}\r\n{headers}", self.token);
        let (status, reply) = self.fixture.post("/mcp", &headers, message).await;
        let body = reply.split_once("\r\n\r\n").expect("a body").1;
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// Calls a method as a client with a handshake.
    pub(crate) async fn handshake_call(&self, method: &str, params: Value) -> (u16, Value) {
        self.post("", &request(method, params)).await
    }

    /// Calls a method as a client of 2026-07-28.
    pub(crate) async fn modern_call(&self, method: &str, params: Value) -> (u16, Value) {
        let message = modern_request(method, params);
        self.post(&modern_headers(&message), &message).await
    }

    /// Calls a tool; returns its result.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let (status, reply) = self.handshake_call("tools/call", params).await;
        assert_eq!(status, 200, "{reply}");
        reply["result"].clone()
    }

    /// Calls a tool that must succeed; returns its structured content.
    pub(crate) async fn succeed(&self, name: &str, arguments: Value) -> Value {
        let result = self.tool(name, arguments).await;
        assert_eq!(result["isError"], false, "{name}: {result}");
        let content = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text");
        let parsed: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(parsed, content, "text and structured content differ");
        content
    }

    /// Calls a tool that must fail; returns its message.
    pub(crate) async fn fail(&self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await;
        assert_eq!(result["isError"], true, "{name}: {result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }
}

pub(crate) fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

pub(crate) fn modern_request(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "test-client", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(method, params)
}

pub(crate) fn modern_headers(message: &Value) -> String {
    let method = message["method"].as_str().expect("a method");
    let mut headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n");
    if let Some(name) = message["params"]["name"].as_str() {
        headers.push_str(&format!("Mcp-Name: {name}\r\n"));
    }
    headers
}
