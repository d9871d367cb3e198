//! Installations with fake installers as real processes, and the comparison of installed files.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::extension::package::{
    ExtensionSource, FileChange, FileChangeKind, InstalledPackage, PROGRAM_OF_PACKAGE,
    PackageChanges,
};
use rouse_core::extension::{ExtensionName, ServerDefinition, ServerTransport};
use rouse_gateway::PlannedPackage;
use rouse_testkit::ManualClock;
use rouse_tools::{HttpConfig, LineProcessConfig, LineProcesses};

use super::installer::PreparedPackage;
use super::{InstallError, PackageChecks, PackageInstaller, packages_folder};
use crate::options::EnvReader;
use crate::zip_archive::built::{build, entry};

mod python;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Installs the package `files@1.2.3` as npm does.
const NPM: &str = r#"#!/bin/sh
printf '%s\n' "$@" > "$0.arguments"
env > "$0.environment"
mkdir -p node_modules/files/dist
echo 'let a;' > node_modules/files/dist/a.js
echo '{"version":"1.2.3","bin":"dist/a.js"}' > node_modules/files/package.json
echo '{"packages":{"node_modules/files":{"integrity":"sha512-x"}}}' > package-lock.json
"#;

/// Waits for the end of its input.
const SILENT: &str = "#!/bin/sh\nexec cat\n";

struct InstallFixture {
    root: tempfile::TempDir,
    installer: PackageInstaller,
    clock: ManualClock,
}

impl InstallFixture {
    /// A computer with these programs in `PATH`.
    fn new(programs: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let bin = root.path().join("bin");
        std::fs::create_dir(&bin).expect("a folder");
        for (name, text) in programs {
            let path = bin.join(name);
            std::fs::write(&path, text).expect("written");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("a program");
        }
        let folders = root.path().join("extensions");
        let processes = LineProcesses::new(LineProcessConfig {
            instance: format!("package-tests-{}", root.path().display()),
            packages: packages_folder(&folders),
            folders: folders.clone(),
            hidden: Vec::new(),
            network: HttpConfig::default(),
        });
        let variables = BTreeMap::from([
            ("PATH", bin.display().to_string()),
            ("HOME", root.path().display().to_string()),
            ("HTTPS_PROXY", "http://proxy.example:3128".to_owned()),
            ("HTTP_PROXY", "http://me:pw@proxy.example:3128".to_owned()),
        ]);
        let env: EnvReader = Arc::new(move |name: &str| variables.get(name).cloned());
        let installer = PackageInstaller::new(Arc::new(processes), folders, env);
        Self { root, installer, clock: ManualClock::new(UnixMs(1_000)) }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.root.path().join(inside)
    }

    fn text(&self, inside: &str) -> String {
        std::fs::read_to_string(self.path(inside)).expect("a text")
    }

    fn checks(&self) -> PackageChecks {
        PackageChecks::new(self.path("extensions"), Arc::new(self.clock.clone()))
    }

    async fn plan(&self, source: ExtensionSource, command: &str) -> Result<PlannedPackage, String> {
        self.installer.plan(&cal(), source, draft(command), None).await
    }

    /// The changes on the page of an update.
    async fn changes(&self, source: ExtensionSource, installed: &InstalledPackage) -> String {
        let installed = Some(installed.clone());
        let planned = self.installer.plan(&cal(), source, draft("node"), installed).await;
        match planned.expect("a plan").plan.changes {
            Some(PackageChanges { files, others: 0 }) => {
                let text =
                    |file: &FileChange| format!("{} {}", file.change.update_label(), file.path);
                files.iter().map(text).collect::<Vec<_>>().join(", ")
            }
            other => format!("{other:?}"),
        }
    }

    async fn prepare(&self, source: ExtensionSource) -> Result<PreparedPackage, InstallError> {
        let planned = self.plan(source, "").await.expect("a plan");
        self.installer.begin(&cal())?.prepare(planned).await
    }

    async fn install(&self, source: ExtensionSource) -> Installed {
        let prepared = self.prepare(source).await.expect("new files");
        self.put(prepared).await
    }

