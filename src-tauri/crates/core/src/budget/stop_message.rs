//! The message about an exhausted budget: scope, limit, use, and next reset.
//!
//! Owns the text and the key that limits notifications of a budget to one a day. Never decides exhaustion; the limit
//! does.
//! Pitfall: promising a reset for a budget that is too small for any call.

use strum::IntoStaticStr;

use super::{Limit, MicroUsd};
use crate::UnixMs;
use crate::schedule::{Day, Zone};
use crate::text::group_thousands;

/// An exhausted limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    /// In tokens.
    Tokens {
        /// The limit.
        most: u64,
        /// The use.
        used: u64,
    },
    /// In money.
    Usd {
        /// The limit.
        most: MicroUsd,
        /// The use.
        used: MicroUsd,
    },
}

/// A limit without enough left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetShortfall {
    /// In tokens.
    Tokens {
        /// The limit.
        most: u64,
        /// The rest.
        left: u64,
        /// The amount needed.
        wanted: u64,
    },
    /// In money.
    Usd {
        /// The limit.
        most: MicroUsd,
        /// The rest.
        left: MicroUsd,
        /// The amount needed.
        wanted: MicroUsd,
    },
}

/// The scope of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub enum BudgetScope {
    /// A single run.
    Run,
    /// A day of a job, in the job's zone.
    Job(Day),
    /// A day of everything: all jobs, the heartbeat and the chat, in the local zone.
    Everything(Day),
}

impl BudgetScope {
    /// The budget's scope and limit, as text.
    fn of(self, limit: &str) -> String {
        match self {
            Self::Run => format!("The budget of a run, {limit},"),
            Self::Job(_) => format!("The job's budget of {limit} a day"),
            Self::Everything(_) => format!("Rouse's budget of {limit} a day"),
        }
    }

    /// The next reset, as text.
    fn free_again(self, zone: Zone) -> String {
        match self {
            Self::Run => "The next run has a new budget.".to_owned(),
            Self::Job(day) | Self::Everything(day) => {
                format!("Resets on {}.", day.end_in_words(zone))
            }
        }
    }
}

/// A run that a budget has ended, or has kept from beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStop {
    /// Equal for all runs that the same budget stops on the same day; only the first run notifies.
    pub key: String,
    /// Whether the budget is global, so that no job's notify policy applies.
    pub is_global: bool,
    /// Whether the budget resets at the end of the day.
    pub resets_daily: bool,
    /// The message: scope, limit, use and reset.
    pub words: String,
}

impl BudgetStop {
    /// The stop of a run by an exhausted budget. `owner` is the job's id, or a name for runs without a job.
    #[must_use]
    pub fn new(
        of: BudgetScope,
        reached: LimitReached,
        owner: &str,
        now: UnixMs,
        zone: Zone,
    ) -> Self {
        Self::with(of, words_of(of, reached, zone), owner, now, zone)
    }

    /// The stop of a run whose next model call exceeds the rest. A call that exceeds the whole budget means that the budget
    /// is too small, which no reset changes.
    #[must_use]
    pub fn for_shortfall(
        of: BudgetScope,
        lack: BudgetShortfall,
        owner: &str,
        now: UnixMs,
        zone: Zone,
    ) -> Self {
        let (most, left, wanted, is_too_small) = match lack {
            BudgetShortfall::Tokens { most, left, wanted } => {
                (tokens(most), tokens(left), tokens(wanted), wanted > most)
            }
            BudgetShortfall::Usd { most, left, wanted } => {
                (most.to_string(), left.to_string(), wanted.to_string(), wanted > most)
            }
        };
        let end =
            if is_too_small { "Increase the budget.".to_owned() } else { of.free_again(zone) };
        let words = format!(
            "{} has {left} left, but the next model call needs at least {wanted}. {end}",
            of.of(&most)
        );
        let resets_daily = !is_too_small && !matches!(of, BudgetScope::Run);
        Self { resets_daily, ..Self::with(of, words, owner, now, zone) }
    }

    /// The stop of a run whose answer was truncated at the remaining tokens of `most`.
    #[must_use]
    pub fn for_truncation(
        of: BudgetScope,
        (most, room): (Limit, u32),
        owner: &str,
        now: UnixMs,
        zone: Zone,
    ) -> Self {
        let most = [most.tokens.map(tokens), most.usd.map(|usd| usd.to_string())];
        let most = most.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        let words = format!(
            "{} had room for {} of the model's answer, which was cut off there. {}",
            of.of(&most),
            tokens(room.into()),
            of.free_again(zone)
        );
        Self::with(of, words, owner, now, zone)
    }

    fn with(of: BudgetScope, words: String, owner: &str, now: UnixMs, zone: Zone) -> Self {
        Self {
            key: key_of(of, owner, now, zone),
            is_global: matches!(of, BudgetScope::Everything(_)),
            resets_daily: !matches!(of, BudgetScope::Run),
            words,
        }
    }

    /// The stop of a run with a money limit, because the price of `model` is unknown.
    #[must_use]
    pub fn for_missing_price(
        of: BudgetScope,
        model: &str,
        owner: &str,
        now: UnixMs,
        zone: Zone,
    ) -> Self {
        let whose = match of {
            BudgetScope::Run => "The budget of a run",
            BudgetScope::Job(_) => "The job's budget of a day",
            BudgetScope::Everything(_) => "Rouse's budget of a day",
        };
        let words = format!(
            "{whose} is in dollars, but the price of {model} is unknown. Set the price under [prices] in the settings file, add a budget in tokens, or choose another model."
        );
        let key = format!("{}/price", key_of(of, owner, now, zone));
        let is_global = matches!(of, BudgetScope::Everything(_));
        Self { key, is_global, resets_daily: false, words }
    }
}

