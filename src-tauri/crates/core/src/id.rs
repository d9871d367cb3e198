//! Identifiers as newtypes, so that ids of different kinds cannot be mixed up.

use std::cell::Cell;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
        )]
        #[serde(transparent)]
        #[ts(type = "string")]
        pub struct $name(String);

        impl $name {
            /// Wraps an id from the store, the wire or a generator.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// The prefix of a digest's id.
const DIGEST: &str = "digest-";

/// Separates the id of a message from the index of a route.
const ROUTE: char = '@';

id!(
    /// A job; a UUID, or any text for imported jobs.
    JobId
);
id!(
    /// A run; a UUIDv7, so that ids sort by creation.
    RunId
);
id!(
    /// A delivery; also the key from a notification's click to the run.
    DeliveryId
);
id!(
    /// An approval; a UUIDv7.
    ApprovalId
);
id!(
    /// A grant; a UUIDv7.
    GrantId
);
id!(
    /// A session: `main`, or `cron:<jobId>`.
    SessionKey
);

impl RunId {
    /// A new id at `now`. The random part comes from the operating system, the time only from the argument.
    #[must_use]
    pub fn generate(now: crate::UnixMs) -> Self {
        Self(uuid_v7(now))
    }

    /// A text that sorts before every id made at `at` or later, and after all earlier ids.
    #[must_use]
    pub fn bound(at: crate::UnixMs) -> String {
        let ms = u64::try_from(at.0).unwrap_or(0);
        format!("{:08x}-{:04x}", ms >> 16, ms & 0xffff)
    }
}

impl ApprovalId {
    /// A new id at `now`.
    #[must_use]
    pub fn generate(now: crate::UnixMs) -> Self {
        Self(uuid_v7(now))
    }
}

impl GrantId {
    /// A new id at `now`.
    #[must_use]
    pub fn generate(now: crate::UnixMs) -> Self {
        Self(uuid_v7(now))
    }
}

impl DeliveryId {
    /// A new id at `now`.
    #[must_use]
    pub fn generate(now: crate::UnixMs) -> Self {
        Self(uuid_v7(now))
    }

    /// The id of the row for the route with this index. The first route has the id of the message itself.
    #[must_use]
    pub fn of_route(&self, index: usize) -> Self {
        if index == 0 { self.clone() } else { Self(format!("{}{ROUTE}{index}", self.message())) }
    }

    /// The id of the message, which all routes share.
    #[must_use]
    pub fn message(&self) -> &str {
        self.0.split_once(ROUTE).map_or(self.as_str(), |(message, _)| message)
    }

    /// A new id of a digest, marked as such, because a click brings nothing but the id.
    #[must_use]
    pub fn of_digest(now: crate::UnixMs) -> Self {
        Self(format!("{DIGEST}{}", uuid_v7(now)))
    }

    /// Whether the delivery is a digest.
    #[must_use]
    pub fn is_digest(&self) -> bool {
        self.0.starts_with(DIGEST)
    }
}

impl JobId {
    /// A new random id.
    #[must_use]
    pub fn generate() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }
}

impl SessionKey {
    /// The main session.
    #[must_use]
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// The session of an isolated job.
    #[must_use]
    pub fn of_job(job: &JobId) -> Self {
        Self(format!("cron:{job}"))
    }

    /// The job of the session; none for the main session.
    #[must_use]
    pub fn job_id(&self) -> Option<JobId> {
        self.0.strip_prefix("cron:").map(JobId::new)
    }
}

fn uuid_v7(now: crate::UnixMs) -> String {
    let ms = u64::try_from(now.0).unwrap_or(0);
    let Some(seed) = SEED.get() else {
        let nanos = u32::try_from((ms % 1000) * 1_000_000).unwrap_or(0);
        let timestamp = uuid::Timestamp::from_unix(uuid::NoContext, ms / 1000, nanos);
        return uuid::Uuid::new_v7(timestamp).to_string();
    };
    SEED.set(Some(seed.wrapping_add(STEP)));
    let mut random = [0; 10];
    random[..8].copy_from_slice(&stir(seed).to_be_bytes());
    uuid::Builder::from_unix_timestamp_millis(ms, &random).into_uuid().to_string()
}

/// The increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

thread_local! {
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Derives the random part of this thread's ids from `seed`, so that a proof repeats exactly. `JobId::generate` stays
/// random.
pub fn seed_ids(seed: u64) {
    SEED.set(Some(seed));
}

/// The output function of SplitMix64.
const fn stir(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMs;

    #[test]
    fn seeded_ids_repeat_and_differ_from_each_other() {
        let ids = |seed| {
            seed_ids(seed);
            [RunId::generate(UnixMs(5)), RunId::generate(UnixMs(5))]
        };
        assert_eq!(ids(7), ids(7));
        assert_ne!(ids(7), ids(8));
        assert_ne!(ids(7)[0], ids(7)[1]);
    }

    #[test]
    fn bound_sorts_between_earlier_and_later_ids() {
        for ms in [1, 0xffff, 0x1_0000, 1_800_000_000_000, 0x1234_0000_0000] {
            let (at, bound) = (UnixMs(ms), RunId::bound(UnixMs(ms)));
            assert!(bound.as_str() < RunId::generate(at).as_str(), "{ms}");
            assert!(bound.as_str() > RunId::generate(at.plus_ms(-1)).as_str(), "{ms}");
        }
        assert_eq!(RunId::bound(UnixMs(-1)), RunId::bound(UnixMs(0)));
    }
}
