//! The MCP protocol over the loopback server: both eras, refusals and token separation.

use serde_json::{Value, json};

use crate::fixture::GatewayFixture;
use crate::mcp_client::{MODERN, McpTestClient, modern_headers, modern_request, request};

const SUPPORTED: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

#[tokio::test]
async fn handshake_answers_the_requested_version() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    for (requested, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        (MODERN, "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let params = json!({
            "protocolVersion": requested, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let (status, reply) = client.handshake_call("initialize", params).await;
        assert_eq!((status, &reply["id"]), (200, &json!(7)), "{reply}");
        let result = &reply["result"];
        assert_eq!(result["protocolVersion"], answered);
        assert_eq!(result["serverInfo"]["name"], "rouse");
        assert!(result["capabilities"]["tools"].is_object() && result.get("resultType").is_none());
    }
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(client.post("", &initialized).await, (202, Value::Null));
    let header = "MCP-Protocol-Version: 2025-11-25\r\n";
    let (status, reply) = client.post(header, &request("tools/list", json!({}))).await;
    assert_eq!(status, 200);
    assert_eq!(reply["result"]["tools"].as_array().map(Vec::len), Some(12));
    assert!(reply["result"].get("ttlMs").is_none(), "only in the later era");
    assert_eq!(client.handshake_call("ping", json!({})).await.1["result"], json!({}));
    fixture.stop().await;
}

#[tokio::test]
async fn discover_answers_versions_without_handshake() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let (status, reply) = client.modern_call("server/discover", json!({})).await;
    let result = &reply["result"];
    assert_eq!((status, &result["supportedVersions"]), (200, &json!(SUPPORTED)), "{reply}");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["cacheScope"], "private");
    assert!(result["ttlMs"].is_u64());
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "rouse");
    let (_, first) = client.modern_call("tools/list", json!({})).await;
    let (_, second) = client.modern_call("tools/list", json!({})).await;
    assert_eq!(first, second, "the order is stable");
    assert!(first["result"]["ttlMs"].is_u64());
    let call = json!({ "name": "jobs_list", "arguments": {} });
    let (status, reply) = client.modern_call("tools/call", call).await;
    assert_eq!((status, &reply["result"]["resultType"]), (200, &json!("complete")), "{reply}");
    fixture.stop().await;
}

#[tokio::test]
async fn methods_of_the_handshake_are_unknown_without_one() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let initialize = json!({
        "protocolVersion": MODERN, "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    for (method, params) in [("ping", json!({})), ("initialize", initialize)] {
        let (status, reply) = client.modern_call(method, params).await;
        assert_eq!((status, &reply["error"]["code"]), (404, &json!(-32601)), "{reply}");
    }
    fixture.stop().await;
}

#[tokio::test]
async fn header_that_differs_from_body_is_refused() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let message = modern_request("tools/call", json!({ "name": "jobs_list" }));
    let version = format!("MCP-Protocol-Version: {MODERN}\r\n");
    let all = modern_headers(&message);
    for headers in [
        String::new(),
        version.clone(),
        format!("{version}Mcp-Method: tools/list\r\nMcp-Name: jobs_list\r\n"),
        format!("{version}Mcp-Method: tools/call\r\n"),
        format!("{version}Mcp-Method: tools/call\r\nMcp-Name: job_delete\r\n"),
        format!("{version}Mcp-Method: tools/call\r\nMcp-Name: =?base64?!?=\r\n"),
        format!("{all}Mcp-Name: jobs_list\r\n"),
        all.replace(MODERN, "2025-11-25"),
    ] {
        let (status, reply) = client.post(&headers, &message).await;
        assert_eq!((status, &reply["error"]["code"]), (400, &json!(-32020)), "{headers}: {reply}");
        assert_eq!(reply["id"], 7);
    }
    assert_eq!(client.post(&all, &message).await.0, 200);
    let encoded = all.replace("Mcp-Name: jobs_list", "Mcp-Name: =?base64?am9ic19saXN0?=");
    assert_eq!(client.post(&encoded, &message).await.0, 200);
    fixture.stop().await;
}

