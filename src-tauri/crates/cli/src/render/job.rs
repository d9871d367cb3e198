//! Jobs: the rows of a list and the page of one job.

use rouse_core::Clock as _;
use rouse_core::job::{JobFact, job_facts};
use rouse_gateway::wire::{IncidentView, JobView, RunState, SpentView};
use serde_json::Value;

use super::authorship::{author_facts, name_suffix};
use super::channel::route_facts;
use super::facts::{fact, fact_lines};
use super::run_state::state_name;
use super::spending::spent_text;
use super::table::{new_table, print_rows};
use super::text::{escape, shorten};
use super::time::{distance, instant_in_zones, local_time};
use crate::resolve::engine::EngineConnection;

/// Prints the jobs as a table; with a column for spending if a job has spent anything this month.
pub(crate) fn print_job_table(engine: &EngineConnection, jobs: &[JobView]) {
    let has_spent = jobs.iter().any(|view| view.spent_this_month != SpentView::default());
    let columns = ["ID", "NAME", "WHEN", "NEXT", "LAST", "THIS MONTH"];
    let mut table = new_table(if has_spent { &columns } else { &columns[..5] });
    for view in jobs {
        let job = &view.job;
        let mut row = vec![
            short_id(job),
            format!("{}{}", shorten(text_of(job, "name"), 32), name_suffix(job)),
            schedule_text(engine, view),
            next_run(engine, view),
            last_run(view),
        ];
        row.extend(has_spent.then(|| spent_text(view.spent_this_month).unwrap_or_default()));
        table.add_row(row);
    }
    print_rows(&table);
}

/// Prints all settings of a job, then the facts in `more`.
pub(crate) fn print_job(engine: &EngineConnection, view: &JobView, more: Vec<JobFact>) {
    let job = &view.job;
    anstream::println!("{}  {}", escape(text_of(job, "id")), escape(text_of(job, "name")));
    for line in escape(text_of(job, "description")).lines() {
        anstream::println!("  {line}");
    }
    let mut facts = vec![
        fact("Schedule", schedule_text(engine, view)),
        fact("Next run", next_run(engine, view)),
    ];
    facts.extend(job_facts(job));
    facts.extend(route_facts(&view.routes));
    facts.extend(author_facts(job));
    if let Some(state) = last_state(job) {
        let error = job["state"]["lastError"].as_str().and_then(|error| error.lines().next());
        let error = error.map(|error| format!(": {}", escape(error))).unwrap_or_default();
        facts.push(fact("Last run", format!("{state}{error}")));
    }
    let spent = spent_text(view.spent_this_month);
    facts.extend(spent.map(|spent| fact("Spent", format!("{spent} this month"))));
    if let Some(incident) = &view.incident {
        facts.extend(incident_facts(engine, view, incident));
    }
    facts.extend(more);
    for line in fact_lines(&facts) {
        anstream::println!("{}", format!("  {line}").trim_end());
    }
}

/// The first eight characters of the job's id.
pub(crate) fn short_id(job: &Value) -> String {
    escape(text_of(job, "id")).chars().take(8).collect()
}

/// Whether the job's schedule has slots.
pub(crate) fn has_slots(job: &Value) -> bool {
    !["manual", "event", "webhook"].contains(&text_of(&job["schedule"], "kind"))
}

/// The job's slot in the local zone and in the zone of the job.
pub(crate) fn slot_time(engine: &EngineConnection, view: &JobView, at_ms: i64) -> String {
    let (now, local) = (engine.clock.now().0, engine.clock.zone());
    let zone = view.zone.as_deref().and_then(|zone| engine.clock.zones().zone(zone));
    format!("{} ({})", instant_in_zones(at_ms, now, local, zone), distance(at_ms, now))
}

/// State of the newest run, with the number of failures of an open incident.
fn last_run(view: &JobView) -> String {
    let state = last_state(&view.job).unwrap_or_else(|| "-".to_owned());
    match &view.incident {
        Some(incident) if incident.paused_because.is_some() => format!("{state}, paused"),
        Some(_) if state == "succeeded" => format!("{state}, not checked"),
        Some(incident) if incident.count > 1 => format!("{state}, {} times", incident.count),
        _ => state,
    }
}

/// State of the newest run. A state that this program does not know has its name in the job.
fn last_state(job: &Value) -> Option<String> {
    let state = &job["state"]["lastState"];
    let known = serde_json::from_value(state.clone()).ok().map(state_name);
    known.or_else(|| state.as_str().map(escape))
}

/// Cause of an open incident, and the command that ends a pause.
fn incident_facts(
    engine: &EngineConnection,
    view: &JobView,
    incident: &IncidentView,
) -> Vec<JobFact> {
    let since = local_time(engine, incident.opened_at_ms);
    let count = match incident.count {
        1 => "once".to_owned(),
        count => format!("{count} times, same cause"),
    };
    let cause = escape(&shorten(&incident.cause, 200));
    let mut facts = vec![fact("Failing", format!("since {since}, {count}: {cause}"))];
    facts.extend(incident.paused_because.as_ref().map(|reason| {
        let id = short_id(&view.job);
        fact("Paused", format!("{}. Resume: rouse cron enable {id}", escape(reason)))
    }));
    facts
}

fn next_run(engine: &EngineConnection, view: &JobView) -> String {
    let job = &view.job;
    let text = match (job["state"]["nextRunAtMs"].as_i64(), text_of(&job["schedule"], "kind")) {
        (Some(at), _) => return slot_time(engine, view, at),
        (None, _) if view.is_predecessor_missing => "never: its predecessor was deleted",
        (None, _) if job["enabled"] == false => "off",
        (None, "manual") => "by hand",
        (None, "event") => "on an event",
        (None, "webhook") => "by its webhook",
        (None, "at") => return past_one_shot(view),
        (None, _) => "done",
    };
    text.to_owned()
}

/// The outcome of a one-shot job after the slot.
fn past_one_shot(view: &JobView) -> String {
    if !view.live_run_ids.is_empty() {
        return "under way".to_owned();
    }
    match serde_json::from_value(view.job["state"]["lastState"].clone()) {
        Ok(RunState::Succeeded | RunState::NothingToReport) => "done".to_owned(),
        Ok(state) => state_name(state),
        // No run has finished: an approval is pending.
        Err(_) => "under way".to_owned(),
    }
}

/// The schedule, with a zone other than the local zone.
fn schedule_text(engine: &EngineConnection, view: &JobView) -> String {
    let zone = view.zone.as_ref().filter(|zone| *zone != engine.clock.zone().name());
    let zone = zone.map(|zone| format!(" · {zone}")).unwrap_or_default();
    format!("{}{zone}", escape(&view.schedule_text))
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn last_state_is_in_words() {
        let words = |state: Value| last_state(&json!({ "state": { "lastState": state } }));
        assert_eq!(words(json!("timedOut")).as_deref(), Some("timed out"));
        assert_eq!(words(json!("newState")).as_deref(), Some("newState"));
        assert_eq!(words(Value::Null), None);
    }
}
