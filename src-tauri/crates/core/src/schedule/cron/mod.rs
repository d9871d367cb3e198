//! Cron patterns: parsing, the search for slots, and the rule for clock changes.
//!
//! Owns the way from a pattern to the slots: `grammar` refuses what croner would misread, croner reads the fields, and
//! `dates` and `times` search in its sets. Never reads the clock and never knows a job.

mod grammar;
mod dates;
mod times;
mod pattern;
mod clock_changes;
mod count;
mod clock_note;

pub use clock_note::{ClockEffect, ClockNote, instant_note, interval_effect};
pub use grammar::{CronError, CronField};
pub(super) use grammar::{FieldItem, FieldItems, PatternFields};
pub use pattern::CronPattern;
