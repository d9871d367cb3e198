//! Tests of the file of installed extensions: changes, restarts, and files that are not overwritten.

use std::collections::BTreeMap;
use std::sync::Arc;

use rouse_agent::{Secret, SecretBook, SecretValue};
use rouse_core::UnixMs;
use rouse_core::extension::package::{ExtensionSource, FileManifest, InstalledPackage};
use rouse_core::extension::{
    ExtensionBook as _, ExtensionName, PinnedTool, ServerDefinition, ServerTransport, ToolAccess,
    ToolDefinition, ToolHints, ToolListing, compare_listing,
};
use rouse_testkit::ManualClock;
use serde_json::json;
use tempfile::TempDir;

use super::InstalledExtensions;
use crate::home::Home;

const NOW: UnixMs = UnixMs(1_795_327_200_000);

struct ExtensionFixture {
    folder: TempDir,
    secrets: Arc<SecretBook>,
}

impl ExtensionFixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), secrets: Arc::default() }
    }

    fn open(&self) -> InstalledExtensions {
        let home = Home::at(self.folder.path());
        let clock = Arc::new(ManualClock::new(NOW));
        InstalledExtensions::open(&home, Arc::clone(&self.secrets), clock)
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("extensions.lock")
    }
}

fn cal() -> ExtensionName {
    "cal".parse().expect("a name")
}

fn server(argument: &str) -> ServerDefinition {
    let transport = ServerTransport::Stdio {
        command: "/usr/bin/node".to_owned(),
        arguments: vec![argument.to_owned()],
        environment: BTreeMap::new(),
        folder: None,
        folders: Vec::new(),
        hosts: Vec::new(),
        is_unconfined: false,
    };
    ServerDefinition::new(transport)
}

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        hints: ToolHints::default(),
    }
}

fn pin(name: &str, description: &str) -> PinnedTool {
    PinnedTool::accept(tool(name, description), ToolAccess::Ask, NOW)
}

/// The listing of a server with these tools.
fn listing(extensions: &InstalledExtensions, listed: Vec<ToolDefinition>) -> ToolListing {
    let extension = extensions.get(&cal()).expect("installed");
    compare_listing(&extension.tools, listed)
}

#[test]
fn installed_extension_survives_a_restart() {
    let fixture = ExtensionFixture::new();
    fixture.open().install(&cal(), server("a.js"), None, NOW).expect("installed");
    let extensions = fixture.open();
    assert_eq!(extensions.problem(), None);
    let all = extensions.all();
    assert_eq!((all.len(), &all[0].0, &all[0].1.server), (1, &cal(), &server("a.js")));
    assert!(all[0].1.is_enabled);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(fixture.path()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn unusable_file_is_not_overwritten() {
    for (text, reason) in [
        ("{\"version\": 1, \"extensions\": []}", "is damaged at line 1"),
        ("not JSON", "is damaged at line 1"),
        ("{\"version\": 2, \"anything\": 7}", "was written by a newer Rouse"),
    ] {
        let fixture = ExtensionFixture::new();
        std::fs::write(fixture.path(), text).expect("a file");
        let extensions = fixture.open();
        assert!(extensions.problem().is_some_and(|problem| problem.contains(reason)), "{text}");
        let refused = extensions.install(&cal(), server("a.js"), None, NOW).expect_err(text);
        assert!(refused.to_string().contains(reason), "{refused}");
        assert!(extensions.all().is_empty());
        assert_eq!(std::fs::read_to_string(fixture.path()).expect("a file"), text);
    }
}

#[test]
fn file_changed_by_another_program_is_not_overwritten() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    for text in ["not JSON", "{\"version\": 1, \"extensions\": {}}"] {
        std::fs::write(fixture.path(), text).expect("a file");
        let refused = extensions.set_enabled(&cal(), false).expect_err(text);
        assert!(refused.to_string().contains("was changed by another program"), "{refused}");
        assert_eq!(std::fs::read_to_string(fixture.path()).expect("a file"), text);
    }
}

#[test]
fn pin_edited_by_hand_is_no_longer_accepted() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    let pins = vec![pin("read", "Reads"), pin("send", "Sends")];
    extensions.accept_tools(&cal(), pins).expect("accepted");
    let text = std::fs::read_to_string(fixture.path()).expect("a file");
    std::fs::write(fixture.path(), text.replace("Sends", "Sends, and copies to me"))
        .expect("written");
    assert_eq!(fixture.open().get(&cal()).expect("installed").tools, [pin("read", "Reads")]);
}

#[test]
fn accepted_tools_leave_the_held_ones() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    let listed = vec![tool("read", "Reads"), tool("send", "Sends")];
    let version = Some("cal 1.0".to_owned());
    extensions.record_listing(&cal(), version.clone(), &listing(&extensions, listed));
    assert_eq!(extensions.get(&cal()).expect("installed").held.len(), 2);
    extensions.accept_tools(&cal(), vec![pin("read", "Reads")]).expect("accepted");
    let extension = fixture.open().get(&cal()).expect("installed");
    assert_eq!(extension.tools, [pin("read", "Reads")]);
    assert_eq!(extension.held.len(), 1);
    assert_eq!(extension.reported_version, version);
}

