//! Connecting a model: lists, tests, and pulls into Ollama.
//!
//! Owns the single pull and its state; `agent::discover` makes the requests. Never changes the settings.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rouse_agent::{
    ApiKey, CatalogError, ChosenModel, ListedModel, ModelVerdict, ProviderConfig, ProviderKey,
    ProviderKind, PullProgress, Safety, connect, listed_models, test_model,
};
use rouse_gateway::wire::{
    ListedModelView, ModelTestView, ModelsListParams, ModelsListResult, ModelsTestParams,
    PullState, PullView, ServerDraft,
};
use rouse_gateway::{ErrorCode, RpcError};
use tokio_util::sync::CancellationToken;

use super::ModelCatalog;
use super::record::TestedModel;

/// The present pull, or the last.
#[derive(Default)]
pub(super) struct Pulls(Mutex<Option<Pull>>);

struct Pull {
    view: PullView,
    cancel: CancellationToken,
}

impl Pulls {
    fn lock(&self) -> MutexGuard<'_, Option<Pull>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn view(&self) -> Option<PullView> {
        self.lock().as_ref().map(|pull| pull.view.clone())
    }

    /// Cancels the pull. Returns whether a pull was running.
    pub(super) fn cancel(&self) -> bool {
        let mut pulls = self.lock();
        let Some(pull) = pulls.as_mut().filter(|pull| pull.view.state == PullState::Running) else {
            return false;
        };
        pull.view.state = PullState::Cancelled;
        pull.cancel.cancel();
        true
    }

    /// Begins a pull. Returns its view, and a token for a new pull.
    fn begin(&self, model: String) -> Result<(PullView, Option<CancellationToken>), RpcError> {
        let mut pulls = self.lock();
        if let Some(pull) = pulls.as_ref().filter(|pull| pull.view.state == PullState::Running) {
            if pull.view.model == model {
                return Ok((pull.view.clone(), None));
            }
            let message =
                format!("Ollama is pulling {}. Wait, or cancel that pull first.", pull.view.model);
            return Err(RpcError::new(ErrorCode::Conflict, message));
        }
        let view = PullView {
            model,
            state: PullState::Running,
            step: String::new(),
            bytes: 0,
            total_bytes: 0,
            problem: None,
        };
        let cancel = CancellationToken::new();
        *pulls = Some(Pull { view: view.clone(), cancel: cancel.clone() });
        Ok((view, Some(cancel)))
    }

    /// Changes a running pull. A cancelled pull stays cancelled.
    fn change(&self, with: impl FnOnce(&mut PullView)) {
        let mut pulls = self.lock();
        if let Some(pull) = pulls.as_mut().filter(|pull| pull.view.state == PullState::Running) {
            with(&mut pull.view);
        }
    }

    fn progress(&self, now: PullProgress) {
        self.change(|view| {
            view.step = now.step;
            view.bytes = now.bytes;
            view.total_bytes = now.total_bytes;
        });
    }
}

impl ModelCatalog {
    pub(super) async fn list_models(
        &self,
        wanted: ModelsListParams,
    ) -> Result<ModelsListResult, RpcError> {
        let provider = match wanted.server {
            Some(server) => self.draft_config(&server),
            None => self.provider_by_name(wanted.provider.as_deref())?,
        };
        let listed = listed_models(&provider).await;
        let listed = listed.map_err(|error| catalog_error(&provider.name, &error))?;
        let models = listed.into_iter().map(listed_view).collect();
        Ok(ModelsListResult { provider: provider.name, models })
    }

    pub(super) async fn test_chosen(
        &self,
        wanted: ModelsTestParams,
    ) -> Result<ModelTestView, RpcError> {
        let provider = self.provider_by_name(wanted.provider.as_deref())?;
        let model = wanted.model.unwrap_or_else(|| provider.model.clone());
        let safety = Safety::new(Arc::clone(&self.secrets));
        let connected = connect(&provider, &safety)
            .map_err(|error| RpcError::new(ErrorCode::Conflict, error.to_string()))?;
        let trial = test_model(connected.as_ref(), &model).await;
        match &trial.verdict {
            // A test of another model may name a model that nothing uses.
            ModelVerdict::Failed(error) if model == provider.model => {
                self.failing.failed(&provider.name, &model, error).await;
            }
            ModelVerdict::Failed(_) => {}
            _ => self.failing.answered(&provider.name, &model).await,
        }
        let chosen = ChosenModel { provider: connected, model: model.clone() };
        let booked = self.ledger.book_test(&chosen, trial.usage, self.clock.now()).await;
        if let Err(error) = booked {
            tracing::warn!(%error, "the tokens of a model test cannot be booked");
        }
        let ProviderConfig { name, base_url, .. } = &provider;
        let tested = TestedModel { provider: name, base_url, model: &model };
        Ok(self.failing.record().tested(tested, &trial).await)
    }

