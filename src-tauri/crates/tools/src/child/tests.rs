//! Real processes: what is started is ended, whatever it does.

use std::io::{BufRead as _, BufReader};
use std::process::Command as Std;

use super::*;

fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// A mark of its own for every test, as tests run side by side.
fn mark(name: &str) -> String {
    format!("child-tests-{}:{name}", std::process::id())
}

fn is_alive(number: &str) -> bool {
    let stat = Std::new("ps").args(["-o", "stat=", "-p", number]).output().expect("ps runs");
    // What has ended and was not yet waited for is no process any more.
    !stat.stdout.is_empty() && !stat.stdout.starts_with(b"Z")
}

/// The numbers that the command writes, one a line.
async fn numbers(child: Child, limit: Duration) -> Vec<String> {
    let finished = child.finish(limit).await.expect("an end");
    finished.stdout.text().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn what_it_leaves_in_the_background_ends_with_it() {
    let child = Child::spawn(shell("sleep 1000 & echo $!"), &mark("background")).expect("starts");
    let numbers = numbers(child, Duration::from_secs(20)).await;
    assert_eq!(numbers.len(), 1);
    assert!(!is_alive(&numbers[0]));
}

#[tokio::test]
async fn a_limit_ends_the_whole_group_even_one_that_does_not_listen() {
    let line = "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000";
    let child = Child::spawn(shell(line), &mark("deaf")).expect("starts");
    let numbers = numbers(child, Duration::from_millis(300)).await;
    assert_eq!(numbers.len(), 2);
    assert!(!numbers.iter().any(|number| is_alive(number)), "{numbers:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_moved_out_of_the_group_is_found() {
    // The substitution ends when the new session is there and has let go of its output.
    let line = "echo $(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &)";
    let child = Child::spawn(shell(line), &mark("moved")).expect("starts");
    let numbers = numbers(child, Duration::from_secs(20)).await;
    assert!(!is_alive(&numbers[0]), "{numbers:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_crash_left_behind_is_found_by_its_instance() {
    let instance = format!("child-tests-crash-{}", std::process::id());
    let spawn =
        |mark: String| Std::new("/bin/sleep").arg("1000").env(MARK, mark).spawn().expect("starts");
    let mut left = spawn(format!("{instance}:run-1"));
    let mut foreign = spawn(format!("{instance}-other:run-1"));
    // The environment is the new program's only once it has begun.
    let environment = format!("/proc/{}/environ", left.id());
    while !String::from_utf8_lossy(&std::fs::read(&environment).expect("readable"))
        .contains(&instance)
    {
        std::thread::yield_now();
    }
    assert_eq!(end_strays(&format!("{instance}:")), 1);
    assert!(!left.wait().expect("ended").success());
    assert!(foreign.try_wait().expect("asked").is_none(), "another instance's is left alone");
    foreign.kill().expect("killed");
    foreign.wait().expect("ended");
}

/// A child of a marked process, and what is in the session that one leads: each without the mark.
#[cfg(target_os = "linux")]
#[test]
fn what_came_of_a_marked_process_ends_with_it_though_it_has_cleared_its_environment() {
    let instance = format!("child-tests-cleared-{}", std::process::id());
    let line = "setsid env -i sh -c 'echo $$; exec sleep 1000' & (env -i sh -c 'echo $$; exec sleep 1000' &) ; wait; exec sleep 1000";
    let mut leader = Std::new("setsid");
    leader.args(["sh", "-c", line]).env(MARK, format!("{instance}:run-1"));
    let mut leader = leader.stdout(Stdio::piped()).spawn().expect("starts");
    let lines = BufReader::new(leader.stdout.take().expect("piped")).lines();
    let numbers: Vec<String> = lines.take(2).map(|line| line.expect("a number")).collect();
    assert_eq!(end_strays(&format!("{instance}:")), 3);
    assert!(!leader.wait().expect("ended").success());
    // A signal takes effect after the call that sends it.
    while numbers.iter().any(|number| is_alive(number)) {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn dropping_it_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("alive");
    assert!(Std::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let line = format!("exec 3>'{}'; echo ready >&3; sleep 1000", pipe.display());
    let child = Child::spawn(shell(&line), &mark("dropped")).expect("starts");
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let reader = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(std::fs::File::open(pipe).expect("opened")).lines();
        begun.send(lines.next()).expect("the test waits");
        // The other end closes when the last process that holds it has ended.
        lines.next().is_none()
    });
    assert_eq!(has_begun.await.expect("begun").expect("a line").expect("read"), "ready");
    drop(child);
    assert!(reader.await.expect("joined"));
}
