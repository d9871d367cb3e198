//! `rouse serve` as a process, for peers that need a kill.

use rouse_gateway::Client;
use rouse_tests::{SERVE, ServeProcess, rouse_command};
use serde_json::Value;
use tempfile::TempDir;

/// `rouse serve` over a data directory.
pub(crate) struct ServedEngine {
    _process: ServeProcess,
    pub(crate) address: String,
    pub(crate) client: Client,
}

impl ServedEngine {
    pub(crate) fn start(home: &TempDir) -> Self {
        let process = ServeProcess::start(rouse_command(home.path(), home.path()).args(SERVE));
        let ready: Value = serde_json::from_str(&process.ready_line).expect("the engine is ready");
        let address = ready["address"].as_str().expect("an address").to_owned();
        let client = Client::find(home.path()).expect("a running engine");
        Self { _process: process, address, client }
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.client.call(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(self) {
        drop(self);
    }
}
