//! Model providers, the driver of the turn machine, the tool registry and the gate of Rouse

mod secret;
mod provider;
mod discover;
mod models;
mod retry;
mod registry;
mod gate;
mod driver;

pub use discover::{FoundIn, FoundModel, LocalAddresses, discover};
pub use driver::{AgentDriver, AgentSettings, Observer};
pub use gate::{Called, Gate, GateError};
pub use models::{ChosenModel, Models};
pub use provider::{ConnectError, ProviderConfig, ProviderKind, connect};
pub use registry::{RegistryError, ToolRegistry};
pub use secret::ApiKey;
