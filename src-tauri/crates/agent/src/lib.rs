//! The agent room: model providers, the tool registry, the gate, and the driver of a run.
//!
//! `providers` connects and ranks models, [`ToolRegistry`] holds the tools, [`Gate`] checks every call, and [`AgentDriver`]
//! executes a turn of a job, a turn of the main session or a single tool call. `core::turn` decides how a run ends,
//! `core::policy` which calls are allowed. Never imports a concrete tool, the scheduler or a UI.

mod providers;
mod tool_registry;
mod heartbeat_list;
mod condition;
mod budget;
mod secrets;
mod safety;
mod hooks;
mod gate;
mod skills;
mod context;
mod turn;
mod runs;

pub use budget::{
    BudgetError, BudgetLedger, BudgetReservation, CallEstimate, Price, Prices, RemainingBudget,
    RunBudgets,
};
pub use condition::{ConditionEvaluator, ConditionInput, event_variable};
pub use context::build_tool::{BUILD_TOOLS, build_tool_task};
pub use context::offered_tools::OfferedTools;
pub use context::prompt::{offered_tools, policy_of, sandbox_of, without_unusable_grants};
pub use context::window::context_tokens;
pub use gate::{ApprovalRequest, Gate, GateError, GateOutcome, GatedCall, RunPolicy};
pub use heartbeat_list::{HeartbeatList, ListChange, ListContent, ListError, ListTaint};
pub use hooks::{
    CommandHook, DeliveryDecision, DeliveryEvent, Hook, HookCommand, HookContext, HookDecision,
    HookError, HookNotification, HookPoint, HookProcessConfig, HookReport, HookStatistics,
    HookVerdict, Hooks, LastHookCall, RunFinishedEvent, RunStartedEvent, ToolCallEnded,
    ToolCallEvent, ToolMetadata, ToolsResolved,
};
pub use providers::discovery::{
    CatalogError, FoundIn, FoundModel, ListedModel, LocalAddresses, ModelTrial, ModelVerdict,
    PresetKey, ProviderPreset, PullError, PullProgress, SUGGESTED_MODELS, SuggestedModel, discover,
    is_known_provider_name, is_ollama_empty, key_variable, key_variables, listed_models,
    local_server_title, presets, pull, test_model,
};
pub use providers::model_choice::{AvailableModels, ChosenModel, RunModels};
pub use providers::{ConnectError, ProviderConfig, ProviderKind, connect};
pub use runs::{AgentDriver, AgentSettings};
pub use safety::{
    EgressLeak, InjectionSignal, Safety, ScreenedOutput, StoredSecretField, UntrustedSource,
};
pub use secrets::{
    ApiKey, HandleError, KeyError, ProviderKey, RequestSecretError, Secret, SecretBook,
    SecretError, SecretSource, SecretValue, ServerSecretError, StoredKey, is_secret_name,
};
pub use skills::{SkillInstallError, SkillInstaller, SkillLibrary, TrustError};
pub use tool_registry::{
    AdmissionError, RefusedTool, ToolCallError, ToolRegistry, ToolSet, is_callable_alone,
};
pub use turn::scope::{AnswerEvent, AnswerObserver, ProgressObserver};
