//! Resource limits, and the termination of whole commands.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdout, Stdio};

use super::super::plan::MIN_PID_MAX;
use super::*;
use crate::process::kill_orphans;
use crate::sandbox::resource_monitor::MonitoredProcesses as _;

impl SandboxFixture {
    /// Starts a command without a monitor; returns the engine's ends and the output.
    fn start_unmonitored(
        &self,
        line: &str,
    ) -> Option<(std::process::Child, EngineEnds, BufReader<ChildStdout>)> {
        let (mut command, ends) = shell_command(&self.sandbox, line).expect("prepared");
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                assert!(matches!(ends.explain(error), SandboxError::Missing(_)));
                return None;
            }
        };
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Some((child, ends, output))
    }
}

#[tokio::test]
async fn fork_bomb_meets_the_process_limit() {
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.limits.processes = MIN_PID_MAX;
    // At the limit no process can be started, so the shell counts by itself.
    let line = "(while :; do sleep 1000 >/dev/null 2>&1 & echo x; done) >count 2>output; n=0; while read l; do n=$((n+1)); done <count; echo $n";
    let Some(output) = fixture.output_of(line).await else { return };
    let count: u32 = output.parse().expect("a number");
    assert!((100..=MIN_PID_MAX).contains(&count), "{count}");
    assert_eq!(kill_orphans(&fixture.marker()), 0);
}

#[tokio::test]
async fn memory_of_a_process_is_limited() {
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.limits.memory_bytes = 64 << 20;
    fixture.sandbox.limits.temporary_bytes = 1 << 20;
    let Some(output) = fixture
        .failure_of(
            "head -c 256m /dev/zero | tail -c 200m | wc -c; head -c 2m /dev/zero > /tmp/much",
        )
        .await
    else {
        return;
    };
    assert!(output.starts_with("0\n"), "{output}");
    assert!(output.contains("No space left"), "{output}");
}

const MAX_MEMORY: u64 = 256 << 20;

/// The exit of a command that fills memory and never frees any.
async fn exit_when_filled(line: impl Fn(&SandboxFixture) -> String) -> Option<ExitCause> {
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.limits.memory_bytes = MAX_MEMORY;
    fixture.limit = Duration::from_secs(20);
    let line = line(&fixture);
    let completed = fixture.run(&line).await?;
    Some(completed.exit)
}

fn is_over_limit(exit: &ExitCause) -> bool {
    matches!(exit, ExitCause::ResourceLimit(reason) if reason.contains("more than 256 MB of memory"))
}

#[tokio::test]
async fn memory_in_sum_is_limited() {
    let many = |fixture: &SandboxFixture| {
        let one = fixture.attacker("fill private 64");
        format!("for n in 1 2 3 4 5 6 7 8; do {one} & done; wait")
    };
    let Some(exit) = exit_when_filled(many).await else { return };
    assert!(is_over_limit(&exit), "{exit:?}");
}

#[tokio::test]
async fn memory_hidden_from_processes_counts() {
    for how in ["shared", "zero", "handed-over", "leaderless", "unreadable", "tables"] {
        let one = |fixture: &SandboxFixture| fixture.attacker(&format!("fill {how} 512"));
        let Some(exit) = exit_when_filled(one).await else { return };
        assert!(is_over_limit(&exit), "{how}: {exit:?}");
    }
}

#[test]
fn shared_memory_counts_until_its_last_mapping_is_gone() {
    let fixture = SandboxFixture::new();
    let line = format!("mkfifo go; {}", fixture.attacker("fill cut 100"));
    let Some((mut child, ends, output)) = fixture.start_unmonitored(&line) else { return };
    let mut filled = output.lines().map_while(Result::ok).filter(|line| line == "!filled=0");
    let inside = NamespaceProcesses::new(ends.receive_descriptor().expect("handed over"));
    let mut processes = inside.expect("seen").expect("at work");
    let whole = (100 << 20)..(160 << 20);
    filled.next().expect("filled");
    assert!(whole.contains(&processes.memory_bytes(MAX_MEMORY).expect("seen")));
    std::fs::write(fixture.folder.path().join("go"), "go").expect("written");
    filled.next().expect("cut");
    assert!(whole.contains(&processes.memory_bytes(MAX_MEMORY).expect("seen")));
    drop(ends);
    assert!(!child.wait().expect("ended").success());
}

/// Eight processes with the same memory, by fork or by a shared mapping.
#[test]
fn shared_memory_counts_once() {
    for how in ["forked", "together"] {
        let fixture = SandboxFixture::new();
        let Some((mut child, ends, output)) =
            fixture.start_unmonitored(&fixture.attacker(&format!("fill {how} 100")))
        else {
            return;
        };
        let mut filled = output.lines().map_while(Result::ok).filter(|line| line == "!filled=0");
        assert_eq!(filled.by_ref().take(8).count(), 8);
        let inside = NamespaceProcesses::new(ends.receive_descriptor().expect("handed over"));
        let mut processes = inside.expect("seen").expect("at work");
        let roughly = processes.memory_bytes(MAX_MEMORY).expect("seen");
        assert!(((100 << 20)..(160 << 20)).contains(&roughly), "{how}: {roughly}");
        drop(ends);
        assert!(!child.wait().expect("ended").success());
        // The pipe closes with the last holder.
        assert_eq!(filled.count(), 0);
    }
}

