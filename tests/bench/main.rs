//! `cargo xtask bench`: the performance goals, measured on the real programs in one run.
//!
//! `cargo xtask bench -- next replan` measures only these parts: of `scheduling` (`next`, `downtime`, `replan`,
//! `claim_finish`, `mass_claim`, `lateness`), of `agents` (`agent_turn`, `first_token`, `parallel_runs`,
//! `large_write`), of `servers` (`server_calls`, `server_memory`, `server_tokens`), of `wasm_tools` (`wasm_calls`,
//! `wasm_memory`) and of the programs (`load`, `command`, `burst`, `memory`, `outbox`). Measurements of many jobs have
//! 1,000 jobs, with `-- --large` 10,000.
//!
//! Starts release builds, talks to them as a client, and prints each figure with its goal and, where the machine sets
//! a bound, with that baseline. Never fails a build: timings depend on the machine.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod agents;
mod servers;
mod wasm_tools;
mod scheduling;
mod engine;
mod burst;
mod load;
mod memory;
mod outbox;
mod report;
mod command;
mod peer_mode;

use engine::Programs;
use report::Report;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--peer") {
        return peer_mode::measure(&arguments[at + 1..]).await;
    }
    let is_large = arguments.iter().any(|argument| argument == "--large");
    let mut report = Report::start(is_large);
    let names: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let is_selected =
        |name: &str| names.is_empty() || names.iter().any(|selected| *selected == name);
    scheduling::measure(&is_selected, &mut report).await?;
    agents::measure(&is_selected, &mut report).await?;
    servers::measure(&is_selected, &mut report).await?;
    wasm_tools::measure(&is_selected, &mut report).await?;
    if PROGRAM_PARTS.iter().any(|part| is_selected(part)) {
        measure_programs(&is_selected, &mut report).await?;
    }
    report.print();
    Ok(())
}

/// The parts that measure whole programs.
const PROGRAM_PARTS: [&str; 5] = ["load", "command", "burst", "memory", "outbox"];

async fn measure_programs(
    is_selected: impl Fn(&str) -> bool,
    report: &mut Report,
) -> anyhow::Result<()> {
    let programs = Programs::find()?;
    if is_selected("load") {
        load::measure(&programs, report).await?;
    }
    if is_selected("command") {
        command::measure(&programs, report).await?;
    }
    if is_selected("burst") {
        burst::measure(&programs, report).await?;
    }
    if is_selected("memory") {
        memory::measure_engine(&programs, report).await?;
        memory::measure_app(&programs, report)?;
    }
    if is_selected("outbox") {
        outbox::measure(&programs, report).await?;
    }
    Ok(())
}
