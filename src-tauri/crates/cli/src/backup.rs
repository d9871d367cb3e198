//! `rouse backup` and `rouse restore`.
//!
//! Owns their words. A backup is made by the engine where one runs, else by this process; a restore needs the engine
//! stopped. Never overwrites a file that the person names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::Clock as _;
use rouse_gateway::ClientError;
use rouse_gateway::wire::{BackupView, BackupsView};
use rouse_host::{Backup, BackupFolder, Home, RestoreReport, SystemClock, workspace_of};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{instant, print, table};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// Also copy the backup to this new file, or into this folder.
    #[arg(conflicts_with = "list")]
    file: Option<PathBuf>,
    /// List the backups there are.
    #[arg(long)]
    list: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// The backup, such as the newest of `rouse backup --list`.
    file: PathBuf,
}

pub(crate) async fn run(args: &BackupArgs, session: &Session) -> Result<(), Failure> {
    if args.list {
        return session.tell(listed(session).await?, |session, view| {
            print_list(session, &view);
            Ok(())
        });
    }
    let to = args.file.as_deref().map(new_file).transpose()?;
    let made = match session.call("backup.create", json!({})).await {
        Err(Failure::Client(ClientError::NotRunning)) => make_here(session).await?,
        answer => answer?,
    };
    let made: BackupView = serde_json::from_value(made)?;
    let path = match to {
        Some(to) => copy(Path::new(&made.path), &to)?,
        None => PathBuf::from(&made.path),
    };
    let made = BackupView { path: path.display().to_string(), ..made };
    session.tell(json!(made), |_, made: BackupView| {
        anstream::println!("Backed up to {} ({}).", made.path, size(made.bytes));
        if made.left_out > 0 {
            anstream::println!(
                "{} files of skills and workspace are not in it: a backup takes files up to 1 MB, and up to 10,000 files and 100 MB of each folder.",
                made.left_out
            );
        }
        anstream::println!("Secrets are not in it. To bring it back: rouse restore {}", made.path);
        Ok(())
    })
}

/// The backups that the engine, or without one this process, finds.
pub(crate) async fn listed(session: &Session) -> Result<Value, Failure> {
    match session.call("backup.list", json!({})).await {
        Err(Failure::Client(ClientError::NotRunning)) => {
            let folder = folder(session)?;
            let backups = folder.list()?.into_iter().map(view).collect();
            Ok(json!(BackupsView { folder: folder.path().display().to_string(), backups }))
        }
        answer => answer,
    }
}

fn folder(session: &Session) -> Result<BackupFolder, Failure> {
    let workspace =
        workspace_of(&session.home).map_err(|error| Failure::input(error.to_string()))?;
    Ok(BackupFolder::of(session.home.clone(), workspace, Arc::new(SystemClock::default())))
}

/// No engine runs: the files are this process's to read.
async fn make_here(session: &Session) -> Result<Value, Failure> {
    if !session.home.database().exists() {
        let path = session.home.database();
        return Err(Failure::Refused(format!(
            "There is nothing to back up: {} is missing.",
            path.display()
        )));
    }
    let made = folder(session)?.create().await.map_err(anyhow::Error::from)?;
    Ok(json!(view(made)))
}

fn view(backup: Backup) -> BackupView {
    let Backup { path, made_at, bytes, left_out } = backup;
    BackupView { path: path.display().to_string(), made_at_ms: made_at.0, bytes, left_out }
}

/// The file that a person named, which is not there yet.
fn new_file(named: &Path) -> Result<PathBuf, Failure> {
    if named.is_dir() {
        return Ok(named.to_owned());
    }
    if named.exists() {
        let why = format!("{} exists. Name a new file or a folder.", named.display());
        return Err(Failure::input(why));
    }
    Ok(named.to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<PathBuf, Failure> {
    let to = match to.is_dir() {
        true => to.join(from.file_name().unwrap_or_default()),
        false => to.to_owned(),
    };
    private_copy(from, &to)
        .map_err(|error| Failure::Other(anyhow::anyhow!("{}: {error}", to.display())))?;
    Ok(to)
}

fn private_copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut copy = options.open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut copy)?;
    copy.sync_all()
}

fn print_list(session: &Session, view: &BackupsView) {
    if view.backups.is_empty() {
        anstream::println!(
            "No backup yet. One is made each day that Rouse works; now: rouse backup"
        );
        return;
    }
    let mut rows = table(&["Made", "Size", "File"]);
    for one in &view.backups {
        rows.add_row([when(session, one.made_at_ms), size(one.bytes), one.path.clone()]);
    }
    print(&rows);
}

pub(crate) fn when(session: &Session, at_ms: i64) -> String {
    instant(at_ms, session.clock.now().0, session.clock.zone())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

pub(crate) async fn restore(args: &RestoreArgs, session: &Session) -> Result<(), Failure> {
    if !args.file.is_file() {
        return Err(Failure::input(format!("{} is no file.", args.file.display())));
    }
    let now = session.clock.now();
    let workspace = |home: &Home| workspace_of(home).unwrap_or_else(|_| home.workspace());
    let report = rouse_host::restore(&session.home, &args.file, workspace, now)
        .await
        .map_err(|error| Failure::Refused(error.to_string()))?;
    let RestoreReport { backup_at, before, files, differing, grants } = report;
    if session.json {
        let differing: Vec<_> = differing.iter().map(|path| path.display().to_string()).collect();
        let before = before.map(|path| path.display().to_string());
        let said = json!({ "backupAtMs": backup_at.0, "before": before, "files": files, "differing": differing, "grants": grants });
        anstream::println!("{said}");
        return Ok(());
    }
    anstream::println!("Restored the backup of {}.", when(session, backup_at.0));
    if let Some(before) = before {
        anstream::println!("The old database and settings are in {}.", before.display());
    }
    if files > 0 {
        anstream::println!("{files} missing files of skills and workspace are back.");
    }
    for path in &differing {
        anstream::println!("Kept as it is, the backup has another version: {}", path.display());
    }
    anstream::println!(
        "Start Rouse again. Slots since the backup count as missed, and nothing fires a second time by itself."
    );
    if grants > 0 {
        anstream::println!(
            "{grants} grants of the backup count again, also those that you have revoked since: rouse grants"
        );
    }
    anstream::println!("Secrets are not in a backup: rouse secrets list shows which are set.");
    Ok(())
}
