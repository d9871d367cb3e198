//! Chance with a seed, and how much of it a run may spend.
//!
//! Every proof that throws dice says its seed when it fails, and `ROUSE_SEED` throws the same again. How many throws a
//! short run makes stands at each proof; `cargo xtask torture --count N` (`ROUSE_PROOF_COUNT`) asks for more. One could
//! get it wrong by drawing from a shared source: a change in one proof would then change the luck of all others.

use std::str::FromStr;

/// SplitMix64: short, and the same on every machine and version.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
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
    /// Never; a machine's word holds what is below `sides`.
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

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// How often a proof tries: as often as asked, or `short` times.
#[must_use]
pub fn count_or(short: usize) -> usize {
    from_env("ROUSE_PROOF_COUNT").unwrap_or(short)
}

/// Whether somebody asked for more than the short form.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("ROUSE_PROOF_COUNT").is_some()
}

/// With which number a proof begins that goes through all of something, so that it can be run in parts.
#[must_use]
pub fn first_number() -> u32 {
    from_env("ROUSE_PROOF_FROM").unwrap_or(1)
}

/// The first seed; the others of a proof follow it.
#[must_use]
pub fn first_seed() -> u64 {
    from_env("ROUSE_SEED").unwrap_or(1)
}

fn from_env<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

#[test]
fn the_same_seed_throws_the_same() {
    let throws = |seed| {
        let mut dice = Dice::new(seed);
        (0..50).map(|_| dice.between(-3, 3)).collect::<Vec<_>>()
    };
    assert_eq!(throws(7), throws(7));
    assert_ne!(throws(7), throws(8));
    let all = throws(7);
    assert!((-3..=3).all(|face| all.contains(&face)), "every face comes: {all:?}");
}
