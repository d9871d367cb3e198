//! How many files this process may have open.
//!
//! Systems start programs with a soft limit that is low for old programs' sake, and leave it to newer ones to raise it.
//! What Rouse starts inherits the limit, and some programs close every descriptor up to it before they begin, or cannot
//! live with numbers past a thousand. So it is raised to what Rouse could need, and never lowered.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Far more than connections, runs and the database need together; the most that every system gives.
const WANTED: u64 = 10_240;

/// Most connections of clients at once. A browser needs a handful.
const MOST_CONNECTIONS: u64 = 128;
/// Below this limit runs can fail for want of descriptors.
const ENOUGH: u64 = 128;

/// Connections that may be open at once: a quarter of the limit, so that runs and the database have the rest.
pub(crate) fn most_connections() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(WANTED);
    usize::try_from((limit / 4).clamp(8, MOST_CONNECTIONS)).unwrap_or(8)
}

/// That the limit is too low for runs, with what to do; none when it is high enough.
pub(crate) fn too_few() -> Option<String> {
    let limit = getrlimit(Resource::Nofile).current.filter(|limit| *limit < ENOUGH)?;
    Some(format!(
        "This process may have {limit} files open, so runs that start programs can fail. Raise the hard limit where Rouse \
         is started (`ulimit -n 1024`, or LimitNOFILE=1024 in its systemd unit)."
    ))
}

/// Raises the soft limit towards the hard one.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED, |most| most.min(WANTED));
    if limit.current.is_none_or(|now| now >= wanted) {
        return;
    }
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the number of open files stays at the limit that the system started Rouse with");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_raised_and_a_high_one_is_left() {
        let before = getrlimit(Resource::Nofile);
        let set = |current| {
            setrlimit(Resource::Nofile, Rlimit { current, ..before })
                .expect("a limit below the hard one");
        };
        let most = before.maximum.map_or(WANTED, |most| most.min(WANTED));
        set(Some(most / 2));
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, Some(most));
        set(before.current);
    }
}
