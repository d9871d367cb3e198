//! Fuzz tests of every parser of input text: the result is a value or an error message.
//!
//! Each target is a function of bytes. Its committed corpus is mutated at random: bits flipped, parts removed,
//! repeated or joined with other files. A parsed value must survive writing and reading. `cargo xtask fuzz` runs for
//! longer. A failing input is printed and belongs into the corpus.
#![expect(clippy::print_stdout, reason = "the long form prints its progress")]

mod mutation;
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rouse_testkit::Dice;
use rouse_testkit::dice::{count_or, first_seed};

/// Inputs per target in the short form.
const INPUTS: usize = 1_500;
/// The time limit of an input; the slowest machine needs a thousandth.
const INPUT_TIMEOUT: Duration = Duration::from_secs(30);

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

/// Feeds a target the corpus, then mutated inputs.
fn fuzz(name: &'static str, target: fn(&[u8])) {
    fuzz_inputs(name, target, INPUTS);
}

fn fuzz_inputs(name: &'static str, target: fn(&[u8]), count: usize) {
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "{name} has no corpus");
    let (inputs_tx, inputs) = channel();
    let worker = thread::spawn(move || {
        let mut dice = Dice::new(first_seed());
        let count = count_or(count).max(corpus.len());
        for n in 0..count {
            let input = match corpus.get(n) {
                Some(committed) => committed.clone(),
                None => mutation::mutate(&mut dice, &corpus),
            };
            drop(inputs_tx.send(input.clone()));
            if catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
                panic!("{name} breaks on {:?}", String::from_utf8_lossy(&input));
            }
        }
        count
    });
    let mut last = Vec::new();
    loop {
        match inputs.recv_timeout(INPUT_TIMEOUT) {
            Ok(input) => last = input,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{name} hangs on {:?}", String::from_utf8_lossy(&last))
            }
        }
    }
    let count = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    println!("{name}: {count} inputs");
}

#[test]
fn jobs() {
    fuzz("jobs", targets::job);
}

#[test]
fn patches() {
    fuzz("patches", targets::patch);
}

#[test]
fn cron_patterns() {
    fuzz("cron", targets::cron);
}

#[test]
fn durations() {
    fuzz("durations", targets::duration);
}

#[test]
fn imports() {
    // A whole engine imports each input in six ways, to disk.
    fuzz_inputs("imports", targets::import, INPUTS / 5);
}

#[test]
fn settings() {
    fuzz("settings", targets::settings);
}

#[test]
fn frames() {
    fuzz("frames", targets::frame);
}
