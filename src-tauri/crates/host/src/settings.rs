//! Settings in force: the file behind a lock, and who is told when it changes.

use std::sync::{Arc, Mutex, PoisonError};

use rouse_agent::SecretBook;
use rouse_core::event::EventKind;
use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::{BudgetConfigView, ConfigView};
use rouse_gateway::{ErrorCode, RpcError, Settings};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::config::{Config, ConfigError, ConfigFile, OfMachine};
use crate::options::Env;

/// The settings, shared by whoever reads them. A change reaches the engine through the watch channel.
pub(crate) struct LiveSettings {
    file: Mutex<ConfigFile>,
    env: Env,
    secrets: Arc<SecretBook>,
    changed: watch::Sender<Config>,
    /// What has reached the engine, while somebody brings it there.
    in_force: Mutex<Option<watch::Receiver<Config>>>,
    store: rouse_store::Store,
    clock: Arc<dyn rouse_core::Clock>,
}

impl LiveSettings {
    pub(crate) fn new(
        file: ConfigFile,
        (env, secrets): (Env, Arc<SecretBook>),
        store: rouse_store::Store,
        clock: Arc<dyn rouse_core::Clock>,
    ) -> Arc<Self> {
        let changed = watch::Sender::new(file.config().clone());
        let (file, in_force) = (Mutex::new(file), Mutex::default());
        Arc::new(Self { file, env, secrets, changed, in_force, store, clock })
    }

    /// For whoever puts each change into force: who makes one waits until it stands here.
    pub(crate) fn in_force(&self) -> watch::Sender<Config> {
        let (in_force, reached) = watch::channel(self.now());
        *self.in_force.lock().unwrap_or_else(PoisonError::into_inner) = Some(reached);
        in_force
    }

    async fn until_in_force(&self) {
        let reached = self.in_force.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(mut reached) = reached {
            // silent-ok: nobody puts anything into force any more, because Rouse ends.
            let _ = reached.wait_for(|config| *config == *self.changed.borrow()).await;
        }
    }

    /// The settings in force, and every change from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<Config> {
        self.changed.subscribe()
    }

    /// The settings in force.
    pub(crate) fn now(&self) -> Config {
        self.changed.borrow().clone()
    }

    fn change(&self, patch: &Value, expected: Option<&str>) -> Result<ConfigView, ConfigError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (env, zones) = (|name: &str| (self.env)(name), self.clock.zones());
        let machine = OfMachine { env: &env, zones: &zones, secrets: Some(&self.secrets) };
        let patched = file.patch(patch, expected, machine);
        // What was changed by hand in between comes into force too, whatever became of this change.
        self.changed.send_if_modified(|present| {
            let differs = present != file.config();
            present.clone_from(file.config());
            differs
        });
        patched?;
        Ok(file.view(machine))
    }

    fn look(&self) -> ConfigView {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (env, zones) = (|name: &str| (self.env)(name), self.clock.zones());
        file.view(OfMachine { env: &env, zones: &zones, secrets: Some(&self.secrets) })
    }

    /// Has the keys looked for once more that are stored and not at hand, also those that `patch` names, so that nobody is
    /// told of one that is there by now.
    async fn seek_keys(&self, patch: &Value) {
        let of_patch = patch["providers"].as_object().into_iter().flat_map(|named| named.values());
        let named = of_patch.filter_map(|entry| entry["keySecret"].as_str().map(str::to_owned));
        let config = self.now();
        let used = config.providers.values().filter_map(|entry| entry.key_secret.clone());
        for name in named.chain(used) {
            self.secrets.seek(&name).await;
        }
    }
}

impl Settings for LiveSettings {
    fn view(self: Arc<Self>) -> BoxFuture<'static, ConfigView> {
        Box::pin(async move {
            self.seek_keys(&Value::Null).await;
            let looked = tokio::task::spawn_blocking(move || self.look()).await;
            looked.expect("BUG: looking at the settings does not panic")
        })
    }

    fn budget(&self) -> BudgetConfigView {
        self.changed.borrow().budget_view()
    }

    fn patch(
        self: Arc<Self>,
        patch: Value,
        expected: Option<String>,
    ) -> BoxFuture<'static, Result<ConfigView, RpcError>> {
        Box::pin(async move {
            self.seek_keys(&patch).await;
            let file = Arc::clone(&self);
            let change = move || file.change(&patch, expected.as_deref());
            let changed = tokio::task::spawn_blocking(change).await;
            let view =
                changed.expect("BUG: changing the settings does not panic").map_err(refusal)?;
            self.until_in_force().await;
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
            "The settings were changed elsewhere. Look at them again first.",
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

    /// The defaults, in a folder of their own.
    async fn live(env: Env) -> (tempfile::TempDir, Arc<LiveSettings>) {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(ManualClock::new(UnixMs(1)));
        let zones = Zones::built_in(chrono_tz::UTC);
        let machine = OfMachine { env: &|_| None, zones: &zones, secrets: None };
        let path = folder.path().join("config.toml");
        let file = ConfigFile::open(&path, folder.path(), machine).expect("the defaults");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let store = store.expect("a store");
        let settings = LiveSettings::new(file, (env, Arc::default()), store, clock);
        (folder, settings)
    }

    #[tokio::test]
    async fn a_change_is_answered_when_it_is_in_force() {
        let (_folder, settings) = live(Arc::new(|_: &str| None)).await;
        let (mut changes, in_force) = (settings.watch(), settings.in_force());
        let patch = json!({ "cron": { "enabled": false } });
        let answered = tokio::spawn(Arc::clone(&settings).patch(patch, None));
        changes.changed().await.expect("changed");
        // An answer would have gone through the store before these.
        for _ in 0..5 {
            let one = json!(1);
            settings.store.put_setting("test", &one, None, UnixMs(1)).await.expect("written");
        }
        assert!(!answered.is_finished());
        in_force.send_replace(settings.now());
        let view = answered.await.expect("no panic").expect("changed");
        assert!(!view.cron.enabled);
    }

    /// Whoever looks at a file waits for the disk, and the one thread of this test has something else to do.
    #[tokio::test]
    async fn a_change_is_made_beside_the_threads_that_answer() {
        let (busy, done) = channel::<()>();
        let (once, waited) = (Mutex::new(Some(done)), Arc::new(AtomicBool::new(false)));
        let in_vain = Arc::clone(&waited);
        let slow = move |_: &str| {
            let done = once.lock().expect("not poisoned").take();
            let done = done.map(|done| done.recv_timeout(Duration::from_secs(2)));
            in_vain.fetch_or(done == Some(Err(RecvTimeoutError::Timeout)), Ordering::SeqCst);
            None
        };
        let (_folder, settings) = live(Arc::new(slow)).await;
        let change = settings.patch(json!({ "cron": { "enabled": false } }), None);
        let (view, ()) = tokio::join!(change, async move { drop(busy) });
        assert!(!view.expect("changed").cron.enabled);
        assert!(!waited.load(Ordering::SeqCst), "nothing else was done meanwhile");
    }
}
