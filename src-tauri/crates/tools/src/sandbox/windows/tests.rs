//! The parts of the Windows sandbox that can be tried anywhere, and the whole of it as far as the computer has one: where
//! it has none, these tests hold that nothing is run.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::windows::io::AsHandle as _;
use std::os::windows::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::process::{self, Job, Wanted};
use super::proof::{LINE, Seen, Stage};
use super::rights::Sid;
use super::{available, confined, container};
use crate::child::End;
use crate::http::{Fetcher, HttpConfig};
use crate::sandbox::{Layer, Missing, Sandbox, SandboxError};

fn withstood() -> Seen {
    let words = "has-begun\r\ngiven\r\nown-read\r\nown-written\r\nsecret-closed\r\noutside-closed\r\ncurl 8.0\r\nclient-runs\r\nnear-closed\r\nfar-closed\r\n";
    Seen {
        words: words.to_owned(),
        secret: "secret-1".to_owned(),
        has_ended: true,
        wrote_own: true,
        wrote_outside: false,
        reached_listener: false,
    }
}

#[test]
fn a_sandbox_holds_only_when_every_attempt_was_seen_to_fail() {
    assert_eq!(withstood().judge(), Ok(()));
    let words = withstood().words;
    let without = |word: &str| Seen { words: words.replace(word, ""), ..withstood() };
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
    let leaks = Seen { words: format!("{words}secret-1"), ..withstood() };
    for seen in [
        leaks,
        Seen { has_ended: false, ..withstood() },
        Seen { wrote_own: false, ..withstood() },
        Seen { wrote_outside: true, ..withstood() },
        Seen { reached_listener: true, ..withstood() },
    ] {
        let why = seen.judge().expect_err("this one got out");
        assert!(why.starts_with("in the self-test a confined command"), "{why}");
    }
}

/// The attempts are real ones: a command that is not confined does get out, and is seen to.
#[test]
fn a_command_that_is_not_confined_is_seen_to_get_out() {
    let stage = Stage::new().unwrap();
    let output = Command::new(process::system_folder().unwrap().join("cmd.exe"))
        .raw_arg(format!("/d /s /c \"{LINE}\""))
        .env_clear()
        .envs(stage.variables().unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let seen = stage.seen(said, true);
    assert!(seen.words.contains("own-read") && seen.wrote_own, "{seen:?}");
    assert!(seen.words.contains(&seen.secret) && seen.wrote_outside, "{seen:?}");
    let why = seen.judge().expect_err("nothing held it");
    assert!(why.contains("could read a file outside"), "{why}");
}

#[test]
fn a_listener_that_was_reached_is_seen() {
    let stage = Stage::new().unwrap();
    assert!(!stage.seen(String::new(), true).reached_listener);
    let stream = std::net::TcpStream::connect(stage.listener.local_addr().unwrap()).unwrap();
    assert!(stage.seen(String::new(), true).reached_listener);
    drop(stream);
}

/// Whether the computer has a sandbox or not: a command never runs outside it.
#[tokio::test]
async fn a_command_runs_confined_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, outside) = (folder.path().join("work"), folder.path().join("outside.txt"));
    fs::create_dir(&workspace).unwrap();
    let line = format!("echo x> inside.txt & echo x> \"{}\"", outside.display());
    let sandbox = Sandbox::new(&workspace, &[], None).unwrap();
    let spawned = match sandbox.prepared().await {
        Ok(sandbox) => {
            sandbox.spawn(&line, variables(), "test:run:0", Fetcher::new(&HttpConfig::default()))
        }
        Err(error) => Err(error),
    };
    match (available(), spawned) {
        (Ok(layers), Ok(child)) => {
            assert!(layers.held.contains("AppContainer"));
            let finished = child.finish(Duration::from_secs(60)).await.unwrap();
            assert!(matches!(finished.end, End::Exited(_)), "{finished:?}");
            assert!(workspace.join("inside.txt").exists());
        }
        (Err(known), Err(error)) => {
            assert_eq!(known.to_string(), error.to_string());
            let SandboxError::Missing(Missing { layer, mend, .. }) = &error else {
                panic!("{error:?}")
            };
            assert!(matches!(layer, Layer::AppContainer | Layer::Proof), "{error}");
            assert!(mend.contains("A person can allow"), "{error}");
            assert!(error.to_string().contains("Nothing was run"), "{error}");
            assert!(!workspace.join("inside.txt").exists());
        }
        (available, spawned) => panic!("{available:?}, but {:?}", spawned.err()),
    }
    assert!(!outside.exists());
}

