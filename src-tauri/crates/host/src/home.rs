//! The data directory: paths, permissions and the owner lock.
//!
//! Owns the rule that one process owns a data directory. The kernel releases the locks when the owner dies; a second
//! process becomes a client. A deleted and recreated `owner.lock` is a different lock, so the directory is locked too
//! where the system supports that. Pitfall: probing for an owner with an exclusive lock turns away a process that
//! starts at the same moment.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(unix)]
use rouse_gateway::{Client, Endpoint};
use rouse_store::StoreError;

/// An upper bound for the data that runs write in a few hours.
const PROBE_BYTES: u64 = 8 * 1024 * 1024;

/// The data directory could not be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another process owns the directory.
    #[error("another Rouse owns {0}")]
    Owned(PathBuf),
    /// The directory could not be created or locked.
    #[error(
        "cannot use the data directory {path} (make it a folder of your own, or set ROUSE_HOME to another folder)"
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// `ROUSE_HOME` begins with a `~` that no shell expanded.
    #[error("ROUSE_HOME is {0} with an unexpanded `~`; write the full path")]
    Tilde(PathBuf),
    /// `ROUSE_HOME` is a relative path.
    #[error("ROUSE_HOME is {0}, a relative path; write the full path")]
    Relative(PathBuf),
    /// No location for the directory is known.
    #[error(
        "no home directory is known (HOME is not set, or not UTF-8 text); set ROUSE_HOME to a folder"
    )]
    Unknown,
}

/// A data directory that other users can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// The problem.
    pub problem: String,
    /// The command that fixes the permissions.
    pub fix: String,
}