    async fn put(&self, prepared: PreparedPackage) -> Installed {
        let (placed, package, server) = prepared.put_in_place().await.expect("in place");
        placed.keep().await.expect("kept");
        let ServerTransport::Stdio { command, arguments, environment, .. } = server.transport
        else {
            panic!("a package is started");
        };
        Installed { package, command, arguments, environment }
    }
}

/// An installed package with its start command.
struct Installed {
    package: InstalledPackage,
    command: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

fn cal() -> ExtensionName {
    "cal".parse().expect("a name")
}

fn draft(command: &str) -> ServerDefinition {
    let transport = ServerTransport::Stdio {
        command: command.to_owned(),
        arguments: vec!["--stdio".to_owned()],
        environment: BTreeMap::new(),
        folder: None,
        folders: Vec::new(),
        hosts: Vec::new(),
        is_unconfined: false,
    };
    ServerDefinition::new(transport)
}

fn npm() -> ExtensionSource {
    ExtensionSource::npm("files@1.2.3", None).expect("a package")
}

fn shown(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

#[tokio::test]
async fn npm_page_shows_the_command_of_npm() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    let planned = fixture.plan(npm(), "").await.expect("a plan");
    assert_eq!(planned.plan.registry.as_deref(), Some("the default registry of npm"));
    let ServerTransport::Stdio { command, arguments, .. } = &planned.server.transport else {
        panic!("a package is started");
    };
    assert_eq!(*command, shown(&fixture.path("bin/node")));
    assert_eq!(*arguments, [PROGRAM_OF_PACKAGE, "--stdio"]);
    // The plan itself starts nothing.
    assert!(!fixture.path("bin/npm.arguments").exists() && !fixture.path("extensions").exists());
    let installed = fixture.install(npm()).await;
    let step = &planned.plan.steps[0];
    assert_eq!(step.program, shown(&fixture.path("bin/npm")));
    assert_eq!(fixture.text("bin/npm.arguments").lines().collect::<Vec<_>>(), step.arguments);
    for word in ["--ignore-scripts", "--userconfig", "--save-exact", "files@1.2.3"] {
        assert!(step.arguments.iter().any(|argument| argument == word), "{word}");
    }
    let script = fixture.path("extensions/.packages/cal/node_modules/files/dist/a.js");
    assert_eq!(installed.arguments, [shown(&script), "--stdio".to_owned()]);
    assert_eq!(installed.command, *command);
    let ExtensionSource::Npm { integrity, .. } = &installed.package.source else {
        panic!("an npm package");
    };
    assert_eq!(integrity.as_deref(), Some("sha512-x"));
    assert_eq!(installed.package.draft, draft(""));
    assert!(!fixture.path("extensions/.install/cal").exists());
}

#[tokio::test]
async fn npm_gets_basic_variables_and_plain_proxies() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    fixture.install(npm()).await;
    let variables = fixture.text("bin/npm.environment");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "the tests run under cargo");
    assert!(!variables.contains("CARGO_MANIFEST_DIR="), "{variables}");
    assert!(variables.lines().any(|line| line == "HTTPS_PROXY=http://proxy.example:3128"));
    assert!(!variables.contains("me:pw"), "{variables}");
}

#[tokio::test]
async fn failed_npm_leaves_the_installed_files() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    fixture.install(npm()).await;
    let failing = "#!/bin/sh\nmkdir half\necho 'npm error 404 Not Found' >&2\nexit 1\n";
    std::fs::write(fixture.path("bin/npm"), failing).expect("written");
    let error = fixture.prepare(npm()).await.err().expect("a failure").to_string();
    let expected = "The package was not installed. npm exited with status 1. Last error output:\n  │ npm error 404 Not Found";
    assert_eq!(error, expected);
    assert!(!fixture.path("extensions/.install/cal").exists());
    assert!(fixture.path("extensions/.packages/cal/package.json").is_file());
}

