//! The port to what a job fetched before: the fingerprint of each page, from the journals of its runs.
//!
//! Owns which earlier fetch counts: the last one by another run of the same job that ended well. A run that failed told
//! nobody of the change that it saw. Never holds the pages themselves.

use crate::tool::BoxFuture;
use crate::{JobId, RunId, UnixMs};

/// The tool whose calls are counted.
pub const WEB_FETCH: &str = "web_fetch";

/// A fetch by an earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFetch {
    /// The fingerprint of what was there (`contentHash` of the result).
    pub content_hash: String,
    /// When it was fetched.
    pub at: UnixMs,
}

/// The journals could not be read; as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchHistoryFailure(pub String);

/// The earlier fetches of jobs.
pub trait FetchHistory: Send + Sync {
    /// The last fetch of `url` by a run of `job` that ended well, other than the run `current`.
    fn last<'a>(
        &'a self,
        job: &'a JobId,
        current: &'a RunId,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Option<PastFetch>, FetchHistoryFailure>>;
}
