//! Browser sessions, stored in a file that survives a restart of the engine.
//!
//! Owns the hashes and expiry times of sessions. The file holds hashes only, so a copy of it grants no access. Each hash includes
//! the bearer token, so a new bearer token invalidates all sessions. A request extends a session; the extension is written, and
//! sent to the browser, at most once a day. Never fails a sign-in because of the file: an unsaved session lasts until the engine
//! stops. Pitfall: writing on every request.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rouse_core::UnixMs;
use rouse_core::text::sha256_hex;

use super::{MAX_ENTRIES, prune};
use crate::private_file::write_private;

/// Idle timeout of a session.
pub(crate) const SESSION_LIFETIME_MS: i64 = 30 * DAY_MS;
const DAY_MS: i64 = 24 * 3_600_000;

/// The status of a session at a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionStatus {
    /// Unknown or expired.
    Invalid,
    /// Valid.
    Valid,
    /// Valid, with a new expiry.
    Renewed,
}

/// The sessions of one token.
pub(super) struct Sessions {
    path: PathBuf,
    token: String,
    /// Expiry by hash.
    expiries: HashMap<String, UnixMs>,
}

impl Sessions {
    /// Reads the file. An unreadable file means no sessions.
    pub(super) fn read(path: PathBuf, token: &str) -> Self {
        let expiries = match fs::read_to_string(&path) {
            Ok(text) => parse(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => HashMap::new(),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the session file cannot be read; all browsers must sign in again");
                HashMap::new()
            }
        };
        Self { path, token: token.to_owned(), expiries }
    }

    /// Adds a session.
    pub(super) fn add(&mut self, session: &str, now: UnixMs) {
        prune(&mut self.expiries, now);
        self.expiries.insert(session_hash(&self.token, session), now.plus_ms(SESSION_LIFETIME_MS));
        self.write();
    }

    /// The status of `session`; extends a valid one.
    pub(super) fn extend(&mut self, session: &str, now: UnixMs) -> SessionStatus {
        let hash = session_hash(&self.token, session);
        let Some(expiry) = self.expiries.get_mut(&hash).filter(|expiry| now < **expiry) else {
            return SessionStatus::Invalid;
        };
        let new_expiry = now.plus_ms(SESSION_LIFETIME_MS);
        if new_expiry.since(*expiry) < DAY_MS {
            return SessionStatus::Valid;
        }
        *expiry = new_expiry;
        self.write();
        SessionStatus::Renewed
    }

    /// Removes all sessions.
    pub(super) fn remove_all(&mut self) {
        if !self.expiries.is_empty() {
            self.expiries.clear();
            self.write();
        }
    }

    fn write(&self) {
        let expiries: HashMap<&str, i64> =
            self.expiries.iter().map(|(hash, expiry)| (hash.as_str(), expiry.0)).collect();
        let text = serde_json::to_string(&expiries).expect("BUG: strings and numbers are JSON");
        if let Err(error) = write_private(&self.path, &text) {
            tracing::warn!(%error, path = %self.path.display(), "the session file cannot be written; sign-ins last only until Rouse stops");
        }
    }
}

fn parse(path: &Path, text: &str) -> HashMap<String, UnixMs> {
    match serde_json::from_str::<HashMap<String, i64>>(text) {
        Ok(expiries) => expiries
            .into_iter()
            .take(MAX_ENTRIES)
            .map(|(hash, expiry)| (hash, UnixMs(expiry)))
            .collect(),
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "the session file cannot be parsed; all browsers must sign in again");
            HashMap::new()
        }
    }
}

fn session_hash(token: &str, session: &str) -> String {
    sha256_hex(&format!("{token}:{session}"))
}
