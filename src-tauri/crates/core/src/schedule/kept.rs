//! The rules of zones as they are written down, so that a later life knows by which ones it has planned.
//!
//! Owns that form: of each zone the changes of its clock up to where sources end; what lies beyond is worked out as for
//! any table. A form that no clock could follow is as good as none. One could get it wrong by keeping the name and the
//! version alone: an update of the system has taken the rules of that version away.

use serde_json::{Value, json};

use super::rules::Zone;
use super::table::{Change, SOURCES_END, Table};
use super::tzif::is_a_clock;

impl Zone {
    /// Its rules.
    pub(super) fn written(self) -> Value {
        let Table { of_system, first_east, changes, .. } = self.table();
        let known = changes.iter().take_while(|change| change.at < SOURCES_END);
        let changes: Vec<Value> = known.map(|change| json!([change.at, change.east])).collect();
        json!({ "ofSystem": of_system, "firstEast": first_east, "changes": changes })
    }

    /// The zone `name` with rules that were written down; none when they are none.
    pub(super) fn read(name: &str, written: &Value) -> Option<Self> {
        let of_system = written.get("ofSystem")?.as_bool()?;
        let first_east = written.get("firstEast")?.as_i64()?;
        let change = |pair: &Value| {
            Some(Change { at: pair.get(0)?.as_i64()?, east: pair.get(1)?.as_i64()? })
        };
        let changes: Option<Vec<Change>> =
            written.get("changes")?.as_array()?.iter().map(change).collect();
        let changes = changes.filter(|changes| is_a_clock(first_east, changes))?;
        Some(Self::with_table(Table::carried_on(name, of_system, first_east, changes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_are_written_down_are_read_as_the_same_zone() {
        for tz in chrono_tz::TZ_VARIANTS {
            let zone = Zone::from(tz);
            let text = zone.written().to_string();
            let written: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(Zone::read(zone.name(), &written), Some(zone), "{zone}: {text}");
        }
    }

    #[test]
    fn what_no_clock_could_follow_is_not_read() {
        for written in [
            json!(null),
            json!({ "ofSystem": false, "firstEast": 0 }),
            json!({ "ofSystem": false, "firstEast": 0, "changes": [[1]] }),
            json!({ "ofSystem": false, "firstEast": 900_000, "changes": [] }),
            json!({ "ofSystem": false, "firstEast": 0, "changes": [[5, 3600], [4, 0]] }),
        ] {
            assert_eq!(Zone::read("Mars/Base", &written), None, "{written}");
        }
    }
}
