//! The poll for updates of a bot.
//!
//! Owns the removal of a webhook before the first poll, and the class of a failed poll. Never loops, waits or stores an
//! offset: the host decides about the next poll. Pitfall: two programs with one token; both lose updates, so the host
//! stops after three conflicts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rouse_core::http_exchange::HttpExchange;

use super::api::{TelegramApi, TelegramSettings};
use super::error::{TelegramError, TelegramRejection, token_remedy};
use super::updates::TelegramUpdate;

/// Why a poll brought no updates: cause and remedy as sentences.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PollProblem {
    /// Another program polls with this token, or uses a webhook.
    #[error("Another program uses this bot. Give each program a bot of its own.")]
    Conflict,
    /// The token is wrong or revoked.
    #[error("Telegram does not know the token of the bot. {}", token_remedy(.secret))]
    BadToken {
        /// The name of the stored secret with the token.
        secret: String,
    },
    /// Telegram asks for a later poll.
    #[error("{reason}")]
    Later {
        /// The cause as a sentence.
        reason: String,
        /// The shortest pause that Telegram asks for.
        after: Option<Duration>,
    },
    /// No answer from Telegram.
    #[error("{reason}")]
    Unreached {
        /// The cause as a sentence.
        reason: String,
    },
}

/// Polls for the updates of one bot.
pub struct TelegramPoll {
    api: TelegramApi,
    token_secret: String,
    has_no_webhook: AtomicBool,
}

impl TelegramPoll {
    /// A poll for the bot of `settings`. `http` must not share connections with sending.
    #[must_use]
    pub fn new(http: Arc<dyn HttpExchange>, settings: &TelegramSettings) -> Self {
        let token_secret = settings.token_secret.clone();
        let has_no_webhook = AtomicBool::new(false);
        Self { api: TelegramApi::new(http, settings), token_secret, has_no_webhook }
    }

