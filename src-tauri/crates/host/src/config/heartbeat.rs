//! The settings of the main session: its heartbeat, and the skills of its turns.

use rouse_core::day_hours::DayHours;
use rouse_core::json_fields::Fields;
use rouse_core::schedule::{Zones, parse_duration};
use rouse_core::skills::{MOST_SKILLS, is_skill_name};

use super::HeartbeatConfig;

/// Reads them.
pub(super) fn read(mut fields: Fields<'_>, zones: &Zones) -> HeartbeatConfig {
    let every_ms = fields.text("every").and_then(|text| match parse_duration(&text) {
        Ok(every) if every >= 60_000 => Some(every),
        Ok(_) => {
            fields.complain("every", "must be at least one minute");
            None
        }
        Err(error) => {
            fields.complain("every", error.to_string());
            None
        }
    });
    HeartbeatConfig {
        enabled: fields.boolean("enabled").unwrap_or(true),
        every_ms: every_ms.unwrap_or(HeartbeatConfig::DEFAULT.every_ms),
        active_hours: super::hours(&mut fields, "activeHours", |mut hours| {
            DayHours::read(&mut hours, Some(zones))
        }),
        prompt: fields.text("prompt"),
        skills: read_skills(&mut fields),
        model: fields.text("model"),
    }
}

fn read_skills(fields: &mut Fields<'_>) -> Vec<String> {
    let names = fields.texts("skills").unwrap_or_default();
    if names.len() > MOST_SKILLS {
        fields.complain("skills", format!("expected at most {MOST_SKILLS}"));
    }
    if names.iter().any(|name| !is_skill_name(name)) {
        fields.complain("skills", "expected names of skills: small letters, digits and hyphens");
    }
    names
}
