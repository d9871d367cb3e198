//! The parts of the Windows sandbox that can be tested anywhere, and the whole sandbox if the computer has one;
//! otherwise these tests check that nothing runs. Preview: never run on Windows.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::windows::io::AsHandle as _;
use std::os::windows::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::acl::Sid;
use super::process::{self, Job, ProcessSpec};
use super::self_test::{AttemptResult, LINE, TestTargets};
use super::{app_container, command, probe};
use crate::http_guard::{Fetcher, HttpConfig};
use crate::process::ExitCause;
use crate::sandbox::{MissingLayer, Sandbox, SandboxError, SandboxLayer};

fn passed() -> AttemptResult {
    let output = "has-begun\r\ngiven\r\nown-read\r\nown-written\r\nsecret-closed\r\noutside-closed\r\ncurl 8.0\r\nclient-runs\r\nnear-closed\r\nfar-closed\r\n";
    AttemptResult {
        output: output.to_owned(),
        secret: "secret-1".to_owned(),
        has_exited: true,
        wrote_own: true,
        wrote_outside: false,
        reached_listener: false,
    }
}

#[test]
fn self_test_passes_only_if_every_escape_failed() {
    assert_eq!(passed().judge(), Ok(()));
    let output = passed().output;
    let without = |word: &str| AttemptResult { output: output.replace(word, ""), ..passed() };
    for word in [
        "has-begun",
        "own-read",
        "secret-closed",
        "outside-closed",
        "client-runs",
        "near-closed",
        "far-closed",
    ] {
        assert!(without(word).judge().is_err(), "{word}");
    }
    let leaks = AttemptResult { output: format!("{output}secret-1"), ..passed() };
    for result in [
        leaks,
        AttemptResult { has_exited: false, ..passed() },
        AttemptResult { wrote_own: false, ..passed() },
        AttemptResult { wrote_outside: true, ..passed() },
        AttemptResult { reached_listener: true, ..passed() },
    ] {
        let why = result.judge().expect_err("an escape");
        assert!(why.starts_with("in the self-test a sandboxed command"), "{why}");
    }
}

/// An unconfined command escapes, and the attempts detect that.
#[test]
fn self_test_detects_an_unconfined_command() {
    let targets = TestTargets::new().unwrap();
    let output = Command::new(process::system_folder().unwrap().join("cmd.exe"))
        .raw_arg(format!("/d /s /c \"{LINE}\""))
        .env_clear()
        .envs(targets.variables().unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let result = targets.collect(text, true);
    assert!(result.output.contains("own-read") && result.wrote_own, "{result:?}");
    assert!(result.output.contains(&result.secret) && result.wrote_outside, "{result:?}");
    let why = result.judge().expect_err("an escape");
    assert!(why.contains("could read a file outside"), "{why}");
}

#[test]
fn self_test_detects_a_reached_listener() {
    let targets = TestTargets::new().unwrap();
    assert!(!targets.collect(String::new(), true).reached_listener);
    let stream = std::net::TcpStream::connect(targets.listener.local_addr().unwrap()).unwrap();
    assert!(targets.collect(String::new(), true).reached_listener);
    drop(stream);
}

/// With or without a sandbox: no command runs outside.
#[tokio::test]
async fn command_runs_in_the_sandbox_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, outside) = (folder.path().join("work"), folder.path().join("outside.txt"));
    fs::create_dir(&workspace).unwrap();
    let line = format!("echo x> inside.txt & echo x> \"{}\"", outside.display());
    let sandbox = Sandbox::new(&workspace, &[], None).unwrap();
    let spawned = match sandbox.prepare().await {
        Ok(sandbox) => {
            sandbox.spawn(&line, variables(), "test:run:0", Fetcher::new(&HttpConfig::default()))
        }
        Err(error) => Err(error),
    };
    match (probe(), spawned) {
        (Ok(guarantees), Ok(child)) => {
            assert!(guarantees.enforced.contains("AppContainer"));
            let completed = child.finish(Duration::from_secs(60)).await.unwrap();
            assert!(matches!(completed.exit, ExitCause::Exited(_)), "{completed:?}");
            assert!(workspace.join("inside.txt").exists());
        }
        (Err(known), Err(error)) => {
            assert_eq!(known.to_string(), error.to_string());
            let SandboxError::Missing(MissingLayer { layer, remedy, .. }) = &error else {
                panic!("{error:?}")
            };
            assert!(matches!(layer, SandboxLayer::AppContainer | SandboxLayer::Proof), "{error}");
            assert!(remedy.contains("A person can allow"), "{error}");
            assert!(error.to_string().contains("Nothing was run"), "{error}");
            assert!(!workspace.join("inside.txt").exists());
        }
        (probed, spawned) => panic!("{probed:?}, but {:?}", spawned.err()),
    }
    assert!(!outside.exists());
}