fn key_of(of: BudgetScope, owner: &str, now: UnixMs, zone: Zone) -> String {
    let day = match of {
        BudgetScope::Run => Day::of(zone, now),
        BudgetScope::Job(day) | BudgetScope::Everything(day) => day,
    };
    let owner = if matches!(of, BudgetScope::Everything(_)) { "" } else { owner };
    let scope: &str = of.into();
    format!("{scope}/{owner}/{}", day.start.0)
}

fn words_of(of: BudgetScope, reached: LimitReached, zone: Zone) -> String {
    let (limit, used) = match reached {
        LimitReached::Tokens { most, used } => (tokens(most), tokens(used)),
        LimitReached::Usd { most, used } => (most.to_string(), used.to_string()),
    };
    let use_words = match of {
        BudgetScope::Run => format!("{used} used by this run"),
        BudgetScope::Job(_) => format!("{used} used today"),
        BudgetScope::Everything(_) => format!("{used} used by all runs today"),
    };
    format!("{} is used up: {use_words}. {}", of.of(&limit), of.free_again(zone))
}

fn tokens(number: u64) -> String {
    match number {
        1 => "1 token".to_owned(),
        number => format!("{} tokens", group_thousands(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 22 November 2026 at 13:00 in Berlin.
    const NOW: UnixMs = UnixMs(1_795_348_800_000);

    #[test]
    fn stop_states_limit_use_and_reset() {
        let zone = Zone::from(chrono_tz::Europe::Berlin);
        let day = Day::of(zone, NOW);
        let reached = LimitReached::Tokens { most: 50_000, used: 52_310 };
        let stop = BudgetStop::new(BudgetScope::Job(day), reached, "job-1", NOW, zone);
        assert_eq!(
            stop.words,
            "The job's budget of 50,000 tokens a day is used up: 52,310 tokens used today. Resets on 23 Nov 2026 at 00:00 (Europe/Berlin)."
        );
        let later = BudgetStop::new(BudgetScope::Job(day), reached, "job-1", NOW.plus_ms(1), zone);
        assert_eq!(stop.key, later.key, "the same budget on the same day");
        let other = BudgetStop::new(BudgetScope::Job(day), reached, "job-2", NOW, zone);
        assert_ne!(stop.key, other.key);
        let usd = LimitReached::Usd { most: MicroUsd(1_000_000), used: MicroUsd(1_020_000) };
        let all = BudgetStop::new(BudgetScope::Everything(day), usd, "job-1", NOW, zone);
        let all_of_another = BudgetStop::new(BudgetScope::Everything(day), usd, "job-2", NOW, zone);
        assert_eq!(all, all_of_another, "for any owner");
        assert!(all.words.starts_with(
            "Rouse's budget of 1.00 USD a day is used up: 1.02 USD used by all runs today."
        ));
    }

    #[test]
    fn shortfall_stop_states_rest_and_need() {
        let zone = Zone::from(chrono_tz::Europe::Berlin);
        let day = Day::of(zone, NOW);
        let lack = BudgetShortfall::Tokens { most: 50_000, left: 210, wanted: 1_300 };
        let stop = BudgetStop::for_shortfall(BudgetScope::Job(day), lack, "job-1", NOW, zone);
        assert_eq!(
            stop.words,
            "The job's budget of 50,000 tokens a day has 210 tokens left, but the next model call needs at least 1,300 tokens. Resets on 23 Nov 2026 at 00:00 (Europe/Berlin)."
        );
        let reached = LimitReached::Tokens { most: 50_000, used: 52_310 };
        let used_up = BudgetStop::new(BudgetScope::Job(day), reached, "job-1", NOW, zone);
        assert_eq!(stop.key, used_up.key, "a budget is notified once");
        assert!(stop.resets_daily);
        let lack = BudgetShortfall::Usd {
            most: MicroUsd(100),
            left: MicroUsd(100),
            wanted: MicroUsd(1_620),
        };
        let small =
            BudgetStop::for_shortfall(BudgetScope::Everything(day), lack, "job-1", NOW, zone);
        assert_eq!(
            small.words,
            "Rouse's budget of 0.0001 USD a day has 0.0001 USD left, but the next model call needs at least 0.00162 USD. Increase the budget."
        );
        assert!(!small.resets_daily, "no reset helps");
        let lack = BudgetShortfall::Tokens { most: 1_700, left: 1_220, wanted: 1_874 };
        let used = BudgetStop::for_shortfall(BudgetScope::Job(day), lack, "job-1", NOW, zone);
        assert!(used.words.ends_with("Increase the budget."), "{}", used.words);
        assert!(!used.resets_daily, "also after use today");
    }

    #[test]
    fn truncation_stop_states_the_allowed_tokens() {
        let zone = Zone::from(chrono_tz::Europe::Berlin);
        let most = Limit { tokens: Some(2_000), usd: None };
        let stop = BudgetStop::for_truncation(BudgetScope::Run, (most, 1_350), "job-1", NOW, zone);
        assert_eq!(
            stop.words,
            "The budget of a run, 2,000 tokens, had room for 1,350 tokens of the model's answer, which was cut off there. The next run has a new budget."
        );
    }
}
