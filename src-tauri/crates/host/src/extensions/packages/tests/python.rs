//! Installations from PyPI with fake installers: new and accepted requirements.

use super::*;

/// The SHA-256 of the file in the registry.
const REGISTRY_HASH: &str = "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1";

/// The words of pip about a file with another hash.
const PIP_MISMATCH: &str =
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.";

/// Creates an environment, resolves and installs `mcp-time` as Python does. The package has the arguments.
const PYTHON: &str = r#"#!/bin/sh
hash=REGISTRY_HASH
if [ "$2" = venv ]; then
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    exit
fi
root="$(dirname "$0")/.."
if [ "$4" = --dry-run ]; then
    printf '%s\n' "$@" > "$root/resolved"
    cat > "$7" <<END
{ "version": "1", "install": [{
  "metadata": { "name": "mcp-time", "version": "VERSION" },
  "download_info": { "url": "https://files.example.org/a.whl", "archive_info": { "hashes": { "sha256": "$hash" } } }
}] }
END
    exit
fi
printf '%s\n' "$@" > "$root/installed"
for last; do :; done
if ! grep -q -- "--hash=sha256:$hash" "$last"; then
    echo 'PIP_MISMATCH' >&2
    exit 1
fi
record="$root/lib/python3.12/site-packages/mcp_time-VERSION.dist-info"
mkdir -p "$record"
printf '[console_scripts]\nmcp-time = mcp_time:main\n' > "$record/entry_points.txt"
echo 'import mcp_time' > "$root/bin/mcp-time"
"#;

/// Creates an environment, resolves and installs `mcp-time` as uv does.
const UV: &str = r#"#!/bin/sh
for last; do :; done
if [ "$1" = venv ]; then
    mkdir -p "$last/bin"
    exit
fi
if [ "$2" = compile ]; then
    for word; do
        if [ "$before" = --output-file ]; then file="$word"; fi
        before="$word"
    done
    printf '%s \\\n    --hash=sha256:%s\n' "$(cat "$last")" REGISTRY_HASH > "$file"
    exit
fi
root="$(dirname "$last")/package"
printf '%s\n' "$@" > "$root/installed"
record="$root/lib/python3.12/site-packages/mcp_time-1.2.dist-info"
mkdir -p "$record"
printf '[console_scripts]\nmcp-time = mcp_time:main\n' > "$record/entry_points.txt"
echo 'import mcp_time' > "$root/bin/mcp-time"
"#;

/// A Python whose registry has this version of `mcp-time` with this hash.
fn python(version: &str, hash: &str) -> String {
    let text = PYTHON.replace("REGISTRY_HASH", hash).replace("PIP_MISMATCH", PIP_MISMATCH);
    text.replace("VERSION", version)
}

fn fixture() -> InstallFixture {
    InstallFixture::new(&[("python3", python("1.2", REGISTRY_HASH).as_str())])
}

fn mcp_time(version: &str) -> ExtensionSource {
    ExtensionSource::pypi(&format!("mcp-time=={version}"), None).expect("a package")
}

/// The hash of the requirements in a record.
fn requirements_of(source: &ExtensionSource) -> Option<&str> {
    let ExtensionSource::Pypi { requirements, .. } = source else {
        panic!("a package of PyPI");
    };
    requirements.as_deref()
}

async fn plan_update(
    fixture: &InstallFixture,
    source: ExtensionSource,
    installed: &InstalledPackage,
) -> Result<PlannedPackage, String> {
    fixture.installer.plan(&cal(), source, draft(""), Some(installed.clone())).await
}

async fn prepare(
    fixture: &InstallFixture,
    planned: PlannedPackage,
) -> Result<PreparedPackage, InstallError> {
    fixture.installer.begin(&cal())?.prepare(planned).await
}

fn has_note(planned: &PlannedPackage, words: &str) -> bool {
    planned.plan.notes.iter().any(|note| note.contains(words))
}

#[tokio::test]
async fn pip_installs_only_hashed_wheels_of_the_version() {
    let fixture = fixture();
    let planned = fixture.plan(mcp_time("1.2"), "").await.expect("a plan");
    assert_eq!(planned.plan.steps.len(), 3);
    assert!(has_note(&planned, "Only files with these hashes are installed."));
    let installed = fixture.install(mcp_time("1.2")).await;
    let folder = fixture.path("extensions/.packages/cal");
    assert_eq!(installed.command, shown(&folder.join("bin/python")));
    assert_eq!(installed.arguments, [shown(&folder.join("bin/mcp-time")), "--stdio".to_owned()]);
    assert_eq!(installed.environment["PYTHONDONTWRITEBYTECODE"], "1");
    assert_eq!(installed.package.components, ["mcp_time==1.2"]);
    for (file, step) in ["resolved", "installed"].into_iter().zip(&planned.plan.steps[1..]) {
        let arguments = fixture.text(&format!("extensions/.packages/cal/{file}"));
        assert_eq!(arguments.lines().collect::<Vec<_>>(), step.arguments);
        assert!(arguments.contains("--only-binary\n:all:\n"), "{arguments}");
    }
    let install = &planned.plan.steps[2].arguments;
    assert_eq!(install[..5], ["-m", "pip", "install", "--require-hashes", "--no-deps"]);
    let requirements = fixture.text("extensions/.packages/cal/rouse-requirements.txt");
    assert_eq!(requirements, format!("mcp-time==1.2 --hash=sha256:{REGISTRY_HASH}\n"));
    assert!(requirements_of(&installed.package.source).is_some());
    assert!(!fixture.path("extensions/.install/cal").exists());
}

