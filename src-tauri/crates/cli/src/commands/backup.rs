//! `rouse backup` and `rouse restore`.
//!
//! The engine makes the backup; without an engine, this process does. A restore needs a stopped engine. Never
//! overwrites a file that the user names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::Clock as _;
use rouse_gateway::wire::{BackupView, BackupsView};
use rouse_host::{Home, RestoreReport, workspace_of};
use serde_json::json;

use crate::render::table::{new_table, print_rows};
use crate::render::time::local_time;
use crate::resolve::backups::{create_backup, list_backups};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// New file or folder for a copy of the backup
    #[arg(conflicts_with = "list")]
    file: Option<PathBuf>,
    /// List the backups
    #[arg(long)]
    list: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// Backup file, for example the newest of `rouse backup --list`
    file: PathBuf,
}

pub(crate) async fn run(args: &BackupArgs, engine: &EngineConnection) -> Result<(), CliError> {
    if args.list {
        return engine.print_answer(list_backups(engine).await?, |engine, view| {
            print_backups(engine, &view)
        });
    }
    if args.file.is_some() {
        engine.require_this_computer("A copy of the backup")?;
    }
    let target = args.file.as_deref().map(check_target).transpose()?;
    let backup: BackupView = serde_json::from_value(create_backup(engine).await?)?;
    let path = match target {
        Some(target) => copy_backup(Path::new(&backup.path), target)?,
        None => PathBuf::from(&backup.path),
    };
    let backup = BackupView { path: path.display().to_string(), ..backup };
    engine.print_answer(json!(backup), |_, backup: BackupView| {
        anstream::println!("Backed up to {} ({}).", backup.path, size_text(backup.bytes));
        if backup.omitted_files > 0 {
            anstream::println!(
                "{} files of skills and workspace are omitted: a backup includes files up to 1 MB, and up to 10,000 files and 100 MB per folder.",
                backup.omitted_files
            );
        }
        anstream::println!("Secrets are not included. To restore: rouse restore {}", backup.path);
    })
}

/// Refuses an existing file.
fn check_target(path: &Path) -> Result<&Path, CliError> {
    if path.exists() && !path.is_dir() {
        Err(CliError::input(format!("{} exists. Name a new file or a folder.", path.display())))
    } else {
        Ok(path)
    }
}

fn copy_backup(source: &Path, target: &Path) -> Result<PathBuf, CliError> {
    let target = if target.is_dir() {
        target.join(source.file_name().unwrap_or_default())
    } else {
        target.to_owned()
    };
    copy_private(source, &target)
        .map_err(|error| anyhow::anyhow!("{}: {error}", target.display()))?;
    Ok(target)
}

fn copy_private(source: &Path, target: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut copy = options.open(target)?;
    io::copy(&mut fs::File::open(source)?, &mut copy)?;
    copy.sync_all()
}

fn print_backups(engine: &EngineConnection, view: &BackupsView) {
    if view.backups.is_empty() {
        anstream::println!("No backup yet. Rouse makes a backup daily. Now: rouse backup");
        return;
    }
    let mut rows = new_table(&["CREATED", "SIZE", "FILE"]);
    for backup in &view.backups {
        let made = local_time(engine, backup.made_at_ms);
        rows.add_row([made, size_text(backup.bytes), backup.path.clone()]);
    }
    print_rows(&rows);
}

fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

pub(crate) async fn restore(args: &RestoreArgs, engine: &EngineConnection) -> Result<(), CliError> {
    if !args.file.is_file() {
        return Err(CliError::input(format!("{} is no file.", args.file.display())));
    }
    let now = engine.clock.now();
    let workspace = |home: &Home| workspace_of(home).unwrap_or_else(|_| home.workspace());
    let report = rouse_host::restore(&engine.home, &args.file, workspace, now)
        .await
        .map_err(|error| CliError::Refused(error.to_string()))?;
    print_report(engine, report);
    Ok(())
}

fn print_report(engine: &EngineConnection, report: RestoreReport) {
    let RestoreReport { backup_at, before, files, differing, permissions } = report;
    let (grants, approvals) = (permissions.grants, permissions.pending_approvals);
    if engine.json {
        let differing: Vec<_> = differing.iter().map(|path| path.display().to_string()).collect();
        let before = before.map(|path| path.display().to_string());
        let answer = json!({ "backupAtMs": backup_at.0, "before": before, "files": files, "differing": differing, "grants": grants, "pendingApprovals": approvals });
        anstream::println!("{answer}");
        return;
    }
    anstream::println!("Restored the backup of {}.", local_time(engine, backup_at.0));
    if let Some(before) = before {
        anstream::println!("The old database and settings are in {}.", before.display());
    }
    if files > 0 {
        anstream::println!("{files} missing files are restored: skills, extensions and workspace.");
    }
    for path in &differing {
        anstream::println!("Kept, although the backup has another version: {}", path.display());
    }
    anstream::println!(
        "Start Rouse again. Slots since the backup count as missed; no slot fires twice."
    );
    match grants {
        0 => {}
        1 => anstream::println!(
            "1 grant of the backup is valid again, also if revoked since: rouse grants"
        ),
        _ => anstream::println!(
            "{grants} grants of the backup are valid again, also those revoked since: rouse grants"
        ),
    }
    match approvals {
        0 => {}
        1 => anstream::println!(
            "1 approval of the backup is pending again. Deny a call that was decided since: rouse approvals list"
        ),
        _ => anstream::println!(
            "{approvals} approvals of the backup are pending again. Deny calls that were decided since: rouse approvals list"
        ),
    }
    anstream::println!("Secrets are not in a backup: rouse secrets list");
}
