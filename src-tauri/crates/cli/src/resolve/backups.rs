//! Backups, from the engine or from the backup folder when no engine runs.

use std::sync::Arc;

use rouse_gateway::ClientError;
use rouse_gateway::wire::{BackupView, BackupsView};
use rouse_host::{Backup, BackupFolder, SystemClock, workspace_of};
use serde_json::{Value, json};

use super::engine::EngineConnection;
use super::error::CliError;

/// The list of backups, as the answer of `backup.list`.
pub(crate) async fn list_backups(engine: &EngineConnection) -> Result<Value, CliError> {
    match engine.call("backup.list", json!({})).await {
        Err(CliError::Client(ClientError::NotRunning)) => {
            let folder = backup_folder(engine)?;
            let backups = folder.list()?.into_iter().map(backup_view).collect();
            Ok(json!(BackupsView { folder: folder.path().display().to_string(), backups }))
        }
        answer => answer,
    }
}

/// Makes a backup, as the answer of `backup.create`.
pub(crate) async fn create_backup(engine: &EngineConnection) -> Result<Value, CliError> {
    match engine.call("backup.create", json!({})).await {
        Err(CliError::Client(ClientError::NotRunning)) => {}
        answer => return answer,
    }
    let database = engine.home.database();
    if !database.exists() {
        return Err(CliError::Refused(format!(
            "There is nothing to back up: {} is missing.",
            database.display()
        )));
    }
    let backup = backup_folder(engine)?.create().await.map_err(anyhow::Error::from)?;
    Ok(json!(backup_view(backup)))
}

fn backup_folder(engine: &EngineConnection) -> Result<BackupFolder, CliError> {
    let workspace =
        workspace_of(&engine.home).map_err(|error| CliError::input(error.to_string()))?;
    Ok(BackupFolder::of(engine.home.clone(), workspace, Arc::new(SystemClock::default())))
}

fn backup_view(backup: Backup) -> BackupView {
    let Backup { path, made_at, bytes, omitted_files } = backup;
    BackupView { path: path.display().to_string(), made_at_ms: made_at.0, bytes, omitted_files }
}
