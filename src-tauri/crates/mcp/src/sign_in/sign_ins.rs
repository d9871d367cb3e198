//! The sign-ins of all servers.
//!
//! Owns the sign-ins that wait for a browser, the lock of each server's tokens, and the decision when a token is
//! refreshed. A state is good for one callback within ten minutes. Never holds a lock of this module across an await,
//! but the gate of a server. Pitfall: a caller that goes away in mid-refresh; the refresh runs in a task of its own,
//! because its refresh token is spent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rouse_core::extension::{
    ExtensionBook, ExtensionName, SignInCallback, SignInEnd, SignInRecord, SignInState,
    SignInStatus, SignInStore,
};
use rouse_core::http_exchange::HttpExchange;
use rouse_core::{Clock, UnixMs};
use tokio::sync::watch;

use super::error::{SignInError, SignInErrorKind};
use super::memory::{FailedRefresh, SignInMemory, SignInNotes};
use super::pending::{PendingSignIn, SignInRequest};
use super::refresh::refresh;
use super::target::{SignInTarget, redirect_uri, target};

/// How long a link is good.
const LINK_LIFETIME: Duration = Duration::from_mins(10);

/// How long before its end a token is refreshed; half of its life if that is shorter.
const REFRESH_EARLY_MS: i64 = 30_000;

/// The time between a failed refresh and the next attempt.
const REFRESH_PAUSE: Duration = Duration::from_secs(5);

/// The sign-ins of all servers. Clones share them.
#[derive(Clone)]
pub struct ServerSignIns {
    inner: Arc<SignInsInner>,
}

struct SignInsInner {
    http: Arc<dyn HttpExchange>,
    book: Arc<dyn ExtensionBook>,
    store: Arc<dyn SignInStore>,
    clock: Arc<dyn Clock>,
    memories: Mutex<BTreeMap<ExtensionName, Arc<SignInMemory>>>,
    pending: Mutex<Vec<PendingSignIn>>,
    /// Changes when a sign-in starts or ends.
    changes: watch::Sender<()>,
}