#[tokio::test]
async fn unsupported_version_lists_the_supported_ones() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let mut message = modern_request("tools/list", json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let headers = "MCP-Protocol-Version: 2099-01-01\r\nMcp-Method: tools/list\r\n";
    let old = (headers, request("tools/list", json!({})));
    for (headers, message) in [(headers, message), old] {
        let (status, reply) = client.post(headers, &message).await;
        assert_eq!((status, &reply["error"]["code"]), (400, &json!(-32022)), "{reply}");
        let data = json!({ "requested": "2099-01-01", "supported": SUPPORTED });
        assert_eq!(reply["error"]["data"], data);
    }
    fixture.stop().await;
}

#[tokio::test]
async fn missing_metadata_is_named() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::of_person(&fixture);
    let headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\n");
    let mut without_capabilities = modern_request("tools/list", json!({}));
    let meta = without_capabilities["params"]["_meta"].as_object_mut().expect("metadata");
    meta.remove("io.modelcontextprotocol/clientCapabilities");
    for (message, key) in [
        (request("tools/list", json!({})), "protocolVersion"),
        (request("server/discover", json!({})), "protocolVersion"),
        (without_capabilities, "clientCapabilities"),
    ] {
        let (status, reply) = client.post(&headers, &message).await;
        assert_eq!((status, &reply["error"]["code"]), (400, &json!(-32602)), "{reply}");
        assert!(reply["error"]["message"].as_str().expect("words").contains(key), "{reply}");
    }
    fixture.stop().await;
}

#[tokio::test]
async fn malformed_message_is_refused_with_its_code() {
    let fixture = GatewayFixture::new().await;
    let headers =
        format!("Content-Type: application/json\r\nAuthorization: Bearer {}\r\n", fixture.token());
    for (body, code) in
        [("{", -32700), ("[]", -32600), ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600), ("7", -32600)]
    {
        let (status, reply) = fixture.post_raw("/mcp", &headers, body.as_bytes()).await;
        assert_eq!(status, 400, "{body}");
        assert!(reply.contains(&format!("\"code\":{code}")), "{body}: {reply}");
    }
    let client = McpTestClient::of_person(&fixture);
    let (status, reply) = client.modern_call("resources/list", json!({})).await;
    assert_eq!((status, &reply["error"]["code"]), (404, &json!(-32601)));
    let (status, reply) = client.handshake_call("resources/list", json!({})).await;
    assert_eq!((status, &reply["error"]["code"]), (200, &json!(-32601)));
    for params in [json!({}), json!({ "name": "approvals_decide" })] {
        let (status, reply) = client.handshake_call("tools/call", params).await;
        assert_eq!((status, &reply["error"]["code"]), (200, &json!(-32602)));
    }
    fixture.stop().await;
}

#[tokio::test]
async fn other_http_methods_and_pages_are_refused() {
    let fixture = GatewayFixture::new().await;
    let token = format!("Authorization: Bearer {}\r\n", fixture.token());
    for method in ["GET", "DELETE", "PUT"] {
        let (status, reply) = fixture.send_raw(method, "/mcp", &token, b"").await;
        assert_eq!(status, 405, "{method}: {reply}");
        assert!(reply.contains("allow: POST"), "{reply}");
    }
    let ping = request("ping", json!({}));
    let foreign = format!("{token}Origin: http://evil.example\r\n");
    assert_eq!(fixture.post("/mcp", &foreign, &ping).await.0, 403);
    assert_eq!(fixture.post_raw("/mcp", &token, ping.to_string().as_bytes()).await.0, 415);
    fixture.stop().await;
}

