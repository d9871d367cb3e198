//! Next-fire maths: the slots of cron patterns and intervals, and their description in words.
//!
//! Owns the search that preview and engine share. Never reads the clock, never knows a job's policies and never decides
//! the outcome of a slot. Instants are unix milliseconds as `i64`; cron slots are whole seconds; "after" means strictly
//! after.
//!
//! **The rule for clock changes.** A pattern whose seconds, minute or hour field contains `*` or a step is an
//! *interval* pattern; every other pattern is *fixed*, also with a list or a range.
//! - In a gap (the clock jumps forward) a fixed time runs at the first valid instant after the gap, whatever its date.
//!   Several times inside one gap, and a regular time at its end, are one slot. Interval patterns do not fire there.
//! - In an overlap (the clock goes back) a fixed time runs once, in the first pass. Interval patterns fire in both.
//!
//! **croner** parses every pattern and decides which days and times match. The search is Rouse's own, because croner
//! 4.0.3 documents the same rule for clock changes but treats a pattern as fixed only with single seconds, minute and
//! hour values: `0,30 2 * * *` loses its run in a gap and runs twice in an overlap. It also loses a time in a gap that
//! ends on a date outside the pattern, fails on a gap over two hours, answers 07:00:00 to an inclusive search from
//! 07:00:00.9, and takes ten times as long. A test compares both searches where the clock does not change.
//!
//! Pitfall: adding milliseconds to a slot to find the next slot, or testing only zones that change by an hour at 02:00.

mod cron;
mod interval;
mod description;
pub mod slots;

pub use crate::time::{
    Day, DayWindow, DurationError, Transition, TransitionKind, Zone, ZoneFiles, ZoneOffset,
    ZoneSource, ZoneVersion, Zones, format_duration, month_start, no_zone, parse_duration,
    transitions_in,
};
pub use cron::{
    ClockEffect, ClockNote, CronError, CronField, CronPattern, instant_note, interval_effect,
};
pub use description::{describe_at, describe_every, instant_words};
pub use interval::{every_count_slots, every_next_after};
