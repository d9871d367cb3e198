use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::components;
use super::fixture::{COMPILER_TEST, GuestFixture, compiler};
use crate::{
    CompileError, CompilerProgram, ComponentCache, Guest, GuestError, MAX_COMPONENT_BYTES,
    WasmRuntime,
};

fn compiled_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The fixture with a new cache in the same folder, as after a start of Rouse.
fn restarted(fixture: GuestFixture, program: CompilerProgram) -> GuestFixture {
    let folder = fixture.folder.path().join("compiled");
    let cache = ComponentCache::new(folder, program, Arc::clone(&fixture.hashes) as _);
    GuestFixture { runtime: WasmRuntime::new(cache), ..fixture }
}

#[tokio::test]
async fn compiled_file_is_loaded_after_a_restart() {
    let fixture = GuestFixture::new();
    let echo = components::echo();
    // An earlier compilation was killed.
    let folder = fixture.folder.path().join("compiled");
    fs::create_dir(&folder).expect("a folder");
    for left in ["1-0.wasm", "1-0.tmp"] {
        fs::write(folder.join(left), "").expect("a file");
    }
    fixture.call(&echo, &json!(1)).await.result.expect("a result");
    // A compilation would fail.
    let fixture = restarted(fixture, CompilerProgram::with_arguments(&["--no-such-option"]));
    assert_eq!(fixture.call(&echo, &json!(2)).await.result, Ok(json!(2)));
    let files = compiled_files(&fixture.folder.path().join("compiled"));
    assert_eq!(files.len(), 1, "{files:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&files[0]).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn forged_file_is_compiled_again() {
    let fixture = GuestFixture::new();
    let (echo, failing) = (components::echo(), components::failing());
    for component in [&echo, &failing] {
        let _ = fixture.call(component, &json!(1)).await;
    }
    let files = compiled_files(&fixture.folder.path().join("compiled"));
    let [first, second] = files.as_slice() else { panic!("{files:?}") };
    let (of_first, of_second) = (fs::read(first).expect("code"), fs::read(second).expect("code"));
    // Each file is valid code, but of the other component.
    fs::write(first, &of_second).expect("a file");
    fs::write(second, &of_first).expect("a file");
    let fixture = restarted(fixture, compiler());
    assert_eq!(fixture.call(&echo, &json!(1)).await.result, Ok(json!(1)));
    let failed = fixture.call(&failing, &json!(1)).await.result;
    assert_eq!(failed, Err(GuestError::Tool("1".to_owned())));
    assert_eq!(fs::read(first).expect("code"), of_first);
    fs::write(first, &of_first[..1_000]).expect("a file");
    let fixture = restarted(fixture, compiler());
    assert_eq!(fixture.call(&echo, &json!(1)).await.result, Ok(json!(1)));
}

#[tokio::test]
async fn unloaded_component_leaves_memory() {
    let fixture = GuestFixture::new();
    let echo = components::echo();
    let compilations = || *fixture.hashes.count.lock().expect("no panic");
    for expected in [1, 2] {
        assert_eq!(fixture.call(&echo, &json!(1)).await.result, Ok(json!(1)));
        for file in compiled_files(&fixture.folder.path().join("compiled")) {
            fs::remove_file(file).expect("removed");
        }
        // From memory, as no file is left.
        assert_eq!(fixture.call(&echo, &json!(2)).await.result, Ok(json!(2)));
        assert_eq!(compilations(), expected);
        fixture.runtime.cache().unload();
    }
}

#[tokio::test]
async fn two_calls_compile_once() {
    let fixture = GuestFixture::new();
    let echo = components::echo();
    let (one, two) = (json!(1), json!(2));
    let (first, second) = tokio::join!(fixture.call(&echo, &one), fixture.call(&echo, &two));
    assert_eq!((first.result, second.result), (Ok(one), Ok(two)));
    assert_eq!(*fixture.hashes.count.lock().expect("no panic"), 1);
}

#[tokio::test]
async fn bad_components_are_refused() {
    let fixture = GuestFixture::new();
    let prepare = async |bytes: &[u8]| {
        let guest = Guest::Component(bytes.to_vec().into());
        match fixture.runtime.prepare(&guest).await {
            Err(GuestError::Compile(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let bytes = MAX_COMPONENT_BYTES + 1;
    let too_large = CompileError::TooLarge { bytes, limit: MAX_COMPONENT_BYTES };
    assert_eq!(prepare(&vec![0; bytes]).await, too_large);
    for invalid in [&b"(component)"[..], b"", b"\0asm\x01\0\0\0"] {
        let error = prepare(invalid).await;
        assert!(matches!(error, CompileError::Invalid(_)), "{error:?}");
    }
    let left = compiled_files(&fixture.folder.path().join("compiled"));
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[tokio::test]
async fn compilation_ends_at_the_time_limit() {
    let limit = Duration::from_nanos(1);
    let fixture = restarted(GuestFixture::new(), compiler().with_time_limit(limit));
    let trace = fixture.call(&components::echo(), &json!(1)).await;
    assert_eq!(trace.result, Err(GuestError::Compile(CompileError::TimeLimit(limit))));
}

#[cfg(unix)]
#[test]
fn compiler_is_bounded_and_ends_with_its_parent() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().expect("a folder");
    // A pipe: the compiler waits for the component until its own end.
    let input = folder.path().join("component");
    assert!(Command::new("mkfifo").arg(&input).status().expect("mkfifo").success());
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["--exact", COMPILER_TEST, "--nocapture", "__compile-wasm"])
        .args([&input, &folder.path().join("compiled")])
        .env("ROUSE_WASM_COMPILER", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    // Opens when the compiler opens its end.
    let _writer = fs::OpenOptions::new().write(true).open(&input).expect("a pipe");
    #[cfg(target_os = "linux")]
    {
        let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).expect("limits");
        let memory = limits.lines().find(|line| line.starts_with("Max address space"));
        assert!(memory.expect("a limit").contains(" 2147483648 "), "{limits}");
    }
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("an end").code(), Some(4));
}

#[tokio::test]
async fn crash_of_the_compiler_is_an_error() {
    let program = CompilerProgram::with_arguments(&["--no-such-option"]);
    let fixture = restarted(GuestFixture::new(), program);
    let trace = fixture.call(&components::echo(), &json!(1)).await;
    assert_eq!(trace.result, Err(GuestError::Compile(CompileError::Crashed)));
}
