//! tokio-cron-scheduler: jobs in memory, polled twice a second.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::ensure;
use chrono::{DateTime, Datelike as _, Timelike as _};
use tokio::sync::mpsc::unbounded_channel;
use tokio_cron_scheduler::{Job, JobScheduler};

use crate::{now, until};

pub(crate) async fn lateness(seconds: u64) -> anyhow::Result<()> {
    let stamps = Arc::new(Mutex::new(Vec::new()));
    let scheduler = JobScheduler::new().await?;
    let fired = Arc::clone(&stamps);
    let job = Job::new("* * * * * *", move |_, _| fired.lock().expect("no panic").push(now()))?;
    scheduler.add(job).await?;
    scheduler.start().await?;
    let first = Duration::from_secs(now().as_secs() + 2);
    until(first + Duration::from_secs(seconds) + Duration::from_millis(900)).await;
    println!("first\t{}", first.as_micros());
    for stamp in stamps.lock().expect("no panic").iter() {
        println!("fired\t{}", stamp.as_micros());
    }
    Ok(())
}

pub(crate) async fn burst(count: usize, lead: u64) -> anyhow::Result<()> {
    let due = Duration::from_secs(now().as_secs() + lead);
    let date = DateTime::from_timestamp_secs(due.as_secs().cast_signed()).expect("a date");
    let [second, minute, hour] = [date.second(), date.minute(), date.hour()];
    let pattern = format!("{second} {minute} {hour} {} {} *", date.day(), date.month());
    // The default channel holds two hundred jobs and drops the rest.
    let scheduler = JobScheduler::new_with_channel_size(count.max(200)).await?;
    let (sender, mut receiver) = unbounded_channel();
    for number in 0..count {
        let sender = sender.clone();
        let job = Job::new(&pattern, move |_, _| _ = sender.send((now(), number)))?;
        scheduler.add(job).await?;
    }
    scheduler.start().await?;
    ensure!(now() + Duration::from_secs(1) < due, "adding {count} jobs took longer than {lead} s");
    let end = until(due + Duration::from_secs(30));
    tokio::pin!(end);
    let mut fired = Vec::new();
    while fired.len() < count {
        tokio::select! {
            Some(run) = receiver.recv() => fired.push(run),
            () = &mut end => break,
        }
    }
    println!("due\t{}", due.as_micros());
    for (stamp, number) in fired {
        println!("fired\t{}\t{number}", stamp.as_micros());
    }
    Ok(())
}
