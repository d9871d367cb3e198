//! `mcpAccess.*`: the tokens of programs that use Rouse as an MCP server.

use crate::auth::McpTokenError;
use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    ChangeResult, EmptyObject, McpAccessCreateParams, McpAccessListResult, McpTokenCreated,
    McpTokenRef,
};

pub(crate) async fn list(
    context: &Context,
    _: EmptyObject,
) -> Result<McpAccessListResult, RpcError> {
    Ok(McpAccessListResult { tokens: context.mcp_tokens.list(), url: server_url(context) })
}

pub(crate) async fn create(
    context: &Context,
    params: McpAccessCreateParams,
) -> Result<McpTokenCreated, RpcError> {
    let now = context.clock.now();
    let (token, view) =
        context.mcp_tokens.create(&params.name, params.scope, now).map_err(token_error)?;
    Ok(McpTokenCreated { token, url: server_url(context), view })
}

pub(crate) async fn revoke(
    context: &Context,
    params: McpTokenRef,
) -> Result<ChangeResult, RpcError> {
    let changed = context.mcp_tokens.revoke(&params.name).map_err(token_error)?;
    Ok(ChangeResult { changed })
}

fn server_url(context: &Context) -> String {
    format!("http://127.0.0.1:{}/mcp", context.engine.port)
}

fn token_error(error: McpTokenError) -> RpcError {
    let message = error.to_string();
    match error {
        McpTokenError::Name => RpcError::field("name", &message),
        McpTokenError::Exists(_) => RpcError::new(ErrorCode::Exists, message),
        McpTokenError::Full => RpcError::new(ErrorCode::Conflict, message),
        McpTokenError::Write { .. } => RpcError::new(ErrorCode::Storage, message),
    }
}
