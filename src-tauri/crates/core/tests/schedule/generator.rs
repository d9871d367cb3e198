//! A small seeded generator; a failure can be replayed from the printed seed.

use std::hash::{BuildHasher as _, Hasher as _};

/// splitmix64.
pub(crate) struct Random(u64);

impl Random {
    /// The sequence that belongs to `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A seed that differs from run to run.
    pub(crate) fn fresh_seed() -> u64 {
        std::collections::hash_map::RandomState::new().build_hasher().finish()
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` up to and including `high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = (i128::from(high) - i128::from(low) + 1) as u128;
        (i128::from(low) + (u128::from(self.next()) % width) as i128) as i64
    }

    /// True in `percent` of the cases.
    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    /// A random element of `items`.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.between(0, items.len() as i64 - 1) as usize]
    }
}
