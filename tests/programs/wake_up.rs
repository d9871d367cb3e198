//! Sleep of the computer, with the real program and a login manager on a private bus.

use rouse_testkit::TestBus;
use rouse_testkit::fake_telegram::FakeTelegram;
use serde_json::json;
use zbus::connection::Builder;
use zbus::object_server::SignalEmitter;

use crate::engine::TestHome;

/// The token of the bot.
const TOKEN: &str = "42:sunflower-42-Tango-1234567890";

/// The path of the login manager.
const LOGIND: &str = "/org/freedesktop/login1";

/// A login manager that reports the sleep of a computer.
struct SleepReporter;

#[zbus::interface(name = "org.freedesktop.login1.Manager")]
impl SleepReporter {
    #[zbus(signal)]
    async fn prepare_for_sleep(emitter: &SignalEmitter<'_>, starts: bool) -> zbus::Result<()>;
}

/// The bot still holds the poll of before the sleep, as a connection that the sleep has cut without a trace.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poll_starts_again_after_sleep() {
    let bus = TestBus::start();
    let logind = Builder::address(bus.address.as_str())
        .serve_at(LOGIND, SleepReporter)
        .name("org.freedesktop.login1")
        .build()
        .await
        .expect("on the bus");
    let emitter = SignalEmitter::new(&logind, LOGIND).expect("an emitter");
    let bot = FakeTelegram::start(TOKEN);
    let home = TestHome::new().env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address);
    let engine = home.serve().await;
    let url = bot.url();
    let secret = json!({ "name": "bot", "value": TOKEN, "hosts": [url] });
    engine.call("secrets.set", secret).await;
    let phone = json!({ "kind": "telegram", "url": url, "tokenSecret": "bot" });
    engine.call("config.patch", json!({ "patch": { "channels": { "phone": phone } } })).await;
    engine.call("channels.pair", json!({ "name": "phone" })).await;
    bot.wait_for_poll();

    let polls = || bot.methods().iter().filter(|method| *method == "getUpdates").count();
    assert_eq!(polls(), 1);
    while polls() == 1 {
        // Signals before the subscription of the engine are lost.
        SleepReporter::prepare_for_sleep(&emitter, true).await.expect("sent");
        SleepReporter::prepare_for_sleep(&emitter, false).await.expect("sent");
        for _ in 0..50 {
            engine.call("system.status", json!({})).await;
        }
    }
    assert!(engine.stop().success());
}
