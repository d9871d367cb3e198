//! What a change of the clock does to one slot, in words for a preview.
//!
//! Owns the sentence beside a slot that a reader would otherwise take for a mistake. It decides nothing: the slot comes
//! from `cron`.

use std::fmt;

use chrono::NaiveDateTime;

use super::cron::CronPattern;
use super::duration::format_duration;
use super::rules::Zone;
use super::wall::{
    FIRST_SECOND, Instants, LAST_SECOND, Transition, TransitionKind, Wall, date_words, instants_of,
    offset_at, time_words, wall_at,
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
    pub fn clock_note(&self, zone: Zone, slot: i64) -> Option<ClockNote> {
        let slot = slot.div_euclid(1000);
        if !(FIRST_SECOND..=LAST_SECOND).contains(&slot) {
            return None;
        }
        let shown = wall_at(zone, slot);
        if let Instants::Twice { first, .. } = instants_of(zone, shown) {
            let time = shown.naive();
            let both = ClockNote::BothPasses { time, is_second: slot != first };
            return Some(if self.is_interval() { both } else { ClockNote::OnlyFirstPass { time } });
        }
        let gap_start = Wall(slot + offset_at(zone, slot - 1));
        let skipped =
            self.next_match(gap_start).filter(|wanted| *wanted < shown && !self.is_interval())?;
        Some(ClockNote::Moved { from: skipped.naive(), to: shown.naive() })
    }
}

/// What is to be said about a single instant: that the clock of `zone` shows its time twice, and which of the two it is.
#[must_use]
pub fn instant_note(zone: Zone, at: i64) -> Option<ClockNote> {
    let at = at.div_euclid(1000);
    if !(FIRST_SECOND..=LAST_SECOND).contains(&at) {
        return None;
    }
    let shown = wall_at(zone, at);
    match instants_of(zone, shown) {
        Instants::Twice { first, .. } => {
            Some(ClockNote::BothPasses { time: shown.naive(), is_second: at != first })
        }
        Instants::Once(_) | Instants::Never { .. } => None,
    }
}

/// What a change of the clock does to slots that are `every_ms` apart, as the end of a sentence; none when the clock
/// shows the same times after it. What is counted in elapsed time does not follow the clock.
#[must_use]
pub fn interval_effect(change: &Transition, every_ms: i64) -> Option<String> {
    let by_ms = i64::from(change.offset_after) * 1000 - i64::from(change.offset_before) * 1000;
    if by_ms.checked_rem(every_ms).is_none_or(|rest| rest == 0) {
        return None;
    }
    let (by, way) = (format_duration(by_ms.abs()), if by_ms > 0 { "later" } else { "earlier" });
    Some(format!("it keeps its interval, so from then on it fires {by} {way} by the clock"))
}

impl CronPattern {
    /// What a change of the clock of its zone means for this pattern; none when none of its times is in it.
    #[must_use]
    pub fn effect_of(&self, change: &Transition) -> Option<ClockEffect> {
        let at = change.at.div_euclid(1000);
        let (before, after) =
            (at + i64::from(change.offset_before), at + i64::from(change.offset_after));
        let (low, high) = (Wall(before.min(after)), Wall(before.max(after)));
        self.next_match(low).filter(|time| *time < high)?;
        Some(match (change.kind(), self.is_interval()) {
            (TransitionKind::Gap, true) => ClockEffect::LeftOut,
            (TransitionKind::Gap, false) => ClockEffect::AtOnce,
            (TransitionKind::Overlap, true) => ClockEffect::Twice,
            (TransitionKind::Overlap, false) => ClockEffect::Once,
        })
    }
}

/// What becomes of the times that a change of the clock skips or repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockEffect {
    /// An interval pattern does not run in a gap.
    LeftOut,
    /// Fixed times in a gap are one run, right after it.
    AtOnce,
    /// An interval pattern runs in both passes of an overlap.
    Twice,
    /// A fixed time runs in the first pass of an overlap.
    Once,
}

impl fmt::Display for ClockEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeftOut => "runs that would fall in between are left out",
            Self::AtOnce => "what would fall in between runs once, right after it",
            Self::Twice => "what falls in the time that comes twice runs both times",
            Self::Once => "what falls in the time that comes twice runs the first time only",
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
