//! Linux: logind on the system bus, and the kernel's watch on files.
//!
//! The scheduler's timer hears of a wake from the kernel already; logind says it as well where a machine resumes without
//! its clock being set. The inhibitor is a file descriptor: logind takes it back when it is closed, so a crash cannot keep
//! a computer awake.

use std::os::fd::OwnedFd;
use std::pin::pin;

use futures_util::StreamExt as _;
use tokio::sync::OnceCell;
use zbus::Connection;

use super::{Tell, zone_watch};

/// logind's side of it.
#[zbus::proxy(
    interface = "org.freedesktop.login1.Manager",
    default_service = "org.freedesktop.login1",
    default_path = "/org/freedesktop/login1"
)]
trait Logind {
    /// True before a sleep, false after it.
    #[zbus(signal)]
    fn prepare_for_sleep(&self, starts: bool) -> zbus::Result<()>;

    /// A descriptor that holds up what `what` names until it is closed.
    fn inhibit(&self, what: &str, who: &str, why: &str, mode: &str) -> zbus::Result<zbus::OwnedFd>;
}

/// This machine.
#[derive(Debug, Default)]
pub(crate) struct System {
    /// The system bus, once it was needed; none where there is none.
    bus: OnceCell<Option<Connection>>,
}

impl System {
    /// Tells of each wake of the machine and each change of its zone or zone files.
    pub(super) async fn listen(&self, tell: &Tell) {
        tokio::join!(self.listen_for_wakes(tell), zone_watch::listen(tell));
    }

    async fn listen_for_wakes(&self, tell: &Tell) {
        let Some(logind) = self.logind().await else { return };
        match logind.receive_prepare_for_sleep().await {
            Ok(signals) => {
                let mut signals = pin!(signals);
                while let Some(signal) = signals.next().await {
                    if signal.args().is_ok_and(|args| !args.starts) {
                        tracing::info!("the machine woke up");
                        if tell.send(()).is_err() {
                            return;
                        }
                    }
                }
            }
            Err(error) => tracing::debug!(%error, "logind does not tell of wakes"),
        }
    }

    /// Keeps the machine from sleeping until the answer is dropped; none where nobody can.
    pub(super) async fn stay_awake(&self) -> Option<OwnedFd> {
        let Some(logind) = self.logind().await else {
            tracing::warn!("the computer may go to sleep during a run: there is no system bus");
            return None;
        };
        let held = logind.inhibit("sleep:idle", "Rouse", "A job is at work", "block").await;
        held.map(OwnedFd::from)
            .inspect_err(
                |error| tracing::warn!(%error, "the computer may go to sleep during a run"),
            )
            .ok()
    }

    async fn logind(&self) -> Option<LogindProxy<'_>> {
        let bus = self.bus.get_or_init(connect).await.as_ref()?;
        LogindProxy::new(bus).await.ok()
    }
}