#[tokio::test]
async fn memory_folders_share_one_limit() {
    let mut fixture = SandboxFixture::new();
    fixture.sandbox.limits.temporary_bytes = 1 << 20;
    let line = "for at in /tmp /dev/shm; do head -c 700k /dev/zero >> $at/much && echo $at; done; \
        rm -f /tmp/much /dev/shm/much; n=0; while (: > /tmp/$n) 2>/dev/null && [ $n -lt 2000 ]; do n=$((n+1)); done; echo $n";
    let Some(completed) = fixture.run(line).await else { return };
    let output = completed.stdout.text();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..lines.len() - 1], ["/tmp"], "{completed:?}");
    let files: u32 = lines.last().expect("a count").parse().expect("a number");
    assert!((100..=256).contains(&files), "{files}");
}

#[tokio::test]
async fn output_and_time_are_limited() {
    let mut fixture = SandboxFixture::new();
    let Some(completed) = fixture.run("yes").await else { return };
    assert!(matches!(completed.exit, ExitCause::OutputLimit), "{completed:?}");
    fixture.limit = Duration::from_millis(300);
    let words = format!("sleep 7{:06}", std::process::id());
    let Some(completed) =
        fixture.run(&format!("trap '' TERM; {words} & setsid {words} & wait; {words}")).await
    else {
        return;
    };
    assert!(matches!(completed.exit, ExitCause::TimedOut), "{completed:?}");
    assert!(!is_running(&words));
}

#[tokio::test]
async fn processes_without_marker_end_with_the_command() {
    let fixture = SandboxFixture::new();
    let words = format!("sleep 8{:06}", std::process::id());
    let line = format!(
        "env -i setsid -f {words} >/dev/null 2>&1 </dev/null; (trap '' TERM HUP; exec setsid env -i {words} >/dev/null 2>&1) & echo begun"
    );
    let Some(output) = fixture.output_of(&line).await else { return };
    assert_eq!(output, "begun");
    assert!(!is_running(&words));
}

#[tokio::test]
async fn orphans_are_reported() {
    let fixture = SandboxFixture::new();
    for (line, expected) in [
        ("sleep 1000 & echo begun", true),
        ("env -i setsid -f sleep 1000; sleep 0", true),
        ("sleep 0 & wait", false),
        ("yes | head -n 1", false),
        ("exit 3", false),
    ] {
        let Some(completed) = fixture.run(line).await else { return };
        assert_eq!(completed.had_orphans, expected, "{line}: {completed:?}");
    }
}

/// A command that exits before the monitor starts is no error.
#[tokio::test]
async fn shortest_command_is_monitored_or_over() {
    let fixture = SandboxFixture::new();
    for _ in 0..50 {
        let Some(output) = fixture.output_of(":").await else { return };
        assert_eq!(output, "");
    }
}

#[tokio::test]
async fn exit_status_is_that_of_the_command() {
    use std::os::unix::process::ExitStatusExt as _;
    let fixture = SandboxFixture::new();
    for (line, code, signal) in [
        ("exit 7", Some(7), None),
        ("kill -9 $$", None, Some(9)),
        ("kill -TERM $$", None, Some(15)),
    ] {
        let Some(completed) = fixture.run(line).await else { return };
        let ExitCause::Exited(status) = completed.exit else { panic!("{completed:?}") };
        assert_eq!((status.code(), status.signal()), (code, signal), "{line}");
    }
}

#[tokio::test]
async fn sigterm_reaches_the_command() {
    let mut fixture = SandboxFixture::new();
    fixture.limit = Duration::from_millis(500);
    let Some(completed) = fixture.run("trap 'echo asked; exit 0' TERM; sleep 1000 & wait").await
    else {
        return;
    };
    assert!(matches!(completed.exit, ExitCause::TimedOut), "{completed:?}");
    assert_eq!(completed.stdout.text(), "asked\n");
}

/// Like a crash of the engine: the engine's end of the pipe closes, and no signal is sent.
#[test]
fn dropped_command_ends() {
    let fixture = SandboxFixture::new();
    let words = format!("sleep 9{:06}", std::process::id());
    let line = format!("echo begun; exec env -i setsid {words}");
    let Some((mut child, ends, mut output)) = fixture.start_unmonitored(&line) else { return };
    let mut line = String::new();
    output.read_line(&mut line).expect("read");
    assert_eq!(line, "begun\n");
    drop(ends);
    assert!(!child.wait().expect("ended").success());
    // The pipe closes with the last holder.
    assert_eq!(output.read_line(&mut line).expect("read"), 0);
    assert!(!is_running(&words));
}
