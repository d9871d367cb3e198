//! Rust schedulers for the peer comparison: a job per second, many jobs at one instant, the cost of a pattern.
//!
//! Prints a fact per line with tab-separated fields; `cargo xtask bench --peers` computes the statistics. Handlers
//! only read the time.

mod croner_patterns;
mod tokio_jobs;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["tokio-cron-scheduler", "lateness", seconds, ..] => {
            print_version("tokio-cron-scheduler")?;
            tokio_jobs::lateness(seconds.parse()?).await?;
        }
        ["tokio-cron-scheduler", "burst", count, lead] => {
            print_version("tokio-cron-scheduler")?;
            tokio_jobs::burst(count.parse()?, lead.parse()?).await?;
        }
        ["croner", "patterns", ..] => {
            print_version("croner")?;
            croner_patterns::patterns()?;
        }
        _ => bail!("usage: tokio-cron-scheduler lateness|burst, or croner patterns"),
    }
    println!("end");
    Ok(())
}

/// Prints the pinned version of the manifest.
fn print_version(name: &str) -> anyhow::Result<()> {
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