#[tokio::test]
async fn error_output_keeps_its_lines_and_their_ends() {
    let versions: Vec<String> = (0..100).map(|minor| format!("0.{minor}.0")).collect();
    let long = format!("npm error from versions: {}", versions.join(", "));
    let failing = format!(
        "#!/bin/sh\ncat >&2 <<'END'\nnpm error code ETARGET\n\n{long}\nnpm error A complete log of this run can be found in: /x/y.log\nEND\nexit 1\n"
    );
    let fixture = InstallFixture::new(&[("node", ""), ("npm", failing.as_str())]);
    let error = fixture.prepare(npm()).await.err().expect("a failure").to_string();
    let lines: Vec<&str> = error.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{error}");
    assert_eq!(lines[0], "  │ npm error code ETARGET");
    assert!(lines[1].starts_with("  │ npm error from versions: 0.0.0, "), "{error}");
    assert!(lines[1].contains('…') && lines[1].ends_with("0.98.0, 0.99.0"), "{error}");
    assert_eq!(lines[1].chars().count(), "  │ ".chars().count() + 200);
}

#[tokio::test]
async fn other_version_than_the_accepted_one_is_refused() {
    let other = NPM.replace("1.2.3", "1.2.4");
    let fixture = InstallFixture::new(&[("node", ""), ("npm", other.as_str())]);
    let error = fixture.prepare(npm()).await.err().expect("another version").to_string();
    assert_eq!(error, "npm installed files@1.2.4 in the place of 1.2.3.");
    assert!(!fixture.path("extensions/.packages/cal").exists());
}

#[tokio::test]
async fn installation_ends_at_its_time_limit() {
    let mut fixture = InstallFixture::new(&[("node", ""), ("npm", SILENT)]);
    fixture.installer = fixture.installer.with_limit(Duration::ZERO);
    let error = fixture.prepare(npm()).await.err().expect("the limit");
    assert!(matches!(error, InstallError::TimedOut(limit) if limit.is_zero()), "{error}");
    assert!(error.to_string().starts_with("The installation took longer than 0 s"), "{error}");
}

#[tokio::test]
async fn installation_can_be_cancelled() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", SILENT)]);
    assert!(!fixture.installer.cancel(&cal()));
    let planned = fixture.plan(npm(), "").await.expect("a plan");
    let running = fixture.installer.begin(&cal()).expect("the only one");
    assert!(matches!(fixture.installer.begin(&cal()).err(), Some(InstallError::Running(_))));
    assert!(fixture.installer.step(&cal()).is_some() && fixture.installer.cancel(&cal()));
    let error = running.prepare(planned).await.err().expect("cancelled");
    assert!(matches!(error, InstallError::Cancelled), "{error}");
    drop(running);
    assert_eq!(fixture.installer.step(&cal()), None);
}

#[tokio::test]
async fn missing_node_names_the_remedy() {
    let fixture = InstallFixture::new(&[]);
    let error = fixture.plan(npm(), "").await.expect_err("no Node.js");
    assert!(error.contains("There is no program node") && error.contains("nodejs.org"), "{error}");
    let latest = ExtensionSource::Npm {
        package: "files".to_owned(),
        version: "latest".to_owned(),
        program: None,
        integrity: None,
    };
    let error = fixture.plan(latest, "").await.expect_err("a tag");
    assert!(error.contains("is no exact version"), "{error}");
}

#[tokio::test]
async fn bundle_is_unpacked_as_it_was_accepted() {
    let fixture = InstallFixture::new(&[("node", "")]);
    let manifest = r#"{ "manifest_version": "0.3", "name": "files", "version": "1.0.0",
        "server": { "type": "node", "mcp_config": {
            "command": "node", "args": ["${__dirname}/server/a.js"] } } }"#;
    let file = fixture.path("files.mcpb");
    let bundle =
        |script: &str| build(&[entry("manifest.json", manifest), entry("server/a.js", script)]);
    std::fs::write(&file, bundle("let a;")).expect("written");
    let source =
        ExtensionSource::Mcpb { file: shown(&file), sha256: None, config: BTreeMap::new() };
    let planned = fixture.plan(source.clone(), "").await.expect("a plan");
    assert_eq!(planned.plan.claims.as_deref(), Some("files 1.0.0"));
    assert_eq!(planned.plan.size.expect("a size").files, 2);
    let installed = fixture.install(source).await;
    let script = fixture.path("extensions/.packages/cal/server/a.js");
    assert_eq!(installed.arguments, [shown(&script), "--stdio".to_owned()]);
    assert_eq!(std::fs::read_to_string(script).expect("a script"), "let a;");
    std::fs::write(&file, bundle("evil();")).expect("written");
    let running = fixture.installer.begin(&cal()).expect("the only one");
    let error = running.prepare(planned).await.err().expect("another file").to_string();
    assert!(error.contains("has changed since you read its page"), "{error}");
}

