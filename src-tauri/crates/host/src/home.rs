//! The data directory: where everything lives, and who owns it.
//!
//! One process owns a data directory, by locks that the kernel takes back when the process dies, however it dies. A
//! second process becomes a client of the first. The file `owner.lock` can be deleted under its owner, and a new one is
//! another lock; so the directory itself is locked too where the system can. One could get this wrong by taking a lock to
//! look for an owner and keeping it: who starts at that moment would be turned away.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(unix)]
use rouse_gateway::{Client, Endpoint};

use crate::error::HostError;

/// What runs write in some hours, at the most.
const ROOM_BYTES: u64 = 8 * 1024 * 1024;

/// The data directory could not be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another process owns it.
    #[error("another Rouse owns {0}")]
    Owned(PathBuf),
    /// It could not be made or locked.
    #[error(
        "cannot use the data directory {path} (make it a folder of your own, or let ROUSE_HOME name another one)"
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `ROUSE_HOME` begins with a `~` that no shell has put a home in the place of.
    #[error(
        "ROUSE_HOME is {0}, and only a shell knows its `~`, without quotes; write the whole path"
    )]
    Tilde(PathBuf),
    /// `ROUSE_HOME` means another folder wherever the person is.
    #[error("ROUSE_HOME is {0}, which is another folder wherever you are; write the whole path")]
    Relative(PathBuf),
    /// No place for it is known.
    #[error(
        "no home directory is known (HOME is not set, or not UTF-8 text); set ROUSE_HOME to a folder"
    )]
    Unknown,
}

/// A data directory that others may look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// What is wrong.
    pub what: String,
    /// The command that mends it.
    pub mend: String,
}

/// The paths inside a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// `ROUSE_HOME`, else the system's place for application data: `~/.local/share/rouse`,
    /// `~/Library/Application Support/Rouse`, `%LOCALAPPDATA%\Rouse`.
    ///
    /// # Errors
    /// `Unknown` without any of them, `Tilde` for a `~` that came as it is, `Relative` for a path that depends on the folder.
    pub fn find(env: &dyn Fn(&str) -> Option<String>) -> Result<Self, HomeError> {
        let set =
            |name: &str| env(name).filter(|value| !value.trim().is_empty()).map(PathBuf::from);
        if let Some(root) = set("ROUSE_HOME") {
            // A `~` in quotes comes as it is; a folder of that name is never meant.
            if root.to_string_lossy().starts_with('~') {
                return Err(HomeError::Tilde(root));
            }
            if !root.has_root() {
                return Err(HomeError::Relative(root));
            }
            // On Windows a path from the root is on some drive.
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

    /// The folder of backups.
    #[must_use]
    pub fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// The mark of an engine that runs, or was killed.
    pub(crate) fn running_mark(&self) -> PathBuf {
        self.root.join("running.json")
    }

    /// The skills.
    #[must_use]
    pub fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    /// The private homes of the commands of jobs.
    #[must_use]
    pub fn job_homes(&self) -> PathBuf {
        self.root.join("homes")
    }

    /// The folder that file tools may see unless configured otherwise.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    /// The folder of log files.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// What is wrong with who may look into the directory, and the command that mends it. Rouse makes it 0700, but one
    /// that somebody else made is theirs to change.
    #[cfg(unix)]
    #[must_use]
    pub fn exposure(&self) -> Option<Exposure> {
        use std::os::unix::fs::PermissionsExt as _;
        // silent-ok: a directory that is not there yet is open to nobody.
        let found = fs::metadata(&self.root).ok().filter(fs::Metadata::is_dir)?;
        let mode = found.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| Exposure {
            what: format!(
                "Others on this computer may look into {} (mode {mode:o})",
                self.root.display()
            ),
            mend: format!("chmod 700 {}", shell_word(&self.root)),
        })
    }

    /// Other systems keep a user's folders apart by themselves.
    #[cfg(not(unix))]
    #[must_use]
    pub fn exposure(&self) -> Option<Exposure> {
        None
    }

    /// Whether the directory still takes a file of eight megabytes, which is gone again afterwards. One that is not there
    /// yet is made for a moment.
    ///
    /// # Errors
    /// What the system says: its disk is full, the directory is not ours to write or cannot be made, or it is none.
    pub fn try_room(&self) -> io::Result<()> {
        if !self.root.try_exists()? {
            return try_to_make(&self.root);
        }
        if !self.root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let path = self.root.join(format!("room-{}", std::process::id()));
        let written = File::create_new(&path).and_then(|mut file| {
            io::copy(&mut io::repeat(0x5a).take(ROOM_BYTES), &mut file)?;
            file.sync_data()
        });
        let gone = fs::remove_file(&path);
        written.and(gone)
    }

    /// Makes the directory (mode 0700) and takes its locks.
    ///
    /// # Errors
    /// `Owned` when another process has it.
    pub fn own(&self) -> Result<Owner, HomeError> {
        let unusable = |source| HomeError::Unusable { path: self.root.clone(), source };
        make_private_dir(&self.root).map_err(unusable)?;
        let file = open_lock(&self.lock()).map_err(unusable)?;
        let refused = |error| match error {
            TryLockError::WouldBlock => HomeError::Owned(self.root.clone()),
            TryLockError::Error(source) => unusable(source),
        };
        let tries = if self.last_owner_is_gone() { TRIES_AFTER_A_DEATH } else { TRIES };
        take(&file, tries).map_err(refused)?;
        let folder = open_folder(&self.root).map_err(unusable)?;
        match folder.as_ref().map_or(Ok(()), |folder| take(folder, tries)) {
            // A file system may not lock directories; the file must do there.
            Err(TryLockError::Error(error)) => {
                tracing::debug!(%error, "the data directory itself has no lock")
            }
            taken => taken.map_err(refused)?,
        }
        Ok(Owner { _file: file, _folder: folder })
    }

    /// Whether a process owns the directory at this moment. Nothing is made, and nobody is turned away by the look.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        let is_held = |lock: &File| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock));
        File::open(self.lock()).is_ok_and(|file| is_held(&file))
            || open_folder(&self.root).is_ok_and(|folder| folder.is_some_and(|it| is_held(&it)))
    }

    /// What SQLite finds wrong with the database; nothing when it is whole or not there. It may be looked at while an
    /// engine has it open.
    ///
    /// # Errors
    /// When it cannot be looked at for another reason than its damage.
    pub async fn damage(&self) -> Result<Vec<String>, HostError> {
        let path = self.database();
        if !path.exists() {
            return Ok(Vec::new());
        }
        Ok(rouse_store::damage(&path).await?)
    }

    /// Whether the process that owned the directory last is no more. What it was just starting when it was killed is its
    /// copy, with its locks, up to the moment when the new program begins.
    #[cfg(unix)]
    fn last_owner_is_gone(&self) -> bool {
        let told = fs::read(Client::endpoint_path(&self.root)).ok();
        let endpoint = told.and_then(|told| serde_json::from_slice::<Endpoint>(&told).ok());
        let number = endpoint.and_then(|endpoint| i32::try_from(endpoint.pid).ok());
        number.and_then(rustix::process::Pid::from_raw).is_some_and(|number| {
            rustix::process::test_kill_process(number) == Err(rustix::io::Errno::SRCH)
        })
    }

    /// Elsewhere what a process starts has none of its locks.
    #[cfg(not(unix))]
    fn last_owner_is_gone(&self) -> bool {
        false
    }

    fn lock(&self) -> PathBuf {
        self.root.join("owner.lock")
    }
}

