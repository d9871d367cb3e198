//! Linux: logind on the system bus, and inotify for zone files.
//!
//! The timer learns of a wake-up from the kernel. logind covers machines that resume without a clock change. logind
//! releases the inhibitor when its file descriptor closes, so a crash never keeps a computer awake.

use std::os::fd::OwnedFd;
use std::pin::pin;

use futures_util::StreamExt as _;
use tokio::sync::OnceCell;
use zbus::Connection;

use super::change_sender::ChangeSender;
use super::zone_watch;

/// The logind interface.
#[zbus::proxy(
    interface = "org.freedesktop.login1.Manager",
    default_service = "org.freedesktop.login1",
    default_path = "/org/freedesktop/login1"
)]
trait Logind {
    /// True before a suspend, false after a resume.
    #[zbus(signal)]
    fn prepare_for_sleep(&self, starts: bool) -> zbus::Result<()>;

    /// A descriptor that inhibits the operations in `what` until closed.
    fn inhibit(&self, what: &str, who: &str, why: &str, mode: &str) -> zbus::Result<zbus::OwnedFd>;
}

/// This machine.
#[derive(Debug, Default)]
pub(crate) struct SystemMachine {
    /// The system bus, connected on first use; none if the system has no bus.
    bus: OnceCell<Option<Connection>>,
}

impl SystemMachine {
    /// Reports each wake-up and each change of the zone or the zone files.
    pub(super) async fn listen(&self, changes_tx: &ChangeSender) {
        tokio::join!(self.listen_for_wakeups(changes_tx), zone_watch::listen(changes_tx));
    }

    async fn listen_for_wakeups(&self, changes_tx: &ChangeSender) {
        let Some(logind) = self.logind().await else { return };
        match logind.receive_prepare_for_sleep().await {
            Ok(signals) => {
                let mut signals = pin!(signals);
                while let Some(signal) = signals.next().await {
                    if signal.args().is_ok_and(|args| !args.starts) {
                        tracing::info!("the machine woke up");
                        if changes_tx.send(()).is_err() {
                            return;
                        }
                    }
                }
            }
            Err(error) => tracing::debug!(%error, "logind does not report wake-ups"),
        }
    }