/// The process is checked before the first instruction, so that nothing runs on a system that ignores the request, or
/// without an AppContainer.
#[test]
fn process_outside_its_container_never_runs() {
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("written.txt");
    let program = process::system_folder().unwrap().join("cmd.exe");
    let line = format!("cmd /d /s /c \"echo x> \"{}\"\"", written.display());
    let environment = command::environment_block(variables().into_iter()).unwrap();
    let (sid, job) = (Sid::unassigned(), Job::new(8, 1 << 30).unwrap());
    let null = File::open("NUL").unwrap();
    let spec = ProcessSpec {
        program: program.as_os_str(),
        line: OsStr::new(&line),
        folder: folder.path().as_os_str(),
        environment: &environment,
        sid: &sid,
        job: &job,
        streams: [null.as_handle(); 3],
    };
    let resumed = process::create(&spec).and_then(|suspended| suspended.resume_if_confined(&spec));
    if let Ok(process) = resumed {
        process::wait(&process, Some(Duration::from_secs(60))).unwrap();
    }
    let unconfined = process::create_unconfined(&spec).unwrap();
    let error = unconfined.resume_if_confined(&spec).expect_err("no job and no container");
    assert!(error.to_string().contains("did not put the command into its"), "{error}");
    job.terminate().unwrap();
    assert!(!written.exists());
}

#[test]
fn granted_hosts_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(folder.path(), &[], None).unwrap();
    let sandbox = Sandbox { hosts: vec!["example.org".to_owned()], ..sandbox };
    let error = super::prepare(&sandbox).expect_err("no proxy");
    assert!(error.to_string().contains("hosts can be granted"), "{error}");
}

#[test]
fn workspace_with_home_or_rouse_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(folder.path(), &[], None).unwrap();
    assert!(app_container::check_workspace(&sandbox).is_ok());
    let data = sandbox.workspace.join("data");
    fs::create_dir(&data).unwrap();
    let error = app_container::check_workspace(&Sandbox { hidden: vec![data], ..sandbox.clone() });
    assert!(error.is_err_and(|error| error.to_string().contains("Rouse's own data")));
    let home = Path::new(&std::env::var_os("USERPROFILE").unwrap()).canonicalize().unwrap();
    let error = app_container::check_workspace(&Sandbox { workspace: home, ..sandbox.clone() });
    assert!(error.is_err_and(|error| error.to_string().contains("your whole home")));
    let disk = Path::new("C:\\").canonicalize().unwrap();
    let error = app_container::check_workspace(&Sandbox { workspace: disk, ..sandbox.clone() });
    assert!(error.is_err_and(|error| error.to_string().contains("a whole disk")));
    let share = Path::new(r"\\?\UNC\server\share\work").to_owned();
    let error = app_container::check_workspace(&Sandbox { workspace: share, ..sandbox });
    assert!(error.is_err_and(|error| error.to_string().contains("not a folder on a disk")));
}

#[test]
fn container_name_is_unique_and_discloses_nothing() {
    let [a, again, b] = [r"C:\Work", r"c:\work", r"C:\Other"]
        .map(|path| app_container::container_name(Path::new(path)));
    assert_eq!(a, again);
    assert_ne!(a, b);
    assert!(a.len() <= 64 && a.starts_with("rouse.") && !a.contains("ork"), "{a}");
}

#[test]
fn verbatim_prefix_is_stripped_only_on_a_disk() {
    for (path, expected) in [
        (r"\\?\C:\Users\x", Some(r"C:\Users\x")),
        (r"\\?\C:\", Some(r"C:\")),
        (r"D:\a b", Some(r"D:\a b")),
        (r"\\?\UNC\server\share", None),
        (r"\\server\share\x", None),
    ] {
        let plain = app_container::strip_verbatim_prefix(Path::new(path));
        assert_eq!(plain.as_deref(), expected.map(Path::new), "{path}");
    }
}

#[test]
fn granting_access_keeps_the_access_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let (inner, file) = (folder.path().join("inner"), folder.path().join("inner").join("a.txt"));
    fs::create_dir(&inner).unwrap();
    fs::write(&file, "kept").unwrap();
    app_container::grant_access(folder.path(), &Sid::unassigned()).unwrap();
    app_container::grant_access(folder.path(), &Sid::unassigned()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    fs::write(&file, "changed").unwrap();
    fs::remove_dir_all(&inner).unwrap();
}

#[test]
fn environment_block_is_sorted_and_unique() {
    let pairs = [("b", "2"), ("A", "1"), ("B", "3"), ("a_c", "x=y")];
    let pairs = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let block = command::environment_block(pairs.into_iter()).unwrap();
    assert_eq!(String::from_utf16(&block).unwrap(), "A=1\0a_c=x=y\0B=3\0\0");
    let zero = [(OsString::from("A"), OsString::from("1\u{0}B=2"))];
    assert!(command::environment_block(zero.into_iter()).is_err());
}

fn variables() -> Vec<(OsString, OsString)> {
    let passed = ["PATH", "SYSTEMROOT", "COMSPEC"];
    passed.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}
