//! `cargo xtask bench`: the promises with numbers, measured on the real programs in one run.
//!
//! Owns the measuring and nothing else: it starts release builds, talks to them as any client does, and prints each
//! figure beside what it has to hold and, where the machine sets a floor, beside that floor. It refuses to be a test:
//! timings depend on the machine, so nothing here fails a build.

#![expect(clippy::print_stdout, reason = "printing is what a bench is for")]

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
    let programs = Programs::find()?;
    let mut report = Report::start();
    load::with_many_jobs(&programs, &mut report).await?;
    round_trip::of_the_command(&programs, &mut report).await?;
    lateness::one_a_second(&programs, &mut report).await?;
    lateness::a_thousand_at_once(&programs, &mut report).await?;
    memory::idle(&programs, &mut report).await?;
    memory::of_the_app(&programs, &mut report)?;
    report.print();
    Ok(())
}
