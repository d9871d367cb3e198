//! Real servers, with the person's rights and in the sandbox. On a computer without a sandbox, the confined tests check
//! that nothing starts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command as Std;

use rouse_core::extension::ServerLine;
use rouse_core::job::{FolderAccess, FolderGrant};

use super::*;
use crate::sandbox::probe_sandbox;

/// A folder for private folders, with the start of servers.
struct ServerFixture {
    folder: tempfile::TempDir,
    processes: LineProcesses,
}

impl ServerFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("data")).expect("made");
        let processes = LineProcesses::new(LineProcessConfig {
            instance: format!("server-tests-{}", folder.path().display()),
            folders: folder.path().join("data/servers"),
            packages: folder.path().join("data/servers/.packages"),
            hidden: vec![folder.path().join("data")],
            network: HttpConfig::default(),
        });
        Self { folder, processes }
    }

    async fn start(&self, command: ServerCommand) -> Box<dyn ServerProcess> {
        self.processes.start(command).await.expect("starts")
    }

    /// Starts an unconfined shell.
    async fn shell(&self, line: &str) -> Box<dyn ServerProcess> {
        self.start(ServerCommand { is_unconfined: true, ..shell_command(line) }).await
    }

    /// Starts a confined server; none without a sandbox.
    async fn confined(&self, command: ServerCommand) -> Option<Box<dyn ServerProcess>> {
        match self.processes.start(command).await {
            Ok(process) => Some(process),
            Err(error) => {
                probe_sandbox().expect_err("the probe fails too");
                assert!(error.0.contains("Nothing was run"), "{error}");
                None
            }
        }
    }
}

fn shell_command(line: &str) -> ServerCommand {
    ServerCommand {
        extension: "calendar".parse().expect("a name"),
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), line.to_owned()],
        environment: BTreeMap::new(),
        folder: None,
        task_folder: None,
        folders: Vec::new(),
        hosts: Vec::new(),
        is_unconfined: false,
    }
}

async fn next(process: &dyn ServerProcess) -> String {
    text_of(process.receive().await.expect("a line"))
}

fn text_of(line: ServerLine) -> String {
    let ServerLine::Text(line) = line else { panic!("a line over the limit") };
    String::from_utf8(line).expect("UTF-8")
}

/// All lines until the end, and the end.
async fn rest(process: &dyn ServerProcess) -> (Vec<String>, String) {
    let mut lines = Vec::new();
    loop {
        match process.receive().await {
            Ok(line) => lines.push(text_of(line)),
            Err(end) => return (lines, end.0),
        }
    }
}

fn is_alive(number: &str) -> bool {
    let stat = Std::new("ps").args(["-o", "stat=", "-p", number]).output().expect("ps runs");
    // A zombie is no running process.
    !stat.stdout.is_empty() && !stat.stdout.starts_with(b"Z")
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let owned = |(name, value): &(&str, &str)| (OsString::from(*name), OsString::from(*value));
    variables.iter().map(owned).collect()
}

/// A folder by real path.
fn real_folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().canonicalize().expect("there");
    (folder, real)
}

#[tokio::test]
async fn lines_travel_both_ways() {
    let fixture = ServerFixture::new();
    let line = r"printf 'one\r\n\n two\n'; while read -r line; do echo got $line; done; exit 0";
    let server = fixture.shell(line).await;
    assert_eq!((next(&*server).await, next(&*server).await), ("one".to_owned(), " two".to_owned()));
    for line in ["{\"id\":1}", "{\"id\":2}"] {
        server.send(line.as_bytes().to_vec()).await.expect("sent");
        assert_eq!(next(&*server).await, format!("got {line}"));
    }
    server.stop().await;
    assert_eq!(rest(&*server).await, (Vec::new(), "The server exited with status 0.".to_owned()));
}

