//! Notes on clock changes beside a slot in a preview.
//!
//! Owns the sentence that explains a slot that would look wrong. Never decides a slot.

use std::fmt;

use chrono::NaiveDateTime;

use super::pattern::CronPattern;
use crate::time::Zone;
use crate::time::format_duration;
use crate::time::wall_clock::{
    FIRST_SECOND, LAST_SECOND, Transition, TransitionKind, WallInstants, WallTime, date_words,
    instants_of, offset_at, time_words, wall_at,
};

/// Why a slot differs from the time in the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockNote {
    /// The time does not exist; the slot is the first instant after the gap.
    Moved {
        /// The first skipped time of the pattern.
        from: NaiveDateTime,
        /// The wall time of the slot.
        to: NaiveDateTime,
    },
    /// The time occurs twice; a fixed time runs in the first pass only.
    OnlyFirstPass {
        /// The time.
        time: NaiveDateTime,
    },
    /// The time occurs twice; the pattern runs both times.
    BothPasses {
        /// The time.
        time: NaiveDateTime,
        /// Whether this is the second pass.
        is_second: bool,
    },
}

impl CronPattern {
    /// The note on a slot of this pattern; none for an ordinary slot.
    #[must_use]
    pub fn clock_note(&self, zone: Zone, slot: i64) -> Option<ClockNote> {
        let slot = slot.div_euclid(1000);
        if !(FIRST_SECOND..=LAST_SECOND).contains(&slot) {
            return None;
        }
        let shown = wall_at(zone, slot);
        if let WallInstants::Twice { first, .. } = instants_of(zone, shown) {
            let time = shown.naive();
            let both = ClockNote::BothPasses { time, is_second: slot != first };
            return Some(if self.is_interval() { both } else { ClockNote::OnlyFirstPass { time } });
        }
        let gap_start = WallTime(slot + offset_at(zone, slot - 1));
        let skipped =
            self.next_match(gap_start).filter(|wanted| *wanted < shown && !self.is_interval())?;
        Some(ClockNote::Moved { from: skipped.naive(), to: shown.naive() })
    }
}

/// The note on a single instant: whether the wall time occurs twice, and whether this is the first or the second.
#[must_use]
pub fn instant_note(zone: Zone, at: i64) -> Option<ClockNote> {
    let at = at.div_euclid(1000);
    if !(FIRST_SECOND..=LAST_SECOND).contains(&at) {
        return None;
    }
    let shown = wall_at(zone, at);
    match instants_of(zone, shown) {
        WallInstants::Twice { first, .. } => {
            Some(ClockNote::BothPasses { time: shown.naive(), is_second: at != first })
        }
        WallInstants::Once(_) | WallInstants::Never { .. } => None,
    }
}

/// The effect of a clock change on an interval of `every_ms`, as the end of a sentence; none when the wall times stay the
/// same. Elapsed time does not follow the clock.
#[must_use]
pub fn interval_effect(change: &Transition, every_ms: i64) -> Option<String> {
    let by_ms = i64::from(change.offset_after) * 1000 - i64::from(change.offset_before) * 1000;
    if by_ms.checked_rem(every_ms).is_none_or(|rest| rest == 0) {
        return None;
    }
    let (by, way) = (format_duration(by_ms.abs()), if by_ms > 0 { "later" } else { "earlier" });
    Some(format!("the interval stays the same, so from then on runs are {by} {way} by the clock"))
}

impl CronPattern {
    /// The effect of a clock change on this pattern; none when no match is affected.
    #[must_use]
    pub fn effect_of(&self, change: &Transition) -> Option<ClockEffect> {
        let at = change.at.div_euclid(1000);
        let (before, after) =
            (at + i64::from(change.offset_before), at + i64::from(change.offset_after));
        let (low, high) = (WallTime(before.min(after)), WallTime(before.max(after)));
        self.next_match(low).filter(|time| *time < high)?;
        Some(match (change.kind(), self.is_interval()) {
            (TransitionKind::Gap, true) => ClockEffect::LeftOut,
            (TransitionKind::Gap, false) => ClockEffect::AtOnce,
            (TransitionKind::Overlap, true) => ClockEffect::Twice,
            (TransitionKind::Overlap, false) => ClockEffect::Once,
        })
    }
}

/// The effect of a clock change on the skipped or repeated times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockEffect {
    /// An interval pattern does not run in a gap.
    LeftOut,
    /// Fixed times in a gap run once, right after the gap.
    AtOnce,
    /// An interval pattern runs in both passes of an overlap.
    Twice,
    /// A fixed time runs in the first pass of an overlap.
    Once,
}

impl fmt::Display for ClockEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeftOut => "skipped times do not run",
            Self::AtOnce => "skipped times run once, right after the change",
            Self::Twice => "repeated times run twice",
            Self::Once => "repeated times run only the first time",
        })
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
