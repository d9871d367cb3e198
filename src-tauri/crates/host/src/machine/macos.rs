//! macOS: wake-up notifications of the workspace, and `caffeinate` against sleep.
//!
//! The notification needs an app's run loop, so `rouse serve` never gets it; the timer checks the clock and the zones
//! at least twice a minute. `caffeinate` ends with the watched process, so a crash never keeps a computer awake.

use std::process::{Child, Command, Stdio};

use block2::RcBlock;
use objc2::msg_send;
use objc2::rc::Retained;
use objc2::runtime::{AnyClass, AnyObject};
use objc2_foundation::NSString;

use super::change_sender::ChangeSender;

/// This machine.
#[derive(Debug, Default)]
pub(crate) struct SystemMachine {}

impl SystemMachine {
    /// Reports each wake-up of the machine.
    pub(super) async fn listen(&self, changes_tx: &ChangeSender) {
        observe_wakeups(changes_tx.clone());
    }

    /// Inhibits sleep until the result is dropped; none if inhibition is impossible.
    pub(super) async fn inhibit_sleep(&self) -> Option<SleepInhibitor> {
        let child = Command::new("/usr/bin/caffeinate")
            .args(["-i", "-w", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child
            .map(SleepInhibitor)
            .inspect_err(|error| tracing::warn!(%error, "the computer may sleep during a run"))
            .ok()
    }
}

/// Inhibits sleep until dropped.
pub(super) struct SleepInhibitor(Child);

impl Drop for SleepInhibitor {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait().map(drop)) {
            tracing::debug!(%error, "caffeinate had ended already");
        }
    }
}

/// Registers for wake-up notifications for the life of the process.
fn observe_wakeups(changes_tx: ChangeSender) {
    // Missing in a program that is not an app.
    let Some(workspace) = AnyClass::get(c"NSWorkspace") else { return };
    let name = NSString::from_str("NSWorkspaceDidWakeNotification");
    let block = RcBlock::new(move |_notification: *mut AnyObject| {
        if changes_tx.send(()).is_err() {
            tracing::debug!("a wake-up arrived after shutdown");
        }
    });
    // SAFETY: the messages follow AppKit's headers; the centre keeps the block and the observer.
    unsafe {
        let workspace: Retained<AnyObject> = msg_send![workspace, sharedWorkspace];
        let centre: Retained<AnyObject> = msg_send![&workspace, notificationCenter];
        let none: Option<&AnyObject> = None;
        let _observer: Retained<AnyObject> = msg_send![
            &centre,
            addObserverForName: &*name,
            object: none,
            queue: none,
            usingBlock: &*block
        ];
    }
}