    /// Removes a webhook of the bot before the first poll, and after a conflict.
    ///
    /// # Errors
    /// The removal failed; see [`PollProblem`].
    pub async fn prepare(&self) -> Result<(), PollProblem> {
        if !self.has_no_webhook.load(Ordering::Relaxed) {
            self.api.delete_webhook().await.map_err(|error| self.problem_of(error))?;
            self.has_no_webhook.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits up to 50 seconds for the updates from `offset` on, which confirms all earlier ones. The list is empty after a
    /// round trip without an update.
    ///
    /// # Errors
    /// The poll failed; see [`PollProblem`].
    pub async fn next_updates(
        &self,
        offset: Option<i64>,
    ) -> Result<Vec<TelegramUpdate>, PollProblem> {
        self.prepare().await?;
        let polled = self.api.get_updates(offset).await;
        let updates = polled.map_err(|error| self.problem_of(error))?;
        Ok(updates.iter().filter_map(TelegramUpdate::read).collect())
    }

    fn problem_of(&self, error: TelegramError) -> PollProblem {
        match error {
            TelegramError::Rejected(rejection) => self.rejection_problem(&rejection),
            TelegramError::BadToken { secret } => PollProblem::BadToken { secret },
            TelegramError::Unreached(reason)
            | TelegramError::NoAnswer(reason)
            | TelegramError::Blocked(reason) => PollProblem::Unreached { reason },
        }
    }

    fn rejection_problem(&self, rejection: &TelegramRejection) -> PollProblem {
        if rejection.code == 409 {
            // Another program may have set a webhook since the first poll.
            self.has_no_webhook.store(false, Ordering::Relaxed);
            return PollProblem::Conflict;
        }
        if rejection.is_bad_token() {
            return self.bad_token();
        }
        PollProblem::Later { reason: rejection.to_string(), after: rejection.retry_after }
    }

    fn bad_token(&self) -> PollProblem {
        PollProblem::BadToken { secret: self.token_secret.clone() }
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::http_exchange::HttpExchangeError;
    use serde_json::{Value, json};

    use super::super::doubles::{
        FakeReply, FakeTelegramHttp, TOKEN, rejected, settings, succeeded,
    };
    use super::*;

    fn poll(http: &Arc<FakeTelegramHttp>) -> TelegramPoll {
        TelegramPoll::new(Arc::clone(http) as Arc<dyn HttpExchange>, &settings())
    }

    fn methods(http: &FakeTelegramHttp) -> Vec<String> {
        http.calls().into_iter().map(|(method, _)| method).collect()
    }

    fn deleted() -> FakeReply {
        succeeded(&json!(true))
    }

    #[tokio::test]
    async fn first_poll_removes_the_webhook() {
        let http = FakeTelegramHttp::answering([
            deleted(),
            succeeded(&json!([{ "update_id": 5, "new_kind": {} }, { "no": "id" }])),
            succeeded(&json!([])),
        ]);
        let poll = poll(&http);
        let ignored = TelegramUpdate::Ignored { update_id: 5 };
        assert_eq!(poll.next_updates(None).await, Ok(vec![ignored]));
        assert_eq!(poll.next_updates(Some(6)).await, Ok(Vec::new()));
        assert_eq!(methods(&http), ["deleteWebhook", "getUpdates", "getUpdates"]);
        assert_eq!(http.calls()[0].1["drop_pending_updates"], false);
        assert_eq!(http.calls()[1].1.get("offset"), None);
        assert_eq!(http.calls()[2].1["offset"], 6);
    }

    #[tokio::test]
    async fn conflict_removes_the_webhook_again() {
        let conflict = rejected(409, "Conflict: terminated by other getUpdates", &Value::Null);
        let http =
            FakeTelegramHttp::answering([deleted(), conflict, deleted(), succeeded(&json!([]))]);
        let poll = poll(&http);
        assert_eq!(poll.next_updates(None).await, Err(PollProblem::Conflict));
        assert_eq!(poll.next_updates(None).await, Ok(Vec::new()));
        let expected = ["deleteWebhook", "getUpdates", "deleteWebhook", "getUpdates"];
        assert_eq!(methods(&http), expected);
    }

    #[tokio::test]
    async fn failed_poll_has_its_class() {
        let pause = Some(Duration::from_secs(3));
        let parameters = json!({ "retry_after": 3 });
        for code in [401, 404] {
            let problem = problem(rejected(code, "Unauthorized", &Value::Null)).await;
            let remedy = "store it with `rouse secrets set channel-phone-token`.";
            assert!(matches!(problem, PollProblem::BadToken { .. }), "{problem:?}");
            assert!(problem.to_string().ends_with(remedy), "{problem}");
        }
        let busy = problem(rejected(429, "Too Many Requests", &parameters)).await;
        assert!(matches!(busy, PollProblem::Later { after, .. } if after == pause));
        let down = problem(Ok((502, String::new()))).await;
        assert!(matches!(down, PollProblem::Later { after: None, .. }), "{down:?}");
        let cut = problem(Ok((200, r#"{"ok":true,"result":[{"#.to_owned()))).await;
        assert!(matches!(cut, PollProblem::Unreached { .. }), "{cut:?}");
    }

    #[tokio::test]
    async fn unreached_poll_names_no_token() {
        let url = format!("https://api.telegram.org/bot{TOKEN}/getUpdates");
        for failure in [
            HttpExchangeError::Unreached(url.clone()),
            HttpExchangeError::Broken(url.clone()),
            HttpExchangeError::Refused(url.clone()),
        ] {
            let problem = problem(Err(failure)).await;
            assert!(matches!(problem, PollProblem::Unreached { .. }), "{problem:?}");
            assert!(!format!("{problem} {problem:?}").contains("canary"), "{problem}");
        }
    }

    async fn problem(reply: FakeReply) -> PollProblem {
        let http = FakeTelegramHttp::answering([deleted(), reply]);
        poll(&http).next_updates(None).await.expect_err("a problem")
    }
}
