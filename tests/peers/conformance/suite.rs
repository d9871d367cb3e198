//! The programs of the suites, and their expected failures.
//!
//! Owns the command line. Never judges a message; the suite does.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::fixture::{node, npm_packages};

/// A suite, by its revision of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConformanceSuite {
    /// 2025-11-25, with `initialize`.
    Handshake,
    /// 2026-07-28, with metadata in each request.
    PerRequest,
}

/// Scenarios that fail for one reason.
pub(super) struct ExpectedFailures {
    pub(super) reason: &'static str,
    pub(super) scenarios: &'static [&'static str],
}

impl ConformanceSuite {
    /// The revision of the protocol.
    pub(super) const fn revision(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::PerRequest => "2026-07-28",
        }
    }

    /// The program of the suite.
    pub(super) fn command(self) -> Command {
        let package = npm_packages().join(format!("mcp-conformance-{}", self.revision()));
        let mut command = Command::new(node());
        command.arg(package.join("dist").join("index.js"));
        command
    }
}

/// Writes the expected failures of `role` (`client` or `server`) in the suite's format.
pub(super) fn write_expected_failures(file: &Path, role: &str, expected: &[&ExpectedFailures]) {
    let mut text = format!("{role}:\n");
    for failures in expected {
        writeln!(text, "  # {}", failures.reason).expect("a text takes all");
        for scenario in failures.scenarios {
            writeln!(text, "  - {scenario}").expect("a text takes all");
        }
    }
    std::fs::write(file, text).expect("a file");
}

/// Runs a suite. Returns its whole output if it fails.
pub(super) fn run(mut command: Command) -> Result<(), String> {
    let output = command.output().expect("Node.js starts");
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{command:?} ended with {}:\n{}", output.status, String::from_utf8_lossy(&text)))
}
