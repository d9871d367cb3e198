//! Cron patterns: parsing, the search for slots, and the rule for clock changes.
//!
//! Owns the way from a pattern to the slots. Never reads the clock and never knows a job.

mod fields;
mod dates;
mod times;
mod pattern;
mod clock_changes;
mod count;
mod clock_note;

pub use clock_note::{ClockEffect, ClockNote, instant_note, interval_effect};
pub use fields::{CronError, CronField};
pub(super) use fields::{FieldItem, FieldItems, PatternFields};
pub use pattern::CronPattern;
