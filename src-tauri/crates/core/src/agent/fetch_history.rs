//! The port to earlier fetches of a job: the content hash of each page, from the journals of the runs.
//!
//! Owns the choice of the fetch: the last fetch by another successful run of the same job. A failed run reported no
//! change. Never holds the pages themselves.

use crate::future::BoxFuture;
use crate::{JobId, RunId, UnixMs};

/// The tool of the counted calls.
pub const WEB_FETCH: &str = "web_fetch";

/// A fetch by an earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFetch {
    /// The hash of the page (`contentHash` of the result).
    pub content_hash: String,
    /// The instant of the fetch.
    pub at: UnixMs,
}

/// A failure to read the journals, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchHistoryFailure(pub String);

/// The earlier fetches of jobs.
pub trait FetchHistory: Send + Sync {
    /// The last fetch of `url` by a successful run of `job` other than `current`.
    fn last<'a>(
        &'a self,
        job: &'a JobId,
        current: &'a RunId,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Option<PastFetch>, FetchHistoryFailure>>;
}
