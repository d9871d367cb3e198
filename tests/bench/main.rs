//! `cargo xtask bench`: the promises with numbers, measured on the real programs in one run.
//!
//! `cargo xtask bench -- next plan` measures only these parts: of `alone` (`next`, `year_off`, `plan`, `turnover`, `crowd`,
//! `lateness`), of `agents` (`agent_turn`, `first_token`, `parallel_runs`, `large_write`) and of the programs (`load`,
//! `command`, `burst`, `memory`).
//!
//! Owns the measuring and nothing else: it starts release builds, talks to them as any client does, and prints each
//! figure beside what it has to hold and, where the machine sets a floor, beside that floor. It refuses to be a test:
//! timings depend on the machine, so nothing here fails a build.

#![expect(clippy::print_stdout, reason = "printing is what a bench is for")]

mod agents;
mod alone;
mod engine;
mod lateness;
mod load;
mod memory;
mod report;
mod round_trip;

mod beside;

use engine::Programs;
use report::Report;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--beside") {
        return beside::answer(&arguments[at + 1..]).await;
    }
    let mut report = Report::start();
    let names: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| *wanted == name);
    alone::measure(&is_wanted, &mut report).await?;
    agents::measure(&is_wanted, &mut report).await?;
    if OF_PROGRAMS.iter().any(|part| is_wanted(part)) {
        of_the_programs(&is_wanted, &mut report).await?;
    }
    report.print();
    Ok(())
}

/// The parts that are measured of the programs.
const OF_PROGRAMS: [&str; 4] = ["load", "command", "burst", "memory"];

async fn of_the_programs(
    is_wanted: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    let programs = Programs::find()?;
    if is_wanted("load") {
        load::with_many_jobs(&programs, report).await?;
    }
    if is_wanted("command") {
        round_trip::of_the_command(&programs, report).await?;
    }
    if is_wanted("burst") {
        lateness::a_thousand_at_once(&programs, report).await?;
    }
    if is_wanted("memory") {
        memory::idle(&programs, report).await?;
        memory::of_the_app(&programs, report)?;
    }
    Ok(())
}
