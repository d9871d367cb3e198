//! Bearer tokens of the MCP server: one per program, with a scope, revocable by a person.
//!
//! Owns the private file with the names, scopes and hashes of the tokens; the file holds no token. A token opens `/mcp` and
//! nothing else. An unreadable file means no tokens (fail closed).
//! Pitfall: writing the file at every request; the last use is written at most once an hour.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rouse_core::UnixMs;
use rouse_core::text::sha256_hex;
use serde::{Deserialize, Serialize};

use super::visible_name::{MAX_NAME_CHARS, visible_name};
use crate::crypto::{constant_time_eq, random_secret};
use crate::private_file::write_private;
use crate::wire::{McpScope, McpTokenView};

/// Begins every token, so that a scan for leaked secrets recognizes it.
const TOKEN_PREFIX: &str = "rouse_mcp_";
/// Maximum number of tokens.
const MAX_TOKENS: usize = 64;
/// Minimum time between two writes of the last use.
const LAST_USE_STEP_MS: i64 = 3_600_000;

/// An error of the token table.
#[derive(Debug, thiserror::Error)]
pub enum McpTokenError {
    /// The name is empty, long, or has invisible characters.
    #[error("must have 1 to {} visible characters", MAX_NAME_CHARS)]
    Name,
    /// Another token has the name.
    #[error("There is already a token {0}. Choose another name, or revoke that token first.")]
    Exists(String),
    /// The table is full.
    #[error("There are {} tokens. Revoke one first.", MAX_TOKENS)]
    Full,
    /// The file cannot be written.
    #[error("Nothing was changed, because {path} cannot be written: {source}.")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// The tokens of the MCP server.
pub struct McpTokens {
    path: PathBuf,
    tokens: Mutex<Vec<StoredMcpToken>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredMcpToken {
    hash: String,
    #[serde(flatten)]
    view: McpTokenView,
}

impl McpTokens {
    /// The file of `home`.
    #[must_use]
    pub fn path(home: &Path) -> PathBuf {
        home.join("mcp-tokens.json")
    }

