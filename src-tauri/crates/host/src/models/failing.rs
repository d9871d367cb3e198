//! Models that do not answer: which, since when, and in whose words.
//!
//! Owns the newest failure of each model, as every question of every run brings it, and what to do about it. Without it a
//! key that ran out would show in single runs only, while the engine says that it has a model. It is a setting of the
//! store, so it outlives a restart, and goes with the next answer; what was not asked again for some days is not told
//! any more, because its job may be gone. It refuses to decide who is asked. One could get it wrong by taking a question
//! that is too long, or one that the provider declines, for a failure: the provider has answered those.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rouse_agent::{ChosenModel, Lineup, SecretBook};
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

/// The setting of the store that holds them.
const FAILING: &str = "models.failing";
/// How long a failure is told that nothing has come after: a day more than a weekly job needs.
const TOLD_FOR_MS: i64 = 8 * 86_400_000;

/// The models that do not answer.
pub(super) struct Failing {
    known: Mutex<Failures>,
    /// Held while they are written, so that the newest are written last.
    writing: tokio::sync::Mutex<()>,
    record: Arc<TrackRecord>,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// By provider and model.
type Failures = BTreeMap<(String, String), Failure>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    provider: String,
    model: String,
    since_ms: i64,
    last_ms: i64,
    cure: Cure,
    words: String,
}

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Cure {
    /// Another key.
    Key,
    /// Another model, or an account that may use this one.
    Request,
    /// That it is started.
    Start,
    /// Time, as a rule.
    Wait,
}

