//! `POST /mcp`: Rouse as an MCP server.
//!
//! A caller needs a token of the MCP server, or the token of the person, which only `rouse mcp serve` sends: whoever can read that
//! token can call `/rpc` anyway. A browser session is no access. The other methods get 405, because there are no streams and no
//! sessions.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::body::CompleteBody;
use super::connection_limit::ConnectionPermit;
use super::error_response::error_response;
use super::guard::{JsonContentType, bearer_token};
use super::state::RouterState;
use crate::mcp::{CLIENT_HEADER, McpCaller, McpTools, RUN_HEADER, decode, respond};
use crate::wire::McpScope;

/// A caller with a token.
pub(super) struct McpAuthenticated(McpCaller);

impl FromRequestParts<RouterState> for McpAuthenticated {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &RouterState) -> Result<Self, Response> {
        let authorization = parts.headers.get(header::AUTHORIZATION);
        let token = authorization.and_then(|value| value.to_str().ok()).and_then(bearer_token);
        let Some(caller) = token.and_then(|token| caller_of(state, &parts.headers, token)) else {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
            let message = "Send a token as `Authorization: Bearer …`. Create one with \
                           `rouse mcp tokens create NAME`.";
            return Err(
                (challenge, error_response(StatusCode::UNAUTHORIZED, message)).into_response()
            );
        };
        if let Some(permit) = parts.extensions.get::<Arc<ConnectionPermit>>() {
            permit.mark_authenticated();
        }
        Ok(Self(caller))
    }
}

/// The program behind `token`; none for an invalid token.
fn caller_of(state: &RouterState, headers: &HeaderMap, token: &str) -> Option<McpCaller> {
    let claim = |name: &str| headers.get(name)?.to_str().ok().and_then(decode);
    let run_id = claim(RUN_HEADER);
    if state.auth.is_token(token) {
        return Some(McpCaller {
            token_name: None,
            claimed_name: claim(CLIENT_HEADER),
            scope: McpScope::Write,
            run_id,
        });
    }
    let tokens = &state.gateway.context().mcp_tokens;
    let token = tokens.authenticate(token, state.clock.now())?;
    Some(McpCaller { token_name: Some(token.name), claimed_name: None, scope: token.scope, run_id })
}

/// `POST /mcp`.
pub(super) async fn call(
    McpAuthenticated(caller): McpAuthenticated,
    _: JsonContentType,
    State(state): State<RouterState>,
    headers: HeaderMap,
    CompleteBody(body): CompleteBody,
) -> Response {
    let tools = McpTools::Engine { gateway: &state.gateway, caller: &caller };
    let reply = respond(&body, Some(&headers), tools).await;
    match reply.body {
        Some(body) => (reply.status, axum::Json(body)).into_response(),
        None => reply.status.into_response(),
    }
}

/// The response to another method than POST.
pub(super) async fn method_not_allowed() -> Response {
    let allow = [(header::ALLOW, "POST")];
    let message = "There are no streams and no sessions. Send each message with POST.";
    (allow, error_response(StatusCode::METHOD_NOT_ALLOWED, message)).into_response()
}