    /// Reads the file. A missing file means no tokens.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let tokens = match fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let tokens = tokens.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "the MCP tokens cannot be read; no program has access over HTTP");
            Vec::new()
        });
        Self { path: path.to_owned(), tokens: Mutex::new(tokens) }
    }

    /// The tokens, by name.
    #[must_use]
    pub fn list(&self) -> Vec<McpTokenView> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let mut views: Vec<_> = tokens.iter().map(|token| token.view.clone()).collect();
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views
    }

    /// Creates a token and returns the value with the view.
    ///
    /// # Errors
    /// For an invalid or used name, a full table, or a file that cannot be written.
    pub fn create(
        &self,
        name: &str,
        scope: McpScope,
        now: UnixMs,
    ) -> Result<(String, McpTokenView), McpTokenError> {
        let name = visible_name(name).ok_or(McpTokenError::Name)?;
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.iter().any(|token| token.view.name == name) {
            return Err(McpTokenError::Exists(name.to_owned()));
        }
        if tokens.len() >= MAX_TOKENS {
            return Err(McpTokenError::Full);
        }
        let value = format!("{TOKEN_PREFIX}{}", random_secret());
        let view = McpTokenView {
            name: name.to_owned(),
            scope,
            created_at_ms: now.0,
            last_used_at_ms: None,
        };
        let mut changed = tokens.clone();
        changed.push(StoredMcpToken { hash: sha256_hex(&value), view: view.clone() });
        self.write(&changed)?;
        *tokens = changed;
        Ok((value, view))
    }

    /// Revokes a token. Returns false for an unknown name.
    ///
    /// # Errors
    /// When the file cannot be written. The token stays valid then.
    pub fn revoke(&self, name: &str) -> Result<bool, McpTokenError> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = tokens.clone();
        changed.retain(|token| token.view.name != name);
        if changed.len() == tokens.len() {
            return Ok(false);
        }
        self.write(&changed)?;
        *tokens = changed;
        Ok(true)
    }

    /// The token with this value, if valid. Records the use.
    #[must_use]
    pub(crate) fn authenticate(&self, value: &str, now: UnixMs) -> Option<McpTokenView> {
        let hash = sha256_hex(value);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let token = tokens
            .iter_mut()
            .find(|token| constant_time_eq(token.hash.as_bytes(), hash.as_bytes()))?;
        let last_use = token.view.last_used_at_ms;
        let is_recent = last_use.is_some_and(|last| now.since(UnixMs(last)) < LAST_USE_STEP_MS);
        token.view.last_used_at_ms = if is_recent { last_use } else { Some(now.0) };
        let view = token.view.clone();
        if !is_recent && let Err(error) = self.write(&tokens) {
            tracing::warn!(%error, "the last use of an MCP token was not recorded");
        }
        Some(view)
    }

    fn write(&self, tokens: &[StoredMcpToken]) -> Result<(), McpTokenError> {
        let text = serde_json::to_string_pretty(tokens).expect("BUG: strings and numbers are JSON");
        write_private(&self.path, &text)
            .map_err(|source| McpTokenError::Write { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    fn tokens() -> (tempfile::TempDir, McpTokens) {
        let home = tempfile::tempdir().expect("a folder");
        let tokens = McpTokens::open(&McpTokens::path(home.path()));
        (home, tokens)
    }

    #[test]
    fn token_works_until_revoked_also_after_a_restart() {
        let (home, first) = tokens();
        let (value, view) = first.create(" laptop ", McpScope::Read, UnixMs(7)).expect("created");
        assert_eq!((view.name.as_str(), view.scope), ("laptop", McpScope::Read));
        let second = McpTokens::open(&McpTokens::path(home.path()));
        assert_eq!(second.authenticate(&value, UnixMs(9)).expect("valid").name, "laptop");
        assert!(second.authenticate(&value[1..], UnixMs(9)).is_none());
        assert!(second.authenticate("", UnixMs(9)).is_none());
        assert!(second.revoke("laptop").expect("written"));
        assert!(!second.revoke("laptop").expect("nothing to write"));
        assert!(second.authenticate(&value, UnixMs(9)).is_none());
        let third = McpTokens::open(&McpTokens::path(home.path()));
        assert!(third.authenticate(&value, UnixMs(9)).is_none());
    }

    #[test]
    fn file_is_private_and_holds_no_token() {
        let (home, tokens) = tokens();
        let (value, _) = tokens.create("a", McpScope::Write, UnixMs(7)).expect("created");
        let path = McpTokens::path(home.path());
        let text = fs::read_to_string(&path).expect("a file");
        assert!(!text.contains(&value) && !text.contains(&value[TOKEN_PREFIX.len()..]), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn last_use_is_recorded_once_an_hour() {
        let (_home, tokens) = tokens();
        let (value, _) = tokens.create("a", McpScope::Write, UnixMs(0)).expect("created");
        let last_use = |at: i64| tokens.authenticate(&value, UnixMs(at)).expect("valid");
        assert_eq!(last_use(10).last_used_at_ms, Some(10));
        assert_eq!(last_use(HOUR_MS).last_used_at_ms, Some(10));
        assert_eq!(last_use(HOUR_MS + 10).last_used_at_ms, Some(HOUR_MS + 10));
    }

    #[test]
    fn unusable_name_is_refused() {
        let (_home, tokens) = tokens();
        for name in ["", "  ", "a\nb", "a\u{200b}b", "\u{2800}", &"x".repeat(61)] {
            let created = tokens.create(name, McpScope::Read, UnixMs(0));
            assert!(matches!(created, Err(McpTokenError::Name)), "{name:?}");
        }
        tokens.create("a", McpScope::Read, UnixMs(0)).expect("created");
        let again = tokens.create("a", McpScope::Write, UnixMs(0));
        assert!(matches!(again, Err(McpTokenError::Exists(_))));
    }

    #[test]
    fn unreadable_file_means_no_tokens() {
        let (home, tokens) = tokens();
        let (value, _) = tokens.create("a", McpScope::Write, UnixMs(0)).expect("created");
        let path = McpTokens::path(home.path());
        fs::write(&path, "{\"half").expect("our own file");
        let reopened = McpTokens::open(&path);
        assert!(reopened.authenticate(&value, UnixMs(1)).is_none());
        assert!(reopened.list().is_empty());
    }
}
