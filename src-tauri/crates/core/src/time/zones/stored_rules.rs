//! Stored zone rules, so that a restart knows the rules of its plans.
//!
//! Owns the JSON form: the offset changes of a zone up to the end of the source. Later changes are derived as for any
//! table. An implausible form counts as none.
//! Pitfall: storing only name and version; a system update replaces the rules of that version.

use serde_json::{Value, json};

use super::table::{OffsetChange, SOURCES_END, ZoneTable};
use super::tzif::is_plausible;
use super::zone::Zone;

impl Zone {
    /// The rules as JSON.
    pub(super) fn to_json(self) -> Value {
        let ZoneTable { of_system, first_east, changes, .. } = self.table();
        let known = changes.iter().take_while(|change| change.at < SOURCES_END);
        let changes: Vec<Value> = known.map(|change| json!([change.at, change.east])).collect();
        json!({ "ofSystem": of_system, "firstEast": first_east, "changes": changes })
    }

    /// The zone `name` with stored rules; none when invalid.
    pub(super) fn from_json(name: &str, written: &Value) -> Option<Self> {
        let of_system = written.get("ofSystem")?.as_bool()?;
        let first_east = written.get("firstEast")?.as_i64()?;
        let change = |pair: &Value| {
            Some(OffsetChange { at: pair.get(0)?.as_i64()?, east: pair.get(1)?.as_i64()? })
        };
        let changes: Option<Vec<OffsetChange>> =
            written.get("changes")?.as_array()?.iter().map(change).collect();
        let changes = changes.filter(|changes| is_plausible(first_east, changes))?;
        Some(Self::with_table(ZoneTable::extended(name, of_system, first_east, changes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_rules_round_trip() {
        for tz in chrono_tz::TZ_VARIANTS {
            let zone = Zone::from(tz);
            let text = zone.to_json().to_string();
            let written: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(Zone::from_json(zone.name(), &written), Some(zone), "{zone}: {text}");
        }
    }

    #[test]
    fn implausible_stored_rules_are_refused() {
        for written in [
            json!(null),
            json!({ "ofSystem": false, "firstEast": 0 }),
            json!({ "ofSystem": false, "firstEast": 0, "changes": [[1]] }),
            json!({ "ofSystem": false, "firstEast": 900_000, "changes": [] }),
            json!({ "ofSystem": false, "firstEast": 0, "changes": [[5, 3600], [4, 0]] }),
        ] {
            assert_eq!(Zone::from_json("Mars/Base", &written), None, "{written}");
        }
    }
}
