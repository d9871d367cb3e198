//! Next-fire maths: when a cron pattern or an interval fires next, and what a schedule is called in words.
//!
//! Owns the one answer to "when" that preview and engine share. It refuses to read the clock, to know jobs or to decide
//! what happens with a slot. Instants are unix milliseconds as plain `i64`; slots are whole seconds for cron patterns,
//! and "after" always means strictly after, to the millisecond.
//!
//! **The rule for changes of the clock.** A pattern whose seconds, minute or hour field contains `*` or a step is an
//! *interval* pattern, every other one is *fixed*: a time in a list or a range is a fixed time.
//! - In a gap (the clock jumps forward) a fixed time runs at the first valid instant after the gap, whatever its date.
//!   Several times inside one gap, and a regular time at its end, are one slot. Interval patterns do not fire there.
//! - In an overlap (the clock goes back) a fixed time runs once, in the first pass. Interval patterns fire in both.
//!
//! **Where this differs from croner 4.0.3**, whose dialect this is and beside which a test holds it on a clock without
//! changes. Its documentation promises the same rule but calls a pattern fixed only when seconds, minute and hour are
//! single values, so that `0,30 2 * * *` loses its run in a gap and runs twice in an overlap. A time in a gap is lost as
//! well when the gap ends on a date that the pattern does not name; a gap longer than two hours ends the search with an
//! error; an inclusive search from 07:00:00.9 answers 07:00:00. It reads `MON` in the month field as January, searches
//! 5,000 years for a time that `,` in a field can never match, and needs ten times as long for a pattern and for a slot:
//! after a change of the clock ten thousand jobs are planned anew at once.
//!
//! One could get this wrong by adding milliseconds to a slot to find the next one, or by testing only zones whose clock
//! changes by an hour at two in the morning.

mod cron;
mod dates;
mod rule;
mod count;
mod times;

mod fields;
mod wall;

mod built_in;
mod kept;
mod rules;
mod table;
mod tzif;
mod zones;

mod every;
mod note;

mod day;
mod day_window;

mod describe;
mod duration;

pub use cron::CronPattern;
pub use day::{Day, month_start};
pub use day_window::DayWindow;
pub use describe::{describe_at, describe_every, instant_words};
pub use duration::{DurationError, format_duration, parse_duration};
pub use every::{every_count_slots, every_next_after};
pub use fields::{CronError, CronField};
pub use note::{ClockEffect, ClockNote, instant_note, interval_effect};
pub use rules::{Zone, ZoneOffset};
pub use wall::{Transition, TransitionKind, transitions_in};
pub use zones::{ZoneFiles, ZoneSource, ZoneVersion, Zones, no_zone};
