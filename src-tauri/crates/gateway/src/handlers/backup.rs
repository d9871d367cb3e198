//! `backup.*`.

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{BackupView, BackupsView, EmptyObject};

pub(crate) async fn list(context: &Context, _: EmptyObject) -> Result<BackupsView, RpcError> {
    context.backups.list().await
}

pub(crate) async fn create(context: &Context, _: EmptyObject) -> Result<BackupView, RpcError> {
    context.backups.create().await
}
