//! The order of a run's models.
//!
//! Owns the current model and the failures of the earlier models. A run that has changed to a fallback model stays with
//! the fallback, also after an approval: the earlier model would only fail again.

use rouse_core::model::{ProviderError, ProviderErrorKind};
use rouse_store::RunStep;

use super::end::TurnEnd;
use super::journal::Journal;
use crate::providers::model_choice::{ChosenModel, RunModels};

/// The models of a run, with the current model.
pub(super) struct ModelSequence<'r> {
    models: &'r RunModels,
    index: usize,
    /// The failures of the models before the current model.
    failures: Vec<ProviderError>,
}

impl<'r> ModelSequence<'r> {
    /// Continues with the model of the newest answer in the journal.
    pub(super) fn resume(models: &'r RunModels, journal: &Journal) -> Self {
        let index_of =
            |step: &RunStep| models.index_of(step.input["provider"].as_str()?, step.name.as_str());
        let index = journal.newest_answer().and_then(index_of).unwrap_or(0);
        let notes = journal.fallbacks();
        let newest = &notes[notes.len().saturating_sub(index)..];
        Self { models, index, failures: newest.iter().filter_map(noted_failure).collect() }
    }

    pub(super) fn run_models(&self) -> &'r RunModels {
        self.models
    }

    pub(super) fn current(&self) -> Option<&'r ChosenModel> {
        self.models.at(self.index)
    }

    pub(super) fn next(&self) -> Option<&'r ChosenModel> {
        self.models.at(self.index + 1)
    }

    /// Changes to the next model because the current model failed.
    pub(super) fn advance(&mut self, failure: ProviderError) {
        self.index += 1;
        self.failures.push(failure);
    }

    /// The end of a run after the failure of the last model. A transient failure of any model makes the run's failure
    /// transient.
    pub(super) fn exhausted(&mut self, last: ProviderError) -> TurnEnd {
        if self.index == 0 {
            return TurnEnd::Provider(last);
        }
        self.failures.push(last);
        let is_running = |error: &&ProviderError| error.kind != ProviderErrorKind::NotRunning;
        let decisive = self
            .failures
            .iter()
            .find(|error| is_running(error) && error.is_transient())
            .or_else(|| self.failures.iter().find(is_running))
            .or(self.failures.last());
        let kind = decisive.map_or(ProviderErrorKind::BadRequest, |error| error.kind);
        let words = format!("No model answered. {}", joined(&self.failures));
        let retry_after = decisive.and_then(|error| error.retry_after);
        let status = decisive.and_then(|error| error.status);
        TurnEnd::Provider(ProviderError { retry_after, status, ..ProviderError::new(kind, words) })
    }

    /// Why a fallback model is in use; none for the first model.
    pub(super) fn fallback_reason(&self) -> Option<String> {
        (!self.failures.is_empty()).then(|| joined(&self.failures))
    }
}

/// The failure in a fallback note.
fn noted_failure(note: &RunStep) -> Option<ProviderError> {
    let kind = serde_json::from_value(note.input["kind"].clone()).ok()?;
    Some(ProviderError::new(kind, note.input["error"].as_str()?))
}

fn joined(failures: &[ProviderError]) -> String {
    let words = failures.iter().map(|error| error.message.trim().trim_end_matches('.'));
    words.collect::<Vec<_>>().join("; ") + "."
}
