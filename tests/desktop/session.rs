//! A session of its own: screen, bus, folders, and the app in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rouse_gateway::{Client, EventStream};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, MutexGuard};

use crate::screen::Screen;
use crate::tray::TrayItem;

/// Long enough for a debug build on a busy machine; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// One screen, one bus and one web view at a time, also where all tests are threads of one process.
static TURN: Mutex<()> = Mutex::const_new(());

/// A bus that starts no services: nobody is on it but the app and the test.
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

/// Waits for `what`, which is to happen soon.
pub(crate) async fn soon<T>(what: &str, happening: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, happening).await {
        Ok(happened) => happened,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

/// A session with nobody in it yet. Everything ends with it.
pub(crate) struct Session {
    pub(crate) screen: Screen,
    pub(crate) bus_address: String,
    display: String,
    rouse_home: PathBuf,
    folder: TempDir,
    _xvfb: Child,
    _bus: Child,
    /// The last to go; a second session of the same person takes none of its own.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Session {
    pub(crate) async fn start() -> Self {
        let turn = TURN.lock().await;
        let mut session = Self::start_sharing(Path::new("")).await;
        session._turn = Some(turn);
        session.rouse_home = session.folder.path().join("rouse");
        session
    }

    /// A second session of the same person, with the data directory of the first.
    pub(crate) async fn start_beside(other: &Self) -> Self {
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
        let screen = Screen::watch(&display);
        Self {
            screen,
            bus_address,
            display,
            rouse_home: rouse_home.to_owned(),
            folder,
            _xvfb: xvfb,
            _bus: bus,
            _turn: None,
        }
    }

    /// Writes the settings that the next start finds.
    pub(crate) fn configure(&self, text: &str) {
        let mut private = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(&self.rouse_home).expect("a folder");
        fs::write(self.rouse_home.join("config.toml"), text).expect("a file");
    }

    /// Starts the app.
    pub(crate) fn start_app(&self, args: &[&str]) -> App {
        let mut child = spawn(self.command(args).stderr(Stdio::piped()), "the app");
        pass_on_words(&mut child);
        App { child }
    }

    /// Starts `rouse serve` over the same data, with no desktop, and takes the example of the first start away.
    pub(crate) async fn serve(&self) -> Server {
        let mut command = Command::new(built("ROUSE_BIN", "rouse", "rouse-cli"));
        command
            .args(["serve", "--port", "0", "--ready-json"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("ROUSE_HOME", &self.rouse_home)
            .env("ROUSE_LOCAL_MODELS", "0")
            .env("ROUSE_KEYRING", "0");
        let mut child = spawn(&mut command, "rouse serve");
        first_line(&mut child).await;
        let example =
            self.call("system.status", Value::Null).await["firstStart"]["exampleJobId"].clone();
        self.call("cron.remove", serde_json::json!({ "id": example })).await;
        Server { _child: child }
    }

    /// The events of the engine from here on.
    pub(crate) async fn events(&self) -> EventStream {
        let client = Client::find(&self.rouse_home).expect("the engine runs");
        client.events(None).await.expect("a stream")
    }

    /// Starts the app a second time; it hands its wishes over and ends.
    pub(crate) async fn second_start(&self, args: &[&str]) {
        let mut second = self.start_app(args);
        let status = soon("the second start to end", second.ended()).await;
        assert!(status.success(), "{status}");
    }

    /// Calls the engine as the command line does.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        let client = Client::find(&self.rouse_home).expect("the engine runs");
        client.call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let home = self.folder.path();
        let run = home.join("run");
        fs::create_dir_all(&run).expect("a runtime folder");
        fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("private");
        let mut command =
            Command::new(built("ROUSE_DESKTOP_BIN", "rouse-desktop", "rouse-desktop"));
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

/// `rouse serve`, running; it ends with this.
pub(crate) struct Server {
    _child: Child,
}

/// The app, running.
pub(crate) struct App {
    child: Child,
}

impl App {
    pub(crate) async fn ended(&mut self) -> std::process::ExitStatus {
        self.child.wait().await.expect("the app can be waited for")
    }

    /// What the end of a session sends.
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().expect("the app runs");
        let sent = std::process::Command::new("kill").arg(pid.to_string()).status().expect("kill");
        assert!(sent.success());
    }

    /// Quits through the tray and waits for an orderly end.
    pub(crate) async fn quit_by(&mut self, tray: &TrayItem, label: &str) {
        tray.choose_top(label).await;
        let status = soon("the app's end", self.ended()).await;
        assert!(status.success(), "{status}");
    }
}

fn spawn(command: &mut Command, what: &str) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{what} does not start: {error}"))
}

async fn first_line(child: &mut Child) -> String {
    let out = child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(out).lines();
    let line = soon("the first line", lines.next_line()).await.expect("readable").expect("a line");
    // Kept open: a closed pipe would end the child at its next word.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    line.trim().to_owned()
}

/// What the app says, for a failed test. Not simply inherited: its web processes outlive it by a moment and would keep
/// the test's own output open.
fn pass_on_words(child: &mut Child) {
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            eprintln!("{line}");
        }
    });
}

/// The program that `variable` names, else the one beside this test.
fn built(variable: &str, name: &str, package: &str) -> PathBuf {
    let beside = || {
        let test = std::env::current_exe().expect("the test's own path");
        test.parent().and_then(Path::parent).expect("target/debug").join(name)
    };
    let path = std::env::var_os(variable).map_or_else(beside, PathBuf::from);
    assert!(path.exists(), "{} is not built: cargo build -p {package}", path.display());
    path
}