#[tokio::test]
async fn update_of_a_bundle_lists_its_changed_files() {
    let fixture = InstallFixture::new(&[("node", "")]);
    let manifest = r#"{ "manifest_version": "0.3", "name": "files", "version": "1.0.0",
        "server": { "type": "node", "mcp_config": {
            "command": "node", "args": ["${__dirname}/a.js"] } } }"#;
    let file = fixture.path("files.mcpb");
    let source =
        ExtensionSource::Mcpb { file: shown(&file), sha256: None, config: BTreeMap::new() };
    let first = [entry("manifest.json", manifest), entry("a.js", "1"), entry("b/old.js", "2")];
    std::fs::write(&file, build(&first)).expect("written");
    let installed = fixture.install(source.clone()).await.package;
    assert_eq!(fixture.changes(source.clone(), &installed).await, "");
    let next = [entry("manifest.json", manifest), entry("a.js", "3"), entry("c.js", "4")];
    std::fs::write(&file, build(&next)).expect("written");
    let changes = fixture.changes(source.clone(), &installed).await;
    assert_eq!(changes, "changed a.js, removed b/old.js, added c.js");
    // Without the accepted list, as after a restore, the difference is unknown.
    std::fs::remove_file(fixture.path("extensions/.packages/cal.sha256")).expect("removed");
    assert_eq!(fixture.changes(source, &installed).await, "None");
}

#[tokio::test]
async fn update_of_a_folder_lists_its_changed_files() {
    let fixture = InstallFixture::new(&[("node", "")]);
    let folder = fixture.path("notes");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("a.js"), "let a;").expect("written");
    let source = ExtensionSource::Folder { path: shown(&folder), sha256: None };
    let planned = fixture.plan(source.clone(), "node").await.expect("a plan");
    assert_eq!(planned.plan.changes, None);
    let running = fixture.installer.begin(&cal()).expect("the only one");
    let prepared = running.prepare(planned).await.expect("new files");
    drop(running);
    let (placed, installed, _) = prepared.put_in_place().await.expect("in place");
    placed.keep().await.expect("kept");
    std::fs::write(folder.join("a.js"), "let b;").expect("written");
    std::fs::write(folder.join("b.js"), "").expect("written");
    let changes = fixture.changes(source, &installed).await;
    assert_eq!(changes, "changed a.js, added b.js");
}

#[tokio::test]
async fn folder_is_used_in_place_and_read_only() {
    let fixture = InstallFixture::new(&[("node", "")]);
    let folder = fixture.path("notes");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("a.js"), "let a;").expect("written");
    let source = ExtensionSource::Folder { path: shown(&folder), sha256: None };
    let planned = fixture.plan(source.clone(), "node").await.expect("a plan");
    let ServerTransport::Stdio { command, folder: start, folders, .. } = &planned.server.transport
    else {
        panic!("a folder is started");
    };
    assert_eq!(*command, shown(&fixture.path("bin/node")));
    assert_eq!(start.as_deref(), folder.to_str());
    assert_eq!(folders[0].to_string(), shown(&folder));
    std::fs::write(folder.join("a.js"), "evil();").expect("written");
    let running = fixture.installer.begin(&cal()).expect("the only one");
    let error = running.prepare(planned).await.err().expect("another folder").to_string();
    assert!(error.contains("has changed since you read its page"), "{error}");
    let error = fixture.plan(source, "").await.expect_err("no command");
    assert!(error.contains("after --"), "{error}");
}

