//! Why a registry gives no result, for the person.
//!
//! Pitfall: an address or a text of the registry in an error; only the host of the settings stands there unescaped.

use std::io;

use rouse_gateway::{ErrorCode, RpcError};

/// Why a registry gives no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum RegistryError {
    /// The settings name no registry.
    #[error(
        "Rouse asks no registry by itself, and the setting {key} is empty. Set the address of a registry with the {api} API: rouse config set {key} https://registry.example.org"
    )]
    NotSet {
        /// The API of the registry.
        api: &'static str,
        /// The key of the setting.
        key: &'static str,
    },
    /// An invalid parameter.
    #[error("{field}: {message}")]
    Input {
        /// The parameter.
        field: &'static str,
        /// The problem.
        message: String,
    },
    /// The exchange failed: the cause as a sentence.
    #[error("{0}")]
    Exchange(String),
    /// No complete answer in time.
    #[error("{host} gave no complete answer within {seconds} s. Try again later.")]
    TimedOut {
        /// The host.
        host: String,
        /// The time limit.
        seconds: u64,
    },
    /// An answer over the bound.
    #[error("{host} sent more than {megabytes} MB. Rouse reads no such answer.")]
    TooLarge {
        /// The host.
        host: String,
        /// The bound.
        megabytes: usize,
    },
    /// A redirect to another origin, or too many redirects.
    #[error("{host} redirects to another address, which Rouse does not follow. Check {key}.")]
    Redirected {
        /// The host.
        host: String,
        /// The key of the setting.
        key: &'static str,
    },
    /// Too many requests.
    #[error("{host} has too many requests. Try again {}.", retry_time(*seconds))]
    Busy {
        /// The host.
        host: String,
        /// The delay that the registry asks for.
        seconds: Option<u32>,
    },
    /// Another status than success.
    #[error("{host} answered with HTTP {status}. Check {key}, or try again later.")]
    Status {
        /// The host.
        host: String,
        /// The status.
        status: u16,
        /// The key of the setting.
        key: &'static str,
    },
    /// An answer of another form.
    #[error("The answer of {host} is invalid ({reason}). Check {key}.")]
    Invalid {
        /// The host.
        host: String,
        /// The reason, escaped.
        reason: String,
        /// The key of the setting.
        key: &'static str,
    },
    /// No such entry or skill: a sentence.
    #[error("{0}")]
    Missing(String),
    /// An entry or a skill that Rouse does not install: sentences.
    #[error("{0}")]
    Refused(String),
    /// The download cannot be written.
    #[error("The download cannot be written: {0}. Check the disk.")]
    Storage(#[from] io::Error),
}

impl RegistryError {
    /// The error with `sentence` in place of the statuses for a missing object.
    pub(super) fn for_missing(self, sentence: impl FnOnce() -> String) -> Self {
        match self {
            Self::Status { status: 404 | 410, .. } => Self::Missing(sentence()),
            other => other,
        }
    }
}

fn retry_time(seconds: Option<u32>) -> String {
    seconds.map_or_else(|| "later".to_owned(), |seconds| format!("in {seconds} s"))
}

impl From<RegistryError> for RpcError {
    fn from(error: RegistryError) -> Self {
        let code = match &error {
            RegistryError::Input { field, message } => return Self::field(field, message),
            RegistryError::Missing(_) => ErrorCode::NotFound,
            RegistryError::Storage(source) => {
                tracing::error!(%source, "a download could not be written");
                ErrorCode::Storage
            }
            RegistryError::NotSet { .. }
            | RegistryError::Exchange(_)
            | RegistryError::TimedOut { .. }
            | RegistryError::TooLarge { .. }
            | RegistryError::Redirected { .. }
            | RegistryError::Busy { .. }
            | RegistryError::Status { .. }
            | RegistryError::Invalid { .. }
            | RegistryError::Refused(_) => ErrorCode::Conflict,
        };
        Self::new(code, error.to_string())
    }
}
