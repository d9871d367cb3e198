//! `backup.*`.

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{BackupView, BackupsView, Empty};

pub(crate) async fn list(context: &Context, _: Empty) -> Result<BackupsView, RpcError> {
    context.backups.list().await
}

pub(crate) async fn create(context: &Context, _: Empty) -> Result<BackupView, RpcError> {
    context.backups.create().await
}