/// How often a lock is tried, every two milliseconds: who only looks for an owner has it for a moment.
const TRIES: usize = 5;
/// The same for one whose owner was killed.
const TRIES_AFTER_A_DEATH: usize = 1_000;

fn take(lock: &File, tries: usize) -> Result<(), TryLockError> {
    for _ in 1..tries {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                #[expect(clippy::disallowed_methods, reason = "nothing tells that a lock is free")]
                std::thread::sleep(Duration::from_millis(2));
            }
            taken => return taken,
        }
    }
    lock.try_lock()
}

/// The directory as something to lock.
#[cfg(unix)]
fn open_folder(path: &Path) -> io::Result<Option<File>> {
    File::open(path).map(Some)
}

/// Elsewhere the file cannot be deleted while it is open.
#[cfg(not(unix))]
fn open_folder(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// The mode counts only for a file that is made, so one from an older Rouse is taken back.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Others may read and write it, and nobody may delete it.
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 3);
    let file = options.open(path)?;
    take_back(&file)?;
    Ok(file)
}

/// Makes a file of ours the user's alone.
#[cfg(unix)]
pub(crate) fn take_back(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if file.metadata()?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

/// Other systems keep a user's files apart by the folder they are in.
#[cfg(not(unix))]
pub(crate) fn take_back(_: &File) -> io::Result<()> {
    Ok(())
}

/// Ownership of a data directory, for as long as it lives.
#[derive(Debug)]
pub struct Owner {
    _file: File,
    _folder: Option<File>,
}

/// The path as a shell takes it.
#[cfg(unix)]
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Whether `path` can be made: the first folder of it that is missing is, and is taken away again.
fn try_to_make(path: &Path) -> io::Result<()> {
    let missing = path.ancestors().take_while(|part| !part.exists()).last().unwrap_or(path);
    fs::create_dir(missing)?;
    fs::remove_dir(missing)
}

/// Makes `path` with all its parents, readable by the user alone.
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
    fn one_owner_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        let owner = home.own().expect("the first owner");
        assert!(matches!(home.own(), Err(HomeError::Owned(_))));
        drop(owner);
        home.own().expect("free again");
    }

    #[cfg(unix)]
    #[test]
    fn a_deleted_lock_lets_no_second_owner_in() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        let owner = home.own().expect("the first owner");
        fs::remove_file(home.root().join("owner.lock")).expect("our own file");
        assert!(matches!(home.own(), Err(HomeError::Owned(_))));
        assert!(home.is_owned());
        drop(owner);
        home.own().expect("free again");
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_that_outlives_its_killed_owner_for_a_moment_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        assert!(!home.last_owner_is_gone(), "nobody was here");
        let mut owner = std::process::Command::new("true").spawn().expect("starts");
        owner.wait().expect("ends");
        for (pid, is_gone) in [(std::process::id(), false), (owner.id(), true)] {
            let told = serde_json::json!({ "address": "127.0.0.1:1", "pid": pid, "version": "0" });
            fs::write(Client::endpoint_path(home.root()), told.to_string()).expect("written");
            assert_eq!(home.last_owner_is_gone(), is_gone);
        }
        let left = open_lock(&home.lock()).expect("a lock");
        left.lock().expect("held by what the owner was starting");
        let (begun, has_begun) = std::sync::mpsc::channel();
        let start = std::thread::spawn(move || {
            begun.send(()).expect("the test waits");
            home.own().map(drop)
        });
        has_begun.recv().expect("begun");
        drop(left);
        start.join().expect("joined").expect("free by now");
    }

    #[test]
    fn looking_for_an_owner_makes_and_takes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        assert!(!home.is_owned() && !home.root().exists());
        let owner = home.own().expect("the first owner");
        assert!(home.is_owned() && home.is_owned());
        drop(owner);
        assert!(!home.is_owned());
        home.own().expect("a look takes nothing");
    }

    #[cfg(unix)]
    #[test]
    fn the_directory_and_its_lock_are_the_users_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        let lock = home.root().join("owner.lock");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        drop(home.own().expect("an owner"));
        assert_eq!((mode(home.root()), mode(&lock), home.exposure()), (0o700, 0o600, None));

        // An older Rouse made the lock for everybody.
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o644)).expect("our own file");
        drop(home.own().expect("an owner"));
        assert_eq!(mode(&lock), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_that_others_may_look_into_is_told_with_its_remedy_and_left_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("it's mine"));
        assert_eq!(home.exposure(), None, "it is not there yet");
        fs::create_dir(home.root()).expect("a folder");
        for (mode, is_open) in [(0o700, false), (0o710, true), (0o755, true)] {
            fs::set_permissions(home.root(), fs::Permissions::from_mode(mode)).expect("ours");
            drop(home.own().expect("an owner"));
            let exposure = home.exposure();
            assert_eq!(exposure.is_some(), is_open, "{mode:o}");
            let Some(Exposure { what, mend }) = exposure else { continue };
            assert!(what.contains(&format!("(mode {mode:o})")), "{what}");
            assert!(mend.starts_with("chmod 700 '") && mend.ends_with("it'\\''s mine'"), "{mend}");
        }
    }

    #[test]
    fn whether_there_is_room_is_tried_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path().join("data"));
        assert!(home.try_room().is_ok(), "it is not there yet");
        assert!(!home.root().exists(), "and a look leaves nothing behind");
        fs::create_dir(home.root()).expect("a folder");
        assert!(home.try_room().is_ok());
        assert_eq!(fs::read_dir(home.root()).expect("readable").count(), 0);
        let file = folder.path().join("a file");
        fs::write(&file, "").expect("written");
        assert!(Home::at(&file).try_room().is_err());
        assert!(Home::at(file.join("below")).try_room().is_err());
        assert_eq!(Home::at(file).exposure(), None, "a file is no folder to be closed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_can_never_be_made_has_no_room() {
        assert!(Home::at("/proc/nope/data").try_room().is_err());
    }

    #[test]
    fn the_environment_names_the_place() {
        let only = |name: &'static str, value: &'static str| {
            move |asked: &str| (asked == name).then(|| value.to_owned())
        };
        let home = Home::find(&only("ROUSE_HOME", "/data/rouse")).expect("a home");
        // On Windows a path from the root is on some drive.
        assert_eq!(home.root(), std::path::absolute("/data/rouse").expect("a path"));
        assert!(matches!(Home::find(&|_| None), Err(HomeError::Unknown)));
        let relative = Home::find(&only("ROUSE_HOME", "data/rouse")).expect_err("some folder");
        let said = "ROUSE_HOME is data/rouse, which is another folder wherever you are; write the whole path";
        assert_eq!(relative.to_string(), said);
        let tilde = Home::find(&only("ROUSE_HOME", "~/rouse")).expect_err("no folder of this name");
        let said = "ROUSE_HOME is ~/rouse, and only a shell knows its `~`, without quotes; write the whole path";
        assert_eq!(tilde.to_string(), said);
    }
}
