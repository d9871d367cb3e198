//! Authentication of gateway callers.
//!
//! Owns the bearer token of programs, in a file with mode 0600, one-time codes and browser sessions. A browser exchanges a code
//! (valid for 30 s, from `rouse open`) for a session cookie and a page key (`page`). Sessions are stored beside the token;
//! deleting the token file signs out all browsers. The engine proves the token before a program sends the token (`proof`).
//! Comparisons take constant time. Programs that use Rouse as an MCP server have tokens of their own (`mcp_tokens`), which open no
//! other endpoint. Paired browsers and phones sign in with keys of their own (`devices`). Never puts the token into a URL or a
//! page.

mod devices;
mod mcp_tokens;
mod page;
mod proof;
mod sessions;
mod visible_name;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rouse_core::UnixMs;

pub(crate) use devices::DEVICE_SESSION_LIFETIME_MS;
pub use devices::{DeviceError, Devices};
pub use mcp_tokens::{McpTokenError, McpTokens};
pub use page::page_proof;
pub(crate) use proof::Challenge;
pub(crate) use sessions::SESSION_LIFETIME_MS;
use sessions::{SessionStatus, Sessions};

use crate::crypto::{constant_time_eq, random_secret};

/// Lifetime of a one-time code.
const CODE_LIFETIME_MS: i64 = 30_000;
/// Maximum number of codes and of sessions; the oldest are removed first.
const MAX_ENTRIES: usize = 64;

/// An error of the token file.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Reading or writing failed.
    #[error("cannot use the token file {path}")]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The system error.
        #[source]
        source: io::Error,
    },
}

/// Token, codes and sessions.
pub struct Auth {
    token: String,
    /// Id of this start of the engine.
    start_id: String,
    codes: Mutex<HashMap<String, UnixMs>>,
    sessions: Mutex<Sessions>,
}

impl Auth {
    /// Reads the token from `path` or creates one (mode 0600), and reads the sessions beside it. Replaces a token that other users
    /// could read.
    ///
    /// # Errors
    /// If the file can be neither read nor created.
    pub fn open(path: &Path) -> Result<Self, AuthError> {
        let failed = |source| AuthError::TokenFile { path: path.to_owned(), source };
        let stored = match fs::read_to_string(path) {
            Ok(text) if text.trim().len() >= 32 && is_private(path).map_err(failed)? => {
                Some(text.trim().to_owned())
            }
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let is_new = stored.is_none();
        let token = stored.map_or_else(|| write_token(path), Ok).map_err(failed)?;
        let mut sessions = Sessions::read(path.with_extension("sessions"), &token);
        if is_new {
            sessions.remove_all();
        }
        let (start_id, codes) = (random_secret(), Mutex::default());
        Ok(Self { token, start_id, codes, sessions: Mutex::new(sessions) })
    }

    /// Whether `token` is the bearer token.
    #[must_use]
    pub fn is_token(&self, token: &str) -> bool {
        constant_time_eq(token.as_bytes(), self.token.as_bytes())
    }

    /// The proof of the token for a program that connected to `port`; none for an invalid nonce.
    #[must_use]
    pub fn prove(&self, nonce: &str, port: u16) -> Option<String> {
        proof::prove(nonce, &self.token, port)
    }

    /// Creates a one-time code.
    #[must_use]
    pub fn create_code(&self, now: UnixMs) -> String {
        let code = random_secret();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        prune(&mut codes, now);
        codes.insert(code.clone(), now.plus_ms(CODE_LIFETIME_MS));
        code
    }

    /// Exchanges a code for a session. A code works once.
    #[must_use]
    pub fn exchange(&self, code: &str, now: UnixMs) -> Option<String> {
        let expiry = self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(code)?;
        if now >= expiry {
            return None;
        }
        let session = random_secret();
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).add(&session, now);
        Some(session)
    }

    /// Id of this start of the engine. Not secret.
    #[must_use]
    pub fn start_id(&self) -> &str {
        &self.start_id
    }

    /// The page key of a session.
    #[must_use]
    pub fn page_key(&self, session: &str) -> String {
        page::page_key(&self.token, session)
    }

    /// Whether `proof` is the page proof of `session` at `origin`.
    #[must_use]
    pub fn is_page_of(&self, session: &str, proof: &str, origin: &str) -> bool {
        let expected = page_proof(origin, &self.start_id, &self.page_key(session));
        constant_time_eq(proof.as_bytes(), expected.as_bytes())
    }

    /// Whether `session` is valid. Extends a valid session.
    #[must_use]
    pub fn is_session(&self, session: &str, now: UnixMs) -> bool {
        self.extend_session(session, now) != SessionStatus::Invalid
    }

    /// Whether this request extends `session`, so that the browser needs a new cookie.
    #[must_use]
    pub fn renews_session(&self, session: &str, now: UnixMs) -> bool {
        self.extend_session(session, now) == SessionStatus::Renewed
    }

    fn extend_session(&self, session: &str, now: UnixMs) -> SessionStatus {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).extend(session, now)
    }
}

/// Removes expired entries, and the oldest above the maximum.
fn prune(expiries: &mut HashMap<String, UnixMs>, now: UnixMs) {
    expiries.retain(|_, expiry| now < *expiry);
    while expiries.len() >= MAX_ENTRIES {
        let oldest = expiries.iter().min_by_key(|(_, expiry)| **expiry);
        let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
        expiries.remove(&oldest);
    }
}

/// Whether only the user can access the file.
fn is_private(path: &Path) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 == 0);
    #[cfg(not(unix))]
    Ok(metadata.is_file())
}

