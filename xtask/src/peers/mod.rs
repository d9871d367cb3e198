//! `cargo xtask bench --peers`: Rouse beside other schedulers, asked the same questions in one run.
//!
//! Owns who is asked, what, and in which order: question by question, so that all meet the same machine. A peer that
//! cannot be installed, or that fails, is named with the reason and left out. Refuses to measure: each program prints
//! what it saw, and the sums are the same for all. One could get it wrong by letting a peer into the workspace: its
//! packages would reach Rouse's lock file, so all of it lies in the target directory.

mod figures;
mod rooms;
mod table;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::process;
use crate::progress::{Steps, Stopwatch, seconds};
use figures::Figures;
use rooms::{Program, Room};

/// A scheduler, or a reader of patterns, that is asked.
struct Peer {
    name: &'static str,
    room: Room,
    /// What its program has to hear before the question.
    words: &'static [&'static str],
    does: Does,
}

/// What a peer can be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    All,
    Jobs,
    Patterns,
}

const PEERS: &[Peer] = &[
    Peer { name: "Rouse", room: Room::Rouse, words: &[], does: Does::All },
    Peer { name: "croner (npm)", room: Room::Node, words: &["croner.mjs"], does: Does::All },
    Peer {
        name: "node-schedule (npm)",
        room: Room::Node,
        words: &["node-schedule.mjs"],
        does: Does::All,
    },
    Peer { name: "APScheduler (PyPI)", room: Room::Python, words: &[], does: Does::All },
    Peer {
        name: "tokio-cron-scheduler (crate)",
        room: Room::Rust,
        words: &["tokio-cron-scheduler"],
        does: Does::Jobs,
    },
    Peer { name: "croner (crate)", room: Room::Rust, words: &["croner"], does: Does::Patterns },
];

/// A question, in words for the person and in words for the programs.
struct Question {
    title: &'static str,
    words: &'static [&'static str],
    of: Does,
}

/// Seconds of one job a second.
const SECONDS: usize = 60;

const QUESTIONS: &[Question] = &[
    Question { title: "what a pattern costs", words: &["patterns"], of: Does::Patterns },
    // The last word is how many seconds there are to add the jobs.
    Question { title: "1,000 jobs at one instant", words: &["burst", "1000", "8"], of: Does::Jobs },
    Question {
        title: "10,000 jobs at one instant",
        words: &["burst", "10000", "25"],
        of: Does::Jobs,
    },
    Question {
        title: "one job a second, for a minute",
        words: &["lateness", "60"],
        of: Does::Jobs,
    },
];

pub(crate) fn run() -> Result<ExitCode, Failure> {
    println!(
        "Measures other schedulers beside Rouse. It takes about twelve minutes, and on the first time the builds \
         before that; leave the machine alone meanwhile. Ctrl-C ends it; what it installs stays in target/peers."
    );
    let asked =
        |peer: &Peer, question: &Question| peer.does == Does::All || peer.does == question.of;
    let pairs =
        QUESTIONS.iter().flat_map(|question| PEERS.iter().map(move |peer| (peer, question)));
    let pairs: Vec<_> = pairs.filter(|(peer, question)| asked(peer, question)).collect();

    let mut steps = Steps::of(Room::ALL.len() + pairs.len());
    let mut notes = Vec::new();
    let mut open: Vec<(Room, Program)> = Vec::new();
    for room in Room::ALL {
        let watch = steps.begin(room.title());
        let made = room.prepare().map(|program| open.push((*room, program)));
        let note = made.err().map(|failure| left_out(*room, &failure));
        tell(&watch, note.as_ref());
        notes.extend(note);
    }
    let program = |room| open.iter().find(|(open, _)| *open == room).map(|(_, program)| program);

    let mut columns: Vec<(&str, Figures)> = PEERS
        .iter()
        .filter(|peer| program(peer.room).is_some())
        .map(|peer| (peer.name, Figures::default()))
        .collect();
    let mut loads = Vec::new();
    for (peer, question) in pairs {
        let watch = steps.begin(&format!("{}: {}", peer.name, question.title));
        let column = columns.iter_mut().find(|(name, _)| *name == peer.name);
        let Some(((_, figures), program)) = column.zip(program(peer.room)) else {
            println!("      left out");
            continue;
        };
        loads.extend(load());
        let failed = answer(program, peer, question, figures).err();
        let note = failed.map(|failure| format!("{}, {}: {failure}", peer.name, question.title));
        tell(&watch, note.as_ref());
        notes.extend(note);
    }
    println!("\n{}", table::of(&columns));
    println!("{}", machine(&loads));
    for note in &notes {
        println!("Left out: {note}.");
    }
    Ok(ExitCode::SUCCESS)
}

fn left_out(room: Room, failure: &Failure) -> String {
    let names: Vec<_> =
        PEERS.iter().filter(|peer| peer.room == room).map(|peer| peer.name).collect();
    format!("{}: {failure}", names.join(" and "))
}

fn tell(watch: &Stopwatch, failed: Option<&String>) {
    match failed {
        None => println!("      done in {}", seconds(watch.took())),
        Some(note) => println!("      left out: {note}"),
    }
}

fn answer(
    program: &Program,
    peer: &Peer,
    question: &Question,
    figures: &mut Figures,
) -> Result<(), Failure> {
    let mut command = program.command();
    command.args(peer.words).args(question.words);
    figures.take(question.words, &process::printed(command)?)
}

/// The load of the last minute, where the system tells it.
fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn machine(loads: &[f64]) -> String {
    let system = std::env::consts::OS;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    if loads.is_empty() {
        return format!("{system}, {cores} cores; this system tells no load average.");
    }
    let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let most = loads.iter().copied().fold(0.0, f64::max);
    format!(
        "{system}, {cores} cores; load average before the {} measurements: {least:.1} to {most:.1}.",
        loads.len()
    )
}
