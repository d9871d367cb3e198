//! `secrets.*`: stored secrets.

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    EmptyObject, SecretRef, SecretRemoved, SecretSetParams, SecretView, SecretsListResult,
};

pub(crate) async fn list(context: &Context, _: EmptyObject) -> Result<SecretsListResult, RpcError> {
    context.secrets.list().await
}

pub(crate) async fn set(
    context: &Context,
    params: SecretSetParams,
) -> Result<SecretView, RpcError> {
    context.secrets.set(params).await
}

pub(crate) async fn remove(
    context: &Context,
    params: SecretRef,
) -> Result<SecretRemoved, RpcError> {
    context.secrets.remove(&params.name).await
}
