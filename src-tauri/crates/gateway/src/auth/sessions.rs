//! Browsers that are signed in, kept in a file so that a restart of the engine signs nobody out.
//!
//! A session is known by a hash alone, which opens nothing to whoever reads the file or a backup of it. The token is part
//! of the hash: a new token leaves no session that fits. A visit makes a session live longer, and that is written, and
//! told to the browser, at most once a day. It refuses to fail a sign-in because of the file: what cannot be kept lasts
//! until the engine stops. One could get this wrong by writing with every visit, which is every request of every page.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::UnixMs;

use super::{MOST_KEPT, keep_fresh};
use crate::private_file::write_private;
use crate::webhook_secret::hash_of;

/// How long a browser stays signed in without a visit.
pub(crate) const SESSION_FOR_MS: i64 = 30 * DAY_MS;
const DAY_MS: i64 = 24 * 3_600_000;

/// What a visit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visit {
    /// Of nobody who is signed in.
    Stranger,
    /// Of a live session.
    Known,
    /// Of a live session, which lives longer from now on.
    Renewed,
}

/// The sessions of one token.
pub(super) struct Sessions {
    path: PathBuf,
    token: String,
    /// Hash → end, as it is written.
    ends: HashMap<String, UnixMs>,
}

impl Sessions {
    /// Reads what an earlier life of the engine left. A file that cannot be read signs everybody out and no more.
    pub(super) fn read(path: PathBuf, token: &str) -> Self {
        let ends = match fs::read_to_string(&path) {
            Ok(text) => parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => HashMap::new(),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "signed-in browsers must sign in again");
                HashMap::new()
            }
        };
        Self { path, token: token.to_owned(), ends }
    }

    /// Signs a browser in.
    pub(super) fn add(&mut self, session: &str, now: UnixMs) {
        keep_fresh(&mut self.ends, now);
        self.ends.insert(self.hash(session), now.plus_ms(SESSION_FOR_MS));
        self.write();
    }

    /// Looks whether `shown` is a live session; a visit makes it live longer.
    pub(super) fn visit(&mut self, shown: &str, now: UnixMs) -> Visit {
        let Some(end) = self.ends.get_mut(&hash(&self.token, shown)).filter(|end| now < **end)
        else {
            return Visit::Stranger;
        };
        let new_end = now.plus_ms(SESSION_FOR_MS);
        if new_end.since(*end) < DAY_MS {
            return Visit::Known;
        }
        *end = new_end;
        self.write();
        Visit::Renewed
    }

    /// Ends every session.
    pub(super) fn end_all(&mut self) {
        if !self.ends.is_empty() {
            self.ends.clear();
            self.write();
        }
    }

    fn hash(&self, session: &str) -> String {
        hash(&self.token, session)
    }

    fn write(&self) {
        let ends: HashMap<&str, i64> =
            self.ends.iter().map(|(hash, end)| (hash.as_str(), end.0)).collect();
        let text = serde_json::to_string(&ends).expect("BUG: texts and numbers are JSON");
        if let Err(error) = write_private(&self.path, &text) {
            tracing::warn!(%error, path = %self.path.display(), "a sign-in lasts only until Rouse stops");
        }
    }
}

fn parse(path: &Path, text: &str) -> HashMap<String, UnixMs> {
    match serde_json::from_str::<HashMap<String, i64>>(text) {
        Ok(ends) => {
            ends.into_iter().take(MOST_KEPT).map(|(hash, end)| (hash, UnixMs(end))).collect()
        }
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "signed-in browsers must sign in again");
            HashMap::new()
        }
    }
}

fn hash(token: &str, session: &str) -> String {
    hash_of(&format!("{token}:{session}"))
}
