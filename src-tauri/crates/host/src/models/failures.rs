//! Failures of models: the model, the first time, and the provider's message.
//!
//! Owns the newest failure of each model, with advice, from every call of every run and from tests of a provider's
//! default model. Failures are stored, survive a restart, and end with the next answer. A failure without a call for
//! some days expires, because its job may be gone. Never decides which model is called. Pitfall: counting an overlong
//! or declined request as a failure; the provider answered it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rouse_agent::{ChosenModel, RunModels, SecretBook};
use rouse_core::event::EventKind;
use rouse_core::message::ModelAnswer;
use rouse_core::model::{
    Billing, Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind,
};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use rouse_gateway::wire::FailingModel;
use rouse_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::record::TrackRecord;

/// The store's setting with the failures.
const FAILURES_SETTING: &str = "models.failing";
/// How long an unrepeated failure is reported: a weekly job plus a day.
const REPORTED_FOR_MS: i64 = 8 * 86_400_000;

/// The failures of all models.
pub(super) struct ModelFailures {
    failures: Mutex<FailureMap>,
    /// Held while writing, so the newest state is written last.
    writing: tokio::sync::Mutex<()>,
    record: Arc<TrackRecord>,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// Failures by provider and model.
type FailureMap = BTreeMap<(String, String), RecordedFailure>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedFailure {
    provider: String,
    model: String,
    since_ms: i64,
    last_ms: i64,
    #[serde(rename = "cure")]
    remedy: ModelRemedy,
    message: String,
}

/// The remediation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ModelRemedy {
    /// Replace the key.
    Key,
    /// Choose another model, or get access to this model.
    Request,
    /// Start the server.
    Start,
    /// Wait.
    Wait,
}

impl ModelFailures {
    /// Loads the stored failures.
    pub(super) async fn open(
        store: Store,
        clock: Arc<dyn Clock>,
        record: Arc<TrackRecord>,
    ) -> Arc<Self> {
        let stored = match store.setting(FAILURES_SETTING).await {
            Ok(stored) => stored.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "the failures of models cannot be read");
                Value::Null
            }
        };
        // Failures of another version are detected again by the next run.
        let stored: Vec<RecordedFailure> = serde_json::from_value(stored).unwrap_or_default();
        let failures = stored.into_iter().map(|failure| (failure.key(), failure)).collect();
        let (failures, writing) = (Mutex::new(failures), tokio::sync::Mutex::default());
        Arc::new(Self { failures, writing, record, store, clock })
    }

    /// Wraps the models so that answers and failures are recorded.
    pub(super) fn record_models(self: &Arc<Self>, chosen: RunModels) -> RunModels {
        if chosen.first().is_none() {
            return chosen;
        }
        let models = (0..).map_while(|position| chosen.at(position));
        RunModels::of(models.map(|ChosenModel { provider, model }| {
            let (provider, failures) = (Arc::clone(provider), Arc::clone(self));
            let provider = Arc::new(RecordingProvider { provider, failures });
            ChosenModel { provider, model: model.clone() }
        }))
    }

    /// The models that have answered.
    pub(super) fn record(&self) -> &TrackRecord {
        &self.record
    }

    /// The failures of available providers. `key_of` returns the source of a provider's key, or none if the provider
    /// is unavailable.
    pub(super) fn report(&self, key_of: impl Fn(&str) -> Option<KeySource>) -> Vec<FailingModel> {
        let horizon = self.clock.now().plus_ms(-REPORTED_FOR_MS).0;
        let failures = self.lock();
        let fresh = failures.values().filter(|failure| failure.last_ms >= horizon);
        let current = fresh.filter_map(|failure| {
            let key = key_of(&failure.provider)?;
            (!failure.is_older_than_key(&key)).then(|| failure.report(key))
        });
        current.collect()
    }

    pub(super) async fn failed(&self, provider: &str, model: &str, error: &ProviderError) {
        let Some(remedy) = ModelRemedy::of(error.kind) else { return };
        let UnixMs(now) = self.clock.now();
        let mut failure = RecordedFailure {
            provider: provider.to_owned(),
            model: model.to_owned(),
            since_ms: now,
            last_ms: now,
            remedy,
            message: error.message.clone(),
        };
        {
            let mut failures = self.lock();
            failures.retain(|_, failure| failure.last_ms >= now - REPORTED_FOR_MS);
            if let Some(before) = failures.get(&failure.key()) {
                failure.since_ms = before.since_ms;
            }
            failures.insert(failure.key(), failure);
        }
        self.write().await;
    }

    /// Ends the failures of the model, and those of the provider's other models unless the cause was the model.
    pub(super) async fn answered(&self, provider: &str, model: &str) {
        self.record.answered(provider, model).await;
        let is_over = |failure: &RecordedFailure| {
            failure.provider == provider
                && (failure.model == model || failure.remedy != ModelRemedy::Request)
        };
        let has_changed = {
            let mut failures = self.lock();
            let before = failures.len();
            failures.retain(|_, failure| !is_over(failure));
            failures.len() < before
        };
        if has_changed {
            self.write().await;
        }
    }

    /// Stores the failures. The event makes clients reload the models.
    async fn write(&self) {
        let _writing = self.writing.lock().await;
        let failures: Vec<RecordedFailure> = self.lock().values().cloned().collect();
        let failures = json!(failures);
        let event = Some((EventKind::Config, json!({})));
        let stored = self.store.put_setting(FAILURES_SETTING, &failures, event, self.clock.now());
        if let Err(error) = stored.await {
            tracing::warn!(%error, "the failures of models could not be stored");
        }
    }

    fn lock(&self) -> MutexGuard<'_, FailureMap> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The source of an available provider's key.
