//! What a command may take, and that it ends as a whole.

use std::process::Stdio;

use super::*;
use crate::child::end_strays;

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
    let (mut command, held) =
        shell(&room.sandbox, &format!("echo begun; exec env -i setsid {words}")).expect("prepared");
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return assert!(matches!(held.explain(error), SandboxError::Missing(_))),
    };
    let mut line = String::new();
    let mut said = std::io::BufReader::new(child.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut said, &mut line).expect("read");
    assert_eq!(line, "begun\n");
    drop(held.into_life());
    assert!(!child.wait().expect("ended").success());
    // The pipe ends when the last process that holds it has ended.
    assert_eq!(std::io::BufRead::read_line(&mut said, &mut line).expect("read"), 0);
    assert!(!is_running(&words));
}
