//! The memory with real files and a real index.

mod notes;
mod search;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_core::approval::Surroundings;
use rouse_core::memory::MemoryIndex;
use rouse_core::policy::{PolicyVerdict, ToolPolicy};
use rouse_core::tool::{Tool, ToolContext, ToolOutput};
use rouse_store::Store;
use rouse_testkit::ManualClock;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::memory_tools;
use crate::test_context::{call_with, context};

/// Long after the files' modification, so that their metadata counts as settled.
const LATER: UnixMs = UnixMs(4_000_000_000_000);

/// A workspace with a memory.
struct WorkspaceFixture {
    folder: TempDir,
    store: Store,
    tools: Vec<Arc<dyn Tool>>,
    context: ToolContext,
}

impl WorkspaceFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).expect("a workspace");
        let store = Store::open(&folder.path().join("rouse.db"), Arc::new(|_| {})).await;
        let store = store.expect("a store");
        let tools = memory_tools(Arc::new(store.clone()), 1_000);
        let clock = Arc::new(ManualClock::new(LATER));
        let context = ToolContext { clock, ..context(&workspace) };
        Self { folder, store, tools, context }
    }

    /// A workspace with these memory files, written directly.
    async fn with(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new().await;
        files.iter().for_each(|(path, text)| fixture.put(path, text));
        fixture
    }

    fn memory(&self) -> PathBuf {
        self.folder.path().join("workspace/memory")
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.memory().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.memory().join(path)).expect("a file")
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        call_with(self.tool(tool), &self.context, arguments).await
    }

    fn tool(&self, name: &str) -> &dyn Tool {
        &**self.tools.iter().find(|one| one.spec().name == name).expect("a tool")
    }

    async fn preview(&self, tool: &str, arguments: &Value) -> String {
        self.tool(tool).preview(arguments, &self.context).await
    }

    async fn bound(&self, tool: &str, arguments: &Value) -> Surroundings {
        self.tool(tool).surroundings(arguments, &self.context).await.expect("writable")
    }

    /// A call with this approval.
    async fn call_bound(&self, tool: &str, arguments: Value, to: Surroundings) -> ToolOutput {
        let (tool, policy) = (self.tool(tool), ToolPolicy::for_written_call(tool, &arguments));
        match policy.judge(tool.spec(), arguments) {
            PolicyVerdict::Allowed(call) => tool.call(call.bound_to(to), &self.context).await,
            other => panic!("not let through: {other:?}"),
        }
    }

    /// The value of a successful call.
    async fn done(&self, tool: &str, arguments: Value) -> Value {
        let output = self.call(tool, arguments.clone()).await;
        assert_eq!(output.value["success"], true, "{tool} {arguments}: {}", output.text());
        output.value
    }

    /// The message of a refused call.
    async fn refused(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments.clone()).await;
        assert!(output.is_error(), "{tool} {arguments}: {}", output.text());
        output.value["error"].as_str().expect("words").to_owned()
    }

    async fn search(&self, query: &str) -> Value {
        self.done("memory_search", json!({ "query": query, "limit": 50 })).await
    }

    /// The paths of the results, sorted.
    async fn found(&self, query: &str) -> Vec<String> {
        let answer = self.search(query).await;
        let results = answer["results"].as_array().expect("results").iter();
        let mut paths: Vec<String> =
            results.map(|hit| hit["path"].as_str().expect("a path").to_owned()).collect();
        paths.sort();
        paths
    }

    async fn indexed(&self) -> usize {
        self.store.held().await.expect("the index").len()
    }
}