pub(super) enum KeySource {
    /// No known source.
    Unknown,
    /// A variable.
    Variable(String),
    /// A stored secret and its change time.
    Secret { secret: String, set_at: UnixMs },
    /// An unavailable secret and the reason.
    Unavailable { secret: String, reason: String },
}

impl KeySource {
    /// The source for a stored secret, available or not.
    pub(super) fn secret(name: &str, book: &SecretBook) -> Self {
        let secret = name.to_owned();
        match book.unavailable_reason(name) {
            Some(reason) => Self::Unavailable { secret, reason },
            None => Self::Secret { secret, set_at: book.set_at(name).unwrap_or(UnixMs(0)) },
        }
    }
}

impl RecordedFailure {
    fn key(&self) -> (String, String) {
        (self.provider.clone(), self.model.clone())
    }

    /// Whether the failure is older than the key, so the key is untested.
    fn is_older_than_key(&self, key: &KeySource) -> bool {
        let since = match key {
            KeySource::Secret { set_at, .. } => *set_at,
            KeySource::Unknown | KeySource::Variable(_) | KeySource::Unavailable { .. } => {
                return false;
            }
        };
        self.remedy == ModelRemedy::Key && self.last_ms < since.0
    }

    fn report(&self, key: KeySource) -> FailingModel {
        FailingModel {
            provider: self.provider.clone(),
            model: self.model.clone(),
            since_ms: self.since_ms,
            message: self.message.clone(),
            fix: self.remedy.words(&self.provider, &key),
            key_env: match key {
                KeySource::Variable(variable) => Some(variable),
                KeySource::Unknown | KeySource::Secret { .. } | KeySource::Unavailable { .. } => {
                    None
                }
            },
        }
    }
}

impl ModelRemedy {
    /// None for a request that the provider answered.
    const fn of(kind: ProviderErrorKind) -> Option<Self> {
        match kind {
            ProviderErrorKind::Overlong | ProviderErrorKind::Refused => None,
            ProviderErrorKind::Auth => Some(Self::Key),
            ProviderErrorKind::BadRequest => Some(Self::Request),
            ProviderErrorKind::NotRunning => Some(Self::Start),
            ProviderErrorKind::RateLimited
            | ProviderErrorKind::Overloaded
            | ProviderErrorKind::Server
            | ProviderErrorKind::Network
            | ProviderErrorKind::Unanswered
            | ProviderErrorKind::Truncated
            | ProviderErrorKind::TooLarge => Some(Self::Wait),
        }
    }

    fn words(self, provider: &str, key: &KeySource) -> String {
        let from = match key {
            KeySource::Variable(variable) => {
                Some(format!("The key comes from the environment variable {variable}."))
            }
            KeySource::Secret { secret, .. } | KeySource::Unavailable { secret, .. } => {
                Some(format!("The key is the stored secret {secret}."))
            }
            KeySource::Unknown => None,
        };
        let fix = match (self, key) {
            (Self::Key, KeySource::Variable(_)) => {
                "Set a working key there and restart Rouse.".to_owned()
            }
            (Self::Key, KeySource::Secret { secret, .. }) => {
                format!("Store a working key: `rouse secrets set {secret}`.")
            }
            (Self::Key, KeySource::Unavailable { reason, .. }) => format!("The key is unavailable: {reason}."),
            (Self::Key, KeySource::Unknown) => format!(
                "Store a key with `rouse secrets set NAME --host HOST`, and set providers.{provider}.keySecret to NAME in the settings."
            ),
            (Self::Request, _) => {
                "Check the model's name and your account with the provider.".to_owned()
            }
            (Self::Start, _) => "Start the server, and check that it has the model.".to_owned(),
            (Self::Wait, _) => {
                "The next run tries again. If the failure persists, check the address and the state of the provider, or add a fallback model.".to_owned()
            }
        };
        from.into_iter().chain([fix]).collect::<Vec<_>>().join(" ")
    }
}

