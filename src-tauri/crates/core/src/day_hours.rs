//! Hours of the day as people write them: `{from, to, tz?}` of settings and jobs.
//!
//! Owns the one reading of that shape, with complaints at the field that is wrong. When such hours hold is for
//! `schedule::DayWindow`, which comes out of it.

use crate::json_fields::Fields;
use crate::schedule::{DayWindow, Zones, no_zone};

/// A stretch of the day, as written and ready to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayHours {
    /// The first time of day, such as `08:00`.
    pub from: String,
    /// The time of day at which it ends; over midnight when it is the earlier one.
    pub to: String,
    /// The zone of both; none: wherever the machine is.
    pub tz: Option<String>,
    /// All of it, ready to be asked.
    pub window: DayWindow,
}

impl DayHours {
    /// Reads `{from, to, tz?}`; what is wrong is complained about by field. The zone is looked up in `zones`; without
    /// them it was judged when it was saved.
    pub fn read(fields: &mut Fields<'_>, zones: Option<&Zones>) -> Option<Self> {
        let (from, to) = (fields.required_text("from"), fields.required_text("to"));
        let tz = read_zone(fields, zones);
        if from.trim().is_empty() || to.trim().is_empty() {
            return None;
        }
        let (from, to) = (from.trim().to_owned(), to.trim().to_owned());
        match DayWindow::parse(&from, &to, tz.as_deref()) {
            Ok(window) => Some(Self { from, to, tz, window }),
            Err(reason) => {
                let is_of_to = DayWindow::parse(&from, "00:01", None).is_ok()
                    || DayWindow::parse(&from, "00:02", None).is_ok();
                fields.complain(if is_of_to { "to" } else { "from" }, reason);
                None
            }
        }
    }
}

fn read_zone(fields: &mut Fields<'_>, zones: Option<&Zones>) -> Option<String> {
    let name = fields.text("tz")?;
    let Some(zones) = zones else { return Some(name) };
    let zone = zones.zone(&name);
    if zone.is_none() {
        fields.complain("tz", no_zone(&name));
    }
    zone.map(|zone| zone.name().to_owned())
}
