//! The whole tool over real sockets, with the real sandboxed child.

mod bombs;
mod calls;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::fetch_history::{FetchHistory, FetchHistoryFailure, PastFetch};
use rouse_core::tool::{BoxFuture, SandboxMode, ToolContext};
use rouse_core::{JobId, RunId};

use super::{ReaderProgram, WebFetch, reader};
use crate::http_guard::HttpConfig;
use crate::http_guard::tests::server::Server;
use crate::test_context::context;

/// More than any page of the tests takes on a loaded computer.
const LONG: Duration = Duration::from_secs(120);

/// A history with at most one fetch for every page.
#[derive(Default)]
struct OneFetch(Mutex<Option<PastFetch>>);

impl FetchHistory for OneFetch {
    fn last<'a>(
        &'a self,
        _: &'a JobId,
        _: &'a RunId,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<PastFetch>, FetchHistoryFailure>> {
        let past = self.0.lock().expect("not poisoned").clone();
        Box::pin(std::future::ready(Ok(past)))
    }
}

/// A reader program that is a test of this binary.
fn reader_test(name: &str, time: Duration) -> ReaderProgram {
    ReaderProgram::for_test(&format!("--exact tools::web_fetch::tests::{name} --nocapture"), time)
}

fn tool(server: &Server, history: Arc<OneFetch>) -> WebFetch {
    let allow_private_hosts = vec![server.entry()];
    let config = HttpConfig { allow_private_hosts, ..HttpConfig::default() };
    WebFetch::new(&config, reader_test("reader_child", LONG), history)
}

/// A run of a model in a job without hosts.
fn of_model(folder: &std::path::Path) -> ToolContext {
    ToolContext { sandbox: SandboxMode::Sandboxed { hosts: Vec::new() }, ..context(folder) }
}

/// Not a test: the child process of the others, recognised by a variable.
#[test]
fn reader_child() {
    if std::env::var_os("ROUSE_READER").is_some() {
        reader::read_current_folder().expect("a folder with a page");
    }
}