#[tokio::test]
async fn token_of_mcp_opens_only_mcp() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::with_scope(&fixture, "write").await;
    let bearer = format!("Authorization: Bearer {}\r\n", client.token);
    let ping = request("ping", json!({}));
    assert_eq!(fixture.post("/mcp", &bearer, &ping).await.0, 200);
    let rpc = request("cron.status", json!({}));
    assert_eq!(fixture.post("/rpc", &bearer, &rpc).await.0, 401);
    assert_eq!(fixture.post("/hooks/wake", &bearer, &json!({ "text": "x" })).await.0, 401);
    assert_eq!(fixture.post("/auth/code", &bearer, &json!({})).await.0, 401);
    let upgrade = format!(
        "{bearer}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    );
    assert_eq!(fixture.send_raw("GET", "/ws", &upgrade, b"").await.0, 401);
    for wrong in ["", "Authorization: Bearer \r\n", "Authorization: Bearer rouse_mcp_x\r\n"] {
        let (status, reply) = fixture.post("/mcp", wrong, &ping).await;
        assert_eq!(status, 401, "{wrong}");
        assert!(reply.contains("www-authenticate: Bearer"), "{reply}");
    }
    let revoked = fixture.call("mcpAccess.revoke", json!({ "name": "token-write" })).await;
    assert_eq!(revoked["changed"], true);
    assert_eq!(fixture.post("/mcp", &bearer, &ping).await.0, 401);
    fixture.stop().await;
}

#[tokio::test]
async fn token_list_shows_use_and_no_value() {
    let fixture = GatewayFixture::new().await;
    let client = McpTestClient::with_scope(&fixture, "read").await;
    client.handshake_call("ping", json!({})).await;
    let listed = fixture.call("mcpAccess.list", json!({})).await;
    let token = &listed["tokens"][0];
    assert_eq!((&token["name"], &token["scope"]), (&json!("token-read"), &json!("read")));
    assert!(token["lastUsedAtMs"].is_i64(), "{listed}");
    assert!(!listed.to_string().contains(&client.token));
    assert_eq!(listed["url"], format!("http://127.0.0.1:{}/mcp", fixture.port()));
    let params = json!({ "name": "token-read", "scope": "write" });
    let again = fixture.try_call("mcpAccess.create", params).await;
    assert_eq!(again.expect_err("a used name").code, -32010);
    fixture.stop().await;
}

#[tokio::test]
async fn bridge_forwards_both_eras() {
    let fixture = GatewayFixture::new().await;
    let origin = rouse_gateway::McpOrigin { client: Some("größer".to_owned()), run_id: None };
    for message in [request("ping", json!({})), modern_request("tools/list", json!({}))] {
        let reply = fixture.client.forward_mcp(&message, &origin).await.expect("a response");
        assert_eq!(reply.expect("a body")["id"], 7);
    }
    let unknown = modern_request("tools/unknown", json!({}));
    let reply = fixture.client.forward_mcp(&unknown, &origin).await.expect("a response");
    assert_eq!(reply.expect("a body")["error"]["code"], -32601);
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(fixture.client.forward_mcp(&notification, &origin).await.expect("sent"), None);
    fixture.stop().await;
}

#[tokio::test]
async fn offline_answers_protocol_and_explains_calls() {
    let answer = async |message: Value| {
        let body = message.to_string();
        rouse_gateway::answer_mcp_offline(body.as_bytes(), "Start Rouse.").await
    };
    let initialize = request("initialize", json!({ "protocolVersion": "2025-06-18" }));
    let reply = answer(initialize).await.expect("an answer");
    assert_eq!(reply["result"]["protocolVersion"], "2025-06-18");
    let reply = answer(request("tools/list", json!({}))).await.expect("an answer");
    assert_eq!(reply["result"]["tools"].as_array().map(Vec::len), Some(12));
    let reply = answer(modern_request("tools/list", json!({}))).await.expect("an answer");
    assert_eq!(reply["result"]["resultType"], "complete");
    let call = request("tools/call", json!({ "name": "jobs_list" }));
    let reply = answer(call).await.expect("an answer");
    assert_eq!(reply["result"]["isError"], true);
    assert_eq!(reply["result"]["content"][0]["text"], "Start Rouse.");
}
