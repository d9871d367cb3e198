//! `config.*`.

use std::sync::Arc;

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{ConfigPatchParams, ConfigView, Empty};

pub(crate) async fn get(context: &Context, _: Empty) -> Result<ConfigView, RpcError> {
    Ok(Arc::clone(&context.settings).view().await)
}

pub(crate) async fn patch(
    context: &Context,
    params: ConfigPatchParams,
) -> Result<ConfigView, RpcError> {
    Arc::clone(&context.settings).patch(params.patch, params.expected_revision).await
}
