//! A PostgreSQL cluster in a temporary folder, on a Unix socket.
//!
//! Owns the cluster and its end. PostgreSQL refuses to run as root, so root runs the server as the user `postgres`. Pitfall:
//! a long path of the folder; the path of a socket has at most 107 bytes.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The name of the superuser.
const SUPERUSER: &str = "rouse";

/// A running cluster. Dropping it stops the server.
pub(crate) struct PostgresCluster {
    folder: TempDir,
    programs: PathBuf,
}

impl PostgresCluster {
    pub(crate) fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("rouse-pg-").tempdir().expect("a folder");
        let cluster = Self { folder, programs: programs_folder() };
        let path = cluster.path();
        if is_root() {
            run(Command::new("chown").args(["postgres:", &path]));
        }
        let superuser = ["--auth=trust", "--username", SUPERUSER];
        run(cluster.server_command("initdb").args(superuser).args([
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
        ]));
        let options = format!("-k {path} -c listen_addresses= -c fsync=off");
        run(cluster.server_command("pg_ctl").args(["-w", "-l", "log", "-o", &options, "start"]));
        cluster
    }

    /// The address for a client.
    pub(crate) fn url(&self) -> String {
        format!("host={} user={SUPERUSER} dbname=postgres", self.path())
    }

    /// Runs statements. Returns a line for each row, with `|` between its columns.
    pub(crate) fn sql(&self, statements: &str) -> Vec<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        let options = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"];
        psql.args(options).args(["--set=ON_ERROR_STOP=1", "--command", statements, &self.url()]);
        let output = psql.output().expect("psql starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {error}");
        let lines = String::from_utf8(output.stdout).expect("text");
        lines.lines().map(str::to_owned).collect()
    }

    fn path(&self) -> String {
        self.folder.path().to_str().expect("a path in UTF-8").to_owned()
    }

    /// A program of the server, on the data of this cluster.
    fn server_command(&self, program: &str) -> Command {
        let path = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        // The server must not hold a pipe of this test open.
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        command.env("PGDATA", self.folder.path().join("data"));
        command
    }
}

impl Drop for PostgresCluster {
    fn drop(&mut self) {
        // A cluster that never started has nothing to stop.
        let mut stop = self.server_command("pg_ctl");
        drop(stop.args(["-m", "immediate", "stop"]).stderr(Stdio::null()).status());
    }
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// The folder of PostgreSQL's programs, which Debian installs outside `PATH`.
fn programs_folder() -> PathBuf {
    let needed = ["initdb", "pg_ctl", "psql"];
    let has_server = |folder: &PathBuf| needed.iter().all(|program| folder.join(program).is_file());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|version| version.path().join("bin")).filter(has_server).max();
    std::env::split_paths(&path).find(has_server).or(newest).unwrap_or_else(|| {
        panic!(
            "PostgreSQL is not installed. Install it, on Debian with `apt-get install postgresql`."
        )
    })
}
