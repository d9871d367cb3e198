//! `rouse --on` through the real `ssh` and `sshd` of this machine, on a high port of loopback with keys of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rouse_core::settings::SshAddress;
use rouse_gateway::{Client, ClientError, RemoteComputer, RemoteError};
use serde_json::json;
use tempfile::TempDir;

use crate::another_computer::write_script;
use crate::engine::TestHome;
use crate::probes::echo;

const SSHD: &str = "/usr/sbin/sshd";

/// A running `sshd` for the current user. Dropping it kills the process.
struct SshServer {
    folder: TempDir,
    port: u16,
    process: Child,
}

impl SshServer {
    fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("rouse-sshd-").tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path(key))
                .status()
                .expect("ssh-keygen (package openssh-client)");
            assert!(made.success());
        }
        // sshd of root refuses to start without its folder.
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all("/run/sshd").expect("a folder");
        }
        let port = free_port();
        let root = folder.path().display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {root}/host_key\n\
             AuthorizedKeysFile {root}/user_key.pub\nPidFile none\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        );
        fs::write(path("sshd_config"), config).expect("a file");
        let ssh_config = format!(
            "Host *\n IdentityFile {root}/user_key\n IdentitiesOnly yes\n IdentityAgent none\n \
             UserKnownHostsFile {root}/known_hosts\n GlobalKnownHostsFile none\n"
        );
        fs::write(path("ssh_config"), ssh_config).expect("a file");
        write_script(&path("ssh"), &format!("exec ssh -F '{root}/ssh_config' \"$@\""));
        let mut process = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(path("sshd_config"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("sshd (package openssh-server)");
        let mut log = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("Server listening") {
            line.clear();
            assert_ne!(log.read_line(&mut line).expect("text"), 0, "sshd did not start");
        }
        // sshd writes a line for each session, and stops at a full pipe.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { folder, port, process }
    }

    fn accept_host_key(&self) {
        let key = fs::read_to_string(self.folder.path().join("host_key.pub")).expect("a key");
        let line = format!("[127.0.0.1]:{} {key}", self.port);
        fs::write(self.folder.path().join("known_hosts"), line).expect("a file");
    }

    /// A program that runs `rouse` with the data directory of `home`.
    fn program_for(&self, home: &TestHome, name: &str) -> String {
        let path = self.folder.path().join(name);
        let rouse = home.command(["status"]).get_program().to_owned();
        let (rouse, data) = (Path::new(&rouse).display().to_string(), home.data());
        let data = data.display();
        write_script(&path, &format!("ROUSE_HOME='{data}' ROUSE_KEYRING=0 exec '{rouse}' \"$@\""));
        path.to_str().expect("text").to_owned()
    }

    fn client(&self, program: String) -> Client {
        let address = format!("ssh://127.0.0.1:{}", self.port);
        let address = SshAddress::parse(&address).expect("an address");
        let ssh = self.folder.path().join("ssh");
        Client::over_ssh(RemoteComputer::new(address, Some(program), Some(ssh.into())))
    }

    /// Kills the processes of the open sessions: for a user other than root, a monitor and its child.
    fn kill_sessions(&self) {
        let monitors = children_of(&self.process.id().to_string());
        let children: Vec<String> = monitors.iter().flat_map(|pid| children_of(pid)).collect();
        let killed = Command::new("kill").arg("-KILL").args(&monitors).args(&children).status();
        assert!(killed.expect("kill").success(), "no open session");
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        // The process may have ended.
        if self.process.kill().is_ok() {
            self.process.wait().expect("an exit status");
        }
    }
}

fn children_of(pid: &str) -> Vec<String> {
    let found = Command::new("pgrep").args(["-P", pid]).output().expect("pgrep (package procps)");
    let found = String::from_utf8(found.stdout).expect("text");
    found.lines().map(str::to_owned).collect()
}

/// A free port. Another program may take it before sshd does, which fails the test with a message.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

#[tokio::test]
async fn unknown_host_key_is_never_accepted() {
    let server = SshServer::start();
    let client = server.client("rouse".to_owned());
    let unknown = client.check_connection().await;
    assert!(matches!(unknown, Err(ClientError::Remote(RemoteError::SignIn { .. }))), "{unknown:?}");
    assert!(!server.folder.path().join("known_hosts").exists());
    server.accept_host_key();
    let program = server.folder.path().join("absent").display().to_string();
    let missing = server.client(program).check_connection().await;
    assert!(
        matches!(missing, Err(ClientError::Remote(RemoteError::RouseMissing { .. }))),
        "{missing:?}"
    );
}

#[tokio::test]
async fn killed_session_loses_the_call_and_the_next_reconnects() {
    let server = SshServer::start();
    server.accept_host_key();
    let home = TestHome::new();
    let client = server.client(server.program_for(&home, "rouse"));
    let stopped = client.check_connection().await;
    assert!(
        matches!(stopped, Err(ClientError::Remote(RemoteError::NotRunning { .. }))),
        "{stopped:?}"
    );
    let engine = home.serve().await;
    client.check_connection().await.expect("connected");
    let mut events = client.events(None).await.expect("a stream");
    // A halted engine answers no call.
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &engine.pid().to_string()]).status();
        assert!(sent.expect("kill").success());
    };
    signal("-STOP");
    let (call, ()) = tokio::join!(client.call("cron.list", json!({})), async {
        server.kill_sessions();
    });
    signal("-CONT");
    assert!(
        matches!(&call, Err(ClientError::Remote(RemoteError::Lost { method, .. })) if method == "cron.list"),
        "{call:?}"
    );
    assert!(events.next().await.is_none());
    client.call("cron.list", json!({})).await.expect("a new connection");
    let status = client.call("system.status", json!({})).await.expect("a status");
    let mut events = client.events(status["seq"].as_i64()).await.expect("a new stream");
    engine.add_job(echo("Tea")).await;
    assert!(events.next().await.is_some());
}

#[tokio::test]
async fn two_homes_on_one_machine_are_two_computers() {
    let server = SshServer::start();
    server.accept_host_key();
    let (first, second) = (TestHome::new(), TestHome::new());
    let (first_engine, second_engine) = (first.serve().await, second.serve().await);
    let first_client = server.client(server.program_for(&first, "rouse-1"));
    let second_client = server.client(server.program_for(&second, "rouse-2"));
    first_client.call("cron.add", echo("Tea")).await.expect("a job");
    for (engine, client, count) in
        [(&first_engine, &first_client, 1), (&second_engine, &second_client, 0)]
    {
        let status = client.call("system.status", json!({})).await.expect("a status");
        assert_eq!(status["pid"], engine.pid());
        let jobs = client.call("cron.list", json!({})).await.expect("a list");
        assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(count), "{jobs}");
    }
}