/// The paths inside a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// `ROUSE_HOME`, else the system's folder for application data: `~/.local/share/rouse`, `~/Library/Application
    /// Support/Rouse`, `%LOCALAPPDATA%\Rouse`.
    ///
    /// # Errors
    /// `Unknown` without any of these folders, `Tilde` for an unexpanded `~`, `Relative` for a relative path.
    pub fn find(env: &dyn Fn(&str) -> Option<String>) -> Result<Self, HomeError> {
        let set =
            |name: &str| env(name).filter(|value| !value.trim().is_empty()).map(PathBuf::from);
        if let Some(root) = set("ROUSE_HOME") {
            // A quoted `~` arrives unexpanded; a folder of that name is never meant.
            if root.to_string_lossy().starts_with('~') {
                return Err(HomeError::Tilde(root));
            }
            if !root.has_root() {
                return Err(HomeError::Relative(root));
            }
            // A Windows path that begins at the root needs a drive.
            return Ok(Self { root: std::path::absolute(&root).unwrap_or(root) });
        }
        let root = if cfg!(windows) {
            set("LOCALAPPDATA").map(|data| data.join("Rouse"))
        } else if cfg!(target_os = "macos") {
            set("HOME").map(|home| home.join("Library/Application Support/Rouse"))
        } else {
            set("XDG_DATA_HOME")
                .filter(|data| data.is_absolute())
                .or_else(|| set("HOME").map(|home| home.join(".local/share")))
                .map(|data| data.join("rouse"))
        };
        root.map(|root| Self { root }).ok_or(HomeError::Unknown)
    }

    /// A data directory at `root`.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("rouse.db")
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The list of secrets.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets.json")
    }

    /// The sign-ins at MCP servers.
    pub(crate) fn sign_ins(&self) -> PathBuf {
        self.root.join("sign-ins.json")
    }

    /// The installed extensions.
    pub(crate) fn extensions_lock(&self) -> PathBuf {
        self.root.join("extensions.lock")
    }

    /// The private folders of MCP servers, by name of the extension.
    pub(crate) fn extension_folders(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// The compiled forms of tools in WebAssembly and JavaScript.
    #[cfg(feature = "wasm")]
    pub(crate) fn compiled_tools(&self) -> PathBuf {
        self.root.join("compiled-tools")
    }

    /// The files of built tools.
    #[cfg(feature = "wasm")]
    pub(crate) fn tool_versions(&self) -> PathBuf {
        self.root.join("tool-versions")
    }

    /// The skills that were downloaded from a registry.
    pub(crate) fn registry_downloads(&self) -> PathBuf {
        self.root.join("registry")
    }

    /// The folder of backups.
    #[must_use]
    pub fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// The marker of a running or killed engine.
    pub(crate) fn engine_marker(&self) -> PathBuf {
        self.root.join("running.json")
    }

    /// The skills.
    #[must_use]
    pub fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// The private homes of job commands.
    #[must_use]
    pub fn job_homes(&self) -> PathBuf {
        self.root.join("homes")
    }

    /// The default folder of the file tools.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    /// The folder of log files.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Whether other users can read the directory, and the fixing command.
    ///
    /// Rouse creates the directory with mode 0700 and never changes the mode of an existing directory.
    #[cfg(unix)]
    #[must_use]
    pub fn exposure(&self) -> Option<Exposure> {
        use std::os::unix::fs::PermissionsExt as _;
        // silent-ok: a missing directory is not exposed.
        let found = fs::metadata(&self.root).ok().filter(fs::Metadata::is_dir)?;
        let mode = found.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| Exposure {
            problem: format!(
                "Other users of this computer can read {} (mode {mode:o})",
                self.root.display()
            ),
            fix: format!("chmod 700 {}", quote_for_shell(&self.root)),
        })
    }

    /// Other systems separate the folders of users.
    #[cfg(not(unix))]
    #[must_use]
    pub fn exposure(&self) -> Option<Exposure> {
        None
    }

    /// Checks that the directory takes a file of eight megabytes, and removes the file. Creates a missing directory
    /// briefly.
    ///
    /// # Errors
    /// The system error: disk full, no write permission, or not a directory.
    pub fn try_room(&self) -> io::Result<()> {
        if !self.root.try_exists()? {
            return try_create(&self.root);
        }
        if !self.root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let path = self.root.join(format!("room-{}", std::process::id()));
        let written = File::create_new(&path).and_then(|mut file| {
            io::copy(&mut io::repeat(0x5a).take(PROBE_BYTES), &mut file)?;
            file.sync_data()
        });
        let gone = fs::remove_file(&path);
        written.and(gone)
    }

    /// Creates the directory (mode 0700) and takes its locks.
    ///
    /// # Errors
    /// `Owned` when another process holds a lock.
    pub fn lock_directory(&self) -> Result<HomeLock, HomeError> {
        let unusable = |source| HomeError::Unusable { path: self.root.clone(), source };
        make_private_dir(&self.root).map_err(unusable)?;
        let file = open_lock(&self.lock()).map_err(unusable)?;
        let refused = |error| match error {
            TryLockError::WouldBlock => HomeError::Owned(self.root.clone()),
            TryLockError::Error(source) => unusable(source),
        };
        let tries =
            if self.is_last_owner_dead() { LOCK_ATTEMPTS_AFTER_DEATH } else { LOCK_ATTEMPTS };
        take(&file, tries).map_err(refused)?;
        let folder = open_folder(&self.root).map_err(unusable)?;
        match folder.as_ref().map_or(Ok(()), |folder| take(folder, tries)) {
            // Some file systems cannot lock directories; the lock file suffices there.
            Err(TryLockError::Error(error)) => {
                tracing::debug!(%error, "the file system cannot lock the data directory")
            }
            taken => taken.map_err(refused)?,
        }
        Ok(HomeLock { _file: file, _folder: folder })
    }

    /// Whether a process owns the directory now. Creates nothing and blocks no other process.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        let is_held = |lock: &File| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock));
        File::open(self.lock()).is_ok_and(|file| is_held(&file))
            || open_folder(&self.root)
                .is_ok_and(|folder| folder.is_some_and(|folder| is_held(&folder)))
    }

    /// The integrity problems that SQLite finds; empty for an intact or missing database. Safe beside a running
    /// engine.
    ///
    /// # Errors
    /// The database cannot be read for another reason than damage.
    pub async fn integrity_problems(&self) -> Result<Vec<String>, StoreError> {
        let path = self.database();
        if !path.exists() {
            return Ok(Vec::new());
        }
        rouse_store::integrity_problems(&path).await
    }

    /// Whether the last owner died. A child process that was being started at that moment holds copies of the locks
    /// until the new program begins.
    #[cfg(unix)]
    fn is_last_owner_dead(&self) -> bool {
        let file = fs::read(Client::endpoint_path(&self.root)).ok();
        let endpoint = file.and_then(|json| serde_json::from_slice::<Endpoint>(&json).ok());
        let number = endpoint.and_then(|endpoint| i32::try_from(endpoint.pid).ok());
        number.and_then(rustix::process::Pid::from_raw).is_some_and(|number| {
            rustix::process::test_kill_process(number) == Err(rustix::io::Errno::SRCH)
        })
    }

    /// On other systems a child process inherits no locks.
    #[cfg(not(unix))]
    fn is_last_owner_dead(&self) -> bool {
        false
    }

    fn lock(&self) -> PathBuf {
        self.root.join("owner.lock")
    }
}