    /// The provider of this name; the preferred provider without a name.
    fn provider_by_name(&self, name: Option<&str>) -> Result<ProviderConfig, RpcError> {
        let models = self.models();
        let found = match name {
            Some(name) => models.provider_named(name),
            None => models.preferred(),
        };
        found.map(|found| found.provider.clone()).ok_or_else(|| {
            let message = match name {
                Some(name) => format!("There is no provider {name}. Add it first."),
                None => "No model is set up yet. Add one first.".to_owned(),
            };
            RpcError::new(ErrorCode::NotFound, message)
        })
    }

    fn draft_config(&self, server: &ServerDraft) -> ProviderConfig {
        let variable = server.key_env.as_ref().and_then(|name| (self.env)(name));
        let key = server.key.as_deref().or(variable.as_deref()).and_then(ApiKey::new);
        ProviderConfig {
            name: server.name.clone(),
            kind: ProviderKind::from_name(&server.kind).unwrap_or(ProviderKind::OpenAiChat),
            base_url: server.base_url.trim().to_owned(),
            model: String::new(),
            context_tokens: None,
            effort: None,
            api_key: key.map(ProviderKey::Given),
        }
    }

    pub(super) fn start_pull(self: Arc<Self>, model: String) -> Result<PullView, RpcError> {
        let Some(root) = self.local_addresses().ollama else {
            let message = "Rouse does not look for models on this computer (ROUSE_LOCAL_MODELS=0).";
            return Err(RpcError::new(ErrorCode::Conflict, message));
        };
        let (view, cancel) = self.pulls.begin(model.clone())?;
        if let Some(cancel) = cancel {
            tokio::spawn(async move {
                cancel.run_until_cancelled(self.pull_to_end(&root, &model)).await;
            });
        }
        Ok(view)
    }

    async fn pull_to_end(&self, root: &str, model: &str) {
        let pulled = rouse_agent::pull(root, model, |now| self.pulls.progress(now)).await;
        // The model is listed before the pull is reported as done.
        if pulled.is_ok() {
            self.refresh().await;
        }
        self.pulls.change(|view| match &pulled {
            Ok(()) => view.state = PullState::Done,
            Err(error) => {
                view.state = PullState::Failed;
                view.problem = Some(error.to_string());
            }
        });
    }
}

fn listed_view(model: ListedModel) -> ListedModelView {
    ListedModelView {
        id: model.id,
        title: model.title,
        context_tokens: model.context_tokens,
        bytes: model.bytes,
        calls_tools: model.calls_tools,
    }
}

/// Turns a list error into an error of the field to correct.
fn catalog_error(provider: &str, error: &CatalogError) -> RpcError {
    let advice = match error {
        CatalogError::Key(_) | CatalogError::NoKey(_) => "Check the key.",
        CatalogError::NoAnswer(_) => "Check the address, and that the server runs.",
        CatalogError::NoList => "Check the address: the models are listed at ADDRESS/models.",
        CatalogError::Status { .. } => "Try again, or name the model by hand.",
    };
    let field = match error {
        CatalogError::Key(_) | CatalogError::NoKey(_) => "server.key",
        _ => "server.baseUrl",
    };
    let message = format!("{provider} did not list its models: {error}. {advice}");
    RpcError { message: message.clone(), ..RpcError::field(field, &message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pull_runs_at_a_time() {
        let pulls = Pulls::default();
        let (_, token) = pulls.begin("a".to_owned()).expect("begun");
        assert!(token.is_some());
        let (same, none) = pulls.begin("a".to_owned()).expect("joined");
        assert_eq!((same.state, none.is_none()), (PullState::Running, true));
        let refused = pulls.begin("b".to_owned()).expect_err("one at a time");
        assert!(refused.message.contains("pulling a"), "{refused}");
        pulls.progress(PullProgress { step: "x".to_owned(), bytes: 1, total_bytes: 2 });
        assert!(pulls.cancel() && !pulls.cancel());
        pulls.progress(PullProgress { step: "y".to_owned(), bytes: 2, total_bytes: 2 });
        let view = pulls.view().expect("a pull");
        assert_eq!(
            (view.state, view.bytes),
            (PullState::Cancelled, 1),
            "a cancelled pull stays so"
        );
        assert!(pulls.begin("b".to_owned()).is_ok());
    }
}
