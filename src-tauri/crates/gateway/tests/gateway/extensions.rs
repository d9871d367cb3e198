//! Consent to servers and tools, over a port in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rouse_core::UnixMs;
use rouse_core::extension::package::{
    ExtensionSource, FileChange, FileChangeKind, FileManifest, InstalledPackage, PackagePlan,
};
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, PinnedTool, ServerDefinition, ServerState,
    ServerStatus, ServerUnavailable, ToolAccess, ToolDefinition, ToolHints, ToolListing,
    UnavailableKind, UnfilledSecret, compare_listing,
};
use rouse_core::tool::BoxFuture;
use rouse_gateway::{ErrorCode, Extensions, PlannedPackage, RpcError, ServerInspection, SignIns};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::fixture::GatewayFixture;

/// Extensions in memory. Every server lists the same tools.
#[derive(Default)]
pub(crate) struct MemoryExtensions {
    installed: Mutex<BTreeMap<ExtensionName, Extension>>,
    /// The tools of every server; none for a server that does not start.
    listed: Mutex<Option<Vec<ToolDefinition>>>,
    /// Whether a sign-in waits for the browser.
    pub(crate) is_sign_in_pending: watch::Sender<bool>,
}

impl MemoryExtensions {
    fn list(&self, tools: Vec<ToolDefinition>) {
        *self.listed.lock().expect("not poisoned") = Some(tools);
    }

    fn edit<T>(&self, name: &ExtensionName, edit: impl FnOnce(&mut Extension) -> T) -> Option<T> {
        self.installed.lock().expect("not poisoned").get_mut(name).map(edit)
    }
}

impl ExtensionBook for MemoryExtensions {
    fn get(&self, name: &ExtensionName) -> Option<Extension> {
        self.installed.lock().expect("not poisoned").get(name).cloned()
    }

    fn all(&self) -> Vec<(ExtensionName, Extension)> {
        self.installed.lock().expect("not poisoned").clone().into_iter().collect()
    }

    fn record_listing(&self, name: &ExtensionName, _: Option<String>, listing: &ToolListing) {
        self.edit(name, |extension| extension.held.clone_from(&listing.held));
    }

    fn fill_secrets(&self, _: &ExtensionName, text: &str) -> Result<String, UnfilledSecret> {
        Ok(text.to_owned())
    }

    fn check_files<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Extensions for MemoryExtensions {
    fn book(&self) -> &dyn ExtensionBook {
        self
    }

    fn sign_ins(&self) -> &dyn SignIns {
        self
    }

    fn status(&self, _: &ExtensionName) -> ServerStatus {
        let state = ServerState::Off;
        ServerStatus { state, reason: None, stderr_tail: None, started_at_ms: None }
    }

    fn resolve(
        &self,
        server: ServerDefinition,
    ) -> BoxFuture<'_, Result<ServerDefinition, RpcError>> {
        Box::pin(std::future::ready(Ok(server)))
    }

