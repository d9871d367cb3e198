//! Many deliveries for a channel that never answers, beside the notification.
//!
//! The channel is a server of Apprise on loopback that takes connections and stays silent. The store puts the deliveries
//! into the file of a stopped engine. An attached app shows the notifications. Memory is from `/proc` (Linux only).
//! Pitfall: an engine that has just started; it reads its file while the half minute before the memory passes.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use rouse_core::channel::{ChannelName, MessageKind, Route};
use rouse_core::delivery::NewDelivery;
use rouse_core::time::QuietPolicy;
use rouse_core::{DeliveryId, UnixMs};
use rouse_gateway::wire::NotificationRequest;
use rouse_gateway::{DesktopAppMessage, DesktopAppStream};
use rouse_store::Store;
use rouse_tests::remove_example_job;
use serde_json::json;

use crate::engine::{BenchEngine, Programs, now_ms, wait};
use crate::memory::proportional_mb;
use crate::report::{Report, millis_of, quantile};
use crate::scheduling::timed_async;

/// The waiting deliveries.
const DELIVERIES: usize = 10_000;
/// The deliveries of a transaction.
const CHUNK: usize = 500;
/// The measured notifications.
const NOTIFICATIONS: usize = 100;
const CHANNEL: &str = "phone";
/// A report of an ordinary length.
const TEXT_BYTES: usize = 1_000;

/// The costs of one engine.
struct OutboxCosts {
    /// PSS in MB; none on other systems.
    memory: Option<f64>,
    /// Milliseconds from the call to the request at the app.
    latencies: Vec<f64>,
}

pub(crate) async fn measure(programs: &Programs, report: &mut Report) -> anyhow::Result<()> {
    // The system accepts connections, and nobody reads them.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let home = tempfile::tempdir()?;
    let url = format!("http://{}/notify/bench", silent.local_addr()?);
    let config = format!(
        "deliverTo = [\"notification\"]\n[channels.{CHANNEL}]\nkind = \"apprise\"\nurl = \"{url}\"\n"
    );
    std::fs::write(home.path().join("config.toml"), config)?;
    let engine = BenchEngine::start(programs, home.path())?;
    remove_example_job(&engine.client).await;
    engine.stop();
    let mut without = measure_engine(programs, home.path(), 0).await?;
    store_deliveries(home.path()).await?;
    let mut with = measure_engine(programs, home.path(), DELIVERIES).await?;

    let label = |what: &str| format!("{what}, beside {DELIVERIES} deliveries on a silent channel");
    if let (Some(before), Some(after)) = (without.memory, with.memory) {
        report.info("memory of rouse serve with an empty outbox", before, "MB PSS");
        let label = label("memory of rouse serve above an empty outbox");
        report.at_most(&label, after - before, 2.0, "MB PSS");
    }
    let alone = quantile(&mut without.latencies, 0.5);
    report.info("native notification from the call to the app, p50", alone, "ms");
    let beside = quantile(&mut with.latencies, 0.5);
    report.info(&label("native notification, p50"), beside, "ms");
    report.info(&label("native notification, p99"), quantile(&mut with.latencies, 0.99), "ms");
    report.at_most(&label("native notification relative to none"), beside / alone, 1.5, "times");
    Ok(())
}

/// Starts an engine whose outbox has `waiting` deliveries at least, and measures it after half a minute.
async fn measure_engine(
    programs: &Programs,
    home: &Path,
    waiting: usize,
) -> anyhow::Result<OutboxCosts> {
    let engine = BenchEngine::start(programs, home)?;
    let mut app = attach(&engine).await?;
    wait(Duration::from_secs(30)).await;
    let memory =
        if cfg!(target_os = "linux") { Some(proportional_mb(engine.pid())?) } else { None };
    let mut latencies = Vec::with_capacity(NOTIFICATIONS);
    // The first notification is a warm-up.
    for number in 0..=NOTIFICATIONS {
        let (request, elapsed) = timed_async(notify(&engine, &mut app)).await;
        let answer = json!({ "key": request?.key, "outcome": "shown" });
        engine.call("deliveries.answer", answer).await?;
        if number > 0 {
            latencies.push(millis_of(elapsed));
        }
        // Keeps the end of this delivery out of the next.
        wait(Duration::from_millis(20)).await;
    }
    engine.stop();
    ensure_waiting(home, waiting).await?;
    Ok(OutboxCosts { memory, latencies })
}

/// Attaches an app that shows the notifications of the engine.
async fn attach(engine: &BenchEngine) -> anyhow::Result<DesktopAppStream> {
    let mut app = engine.client.attach_desktop_app(0).await?;
    // The engine counts the app from this event on.
    loop {
        match app.next().await.context("the engine has stopped")? {
            DesktopAppMessage::Event(event) if event.data["screens"] == 1 => return Ok(app),
            DesktopAppMessage::Event(_) | DesktopAppMessage::Show(_) => {}
        }
    }
}

/// Sends a test notification and waits until the app has it.
async fn notify(
    engine: &BenchEngine,
    app: &mut DesktopAppStream,
) -> anyhow::Result<NotificationRequest> {
    let sent = engine.call("deliveries.test", json!({})).await?;
    loop {
        match app.next().await.context("the engine has stopped")? {
            DesktopAppMessage::Show(request) if sent["id"] == request.delivery_id.as_str() => {
                return Ok(request);
            }
            DesktopAppMessage::Show(_) | DesktopAppMessage::Event(_) => {}
        }
    }
}

/// Puts the deliveries for the silent channel into the outbox of a stopped engine.
async fn store_deliveries(home: &Path) -> anyhow::Result<()> {
    let store = open_store(home).await?;
    let (now, channel) = (UnixMs(now_ms()), ChannelName::new(CHANNEL));
    let deliveries: Vec<NewDelivery> = (0..DELIVERIES)
        .map(|number| NewDelivery {
            approval: None,
            id: DeliveryId::new(format!("bench-{number}")),
            kind: MessageKind::Report,
            route: Route::of(channel.clone()),
            title: format!("Report {number}"),
            body: "All is well.".to_owned(),
            text: Some("x".repeat(TEXT_BYTES)),
            quiet_hours: QuietPolicy::IGNORE,
        })
        .collect();
    for chunk in deliveries.chunks(CHUNK) {
        store.enqueue_deliveries(None, chunk, now).await?;
    }
    store.close().await;
    Ok(())
}

/// Fails unless nearly all deliveries still wait: the channel must not have settled them.
async fn ensure_waiting(home: &Path, expected: usize) -> anyhow::Result<()> {
    const SETTLED_MEANWHILE: usize = 10;
    let store = open_store(home).await?;
    let limit = u32::try_from(DELIVERIES)?;
    let far = UnixMs(now_ms()).plus_ms(86_400_000);
    let waiting = store.due_deliveries(&ChannelName::new(CHANNEL), far, limit).await?.len();
    store.close().await;
    anyhow::ensure!(waiting + SETTLED_MEANWHILE >= expected, "only {waiting} deliveries wait");
    Ok(())
}

async fn open_store(home: &Path) -> anyhow::Result<Store> {
    Ok(Store::open(&home.join("rouse.db"), std::sync::Arc::new(|_| {})).await?)
}
