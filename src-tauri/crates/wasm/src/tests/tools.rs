use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::call_progress::ProgressReporter;
use rouse_core::extension::package::{ExtensionSource, FileManifest, InstalledPackage};
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, PinnedTool, ServerDefinition, ServerTransport,
    ToolAccess, ToolFileAccess, ToolListing, UnfilledSecret,
};
use rouse_core::policy::{PolicyVerdict, ToolPolicy};
use rouse_core::schedule::Zone;
use rouse_core::tool::{
    ApprovalRule, BoxFuture, Fault, PendingCleanup, SandboxMode, Tool, ToolContext,
};
use rouse_core::{RunId, UnixMs};
use serde_json::json;

use super::fixture::{GuestFixture, StoppedGuestClock};
use crate::{
    ToolManifest, ToolSecrets, WasmToolFolders, WasmToolPorts, manifest_tool, script_engine,
    tool_transport, wasm_tool,
};

/// No extensions.
struct EmptyToolBook;

impl ExtensionBook for EmptyToolBook {
    fn get(&self, _: &ExtensionName) -> Option<Extension> {
        None
    }

    fn all(&self) -> Vec<(ExtensionName, Extension)> {
        Vec::new()
    }

    fn record_listing(&self, _: &ExtensionName, _: Option<String>, _: &ToolListing) {}

    fn fill_secrets(&self, _: &ExtensionName, text: &str) -> Result<String, UnfilledSecret> {
        Ok(text.to_owned())
    }