#[tokio::test]
async fn uv_installs_the_resolved_packages_with_hashes() {
    let uv = UV.replace("REGISTRY_HASH", REGISTRY_HASH);
    let fixture = InstallFixture::new(&[("uv", uv.as_str())]);
    let planned = fixture.plan(mcp_time("1.2"), "").await.expect("a plan");
    let installed = fixture.install(mcp_time("1.2")).await;
    assert_eq!(installed.package.components, ["mcp_time==1.2"]);
    let requirements = fixture.text("extensions/.packages/cal/rouse-requirements.txt");
    assert_eq!(requirements, format!("mcp-time==1.2 --hash=sha256:{REGISTRY_HASH}\n"));
    let arguments = fixture.text("extensions/.packages/cal/installed");
    assert_eq!(arguments.lines().collect::<Vec<_>>(), planned.plan.steps[2].arguments);
    assert!(arguments.contains("\n--require-hashes\n--no-deps\n-r\n"), "{arguments}");
    assert!(planned.plan.steps[1].arguments.iter().any(|word| word == "--generate-hashes"));
}

#[tokio::test]
async fn report_without_a_hash_installs_nothing() {
    let fixture = InstallFixture::new(&[("python3", python("1.2", "").as_str())]);
    let error = fixture.prepare(mcp_time("1.2")).await.err().expect("no hash").to_string();
    assert!(error.starts_with("The registry names no SHA-256 of mcp-time==1.2,"), "{error}");
    assert!(!fixture.path("extensions/.packages/cal").exists());
    assert!(!fixture.path("extensions/.install/cal").exists());
}

#[tokio::test]
async fn same_version_uses_the_accepted_requirements() {
    let fixture = fixture();
    let installed = fixture.install(mcp_time("1.2")).await.package;
    assert!(fixture.path("extensions/.packages/cal/resolved").exists());
    let planned = plan_update(&fixture, mcp_time("1.2"), &installed).await.expect("a plan");
    assert_eq!(planned.plan.steps.len(), 2);
    assert_eq!(requirements_of(&planned.plan.source), requirements_of(&installed.source));
    assert!(has_note(&planned, "by the accepted requirements file"));
    let prepared = prepare(&fixture, planned).await.expect("new files");
    let updated = fixture.put(prepared).await.package;
    assert_eq!(updated.source, installed.source);
    assert!(!fixture.path("extensions/.packages/cal/resolved").exists());
    assert_eq!(fixture.checks().check(&cal(), &updated).await, Ok(()));
}

#[tokio::test]
async fn replaced_file_of_the_same_version_is_refused() {
    let fixture = fixture();
    let installed = fixture.install(mcp_time("1.2")).await.package;
    let replaced = python("1.2", &"b2".repeat(32));
    std::fs::write(fixture.path("bin/python3"), replaced).expect("written");
    let planned = plan_update(&fixture, mcp_time("1.2"), &installed).await.expect("a plan");
    let error = prepare(&fixture, planned).await.err().expect("another hash").to_string();
    let expected = "The package was not installed. python exited with status 1. A downloaded file has another SHA-256 than the requirements.";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.ends_with(&format!("Last error output:\n  │ {PIP_MISMATCH}")), "{error}");
    assert_eq!(fixture.checks().check(&cal(), &installed).await, Ok(()));
}

#[tokio::test]
async fn other_version_is_resolved_anew() {
    let fixture = fixture();
    let installed = fixture.install(mcp_time("1.2")).await.package;
    let hash = "b2".repeat(32);
    std::fs::write(fixture.path("bin/python3"), python("1.3", &hash)).expect("written");
    let planned = plan_update(&fixture, mcp_time("1.3"), &installed).await.expect("a plan");
    assert_eq!(planned.plan.steps.len(), 3);
    let prepared = prepare(&fixture, planned).await.expect("new files");
    let updated = fixture.put(prepared).await.package;
    assert_ne!(requirements_of(&updated.source), requirements_of(&installed.source));
    let requirements = fixture.text("extensions/.packages/cal/rouse-requirements.txt");
    assert_eq!(requirements, format!("mcp-time==1.3 --hash=sha256:{hash}\n"));
}

#[tokio::test]
async fn changed_requirements_are_not_used() {
    let fixture = fixture();
    let installed = fixture.install(mcp_time("1.2")).await.package;
    let planned = plan_update(&fixture, mcp_time("1.2"), &installed).await.expect("a plan");
    let kept = fixture.path("extensions/.packages/cal/rouse-requirements.txt");
    std::fs::write(kept, "evil==1\n").expect("written");
    let error = prepare(&fixture, planned).await.err().expect("changed").to_string();
    assert!(error.contains("have changed since you read its page"), "{error}");
    let planned = plan_update(&fixture, mcp_time("1.2"), &installed).await.expect("a plan");
    assert_eq!(planned.plan.steps.len(), 3);
    assert!(has_note(&planned, "requirements file is missing or changed"));
    // The old hash is a demand that no file fulfils.
    let demand = installed.source.clone();
    let error = plan_update(&fixture, demand, &installed).await.expect_err("no such file");
    assert!(error.contains("have no requirements with the SHA-256"), "{error}");
}

#[tokio::test]
async fn old_pip_names_the_remedy() {
    let old = PYTHON.replace(
        "    printf '%s\\n' \"$@\" > \"$root/resolved\"\n",
        "    echo 'no such option: --report' >&2; exit 2\n",
    );
    let fixture = InstallFixture::new(&[("python3", old.as_str())]);
    let error = fixture.prepare(mcp_time("1.2")).await.err().expect("old").to_string();
    assert!(error.contains("Its pip is older than 22.2. Update Python or install uv."), "{error}");
}
