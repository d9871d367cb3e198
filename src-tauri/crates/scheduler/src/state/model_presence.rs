//! Whether the main session has a model, and whether a turn needs a model.

use tokio::sync::watch;

/// The model of the main session.
#[derive(Debug)]
pub(crate) struct ModelPresence {
    /// None once no sender is left.
    receiver: Option<watch::Receiver<bool>>,
    is_present: bool,
    /// Notifies the host that a turn waits for a model, so that the host can look for a model server.
    is_awaited: watch::Sender<bool>,
}

impl ModelPresence {
    pub(crate) fn new(receiver: watch::Receiver<bool>, is_awaited: watch::Sender<bool>) -> Self {
        let is_present = *receiver.borrow();
        Self { receiver: Some(receiver), is_present, is_awaited }
    }

    pub(crate) const fn is_present(&self) -> bool {
        self.is_present
    }

    pub(crate) const fn set_present(&mut self, is_present: bool) {
        self.is_present = is_present;
    }

    pub(crate) fn set_awaited(&self, is_awaited: bool) {
        self.is_awaited.send_if_modified(|before| {
            let has_changed = *before != is_awaited;
            *before = is_awaited;
            has_changed
        });
    }

    /// Waits for a change and returns whether there is a model now.
    pub(crate) async fn changed(&mut self) -> bool {
        if let Some(receiver) = &mut self.receiver {
            if receiver.changed().await.is_ok() {
                return *receiver.borrow_and_update();
            }
            self.receiver = None;
        }
        std::future::pending().await
    }
}
