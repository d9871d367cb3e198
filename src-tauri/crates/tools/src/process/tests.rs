//! Termination of real processes and their descendants.

use std::io::{BufRead as _, BufReader};
use std::process::Command as Std;

use super::*;

fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// A marker per test, because tests run in parallel.
fn marker(name: &str) -> String {
    format!("process-tests-{}:{name}", std::process::id())
}

fn is_alive(number: &str) -> bool {
    let stat = Std::new("ps").args(["-o", "stat=", "-p", number]).output().expect("ps runs");
    // A zombie is no running process.
    !stat.stdout.is_empty() && !stat.stdout.starts_with(b"Z")
}

/// Reads the process ids that the command prints, an id per line.
async fn numbers(child: ChildProcess, limit: Duration) -> Vec<String> {
    let finished = child.finish(limit).await.expect("an end");
    finished.stdout.text().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn background_process_ends_with_the_command() {
    let child =
        ChildProcess::spawn(shell("sleep 1000 & echo $!"), &marker("background")).expect("starts");
    let numbers = numbers(child, Duration::from_secs(20)).await;
    assert_eq!(numbers.len(), 1);
    assert!(!is_alive(&numbers[0]));
}

#[tokio::test]
async fn time_limit_kills_a_group_that_ignores_sigterm() {
    let line = "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000";
    let child = ChildProcess::spawn(shell(line), &marker("ignores-term")).expect("starts");
    let numbers = numbers(child, Duration::from_millis(300)).await;
    assert_eq!(numbers.len(), 2);
    assert!(!numbers.iter().any(|number| is_alive(number)), "{numbers:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn process_outside_the_group_is_killed() {
    // The substitution ends once the new session has closed the output.
    let line = "echo $(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &)";
    let child = ChildProcess::spawn(shell(line), &marker("moved")).expect("starts");
    let numbers = numbers(child, Duration::from_secs(20)).await;
    assert!(!is_alive(&numbers[0]), "{numbers:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_of_a_crash_are_found_by_instance() {
    let instance = format!("process-tests-crash-{}", std::process::id());
    let spawn = |marker: String| {
        Std::new("/bin/sleep").arg("1000").env(PROCESS_MARKER, marker).spawn().expect("starts")
    };
    let mut left = spawn(format!("{instance}:run-1"));
    let mut foreign = spawn(format!("{instance}-other:run-1"));
    // The environment is set once the new program has started.
    let environment = format!("/proc/{}/environ", left.id());
    while !String::from_utf8_lossy(&std::fs::read(&environment).expect("readable"))
        .contains(&instance)
    {
        std::thread::yield_now();
    }
    assert_eq!(kill_orphans(&format!("{instance}:")), 1);
    assert!(!left.wait().expect("ended").success());
    assert!(foreign.try_wait().expect("asked").is_none(), "another instance's is left alone");
    foreign.kill().expect("killed");
    foreign.wait().expect("ended");
}

/// Covers a child of a marked process and a member of the session, both without the marker.
#[cfg(target_os = "linux")]
#[test]
fn unmarked_descendants_of_a_marked_process_are_killed() {
    let instance = format!("process-tests-cleared-{}", std::process::id());
    let line = "setsid env -i sh -c 'echo $$; exec sleep 1000' & (env -i sh -c 'echo $$; exec sleep 1000' &) ; wait; exec sleep 1000";
    let mut leader = Std::new("setsid");
    leader.args(["sh", "-c", line]).env(PROCESS_MARKER, format!("{instance}:run-1"));
    let mut leader = leader.stdout(Stdio::piped()).spawn().expect("starts");
    let lines = BufReader::new(leader.stdout.take().expect("piped")).lines();
    let numbers: Vec<String> = lines.take(2).map(|line| line.expect("a number")).collect();
    assert_eq!(kill_orphans(&format!("{instance}:")), 3);
    assert!(!leader.wait().expect("ended").success());
    // Signals take effect asynchronously.
    while numbers.iter().any(|number| is_alive(number)) {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn dropped_child_is_terminated() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("alive");
    assert!(Std::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let line = format!("exec 3>'{}'; echo ready >&3; sleep 1000", pipe.display());
    let child = ChildProcess::spawn(shell(&line), &marker("dropped")).expect("starts");
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let reader = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(std::fs::File::open(pipe).expect("opened")).lines();
        begun.send(lines.next()).expect("the test waits");
        // The other end closes when the last holder has exited.
        lines.next().is_none()
    });
    assert_eq!(has_begun.await.expect("begun").expect("a line").expect("read"), "ready");
    drop(child);
    assert!(reader.await.expect("joined"));
}
