//! Another computer: a second data directory with its own engine, behind a script in the place of `ssh`.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::Path;

use rouse_gateway::{Client, EventStream};
use rouse_tests::{SERVE, ServeProcess, built_program, remove_example_job, rouse_command};
use serde_json::Value;
use tempfile::TempDir;

/// A computer without a desktop. Everything ends with it.
pub(crate) struct OtherComputer {
    pub(crate) client: Client,
    _process: ServeProcess,
    _folder: TempDir,
}

impl OtherComputer {
    /// Starts the engine with `settings`. `script` becomes the `ssh` that leads there.
    pub(crate) async fn start(settings: &str, script: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("rouse-box-").tempdir().expect("a folder");
        let data = folder.path().join("data");
        fs::DirBuilder::new().mode(0o700).create(&data).expect("a folder");
        fs::write(data.join("config.toml"), settings).expect("a file");
        let process = ServeProcess::start(rouse_command(folder.path(), &data).args(SERVE));
        let client = Client::find(&data).expect("the engine runs");
        remove_example_job(&client).await;
        let rouse = built_program("ROUSE_BIN", "rouse", "rouse-cli");
        let (rouse, data) = (rouse.display(), data.display());
        // The last argument holds the words for the shell there, which begin with `rouse`.
        let text = format!(
            "#!/bin/sh\nfor words; do :; done\nexport ROUSE_HOME='{data}'\nrouse() {{ exec '{rouse}' \"$@\"; }}\n\
             eval \"$words\"\n"
        );
        fs::write(script, text).expect("a script");
        fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("set");
        Self { client, _process: process, _folder: folder }
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        let called = self.client.call(method, params).await;
        called.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// All events of the engine.
    pub(crate) async fn events(&self) -> EventStream {
        self.client.events(Some(0)).await.expect("a stream")
    }
}