#[tokio::test]
async fn long_line_is_reported_and_the_next_arrives() {
    let fixture = ServerFixture::new();
    let line = "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo next";
    let server = fixture.shell(line).await;
    assert_eq!(server.receive().await.expect("a line"), ServerLine::TooLong);
    assert_eq!(next(&*server).await, "next");
}

#[tokio::test]
async fn end_and_stderr_outlive_the_server() {
    let fixture = ServerFixture::new();
    let server = fixture.shell("echo last; echo broken >&2; exit 3").await;
    let end = "The server exited with status 3.";
    assert_eq!(rest(&*server).await, (vec!["last".to_owned()], end.to_owned()));
    assert_eq!(server.stderr_tail(), "broken\n");
    assert_eq!(server.send(b"late".to_vec()).await.expect_err("ended").0, end);
    server.stop().await;
    server.stop().await;
    let killed = fixture.shell("kill -9 $$").await;
    assert_eq!(rest(&*killed).await.1, "The server was ended by signal 9.");
}

#[tokio::test]
async fn exit_ends_the_processes_that_hold_the_output() {
    let fixture = ServerFixture::new();
    let server = fixture.shell("sleep 1000 & echo $!; exit 1").await;
    let (lines, end) = rest(&*server).await;
    assert_eq!(end, "The server exited with status 1.");
    assert!(!is_alive(&lines[0]));
}

#[tokio::test]
async fn stop_kills_a_group_that_ignores_eof_and_term() {
    let mut fixture = ServerFixture::new();
    fixture.processes.stop_step = Duration::from_millis(100);
    let line = "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000";
    let server = fixture.shell(line).await;
    let numbers = [next(&*server).await, next(&*server).await];
    server.stop().await;
    assert_eq!(rest(&*server).await.1, "The server was ended by signal 9.");
    assert!(!numbers.iter().any(|number| is_alive(number)), "{numbers:?}");
}

#[tokio::test]
async fn stop_lets_a_server_exit_at_the_end_of_input() {
    let fixture = ServerFixture::new();
    let server = fixture.shell("cat >/dev/null; echo saved; exit 5").await;
    server.stop().await;
    let end = "The server exited with status 5.".to_owned();
    assert_eq!(rest(&*server).await, (vec!["saved".to_owned()], end));
}

#[tokio::test]
async fn environment_is_basic_and_declared_variables() {
    let mut fixture = ServerFixture::new();
    fixture.processes.environment = environment(&[
        ("PATH", "relative:/usr/bin:/bin"),
        ("HOME", "/home/ada"),
        ("LC_ALL", "C"),
        ("OPENAI_API_KEY", "a secret"),
        ("ROUSE_GATEWAY_TOKEN", "a secret"),
        ("SSH_AUTH_SOCK", "/run/agent"),
    ]);
    let declared = [("CAL_TOKEN", "declared"), ("LC_ALL", "C.UTF-8")];
    let server = fixture
        .start(ServerCommand {
            program: "env".to_owned(),
            arguments: Vec::new(),
            environment: declared.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            is_unconfined: true,
            ..shell_command("")
        })
        .await;
    let (mut lines, _) = rest(&*server).await;
    lines.sort();
    let marker = lines.pop().expect("the marker");
    assert!(marker.starts_with("ROUSE_RUN=server-tests-"), "{marker}");
    let expected =
        ["CAL_TOKEN=declared", "HOME=/home/ada", "LC_ALL=C.UTF-8", "PATH=relative:/usr/bin:/bin"];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn missing_program_or_folder_is_named() {
    let fixture = ServerFixture::new();
    let command = |program: &str| ServerCommand {
        program: program.to_owned(),
        is_unconfined: true,
        ..shell_command("")
    };
    let elsewhere = ServerCommand { folder: Some("/nonexistent/x".into()), ..command("sh") };
    let cases = [
        (command("no-such-program"), "no-such-program", "absolute path"),
        (command("./relative"), "./relative", "absolute path"),
        (command("/nonexistent/program"), "/nonexistent/program", "Check the path"),
        (elsewhere, "/nonexistent/x", "Create it"),
    ];
    for (command, name, remedy) in cases {
        let Err(error) = fixture.processes.start(command).await else { panic!("{name} started") };
        assert!(error.0.contains(name) && error.0.contains(remedy), "{error}");
    }
}

#[tokio::test]
async fn dropped_server_is_terminated() {
    let fixture = ServerFixture::new();
    let pipe = fixture.folder.path().join("alive");
    assert!(Std::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let line = format!("exec 3>'{}'; echo ready >&3; sleep 1000", pipe.display());
    let server = fixture.shell(&line).await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let reader = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(std::fs::File::open(pipe).expect("opened")).lines();
        begun.send(lines.next()).expect("the test waits");
        // The other end closes when the last holder has exited.
        lines.next().is_none()
    });
    assert_eq!(has_begun.await.expect("begun").expect("a line").expect("read"), "ready");
    drop(server);
    assert!(reader.await.expect("joined"));
}