/// What the system made of the process is looked at before it runs, so that a system that ignores what it was asked for,
/// or a container that nobody has made, runs nothing that could write here.
#[test]
fn a_process_that_is_not_in_its_container_never_runs() {
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("written.txt");
    let program = process::system_folder().unwrap().join("cmd.exe");
    let line = format!("cmd /d /s /c \"echo x> \"{}\"\"", written.display());
    let environment = confined::block(variables().into_iter()).unwrap();
    let (sid, job) = (Sid::of_nobody(), Job::new(8, 1 << 30).unwrap());
    let nothing = File::open("NUL").unwrap();
    let wanted = Wanted {
        program: program.as_os_str(),
        line: OsStr::new(&line),
        folder: folder.path().as_os_str(),
        environment: &environment,
        sid: &sid,
        job: &job,
        streams: [nothing.as_handle(); 3],
    };
    let begun = process::create(&wanted).and_then(|suspended| suspended.begin(&wanted));
    if let Ok(process) = begun {
        process::wait(&process, Some(Duration::from_secs(60))).unwrap();
    }
    let unheeded = process::create_unheeded(&wanted).unwrap();
    let error = unheeded.begin(&wanted).expect_err("it is in no job and in no container");
    assert!(error.to_string().contains("did not put the command into its"), "{error}");
    job.end().unwrap();
    assert!(!written.exists());
}

#[test]
fn granted_hosts_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(folder.path(), &[], None).unwrap();
    let sandbox = Sandbox { hosts: vec!["example.org".to_owned()], ..sandbox };
    let error = super::prepare(&sandbox).expect_err("there is no way for a proxy");
    assert!(error.to_string().contains("hosts can be granted"), "{error}");
}

#[test]
fn a_workspace_brings_neither_the_home_nor_rouses_data_along() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(folder.path(), &[], None).unwrap();
    assert!(container::check(&sandbox).is_ok());
    let data = sandbox.workspace.join("data");
    fs::create_dir(&data).unwrap();
    let error = container::check(&Sandbox { hidden: vec![data], ..sandbox.clone() });
    assert!(error.is_err_and(|error| error.to_string().contains("Rouse's own data")));
    let home = Path::new(&std::env::var_os("USERPROFILE").unwrap()).canonicalize().unwrap();
    let error = container::check(&Sandbox { workspace: home, ..sandbox.clone() });
    assert!(error.is_err_and(|error| error.to_string().contains("your whole home")));
    let disk = Path::new("C:\\").canonicalize().unwrap();
    let error = container::check(&Sandbox { workspace: disk, ..sandbox.clone() });
    assert!(error.is_err_and(|error| error.to_string().contains("a whole disk")));
    let share = Path::new(r"\\?\UNC\server\share\work").to_owned();
    let error = container::check(&Sandbox { workspace: share, ..sandbox });
    assert!(error.is_err_and(|error| error.to_string().contains("not a folder of a disk")));
}

#[test]
fn each_workspace_has_a_name_of_its_own_that_tells_nothing_of_it() {
    let [a, again, b] =
        [r"C:\Work", r"c:\work", r"C:\Other"].map(|it| container::name(Path::new(it)));
    assert_eq!(a, again);
    assert_ne!(a, b);
    assert!(a.len() <= 64 && a.starts_with("rouse.") && !a.contains("ork"), "{a}");
}

#[test]
fn a_path_is_plain_only_on_a_disk() {
    for (path, expected) in [
        (r"\\?\C:\Users\x", Some(r"C:\Users\x")),
        (r"\\?\C:\", Some(r"C:\")),
        (r"D:\a b", Some(r"D:\a b")),
        (r"\\?\UNC\server\share", None),
        (r"\\server\share\x", None),
    ] {
        let plain = container::plain(Path::new(path));
        assert_eq!(plain.as_deref(), expected.map(Path::new), "{path}");
    }
}

#[test]
fn rights_are_added_and_nobody_loses_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let (inner, file) = (folder.path().join("inner"), folder.path().join("inner").join("a.txt"));
    fs::create_dir(&inner).unwrap();
    fs::write(&file, "kept").unwrap();
    container::open_to(folder.path(), &Sid::of_nobody()).unwrap();
    container::open_to(folder.path(), &Sid::of_nobody()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    fs::write(&file, "changed").unwrap();
    fs::remove_dir_all(&inner).unwrap();
}

#[test]
fn an_environment_is_what_was_named_sorted_and_once() {
    let pairs = [("b", "2"), ("A", "1"), ("B", "3"), ("a_c", "x=y")];
    let pairs = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let block = confined::block(pairs.into_iter()).unwrap();
    assert_eq!(String::from_utf16(&block).unwrap(), "A=1\0a_c=x=y\0B=3\0\0");
    let zero = [(OsString::from("A"), OsString::from("1\u{0}B=2"))];
    assert!(confined::block(zero.into_iter()).is_err());
}

fn variables() -> Vec<(OsString, OsString)> {
    let passed = ["PATH", "SYSTEMROOT", "COMSPEC"];
    passed.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}