/// Attempts per lock, every two milliseconds: a probe for an owner holds the lock only briefly.
const LOCK_ATTEMPTS: usize = 5;
/// Attempts after the death of the last owner.
const LOCK_ATTEMPTS_AFTER_DEATH: usize = 1_000;

fn take(lock: &File, tries: usize) -> Result<(), TryLockError> {
    for _ in 1..tries {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                #[expect(clippy::disallowed_methods, reason = "no event reports a released lock")]
                std::thread::sleep(Duration::from_millis(2));
            }
            taken => return taken,
        }
    }
    lock.try_lock()
}

/// Opens the directory for locking.
#[cfg(unix)]
fn open_folder(path: &Path) -> io::Result<Option<File>> {
    File::open(path).map(Some)
}

/// On other systems the lock file cannot be deleted while open.
#[cfg(not(unix))]
fn open_folder(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Opens the lock file and restricts an existing file from an older version, because the mode applies only to new
/// files.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Others may read and write the file but not delete it.
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 3);
    let file = options.open(path)?;
    restrict_to_user(&file)?;
    Ok(file)
}

/// Restricts one of Rouse's files to the user.
#[cfg(unix)]
pub(crate) fn restrict_to_user(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if file.metadata()?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

/// Other systems protect a user's files by their folder.
#[cfg(not(unix))]
pub(crate) fn restrict_to_user(_: &File) -> io::Result<()> {
    Ok(())
}

/// Ownership of a data directory, released on drop.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
    _folder: Option<File>,
}

/// The path, quoted for a shell.
#[cfg(unix)]
fn quote_for_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Checks that `path` can be created by creating and removing the first missing folder.
fn try_create(path: &Path) -> io::Result<()> {
    let missing = path.ancestors().take_while(|part| !part.exists()).last().unwrap_or(path);
    fs::create_dir(missing)?;
    fs::remove_dir(missing)
}

