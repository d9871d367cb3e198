//! The address of Foundry Local, which picks a free port at each start.
//!
//! Owns the call of the `foundry` command: `foundry server status` of current versions, `foundry service status` of earlier
//! versions. Accepts a local address only. Never starts the server. Pitfall: the command may hang or prompt, so it has
//! a time limit and no input.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use crate::providers::address::is_loopback;

/// The time limit of the command, a .NET program that starts slowly.
const STATUS_TIMEOUT: Duration = Duration::from_secs(3);

/// The server's address from the status of `program`; none without a running server.
pub(super) async fn address(program: &OsStr) -> Option<String> {
    for command in ["server", "service"] {
        let output = tokio::process::Command::new(program)
            .args([command, "status"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .output();
        // silent-ok: a computer without Foundry Local is the usual case.
        let output = tokio::time::timeout(STATUS_TIMEOUT, output).await.ok()?.ok()?;
        if let Some(address) = address_in(&String::from_utf8_lossy(&output.stdout)) {
            return Some(address);
        }
    }
    None
}

/// The first loopback address in a status text such as `Service is Started on http://127.0.0.1:59092/, PID 47804!`.
fn address_in(status: &str) -> Option<String> {
    let starts = status.match_indices("http://").map(|(at, _)| &status[at..]);
    let is_end = |letter: char| letter.is_whitespace() || ",;!\"'<>()".contains(letter);
    starts
        .map(|text| text.split(is_end).next().unwrap_or_default().trim_end_matches('.'))
        .filter_map(|text| {
            let url = reqwest::Url::parse(text).ok()?;
            Some(format!("http://{}:{}", url.host_str()?, url.port()?))
        })
        .find(|address| is_loopback(address))
}

#[cfg(test)]
mod tests {
    use super::address_in;

    #[test]
    fn address_is_read_from_the_status() {
        for (status, address) in [
            (
                "\u{1f7e2} Service is Started on http://127.0.0.1:59092/, PID 47804!",
                Some("http://127.0.0.1:59092"),
            ),
            (
                "\u{1f7e2} Model management service is running on http://127.0.0.1:5272/openai/status",
                Some("http://127.0.0.1:5272"),
            ),
            ("Server running at: http://localhost:60001.", Some("http://localhost:60001")),
            ("endpoint http://localhost:60001", Some("http://localhost:60001")),
            ("See http://example.org:80/ and http://[::1]:7000/", Some("http://[::1]:7000")),
            ("\u{1f534} Model management service is not running!", None),
        ] {
            assert_eq!(address_in(status).as_deref(), address, "{status}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn both_command_lines_are_tried() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("foundry");
        for known in ["server", "service"] {
            let script = format!("#!/bin/sh\n[ $1 = {known} ] && echo on http://127.0.0.1:7001/\n");
            std::fs::write(&program, script).expect("written");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, mode).expect("executable");
            let found = super::address(program.as_os_str()).await;
            assert_eq!(found.as_deref(), Some("http://127.0.0.1:7001"), "{known}");
        }
        let missing = folder.path().join("missing");
        assert_eq!(super::address(missing.as_os_str()).await, None);
    }
}