    fn check_files<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// No secrets.
struct NoToolSecrets;

impl ToolSecrets for NoToolSecrets {
    fn fill(&self, _: &ExtensionName, _: &str, _: &str) -> Result<String, String> {
        Err("There is no secret.".to_owned())
    }
}

const WEATHER: &str = r#"
    name = "weather"
    description = "Tells the temperature."
    language = "javascript"
    reads_only = true
    parameters.type = "object"
    permissions.hosts = ["api.example.com"]
    [[tests]]
    name = "any"
    expected = 1
"#;

fn manifest() -> ToolManifest {
    ToolManifest::parse(WEATHER).expect("a manifest")
}

/// The tool of an extension with this transport and list of files.
fn tool(transport: ServerTransport, files: &str, access: ToolAccess) -> Option<Arc<dyn Tool>> {
    tool_in(Path::new("/packages/weather"), transport, files, access)
}

fn tool_in(
    package_folder: &Path,
    transport: ServerTransport,
    files: &str,
    access: ToolAccess,
) -> Option<Arc<dyn Tool>> {
    let fixture = GuestFixture::new();
    let ports = WasmToolPorts {
        book: Arc::new(EmptyToolBook),
        http: Arc::clone(&fixture.http) as _,
        secrets: Arc::new(NoToolSecrets),
        runtime: Arc::new(fixture.runtime),
        script_engine: script_engine(),
    };
    let server = ServerDefinition::new(transport);
    let package = InstalledPackage {
        source: ExtensionSource::Tool { path: "/srv/weather".to_owned(), sha256: None },
        draft: server.clone(),
        files: FileManifest { sha256: files.to_owned(), files: 2, bytes: 9 },
        components: Vec::new(),
    };
    let entry = Extension { package: Some(package), ..Extension::installed(server, UnixMs(0)) };
    let pin = PinnedTool::accept(manifest_tool(&manifest()), access, UnixMs(0));
    let (package, private) = (package_folder.to_owned(), "/private/weather".into());
    let folders = WasmToolFolders { package, private };
    wasm_tool(&"weather".parse().expect("a name"), &entry, &pin, folders, Arc::new(ports))
}

fn weather_transport() -> ServerTransport {
    tool_transport(&manifest().permissions)
}

#[test]
fn chosen_access_decides_the_approval() {
    let rule = |access| {
        let tool = tool(weather_transport(), "1", access)?;
        Some((tool.spec().approval, tool.spec().annotations.read_only))
    };
    assert_eq!(rule(ToolAccess::ReadsOnly), Some((ApprovalRule::Never, true)));
    assert_eq!(rule(ToolAccess::Ask), Some((ApprovalRule::UnlessGranted, false)));
    assert_eq!(rule(ToolAccess::AlwaysAsk), Some((ApprovalRule::Always, false)));
    assert_eq!(rule(ToolAccess::Off), None);
}

#[test]
fn declaration_follows_the_manifest_and_the_hosts() {
    let open = tool(weather_transport(), "1", ToolAccess::Ask).expect("a tool");
    let spec = open.spec();
    assert_eq!((spec.name.as_str(), spec.parameters["type"].as_str()), ("weather", Some("object")));
    assert!(spec.untrusted_output && spec.annotations.open_world);
    let files = Default::default();
    let closed = ServerTransport::Wasm { hosts: Vec::new(), secrets: Vec::new(), files };
    let closed = tool(closed, "1", ToolAccess::Ask).expect("a tool");
    assert!(!closed.spec().annotations.open_world);
}

#[test]
fn tool_with_an_invalid_host_is_not_offered() {
    let files = Default::default();
    let hosts = vec!["*.example.com".to_owned()];
    let transport = ServerTransport::Wasm { hosts, secrets: Vec::new(), files };
    assert!(tool(transport, "1", ToolAccess::Ask).is_none());
}

fn context() -> ToolContext {
    ToolContext {
        run_id: RunId::new("run-1"),
        job_id: None,
        job_name: "Test".to_owned(),
        workspace: PathBuf::from("/nonexistent-workspace"),
        sandbox: SandboxMode::Sandboxed { hosts: Vec::new() },
        named_hosts: Vec::new(),
        folders: Vec::new(),
        clock: Arc::new(StoppedGuestClock(UnixMs(0))),
        zone: Zone::UTC,
        skills: Vec::new(),
        event: None,
        requested_at: None,
        pending_cleanup: PendingCleanup::default(),
        searchable_tools: Arc::default(),
        progress: ProgressReporter::default(),
    }
}

#[tokio::test]
async fn approval_is_bound_to_files_and_permissions() {
    let surroundings = async |transport: ServerTransport, files: &str| {
        let tool = tool(transport, files, ToolAccess::Ask).expect("a tool");
        tool.surroundings(&json!({}), &context()).await.expect("surroundings")
    };
    let accepted = surroundings(weather_transport(), "1").await;
    assert_eq!(surroundings(weather_transport(), "1").await, accepted);
    assert_ne!(surroundings(weather_transport(), "2").await, accepted);
    let mut wider = weather_transport();
    if let ServerTransport::Wasm { files, .. } = &mut wider {
        *files = ToolFileAccess::Read;
    }
    assert_ne!(surroundings(wider, "1").await, accepted);
}

#[tokio::test]
async fn preview_names_the_hosts_and_the_arguments() {
    let tool = tool(weather_transport(), "1", ToolAccess::Ask).expect("a tool");
    let preview = tool.preview(&json!({ "city": "Bern" }), &context()).await;
    for part in ["weather", "It may reach api.example.com only.", "\"city\": \"Bern\""] {
        assert!(preview.contains(part), "{part}: {preview}");
    }
}

/// The files of the package are read after their check, so a change in between is found too.
#[tokio::test]
async fn package_without_the_accepted_files_is_not_called() {
    let package = tempfile::tempdir().expect("a folder");
    std::fs::write(package.path().join("tool.toml"), WEATHER).expect("a file");
    std::fs::write(package.path().join("tool.js"), "function run() {}").expect("a file");
    let tool = tool_in(package.path(), weather_transport(), "1", ToolAccess::ReadsOnly);
    let tool = tool.expect("a tool");
    let policy = ToolPolicy::for_written_call("weather", &json!({}));
    let PolicyVerdict::Allowed(call) = policy.judge(tool.spec(), json!({})) else {
        panic!("the policy refused the call");
    };
    let output = tool.call(call, &context()).await;
    assert_eq!(output.fault, Some(Fault::Refused));
    let text = output.text();
    assert!(text.contains("Its files are not the accepted files."), "{text}");
    assert!(text.contains("`rouse extensions update weather`"), "{text}");
}
