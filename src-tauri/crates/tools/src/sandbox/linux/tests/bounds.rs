//! What a command may take, and that it ends as a whole.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdout, Stdio};

use super::*;
use crate::child::end_strays;
use crate::sandbox::watch::Look as _;

impl Room {
    /// A command that nobody watches, with the engine's ends of it and what it says.
    fn begun(&self, line: &str) -> Option<(std::process::Child, Held, BufReader<ChildStdout>)> {
        let (mut command, held) = shell(&self.sandbox, line).expect("prepared");
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                assert!(matches!(held.explain(error), SandboxError::Missing(_)));
                return None;
            }
        };
        let said = BufReader::new(child.stdout.take().expect("piped"));
        Some((child, held, said))
    }
}

#[tokio::test]
async fn processes_that_multiply_meet_a_bound() {
    let mut room = Room::new();
    room.sandbox.limits.processes = SMALLEST_NUMBERS;
    // After the bound nothing can be started, so the shell counts by itself.
    let line = "(while :; do sleep 1000 >/dev/null 2>&1 & echo x; done) >count 2>said; n=0; while read l; do n=$((n+1)); done <count; echo $n";
    let Some(said) = room.says(line).await else { return };
    let count: u32 = said.parse().expect("a number");
    assert!((100..=SMALLEST_NUMBERS).contains(&count), "{count}");
    assert_eq!(end_strays(&room.mark()), 0);
}

#[tokio::test]
async fn memory_meets_a_bound() {
    let mut room = Room::new();
    room.sandbox.limits.memory_bytes = 64 << 20;
    room.sandbox.limits.temporary_bytes = 1 << 20;
    let Some(said) = room
        .fails("head -c 256m /dev/zero | tail -c 200m | wc -c; head -c 2m /dev/zero > /tmp/much")
        .await
    else {
        return;
    };
    assert!(said.starts_with("0\n"), "{said}");
    assert!(said.contains("No space left"), "{said}");
}

const MOST: u64 = 256 << 20;

/// How a command ends that holds on to memory for ever, once it has what it wants.
async fn filled(line: impl Fn(&Room) -> String) -> Option<End> {
    let mut room = Room::new();
    room.sandbox.limits.memory_bytes = MOST;
    room.limit = Duration::from_secs(20);
    let line = line(&room);
    let finished = room.run(&line).await?;
    Some(finished.end)
}

fn is_over_bound(end: &End) -> bool {
    matches!(end, End::OverBound(how) if how.contains("more than 256 MB of memory"))
}

#[tokio::test]
async fn memory_is_bounded_in_sum() {
    let many = |room: &Room| {
        let one = room.attacker("fill private 64");
        format!("for n in 1 2 3 4 5 6 7 8; do {one} & done; wait")
    };
    let Some(end) = filled(many).await else { return };
    assert!(is_over_bound(&end), "{end:?}");
}

#[tokio::test]
async fn memory_that_no_process_is_charged_for_counts() {
    for how in ["shared", "zero", "handed-over", "leaderless", "unreadable", "tables"] {
        let one = |room: &Room| room.attacker(&format!("fill {how} 512"));
        let Some(end) = filled(one).await else { return };
        assert!(is_over_bound(&end), "{how}: {end:?}");
    }
}

#[test]
fn memory_that_was_seen_counts_until_the_last_map_of_it_is_gone() {
    let room = Room::new();
    let line = format!("mkfifo go; {}", room.attacker("fill cut 100"));
    let Some((mut child, held, said)) = room.begun(&line) else { return };
    let mut filled = said.lines().map_while(Result::ok).filter(|line| line == "!filled=0");
    let inside = Processes::new(held.handed_over().expect("handed over"));
    let mut processes = inside.expect("seen").expect("at work");
    let whole = (100 << 20)..(160 << 20);
    filled.next().expect("filled");
    assert!(whole.contains(&processes.bytes(MOST).expect("seen")));
    std::fs::write(room.folder.path().join("go"), "go").expect("told");
    filled.next().expect("cut");
    assert!(whole.contains(&processes.bytes(MOST).expect("seen")));
    drop(held);
    assert!(!child.wait().expect("ended").success());
}

/// Eight processes that have one memory: a fork's, and a map's.
#[test]
fn memory_that_several_share_counts_once() {
    for how in ["forked", "together"] {
        let room = Room::new();
        let Some((mut child, held, said)) = room.begun(&room.attacker(&format!("fill {how} 100")))
        else {
            return;
        };
        let mut filled = said.lines().map_while(Result::ok).filter(|line| line == "!filled=0");
        assert_eq!(filled.by_ref().take(8).count(), 8);
        let inside = Processes::new(held.handed_over().expect("handed over"));
        let mut processes = inside.expect("seen").expect("at work");
        let roughly = processes.bytes(MOST).expect("seen");
        assert!(((100 << 20)..(160 << 20)).contains(&roughly), "{how}: {roughly}");
        drop(held);
        assert!(!child.wait().expect("ended").success());
        // The pipe ends when the last process that holds it has ended.
        assert_eq!(filled.count(), 0);
    }
}