#[tokio::test]
async fn changed_missing_and_extra_files_stop_a_start() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    let package = fixture.install(npm()).await.package;
    let checks = fixture.checks();
    assert_eq!(checks.check(&cal(), &package).await, Ok(()));
    let modules = fixture.path("extensions/.packages/cal/node_modules/files");
    let script = modules.join("dist/a.js");
    std::fs::write(&script, "evil(1);").expect("written");
    let difference = "Its file node_modules/files/dist/a.js is changed.".to_owned();
    assert_eq!(checks.check(&cal(), &package).await, Err(difference));
    std::fs::remove_file(modules.join("package.json")).expect("removed");
    std::fs::write(modules.join("new.js"), "").expect("written");
    let error = checks.check(&cal(), &package).await.expect_err("three differences");
    assert!(error.ends_with("is changed, and 2 more files differ."), "{error}");
    let changes = checks.changes(&cal(), &package).await.expect("compared");
    let kinds: Vec<FileChangeKind> = changes.iter().map(|change| change.change).collect();
    let expected = [FileChangeKind::Changed, FileChangeKind::Extra, FileChangeKind::Missing];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn same_size_and_time_are_hashed_again_after_a_day() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    let package = fixture.install(npm()).await.package;
    let checks = fixture.checks();
    assert_eq!(checks.check(&cal(), &package).await, Ok(()));
    let script = fixture.path("extensions/.packages/cal/node_modules/files/dist/a.js");
    let modified = std::fs::metadata(&script).and_then(|found| found.modified()).expect("a time");
    std::fs::write(&script, "let b;\n").expect("written");
    let file = std::fs::File::options().write(true).open(&script).expect("a file");
    file.set_modified(modified).expect("a time");
    assert_eq!(checks.check(&cal(), &package).await, Ok(()));
    fixture.clock.advance(DAY_MS);
    assert!(checks.check(&cal(), &package).await.is_err());
    // A restart of the engine hashes all files.
    assert!(fixture.checks().check(&cal(), &package).await.is_err());
}

#[tokio::test]
async fn replaced_list_of_files_stops_a_start() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    let package = fixture.install(npm()).await.package;
    let list = fixture.path("extensions/.packages/cal.sha256");
    let text = std::fs::read_to_string(&list).expect("a list");
    std::fs::write(&list, text.replace('a', "b")).expect("written");
    let error = fixture.checks().check(&cal(), &package).await.expect_err("another list");
    assert!(error.ends_with("is not the accepted list."), "{error}");
}

#[tokio::test]
async fn missing_files_name_the_command_that_installs_them() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    let package = fixture.install(npm()).await.package;
    std::fs::remove_dir_all(fixture.path("extensions")).expect("removed");
    let error = fixture.checks().check(&cal(), &package).await.expect_err("no files");
    assert!(error.ends_with("`rouse extensions update cal --version 1.2.3`."), "{error}");
    let package = fixture.install(npm()).await.package;
    assert_eq!(fixture.checks().check(&cal(), &package).await, Ok(()));
}

#[tokio::test]
async fn installed_package_is_private_and_beside_its_server_folder() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    fixture.install(npm()).await;
    let mode = |path: &str| fixture.path(path).metadata().expect("there").permissions().mode();
    for folder in ["extensions/.packages", "extensions/.packages/cal"] {
        assert_eq!(mode(folder) & 0o777, 0o700, "{folder}");
    }
    assert!(!fixture.path("extensions/cal/package").exists());
    assert_eq!(fixture.installer.delete_files(&cal()).await, None);
    assert!(!fixture.path("extensions/.packages/cal").exists());
    assert!(!fixture.path("extensions/.packages/cal.sha256").exists());
}

#[tokio::test]
async fn undone_installation_restores_the_old_files() {
    let fixture = InstallFixture::new(&[("node", ""), ("npm", NPM)]);
    let package = fixture.install(npm()).await.package;
    let marked = NPM.replace("let a;", "let other;");
    std::fs::write(fixture.path("bin/npm"), marked).expect("written");
    let prepared = fixture.prepare(npm()).await.expect("new files");
    let (placed, ..) = prepared.put_in_place().await.expect("in place");
    assert!(fixture.checks().check(&cal(), &package).await.is_err());
    placed.undo().await;
    assert_eq!(fixture.checks().check(&cal(), &package).await, Ok(()));
}
