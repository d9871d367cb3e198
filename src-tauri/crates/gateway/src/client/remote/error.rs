//! Errors between this computer and an engine on another one. Each variant is one layer with its remedy.

use std::io;

use rouse_core::settings::SshAddress;

/// A layer between this computer and an engine on another one failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The `ssh` program of this computer cannot be started.
    #[error(
        "{program} cannot be started, so {} cannot be reached. Install OpenSSH, or name its program in the variable \
         ROUSE_SSH.", .address.destination()
    )]
    SshMissing {
        /// The program.
        program: String,
        /// The computer.
        address: SshAddress,
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// `ssh` needs an answer of the person: an unknown host key, a password or a passphrase.
    #[error(
        "ssh cannot sign in to {} without you: {detail} Run `ssh {address}` once and answer its prompts. If it asks for \
         a password, set up a key: `ssh-copy-id {address}`.", .address.destination()
    )]
    SignIn {
        /// The computer.
        address: SshAddress,
        /// The last line of `ssh`, as a sentence.
        detail: String,
    },
    /// `ssh` failed for another reason.
    #[error("ssh cannot connect to {}: {detail} Try it by hand: ssh {address}", .address.destination())]
    Ssh {
        /// The computer.
        address: SshAddress,
        /// The last line of `ssh`, as a sentence.
        detail: String,
    },
    /// The computer does not answer.
    #[error("{} did not answer within {seconds} seconds. Try it by hand: ssh {address}", .address.destination())]
    NoAnswer {
        /// The computer.
        address: SshAddress,
        /// The time limit.
        seconds: u64,
    },
    /// There is no such program on the computer.
    #[error(
        "`{program}` is not found on {}. Install Rouse there. If it is installed, write its path into `program` of \
         `[computers.NAME]` in your settings, because ssh often starts with a shorter PATH.", .address.destination()
    )]
    RouseMissing {
        /// The computer.
        address: SshAddress,
        /// The program.
        program: String,
    },
    /// The program there cannot be dialled by this version.
    #[error(
        "Rouse on {}{} and Rouse {} on this computer do not understand each other. Install the same version on both.",
        .address.destination(),
        .version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default(),
        env!("CARGO_PKG_VERSION")
    )]
    Incompatible {
        /// The computer.
        address: SshAddress,
        /// The version of Rouse there.
        version: Option<String>,
    },
    /// The program there ended before its first line.
    #[error("`{program} dial` on {} ended at once: {detail} Try it by hand: ssh {address} {program} status", .address.destination())]
    Ended {
        /// The computer.
        address: SshAddress,
        /// The program.
        program: String,
        /// Its last line, as a sentence.
        detail: String,
    },
    /// No engine runs on the computer.
    #[error("Rouse is not running on {}. Start it there: `rouse serve`, or its app.", .address.destination())]
    NotRunning {
        /// The computer.
        address: SshAddress,
    },
    /// The engine there cannot be reached from its own computer.
    #[error("Rouse on {} cannot be reached: {message}", .address.destination())]
    Refused {
        /// The computer.
        address: SshAddress,
        /// Reason and fix, of that computer.
        message: String,
    },
    /// The connection was lost while a call was under way.
    #[error(
        "The connection to {} was lost during {method}, so its outcome is unknown. Check there before you repeat it.{}",
        .address.destination(),
        .detail.as_ref().map(|detail| format!(" ssh reports: {detail}")).unwrap_or_default()
    )]
    Lost {
        /// The computer.
        address: SshAddress,
        /// The method of the call.
        method: String,
        /// The last line of `ssh`, as a sentence.
        detail: Option<String>,
    },
    /// The engine did not answer a call in time.
    #[error(
        "Rouse on {} did not answer {method} in time, so its outcome is unknown. Check there before you repeat it.",
        .address.destination()
    )]
    TimedOut {
        /// The computer.
        address: SshAddress,
        /// The method of the call.
        method: String,
    },
    /// Possible only on the computer of the engine.
    #[error("{what} works only on the computer of the engine. Run it there: ssh {address}")]
    LocalOnly {
        /// The function.
        what: &'static str,
        /// The computer.
        address: SshAddress,
    },
}

impl RemoteError {
    /// Whether a call was under way, so that a repetition may do it twice.
    #[must_use]
    pub const fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::TimedOut { .. })
    }
}
