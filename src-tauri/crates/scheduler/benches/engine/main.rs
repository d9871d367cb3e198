//! `cargo xtask bench`: the figures of the engine itself, without a process around it.
//!
//! Owns the measuring and nothing else: a scheduler on a real store and a real timer whose runs do nothing but write
//! down when they began. Figures that the machine bounds stand beside that bound, taken in the same minute. It refuses
//! to be a test: timings depend on the machine, so nothing here fails a build.
//!
//! `cargo bench --package rouse-scheduler -- next` measures only what has `next` in its name.

#![expect(clippy::print_stdout, reason = "printing is what a bench is for")]

mod crowd;
mod figures;
mod floor;
mod lateness;
mod next_run;
mod plan;
mod stage;
mod turnover;
mod year_off;

use figures::Figures;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| name.contains(wanted));
    let mut figures = Figures::default();
    if is_wanted("next") {
        next_run::measure(&mut figures);
    }
    if is_wanted("year_off") {
        year_off::measure(&mut figures)?;
    }
    if is_wanted("plan") {
        plan::measure(&mut figures).await?;
    }
    if is_wanted("turnover") {
        turnover::measure(&mut figures).await?;
    }
    if is_wanted("crowd") {
        crowd::measure(&mut figures).await?;
    }
    if is_wanted("lateness") {
        lateness::measure(&mut figures).await?;
    }
    figures.print();
    Ok(())
}
