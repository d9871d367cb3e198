//! A private desktop session: screen, bus, folders, and the app.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rouse_gateway::{Client, EventStream};
use rouse_tests::{SERVE, ServeProcess, built_program, remove_example_job, rouse_command};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, MutexGuard};

use crate::screen::X11Screen;
use crate::tray::TrayItem;

/// Enough for a debug build on a busy machine; only a failure waits this long.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Serialises the tests, also when all tests are threads of one process.
static DISPLAY_LOCK: Mutex<()> = Mutex::const_new(());

/// A bus without activated services: only the app and the test connect.
const BUS_CONFIG: &str = r#"<busconfig>
  <type>session</type>
  <listen>unix:dir={folder}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// Waits for an event with a timeout.
pub(crate) async fn with_timeout<T>(name: &str, happening: impl Future<Output = T>) -> T {
    match tokio::time::timeout(EVENT_TIMEOUT, happening).await {
        Ok(happened) => happened,
        Err(_) => panic!("timed out waiting for {name}"),
    }
}

/// A session without an app. Everything ends with it.
pub(crate) struct DesktopSession {
    pub(crate) screen: X11Screen,
    pub(crate) bus_address: String,
    display: String,
    rouse_home: PathBuf,
    folder: TempDir,
    _xvfb: Child,
    _bus: Child,
    /// Dropped last; a second session of the same person has none.
    _display_lock: Option<MutexGuard<'static, ()>>,
}

impl DesktopSession {
    pub(crate) async fn start() -> Self {
        let display_lock = DISPLAY_LOCK.lock().await;
        let mut session = Self::start_sharing(Path::new("")).await;
        session._display_lock = Some(display_lock);
        session.rouse_home = session.folder.path().join("rouse");
        session
    }

    /// A second session of the same person, with the first session's data directory.
    pub(crate) async fn start_second(other: &Self) -> Self {
        Self::start_sharing(&other.rouse_home).await
    }

    async fn start_sharing(rouse_home: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("rouse-desktop-").tempdir().expect("a folder");
        let config = folder.path().join("bus.conf");
        fs::write(&config, BUS_CONFIG.replace("{folder}", &folder.path().display().to_string()))
            .expect("a file");
        let mut bus = spawn(
            Command::new("dbus-daemon")
                .args(["--nofork", "--nopidfile", "--print-address=1", "--config-file"])
                .arg(config),
            "dbus-daemon (package dbus)",
        );
        let bus_address = first_line(&mut bus).await;
        let mut xvfb = spawn(
            Command::new("Xvfb").args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x860x24",
                "-nolisten",
                "tcp",
                "-noreset",
            ]),
            "Xvfb (package xvfb)",
        );
        let display = format!(":{}", first_line(&mut xvfb).await);
        let screen = X11Screen::watch(&display);
        Self {
            screen,
            bus_address,
            display,
            rouse_home: rouse_home.to_owned(),
            folder,
            _xvfb: xvfb,
            _bus: bus,
            _display_lock: None,
        }
    }

    /// Writes the settings of the next start.
    pub(crate) fn configure(&self, text: &str) {
        let mut private = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(&self.rouse_home).expect("a folder");
        fs::write(self.rouse_home.join("config.toml"), text).expect("a file");
    }

    /// Starts the app.
    pub(crate) fn start_app(&self, args: &[&str]) -> AppProcess {
        let mut child = spawn(self.command(args).stderr(Stdio::piped()), "the app");
        forward_stderr(&mut child);
        AppProcess { child }
    }

    /// Starts `rouse serve` on the same data without a desktop, and removes the example job.
    pub(crate) async fn serve(&self) -> ServeProcess {
        let mut rouse = rouse_command(self.folder.path(), &self.rouse_home);
        let process = ServeProcess::start(rouse.args(SERVE));
        remove_example_job(&self.client()).await;
        process
    }

    /// The later events of the engine.
    pub(crate) async fn events(&self) -> EventStream {
        self.client().events(None).await.expect("a stream")
    }

    /// The program that the app takes for `ssh`.
    pub(crate) fn ssh(&self) -> PathBuf {
        self.folder.path().join("ssh")
    }

    /// Starts the app again; the second process forwards its arguments and exits.
    pub(crate) async fn start_again(&self, args: &[&str]) {
        let mut second = self.start_app(args);
        let status = with_timeout("the second process to exit", second.wait()).await;
        assert!(status.success(), "{status}");
    }

    /// Calls the engine as the CLI does.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        let called = self.client().call(method, params).await;
        called.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub(crate) fn client(&self) -> Client {
        Client::find(&self.rouse_home).expect("the engine runs")
    }

    fn command(&self, args: &[&str]) -> Command {
        let home = self.folder.path();
        let run = home.join("run");
        fs::create_dir_all(&run).expect("a runtime folder");
        fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("private");
        let mut command =
            Command::new(built_program("ROUSE_DESKTOP_BIN", "rouse-desktop", "rouse-desktop"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("XDG_RUNTIME_DIR", run)
            .env("ROUSE_HOME", &self.rouse_home)
            .env("ROUSE_LOG", "debug")
            .env("ROUSE_SSH", self.ssh())
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus_address)
            .env("GDK_BACKEND", "x11")
            .env("GTK_USE_PORTAL", "0")
            .env("NO_AT_BRIDGE", "1")
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env("WEBKIT_DISABLE_COMPOSITING_MODE", "1")
            .env("LANG", "C.UTF-8")
            .env("TZ", "Europe/Berlin");
        command
    }
}

/// The running app.
pub(crate) struct AppProcess {
    child: Child,
}

impl AppProcess {
    pub(crate) async fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().await.expect("the app can be waited for")
    }

    /// Sends the signal of a session end.
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().expect("the app runs");
        let sent = std::process::Command::new("kill").arg(pid.to_string()).status().expect("kill");
        assert!(sent.success());
    }

    /// Quits through the tray and waits for a successful exit.
    pub(crate) async fn quit_from_tray(&mut self, tray: &TrayItem, label: &str) {
        tray.choose_top(label).await;
        let status = with_timeout("the app to exit", self.wait()).await;
        assert!(status.success(), "{status}");
    }
}

fn spawn(command: &mut Command, name: &str) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{name} does not start: {error}"))
}

async fn first_line(child: &mut Child) -> String {
    let out = child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(out).lines();
    let line =
        with_timeout("the first line", lines.next_line()).await.expect("readable").expect("a line");
    // A closed pipe would end the child at its next output.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    line.trim().to_owned()
}

/// Forwards the app's stderr. Not inherited, because web processes that outlive the app would keep the test's stderr
/// open.
fn forward_stderr(child: &mut Child) {
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            eprintln!("{line}");
        }
    });
}
