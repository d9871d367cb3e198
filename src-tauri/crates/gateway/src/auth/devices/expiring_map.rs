//! Values by a random key, each with an expiry, in memory.
//!
//! Owns the limit: the entry that expires first is removed for a new one.

use std::collections::HashMap;

use rouse_core::UnixMs;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 256;

/// The values.
pub(super) struct ExpiringMap<V>(HashMap<String, (V, UnixMs)>);

impl<V> Default for ExpiringMap<V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<V> ExpiringMap<V> {
    /// Adds a value. Removes expired entries.
    pub(super) fn insert(&mut self, key: String, value: V, expires_at: UnixMs, now: UnixMs) {
        self.0.retain(|_, (_, expires_at)| now < *expires_at);
        while self.0.len() >= MAX_ENTRIES {
            let first = self.0.iter().min_by_key(|(_, (_, expires_at))| *expires_at);
            let Some(first) = first.map(|(key, _)| key.clone()) else { break };
            self.0.remove(&first);
        }
        self.0.insert(key, (value, expires_at));
    }

    /// A value with its expiry; none if it expired.
    pub(super) fn get(&self, key: &str, now: UnixMs) -> Option<(&V, UnixMs)> {
        let (value, expires_at) = self.0.get(key)?;
        (now < *expires_at).then_some((value, *expires_at))
    }

    /// Removes a value; none if it expired.
    pub(super) fn take(&mut self, key: &str, now: UnixMs) -> Option<V> {
        let (value, expires_at) = self.0.remove(key)?;
        (now < expires_at).then_some(value)
    }

    /// Removes the values that do not match.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&V) -> bool) {
        self.0.retain(|_, (value, _)| is_kept(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_expires_and_is_taken_once() {
        let mut map = ExpiringMap::default();
        map.insert("a".to_owned(), 1, UnixMs(10), UnixMs(0));
        assert_eq!(map.get("a", UnixMs(9)), Some((&1, UnixMs(10))));
        assert_eq!(map.get("a", UnixMs(10)), None);
        assert_eq!(map.take("a", UnixMs(9)), Some(1));
        assert_eq!(map.take("a", UnixMs(9)), None);
    }

    #[test]
    fn first_expiry_is_removed_above_the_limit() {
        let mut map = ExpiringMap::default();
        let entries = i64::try_from(MAX_ENTRIES).expect("a small number");
        for at in 0..=entries {
            map.insert(at.to_string(), at, UnixMs(1_000 + at), UnixMs(0));
        }
        assert_eq!(map.get("0", UnixMs(0)), None);
        assert!(map.get("1", UnixMs(0)).is_some());
        assert!(map.get(&entries.to_string(), UnixMs(0)).is_some());
    }
}
