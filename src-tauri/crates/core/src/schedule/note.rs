//! What a change of the clock does to one slot, in words for a preview.
//!
//! Owns the sentence beside a slot that a reader would otherwise take for a mistake. It decides nothing: the slot comes
//! from `cron`.

use std::fmt;

use chrono::NaiveDateTime;
use chrono_tz::Tz;

use super::cron::CronPattern;
use super::zone::{
    FIRST_SECOND, Instants, LAST_SECOND, Wall, date_words, instants_of, offset_at, time_words,
    wall_at,
};

/// Why a slot is not simply the time of the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockNote {
    /// The time does not exist in the zone; the slot is the first instant after the gap.
    Moved {
        /// The first time of the pattern that was skipped.
        from: NaiveDateTime,
        /// What the clock shows at the slot.
        to: NaiveDateTime,
    },
    /// The time comes twice; a fixed time runs in the first pass only.
    OnlyFirstPass {
        /// The time.
        time: NaiveDateTime,
    },
    /// The time comes twice and the pattern runs both times.
    BothPasses {
        /// The time.
        time: NaiveDateTime,
        /// Whether this slot is the second one.
        is_second: bool,
    },
}

impl CronPattern {
    /// What a change of the clock did to the slot `slot` of this pattern; `None` for an ordinary slot.
    #[must_use]
    pub fn clock_note(&self, tz: Tz, slot: i64) -> Option<ClockNote> {
        let slot = slot.div_euclid(1000);
        if !(FIRST_SECOND..=LAST_SECOND).contains(&slot) {
            return None;
        }
        let shown = wall_at(tz, slot);
        if let Instants::Twice { first, .. } = instants_of(tz, shown) {
            let time = shown.naive();
            let both = ClockNote::BothPasses { time, is_second: slot != first };
            return Some(if self.is_interval() { both } else { ClockNote::OnlyFirstPass { time } });
        }
        let gap_start = Wall(slot + offset_at(tz, slot - 1));
        let skipped =
            self.next_match(gap_start).filter(|wanted| *wanted < shown && !self.is_interval())?;
        Some(ClockNote::Moved { from: skipped.naive(), to: shown.naive() })
    }
}

/// "02:30 does not exist on 29 Mar 2026; runs at 03:00".
impl fmt::Display for ClockNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved { from, to } => {
                write!(
                    f,
                    "{} does not exist on {}; runs at {}",
                    time_words(*from),
                    date_words(*from),
                    time_words(*to)
                )?;
                if from.date() == to.date() { Ok(()) } else { write!(f, " on {}", date_words(*to)) }
            }
            Self::OnlyFirstPass { time } => {
                write!(
                    f,
                    "{} comes twice on {}; runs the first time only",
                    time_words(*time),
                    date_words(*time)
                )
            }
            Self::BothPasses { time, is_second } => {
                let which = if *is_second { "second" } else { "first" };
                write!(
                    f,
                    "{} comes twice on {}; this is the {which} time",
                    time_words(*time),
                    date_words(*time)
                )
            }
        }
    }
}
