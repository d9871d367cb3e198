//! Windows: the power manager's word after a wake, and a thread that asks it to stay awake.
//!
//! The word needs no window, so `rouse serve` hears it as well. The wish to stay awake belongs to the thread that
//! uttered it and ends with it; so it has a thread of its own, which waits until it is let go. A crash ends both. There
//! are no zone files; the built-in tables speak.

use std::ffi::c_void;
use std::sync::mpsc as thread;

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Power::{
    DEVICE_NOTIFY_SUBSCRIBE_PARAMETERS, ES_CONTINUOUS, ES_SYSTEM_REQUIRED,
    PowerRegisterSuspendResumeNotification, SetThreadExecutionState,
};
use windows_sys::Win32::UI::WindowsAndMessaging::{DEVICE_NOTIFY_CALLBACK, PBT_APMRESUMEAUTOMATIC};

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
        let (awake, let_go) = thread::channel();
        let wish = move || {
            // SAFETY: no pointers; the wish holds for this thread.
            if unsafe { SetThreadExecutionState(ES_CONTINUOUS | ES_SYSTEM_REQUIRED) } == 0 {
                tracing::warn!("the computer may go to sleep during a run");
            }
            // Ends when `Awake` is dropped, and with the thread the wish.
            let _dropped: Result<(), thread::RecvError> = let_go.recv();
        };
        std::thread::Builder::new()
            .name("awake".to_owned())
            .spawn(wish)
            .map(|_| Awake(awake))
            .inspect_err(
                |error| tracing::warn!(%error, "the computer may go to sleep during a run"),
            )
            .ok()
    }
}

/// The machine does not sleep while this is kept.
pub(super) struct Awake(#[expect(dead_code, reason = "its end is the message")] thread::Sender<()>);

/// Asks the power manager to tell of wakes for as long as the process lives.
fn observe_wakes(woke: Tell) {
    // The manager may call until the process ends, so what it calls with is kept until then.
    let parameters = Box::leak(Box::new(DEVICE_NOTIFY_SUBSCRIBE_PARAMETERS {
        Callback: Some(on_power_event),
        Context: Box::into_raw(Box::new(woke)).cast(),
    }));
    let mut registration: *mut c_void = std::ptr::null_mut();
    // SAFETY: the parameters and the sender behind them are never freed; the callback has the required signature.
    let answer = unsafe {
        PowerRegisterSuspendResumeNotification(
            DEVICE_NOTIFY_CALLBACK,
            std::ptr::from_mut(parameters).cast(),
            &raw mut registration,
        )
    };
    if answer != ERROR_SUCCESS {
        tracing::debug!(answer, "the power manager does not tell of wakes");
    }
}

unsafe extern "system" fn on_power_event(
    context: *const c_void,
    event: u32,
    _setting: *const c_void,
) -> u32 {
    if event == PBT_APMRESUMEAUTOMATIC {
        // SAFETY: `observe_wakes` has leaked this sender for the power manager; sending needs only a shared reference.
        let woke = unsafe { &*context.cast::<Tell>() };
        if woke.send(()).is_err() {
            tracing::debug!("a wake after the end");
        }
    }
    ERROR_SUCCESS
}
