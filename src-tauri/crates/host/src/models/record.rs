//! The track record of models: answers and test results.
//!
//! Owns a row per provider, address and model in a setting of the store. A row counts only for its address, because
//! the same name may be another server tomorrow. Never decides which model is called. Pitfall: every answer of every
//! run passes here, so only the first is written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rouse_agent::{ModelTrial, ModelVerdict};
use rouse_core::Clock;
use rouse_core::event::EventKind;
use rouse_gateway::wire::{ModelTestVerdict, ModelTestView};
use rouse_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The store's setting with the rows.
const RECORD_SETTING: &str = "models.record";
/// The maximum number of rows; the oldest is dropped.
const MAX_ROWS: usize = 200;

/// The track record of all models.
pub(super) struct TrackRecord {
    rows: Mutex<Vec<RecordRow>>,
    /// The address of each available provider.
    addresses: Mutex<BTreeMap<String, String>>,
    /// Held while writing, so the newest state is written last.
    writing: tokio::sync::Mutex<()>,
    store: Store,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordRow {
    provider: String,
    base_url: String,
    model: String,
    #[serde(default)]
    has_answered: bool,
    #[serde(default)]
    test: Option<StoredTest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredTest {
    verdict: ModelTestVerdict,
    words: String,
    at_ms: i64,
    tokens: u64,
}

impl TrackRecord {
    /// Reads the rows of the store.
    pub(super) async fn open(store: Store, clock: Arc<dyn Clock>) -> Arc<Self> {
        let stored = match store.setting(RECORD_SETTING).await {
            Ok(stored) => stored.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "the track record of models cannot be read");
                serde_json::Value::Null
            }
        };
        // Rows of another version are recreated by the next answers.
        let rows = Mutex::new(serde_json::from_value(stored).unwrap_or_default());
        let (addresses, writing) = (Mutex::default(), tokio::sync::Mutex::default());
        Arc::new(Self { rows, addresses, writing, store, clock })
    }

    /// Sets the addresses of the available providers.
    pub(super) fn set_addresses(&self, addresses: BTreeMap<String, String>) {
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = addresses;
    }

    /// Whether `model` of the provider at this address has answered.
    pub(super) fn has_answered(&self, provider: &str, base_url: &str, model: &str) -> bool {
        self.lock().iter().any(|row| row.is(provider, base_url, model) && row.has_answered)
    }

    /// The tests of a provider's models at this address, newest first.
    pub(super) fn tests(&self, provider: &str, base_url: &str) -> Vec<ModelTestView> {
        let rows = self.lock();
        let matching =
            rows.iter().filter(|row| row.provider == provider && row.base_url == base_url);
        let mut tests: Vec<ModelTestView> = matching.filter_map(RecordRow::test_view).collect();
        tests.sort_by_key(|test| -test.at_ms);
        tests
    }

    /// Records an answer of a model.
    pub(super) async fn answered(&self, provider: &str, model: &str) {
        if let Some(base_url) = self.address_of(provider)
            && !self.has_answered(provider, &base_url, model)
        {
            self.change(provider, &base_url, model, |row| row.has_answered = true).await;
        }
    }

    /// Records the result of a test.
    pub(super) async fn tested(&self, at: TestedModel<'_>, trial: &ModelTrial) -> ModelTestView {
        let verdict = wire_verdict(&trial.verdict);
        let test = StoredTest {
            verdict,
            words: verdict_text(&trial.verdict),
            at_ms: self.clock.now().0,
            tokens: trial.usage.input_tokens.saturating_add(trial.usage.output_tokens),
        };
        self.change(at.provider, at.base_url, at.model, |row| {
            row.has_answered |= verdict != ModelTestVerdict::Failed;
            row.test = Some(test.clone());
        })
        .await;
        test.view(at.provider, at.model)
    }

    async fn change(
        &self,
        provider: &str,
        base_url: &str,
        model: &str,
        with: impl FnOnce(&mut RecordRow),
    ) {
        {
            let mut rows = self.lock();
            let known = rows.iter().position(|row| row.is(provider, base_url, model));
            let mut row = known
                .map_or_else(|| RecordRow::new(provider, base_url, model), |at| rows.remove(at));
            with(&mut row);
            rows.push(row);
            let surplus = rows.len().saturating_sub(MAX_ROWS);
            rows.drain(..surplus);
        }
        let _writing = self.writing.lock().await;
        let rows = json!(*self.lock());
        let event = Some((EventKind::Config, json!({})));
        let stored = self.store.put_setting(RECORD_SETTING, &rows, event, self.clock.now()).await;
        if let Err(error) = stored {
            tracing::warn!(%error, "the track record of models could not be stored");
        }
    }

    fn address_of(&self, provider: &str) -> Option<String> {
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses.get(provider).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RecordRow>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tested model.
#[derive(Clone, Copy)]
pub(super) struct TestedModel<'a> {
    pub(super) provider: &'a str,
    pub(super) base_url: &'a str,
    pub(super) model: &'a str,
}

impl RecordRow {
    fn new(provider: &str, base_url: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            has_answered: false,
            test: None,
        }
    }

