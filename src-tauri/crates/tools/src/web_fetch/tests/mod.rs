//! The tool as a whole: real sockets, and the real child in its sandbox.

mod bombs;
mod calls;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::fetches::{FetchHistory, FetchHistoryFailure, PastFetch};
use rouse_core::tool::{BoxFuture, SandboxMode, ToolContext};
use rouse_core::{JobId, RunId};

use super::{ReaderProgram, WebFetch, reader};
use crate::http::HttpConfig;
use crate::http::tests::server::Server;
use crate::testing::context;

/// Longer than any page of the tests takes on a busy computer.
const LONG: Duration = Duration::from_secs(120);

/// A history that holds one fetch of every page, or none.
#[derive(Default)]
struct OneFetch(Mutex<Option<PastFetch>>);

impl FetchHistory for OneFetch {
    fn last<'a>(
        &'a self,
        _: &'a JobId,
        _: &'a RunId,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<PastFetch>, FetchHistoryFailure>> {
        let past = self.0.lock().expect("nobody panicked").clone();
        Box::pin(std::future::ready(Ok(past)))
    }
}

/// The reader is a test of this program.
fn reader_test(name: &str, time: Duration) -> ReaderProgram {
    ReaderProgram::of_test(&format!("--exact web_fetch::tests::{name} --nocapture"), time)
}

fn tool(server: &Server, history: Arc<OneFetch>) -> WebFetch {
    let allow_private_hosts = vec![server.entry()];
    let config = HttpConfig { allow_private_hosts, ..HttpConfig::default() };
    WebFetch::new(&config, reader_test("reader_child", LONG), history)
}

/// A run of a model, whose job names no hosts.
fn of_model(folder: &std::path::Path) -> ToolContext {
    ToolContext { sandbox: SandboxMode::Sandboxed { hosts: Vec::new() }, ..context(folder) }
}

/// Not a test by itself: the child of the others, which is told so by a variable.
#[test]
fn reader_child() {
    if std::env::var_os("ROUSE_READER").is_some() {
        reader::work().expect("a folder with a page");
    }
}