    fn install<'a>(
        &'a self,
        name: &'a ExtensionName,
        server: ServerDefinition,
        now: UnixMs,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        let extension = Extension::installed(server, now);
        self.installed.lock().expect("not poisoned").insert(name.clone(), extension);
        Box::pin(std::future::ready(Ok(())))
    }

    fn plan_package<'a>(
        &'a self,
        _: &'a ExtensionName,
        source: ExtensionSource,
        draft: ServerDefinition,
    ) -> BoxFuture<'a, Result<PlannedPackage, RpcError>> {
        let plan = PackagePlan {
            source,
            replaces: None,
            changes: None,
            registry: None,
            claims: None,
            steps: Vec::new(),
            folder: "/data/extensions/cal/package".to_owned(),
            size: None,
            notes: Vec::new(),
        };
        let server = draft.clone();
        Box::pin(std::future::ready(Ok(PlannedPackage { draft, server, plan })))
    }

    fn install_package<'a>(
        &'a self,
        name: &'a ExtensionName,
        package: PlannedPackage,
        now: UnixMs,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        Box::pin(async move {
            let PlannedPackage { draft, server, plan } = package;
            self.install(name, server, now).await?;
            let files = FileManifest { sha256: "0".repeat(64), files: 2, bytes: 10 };
            let source = plan.source;
            let components = vec![source.label()];
            let package = InstalledPackage { source, draft, files, components };
            self.edit(name, |extension| extension.package = Some(package));
            Ok(())
        })
    }

    fn install_step(&self, _: &ExtensionName) -> Option<String> {
        None
    }

    fn cancel_install(&self, _: &ExtensionName) -> bool {
        false
    }

    fn verify_files<'a>(
        &'a self,
        _: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Vec<FileChange>, String>> {
        let change = FileChange { path: "a.js".to_owned(), change: FileChangeKind::Changed };
        Box::pin(std::future::ready(Ok(vec![change])))
    }

    fn inspect<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<ServerInspection, ServerUnavailable>> {
        let listed = self.listed.lock().expect("not poisoned").clone();
        let inspected = match listed {
            Some(listed) => {
                let pins = self.get(name).expect("installed").tools;
                self.record_listing(name, None, &compare_listing(&pins, listed));
                Ok(ServerInspection::default())
            }
            None => Err(ServerUnavailable {
                server: name.clone(),
                kind: UnavailableKind::Unreachable,
                reason: format!("{name} did not start."),
                remedy: "Check its command.".to_owned(),
            }),
        };
        Box::pin(std::future::ready(inspected))
    }

    fn accept_tools(&self, name: &ExtensionName, tools: Vec<PinnedTool>) -> Result<(), RpcError> {
        self.edit(name, |extension| {
            extension.held.clear();
            extension.tools = tools;
        });
        Ok(())
    }

    fn set_access(
        &self,
        name: &ExtensionName,
        tool: &str,
        access: ToolAccess,
    ) -> Result<bool, RpcError> {
        let changed = self.edit(name, |extension| {
            let mut pins = extension.tools.iter_mut();
            pins.find(|pin| pin.definition.name == tool).is_some_and(|pin| {
                pin.access = access;
                true
            })
        });
        Ok(changed.unwrap_or_default())
    }

    fn set_enabled<'a>(
        &'a self,
        name: &'a ExtensionName,
        is_enabled: bool,
    ) -> BoxFuture<'a, Result<bool, RpcError>> {
        self.edit(name, |extension| extension.is_enabled = is_enabled);
        Box::pin(std::future::ready(Ok(true)))
    }

    fn remove<'a>(
        &'a self,
        name: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Option<String>, RpcError>> {
        self.installed.lock().expect("not poisoned").remove(name);
        Box::pin(std::future::ready(Ok(None)))
    }

    fn stop<'a>(&'a self, _: &'a ExtensionName) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn tool(name: &str, description: &str, read_only: Option<bool>) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        hints: ToolHints { read_only, ..ToolHints::default() },
    }
}

fn draft(argument: &str) -> Value {
    let transport = json!({ "kind": "stdio", "command": "/bin/cal", "arguments": [argument] });
    json!({ "name": "cal", "server": { "transport": transport } })
}

/// The draft with the accepted hash.
fn with_hash(draft: &Value, hash: &Value) -> Value {
    let mut params = draft.clone();
    params["accept"] = hash.clone();
    params
}

/// Installs `cal` with these tools; returns the page of tools.
async fn install(fixture: &GatewayFixture, tools: Vec<ToolDefinition>) -> Value {
    fixture.extensions.list(tools);
    let page = fixture.call("extensions.preview", draft("a")).await;
    fixture.call("extensions.install", with_hash(&draft("a"), &page["hash"])).await
}

#[tokio::test]
async fn installation_needs_the_hash_of_its_page() {
    let fixture = GatewayFixture::new().await;
    let page = fixture.call("extensions.preview", draft("a")).await;
    for hash in [json!(""), json!("000000000000"), page["hash"].clone()] {
        // The hash of another command accepts nothing.
        let refused = fixture.try_call("extensions.install", with_hash(&draft("b"), &hash)).await;
        let error = refused.expect_err("another page");
        assert_eq!(error.code, ErrorCode::Conflict.number());
        assert!(error.message.contains("names another page of cal"), "{}", error.message);
        assert!(error.message.contains("without `--accept`"), "{}", error.message);
    }
    assert_eq!(fixture.call("extensions.list", json!({})).await["extensions"], json!([]));
    fixture.stop().await;
}

