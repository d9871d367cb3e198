//! A seeded random number generator, and the length of randomised tests.
//!
//! A failing test prints its seed; `ROUSE_SEED` repeats it. `ROUSE_PROOF_COUNT` (`cargo xtask torture --count N`) makes a test longer.
//! Pitfall: a generator shared by several tests would let a change of one alter the numbers of all others.

use std::str::FromStr;

/// SplitMix64, equal on every machine and version.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// A generator with a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A random number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `sides` − 1.
    ///
    /// # Panics
    /// Never.
    pub fn below(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides.max(1)).expect("small");
        usize::try_from(self.number() % sides).expect("small")
    }

    /// From `low` to `high`, both included.
    ///
    /// # Panics
    /// When `high` is below `low`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high - low + 1).expect("low is not above high");
        low + i64::try_from(self.number() % span).expect("within the span")
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A random element.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The requested number of iterations, or `short`.
#[must_use]
pub fn count_or(short: usize) -> usize {
    from_env("ROUSE_PROOF_COUNT").unwrap_or(short)
}

/// Whether a number of iterations was requested.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("ROUSE_PROOF_COUNT").is_some()
}

/// The first number of an exhaustive test, which can be run in parts.
#[must_use]
pub fn first_number() -> u32 {
    from_env("ROUSE_PROOF_FROM").unwrap_or(1)
}

/// The first seed; the others are consecutive.
#[must_use]
pub fn first_seed() -> u64 {
    from_env("ROUSE_SEED").unwrap_or(1)
}

fn from_env<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

#[test]
fn equal_seeds_give_equal_numbers() {
    let numbers = |seed| {
        let mut dice = Dice::new(seed);
        (0..50).map(|_| dice.between(-3, 3)).collect::<Vec<_>>()
    };
    assert_eq!(numbers(7), numbers(7));
    assert_ne!(numbers(7), numbers(8));
    let all = numbers(7);
    assert!((-3..=3).all(|number| all.contains(&number)), "not all numbers occur: {all:?}");
}
