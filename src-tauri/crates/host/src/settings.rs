//! The live settings: the file behind a lock, with a channel for changes.

use std::sync::{Arc, Mutex, PoisonError};

use rouse_agent::SecretBook;
use rouse_core::channel::Recipient;
use rouse_core::event::EventKind;
use rouse_core::settings::BudgetSection;
use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::ConfigView;
use rouse_gateway::{ErrorCode, RpcError, SettingsAccess};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::config::{Config, ConfigError, ConfigFile, MachineFacts};
use crate::options::EnvReader;

/// The shared settings. The watch channel carries every change to the engine.
pub(crate) struct LiveSettings {
    file: Mutex<ConfigFile>,
    env: EnvReader,
    secrets: Arc<SecretBook>,
    changed: watch::Sender<Config>,
    /// The last applied settings, while a task applies changes.
    applied: Mutex<Option<watch::Receiver<Config>>>,
    store: rouse_store::Store,
    clock: Arc<dyn rouse_core::Clock>,
}

impl LiveSettings {
    pub(crate) fn new(
        file: ConfigFile,
        (env, secrets): (EnvReader, Arc<SecretBook>),
        store: rouse_store::Store,
        clock: Arc<dyn rouse_core::Clock>,
    ) -> Arc<Self> {
        let changed = watch::Sender::new(file.config().clone());
        let (file, applied) = (Mutex::new(file), Mutex::default());
        Arc::new(Self { file, env, secrets, changed, applied, store, clock })
    }

    /// The sender for the task that applies changes; a patch waits until its settings are sent here.
    pub(crate) fn applied_sender(&self) -> watch::Sender<Config> {
        let (sender, reached) = watch::channel(self.now());
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner) = Some(reached);
        sender
    }

    async fn wait_until_applied(&self) {
        let reached = self.applied.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(mut reached) = reached {
            // silent-ok: the applying task is gone because Rouse is closing.
            let _ = reached.wait_for(|config| *config == *self.changed.borrow()).await;
        }
    }

    /// The current settings and every later change.
    pub(crate) fn watch(&self) -> watch::Receiver<Config> {
        self.changed.subscribe()
    }

    /// The current settings.
    pub(crate) fn now(&self) -> Config {
        self.changed.borrow().clone()
    }

    fn change(
        &self,
        patch: &Value,
        expected: Option<&str>,
        recipients: &[Recipient],
    ) -> Result<ConfigView, ConfigError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (env, zones) = (|name: &str| (self.env)(name), self.clock.zones());
        let (secrets, recipients) = (Some(&*self.secrets), Some(recipients));
        let machine = MachineFacts { env: &env, zones: &zones, secrets, recipients };
        let patched = file.patch(patch, expected, machine);
        // Manual edits of the file are applied too, even if the patch is refused.
        self.changed.send_if_modified(|present| {
            let differs = present != file.config();
            present.clone_from(file.config());
            differs
        });
        patched?;
        Ok(file.view(machine))
    }

    fn read_view(&self, recipients: Option<&[Recipient]>) -> ConfigView {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (env, zones) = (|name: &str| (self.env)(name), self.clock.zones());
        let secrets = Some(&*self.secrets);
        file.view(MachineFacts { env: &env, zones: &zones, secrets, recipients })
    }

    /// Reloads unavailable provider keys, including those in `patch`, before a view reports them as missing.
    async fn reload_keys(&self, patch: &Value) {
        let patched =
            patch["providers"].as_object().into_iter().flat_map(|entries| entries.values());
        let patched = patched.filter_map(|entry| entry["keySecret"].as_str().map(str::to_owned));
        let config = self.now();
        let configured = config.providers.values().filter_map(|entry| entry.key_secret.clone());
        for name in patched.chain(configured) {
            self.secrets.reload(&name).await;
        }
    }
}