#[tokio::test]
async fn confined_server_sees_its_private_folder_alone() {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()));
    let Ok(secret) = tempfile::Builder::new().prefix(".rouse-secret").tempfile_in(home) else {
        return;
    };
    std::fs::write(secret.path(), "a key").expect("written");
    let fixture = ServerFixture::new();
    let line = format!(
        "cat '{}' 2>&1; echo kept > note; pwd; echo \"$HOME\"; env | grep -c ROUSE_; read -r x; echo $x",
        secret.path().display()
    );
    let Some(server) = fixture.confined(shell_command(&line)).await else { return };
    assert!(next(&*server).await.contains("No such file"));
    let private = fixture.folder.path().join("data/servers/calendar");
    let shown = private.canonicalize().expect("made").display().to_string();
    assert_eq!([next(&*server).await, next(&*server).await], [shown.clone(), shown]);
    assert_eq!(next(&*server).await, "1", "the marker alone");
    server.send(b"hello".to_vec()).await.expect("sent");
    assert_eq!(next(&*server).await, "hello");
    assert_eq!(rest(&*server).await.1, "The server exited with status 0.");
    assert_eq!(std::fs::read_to_string(private.join("note")).expect("kept"), "kept\n");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&private.metadata().expect("made").permissions());
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn confined_server_reads_and_writes_declared_folders() {
    let (_notes, notes) = real_folder();
    let (_out, out) = real_folder();
    std::fs::write(notes.join("a.md"), "a note\n").expect("written");
    let fixture = ServerFixture::new();
    let line = format!(
        "cat '{0}/a.md'; echo x 2>/dev/null > '{0}/b' || echo refused; echo x > '{1}/c'; pwd",
        notes.display(),
        out.display()
    );
    let grant = |path: &Path, access| FolderGrant { path: path.display().to_string(), access };
    let command = ServerCommand {
        folders: vec![grant(&notes, FolderAccess::Read), grant(&out, FolderAccess::Write)],
        folder: Some(notes.clone()),
        ..shell_command(&line)
    };
    let Some(server) = fixture.confined(command).await else { return };
    let expected = ["a note".to_owned(), "refused".to_owned(), notes.display().to_string()];
    assert_eq!(rest(&*server).await.0, expected);
    assert!(out.join("c").exists() && !notes.join("b").exists());
    let elsewhere = ServerCommand { folder: Some(notes), ..shell_command("pwd") };
    let Err(error) = fixture.processes.start(elsewhere).await else { panic!("started") };
    assert!(error.0.contains("neither the server's private folder"), "{error}");
}

