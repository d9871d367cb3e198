//! Verbs across tables. Each is one transaction.

pub(crate) mod job_edit;
pub(crate) mod fire;
pub(crate) mod missed_slots;
pub(crate) mod coalesce;
pub(crate) mod claim;
pub(crate) mod prepared_claim;
pub(crate) mod attempts;
pub(crate) mod approve;
pub(crate) mod hold;
pub(crate) mod settle_delivery;
pub(crate) mod finish;
pub(crate) mod retention;
pub(crate) mod clock_rollback;
pub(crate) mod backup;

pub use approve::{DecisionResult, ParkRequest};
pub use attempts::Backoff;
pub use backup::{RestoreMark, RestoredPermissions, copy_database, mark_restored};
pub use claim::{Claim, ClaimResult};
pub use coalesce::CoalescedSlot;
pub use finish::{Interruption, RunEnd};
pub use missed_slots::MissedSlotNotice;
pub use prepared_claim::PreparedClaim;
pub use retention::HistorySize;
pub use settle_delivery::Postponement;