#[tokio::test]
async fn folders_in_memory_have_one_bound_together() {
    let mut room = Room::new();
    room.sandbox.limits.temporary_bytes = 1 << 20;
    let line = "for at in /tmp /dev/shm; do head -c 700k /dev/zero >> $at/much && echo $at; done; \
        rm -f /tmp/much /dev/shm/much; n=0; while (: > /tmp/$n) 2>/dev/null && [ $n -lt 2000 ]; do n=$((n+1)); done; echo $n";
    let Some(finished) = room.run(line).await else { return };
    let said = finished.stdout.text();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..lines.len() - 1], ["/tmp"], "{finished:?}");
    let files: u32 = lines.last().expect("a count").parse().expect("a number");
    assert!((100..=256).contains(&files), "{files}");
}

#[tokio::test]
async fn output_and_time_meet_their_bounds() {
    let mut room = Room::new();
    let Some(finished) = room.run("yes").await else { return };
    assert!(matches!(finished.end, End::WroteTooMuch), "{finished:?}");
    room.limit = Duration::from_millis(300);
    let words = format!("sleep 7{:06}", std::process::id());
    let Some(finished) =
        room.run(&format!("trap '' TERM; {words} & setsid {words} & wait; {words}")).await
    else {
        return;
    };
    assert!(matches!(finished.end, End::TimedOut), "{finished:?}");
    assert!(!is_running(&words));
}

#[tokio::test]
async fn nothing_survives_the_command_even_without_its_mark() {
    let room = Room::new();
    let words = format!("sleep 8{:06}", std::process::id());
    let line = format!(
        "env -i setsid -f {words} >/dev/null 2>&1 </dev/null; (trap '' TERM HUP; exec setsid env -i {words} >/dev/null 2>&1) & echo begun"
    );
    let Some(said) = room.says(&line).await else { return };
    assert_eq!(said, "begun");
    assert!(!is_running(&words));
}

#[tokio::test]
async fn command_that_leaves_processes_running_is_told() {
    let room = Room::new();
    for (line, expected) in [
        ("sleep 1000 & echo begun", true),
        ("env -i setsid -f sleep 1000; sleep 0", true),
        ("sleep 0 & wait", false),
        ("yes | head -n 1", false),
        ("exit 3", false),
    ] {
        let Some(finished) = room.run(line).await else { return };
        assert_eq!(finished.has_left_running, expected, "{line}: {finished:?}");
    }
}

/// A command that is over before anybody watches is no error.
#[tokio::test]
async fn the_shortest_command_is_watched_or_over() {
    let room = Room::new();
    for _ in 0..50 {
        let Some(said) = room.says(":").await else { return };
        assert_eq!(said, "");
    }
}

#[tokio::test]
async fn it_ends_the_way_the_command_ends() {
    use std::os::unix::process::ExitStatusExt as _;
    let room = Room::new();
    for (line, code, signal) in [
        ("exit 7", Some(7), None),
        ("kill -9 $$", None, Some(9)),
        ("kill -TERM $$", None, Some(15)),
    ] {
        let Some(finished) = room.run(line).await else { return };
        let End::Exited(status) = finished.end else { panic!("{finished:?}") };
        assert_eq!((status.code(), status.signal()), (code, signal), "{line}");
    }
}

#[tokio::test]
async fn a_request_to_end_reaches_the_command() {
    let mut room = Room::new();
    room.limit = Duration::from_millis(500);
    let Some(finished) = room.run("trap 'echo asked; exit 0' TERM; sleep 1000 & wait").await else {
        return;
    };
    assert!(matches!(finished.end, End::TimedOut), "{finished:?}");
    assert_eq!(finished.stdout.text(), "asked\n");
}

/// What a crash of the engine does: its end of the pipe is closed, and nobody has asked anything to end.
#[test]
fn what_the_engine_lets_go_of_ends() {
    let room = Room::new();
    let words = format!("sleep 9{:06}", std::process::id());
    let line = format!("echo begun; exec env -i setsid {words}");
    let Some((mut child, held, mut said)) = room.begun(&line) else { return };
    let mut line = String::new();
    said.read_line(&mut line).expect("read");
    assert_eq!(line, "begun\n");
    drop(held);
    assert!(!child.wait().expect("ended").success());
    // The pipe ends when the last process that holds it has ended.
    assert_eq!(said.read_line(&mut line).expect("read"), 0);
    assert!(!is_running(&words));
}
