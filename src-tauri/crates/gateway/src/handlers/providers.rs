//! `providers.*`.

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{ProvidersListParams, ProvidersListResult};

pub(crate) async fn list(
    context: &Context,
    params: ProvidersListParams,
) -> Result<ProvidersListResult, RpcError> {
    Ok(context.models.list(params.refresh.unwrap_or(false)).await)
}
