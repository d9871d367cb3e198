//! The check of a tool's folder.
//!
//! Owns the facts about a version: its hash, the problems of manifest and component, and the outcome of every test.
//! Tests run in the sandbox of real calls, without network and without secrets. Never gives a permission. Pitfall: a
//! file that is read twice; hash, manifest and tests are of the same bytes.

mod canned_http;
mod folder;
mod outcome;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::extension::ToolFileAccess;
use rouse_core::extension::ToolLanguage;
use rouse_core::time::Zones;
use rouse_core::{Clock, UnixMs};
use serde::Serialize;

use canned_http::{CannedHttp, test_value};
pub use folder::{ToolFolder, ToolFolderError};
pub use outcome::{ToolTestFailure, ToolTestOutcome};

use crate::cache::ComponentBytes;
use crate::engine::ENGINE_VERSION;
use crate::guest::{Guest, WasmRuntime};
use crate::host::{GuestPorts, ToolLog, replace_handles};
use crate::limits::GuestLimits;
use crate::manifest::{MANIFEST_FILE, ManifestProblem, ToolManifest, ToolTest};

/// The clock of tests: 2026-01-01T00:00:00Z.
pub const TEST_NOW: UnixMs = UnixMs(1_767_225_600_000);

/// Time limit of one test.
const TEST_TIME: Duration = Duration::from_secs(10);

/// After this time no further test starts.
const ALL_TESTS_TIME: Duration = Duration::from_secs(120);

/// Largest script.
const MAX_SCRIPT_BYTES: usize = 1 << 20;

/// The facts about a version of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCheck {
    /// The hash of the folder, the identity of the version.
    pub hash: String,
    /// The manifest; none with problems.
    pub manifest: Option<ToolManifest>,
    /// The problems of the manifest.
    pub manifest_problems: Vec<ManifestProblem>,
    /// The problems of the script or the component, as sentences.
    pub problems: Vec<String>,
    /// The outcome of each test, in the order of the manifest. Empty with problems.
    pub tests: Vec<ToolTestOutcome>,
    /// The version of the WebAssembly engine.
    pub engine_version: &'static str,
}

impl ToolCheck {
    /// Whether there are no problems and every test passed.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.manifest.is_some()
            && self.problems.is_empty()
            && !self.tests.is_empty()
            && self.tests.iter().all(|test| test.failure.is_none())
    }
}

/// Checks the folders of tools.
pub struct ToolChecker {
    runtime: Arc<WasmRuntime>,
    script_engine: ComponentBytes,
    clock: Arc<dyn Clock>,
}

impl ToolChecker {
    /// A checker that runs tests in `runtime`, and scripts on `script_engine`. The clock measures the tests only.
    #[must_use]
    pub const fn new(
        runtime: Arc<WasmRuntime>,
        script_engine: ComponentBytes,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { runtime, script_engine, clock }
    }

    /// Checks the tool in `folder`.
    pub async fn check(&self, folder: &ToolFolder) -> ToolCheck {
        let mut check = ToolCheck {
            hash: folder.hash(),
            manifest: None,
            manifest_problems: Vec::new(),
            problems: Vec::new(),
            tests: Vec::new(),
            engine_version: ENGINE_VERSION,
        };
        let manifest = match read_manifest(folder) {
            Ok(manifest) => manifest,
            Err(problems) => {
                check.manifest_problems = problems;
                return check;
            }
        };
        match self.guest_of(folder, &manifest).await {
            Ok(guest) => check.tests = self.run_tests(&guest, &manifest).await,
            Err(problems) => check.problems = problems,
        }
        check.manifest = Some(manifest);
        check
    }

    /// The guest of a checked folder; the problems of the component otherwise.
    async fn guest_of(
        &self,
        folder: &ToolFolder,
        manifest: &ToolManifest,
    ) -> Result<Guest, Vec<String>> {
        let guest = tool_guest(folder, manifest.language, &self.script_engine)
            .map_err(|text| vec![text])?;
        let problems = self.runtime.problems_of(&guest, &manifest.permissions).await;
        if problems.is_empty() { Ok(guest) } else { Err(problems) }
    }

