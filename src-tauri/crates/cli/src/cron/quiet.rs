//! The flags that say what a job does about quiet hours.
//!
//! One could get it wrong by mixing old and new: other hours come without the nights and the zone of those before, and
//! nights or a zone alone change the hours that are there. What stands beside them and nobody here knows stays.

use clap::Args;
use serde_json::{Map, Value, json};

use super::draft::{NONE, names, set};
use crate::exit::Failure;

/// Whether and when its notifications wait.
#[derive(Debug, Args)]
pub(crate) struct QuietArgs {
    /// Whether notifications wait for the end of quiet hours: `respect`, `ignore`, or hours of its own (`22:00-07:00`).
    #[arg(long, value_name = "RULE")]
    quiet_hours: Option<String>,
    /// Only nights that begin on these days (`fri,sat`) are quiet; `none` for every night. Goes with hours of its own.
    #[arg(long, value_name = "DAYS")]
    quiet_days: Option<String>,
    /// The zone of hours of its own; `none` for the zone of the computer.
    #[arg(long, value_name = "ZONE")]
    quiet_zone: Option<String>,
}

impl QuietArgs {
    /// What is said about them; none when nothing is.
    pub(super) fn to_json(&self) -> Option<Value> {
        let mut hours = match self.quiet_hours.as_deref().map(rule) {
            Some(Value::Object(hours)) => hours,
            Some(word) => return Some(word),
            None => Map::new(),
        };
        set(&mut hours, "days", names(self.quiet_days.as_deref(), NONE));
        let zone = self.quiet_zone.as_deref();
        set(
            &mut hours,
            "tz",
            zone.map(|zone| if zone == NONE { Value::Null } else { json!(zone) }),
        );
        (!hours.is_empty()).then_some(Value::Object(hours))
    }

    /// Makes what `job` says about them right for a job whose policies are `present`.
    pub(super) fn settle(
        &self,
        job: &mut Map<String, Value>,
        present: &Value,
    ) -> Result<(), Failure> {
        let policies = job.get_mut("policies").and_then(Value::as_object_mut);
        let said = policies.and_then(|policies| policies.get_mut("quietHours"));
        let Some(said) = said else { return Ok(()) };
        if let Some(word) = said.as_str().filter(|word| !["respect", "ignore"].contains(word)) {
            let wanted = "expected respect, ignore or hours such as 22:00-07:00";
            return Err(Failure::input(format!("--quiet-hours: {wanted}, found `{word}`")));
        }
        let present = &present["quietHours"];
        let refines = self.quiet_days.is_some() || self.quiet_zone.is_some();
        let hours = if self.quiet_hours.is_some() { &*said } else { present };
        let has_hours = hours.is_object();
        if refines && !has_hours {
            let what = "--quiet-days and --quiet-zone go with hours of its own";
            return Err(Failure::input(format!("{what}: --quiet-hours 22:00-07:00")));
        }
        if let (Some(_), Some(said)) = (&self.quiet_hours, said.as_object_mut()) {
            for part in ["tz", "days"].into_iter().filter(|part| !present[*part].is_null()) {
                said.entry(part).or_insert(Value::Null);
            }
        }
        Ok(())
    }
}

/// `22:00-07:00` as hours, anything else as the word that it is.
fn rule(text: &str) -> Value {
    match text.split_once(['-', '–']) {
        Some((from, to)) => json!({ "from": from.trim(), "to": to.trim() }),
        None => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_told_from_words() {
        assert_eq!(rule("22:00-07:00"), json!({ "from": "22:00", "to": "07:00" }));
        assert_eq!(rule("ignore"), json!("ignore"));
    }
    #[test]
    fn other_hours_take_the_nights_of_those_before_away_and_no_more() {
        let args = |hours: &str| QuietArgs {
            quiet_hours: Some(hours.to_owned()),
            quiet_days: None,
            quiet_zone: None,
        };
        let present = json!({ "quietHours": {
            "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["fri"], "theirs": 1
        } });
        let patch = |hours: &str, present: &Value| {
            let quiet = args(hours);
            let mut job =
                Map::from_iter([("policies".to_owned(), json!({ "quietHours": quiet.to_json() }))]);
            quiet.settle(&mut job, present).expect("hours");
            job["policies"]["quietHours"].clone()
        };
        let hours = json!({ "from": "21:00", "to": "06:00", "tz": null, "days": null });
        assert_eq!(patch("21:00-06:00", &present), hours);
        let first = json!({ "from": "21:00", "to": "06:00" });
        assert_eq!(patch("21:00-06:00", &json!({ "quietHours": "ignore" })), first);
        assert_eq!(patch("ignore", &present), "ignore");
        let mut job = Map::from_iter([("policies".to_owned(), json!({ "quietHours": "soon" }))]);
        let refused = args("soon").settle(&mut job, &present).expect_err("refused").lines();
        let said =
            "--quiet-hours: expected respect, ignore or hours such as 22:00-07:00, found `soon`";
        assert_eq!(refused, [said]);
    }
}