impl Failing {
    /// Those that the store knows.
    pub(super) async fn open(
        store: Store,
        clock: Arc<dyn Clock>,
        record: Arc<TrackRecord>,
    ) -> Arc<Self> {
        let stored = match store.setting(FAILING).await {
            Ok(stored) => stored.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "which models fail cannot be read");
                Value::Null
            }
        };
        // What an older or a newer Rouse has written otherwise is found out again by the next run.
        let stored: Vec<Failure> = serde_json::from_value(stored).unwrap_or_default();
        let known = stored.into_iter().map(|failure| (failure.key(), failure)).collect();
        let (known, writing) = (Mutex::new(known), tokio::sync::Mutex::default());
        Arc::new(Self { known, writing, record, store, clock })
    }

    /// The same models, whose answers and failures are kept here.
    pub(super) fn watch(self: &Arc<Self>, lineup: Lineup) -> Lineup {
        if lineup.first().is_none() {
            return lineup;
        }
        let models = (0..).map_while(|place| lineup.at(place));
        Lineup::of(models.map(|ChosenModel { provider, model }| ChosenModel {
            provider: self.watched(Arc::clone(provider)),
            model: model.clone(),
        }))
    }

    /// The same provider, whose answers and failures are kept here.
    pub(super) fn watched(
        self: &Arc<Self>,
        provider: Arc<dyn ModelProvider>,
    ) -> Arc<dyn ModelProvider> {
        Arc::new(Watched { provider, failing: Arc::clone(self) })
    }

    /// Which models have answered.
    pub(super) fn record(&self) -> &TrackRecord {
        &self.record
    }

    /// Those of providers that are at hand; `key_of` says which variable the key of one comes from, or that it is not.
    pub(super) fn told(&self, key_of: impl Fn(&str) -> Option<KeyFrom>) -> Vec<FailingModel> {
        let horizon = self.clock.now().plus_ms(-TOLD_FOR_MS).0;
        let known = self.lock();
        let fresh = known.values().filter(|failure| failure.last_ms >= horizon);
        let of_now = fresh.filter_map(|failure| {
            let key = key_of(&failure.provider)?;
            (!failure.is_before(&key)).then(|| failure.told(key))
        });
        of_now.collect()
    }

    async fn failed(&self, provider: &str, model: &str, error: &ProviderError) {
        let Some(cure) = Cure::of(error.kind) else { return };
        let UnixMs(now) = self.clock.now();
        let mut failure = Failure {
            provider: provider.to_owned(),
            model: model.to_owned(),
            since_ms: now,
            last_ms: now,
            cure,
            words: error.message.clone(),
        };
        {
            let mut known = self.lock();
            known.retain(|_, failure| failure.last_ms >= now - TOLD_FOR_MS);
            if let Some(before) = known.get(&failure.key()) {
                failure.since_ms = before.since_ms;
            }
            known.insert(failure.key(), failure);
        }
        self.write().await;
    }

    /// What kept the provider's other models from answering is over, too, unless it was a matter of the model.
    async fn answered(&self, provider: &str, model: &str) {
        self.record.answered(provider, model).await;
        let is_over = |failure: &Failure| {
            failure.provider == provider
                && (failure.model == model || failure.cure != Cure::Request)
        };
        let is_news = {
            let mut known = self.lock();
            let before = known.len();
            known.retain(|_, failure| !is_over(failure));
            known.len() < before
        };
        if is_news {
            self.write().await;
        }
    }

    /// Writes the failures. The event has clients read the state of models again.
    async fn write(&self) {
        let _writing = self.writing.lock().await;
        let known: Vec<Failure> = self.lock().values().cloned().collect();
        let known = json!(known);
        let event = Some((EventKind::Config, json!({})));
        let stored = self.store.put_setting(FAILING, &known, event, self.clock.now());
        if let Err(error) = stored.await {
            tracing::warn!(%error, "which models fail cannot be remembered");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Failures> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the key of a provider that is at hand comes from.
pub(super) enum KeyFrom {
    /// Nobody said.
    Nowhere,
    /// A variable.
    Variable(String),
    /// A stored secret, and when it was set.
    Secret { secret: String, set_at: UnixMs },
    /// A stored secret that is not at hand, and why.
    Absent { secret: String, why: String },
}

impl KeyFrom {
    /// The stored secret of this name, which may not be at hand.
    pub(super) fn secret(name: &str, book: &SecretBook) -> Self {
        let secret = name.to_owned();
        match book.why_absent(name) {
            Some(why) => Self::Absent { secret, why },
            None => Self::Secret { secret, set_at: book.set_at(name).unwrap_or(UnixMs(0)) },
        }
    }
}

impl Failure {
    fn key(&self) -> (String, String) {
        (self.provider.clone(), self.model.clone())
    }

    /// Whether it is about another key than this one, of which nobody knows yet whether it works.
    fn is_before(&self, key: &KeyFrom) -> bool {
        let since = match key {
            KeyFrom::Secret { set_at, .. } => *set_at,
            KeyFrom::Nowhere | KeyFrom::Variable(_) | KeyFrom::Absent { .. } => return false,
        };
        self.cure == Cure::Key && self.last_ms < since.0
    }

    fn told(&self, key: KeyFrom) -> FailingModel {
        FailingModel {
            provider: self.provider.clone(),
            model: self.model.clone(),
            since_ms: self.since_ms,
            words: self.words.clone(),
            mend: self.cure.words(&self.provider, &key),
            key_env: match key {
                KeyFrom::Variable(variable) => Some(variable),
                KeyFrom::Nowhere | KeyFrom::Secret { .. } | KeyFrom::Absent { .. } => None,
            },
        }
    }
}

impl Cure {
    /// None for a question that the provider has answered, though not as it was meant.
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

    fn words(self, provider: &str, key: &KeyFrom) -> String {
        let from = match key {
            KeyFrom::Variable(variable) => {
                Some(format!("Its key comes from the variable {variable}."))
            }
            KeyFrom::Secret { secret, .. } | KeyFrom::Absent { secret, .. } => {
                Some(format!("Its key is the stored secret {secret}."))
            }
            KeyFrom::Nowhere => None,
        };
        let mend = match (self, key) {
            (Self::Key, KeyFrom::Variable(_)) => {
                "Put a key there that works, and start Rouse again with it.".to_owned()
            }
            (Self::Key, KeyFrom::Secret { secret, .. }) => {
                format!("Store a key there that works: `rouse secrets set {secret}`.")
            }
            (Self::Key, KeyFrom::Absent { why, .. }) => format!("It is not at hand, because {why}."),
            (Self::Key, KeyFrom::Nowhere) => format!(
                "Store its key with `rouse secrets set NAME --host HOST`, and name it under providers.{provider}.keySecret in the settings."
            ),
            (Self::Request, _) => {
                "Look at the model's name and at your account with the provider.".to_owned()
            }
            (Self::Start, _) => "Start it, and see that it has the model.".to_owned(),
            (Self::Wait, _) => {
                "It is asked again by the next run. If that goes on, look at its address and at its state, or name another model as a fallback.".to_owned()
            }
        };
        from.into_iter().chain([mend]).collect::<Vec<_>>().join(" ")
    }
}

/// A provider whose answers and failures are kept.
struct Watched {
    provider: Arc<dyn ModelProvider>,
    failing: Arc<Failing>,
}

impl ModelProvider for Watched {
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
                Ok(_) => self.failing.answered(self.name(), &model).await,
                Err(error) => self.failing.failed(self.name(), &model, error).await,
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
        ProviderError::new(kind, "mine says no.")
    }

    async fn open(store: Store, clock: Arc<ManualClock>) -> Arc<Failing> {
        let record = TrackRecord::open(store.clone(), clock.clone()).await;
        Failing::open(store, clock, record).await
    }

    fn names(failing: &Failing) -> Vec<String> {
        let told = failing.told(|name| (name != "gone").then_some(KeyFrom::Nowhere));
        told.into_iter().map(|one| format!("{}:{}", one.provider, one.model)).collect()
    }

    #[tokio::test]
    async fn an_answer_ends_what_it_proves_wrong() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let store = store.expect("a store");
        let clock = Arc::new(ManualClock::new(UnixMs(1_000)));
        let failing = open(store.clone(), clock.clone()).await;
        failing.failed("mine", "a", &error(ProviderErrorKind::Auth)).await;
        failing.failed("mine", "b", &error(ProviderErrorKind::BadRequest)).await;
        failing.failed("other", "c", &error(ProviderErrorKind::Server)).await;
        failing.failed("gone", "d", &error(ProviderErrorKind::Auth)).await;
        for answered in [ProviderErrorKind::Overlong, ProviderErrorKind::Refused] {
            failing.failed("mine", "e", &error(answered)).await;
        }
        assert_eq!(names(&failing), ["mine:a", "mine:b", "other:c"]);

        failing.answered("mine", "e").await;
        assert_eq!(names(&failing), ["mine:b", "other:c"], "b may still be no model");
        let after_restart = open(store, clock).await;
        assert_eq!(names(&after_restart), names(&failing));
        failing.answered("mine", "b").await;
        assert_eq!(names(&failing), ["other:c"]);
    }

    #[tokio::test]
    async fn a_key_that_was_set_since_is_not_told_of_as_the_one_that_failed() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let clock = Arc::new(ManualClock::new(UnixMs(1_000)));
        let failing = open(store.expect("a store"), clock).await;
        failing.failed("mine", "a", &error(ProviderErrorKind::Auth)).await;
        failing.failed("mine", "b", &error(ProviderErrorKind::Server)).await;
        let told = |set_at| {
            let key = |_: &str| {
                Some(KeyFrom::Secret { secret: "mine".to_owned(), set_at: UnixMs(set_at) })
            };
            failing.told(key).into_iter().map(|one| one.model).collect::<Vec<_>>()
        };
        assert_eq!(told(1_000), ["a", "b"]);
        assert_eq!(told(1_001), ["b"]);
    }

    #[tokio::test]
    async fn a_failure_is_dated_from_the_first_and_told_while_somebody_asks() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        let clock = Arc::new(ManualClock::new(UnixMs(1_000)));
        let failing = open(store.expect("a store"), clock.clone()).await;
        let day = 86_400_000;
        let since = || failing.told(|_| Some(KeyFrom::Nowhere)).first().map(|one| one.since_ms);
        for week in 0..3 {
            clock.set(UnixMs(1_000 + week * 7 * day));
            assert_eq!(since(), (week > 0).then_some(1_000));
            failing.failed("mine", "a", &error(ProviderErrorKind::Auth)).await;
        }
        clock.set(UnixMs(1_000 + 23 * day));
        assert_eq!(since(), None);
    }
}