async fn connect() -> Option<Connection> {
    Connection::system()
        .await
        .inspect_err(|error| tracing::debug!(%error, "there is no system bus"))
        .ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use tokio::io::AsyncReadExt as _;
    use tokio::sync::{mpsc, watch};
    use zbus::connection::Builder;
    use zbus::object_server::SignalEmitter;

    use super::*;
    use crate::config::{ConfigFile, OfMachine};
    use crate::machine::{AtWork, keep_awake};
    use crate::own_bus::Bus;

    /// A logind that hands out pipes and tells which inhibitors were asked for.
    struct FakeLogind {
        asked: mpsc::UnboundedSender<(String, UnixStream)>,
    }

    #[zbus::interface(name = "org.freedesktop.login1.Manager")]
    impl FakeLogind {
        fn inhibit(&self, what: &str, who: &str, why: &str, mode: &str) -> zbus::OwnedFd {
            let (kept, given) = UnixStream::pair().expect("a pair");
            kept.set_nonblocking(true).expect("set");
            let words = format!("{what} · {who} · {why} · {mode}");
            self.asked.send((words, kept)).expect("the test listens");
            OwnedFd::from(given).into()
        }

        #[zbus(signal)]
        async fn prepare_for_sleep(emitter: &SignalEmitter<'_>, starts: bool) -> zbus::Result<()>;
    }

    async fn logind(bus: &Bus) -> (Connection, mpsc::UnboundedReceiver<(String, UnixStream)>) {
        let (asked, inhibitors) = mpsc::unbounded_channel();
        let connection = Builder::address(bus.address.as_str())
            .serve_at("/org/freedesktop/login1", FakeLogind { asked })
            .name("org.freedesktop.login1")
            .build()
            .await
            .expect("on the bus");
        (connection, inhibitors)
    }

    /// A machine whose system bus is `bus`.
    async fn system_on(bus: &Bus) -> System {
        let connection = Builder::address(bus.address.as_str()).build().await.expect("on the bus");
        System { bus: OnceCell::new_with(Some(Some(connection))) }
    }

    /// Until the other end of an inhibitor is closed.
    async fn let_go(kept: UnixStream) {
        let mut kept = tokio::net::UnixStream::from_std(kept).expect("watched");
        assert_eq!(kept.read(&mut [0]).await.expect("an end"), 0);
    }

    #[tokio::test]
    async fn a_wake_is_told_and_a_coming_sleep_is_not() {
        let bus = Bus::start();
        let (logind, _inhibitors) = logind(&bus).await;
        let system = system_on(&bus).await;
        let (tell, mut wakes) = mpsc::unbounded_channel();
        let emitter = SignalEmitter::new(&logind, "/org/freedesktop/login1").expect("an emitter");
        let sleep_and_wake = async {
            // Until the listener is there, a signal is heard by nobody.
            loop {
                FakeLogind::prepare_for_sleep(&emitter, true).await.expect("sent");
                FakeLogind::prepare_for_sleep(&emitter, false).await.expect("sent");
                tokio::task::yield_now().await;
                if wakes.try_recv().is_ok() {
                    break;
                }
            }
        };
        tokio::select! {
            () = system.listen_for_wakes(&tell) => panic!("stopped listening"),
            () = sleep_and_wake => {}
        }
    }

    #[tokio::test]
    async fn an_inhibitor_holds_until_it_is_dropped() {
        let bus = Bus::start();
        let (_logind, mut inhibitors) = logind(&bus).await;
        let system = system_on(&bus).await;
        let held = system.stay_awake().await.expect("held");
        let (words, kept) = inhibitors.recv().await.expect("asked");
        assert_eq!(words, "sleep:idle · Rouse · A job is at work · block");
        drop(held);
        let_go(kept).await;
    }

    #[tokio::test]
    async fn the_machine_is_kept_awake_while_it_is_wished_and_a_run_is_at_work() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = |text: &str| {
            let path = folder.path().join("config.toml");
            std::fs::write(&path, text).expect("written");
            let workspace = folder.path().join("workspace");
            let machine =
                OfMachine { env: &|_| None, zones: &chrono_tz::UTC.into(), secrets: None };
            ConfigFile::open(&path, &workspace, machine).expect("settings").config().clone()
        };
        let (on, off) = (config("[system]\nkeepAwake = true\n"), config(""));
        let bus = Bus::start();
        let (_logind, mut inhibitors) = logind(&bus).await;
        let system = system_on(&bus).await;
        let (settings, at_work) = (watch::Sender::new(off.clone()), AtWork::default());
        let person = async {
            let one = at_work.one_more();
            tokio::task::yield_now().await;
            assert!(inhibitors.try_recv().is_err(), "nobody wished it");
            settings.send_replace(on.clone());
            let (_, kept) = inhibitors.recv().await.expect("asked");
            let two = at_work.one_more();
            drop(one);
            tokio::task::yield_now().await;
            assert!(inhibitors.try_recv().is_err(), "held already");
            drop(two);
            let_go(kept).await;
            let _three = at_work.one_more();
            let (_, kept) = inhibitors.recv().await.expect("asked again");
            settings.send_replace(off);
            let_go(kept).await;
        };
        tokio::select! {
            () = keep_awake(&system, settings.subscribe(), at_work.clone()) => panic!("gave up"),
            () = person => {}
        }
    }

    #[tokio::test]
    async fn without_a_bus_nothing_happens() {
        let system = System { bus: OnceCell::new_with(Some(None)) };
        assert!(system.stay_awake().await.is_none());
        let (tell, mut wakes) = mpsc::unbounded_channel();
        system.listen_for_wakes(&tell).await;
        assert!(wakes.try_recv().is_err());
    }
}
