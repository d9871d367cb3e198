//! Errors of guarded HTTP requests, in words for the caller.

use std::io;
use std::time::Duration;

use rouse_core::tool::Fault;
use thiserror::Error;

use super::content_encoding::ContentEncodingError;
use super::target::UrlError;
use crate::output::ToolFailure;

pub(super) const MAX_REDIRECTS: usize = 5;

/// Failure of a request.
#[derive(Debug, Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(
        "Port {port} is not allowed. Allowed are 80, 443, 8080 and 8443. The person can allow another as host:port in the setting `tools.allowPrivateHosts`."
    )]
    Port { port: u16 },
    /// An address that the person may allow.
    #[error(
        "{host} is {kind}. Only the person can allow this host, in the setting `tools.allowPrivateHosts`."
    )]
    LocalAddress { host: String, kind: &'static str },
    /// An address that is never allowed.
    #[error("{host} is {kind} and cannot be fetched.")]
    Address { host: String, kind: &'static str },
    #[error("This is Rouse's own address and cannot be fetched.")]
    OwnPort,
    #[error(
        "The address of {host} could not be found. Check the spelling and the network connection."
    )]
    Lookup {
        host: String,
        #[source]
        source: io::Error,
    },
    #[error("{host} has no address.")]
    NoAddress { host: String },
    #[error("{host} is not among the hosts of this job ({listed}).")]
    NotGranted { host: String, listed: String },
    /// A redirect to a refused or unreachable target. The redirecting server has received the request.
    #[error("{from} redirects to {to}, which {}: {source}", redirect_verdict(source))]
    Redirect { from: String, to: String, source: Box<FetchError> },
    #[error("an encrypted page may not redirect to an unencrypted one.")]
    Downgrade,
    /// The redirect's target is not UTF-8.
    #[error("the target is not readable.")]
    Location,
    #[error("More than {MAX_REDIRECTS} redirects.")]
    TooManyRedirects,
    #[error("{host} could not be fetched ({}).", innermost_cause(source))]
    Transport { host: String, source: reqwest::Error },
    #[error("The response of {host} could not be read: {source}.")]
    Encoding { host: String, source: ContentEncodingError },
    #[error("No complete response within {} seconds.", .0.as_secs())]
    Timeout(Duration),
}

impl FetchError {
    /// Whether the server may have received the request.
    pub(crate) fn may_have_arrived(&self) -> bool {
        match self {
            Self::Transport { source, .. } => !source.is_connect(),
            Self::Timeout(_)
            | Self::Redirect { .. }
            | Self::TooManyRedirects
            | Self::Encoding { .. } => true,
            _ => false,
        }
    }
}

impl ToolFailure for FetchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Url(_) => Fault::InvalidParameters,
            Self::Port { .. }
            | Self::LocalAddress { .. }
            | Self::Address { .. }
            | Self::OwnPort
            | Self::NotGranted { .. }
            | Self::Downgrade => Fault::NotAuthorised,
            Self::Redirect { source, .. } => match source.fault() {
                // The server chose the target, and the server was reached.
                Fault::InvalidParameters | Fault::Unreached => Fault::ExternalService,
                fault => fault,
            },
            Self::Lookup { .. } | Self::NoAddress { .. } => Fault::Unreached,
            Self::Transport { source, .. } if source.is_connect() => Fault::Unreached,
            Self::Location
            | Self::TooManyRedirects
            | Self::Transport { .. }
            | Self::Encoding { .. } => Fault::ExternalService,
            Self::Timeout(_) => Fault::Timeout,
        }
    }
}

fn redirect_verdict(source: &FetchError) -> &'static str {
    match source {
        FetchError::Transport { .. } | FetchError::Lookup { .. } | FetchError::NoAddress { .. } => {
            "was not reached"
        }
        _ => "is refused",
    }
}

/// The innermost, most specific source.
pub(super) fn innermost_cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    crate::plain_line(&innermost.to_string())
}
