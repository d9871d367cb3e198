//! The channel on which the system modules report a change.

use tokio::sync::mpsc;

/// Reports an unspecified change; the receiver reads the new state.
pub(super) type ChangeSender = mpsc::UnboundedSender<()>;