    async fn run_tests(&self, guest: &Guest, manifest: &ToolManifest) -> Vec<ToolTestOutcome> {
        let started = self.clock.monotonic();
        let mut outcomes = Vec::new();
        for test in &manifest.tests {
            let is_late = self.clock.monotonic().saturating_sub(started) > ALL_TESTS_TIME;
            outcomes.push(if is_late {
                ToolTestOutcome {
                    name: test.name.clone(),
                    failure: Some(ToolTestFailure::NotRun),
                    log: ToolLog::default(),
                    http_exchanges: 0,
                }
            } else {
                self.run_test(guest, manifest, test).await
            });
        }
        outcomes
    }

    async fn run_test(
        &self,
        guest: &Guest,
        manifest: &ToolManifest,
        test: &ToolTest,
    ) -> ToolTestOutcome {
        let http = Arc::new(CannedHttp::new(test.http.clone()));
        let files = TestFiles::new(manifest.permissions.files);
        let fill = |text: &str, _: &str| Ok(replace_handles(text, test_value));
        let ports = GuestPorts {
            clock: Arc::new(TestClock { measure: Arc::clone(&self.clock) }),
            http: Arc::clone(&http) as _,
            secrets: Arc::new(fill),
            folder: files.0.clone(),
            allows_loopback_http: false,
        };
        let limits = GuestLimits { time: TEST_TIME, ..GuestLimits::default() };
        let grants = &manifest.permissions;
        let trace = self.runtime.trace_call(guest, &test.arguments, grants, &limits, &ports).await;
        let failure = match http.uncovered(&grants.secrets) {
            Some(failure) => Some(failure),
            None => ToolTestFailure::of(&trace.result, &test.expected),
        };
        ToolTestOutcome {
            name: test.name.clone(),
            failure,
            log: trace.log,
            http_exchanges: trace.http_exchanges,
        }
    }
}

/// The manifest of a folder.
///
/// # Errors
/// All problems of the manifest.
pub fn read_manifest(folder: &ToolFolder) -> Result<ToolManifest, Vec<ManifestProblem>> {
    let problem =
        |message: &str| vec![ManifestProblem { field: String::new(), message: message.to_owned() }];
    let Some(bytes) = folder.get(MANIFEST_FILE) else {
        return Err(problem("The folder has no tool.toml. Write one."));
    };
    let text = str::from_utf8(bytes).map_err(|_| problem("tool.toml is not UTF-8. Save it so."))?;
    ToolManifest::parse(text)
}

/// What a call of the tool in `folder` runs.
///
/// # Errors
/// The file is missing, or is no text: a sentence.
pub fn tool_guest(
    folder: &ToolFolder,
    language: ToolLanguage,
    script_engine: &ComponentBytes,
) -> Result<Guest, String> {
    let name = language.file();
    let Some(bytes) = folder.get(name) else {
        return Err(match language {
            ToolLanguage::JavaScript => {
                format!("The folder has no {name}. Write the script there.")
            }
            ToolLanguage::Rust => format!(
                "The folder has no {name}. Build the tool for `wasm32-wasip2`, and copy the component there."
            ),
        });
    };
    match language {
        ToolLanguage::JavaScript if bytes.len() > MAX_SCRIPT_BYTES => {
            Err(format!("{name} has more than {MAX_SCRIPT_BYTES} bytes. Shorten it."))
        }
        ToolLanguage::JavaScript => {
            let source = str::from_utf8(bytes);
            let source = source.map_err(|_| format!("{name} is not UTF-8. Save it so."))?;
            Ok(Guest::Script { engine: script_engine.clone(), source: source.into() })
        }
        ToolLanguage::Rust => Ok(Guest::Component(bytes.to_vec().into())),
    }
}

/// The folder of files in a test: empty at first, and removed at the end.
struct TestFiles(Option<PathBuf>);

impl TestFiles {
    fn new(access: ToolFileAccess) -> Self {
        let name = format!("rouse-tool-test-{}", uuid::Uuid::new_v4());
        Self((access != ToolFileAccess::None).then(|| std::env::temp_dir().join(name)))
    }
}

impl Drop for TestFiles {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// A clock that stands at [`TEST_NOW`].
struct TestClock {
    measure: Arc<dyn Clock>,
}

impl Clock for TestClock {
    fn now(&self) -> UnixMs {
        TEST_NOW
    }

    fn monotonic(&self) -> Duration {
        self.measure.monotonic()
    }

    fn zones(&self) -> Zones {
        self.measure.zones()
    }
}
