//! Who may call the gateway.
//!
//! Programs show the bearer token, kept in a file that only the user can read. A browser signs in with a one-time code
//! (30 s, made by `rouse open`) that it trades for a session cookie and for a key that its page keeps (`page`); the token is
//! never in a URL and never in a page.
//! Sessions live beside the token and end with it: whoever deletes the token file signs every browser out.
//! Before a program shows the token, the engine proves that it knows it too (`proof`).
//! Comparisons take constant time. It refuses to know which methods exist: every caller may do everything the user may.

mod page;
mod proof;
mod sessions;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rouse_core::UnixMs;

pub use page::page_proof;
pub(crate) use proof::Challenge;
pub(crate) use sessions::SESSION_FOR_MS;
use sessions::{Sessions, Visit};

/// How long a one-time code is good for.
const CODE_FOR_MS: i64 = 30_000;
/// Codes and sessions kept at most; the oldest go first.
const MOST_KEPT: usize = 64;

/// The token file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Reading or writing failed.
    #[error("cannot use the token file {path}")]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Token, codes and sessions.
pub struct Auth {
    token: String,
    /// Of this start, and of no other.
    life: String,
    codes: Mutex<HashMap<String, UnixMs>>,
    sessions: Mutex<Sessions>,
}

impl Auth {
    /// Reads the token from `path`, or makes one there (mode 0600), and the sessions from beside it. A token that others
    /// could read is no secret any more and gets a successor.
    ///
    /// # Errors
    /// When the file can be neither read nor made.
    pub fn open(path: &Path) -> Result<Self, AuthError> {
        let failed = |source| AuthError::TokenFile { path: path.to_owned(), source };
        let kept = match fs::read_to_string(path) {
            Ok(text) if text.trim().len() >= 32 && is_private(path).map_err(failed)? => {
                Some(text.trim().to_owned())
            }
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let is_new = kept.is_none();
        let token = kept.map_or_else(|| write_token(path), Ok).map_err(failed)?;
        let mut sessions = Sessions::read(path.with_extension("sessions"), &token);
        if is_new {
            sessions.end_all();
        }
        let (life, codes) = (random_secret(), Mutex::default());
        Ok(Self { token, life, codes, sessions: Mutex::new(sessions) })
    }

    /// Whether `shown` is the bearer token.
    #[must_use]
    pub fn is_token(&self, shown: &str) -> bool {
        same(shown.as_bytes(), self.token.as_bytes())
    }

    /// What shows a program that this engine, at `port`, knows the token; none when `nonce` is none.
    #[must_use]
    pub fn prove(&self, nonce: &str, port: u16) -> Option<String> {
        proof::prove(nonce, &self.token, port)
    }

    /// A new one-time code.
    #[must_use]
    pub fn new_code(&self, now: UnixMs) -> String {
        let code = random_secret();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        keep_fresh(&mut codes, now);
        codes.insert(code.clone(), now.plus_ms(CODE_FOR_MS));
        code
    }

    /// Trades a code for a session; a code works once.
    #[must_use]
    pub fn exchange(&self, code: &str, now: UnixMs) -> Option<String> {
        let until = self.codes.lock().unwrap_or_else(PoisonError::into_inner).remove(code)?;
        if now >= until {
            return None;
        }
        let session = random_secret();
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).add(&session, now);
        Some(session)
    }

    /// What tells this life of the engine from every other. It opens nothing.
    #[must_use]
    pub fn life(&self) -> &str {
        &self.life
    }

    /// The half of a session that its page keeps.
    #[must_use]
    pub fn page_key(&self, session: &str) -> String {
        page::key(&self.token, session)
    }

    /// Whether `shown` comes from the page of `session`, which an engine at `port` has sent.
    #[must_use]
    pub fn is_page_of(&self, session: &str, shown: &str, port: u16) -> bool {
        let proof = page_proof(port, &self.life, &self.page_key(session));
        same(shown.as_bytes(), proof.as_bytes())
    }

    /// Whether `shown` is a live session; a visit makes it live longer.
    #[must_use]
    pub fn is_session(&self, shown: &str, now: UnixMs) -> bool {
        self.visit(shown, now) != Visit::Stranger
    }

    /// Whether `shown` is a live session that lives longer from this visit on, so that its browser must be told.
    #[must_use]
    pub fn renews_session(&self, shown: &str, now: UnixMs) -> bool {
        self.visit(shown, now) == Visit::Renewed
    }

    fn visit(&self, shown: &str, now: UnixMs) -> Visit {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).visit(shown, now)
    }
}

fn keep_fresh(kept: &mut HashMap<String, UnixMs>, now: UnixMs) {
    kept.retain(|_, until| now < *until);
    while kept.len() >= MOST_KEPT {
        let Some(oldest) = kept.iter().min_by_key(|(_, until)| **until).map(|(key, _)| key.clone())
        else {
            return;
        };
        kept.remove(&oldest);
    }
}

/// Whether the file is the user's alone.
fn is_private(path: &Path) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 == 0);
    #[cfg(not(unix))]
    Ok(metadata.is_file())
}

