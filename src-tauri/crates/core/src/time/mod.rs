//! Instants, durations, time zones and hours of the day.
//!
//! Owns the mapping between instants and wall clocks, and the text forms of both. Never reads the clock and never knows
//! a schedule.

mod instant;
mod duration;
mod zones;
mod clock;
mod instant_text;
mod day;
mod daily_window;
mod day_hours;
pub(crate) mod quiet_hours;

pub use clock::{Clock, Timer, Wake};
pub use daily_window::DayWindow;
pub(crate) use daily_window::time_of_day;
pub use day::{Day, month_start};
pub use day_hours::DayHours;
pub(crate) use day_hours::day_hours_violations;
pub use duration::{DurationError, format_duration, parse_duration};
pub use instant::UnixMs;
pub use instant_text::{parse_dated_instant, parse_instant, parse_past_instant};
pub use quiet_hours::{DayOfWeek, QuietHours, QuietPolicy, QuietWord};
pub(crate) use quiet_hours::{lower_days, quiet_hours_violations};
pub(crate) use zones::wall_clock;
pub use zones::{
    Transition, TransitionKind, Zone, ZoneFiles, ZoneOffset, ZoneSource, ZoneVersion, Zones,
    no_zone, transitions_in,
};
