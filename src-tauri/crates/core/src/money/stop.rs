//! How a run that has met a budget is told of: which budget, its limit, its use, and when there is a new one.
//!
//! Owns the words and the name by which one budget is told of once a day. It refuses to decide: that is the limit's. One
//! could get it wrong by promising that a budget which is too small for any question is free again tomorrow.

use super::{Limit, MicroUsd};
use crate::UnixMs;
use crate::schedule::{Day, Zone};
use crate::words::grouped;

/// A limit that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// In tokens.
    Tokens {
        /// The limit.
        most: u64,
        /// What was used.
        used: u64,
    },
    /// In money.
    Usd {
        /// The limit.
        most: MicroUsd,
        /// What was used.
        used: MicroUsd,
    },
}

/// What is left of a limit, and what would take more than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// In tokens.
    Tokens {
        /// The limit.
        most: u64,
        /// What is left of it.
        left: u64,
        /// What would be used.
        wanted: u64,
    },
    /// In money.
    Usd {
        /// The limit.
        most: MicroUsd,
        /// What is left of it.
        left: MicroUsd,
        /// What would be used.
        wanted: MicroUsd,
    },
}

/// What a budget is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetOf {
    /// One run.
    Run,
    /// A day of one job, in the job's zone.
    Job(Day),
    /// A day of everything: all jobs, the heartbeat and the chat, in the local zone.
    Everything(Day),
}

impl BudgetOf {
    const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Job(_) => "job",
            Self::Everything(_) => "everything",
        }
    }

    /// Whose it is, and how much.
    fn of(self, limit: &str) -> String {
        match self {
            Self::Run => format!("The budget of a run, {limit},"),
            Self::Job(_) => format!("The job's budget of {limit} a day"),
            Self::Everything(_) => format!("Rouse's budget of {limit} a day"),
        }
    }

    /// When there is a new one.
    fn free_again(self, zone: Zone) -> String {
        match self {
            Self::Run => "The next run has a new one.".to_owned(),
            Self::Job(day) | Self::Everything(day) => {
                format!("It is free again on {}.", day.end_in_words(zone))
            }
        }
    }
}

/// A run that a budget has ended, or has kept from beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStop {
    /// The same for every run that the same budget stops on the same day: one of them tells.
    pub key: String,
    /// Whether it is a budget of everything and not of one job, so that no job's wishes count for whether it is told.
    pub is_of_everything: bool,
    /// Whether it passes by itself at the end of the day.
    pub passes_with_the_day: bool,
    /// Which budget, its limit, what was used, and when it is free again.
    pub words: String,
}

impl BudgetStop {
    /// The stop of a run of `whom` (a job's id, or the name of what has none) at `now`.
    #[must_use]
    pub fn new(of: BudgetOf, reached: Reached, whom: &str, now: UnixMs, zone: Zone) -> Self {
        Self::with(of, words_of(of, reached, zone), whom, now, zone)
    }

    /// The stop of a run whose next question does not fit into what is left. One that would not fit into all of it either is
    /// too much for that budget, and that does not pass with the day.
    #[must_use]
    pub fn too_little(of: BudgetOf, lack: Lack, whom: &str, now: UnixMs, zone: Zone) -> Self {
        let (most, left, wanted, is_too_small) = match lack {
            Lack::Tokens { most, left, wanted } => {
                (tokens(most), tokens(left), tokens(wanted), wanted > most)
            }
            Lack::Usd { most, left, wanted } => {
                (most.to_string(), left.to_string(), wanted.to_string(), wanted > most)
            }
        };
        let end = match is_too_small {
            true => "It is too small for this: give it more.".to_owned(),
            false => of.free_again(zone),
        };
        let words = format!(
            "{} has {left} left, and the next question would take at least {wanted}, so it was not asked. {end}",
            of.of(&most)
        );
        let passes_with_the_day = !is_too_small && !matches!(of, BudgetOf::Run);
        Self { passes_with_the_day, ..Self::with(of, words, whom, now, zone) }
    }

    /// The stop of a run whose model's answer was cut off after as many tokens as `most` had room for.
    #[must_use]
    pub fn cut_off(
        of: BudgetOf,
        (most, room): (Limit, u32),
        whom: &str,
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
        Self::with(of, words, whom, now, zone)
    }

    fn with(of: BudgetOf, words: String, whom: &str, now: UnixMs, zone: Zone) -> Self {
        Self {
            key: key_of(of, whom, now, zone),
            is_of_everything: matches!(of, BudgetOf::Everything(_)),
            passes_with_the_day: !matches!(of, BudgetOf::Run),
            words,
        }
    }

    /// The stop of a run whose budget in dollars cannot be kept, because nobody knows what `model` costs.
    #[must_use]
    pub fn without_price(of: BudgetOf, model: &str, whom: &str, now: UnixMs, zone: Zone) -> Self {
        let whose = match of {
            BudgetOf::Run => "The budget of a run",
            BudgetOf::Job(_) => "The job's budget of a day",
            BudgetOf::Everything(_) => "Rouse's budget of a day",
        };
        let words = format!(
            "{whose} is in dollars, and the price of {model} is not known, so it could not be kept. Give its price under [prices] in the settings file, or a budget in tokens as well, or another model."
        );
        let key = format!("{}/price", key_of(of, whom, now, zone));
        let is_of_everything = matches!(of, BudgetOf::Everything(_));
        Self { key, is_of_everything, passes_with_the_day: false, words }
    }
}

