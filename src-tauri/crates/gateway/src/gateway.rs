//! The gateway of one process: the entry point of shell and server.

use std::sync::Arc;

use axum::response::Response;
use rouse_core::approval::ApprovalDecision;
use rouse_core::{ApprovalId, JobId, RunId};
use rouse_scheduler::{ChatMessage, WebhookOutcome, WebhookRequest};
use rouse_store::DecisionResult;
use serde_json::Value;

use crate::caller::Caller;
use crate::context::Context;
use crate::desktop_apps::DesktopApps;
use crate::error::RpcError;
use crate::events::Subscription;
use crate::sign_in_callback::CallbackQuery;
use crate::signed_webhook::{SignatureError, SignedMessage};
use crate::{handlers, sign_in_callback, table};

/// The gateway of this process, for the shell and the server. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    context: Arc<Context>,
}

impl Gateway {
    /// Creates a gateway to the engine behind `context`.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self { context: Arc::new(context) }
    }

    /// Calls a method as the owner. A panic in the handler becomes an internal error.
    ///
    /// # Errors
    /// The error of the handler.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.call_as(&Caller::Owner, method, params).await
    }

    /// Calls a method as this caller.
    ///
    /// # Errors
    /// `forbidden` beyond the scope of the caller; else the error of the handler.
    pub async fn call_as(
        &self,
        caller: &Caller,
        method: &str,
        params: Value,
    ) -> Result<Value, RpcError> {
        let (context, caller) = (Arc::clone(&self.context), caller.clone());
        let name = method.to_owned();
        let task =
            tokio::spawn(async move { table::dispatch(&context, &caller, &name, params).await });
        let result = task.await.unwrap_or_else(|error| Err(RpcError::internal(&error)));
        self.context.activity.notify_one();
        result
    }

    /// Whether `secret` is the secret of the job's webhook.
    pub(crate) async fn verify_webhook_secret(
        &self,
        id: &JobId,
        secret: &str,
    ) -> Result<bool, RpcError> {
        handlers::cron::verify_webhook_secret(&self.context, id, secret).await
    }

    /// Checks the signature of a call of the job's webhook.
    pub(crate) async fn check_webhook_signature(
        &self,
        id: &JobId,
        message: SignedMessage,
    ) -> Result<Result<(), SignatureError>, RpcError> {
        handlers::cron::check_webhook_signature(&self.context, id, message).await
    }

    /// Fires the job of a webhook call, with stored secrets redacted.
    pub(crate) async fn call_webhook(
        &self,
        call: WebhookRequest,
    ) -> Result<WebhookOutcome, RpcError> {
        let WebhookRequest { job_id, body, key } = call;
        let call = self.context.gate.safety().off_thread(move |safety| WebhookRequest {
            job_id,
            body: safety.redact_body(&body),
            key: key.map(|key| safety.redact_stored(&key)),
        });
        Ok(self.context.scheduler.call_webhook(call.await).await?)
    }

    /// Sends a chat message of a paired recipient to the main session. A message with a key is taken once.
    ///
    /// # Errors
    /// As of `chat.send`.
    pub async fn chat_on_channel(&self, message: ChatMessage) -> Result<RunId, RpcError> {
        let sent = handlers::chat::accept(&self.context, message).await;
        self.context.activity.notify_one();
        sent
    }

    /// Takes a decision of a paired recipient about an approval. `by` names the channel and the recipient.
    ///
    /// # Errors
    /// No such approval, or an approval that needs its page.
    pub async fn decide_on_channel(
        &self,
        id: &ApprovalId,
        decision: ApprovalDecision,
        by: String,
    ) -> Result<DecisionResult, RpcError> {
        handlers::approvals::decide_on_channel(&self.context, id, decision, by).await
    }

    /// Queues a system event with untrusted text. `params` as of `wake`.
    ///
    /// # Errors
    /// As of `wake`.
    pub async fn wake_untrusted(&self, params: Value) -> Result<Value, RpcError> {
        let params = table::parse_params(params)?;
        let result = handlers::heartbeat::wake_untrusted(&self.context, params).await?;
        self.context.activity.notify_one();
        table::result_json(&result)
    }

    /// Ends the sign-in of a callback at an MCP server, and returns the page for the browser.
    pub(crate) async fn end_sign_in(&self, query: CallbackQuery) -> Response {
        sign_in_callback::end_sign_in(self.context.extensions.as_ref(), query).await
    }

    /// The number of the newest event; 0 if the store is unreadable.
    pub async fn newest_event(&self) -> i64 {
        self.context.store.last_seq().await.unwrap_or_default()
    }

    /// The dependencies of the handlers, for the MCP server.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn max_connections(&self) -> usize {
        self.context.engine.max_connections
    }

    /// The attached desktop apps.
    pub(crate) fn desktop_apps(&self) -> &DesktopApps {
        &self.context.desktop_apps
    }

    /// The events after `after`: stored ones, then live ones.
    #[must_use]
    pub fn events(&self, after: i64) -> Subscription {
        self.context.events.subscribe(self.context.store.clone(), after)
    }
}
