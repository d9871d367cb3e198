//! A private D-Bus daemon for tests.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A D-Bus daemon that ends with the test.
#[derive(Debug)]
pub struct TestBus {
    child: Child,
    /// The address for clients.
    pub address: String,
    _folder: tempfile::TempDir,
}

impl TestBus {
    /// Starts a system bus on which everybody may own each name.
    ///
    /// # Panics
    /// If `dbus-daemon` is missing.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("bus.conf");
        let listen = folder.path().join("bus").display().to_string();
        let text = format!(
            "<busconfig><type>system</type><listen>unix:path={listen}</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow own=\"*\"/>\
             <allow eavesdrop=\"true\"/></policy></busconfig>"
        );
        std::fs::write(&config, text).expect("written");
        let mut child = Command::new("dbus-daemon")
            .args(["--nofork", "--nopidfile", "--print-address=1", "--config-file"])
            .arg(config)
            .stdout(Stdio::piped())
            .spawn()
            .expect("dbus-daemon (package dbus) is installed");
        let mut address = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut address).expect("an address");
        Self { child, address: address.trim().to_owned(), _folder: folder }
    }
}

impl Drop for TestBus {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            let _exit = self.child.wait();
        }
    }
}