/// A provider with recorded answers and failures.
struct RecordingProvider {
    provider: Arc<dyn ModelProvider>,
    failures: Arc<ModelFailures>,
}

impl ModelProvider for RecordingProvider {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn billing(&self) -> Billing {
        self.provider.billing()
    }

    fn context_tokens(&self, model: &str) -> Option<u32> {
        self.provider.context_tokens(model)
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        let model = request.model.clone();
        Box::pin(async move {
            let answered = self.provider.stream(request, on_delta).await;
            match &answered {
                Ok(_) => self.failures.answered(self.name(), &model).await,
                Err(error) => self.failures.failed(self.name(), &model, error).await,
            }
            answered
        })
    }
}

#[cfg(test)]
mod tests {
    use rouse_testkit::ManualClock;

    use super::*;

    fn error(kind: ProviderErrorKind) -> ProviderError {
        ProviderError::new(kind, "mine refused.")
    }

    async fn open(store: Store, clock: Arc<ManualClock>) -> Arc<ModelFailures> {
        let record = TrackRecord::open(store.clone(), clock.clone()).await;
        ModelFailures::open(store, clock, record).await
    }

    fn names(recorder: &ModelFailures) -> Vec<String> {
        let report = recorder.report(|name| (name != "gone").then_some(KeySource::Unknown));
        report
            .into_iter()
            .map(|failure| format!("{}:{}", failure.provider, failure.model))
            .collect()
    }

    #[tokio::test]
    async fn answer_ends_refuted_failures() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let store = store.expect("a store");
        let clock = Arc::new(ManualClock::new(UnixMs(1_000)));
        let recorder = open(store.clone(), clock.clone()).await;
        recorder.failed("mine", "a", &error(ProviderErrorKind::Auth)).await;
        recorder.failed("mine", "b", &error(ProviderErrorKind::BadRequest)).await;
        recorder.failed("other", "c", &error(ProviderErrorKind::Server)).await;
        recorder.failed("gone", "d", &error(ProviderErrorKind::Auth)).await;
        for answered in [ProviderErrorKind::Overlong, ProviderErrorKind::Refused] {
            recorder.failed("mine", "e", &error(answered)).await;
        }
        assert_eq!(names(&recorder), ["mine:a", "mine:b", "other:c"]);

        recorder.answered("mine", "e").await;
        assert_eq!(names(&recorder), ["mine:b", "other:c"], "b may still be an unknown model");
        let after_restart = open(store, clock).await;
        assert_eq!(names(&after_restart), names(&recorder));
        recorder.answered("mine", "b").await;
        assert_eq!(names(&recorder), ["other:c"]);
    }

    #[tokio::test]
    async fn failure_of_a_replaced_key_is_hidden() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let clock = Arc::new(ManualClock::new(UnixMs(1_000)));
        let recorder = open(store.expect("a store"), clock).await;
        recorder.failed("mine", "a", &error(ProviderErrorKind::Auth)).await;
        recorder.failed("mine", "b", &error(ProviderErrorKind::Server)).await;
        let report = |set_at| {
            let key = |_: &str| {
                Some(KeySource::Secret { secret: "mine".to_owned(), set_at: UnixMs(set_at) })
            };
            recorder.report(key).into_iter().map(|failure| failure.model).collect::<Vec<_>>()
        };
        assert_eq!(report(1_000), ["a", "b"]);
        assert_eq!(report(1_001), ["b"]);
    }

    #[tokio::test]
    async fn failure_keeps_its_first_time_until_it_expires() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let clock = Arc::new(ManualClock::new(UnixMs(1_000)));
        let recorder = open(store.expect("a store"), clock.clone()).await;
        let day = 86_400_000;
        let since = || {
            recorder.report(|_| Some(KeySource::Unknown)).first().map(|failure| failure.since_ms)
        };
        for week in 0..3 {
            clock.set(UnixMs(1_000 + week * 7 * day));
            assert_eq!(since(), (week > 0).then_some(1_000));
            recorder.failed("mine", "a", &error(ProviderErrorKind::Auth)).await;
        }
        clock.set(UnixMs(1_000 + 23 * day));
        assert_eq!(since(), None);
    }
}
