//! A runtime with its ports as doubles.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rouse_core::extension::CompiledHashes;
use rouse_core::http_exchange::{
    HttpBody, HttpExchange, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_core::schedule::Zones;
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::compile::run_from_arguments;
use crate::{
    CallTrace, CompilerProgram, ComponentBytes, ComponentCache, Guest, GuestLimits, GuestPorts,
    ToolPermissions, WasmRuntime, run_wasm_compiler,
};

/// The name of the next test.
pub(super) const COMPILER_TEST: &str = "tests::fixture::test_without_arguments_is_no_compiler";

/// The compiler process of the other tests. As a test, it has no arguments of a compiler.
#[test]
fn test_without_arguments_is_no_compiler() {
    if let Some(code) = run_from_arguments() {
        std::process::exit(i32::from(code));
    }
    assert!(run_wasm_compiler().is_none());
}

/// Hashes in memory.
#[derive(Default)]
pub(super) struct MemoryHashes {
    recorded: Mutex<HashMap<String, String>>,
    /// How often a hash was recorded.
    pub(super) count: Mutex<usize>,
}

impl CompiledHashes for MemoryHashes {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<String>> {
        let found = self.recorded.lock().expect("no panic").get(key).cloned();
        Box::pin(async move { found })
    }

    fn record<'a>(&'a self, key: &'a str, hash: &'a str) -> BoxFuture<'a, ()> {
        self.recorded.lock().expect("no panic").insert(key.to_owned(), hash.to_owned());
        *self.count.lock().expect("no panic") += 1;
        Box::pin(async {})
    }
}

/// Hashes in files beside the compiled ones, for tests only. One test at a time has the lock.
struct FileHashes {
    folder: PathBuf,
    _lock: File,
}

impl FileHashes {
    fn lock(folder: &Path) -> Self {
        let file = File::create(folder.join("lock")).expect("a file");
        file.lock().expect("a lock");
        Self { folder: folder.to_owned(), _lock: file }
    }
}

impl CompiledHashes for FileHashes {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<String>> {
        let found = fs::read_to_string(self.folder.join(key)).ok();
        Box::pin(async move { found })
    }

    fn record<'a>(&'a self, key: &'a str, hash: &'a str) -> BoxFuture<'a, ()> {
        fs::write(self.folder.join(key), hash).expect("a file");
        Box::pin(async {})
    }
}

/// Status, headers and body.
pub(super) type HttpAnswer = Result<(u16, Vec<(String, String)>, Vec<u8>), HttpExchangeError>;

/// What the double of HTTP does with a request.
type GuestHttpHandler = dyn Fn(&HttpExchangeRequest) -> HttpAnswer + Send + Sync;

/// HTTP with prepared answers. Without one, an exchange never ends.
pub(super) struct FakeGuestHttp {
    pub(super) requests: Mutex<Vec<HttpExchangeRequest>>,
    answer: Option<Box<GuestHttpHandler>>,
    /// A permit for each exchange that has begun.
    pub(super) begun: Semaphore,
}

impl Default for FakeGuestHttp {
    fn default() -> Self {
        Self { requests: Mutex::default(), answer: None, begun: Semaphore::new(0) }
    }
}

impl FakeGuestHttp {
    pub(super) fn answering(
        answer: impl Fn(&HttpExchangeRequest) -> HttpAnswer + Send + Sync + 'static,
    ) -> Self {
        Self { answer: Some(Box::new(answer)), ..Self::default() }
    }
}

struct FakeGuestBody(Option<Vec<u8>>);

impl HttpBody for FakeGuestBody {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, HttpExchangeError>> {
        let body = self.0.take();
        Box::pin(async move { Ok(body) })
    }
}

impl HttpExchange for FakeGuestHttp {
    fn exchange(
        &self,
        request: HttpExchangeRequest,
    ) -> BoxFuture<'_, Result<HttpExchangeResponse, HttpExchangeError>> {
        let answer = self.answer.as_ref().map(|answer| answer(&request));
        self.requests.lock().expect("no panic").push(request);
        self.begun.add_permits(1);
        Box::pin(async move {
            match answer {
                Some(answer) => answer.map(|(status, headers, body)| HttpExchangeResponse {
                    status,
                    headers,
                    body: Box::new(FakeGuestBody(Some(body))),
                }),
                None => std::future::pending().await,
            }
        })
    }
}

/// A clock that stands.
pub(super) struct StoppedGuestClock(pub(super) UnixMs);

impl Clock for StoppedGuestClock {
    fn now(&self) -> UnixMs {
        self.0
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn zones(&self) -> Zones {
        unreachable!("no guest asks for zones")
    }
}

/// A runtime in a folder of its own.
pub(super) struct GuestFixture {
    pub(super) folder: TempDir,
    pub(super) hashes: Arc<MemoryHashes>,
    pub(super) runtime: WasmRuntime,
    pub(super) grants: ToolPermissions,
    pub(super) limits: GuestLimits,
    pub(super) http: Arc<FakeGuestHttp>,
    pub(super) files: Option<PathBuf>,
    pub(super) now: UnixMs,
}

/// The child is this test program; `run_wasm_compiler` answers in a test.
pub(super) fn compiler() -> CompilerProgram {
    CompilerProgram::with_arguments(&["--exact", COMPILER_TEST, "--nocapture"])
}

impl GuestFixture {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let hashes = Arc::new(MemoryHashes::default());
        let cache_folder = folder.path().join("compiled");
        let cache = ComponentCache::new(cache_folder, compiler(), Arc::clone(&hashes) as _);
        Self {
            files: Some(folder.path().join("files")),
            folder,
            hashes,
            runtime: WasmRuntime::new(cache),
            grants: ToolPermissions::default(),
            limits: GuestLimits::default(),
            http: Arc::default(),
            // 2026-01-01.
            now: UnixMs(1_767_225_600_000),
        }
    }

    /// With the compiled components of all tests and runs: the engine of scripts takes half a minute.
    pub(super) fn with_shared_cache() -> Self {
        let program = std::env::current_exe().expect("this program");
        let folder = program.parent().expect("a folder").join("rouse-wasm-tests");
        fs::create_dir_all(&folder).expect("a folder");
        let hashes = Arc::new(FileHashes::lock(&folder));
        let cache = ComponentCache::new(folder, compiler(), hashes);
        Self { runtime: WasmRuntime::new(cache), ..Self::new() }
    }

    pub(super) fn ports(&self) -> GuestPorts {
        let fill = |text: &str, host: &str| {
            Ok(text
                .replace("{{secret:key}}", &format!("s3cret-of-{host}"))
                .replace("{{secret:API_KEY}}", "value-of-API_KEY"))
        };
        GuestPorts {
            clock: Arc::new(StoppedGuestClock(self.now)),
            http: Arc::clone(&self.http) as _,
            secrets: Arc::new(fill),
            folder: self.files.clone(),
            allows_loopback_http: false,
        }
    }

    pub(super) async fn call(&self, component: &ComponentBytes, arguments: &Value) -> CallTrace {
        self.call_within(&self.limits, component, arguments).await
    }

    /// Calls with other limits.
    pub(super) async fn call_within(
        &self,
        limits: &GuestLimits,
        component: &ComponentBytes,
        arguments: &Value,
    ) -> CallTrace {
        let guest = Guest::Component(component.clone());
        let ports = self.ports();
        self.runtime.trace_call(&guest, arguments, &self.grants, limits, &ports).await
    }
}