#[tokio::test]
async fn confined_server_reads_but_cannot_write_its_package() {
    let fixture = ServerFixture::new();
    let data = fixture.folder.path().canonicalize().expect("there").join("data");
    let packages = data.join("servers/.packages");
    let package = packages.join("calendar");
    for folder in [&package.join("bin"), &package.join("lib"), &packages.join("other")] {
        std::fs::create_dir_all(folder).expect("made");
    }
    std::fs::write(packages.join("calendar.sha256"), "a list\n").expect("written");
    std::fs::write(packages.join("other/text"), "private\n").expect("written");
    std::fs::write(data.join("extensions.lock"), "private\n").expect("written");
    std::fs::write(package.join("lib/text"), "read\n").expect("written");
    std::os::unix::fs::symlink("/bin/sh", package.join("bin/server")).expect("a link");
    let line = "cat \"$1/lib/text\"; echo x 2>/dev/null > \"$1/lib/text\" || echo refused; \
        echo x 2>/dev/null > \"$1/new\" || echo refused; rm -rf \"$1/lib\" 2>/dev/null || echo refused; \
        cat \"$1.sha256\" \"$1/../other/text\" \"$1/../../../extensions.lock\" 2>/dev/null; ls \"$1/..\"; \
        echo x > own && echo kept";
    let shown = package.display().to_string();
    let command = ServerCommand {
        program: package.join("bin/server").display().to_string(),
        arguments: ["-c", line, "server", shown.as_str()].map(str::to_owned).to_vec(),
        ..shell_command("")
    };
    let Some(server) = fixture.confined(command).await else { return };
    let (lines, end) = rest(&*server).await;
    assert_eq!(end, "The server exited with status 0.", "{}", server.stderr_tail());
    assert_eq!(lines, ["read", "refused", "refused", "refused", "calendar", "kept"]);
    let text = std::fs::read_to_string(package.join("lib/text")).expect("still there");
    assert!(text == "read\n" && !package.join("new").exists(), "{text}");
    assert!(data.join("servers/calendar/own").is_file());
}

#[tokio::test]
async fn confined_server_reads_its_interpreter_and_project() {
    let (_folder, root) = real_folder();
    for name in ["bin", "app/dist"] {
        std::fs::create_dir_all(root.join(name)).expect("made");
    }
    std::os::unix::fs::symlink("/bin/sh", root.join("bin/interpreter")).expect("a link");
    std::fs::write(root.join("app/package.json"), "{}").expect("written");
    std::fs::write(root.join("app/text"), "it's read\n").expect("written");
    std::fs::write(root.join("private"), "private\n").expect("written");
    let script = "cat \"${0%/*}/../text\"; cat \"${0%/*}/../../private\" 2>&1; echo \"$1\"";
    std::fs::write(root.join("app/dist/server.sh"), script).expect("written");
    let fixture = ServerFixture::new();
    let path = |name: &str| root.join(name).display().to_string();
    let command = ServerCommand {
        program: path("bin/interpreter"),
        arguments: vec![path("app/dist/server.sh"), "it's $HOME; exit".to_owned()],
        ..shell_command("")
    };
    let Some(server) = fixture.confined(command).await else { return };
    let (lines, end) = rest(&*server).await;
    assert_eq!(end, "The server exited with status 0.", "{}", server.stderr_tail());
    assert_eq!((lines[0].as_str(), lines[2].as_str()), ("it's read", "it's $HOME; exit"));
    assert!(lines[1].contains("No such file"), "{}", lines[1]);
}

#[tokio::test]
async fn stop_ends_a_confined_group() {
    let mut fixture = ServerFixture::new();
    fixture.processes.stop_step = Duration::from_millis(100);
    let line = "trap '' TERM; setsid sleep 1000 & echo ready; while :; do sleep 1000; done";
    let Some(server) = fixture.confined(shell_command(line)).await else { return };
    assert_eq!(next(&*server).await, "ready");
    server.stop().await;
    // The output closes when the last process is gone.
    assert_eq!(rest(&*server).await, (Vec::new(), "The server was ended by signal 9.".to_owned()));
}