impl SettingsAccess for LiveSettings {
    fn view(self: Arc<Self>) -> BoxFuture<'static, ConfigView> {
        Box::pin(async move {
            self.reload_keys(&Value::Null).await;
            // silent-ok: the default channels are not checked while the store cannot be read.
            let recipients = self.store.recipients().await.ok();
            let view = move || self.read_view(recipients.as_deref());
            let view = tokio::task::spawn_blocking(view).await;
            view.expect("BUG: reading the settings does not panic")
        })
    }

    fn budget(&self) -> BudgetSection {
        self.changed.borrow().budget
    }

    fn patch(
        self: Arc<Self>,
        patch: Value,
        expected: Option<String>,
    ) -> BoxFuture<'static, Result<ConfigView, RpcError>> {
        Box::pin(async move {
            self.reload_keys(&patch).await;
            let recipients = self.store.recipients().await?;
            let file = Arc::clone(&self);
            let change = move || file.change(&patch, expected.as_deref(), &recipients);
            let changed = tokio::task::spawn_blocking(change).await;
            let view =
                changed.expect("BUG: changing the settings does not panic").map_err(refusal)?;
            self.wait_until_applied().await;
            let event = Some((EventKind::Config, json!({ "revision": view.revision })));
            self.store
                .put_setting("config.revision", &json!(view.revision), event, self.clock.now())
                .await?;
            Ok(view)
        })
    }
}

fn refusal(error: ConfigError) -> RpcError {
    match error {
        ConfigError::Values(fields) => rouse_core::job::JobError(fields).into(),
        ConfigError::Stale => RpcError::new(
            ErrorCode::Stale,
            "The settings were changed elsewhere. Reload them first.",
        ),
        ConfigError::Syntax { .. } | ConfigError::File { .. } => {
            RpcError::new(ErrorCode::Conflict, error.to_string())
        }
        ConfigError::Io { ref source, .. } => {
            tracing::error!(error = %error, cause = %source, "the settings could not be written");
            RpcError::new(ErrorCode::Storage, format!("{error}: {source}. Nothing was changed."))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use rouse_core::UnixMs;
    use rouse_core::schedule::Zones;
    use rouse_store::Store;
    use rouse_testkit::ManualClock;

    use super::*;

    /// The default settings in a temporary folder.
    async fn live_settings(env: EnvReader) -> (tempfile::TempDir, Arc<LiveSettings>) {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(ManualClock::new(UnixMs(1)));
        let zones = Zones::built_in(chrono_tz::UTC);
        let machine =
            MachineFacts { env: &|_| None, zones: &zones, secrets: None, recipients: None };
        let path = folder.path().join("config.toml");
        let file = ConfigFile::open(&path, folder.path(), machine).expect("the defaults");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let store = store.expect("a store");
        let settings = LiveSettings::new(file, (env, Arc::default()), store, clock);
        (folder, settings)
    }

    #[tokio::test]
    async fn change_is_answered_after_it_is_applied() {
        let (_folder, settings) = live_settings(Arc::new(|_: &str| None)).await;
        let (mut changes, applied) = (settings.watch(), settings.applied_sender());
        let patch = json!({ "cron": { "enabled": false } });
        let answered = tokio::spawn(Arc::clone(&settings).patch(patch, None));
        changes.changed().await.expect("changed");
        // An answer would have passed through the store before these writes.
        for _ in 0..5 {
            let number = json!(1);
            settings.store.put_setting("test", &number, None, UnixMs(1)).await.expect("written");
        }
        assert!(!answered.is_finished());
        applied.send_replace(settings.now());
        let view = answered.await.expect("no panic").expect("changed");
        assert!(!view.cron.enabled);
    }

    /// Reading a file blocks, and the only thread of this test must stay free.
    #[tokio::test]
    async fn change_blocks_no_worker_thread() {
        let (busy, done) = channel::<()>();
        let (once, timed_out) = (Mutex::new(Some(done)), Arc::new(AtomicBool::new(false)));
        let has_timed_out = Arc::clone(&timed_out);
        let slow = move |_: &str| {
            let done = once.lock().expect("not poisoned").take();
            let done = done.map(|done| done.recv_timeout(Duration::from_secs(2)));
            has_timed_out.fetch_or(done == Some(Err(RecvTimeoutError::Timeout)), Ordering::SeqCst);
            None
        };
        let (_folder, settings) = live_settings(Arc::new(slow)).await;
        let change = settings.patch(json!({ "cron": { "enabled": false } }), None);
        let (view, ()) = tokio::join!(change, async move { drop(busy) });
        assert!(!view.expect("changed").cron.enabled);
        assert!(!timed_out.load(Ordering::SeqCst), "the only thread was blocked");
    }
}
