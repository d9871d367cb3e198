//! The limit of open files of this process.
//!
//! Systems start programs with a low soft limit for the sake of old programs. Child processes inherit the limit; some
//! close every descriptor up to the limit, or fail above 1,000. So the limit is raised only to Rouse's maximum need,
//! and never lowered.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Far above the need of connections, runs and the database; granted by every system.
const TARGET_LIMIT: u64 = 10_240;

/// The maximum number of client connections. A browser needs a handful.
const MAX_CONNECTIONS: u64 = 128;
/// Runs can fail below this limit.
const MIN_LIMIT: u64 = 128;

/// The maximum number of open connections: a quarter of the limit. The rest is for runs and the database.
pub(crate) fn max_connections() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(TARGET_LIMIT);
    usize::try_from((limit / 4).clamp(8, MAX_CONNECTIONS)).unwrap_or(8)
}

/// The warning about a limit that is too low for runs.
pub(crate) fn low_limit() -> Option<String> {
    let limit = getrlimit(Resource::Nofile).current.filter(|limit| *limit < MIN_LIMIT)?;
    Some(format!(
        "This process may have {limit} files open, so runs that start programs can fail. Raise the hard limit where Rouse \
         is started (`ulimit -n 1024`, or LimitNOFILE=1024 in its systemd unit)."
    ))
}

/// Raises the soft limit towards the hard limit.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(TARGET_LIMIT, |most| most.min(TARGET_LIMIT));
    if limit.current.is_none_or(|now| now >= wanted) {
        return;
    }
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_limit_is_raised_and_high_limit_kept() {
        let before = getrlimit(Resource::Nofile);
        let set = |current| {
            setrlimit(Resource::Nofile, Rlimit { current, ..before })
                .expect("a limit below the hard one");
        };
        let most = before.maximum.map_or(TARGET_LIMIT, |most| most.min(TARGET_LIMIT));
        set(Some(most / 2));
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
        set(before.current);
    }
}
