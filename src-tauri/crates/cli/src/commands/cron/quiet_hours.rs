//! The flags of a job's quiet hours.
//!
//! Pitfall: mixing old and new. New hours drop the old days and the old zone; days or a zone alone change the
//! present hours. Unknown keys stay.

use clap::Args;
use serde_json::{Map, Value, json};

use super::field_values::{NONE, names_value, set};
use crate::resolve::error::CliError;

/// The quiet hours of a job.
#[derive(Debug, Args)]
pub(crate) struct QuietHoursArgs {
    /// Quiet hours: respect, ignore [default: respect]
    #[arg(long, value_name = "RULE")]
    quiet_hours: Option<String>,
    /// Days of imported quiet hours: fri,sat
    #[arg(hide = true, long, value_name = "DAYS")]
    quiet_days: Option<String>,
    /// Zone of imported quiet hours, or none
    #[arg(hide = true, long, value_name = "ZONE")]
    quiet_zone: Option<String>,
}

impl QuietHoursArgs {
    /// The value of the flags; none without a flag.
    pub(super) fn to_json(&self) -> Option<Value> {
        let mut hours = match self.quiet_hours.as_deref().map(parse_rule) {
            Some(Value::Object(hours)) => hours,
            Some(word) => return Some(word),
            None => Map::new(),
        };
        set(&mut hours, "days", names_value(self.quiet_days.as_deref(), NONE));
        let zone = self.quiet_zone.as_deref();
        let zone = zone.map(|zone| if zone == NONE { Value::Null } else { json!(zone) });
        set(&mut hours, "tz", zone);
        (!hours.is_empty()).then_some(Value::Object(hours))
    }

    /// Checks the quiet hours of the patch `job` against the policies `present`, and removes the old days and zone.
    pub(super) fn check(
        &self,
        job: &mut Map<String, Value>,
        present: &Value,
    ) -> Result<(), CliError> {
        let policies = job.get_mut("policies").and_then(Value::as_object_mut);
        let patch = policies.and_then(|policies| policies.get_mut("quietHours"));
        let Some(patch) = patch else { return Ok(()) };
        if let Some(word) = patch.as_str().filter(|word| !["respect", "ignore"].contains(word)) {
            return Err(CliError::input(format!(
                "--quiet-hours: expected respect, ignore or hours such as 22:00-07:00, found `{word}`"
            )));
        }
        let present = &present["quietHours"];
        let has_details = self.quiet_days.is_some() || self.quiet_zone.is_some();
        let hours = if self.quiet_hours.is_some() { &*patch } else { present };
        if has_details && !hours.is_object() {
            return Err(CliError::input(
                "--quiet-days and --quiet-zone need hours: --quiet-hours 22:00-07:00",
            ));
        }
        if let (Some(_), Some(patch)) = (&self.quiet_hours, patch.as_object_mut()) {
            for key in ["tz", "days"].into_iter().filter(|key| !present[*key].is_null()) {
                patch.entry(key).or_insert(Value::Null);
            }
        }
        Ok(())
    }
}

/// `22:00-07:00` as hours, any other text as a word.
fn parse_rule(text: &str) -> Value {
    match text.split_once(['-', '–']) {
        Some((from, to)) => json!({ "from": from.trim(), "to": to.trim() }),
        None => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_parses_hours_and_words() {
        assert_eq!(parse_rule("22:00-07:00"), json!({ "from": "22:00", "to": "07:00" }));
        assert_eq!(parse_rule("ignore"), json!("ignore"));
    }

    #[test]
    fn new_hours_remove_old_days_and_zone() {
        let args = |hours: &str| QuietHoursArgs {
            quiet_hours: Some(hours.to_owned()),
            quiet_days: None,
            quiet_zone: None,
        };
        let present = json!({ "quietHours": {
            "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["fri"], "theirs": 1
        } });
        let patch = |hours: &str, present: &Value| {
            let args = args(hours);
            let mut job =
                Map::from_iter([("policies".to_owned(), json!({ "quietHours": args.to_json() }))]);
            args.check(&mut job, present).expect("hours");
            job["policies"]["quietHours"].clone()
        };
        let hours = json!({ "from": "21:00", "to": "06:00", "tz": null, "days": null });
        assert_eq!(patch("21:00-06:00", &present), hours);
        let first = json!({ "from": "21:00", "to": "06:00" });
        assert_eq!(patch("21:00-06:00", &json!({ "quietHours": "ignore" })), first);
        assert_eq!(patch("ignore", &present), "ignore");
        let mut job = Map::from_iter([("policies".to_owned(), json!({ "quietHours": "soon" }))]);
        let refused = args("soon").check(&mut job, &present).expect_err("refused").lines();
        let expected =
            "--quiet-hours: expected respect, ignore or hours such as 22:00-07:00, found `soon`";
        assert_eq!(refused, [expected]);
    }
}
