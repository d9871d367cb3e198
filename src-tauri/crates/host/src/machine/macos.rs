//! macOS: the workspace's word after a wake, and `caffeinate` for staying awake.
//!
//! The word comes through the run loop of an app, so `rouse serve` does not hear it; there the timer looks at the clock
//! at least twice a minute. `caffeinate` is part of the system and ends with the process it watches, so a crash cannot
//! keep a computer awake. The timer looks at the zones as often as at the clock.

use std::process::{Child, Command, Stdio};

use block2::RcBlock;
use objc2::msg_send;
use objc2::rc::Retained;
use objc2::runtime::{AnyClass, AnyObject};
use objc2_foundation::NSString;

use super::Tell;

/// This machine.
#[derive(Debug, Default)]
pub(crate) struct System {}

impl System {
    /// Tells of each wake of the machine.
    pub(super) async fn listen(&self, tell: &Tell) {
        observe_wakes(tell.clone());
    }

    /// Keeps the machine from sleeping until the answer is dropped; none where nobody can.
    pub(super) async fn stay_awake(&self) -> Option<Awake> {
        let child = Command::new("/usr/bin/caffeinate")
            .args(["-i", "-w", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child
            .map(Awake)
            .inspect_err(
                |error| tracing::warn!(%error, "the computer may go to sleep during a run"),
            )
            .ok()
    }
}

/// The machine does not sleep while this is kept.
pub(super) struct Awake(Child);

impl Drop for Awake {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait().map(drop)) {
            tracing::debug!(%error, "caffeinate had ended already");
        }
    }
}

/// Asks the workspace to tell of wakes for as long as the process lives.
fn observe_wakes(woke: Tell) {
    // Not there in a program that is no app.
    let Some(workspace) = AnyClass::get(c"NSWorkspace") else { return };
    let name = NSString::from_str("NSWorkspaceDidWakeNotification");
    let block = RcBlock::new(move |_notification: *mut AnyObject| {
        if woke.send(()).is_err() {
            tracing::debug!("a wake after the end");
        }
    });
    // SAFETY: the messages are those of AppKit's headers; the centre keeps the block and the observer.
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
