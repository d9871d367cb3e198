//! `cargo xtask bench --peers`: Rouse compared with other schedulers in one run.
//!
//! Owns the peers, the measurements and their order: measurement by measurement, so all peers run under the same
//! load. A peer that cannot be installed, or that fails, is skipped with a note. Each program prints raw times; the
//! statistics are common. Pitfall: peer packages in the workspace would enter Rouse's lock file, so peers live in the
//! target directory.

mod figures;
mod environments;
mod table;

use std::process::ExitCode;

use crate::error::ChoreError;
use crate::process;
use crate::progress::{Steps, Stopwatch, seconds};
use environments::{PeerEnvironment, PeerProgram};
use figures::Figures;

/// A scheduler or a pattern parser to compare.
struct Peer {
    name: &'static str,
    environment: PeerEnvironment,
    /// The arguments before the measurement's own.
    arguments: &'static [&'static str],
    capability: Capability,
}

/// The supported measurements of a peer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Capability {
    All,
    Jobs,
    Patterns,
}

const PEERS: &[Peer] = &[
    Peer {
        name: "Rouse",
        environment: PeerEnvironment::Rouse,
        arguments: &[],
        capability: Capability::All,
    },
    Peer {
        name: "croner (npm)",
        environment: PeerEnvironment::Node,
        arguments: &["croner.mjs"],
        capability: Capability::All,
    },
    Peer {
        name: "node-schedule (npm)",
        environment: PeerEnvironment::Node,
        arguments: &["node-schedule.mjs"],
        capability: Capability::All,
    },
    Peer {
        name: "APScheduler (PyPI)",
        environment: PeerEnvironment::Python,
        arguments: &[],
        capability: Capability::All,
    },
    Peer {
        name: "tokio-cron-scheduler (crate)",
        environment: PeerEnvironment::Rust,
        arguments: &["tokio-cron-scheduler"],
        capability: Capability::Jobs,
    },
    Peer {
        name: "croner (crate)",
        environment: PeerEnvironment::Rust,
        arguments: &["croner"],
        capability: Capability::Patterns,
    },
];

/// A measurement with its title and its program arguments.
struct Measurement {
    title: &'static str,
    arguments: &'static [&'static str],
    capability: Capability,
}

/// The length of the lateness measurement in seconds.
const SECONDS: usize = 60;

const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        title: "cost of a pattern",
        arguments: &["patterns"],
        capability: Capability::Patterns,
    },
    // The last argument is the time for adding the jobs, in seconds.
    Measurement {
        title: "1,000 jobs at one instant",
        arguments: &["burst", "1000", "8"],
        capability: Capability::Jobs,
    },
    Measurement {
        title: "10,000 jobs at one instant",
        arguments: &["burst", "10000", "25"],
        capability: Capability::Jobs,
    },
    Measurement {
        title: "one job a second, for a minute",
        arguments: &["lateness", "60"],
        capability: Capability::Jobs,
    },
];

pub(crate) fn run() -> Result<ExitCode, ChoreError> {
    println!(
        "Compares other schedulers with Rouse. Takes about twelve minutes, plus the builds of the first run; keep \
         the machine idle. Ctrl-C cancels; installed files stay in target/peers."
    );
    let is_capable = |peer: &Peer, measurement: &Measurement| {
        peer.capability == Capability::All || peer.capability == measurement.capability
    };
    let pairs = MEASUREMENTS
        .iter()
        .flat_map(|measurement| PEERS.iter().map(move |peer| (peer, measurement)));
    let pairs: Vec<_> = pairs.filter(|(peer, measurement)| is_capable(peer, measurement)).collect();

    let mut steps = Steps::of(PeerEnvironment::ALL.len() + pairs.len());
    let mut notes = Vec::new();
    let mut prepared: Vec<(PeerEnvironment, PeerProgram)> = Vec::new();
    for environment in PeerEnvironment::ALL {
        let watch = steps.begin(environment.title());
        let made = environment.prepare().map(|program| prepared.push((*environment, program)));
        let note = made.err().map(|error| skip_note(*environment, &error));
        print_result(&watch, note.as_ref());
        notes.extend(note);
    }
    let program = |environment| {
        prepared.iter().find(|(prepared, _)| *prepared == environment).map(|(_, program)| program)
    };

    let mut columns: Vec<(&str, Figures)> = PEERS
        .iter()
        .filter(|peer| program(peer.environment).is_some())
        .map(|peer| (peer.name, Figures::default()))
        .collect();
    let mut loads = Vec::new();
    for (peer, measurement) in pairs {
        let watch = steps.begin(&format!("{}: {}", peer.name, measurement.title));
        let column = columns.iter_mut().find(|(name, _)| *name == peer.name);
        let Some(((_, figures), program)) = column.zip(program(peer.environment)) else {
            println!("      skipped");
            continue;
        };
        loads.extend(load_average());
        let error = measure(program, peer, measurement, figures).err();
        let note = error.map(|error| format!("{}, {}: {error}", peer.name, measurement.title));
        print_result(&watch, note.as_ref());
        notes.extend(note);
    }
    println!("\n{}", table::render(&columns));
    println!("{}", machine_line(&loads));
    for note in &notes {
        println!("Skipped: {note}.");
    }
    Ok(ExitCode::SUCCESS)
}

fn skip_note(environment: PeerEnvironment, error: &ChoreError) -> String {
    let names: Vec<_> =
        PEERS.iter().filter(|peer| peer.environment == environment).map(|peer| peer.name).collect();
    format!("{}: {error}", names.join(" and "))
}

fn print_result(watch: &Stopwatch, error: Option<&String>) {
    match error {
        None => println!("      done in {}", seconds(watch.elapsed())),
        Some(note) => println!("      skipped: {note}"),
    }
}

fn measure(
    program: &PeerProgram,
    peer: &Peer,
    measurement: &Measurement,
    figures: &mut Figures,
) -> Result<(), ChoreError> {
    let mut command = program.command();
    command.args(peer.arguments).args(measurement.arguments);
    figures.take(measurement.arguments, &process::output(command)?)
}

/// The load average of the last minute, if the system has one.
fn load_average() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn machine_line(loads: &[f64]) -> String {
    let system = std::env::consts::OS;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    if loads.is_empty() {
        return format!("{system}, {cores} cores; no load average on this system.");
    }
    let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let most = loads.iter().copied().fold(0.0, f64::max);
    format!(
        "{system}, {cores} cores; load average before the {} measurements: {least:.1} to {most:.1}.",
        loads.len()
    )
}
