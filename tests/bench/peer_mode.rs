//! The measurements of `cargo xtask bench --peers` on the real `rouse serve`.
//!
//! Owns Rouse's output in the format of the programs under `peers/`: a fact per line with tab-separated fields. Never
//! computes statistics, which are common to all peers. Pitfall: using the engine's recorded start, which precedes the
//! durable claim. The handler is the tool `time`, so claim, journal and gate precede the measured time, in whole
//! milliseconds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rouse_core::schedule::{CronPattern, Zones};
use serde_json::{Value, json};

use crate::engine::{BenchEngine, Programs, now_ms, wait};

const PATTERNS: [&str; 4] = ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"];
const ZONES: [&str; 2] = ["UTC", "America/New_York"];
/// Instants spread over 2026, so that consecutive results differ.
const INSTANTS: usize = 64;

/// Runs a measurement: `lateness SECONDS`, `burst COUNT LEAD` or `patterns`.
pub(crate) async fn measure(arguments: &[String]) -> anyhow::Result<()> {
    println!("version\t{}", env!("CARGO_PKG_VERSION"));
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["lateness", seconds, ..] => lateness(seconds.parse()?).await?,
        ["burst", count, lead, ..] => burst(count.parse()?, lead.parse()?).await?,
        ["patterns", ..] => patterns()?,
        _ => bail!("expected lateness, burst or patterns"),
    }
    println!("end");
    Ok(())
}

async fn lateness(seconds: i64) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let engine = BenchEngine::start(&Programs::find()?, home.path())?;
    let measured = run_every_second(&engine, seconds).await;
    engine.stop();
    measured
}

async fn run_every_second(engine: &BenchEngine, seconds: i64) -> anyhow::Result<()> {
    let every_second = json!({ "kind": "cron", "expr": "* * * * * *", "tz": "UTC" });
    engine.call("cron.add", time_job("Ticker", &every_second)).await?;
    let first = (now_ms() / 1_000 + 2) * 1_000;
    wait_until(first + seconds * 1_000 + 900).await;
    println!("first\t{}", first * 1_000);
    for (_, stamp) in stamps(engine, "Ticker").await? {
        println!("fired\t{}", stamp * 1_000);
    }
    Ok(())
}

async fn burst(count: usize, lead: i64) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    // The maximum; the default limit keeps a machine quiet.
    std::fs::write(home.path().join("config.toml"), "[cron]\nmaxConcurrentRuns = 1000\n")?;
    let engine = BenchEngine::start(&Programs::find()?, home.path())?;
    let measured = run_burst(&engine, count, lead).await;
    engine.stop();
    measured
}

async fn run_burst(engine: &BenchEngine, count: usize, lead: i64) -> anyhow::Result<()> {
    let due = (now_ms() / 1_000 + lead) * 1_000;
    let at = json!({ "kind": "at", "atMs": due });
    engine.import((0..count).map(|n| time_job(&format!("Burst {n}"), &at)).collect()).await?;
    anyhow::ensure!(now_ms() < due - 1_000, "adding {count} jobs took longer than {lead} s");
    wait_until(due + 1_000).await;
    let mut fired = stamps(engine, "Burst ").await?;
    while fired.len() < count && now_ms() < due + 30_000 {
        wait(Duration::from_secs(2)).await;
        fired = stamps(engine, "Burst ").await?;
    }
    println!("due\t{}", due * 1_000);
    for (job, stamp) in fired {
        println!("fired\t{}\t{job}", stamp * 1_000);
    }
    Ok(())
}

/// A job that only reads the time.
fn time_job(name: &str, schedule: &Value) -> Value {
    json!({
        "name": name,
        "schedule": schedule,
        "payload": { "kind": "toolCall", "tool": "time", "arguments": {}, "notifyWhen": "failure" }
    })
}

async fn wait_until(at_ms: i64) {
    wait(Duration::from_millis(u64::try_from(at_ms - now_ms()).unwrap_or(0))).await;
}

/// The rest of the job's name after `start` and the reported time of every run.
async fn stamps(engine: &BenchEngine, start: &str) -> anyhow::Result<Vec<(String, i64)>> {
    let mut stamps = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = engine.call("runs.list", json!({ "limit": 500, "cursor": cursor })).await?;
        for run in page["runs"].as_array().context("a list of runs")? {
            let job = run["jobName"].as_str().and_then(|name| name.strip_prefix(start));
            let reported = run["summary"].as_str().and_then(parse_time);
            stamps.extend(job.map(str::to_owned).zip(reported));
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return Ok(stamps);
        }
    }
}

/// Parses `unixMs: 1795317253003` in the tool's output.
fn parse_time(summary: &str) -> Option<i64> {
    summary.lines().find_map(|line| line.strip_prefix("unixMs: "))?.parse().ok()
}

fn patterns() -> anyhow::Result<()> {
    let zones = Zones::built_in(chrono_tz::Tz::UTC);
    for text in PATTERNS {
        let pattern = CronPattern::parse(text)?;
        for name in ZONES {
            let zone = zones.zone(name).context("a zone")?;
            let next = nanos(|instant| {
                black_box(pattern.next_after(zone, black_box(instant)));
            });
            println!("next\t{name}\t{text}\t{next:.1}");
        }
    }
    Ok(())
}

/// The fastest of many rounds, in nanoseconds per call; other load only slows rounds down.
fn nanos(mut call: impl FnMut(i64)) -> f64 {
    let instants: [i64; INSTANTS] =
        std::array::from_fn(|index| 1_767_225_617_000 + 494_621_000 * index as i64);
    let (started, mut best, mut rounds) = (now(), Duration::MAX, 0);
    while rounds < 5 || started.elapsed() < Duration::from_millis(300) {
        let before = now();
        instants.into_iter().for_each(&mut call);
        best = best.min(before.elapsed());
        rounds += 1;
    }
    best.as_secs_f64() * 1e9 / instants.len() as f64
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a bench measures")]
    Instant::now()
}