impl ServerSignIns {
    /// The sign-ins in `store`.
    pub(crate) fn new(
        http: Arc<dyn HttpExchange>,
        book: Arc<dyn ExtensionBook>,
        store: Arc<dyn SignInStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let inner = SignInsInner {
            http,
            book,
            store,
            clock,
            memories: Mutex::default(),
            pending: Mutex::default(),
            changes: watch::Sender::new(()),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Starts a sign-in and returns the address that the person opens. A new sign-in at the same server replaces the
    /// one before. `port` is the port of the redirect address without one in the definition.
    ///
    /// # Errors
    /// The server has no sign-in, was not reached, or registers no clients: cause and remedy.
    pub async fn begin(&self, server: &ExtensionName, port: u16) -> Result<String, SignInError> {
        let SignInTarget { url, settings } = target(self.inner.book.as_ref(), server)?;
        let memory = self.memory(server);
        let challenge = memory.notes().challenge.clone();
        let client_secret = self.fill(server, settings.client_secret.as_deref())?;
        let request = SignInRequest {
            exchange: Arc::clone(&self.inner.http),
            server: server.clone(),
            more_scopes: self.scopes_to_extend(server, &url).await,
            server_url: url,
            challenge,
            redirect_uri: redirect_uri(&settings, port),
            settings,
            client_secret,
            started_at: self.inner.clock.monotonic(),
        };
        let pending = PendingSignIn::begin(request).await?;
        let link = pending.link.clone();
        self.drop_pending(server);
        memory.notes().failure = None;
        self.pending().push(pending);
        self.inner.changes.send_replace(());
        Ok(link)
    }

    /// Ends the sign-in of this callback. Returns the server that the person signed in at.
    pub(crate) async fn finish(
        &self,
        callback: SignInCallback,
    ) -> Result<ExtensionName, SignInEnd> {
        let pending = self.take_pending(&callback.state).ok_or(SignInEnd::UnknownState)?;
        let server = pending.server.clone();
        let completed = self.complete(pending, callback).await;
        let memory = self.memory(&server);
        let end = match completed {
            Ok(()) => Ok(server),
            Err(error) => {
                tracing::warn!(%server, %error, "a sign-in failed");
                memory.notes().failure = Some(error.text);
                Err(SignInEnd::Failed)
            }
        };
        memory.notes().is_finishing = false;
        self.inner.changes.send_replace(());
        end
    }

    /// Forgets a sign-in that waits for the browser. False if none waits.
    pub fn cancel(&self, server: &ExtensionName) -> bool {
        let is_cancelled = self.drop_pending(server);
        if is_cancelled {
            let failure = "The sign-in was cancelled.".to_owned();
            self.memory(server).notes().failure = Some(failure);
            self.inner.changes.send_replace(());
        }
        is_cancelled
    }

    /// Waits until no sign-in at the server is pending, for at most `limit`.
    pub async fn await_end(&self, server: &ExtensionName, limit: Duration) {
        let mut changes = self.inner.changes.subscribe();
        let ended = async { while self.is_pending(server) && changes.changed().await.is_ok() {} };
        if tokio::time::timeout(limit, ended).await.is_err() {
            tracing::debug!(%server, "a sign-in still waits for the browser");
        }
    }

    /// Deletes the tokens of a server and ends its sign-in. False if nobody was signed in.
    ///
    /// # Errors
    /// The tokens are not available: cause and remedy.
    pub async fn sign_out(&self, server: &ExtensionName) -> Result<bool, SignInError> {
        self.cancel(server);
        let memory = self.memory(server);
        let mut gate = memory.gate.lock().await;
        let was_signed_in = self.inner.store.remove(server).await?;
        *gate = None;
        *memory.notes() = SignInNotes::default();
        Ok(was_signed_in)
    }

    /// The state of a server's sign-in.
    pub async fn status(&self, server: &ExtensionName) -> SignInStatus {
        let is_pending = self.is_pending(server);
        let memory = self.memory(server);
        let (need, failure) = {
            let notes = memory.notes();
            (notes.need.clone(), notes.failure.clone())
        };
        let (record, problem) = match self.inner.store.load(server).await {
            Ok(record) => (record, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let is_usable = record.as_ref().is_some_and(|record| {
            let can_renew = record.refresh_token.is_some() || self.is_current(record);
            !record.is_rejected && record.missing_scopes.is_empty() && can_renew
        });
        let stored_need = record.as_ref().filter(|_| !is_usable).map(|record| {
            if record.is_rejected || record.missing_scopes.is_empty() {
                expired(server).text
            } else {
                more_rights(server, &record.missing_scopes)
            }
        });
        let state = match &record {
            _ if is_pending => SignInState::Pending,
            None => SignInState::SignedOut,
            Some(_) if is_usable && need.is_none() => SignInState::SignedIn,
            Some(_) => SignInState::NeedsSignIn,
        };
        SignInStatus {
            state,
            reason: failure.or(need).or(problem).or(stored_need),
            signed_in_at_ms: record.as_ref().map(|record| record.signed_in_at_ms),
            refreshed_at_ms: record.as_ref().map(|record| record.refreshed_at_ms),
        }
    }

    /// Refreshes a sign-in that was not refreshed for `max_age`, because an idle refresh token dies. False if there is
    /// nothing to refresh.
    ///
    /// # Errors
    /// The refresh failed: cause and remedy.
    pub async fn refresh_idle(
        &self,
        server: &ExtensionName,
        max_age: Duration,
    ) -> Result<bool, SignInError> {
        let Ok(SignInTarget { url, .. }) = target(self.inner.book.as_ref(), server) else {
            return Ok(false);
        };
        let Some(record) = self.record(server, &url).await? else { return Ok(false) };
        let age = self.now().since(record.refreshed_at_ms);
        let is_idle = u128::try_from(age).is_ok_and(|age| age >= max_age.as_millis());
        if !is_idle || record.is_rejected || record.refresh_token.is_none() {
            return Ok(false);
        }
        let renewed = self.access_token(server, &url, Some(&record.access_token)).await?;
        Ok(renewed.is_some())
    }

    /// Why the person must sign in, as known since the start of Rouse.
    pub(crate) fn need(&self, server: &ExtensionName) -> Option<String> {
        self.memory(server).notes().need.clone()
    }

    /// A token that is not `rejected`, refreshed when needed; none if nobody is signed in.
    pub(super) async fn access_token(
        &self,
        server: &ExtensionName,
        url: &str,
        rejected: Option<&str>,
    ) -> Result<Option<String>, SignInError> {
        let Some(record) = self.record(server, url).await? else { return Ok(None) };
        if self.is_fresh(&record, rejected) {
            return Ok(Some(record.access_token));
        }
        let (this, server) = (self.clone(), server.clone());
        let (url, rejected) = (url.to_owned(), rejected.map(str::to_owned));
        let renewal =
            tokio::spawn(async move { this.renew(&server, &url, rejected.as_deref()).await });
        renewal.await.unwrap_or_else(|error| {
            Err(SignInError::transient(format!("The refresh of a sign-in ended early: {error}.")))
        })
    }

    /// Refreshes the token under the gate of the server, unless another run did.
    async fn renew(
        &self,
        server: &ExtensionName,
        url: &str,
        rejected: Option<&str>,
    ) -> Result<Option<String>, SignInError> {
        let memory = self.memory(server);
        let mut gate = memory.gate.lock().await;
        let Some(mut record) = self.record(server, url).await? else { return Ok(None) };
        if self.is_fresh(&record, rejected) {
            return Ok(Some(record.access_token));
        }
        let now = self.inner.clock.monotonic();
        let recent = gate.as_ref().filter(|failed| now.saturating_sub(failed.at) < REFRESH_PAUSE);
        let recent = recent.map(|failed| failed.error.clone());
        let is_attempt = recent.is_none();
        let renewed = match recent {
            _ if record.is_rejected => Err(expired(server)),
            Some(error) => Err(error),
            None => self.spend_refresh_token(server, &record).await,
        };
        let error = match renewed {
            Ok(renewed) => {
                *gate = None;
                let token = renewed.access_token.clone();
                self.keep(server, renewed).await;
                return Ok(Some(token));
            }
            Err(error) => error,
        };
        // The old token is good until its end, unless the server rejected it.
        let is_still_good = !record.is_rejected && rejected.is_none() && self.is_current(&record);
        match error.kind {
            SignInErrorKind::NeedsSignIn if is_still_good && record.refresh_token.is_none() => {
                Ok(Some(record.access_token))
            }
            SignInErrorKind::NeedsSignIn => {
                memory.notes().need = Some(error.text.clone());
                if !record.is_rejected {
                    record.is_rejected = true;
                    self.keep(server, record).await;
                }
                Err(error)
            }
            SignInErrorKind::Transient | SignInErrorKind::Refused => {
                tracing::warn!(%server, %error, "a sign-in was not refreshed");
                if is_attempt {
                    *gate = Some(FailedRefresh { at: now, error: error.clone() });
                }
                if is_still_good { Ok(Some(record.access_token)) } else { Err(error) }
            }
        }
    }

    async fn spend_refresh_token(
        &self,
        server: &ExtensionName,
        record: &SignInRecord,
    ) -> Result<SignInRecord, SignInError> {
        if record.refresh_token.is_none() {
            return Err(expired(server));
        }
        let SignInTarget { settings, .. } = target(self.inner.book.as_ref(), server)?;
        // The secret of an entered client stays in the vault.
        let secret = if settings.client_id.as_deref() == Some(record.client_id.as_str()) {
            self.fill(server, settings.client_secret.as_deref())?
        } else {
            record.client_secret.clone()
        };
        let http = Arc::clone(&self.inner.http);
        refresh(http, server, record, secret, self.inner.clock.now()).await
    }

    /// Stores changed tokens. A record that was not written stays in the memory of the store.
    async fn keep(&self, server: &ExtensionName, record: SignInRecord) {
        if let Err(error) = self.inner.store.save(server, record).await {
            tracing::error!(%server, %error, "the tokens of a server were not stored");
        }
    }

    /// Remembers a rejection for the next sign-in.
    pub(super) fn note_challenge(&self, server: &ExtensionName, challenge: &str) {
        self.memory(server).notes().challenge = Some(challenge.to_owned());
    }

    /// Remembers scopes that the server asked for; the next sign-in requests them beside the granted ones.
    pub(super) async fn note_missing_scopes(
        &self,
        server: &ExtensionName,
        url: &str,
        scopes: &[String],
    ) -> Result<(), SignInError> {
        let memory = self.memory(server);
        let _gate = memory.gate.lock().await;
        let Some(mut record) = self.record(server, url).await? else { return Ok(()) };
        memory.notes().need = Some(more_rights(server, scopes));
        let known = record.missing_scopes.len();
        for scope in scopes {
            if !record.missing_scopes.contains(scope) {
                record.missing_scopes.push(scope.clone());
            }
        }
        if record.missing_scopes.len() > known {
            self.keep(server, record).await;
        }
        Ok(())
    }

    /// Exchanges the code and stores the tokens, unless the server was changed or removed meanwhile.
    async fn complete(
        &self,
        pending: PendingSignIn,
        callback: SignInCallback,
    ) -> Result<(), SignInError> {
        let server = pending.server.clone();
        let record = pending.complete(callback, self.inner.clock.now()).await?;
        let memory = self.memory(&server);
        let mut gate = memory.gate.lock().await;
        if target(self.inner.book.as_ref(), &server)?.url != record.server_url {
            return Err(SignInError::refused(format!(
                "The server {server} was changed during the sign-in. Sign in again with `rouse mcp login {server}`."
            )));
        }
        self.inner.store.save(&server, record).await?;
        *gate = None;
        let mut notes = memory.notes();
        (notes.challenge, notes.need, notes.failure) = (None, None, None);
        Ok(())
    }

    fn fill(
        &self,
        server: &ExtensionName,
        handle: Option<&str>,
    ) -> Result<Option<String>, SignInError> {
        let filled = handle.map(|handle| self.inner.book.fill_secrets(server, handle));
        filled.transpose().map_err(|error| SignInError::transient(error.text))
    }

    /// The record for this address; none after a change of the address.
    async fn record(
        &self,
        server: &ExtensionName,
        url: &str,
    ) -> Result<Option<SignInRecord>, SignInError> {
        let record = self.inner.store.load(server).await?;
        Ok(record.filter(|record| record.server_url == url))
    }

    /// The granted and the missing scopes, if the server asked for more than it granted.
    async fn scopes_to_extend(&self, server: &ExtensionName, url: &str) -> Vec<String> {
        match self.record(server, url).await {
            Ok(Some(record)) if !record.missing_scopes.is_empty() => {
                record.scopes.into_iter().chain(record.missing_scopes).collect()
            }
            Ok(_) => Vec::new(),
            Err(error) => {
                tracing::warn!(%server, %error, "the scopes of an earlier sign-in are unknown");
                Vec::new()
            }
        }
    }

    /// Whether the token is good for a while and not the rejected one.
    fn is_fresh(&self, record: &SignInRecord, rejected: Option<&str>) -> bool {
        if record.is_rejected || rejected == Some(record.access_token.as_str()) {
            return false;
        }
        let Some(expires_at) = record.expires_at_ms else { return true };
        let life = expires_at.0.saturating_sub(record.refreshed_at_ms.0);
        let early = REFRESH_EARLY_MS.min(life / 2);
        self.now().plus_ms(early) < expires_at
    }

    /// Whether the end of the token is not reached.
    fn is_current(&self, record: &SignInRecord) -> bool {
        record.expires_at_ms.is_none_or(|expires_at| self.now() < expires_at)
    }

    fn now(&self) -> UnixMs {
        self.inner.clock.now()
    }

    /// The pending sign-in with this state, once.
    fn take_pending(&self, state: &str) -> Option<PendingSignIn> {
        let now = self.inner.clock.monotonic();
        let mut pending = self.pending();
        let found = pending.iter().position(|pending| pending.state == state)?;
        let taken = pending.swap_remove(found);
        if is_expired(&taken, now) {
            return None;
        }
        self.memory(&taken.server).notes().is_finishing = true;
        Some(taken)
    }

    fn is_pending(&self, server: &ExtensionName) -> bool {
        let now = self.inner.clock.monotonic();
        let pending = self.pending();
        let mut open = pending.iter().filter(|pending| !is_expired(pending, now));
        open.any(|pending| pending.server == *server) || self.memory(server).notes().is_finishing
    }

    /// Drops the pending sign-in at the server, and all that have expired.
    fn drop_pending(&self, server: &ExtensionName) -> bool {
        let now = self.inner.clock.monotonic();
        let mut pending = self.pending();
        pending.retain(|pending| !is_expired(pending, now));
        let before = pending.len();
        pending.retain(|pending| pending.server != *server);
        pending.len() < before
    }

    fn pending(&self) -> MutexGuard<'_, Vec<PendingSignIn>> {
        self.inner.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self, server: &ExtensionName) -> Arc<SignInMemory> {
        let mut memories = self.inner.memories.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(memories.entry(server.clone()).or_default())
    }
}

fn is_expired(pending: &PendingSignIn, now: Duration) -> bool {
    now.saturating_sub(pending.started_at) >= LINK_LIFETIME
}

fn expired(server: &ExtensionName) -> SignInError {
    SignInError::needs_sign_in(server, &format!("The sign-in of {server} has expired."))
}

/// The reason for a sign-in with more scopes.
fn more_rights(server: &ExtensionName, scopes: &[String]) -> String {
    let cause = format!("The server {server} asks for more rights: {}.", scopes.join(", "));
    SignInError::needs_sign_in(server, &cause).text
}
