//! The fixtures that several test programs share.
//!
//! Owns the engine in this process (`engine`), the programs as processes (`program`), the model servers of agent runs
//! (`model_server`), and MCP servers of the engine (`mcp`). Never imports a test program.

mod engine;
pub mod mcp;
mod model_server;
mod program;

use std::path::Path;
use std::sync::Arc;

use rouse_store::Store;

pub use engine::{
    DAY, EngineBuilder, HOUR, MINUTE, NOON, RecordingNotifier, TestEngine, agent_job, echo_job,
    is_finished, tool_calls,
};
pub use model_server::{model_calling, model_settings};
pub use program::{
    SERVE, ServeProcess, built_program, program_path, remove_example_job, rouse_command,
};

/// Creates the database of the data directory `home`, for a test that writes files before the first start. Files without a
/// database count as a loss.
pub async fn make_database(home: &Path) {
    std::fs::create_dir_all(home).expect("a folder");
    let store = Store::open(&home.join("rouse.db"), Arc::new(|_| ())).await;
    store.expect("a database").close().await;
}
