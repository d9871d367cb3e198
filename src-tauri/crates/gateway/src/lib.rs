//! The gateway: one method table for shell, loopback server, CLI and TypeScript.
//!
//! Owns the method table, the wire's shapes, the event stream, sign-in and the loopback server with its client. It
//! refuses SQL (that is `store`'s), decisions (those are `core`'s) and knowledge of any screen.

pub mod wire;
mod table;
mod handlers;
mod convert;
mod context;
mod error;
mod events;
mod live;
mod screens;
mod private_file;
mod auth;
mod server;
mod client;
mod typescript;
mod webhook_secret;

pub use auth::{Auth, AuthError, page_proof};
pub use client::{Client, ClientError, Endpoint, EventStream, ForScreen, ScreenStream};
pub use context::{Backups, Context, Engine, Models, Secrets, Settings};
pub use error::{ErrorCode, RpcError};
pub use events::{EventBus, Subscription};
pub use live::LiveText;
pub use private_file::write_private;
pub use screens::{NotShown, Screens};
pub use server::{BoundPort, Server, ServerError, UiFile, UiFiles};
pub use table::METHODS;
pub use typescript::export_types;

use rouse_core::JobId;
use rouse_scheduler::{Call, Called};
use serde_json::Value;

/// The gateway in this process: what shell and server call. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    context: std::sync::Arc<Context>,
}

impl Gateway {
    /// Puts the table in front of the engine.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self { context: std::sync::Arc::new(context) }
    }

    /// Calls one method. A handler that panics becomes an internal error; it does not take the process down.
    ///
    /// # Errors
    /// What the method's handler says.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let context = std::sync::Arc::clone(&self.context);
        let name = method.to_owned();
        let work = tokio::spawn(async move { table::dispatch(&context, &name, params).await });
        let answer = work.await.unwrap_or_else(|error| Err(RpcError::internal(&error)));
        self.context.worked.notify_one();
        answer
    }

    /// Whether `shown` is the secret of the job's webhook.
    pub(crate) async fn knows_webhook(&self, id: &JobId, shown: &str) -> Result<bool, RpcError> {
        handlers::cron::knows_webhook(&self.context, id, shown).await
    }

    /// Fires a job because its webhook was called. What is kept of the call is without the values of stored secrets.
    pub(crate) async fn call_webhook(&self, call: Call) -> Result<Called, RpcError> {
        let Call { job_id, body, key } = call;
        let call = self.context.gate.safety().apart(move |safety| Call {
            job_id,
            body: safety.sent(&body),
            key: key.map(|key| safety.words(&key)),
        });
        Ok(self.context.scheduler.call_webhook(call.await).await?)
    }

    /// Queues a line for the main session that a program has sent.
    pub(crate) async fn wake_by_program(&self, params: Value) -> Result<Value, RpcError> {
        let params = table::read(params)?;
        let result = handlers::heartbeat::wake_by_program(&self.context, params).await?;
        self.context.worked.notify_one();
        table::write(&result)
    }

    /// The number of the newest event; 0 when the store cannot be read.
    pub async fn newest_event(&self) -> i64 {
        self.context.store.last_seq().await.unwrap_or_default()
    }

    pub(crate) fn most_connections(&self) -> usize {
        self.context.engine.most_connections
    }

    /// The screens of this engine.
    pub(crate) fn screens(&self) -> &screens::Screens {
        &self.context.screens
    }

    /// The events after `after`, stored ones first, then live ones.
    #[must_use]
    pub fn events(&self, after: i64) -> Subscription {
        self.context.events.subscribe(self.context.store.clone(), after)
    }
}
