//! The gateway: one method table for shell, loopback server, CLI and TypeScript.
//!
//! Owns the method table, the wire types, the event stream, sign-in and the loopback server with its client. Layers: `wire` ←
//! `convert` ← `handlers` ← `table` ← `mcp` ← `server`. Never contains SQL (`store`), decisions (`core`) or code for a screen.

pub mod wire;
mod error;
mod convert;
mod command_text;
mod events;
mod live_text;
mod live_progress;
mod desktop_apps;
mod sign_ins;
mod registries;
mod context;
mod sign_in_callback;
mod crypto;
mod private_file;
mod caller;
mod auth;
mod webhook_secret;
mod signed_webhook;
mod handlers;
mod table;
mod gateway;
mod mcp;
mod server;
mod client;
mod typescript;

pub use auth::{Auth, AuthError, DeviceError, Devices, McpTokenError, McpTokens, page_proof};
pub use caller::{Caller, DeviceCaller, MethodScope};
pub use client::{
    Client, ClientError, DesktopAppMessage, DesktopAppStream, Endpoint, EventStream, McpOrigin,
    RemoteComputer, RemoteError, serve_dial,
};
pub use command_text::command_text;
pub use context::{
    Backups, ChannelAccess, Context, EngineInfo, Extensions, Models, PlannedPackage, Secrets,
    ServerInspection, SettingsAccess,
};
pub use crypto::random_code;
pub use desktop_apps::{DesktopApps, ShowError};
pub use error::{ErrorCode, RpcError};
pub use events::{EventBus, Subscription};
pub use gateway::Gateway;
pub use live_progress::LiveProgress;
pub use live_text::LiveText;
pub use mcp::answer_mcp_offline;
pub use private_file::write_private;
pub use registries::Registries;
pub use server::{BoundPort, GatewayServer, ServerError, UiFile, UiFiles};
pub use sign_ins::SignIns;
pub use signed_webhook::{SignatureError, SignedMessage, create_signing_key};
pub use table::{METHOD_SCOPES, METHODS};
pub use typescript::export_types;