/// A key would stand on the page, in the lock file and in every backup.
#[tokio::test]
async fn key_in_plain_text_is_refused_before_the_page() {
    let fixture = GatewayFixture::new().await;
    let key = "ghp_q7Zk2pX9vB4mT1sR8wN6q7Zk2pX9vB4mT1sR";
    let stdio = |rest: Value| {
        let mut transport = json!({ "kind": "stdio", "command": "/bin/cal" });
        transport
            .as_object_mut()
            .expect("an object")
            .extend(rest.as_object().expect("one").clone());
        transport
    };
    let url = format!("https://mcp.example.org/v1?api_key={key}");
    let header = json!({ "Authorization": format!("Bearer {key}") });
    let cases = [
        (stdio(json!({ "environment": { "TOKEN": key } })), "environment.TOKEN"),
        (stdio(json!({ "arguments": ["--token", key] })), "arguments[1]"),
        (
            json!({ "kind": "http", "url": "https://mcp.example.org", "headers": header }),
            "headers.Authorization",
        ),
        (json!({ "kind": "http", "url": url }), "url"),
    ];
    for (transport, field) in cases {
        let draft = json!({ "name": "cal", "server": { "transport": transport } });
        let guessed = with_hash(&draft, &json!("000000000000"));
        for (method, params) in [("extensions.preview", draft), ("extensions.install", guessed)] {
            let error = fixture.try_call(method, params).await.expect_err(field);
            let path = format!("server.transport.{field}");
            assert_eq!(error.data["fields"][0]["path"], json!(path), "{method}");
            let told = format!("{} {}", error.message, error.data);
            assert!(!told.contains(&key[..12]), "{told}");
        }
    }
    let bundle = json!({ "kind": "mcpb", "file": "/tmp/cal.mcpb", "config": { "token": [key] } });
    let mut draft = draft("a");
    draft["source"] = bundle;
    let error = fixture.try_call("extensions.preview", draft).await.expect_err("a setting");
    let remedy = "Then write --config token={{secret:cal_token}}.";
    assert!(error.message.ends_with(remedy), "{}", error.message);
    fixture.stop().await;
}

#[tokio::test]
async fn name_of_a_tool_of_rouse_is_refused() {
    let fixture = GatewayFixture::new().await;
    // A gate without coding agents has no tool `delegate`.
    for name in ["echo", "delegate"] {
        let mut draft = draft("a");
        draft["name"] = json!(name);
        let error = fixture.try_call("extensions.preview", draft).await.expect_err("reserved");
        assert_eq!(error.data["fields"][0]["path"], json!("name"), "{name}");
    }
    let tool = json!({ "name": "weather", "server": { "transport": { "kind": "wasm" } } });
    let error = fixture.try_call("extensions.preview", tool).await.expect_err("no folder");
    assert_eq!(error.data["fields"][0]["path"], json!("server.transport.kind"));
    fixture.stop().await;
}

#[tokio::test]
async fn server_that_does_not_start_stays_installed() {
    let fixture = GatewayFixture::new().await;
    let page = fixture.call("extensions.preview", draft("a")).await;
    let installed = fixture.call("extensions.install", with_hash(&draft("a"), &page["hash"])).await;
    assert_eq!(installed["error"], "cal did not start. Check its command.");
    let list = fixture.call("extensions.list", json!({})).await;
    assert_eq!(list["extensions"][0]["transport"], "/bin/cal a");
    let page = fixture.call("extensions.preview", draft("b")).await;
    assert_eq!(page["replaces"]["transport"]["arguments"], json!(["a"]));
    fixture.stop().await;
}

#[tokio::test]
async fn tools_get_the_chosen_or_proposed_access() {
    let fixture = GatewayFixture::new().await;
    let tools = vec![tool("read", "Reads.", Some(true)), tool("send", "Sends.", None)];
    let page = install(&fixture, tools).await;
    assert_eq!(page["proposals"], json!({ "read": "readsOnly", "send": "ask" }));
    let list = fixture.call("extensions.list", json!({})).await;
    assert_eq!(
        (&list["extensions"][0]["accepted"], &list["extensions"][0]["held"]),
        (&json!(0), &json!(2))
    );
    let hash = &page["page"]["hash"];
    let unknown = json!({ "name": "cal", "accept": hash, "access": { "drop": "ask" } });
    let error = fixture.try_call("extensions.accept", unknown).await.expect_err("no such tool");
    assert_eq!(error.code, ErrorCode::InvalidParams.number());
    let params = json!({ "name": "cal", "accept": hash, "access": { "send": "off" } });
    let accepted = fixture.call("extensions.accept", params).await;
    let access = |number: usize| accepted["extension"]["tools"][number]["access"].clone();
    assert_eq!((access(0), access(1)), (json!("readsOnly"), json!("off")));
    assert_eq!(accepted["tools"][0], json!({ "rawName": "read", "toolName": "cal_read" }));
    fixture.stop().await;
}

#[tokio::test]
async fn changed_tools_need_a_new_page() {
    let fixture = GatewayFixture::new().await;
    let page = install(&fixture, vec![tool("send", "Sends.", None)]).await;
    let old = json!({ "name": "cal", "accept": page["page"]["hash"] });
    fixture.extensions.list(vec![tool("send", "Sends, and copies to me.", None)]);
    fixture.call("extensions.review", json!({ "name": "cal" })).await;
    let error = fixture.try_call("extensions.accept", old).await.expect_err("an old page");
    assert_eq!(error.code, ErrorCode::Conflict.number());
    let get = fixture.call("extensions.get", json!({ "name": "cal" })).await;
    assert_eq!(get["extension"]["tools"], json!([]));
    fixture.stop().await;
}