/// Creates `path` and all parents, readable only by the user.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_owner_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        let owner = home.lock_directory().expect("the first owner");
        assert!(matches!(home.lock_directory(), Err(HomeError::Owned(_))));
        drop(owner);
        home.lock_directory().expect("free again");
    }

    #[cfg(unix)]
    #[test]
    fn deleted_lock_file_admits_no_second_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        let owner = home.lock_directory().expect("the first owner");
        fs::remove_file(home.root().join("owner.lock")).expect("our own file");
        assert!(matches!(home.lock_directory(), Err(HomeError::Owned(_))));
        assert!(home.is_owned());
        drop(owner);
        home.lock_directory().expect("free again");
    }

    #[cfg(unix)]
    #[test]
    fn lock_of_killed_owner_is_awaited() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        assert!(!home.is_last_owner_dead(), "no endpoint file yet");
        let mut owner = std::process::Command::new("true").spawn().expect("starts");
        owner.wait().expect("ends");
        for (pid, is_gone) in [(std::process::id(), false), (owner.id(), true)] {
            let endpoint =
                serde_json::json!({ "address": "127.0.0.1:1", "pid": pid, "version": "0" });
            fs::write(Client::endpoint_path(home.root()), endpoint.to_string()).expect("written");
            assert_eq!(home.is_last_owner_dead(), is_gone);
        }
        let left = open_lock(&home.lock()).expect("a lock");
        left.lock().expect("held by a child of the owner");
        let (begun, has_begun) = std::sync::mpsc::channel();
        let start = std::thread::spawn(move || {
            begun.send(()).expect("the test waits");
            home.lock_directory().map(drop)
        });
        has_begun.recv().expect("begun");
        drop(left);
        start.join().expect("joined").expect("free by now");
    }

    #[test]
    fn owner_probe_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        assert!(!home.is_owned() && !home.root().exists());
        let owner = home.lock_directory().expect("the first owner");
        assert!(home.is_owned() && home.is_owned());
        drop(owner);
        assert!(!home.is_owned());
        home.lock_directory().expect("the probe released its lock");
    }

    #[cfg(unix)]
    #[test]
    fn directory_and_lock_are_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        let lock = home.root().join("owner.lock");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        drop(home.lock_directory().expect("an owner"));
        assert_eq!((mode(home.root()), mode(&lock), home.exposure()), (0o700, 0o600, None));

        // Older versions created the lock with mode 0644.
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o644)).expect("our own file");
        drop(home.lock_directory().expect("an owner"));
        assert_eq!(mode(&lock), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn exposed_directory_is_reported_with_a_fix() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("it's mine"));
        assert_eq!(home.exposure(), None, "the folder is missing");
        fs::create_dir(home.root()).expect("a folder");
        for (mode, is_open) in [(0o700, false), (0o710, true), (0o755, true)] {
            fs::set_permissions(home.root(), fs::Permissions::from_mode(mode)).expect("ours");
            drop(home.lock_directory().expect("an owner"));
            let exposure = home.exposure();
            assert_eq!(exposure.is_some(), is_open, "{mode:o}");
            let Some(Exposure { problem, fix }) = exposure else { continue };
            assert!(problem.contains(&format!("(mode {mode:o})")), "{problem}");
            assert!(fix.starts_with("chmod 700 '") && fix.ends_with("it'\\''s mine'"), "{fix}");
        }
    }

    #[test]
    fn room_probe_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        assert!(home.try_room().is_ok(), "the folder is missing");
        assert!(!home.root().exists(), "the probe removed the folder");
        fs::create_dir(home.root()).expect("a folder");
        assert!(home.try_room().is_ok());
        assert_eq!(fs::read_dir(home.root()).expect("readable").count(), 0);
        let file = folder.path().join("a file");
        fs::write(&file, "").expect("written");
        assert!(Home::at(&file).try_room().is_err());
        assert!(Home::at(file.join("below")).try_room().is_err());
        assert_eq!(Home::at(file).exposure(), None, "a file is not a folder");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn impossible_folder_has_no_room() {
        assert!(Home::at("/proc/nope/data").try_room().is_err());
    }

    #[test]
    fn environment_sets_the_directory() {
        let only = |name: &'static str, value: &'static str| {
            move |variable: &str| (variable == name).then(|| value.to_owned())
        };
        let home = Home::find(&only("ROUSE_HOME", "/data/rouse")).expect("a home");
        // A Windows path that begins at the root needs a drive.
        assert_eq!(home.root(), std::path::absolute("/data/rouse").expect("a path"));
        assert!(matches!(Home::find(&|_| None), Err(HomeError::Unknown)));
        let relative = Home::find(&only("ROUSE_HOME", "data/rouse")).expect_err("some folder");
        let expected = "ROUSE_HOME is data/rouse, a relative path; write the full path";
        assert_eq!(relative.to_string(), expected);
        let tilde = Home::find(&only("ROUSE_HOME", "~/rouse")).expect_err("no folder of this name");
        let expected = "ROUSE_HOME is ~/rouse with an unexpanded `~`; write the full path";
        assert_eq!(tilde.to_string(), expected);
    }
}
