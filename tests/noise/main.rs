//! Noise at every door where text comes in: whatever it says, the answer is a value or an error with words.
//!
//! Each target is a function of bytes. It is fed a committed corpus, changed at random: bytes flipped, pieces cut out,
//! doubled, put together with pieces of another file. It refuses to judge by "no crash" alone: what was read must say
//! the same when it is written and read again. `cargo xtask fuzz` goes on for as long as one likes. What breaks a
//! target is printed, and belongs into its corpus from then on.
#![expect(clippy::print_stdout, reason = "whoever runs the long form reads how far it went")]

mod change;
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_seed};

/// Tries of one target in the short form.
const TRIES: usize = 1_500;
/// An input that takes longer hangs; the slowest machine needs a thousandth of this.
const PATIENCE: Duration = Duration::from_secs(30);

/// The committed inputs of a target.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/noise").join(name);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file")).collect()
}

/// Feeds a target its corpus as it is, and then changed.
fn feed(name: &'static str, target: fn(&[u8])) {
    feed_often(name, target, TRIES);
}

fn feed_often(name: &'static str, target: fn(&[u8]), tries: usize) {
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "{name} has no corpus");
    let (tell, told) = channel();
    let eater = thread::spawn(move || {
        let mut dice = Dice::new(first_seed());
        let tries = count_or(tries).max(corpus.len());
        for n in 0..tries {
            let input = match corpus.get(n) {
                Some(whole) => whole.clone(),
                None => change::changed(&mut dice, &corpus),
            };
            drop(tell.send(input.clone()));
            if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
                panic!("{name} breaks on {:?}", String::from_utf8_lossy(&input));
            }
        }
        tries
    });
    let mut last = Vec::new();
    loop {
        match told.recv_timeout(PATIENCE) {
            Ok(input) => last = input,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{name} hangs on {:?}", String::from_utf8_lossy(&last))
            }
        }
    }
    let tries = eater.join().unwrap_or_else(|broken| std::panic::resume_unwind(broken));
    println!("{name}: {tries} inputs");
}

#[test]
fn jobs() {
    feed("jobs", targets::job);
}

#[test]
fn patches() {
    feed("patches", targets::patch);
}

#[test]
fn cron_patterns() {
    feed("cron", targets::cron);
}

#[test]
fn durations() {
    feed("durations", targets::duration);
}

#[test]
fn imports() {
    // Each is read in six ways by a whole engine, and what it brings is on a disk.
    feed_often("imports", targets::import, TRIES / 5);
}

#[test]
fn settings() {
    feed("settings", targets::settings);
}

#[test]
fn frames() {
    feed("frames", targets::frame);
}
