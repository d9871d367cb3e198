//! Crates that schedule, asked what every peer is asked: one job a second, many jobs at one instant, what a pattern
//! costs.
//!
//! Prints one fact a line, fields parted by tabs; `cargo xtask bench --peers` does the sums. A handler does nothing but
//! take the time, so that what is measured is the scheduler.

mod croner_patterns;
mod tokio_jobs;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["tokio-cron-scheduler", "lateness", seconds, ..] => {
            say_version("tokio-cron-scheduler")?;
            tokio_jobs::lateness(seconds.parse()?).await?;
        }
        ["tokio-cron-scheduler", "burst", count, lead] => {
            say_version("tokio-cron-scheduler")?;
            tokio_jobs::burst(count.parse()?, lead.parse()?).await?;
        }
        ["croner", "patterns", ..] => {
            say_version("croner")?;
            croner_patterns::patterns()?;
        }
        _ => bail!("ask for tokio-cron-scheduler lateness or burst, or for croner patterns"),
    }
    println!("end");
    Ok(())
}

/// The version that the manifest pins.
fn say_version(name: &str) -> anyhow::Result<()> {
    let pin = format!("{name} = \"=");
    let mut lines = include_str!("../Cargo.toml").lines();
    let version = lines.find_map(|line| line.strip_prefix(&pin)).context("pinned")?;
    println!("version\t{}", version.trim_end_matches('"'));
    Ok(())
}

/// Wall time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970")
}

async fn until(at: Duration) {
    tokio::time::sleep(at.saturating_sub(now())).await;
}