fn write_token(path: &Path) -> io::Result<String> {
    let token = random_secret();
    // A new file, because the mode applies at creation only.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(token.as_bytes())?;
    file.sync_all()?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth() -> (tempfile::TempDir, Auth) {
        let home = tempfile::tempdir().expect("a folder");
        let auth = Auth::open(&home.path().join("token")).expect("a token");
        (home, auth)
    }

    #[test]
    fn token_survives_a_restart_and_is_private() {
        let (home, first) = auth();
        let path = home.path().join("token");
        let second = Auth::open(&path).expect("the same token");
        assert!(second.is_token(&first.token));
        assert!(!second.is_token(&first.token[1..]));
        assert!(!second.is_token(""));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn token_readable_by_others_is_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let (home, first) = auth();
        let path = home.path().join("token");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("our own file");
        let second = Auth::open(&path).expect("a token");
        assert!(!second.is_token(&first.token));
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn code_works_once_within_thirty_seconds() {
        let (_home, auth) = auth();
        let code = auth.create_code(UnixMs(0));
        let session = auth.exchange(&code, UnixMs(29_999)).expect("a session");
        assert!(auth.is_session(&session, UnixMs(30_000)));
        assert_eq!(auth.exchange(&code, UnixMs(29_999)), None, "used twice");
        let late = auth.create_code(UnixMs(0));
        assert_eq!(auth.exchange(&late, UnixMs(30_000)), None, "too late");
        assert!(!auth.is_session("guess", UnixMs(0)));
    }

    #[test]
    fn page_proof_needs_origin_session_and_start() {
        const OWN: &str = "http://127.0.0.1:7420";
        let (home, auth) = auth();
        let [session, other] = [(), ()]
            .map(|()| auth.exchange(&auth.create_code(UnixMs(0)), UnixMs(0)).expect("a session"));
        let proof = page_proof(OWN, auth.start_id(), &auth.page_key(&session));
        assert!(auth.is_page_of(&session, &proof, OWN));
        for other in ["http://127.0.0.1:7421", "http://localhost:7420", "https://box.example.org"] {
            assert!(!auth.is_page_of(&session, &proof, other), "relayed from {other}");
        }
        assert!(!auth.is_page_of(&other, &proof, OWN), "of another session");
        for wrong in ["", &session, &auth.page_key(&session), auth.start_id()] {
            assert!(!auth.is_page_of(&session, wrong, OWN), "{wrong}");
        }
        let next = Auth::open(&home.path().join("token")).expect("the same token");
        assert!(!next.is_page_of(&session, &proof, OWN), "a proof for the start before");
        let new_proof = page_proof(OWN, next.start_id(), &auth.page_key(&session));
        assert!(next.is_page_of(&session, &new_proof, OWN), "the page key stays");
    }

    #[test]
    fn session_without_requests_expires() {
        let (_home, auth) = auth();
        let session = auth.exchange(&auth.create_code(UnixMs(0)), UnixMs(1)).expect("a session");
        assert!(auth.is_session(&session, UnixMs(SESSION_LIFETIME_MS)));
        assert!(!auth.is_session(&session, UnixMs(3 * SESSION_LIFETIME_MS)));
    }

    /// A data directory, the path of the token and a session.
    fn signed_in() -> (tempfile::TempDir, PathBuf, String) {
        let (home, auth) = auth();
        let session = auth.exchange(&auth.create_code(UnixMs(0)), UnixMs(0)).expect("a session");
        let path = home.path().join("token");
        (home, path, session)
    }

    #[test]
    fn session_and_extension_survive_a_restart() {
        let (_home, path, session) = signed_in();
        let requested_at = UnixMs(SESSION_LIFETIME_MS - 1);
        assert!(Auth::open(&path).expect("a token").is_session(&session, requested_at));
        let later = Auth::open(&path).expect("a token");
        assert!(
            later.is_session(&session, UnixMs(2 * SESSION_LIFETIME_MS - 2)),
            "extended by the request"
        );
        assert!(!later.is_session("guess", requested_at));
        let last = Auth::open(&path).expect("a token");
        assert!(!last.is_session(&session, UnixMs(4 * SESSION_LIFETIME_MS)), "expired");
    }

    #[test]
    fn sessions_are_stored_as_hashes_in_a_private_file() {
        let (_home, path, session) = signed_in();
        let file = path.with_extension("sessions");
        let text = fs::read_to_string(&file).expect("a file");
        assert!(!text.contains(&session), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn new_token_invalidates_all_sessions() {
        let (_home, path, session) = signed_in();
        let file = path.with_extension("sessions");
        let copy = fs::read(&file).expect("a file");
        fs::remove_file(&path).expect("a file");
        assert!(!Auth::open(&path).expect("a token").is_session(&session, UnixMs(1)));
        // An old copy of the file does not restore the sessions.
        fs::write(&file, copy).expect("our own file");
        assert!(!Auth::open(&path).expect("a token").is_session(&session, UnixMs(1)));
    }

    #[test]
    fn invalid_session_file_is_replaced_at_sign_in() {
        let (_home, path, session) = signed_in();
        fs::write(path.with_extension("sessions"), "{\"half").expect("our own file");
        let auth = Auth::open(&path).expect("a token");
        assert!(!auth.is_session(&session, UnixMs(1)));
        let again = auth.exchange(&auth.create_code(UnixMs(1)), UnixMs(1)).expect("a session");
        assert!(Auth::open(&path).expect("a token").is_session(&again, UnixMs(2)));
    }
}
