//! Windows: wake-up notifications of the power manager, and a thread that inhibits sleep.
//!
//! The notification needs no window, so `rouse serve` gets it as well. An inhibition belongs to its thread and ends
//! with the thread, so a dedicated thread waits until the inhibitor is dropped. A crash ends both. Windows has no
//! zone files; the built-in tables apply.

use std::ffi::c_void;
use std::sync::mpsc as thread;

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Power::{
    DEVICE_NOTIFY_SUBSCRIBE_PARAMETERS, ES_CONTINUOUS, ES_SYSTEM_REQUIRED,
    PowerRegisterSuspendResumeNotification, SetThreadExecutionState,
};
use windows_sys::Win32::UI::WindowsAndMessaging::{DEVICE_NOTIFY_CALLBACK, PBT_APMRESUMEAUTOMATIC};

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
        let (awake, dropped) = thread::channel();
        let inhibit = move || {
            // SAFETY: no pointers; the state applies to this thread.
            if unsafe { SetThreadExecutionState(ES_CONTINUOUS | ES_SYSTEM_REQUIRED) } == 0 {
                tracing::warn!("the computer may sleep during a run");
            }
            // Ends when `SleepInhibitor` is dropped; the inhibition ends with the thread.
            let _closed: Result<(), thread::RecvError> = dropped.recv();
        };
        std::thread::Builder::new()
            .name("awake".to_owned())
            .spawn(inhibit)
            .map(|_| SleepInhibitor(awake))
            .inspect_err(|error| tracing::warn!(%error, "the computer may sleep during a run"))
            .ok()
    }
}

/// Inhibits sleep until dropped.
pub(super) struct SleepInhibitor(
    #[expect(dead_code, reason = "dropping it is the message")] thread::Sender<()>,
);

/// Registers for wake-up notifications for the life of the process.
fn observe_wakeups(changes_tx: ChangeSender) {
    // The manager may call until the process ends, so the parameters and the sender are leaked.
    let parameters = Box::leak(Box::new(DEVICE_NOTIFY_SUBSCRIBE_PARAMETERS {
        Callback: Some(on_power_event),
        Context: Box::into_raw(Box::new(changes_tx)).cast(),
    }));
    let mut registration: *mut c_void = std::ptr::null_mut();
    // SAFETY: the parameters and the sender are never freed; the callback has the required signature.
    let answer = unsafe {
        PowerRegisterSuspendResumeNotification(
            DEVICE_NOTIFY_CALLBACK,
            std::ptr::from_mut(parameters).cast(),
            &raw mut registration,
        )
    };
    if answer != ERROR_SUCCESS {
        tracing::debug!(answer, "the power manager does not report wake-ups");
    }
}

unsafe extern "system" fn on_power_event(
    context: *const c_void,
    event: u32,
    _setting: *const c_void,
) -> u32 {
    if event == PBT_APMRESUMEAUTOMATIC {
        // SAFETY: `observe_wakeups` leaked this sender for the power manager; sending needs only a shared reference.
        let changes_tx = unsafe { &*context.cast::<ChangeSender>() };
        if changes_tx.send(()).is_err() {
            tracing::debug!("a wake-up arrived after shutdown");
        }
    }
    ERROR_SUCCESS
}