    /// Inhibits sleep until the result is dropped; none if inhibition is impossible.
    pub(super) async fn inhibit_sleep(&self) -> Option<OwnedFd> {
        let Some(logind) = self.logind().await else {
            tracing::warn!("the computer may sleep during a run: there is no system bus");
            return None;
        };
        let held = logind.inhibit("sleep:idle", "Rouse", "A job is running", "block").await;
        held.map(OwnedFd::from)
            .inspect_err(|error| tracing::warn!(%error, "the computer may sleep during a run"))
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
    use crate::config::{ConfigFile, MachineFacts};
    use crate::machine::{RunCounter, keep_awake};
    use rouse_testkit::TestBus;

    /// A logind that hands out pipes and records the requested inhibitors.
    struct FakeLogind {
        requests: mpsc::UnboundedSender<(String, UnixStream)>,
    }

    #[zbus::interface(name = "org.freedesktop.login1.Manager")]
    impl FakeLogind {
        fn inhibit(&self, what: &str, who: &str, why: &str, mode: &str) -> zbus::OwnedFd {
            let (pipe, given) = UnixStream::pair().expect("a pair");
            pipe.set_nonblocking(true).expect("set");
            let request = format!("{what} · {who} · {why} · {mode}");
            self.requests.send((request, pipe)).expect("the test listens");
            OwnedFd::from(given).into()
        }

        #[zbus(signal)]
        async fn prepare_for_sleep(emitter: &SignalEmitter<'_>, starts: bool) -> zbus::Result<()>;
    }

    async fn logind(bus: &TestBus) -> (Connection, mpsc::UnboundedReceiver<(String, UnixStream)>) {
        let (requests, inhibitors) = mpsc::unbounded_channel();
        let connection = Builder::address(bus.address.as_str())
            .serve_at("/org/freedesktop/login1", FakeLogind { requests })
            .name("org.freedesktop.login1")
            .build()
            .await
            .expect("on the bus");
        (connection, inhibitors)
    }

    /// A machine with `bus` as its system bus.
    async fn machine_on(bus: &TestBus) -> SystemMachine {
        let connection = Builder::address(bus.address.as_str()).build().await.expect("on the bus");
        SystemMachine { bus: OnceCell::new_with(Some(Some(connection))) }
    }

    /// Waits until the other end of an inhibitor is closed.
    async fn wait_until_released(pipe: UnixStream) {
        let mut pipe = tokio::net::UnixStream::from_std(pipe).expect("watched");
        assert_eq!(pipe.read(&mut [0]).await.expect("an end"), 0);
    }

    #[tokio::test]
    async fn wake_up_is_reported_and_suspend_is_not() {
        let bus = TestBus::start();
        let (logind, _inhibitors) = logind(&bus).await;
        let system = machine_on(&bus).await;
        let (changes_tx, mut wakes) = mpsc::unbounded_channel();
        let emitter = SignalEmitter::new(&logind, "/org/freedesktop/login1").expect("an emitter");
        let sleep_and_wake = async {
            // Signals before the subscription are lost.
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
            () = system.listen_for_wakeups(&changes_tx) => panic!("stopped listening"),
            () = sleep_and_wake => {}
        }
    }

    #[tokio::test]
    async fn inhibitor_holds_until_dropped() {
        let bus = TestBus::start();
        let (_logind, mut inhibitors) = logind(&bus).await;
        let system = machine_on(&bus).await;
        let held = system.inhibit_sleep().await.expect("held");
        let (request, pipe) = inhibitors.recv().await.expect("requested");
        assert_eq!(request, "sleep:idle · Rouse · A job is running · block");
        drop(held);
        wait_until_released(pipe).await;
    }

    #[tokio::test]
    async fn sleep_is_inhibited_during_runs_if_enabled() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = |text: &str| {
            let path = folder.path().join("config.toml");
            std::fs::write(&path, text).expect("written");
            let workspace = folder.path().join("workspace");
            let machine = MachineFacts {
                env: &|_| None,
                zones: &chrono_tz::UTC.into(),
                secrets: None,
                recipients: None,
            };
            ConfigFile::open(&path, &workspace, machine).expect("settings").config().clone()
        };
        let (on, off) = (config("[system]\nkeepAwake = true\n"), config(""));
        let bus = TestBus::start();
        let (_logind, mut inhibitors) = logind(&bus).await;
        let system = machine_on(&bus).await;
        let (settings, run_counter) = (watch::Sender::new(off.clone()), RunCounter::default());
        let person = async {
            let first = run_counter.count_run();
            tokio::task::yield_now().await;
            assert!(inhibitors.try_recv().is_err(), "switched off");
            settings.send_replace(on.clone());
            let (_, pipe) = inhibitors.recv().await.expect("requested");
            let second = run_counter.count_run();
            drop(first);
            tokio::task::yield_now().await;
            assert!(inhibitors.try_recv().is_err(), "already inhibited");
            drop(second);
            wait_until_released(pipe).await;
            let _third = run_counter.count_run();
            let (_, pipe) = inhibitors.recv().await.expect("requested again");
            settings.send_replace(off);
            wait_until_released(pipe).await;
        };
        tokio::select! {
            () = keep_awake(&system, settings.subscribe(), run_counter.clone()) => panic!("gave up"),
            () = person => {}
        }
    }

    #[tokio::test]
    async fn missing_bus_is_no_error() {
        let system = SystemMachine { bus: OnceCell::new_with(Some(None)) };
        assert!(system.inhibit_sleep().await.is_none());
        let (changes_tx, mut wakes) = mpsc::unbounded_channel();
        system.listen_for_wakeups(&changes_tx).await;
        assert!(wakes.try_recv().is_err());
    }
}