fn key_of(of: BudgetOf, whom: &str, now: UnixMs, zone: Zone) -> String {
    let day = match of {
        BudgetOf::Run => Day::of(zone, now),
        BudgetOf::Job(day) | BudgetOf::Everything(day) => day,
    };
    let whom = if matches!(of, BudgetOf::Everything(_)) { "" } else { whom };
    format!("{}/{whom}/{}", of.name(), day.start.0)
}

fn words_of(of: BudgetOf, reached: Reached, zone: Zone) -> String {
    let (limit, used) = match reached {
        Reached::Tokens { most, used } => (tokens(most), tokens(used)),
        Reached::Usd { most, used } => (most.to_string(), used.to_string()),
    };
    let by_whom = match of {
        BudgetOf::Run => format!("this run has used {used}"),
        BudgetOf::Job(_) => format!("it has used {used} today"),
        BudgetOf::Everything(_) => format!("all runs together have used {used} today"),
    };
    format!("{} is used up: {by_whom}. {}", of.of(&limit), of.free_again(zone))
}

fn tokens(number: u64) -> String {
    match number {
        1 => "1 token".to_owned(),
        number => format!("{} tokens", grouped(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 22 November 2026 at 13:00 in Berlin.
    const NOW: UnixMs = UnixMs(1_795_348_800_000);

    #[test]
    fn a_stop_names_the_budget_its_limit_the_use_and_when_it_is_free() {
        let zone = Zone::from(chrono_tz::Europe::Berlin);
        let day = Day::of(zone, NOW);
        let reached = Reached::Tokens { most: 50_000, used: 52_310 };
        let stop = BudgetStop::new(BudgetOf::Job(day), reached, "job-1", NOW, zone);
        assert_eq!(
            stop.words,
            "The job's budget of 50,000 tokens a day is used up: it has used 52,310 tokens today. It is free again on 23 Nov 2026 at 00:00 (Europe/Berlin)."
        );
        let later = BudgetStop::new(BudgetOf::Job(day), reached, "job-1", NOW.plus_ms(1), zone);
        assert_eq!(stop.key, later.key, "the same budget on the same day");
        let other = BudgetStop::new(BudgetOf::Job(day), reached, "job-2", NOW, zone);
        assert_ne!(stop.key, other.key);
        let usd = Reached::Usd { most: MicroUsd(1_000_000), used: MicroUsd(1_020_000) };
        let all = BudgetStop::new(BudgetOf::Everything(day), usd, "job-1", NOW, zone);
        let all_of_another = BudgetStop::new(BudgetOf::Everything(day), usd, "job-2", NOW, zone);
        assert_eq!(all, all_of_another, "whoever meets it");
        assert!(all.words.starts_with("Rouse's budget of 1.00 USD a day is used up: all runs together have used 1.02 USD today."));
    }

    #[test]
    fn a_stop_for_too_little_says_what_is_left_and_what_would_be_taken() {
        let zone = Zone::from(chrono_tz::Europe::Berlin);
        let day = Day::of(zone, NOW);
        let lack = Lack::Tokens { most: 50_000, left: 210, wanted: 1_300 };
        let stop = BudgetStop::too_little(BudgetOf::Job(day), lack, "job-1", NOW, zone);
        assert_eq!(
            stop.words,
            "The job's budget of 50,000 tokens a day has 210 tokens left, and the next question would take at least 1,300 tokens, so it was not asked. It is free again on 23 Nov 2026 at 00:00 (Europe/Berlin)."
        );
        let reached = Reached::Tokens { most: 50_000, used: 52_310 };
        let used_up = BudgetStop::new(BudgetOf::Job(day), reached, "job-1", NOW, zone);
        assert_eq!(stop.key, used_up.key, "one budget is told of once");
        assert!(stop.passes_with_the_day);
        let lack = Lack::Usd { most: MicroUsd(100), left: MicroUsd(100), wanted: MicroUsd(1_620) };
        let small = BudgetStop::too_little(BudgetOf::Everything(day), lack, "job-1", NOW, zone);
        assert_eq!(
            small.words,
            "Rouse's budget of 0.0001 USD a day has 0.0001 USD left, and the next question would take at least 0.00162 USD, so it was not asked. It is too small for this: give it more."
        );
        assert!(!small.passes_with_the_day, "tomorrow it is as small");
        let lack = Lack::Tokens { most: 1_700, left: 1_220, wanted: 1_874 };
        let used = BudgetStop::too_little(BudgetOf::Job(day), lack, "job-1", NOW, zone);
        assert!(used.words.ends_with("It is too small for this: give it more."), "{}", used.words);
        assert!(!used.passes_with_the_day, "also where some of it was used today");
    }

    #[test]
    fn a_stop_that_cuts_an_answer_off_says_after_how_much() {
        let zone = Zone::from(chrono_tz::Europe::Berlin);
        let most = Limit { tokens: Some(2_000), usd: None };
        let stop = BudgetStop::cut_off(BudgetOf::Run, (most, 1_350), "job-1", NOW, zone);
        assert_eq!(
            stop.words,
            "The budget of a run, 2,000 tokens, had room for 1,350 tokens of the model's answer, which was cut off there. The next run has a new one."
        );
    }
}