#[tokio::test]
async fn changed_tool_is_not_proposed_a_wider_access() {
    let fixture = GatewayFixture::new().await;
    let page = install(&fixture, vec![tool("send", "Sends.", None)]).await;
    let hash = &page["page"]["hash"];
    let params = json!({ "name": "cal", "accept": hash, "access": { "send": "alwaysAsk" } });
    fixture.call("extensions.accept", params).await;
    fixture.extensions.list(vec![tool("send", "Sends.", Some(true))]);
    let page = fixture.call("extensions.review", json!({ "name": "cal" })).await;
    assert_eq!(page["proposals"], json!({ "send": "alwaysAsk" }));
    assert_eq!(page["page"]["tools"][0]["change"], "changed");
    fixture.stop().await;
}

#[tokio::test]
async fn accept_without_held_tools_is_refused() {
    let fixture = GatewayFixture::new().await;
    let page = install(&fixture, Vec::new()).await;
    let params = json!({ "name": "cal", "accept": page["page"]["hash"] });
    let error = fixture.try_call("extensions.accept", params).await.expect_err("no tools");
    assert!(error.message.starts_with("No tool of cal waits for you."), "{}", error.message);
    fixture.stop().await;
}

#[tokio::test]
async fn removed_or_unknown_extension_is_not_found() {
    let fixture = GatewayFixture::new().await;
    install(&fixture, Vec::new()).await;
    let name = json!({ "name": "cal" });
    let removed = fixture.call("extensions.remove", name.clone()).await;
    assert_eq!(removed, json!({ "revokedGrants": 0, "manualCleanup": null }));
    for method in ["get", "review", "remove", "restart"] {
        let method = format!("extensions.{method}");
        let error = fixture.try_call(&method, name.clone()).await.expect_err("removed");
        assert_eq!(error.code, ErrorCode::NotFound.number(), "{method}");
    }
    let invalid = fixture.try_call("extensions.get", json!({ "name": "My Cal" })).await;
    assert!(invalid.expect_err("no name").message.starts_with("name: "));
    fixture.stop().await;
}

/// The draft of a package in this version.
fn package_draft(version: &str) -> Value {
    let mut draft = draft("a");
    draft["source"] = json!({ "kind": "npm", "package": "cal", "version": version });
    draft
}

#[tokio::test]
async fn package_is_installed_by_the_hash_of_its_version() {
    let fixture = GatewayFixture::new().await;
    fixture.extensions.list(Vec::new());
    let page = fixture.call("extensions.preview", package_draft("1.2.3")).await;
    let plain = fixture.call("extensions.preview", draft("a")).await;
    for hash in [&plain["hash"], &page["hash"]] {
        let refused = with_hash(&package_draft("1.2.4"), hash);
        let error = fixture.try_call("extensions.install", refused).await.expect_err("other files");
        assert_eq!(error.code, ErrorCode::Conflict.number());
    }
    let accepted = with_hash(&package_draft("1.2.3"), &page["hash"]);
    let installed = fixture.call("extensions.install", accepted).await;
    assert_eq!(installed["componentChanges"], Value::Null);
    let update = fixture.call("extensions.preview", package_draft("1.2.4")).await;
    assert_eq!(update["package"]["replaces"]["version"], "1.2.3");
    assert_eq!(update["package"]["source"]["version"], "1.2.4");
    let accepted = with_hash(&package_draft("1.2.4"), &update["hash"]);
    let updated = fixture.call("extensions.install", accepted).await;
    let changes = json!(["removed npm package cal@1.2.3", "added npm package cal@1.2.4"]);
    assert_eq!(updated["componentChanges"], changes);
    fixture.stop().await;
}

#[tokio::test]
async fn only_packages_are_verified() {
    let fixture = GatewayFixture::new().await;
    install(&fixture, Vec::new()).await;
    assert_eq!(fixture.call("extensions.verify", json!({})).await, json!({ "extensions": [] }));
    let page = fixture.call("extensions.preview", package_draft("1.2.3")).await;
    let accepted = with_hash(&package_draft("1.2.3"), &page["hash"]);
    fixture.call("extensions.install", accepted).await;
    let changes = json!([{ "path": "a.js", "change": "changed" }]);
    let verified = json!({ "name": "cal", "files": 2, "changes": changes, "problem": null });
    for params in [json!({}), json!({ "name": "cal" })] {
        let found = fixture.call("extensions.verify", params).await;
        assert_eq!(found, json!({ "extensions": [verified] }));
    }
    let unknown = fixture.try_call("extensions.verify", json!({ "name": "mail" })).await;
    assert_eq!(unknown.expect_err("not installed").code, ErrorCode::NotFound.number());
    fixture.stop().await;
}