fn write_token(path: &Path) -> io::Result<String> {
    let token = random_secret();
    // A new file, because the mode counts only for a file that is made.
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

/// 244 random bits from the operating system, as text.
fn random_secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Equality whose time depends on the lengths alone.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0_u8, |seen, (x, y)| seen | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::sessions::SESSION_FOR_MS;
    use super::*;

    fn auth() -> (tempfile::TempDir, Auth) {
        let home = tempfile::tempdir().expect("a folder");
        let auth = Auth::open(&home.path().join("token")).expect("a token");
        (home, auth)
    }

    #[test]
    fn the_token_survives_a_restart_and_is_private() {
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
    fn a_token_that_others_could_read_is_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let (home, first) = auth();
        let path = home.path().join("token");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("our own file");
        let second = Auth::open(&path).expect("a token");
        assert!(!second.is_token(&first.token));
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_code_works_once_and_for_thirty_seconds() {
        let (_home, auth) = auth();
        let code = auth.new_code(UnixMs(0));
        let session = auth.exchange(&code, UnixMs(29_999)).expect("a session");
        assert!(auth.is_session(&session, UnixMs(30_000)));
        assert_eq!(auth.exchange(&code, UnixMs(29_999)), None, "used twice");
        let late = auth.new_code(UnixMs(0));
        assert_eq!(auth.exchange(&late, UnixMs(30_000)), None, "too late");
        assert!(!auth.is_session("guess", UnixMs(0)));
    }

    #[test]
    fn a_page_shows_itself_at_its_port_to_this_life_alone() {
        let (home, auth) = auth();
        let [session, other] = [(), ()]
            .map(|()| auth.exchange(&auth.new_code(UnixMs(0)), UnixMs(0)).expect("a session"));
        let proof = page_proof(7420, auth.life(), &auth.page_key(&session));
        assert!(auth.is_page_of(&session, &proof, 7420));
        assert!(!auth.is_page_of(&session, &proof, 7421), "handed on from another port");
        assert!(!auth.is_page_of(&other, &proof, 7420), "of another session");
        for shown in ["", &session, &auth.page_key(&session), auth.life()] {
            assert!(!auth.is_page_of(&session, shown, 7420), "{shown}");
        }
        let next = Auth::open(&home.path().join("token")).expect("the same token");
        assert!(!next.is_page_of(&session, &proof, 7420), "shown to the life before");
        let anew = page_proof(7420, next.life(), &auth.page_key(&session));
        assert!(next.is_page_of(&session, &anew, 7420), "the page keeps its key");
    }

    #[test]
    fn a_session_ends_without_visits() {
        let (_home, auth) = auth();
        let session = auth.exchange(&auth.new_code(UnixMs(0)), UnixMs(1)).expect("a session");
        assert!(auth.is_session(&session, UnixMs(SESSION_FOR_MS)));
        assert!(!auth.is_session(&session, UnixMs(3 * SESSION_FOR_MS)));
    }

    /// A token, its path and a signed-in browser.
    fn signed_in() -> (tempfile::TempDir, PathBuf, String) {
        let (home, auth) = auth();
        let session = auth.exchange(&auth.new_code(UnixMs(0)), UnixMs(0)).expect("a session");
        let path = home.path().join("token");
        (home, path, session)
    }

    #[test]
    fn a_signed_in_browser_survives_a_restart_with_its_visits() {
        let (_home, path, session) = signed_in();
        let visited = UnixMs(SESSION_FOR_MS - 1);
        assert!(Auth::open(&path).expect("a token").is_session(&session, visited));
        let later = Auth::open(&path).expect("a token");
        assert!(later.is_session(&session, UnixMs(2 * SESSION_FOR_MS - 2)), "the visit counted");
        assert!(!later.is_session("guess", visited));
        let last = Auth::open(&path).expect("a token");
        assert!(!last.is_session(&session, UnixMs(4 * SESSION_FOR_MS)), "it has ended");
    }

    #[test]
    fn sessions_are_kept_as_hashes_in_a_private_file() {
        let (_home, path, session) = signed_in();
        let kept = path.with_extension("sessions");
        let text = fs::read_to_string(&kept).expect("a file");
        assert!(!text.contains(&session), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&kept).expect("a file").permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_new_token_signs_every_browser_out() {
        let (_home, path, session) = signed_in();
        let kept = path.with_extension("sessions");
        let copy = fs::read(&kept).expect("a file");
        fs::remove_file(&path).expect("a file");
        assert!(!Auth::open(&path).expect("a token").is_session(&session, UnixMs(1)));
        // Not even an old copy brings them back.
        fs::write(&kept, copy).expect("our own file");
        assert!(!Auth::open(&path).expect("a token").is_session(&session, UnixMs(1)));
    }

    #[test]
    fn a_broken_file_of_sessions_keeps_nobody_out_for_long() {
        let (_home, path, session) = signed_in();
        fs::write(path.with_extension("sessions"), "{\"half").expect("our own file");
        let auth = Auth::open(&path).expect("a token");
        assert!(!auth.is_session(&session, UnixMs(1)));
        let again = auth.exchange(&auth.new_code(UnixMs(1)), UnixMs(1)).expect("a session");
        assert!(Auth::open(&path).expect("a token").is_session(&again, UnixMs(2)));
    }
}