    fn is(&self, provider: &str, base_url: &str, model: &str) -> bool {
        self.provider == provider && self.base_url == base_url && self.model == model
    }

    fn test_view(&self) -> Option<ModelTestView> {
        Some(self.test.as_ref()?.view(&self.provider, &self.model))
    }
}

impl StoredTest {
    fn view(&self, provider: &str, model: &str) -> ModelTestView {
        ModelTestView {
            provider: provider.to_owned(),
            model: model.to_owned(),
            verdict: self.verdict,
            message: self.words.clone(),
            at_ms: self.at_ms,
            tokens: self.tokens,
        }
    }
}

const fn wire_verdict(verdict: &ModelVerdict) -> ModelTestVerdict {
    match verdict {
        ModelVerdict::Works => ModelTestVerdict::Works,
        ModelVerdict::NoToolCall => ModelTestVerdict::NoToolCall,
        ModelVerdict::NeedlessToolCall => ModelTestVerdict::NeedlessToolCall,
        ModelVerdict::Failed(_) => ModelTestVerdict::Failed,
    }
}

fn verdict_text(verdict: &ModelVerdict) -> String {
    match verdict {
        ModelVerdict::Works => "Calls tools when needed, and answers without tools.".to_owned(),
        ModelVerdict::NoToolCall => {
            "Answers, but did not make the requested tool call. Suitable for texts; choose another model for jobs with tools."
                .to_owned()
        }
        ModelVerdict::NeedlessToolCall => {
            "Calls tools without need. Choose another model, or offer no tools to its jobs.".to_owned()
        }
        ModelVerdict::Failed(error) => format!("No answer. {}", error.message),
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;
    use rouse_core::model::{ProviderError, ProviderErrorKind};
    use rouse_core::run::Usage;
    use rouse_testkit::ManualClock;

    use super::*;

    async fn store() -> (tempfile::TempDir, Store, Arc<ManualClock>) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| ())).await;
        (folder, store.expect("a store"), Arc::new(ManualClock::new(UnixMs(1_000))))
    }

    fn addresses(base_url: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("mine".to_owned(), base_url.to_owned())])
    }

    #[tokio::test]
    async fn answer_counts_for_its_address_alone() {
        let (_folder, store, clock) = store().await;
        let record = TrackRecord::open(store.clone(), clock.clone()).await;
        record.answered("mine", "m").await;
        assert!(!record.has_answered("mine", "http://a", "m"), "the address is unknown");
        record.set_addresses(addresses("http://a"));
        record.answered("mine", "m").await;
        let again = TrackRecord::open(store, clock).await;
        for record in [record, again] {
            assert!(record.has_answered("mine", "http://a", "m"));
            assert!(!record.has_answered("mine", "http://b", "m"));
            assert!(!record.has_answered("mine", "http://a", "other"));
        }
    }

    #[tokio::test]
    async fn test_verdict_is_kept_per_model() {
        let (_folder, store, clock) = store().await;
        let record = TrackRecord::open(store.clone(), clock.clone()).await;
        let failed = ProviderError::new(ProviderErrorKind::Auth, "mine refuses the key.");
        let usage = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
        for (model, verdict) in [
            ("works", ModelVerdict::Works),
            ("texts", ModelVerdict::NoToolCall),
            ("broken", ModelVerdict::Failed(failed)),
        ] {
            let at = TestedModel { provider: "mine", base_url: "http://a", model };
            record.tested(at, &ModelTrial { verdict, usage }).await;
            clock.set(UnixMs(clock.now().0 + 1));
        }
        let again = TrackRecord::open(store, clock).await;
        let tests = again.tests("mine", "http://a");
        let seen: Vec<_> = tests.iter().map(|test| (test.model.as_str(), test.verdict)).collect();
        assert_eq!(
            seen,
            [
                ("broken", ModelTestVerdict::Failed),
                ("texts", ModelTestVerdict::NoToolCall),
                ("works", ModelTestVerdict::Works),
            ]
        );
        assert_eq!(
            (tests[0].message.as_str(), tests[0].tokens),
            ("No answer. mine refuses the key.", 120)
        );
        assert_eq!(again.tests("mine", "http://b"), []);
        assert!(again.has_answered("mine", "http://a", "texts"));
        assert!(!again.has_answered("mine", "http://a", "broken"));
    }

    #[tokio::test]
    async fn rows_are_bounded() {
        let (_folder, store, clock) = store().await;
        let record = TrackRecord::open(store, clock).await;
        record.set_addresses(addresses("http://a"));
        for number in 0..=MAX_ROWS {
            record.answered("mine", &number.to_string()).await;
        }
        assert!(!record.has_answered("mine", "http://a", "0"));
        assert!(record.has_answered("mine", "http://a", "1"));
    }
}