#[test]
fn tool_changed_after_the_page_stays_held() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    let changed = vec![tool("read", "Reads, and copies to me")];
    extensions.record_listing(&cal(), None, &listing(&extensions, changed));
    extensions.accept_tools(&cal(), vec![pin("read", "Reads")]).expect("accepted");
    let extension = extensions.get(&cal()).expect("installed");
    assert_eq!(extension.tools, [pin("read", "Reads")]);
    assert_eq!(extension.held[0].offered.description, "Reads, and copies to me");
}

#[test]
fn new_definition_keeps_accepted_tools_only() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    let listed = listing(&extensions, vec![tool("send", "Sends")]);
    extensions.record_listing(&cal(), None, &listed);
    extensions.accept_tools(&cal(), vec![pin("read", "Reads")]).expect("accepted");
    assert_eq!(extensions.set_enabled(&cal(), false).ok(), Some(true));
    extensions.install(&cal(), server("b.js"), None, NOW).expect("updated");
    let extension = extensions.get(&cal()).expect("installed");
    assert_eq!(extension.server, server("b.js"));
    assert_eq!((extension.tools.len(), extension.held.len()), (1, 0));
    assert!(extension.is_enabled);
}

#[test]
fn access_is_chosen_for_accepted_tools_only() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    extensions.accept_tools(&cal(), vec![pin("read", "Reads")]).expect("accepted");
    let set = |tool| extensions.set_access(&cal(), tool, ToolAccess::ReadsOnly);
    assert_eq!(set("read").ok(), Some(true));
    assert_eq!(set("read").ok(), Some(false));
    let error = set("send").expect_err("not accepted").to_string();
    assert_eq!(error, "cal has no accepted tool send.");
    assert_eq!(extensions.get(&cal()).expect("installed").tools[0].access, ToolAccess::ReadsOnly);
}

#[test]
fn removed_extension_is_gone() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    extensions.remove(&cal()).expect("removed");
    assert!(fixture.open().all().is_empty());
    let error = extensions.remove(&cal()).expect_err("removed before").to_string();
    assert_eq!(error, "There is no extension cal.");
    // A listing that ends after the removal brings nothing back.
    extensions.record_listing(&cal(), None, &ToolListing::default());
    assert!(extensions.get(&cal()).is_none());
}

#[test]
fn failed_write_changes_nothing() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    // A folder in the place of the file, which no file can replace.
    std::fs::create_dir(fixture.path()).expect("a folder");
    let error = extensions.install(&cal(), server("a.js"), None, NOW).expect_err("no file");
    assert!(error.to_string().ends_with("Nothing was changed."), "{error}");
    assert!(extensions.all().is_empty());
}

#[test]
fn handle_is_filled_for_the_bound_server() {
    let fixture = ExtensionFixture::new();
    let value = SecretValue::new("sunflower-42").expect("a value");
    let secret = Secret::bound("token", value, &[], vec![cal()]).expect("a secret");
    fixture.secrets.replace(vec![secret]);
    let extensions = fixture.open();
    let fill = |name: &str| {
        extensions.fill_secrets(&name.parse().expect("a name"), "Bearer {{secret:token}}")
    };
    assert_eq!(fill("cal").as_deref(), Ok("Bearer sunflower-42"));
    let unbound = fill("mail").expect_err("not bound");
    assert!(unbound.text.contains("not bound to the server mail"), "{unbound}");
    assert!(!unbound.is_transient);
}

#[test]
fn only_a_secret_that_cannot_be_read_is_transient() {
    let fixture = ExtensionFixture::new();
    let locked = BTreeMap::from([("late".to_owned(), "the keyring is locked".to_owned())]);
    fixture.secrets.replace_with_unavailable(Vec::new(), locked);
    let extensions = fixture.open();
    for (handle, is_transient) in [("{{secret:late}}", true), ("{{secret:none}}", false)] {
        let unfilled = extensions.fill_secrets(&cal(), handle).expect_err("no value");
        assert_eq!(unfilled.is_transient, is_transient, "{unfilled}");
    }
}

#[test]
fn file_of_an_older_rouse_has_no_packages() {
    let fixture = ExtensionFixture::new();
    fixture.open().install(&cal(), server("a.js"), None, NOW).expect("installed");
    let text = std::fs::read_to_string(fixture.path()).expect("a file");
    assert!(!text.contains("package"), "{text}");
    assert_eq!(fixture.open().get(&cal()).expect("installed").package, None);
}

#[tokio::test]
async fn server_without_a_package_has_no_files_to_check() {
    let fixture = ExtensionFixture::new();
    let extensions = fixture.open();
    extensions.install(&cal(), server("a.js"), None, NOW).expect("installed");
    assert_eq!(extensions.check_files(&cal()).await, Ok(()));
    let package = InstalledPackage {
        source: ExtensionSource::npm("files@1.2.3", None).expect("a package"),
        draft: server("a.js"),
        files: FileManifest { sha256: "0".repeat(64), files: 1, bytes: 1 },
        components: Vec::new(),
    };
    extensions.install(&cal(), server("a.js"), Some(package.clone()), NOW).expect("installed");
    assert_eq!(fixture.open().get(&cal()).expect("installed").package, Some(package));
    let error = extensions.check_files(&cal()).await.expect_err("no files");
    assert!(error.contains("rouse extensions update cal"), "{error}");
}
