//! The agent room: model providers, the tool registry, the gate, and the driver of a run.
//!
//! From the outside in: `discover` finds models, `Models` ranks and connects them, `ToolRegistry` takes the tools in,
//! `Gate` stands before them, and `AgentDriver` carries out a job's turn, a turn of the main session or a single tool
//! call, and answers with an outcome. Decisions are not made here: how a run may end is `core::turn`, what may be
//! called is `core::policy`. The room knows no concrete tool, no schedule and no screen.

mod condition;
mod discover;
mod driver;
mod gate;
mod hooks;
mod list;
mod models;
mod money;
mod provider;
mod registry;
mod retry;
mod safety;
mod secret;
mod skills;

pub use condition::{Conditions, Subject, event_of};
pub use discover::{
    CatalogError, FoundIn, FoundModel, ListedModel, LocalAddresses, ModelTrial, ModelVerdict,
    PresetKey, ProviderPreset, PullError, PullProgress, SUGGESTED_MODELS, SuggestedModel, discover,
    is_ollama_empty, is_usual_name, listed_models, presets, pull, test_model, title_of_local,
    usual_key_variable, usual_key_variables,
};
pub use driver::{
    AgentDriver, AgentSettings, Heard, Observer, offered, policy_of, sandbox_of, withholding,
};
pub use gate::{Called, Gate, GateError, Passage, Question, Terms};
pub use hooks::{
    CallAnswer, CallEnded, CallRuling, CallSeen, CommandHook, DeliveryAnswer, DeliverySeen, Hook,
    HookCommand, HookContext, HookError, HookPlace, HookPoint, HookRecord, HookReport, Hooks,
    LastCall, RunEnded, RunSeen, Told, ToolMetadata, ToolsResolved,
};
pub use list::{ChangedBy, Doubt, HeartbeatList, ListError, ListSeen};
pub use models::{ChosenModel, Lineup, Models};
pub use money::{Account, Ledger, Price, Prices, Refusal, Rest, Seat, Wanted};
pub use provider::{ConnectError, ProviderConfig, ProviderKind, connect};
pub use registry::{Complaint, RegistryError, ToolRegistry, is_by_itself};
pub use safety::{Held, Incoming, IncomingText, Leak, Outside, Safety, Signal};
pub use secret::{
    ApiKey, HandleError, KeyError, ProviderKey, Secret, SecretBook, SecretError, SecretSource,
    SecretValue, StoredKey, is_secret_name,
};
pub use skills::{SkillShelf, TrustError};
