//! Jobs by id, id prefix or exact name.

use std::collections::HashSet;

use rouse_gateway::wire::{CronListResult, JobView};
use serde_json::{Value, json};

use super::engine::EngineConnection;
use super::error::CliError;
use super::ids;

/// Maximum jobs per page of `cron.list`.
const PAGE: usize = 500;
const LIST_COMMAND: &str = "rouse cron list --all";

/// The id of the job that `wanted` names: a full id, an id prefix or an exact name.
pub(crate) async fn find_job(engine: &EngineConnection, wanted: &str) -> Result<String, CliError> {
    // The empty text is a prefix of each id: an unset variable in a script must not select the only job.
    if wanted.trim().is_empty() {
        return Err(CliError::input("a job is missing: use an id, an id prefix or an exact name"));
    }
    if ids::is_full_id(wanted) {
        return Ok(wanted.to_owned());
    }
    let list = list_jobs(engine, true, Some(wanted), usize::MAX).await?;
    let list: CronListResult = serde_json::from_value(list)?;
    let select = |matches: &dyn Fn(&Value) -> bool| -> Vec<&JobView> {
        list.jobs.iter().filter(|view| matches(&view.job)).collect()
    };
    let exact = select(&|job| job["id"] == wanted || job["name"] == wanted);
    let found = if exact.is_empty() {
        select(&|job| job["id"].as_str().is_some_and(|id| id.starts_with(wanted)))
    } else {
        exact
    };
    match found.as_slice() {
        [] => {
            let all = list_jobs(engine, true, None, usize::MAX).await?;
            let all: CronListResult = serde_json::from_value(all)?;
            let names = all.jobs.iter().filter_map(|view| view.job["name"].as_str());
            Err(unknown_job(&names.collect::<Vec<_>>(), wanted))
        }
        [job] => Ok(id_of(job).to_owned()),
        jobs => Err(ambiguous_job(wanted, jobs)),
    }
}

/// The first `limit` jobs, page by page, as one answer of `cron.list`.
pub(crate) async fn list_jobs(
    engine: &EngineConnection,
    include_disabled: bool,
    search: Option<&str>,
    limit: usize,
) -> Result<Value, CliError> {
    let (mut jobs, mut broken, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    let mut cursor = Value::Null;
    loop {
        let params = json!({
            "includeDisabled": include_disabled,
            "search": search,
            "limit": PAGE.min(limit - jobs.len()),
            "cursor": cursor,
        });
        let mut page = engine.call("cron.list", params).await?;
        if let Value::Array(views) = page["jobs"].take() {
            // A job that fires between two pages moves to a later page.
            let is_new = |view: &Value| seen.insert(id_text(&view["job"]));
            jobs.extend(views.into_iter().filter(is_new));
        }
        if let Value::Array(unreadable) = page["broken"].take() {
            let is_new = |job: &Value| seen.insert(id_text(job));
            broken.extend(unreadable.into_iter().filter(is_new));
        }
        cursor = page["nextCursor"].take();
        if cursor.is_null() || jobs.len() >= limit {
            return Ok(json!({ "jobs": jobs, "broken": broken, "nextCursor": cursor }));
        }
    }
}

fn id_text(job: &Value) -> String {
    job["id"].as_str().unwrap_or_default().to_owned()
}

fn id_of(view: &JobView) -> &str {
    view.job["id"].as_str().unwrap_or_default()
}

/// The error for a name of several jobs: lists id, name and schedule of each.
fn ambiguous_job(wanted: &str, views: &[&JobView]) -> CliError {
    let prefix = |view: &&JobView| id_of(view).chars().take(8).collect::<String>();
    let prefixes: Vec<String> = views.iter().map(prefix).collect();
    let is_unique = (1..prefixes.len()).all(|at| !prefixes[..at].contains(&prefixes[at]));
    let line = |(view, prefix): (&&JobView, &String)| {
        let id = if is_unique { prefix } else { id_of(view) };
        let name = view.job["name"].as_str().unwrap_or_default();
        format!("  {id}  {name} \u{b7} {}", view.schedule_text)
    };
    let head = format!("`{wanted}` is ambiguous; use the id of a job:");
    let lines = views.iter().zip(&prefixes).map(line);
    CliError::Input(std::iter::once(head).chain(lines).collect())
}

/// The error for an unknown job: lists names with this prefix, else a similar name.
fn unknown_job(names: &[&str], wanted: &str) -> CliError {
    let lower = wanted.to_lowercase();
    let mut matches = names.to_vec();
    matches.retain(|name| name.to_lowercase().starts_with(&lower));
    let none = format!("There is no job {wanted}.");
    let quote = |name: &&str| format!("\u{201c}{name}\u{201d}");
    match matches.as_slice() {
        [] => ids::unknown_name("job", wanted, names.iter().copied(), LIST_COMMAND),
        [name] => CliError::not_found(format!(
            "{none} Did you mean {}? See all: {LIST_COMMAND}",
            quote(name)
        )),
        names => {
            let shown: Vec<String> = names.iter().take(5).map(quote).collect();
            let more = if names.len() > shown.len() { ", …" } else { "" };
            let shown = shown.join(", ");
            CliError::not_found(format!(
                "{none} Names with this prefix: {shown}{more}. See all: {LIST_COMMAND}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::{MessageRoutes, SpentView};

    use super::*;

    fn view(id: &str, schedule: &str) -> JobView {
        JobView {
            job: json!({ "id": id, "name": "Backup" }),
            schedule_text: schedule.to_owned(),
            zone: None,
            recent: Vec::new(),
            live_run_ids: Vec::new(),
            incident: None,
            is_predecessor_missing: false,
            spent_this_month: SpentView::default(),
            routes: MessageRoutes::default(),
        }
    }

    #[test]
    fn ambiguous_name_lists_ids_and_schedules() {
        let different = [view("0199aaaa-1", "Every 10 min"), view("0199bbbb-2", "Daily at 07:30")];
        let lines =
            |views: &[JobView]| ambiguous_job("Backup", &views.iter().collect::<Vec<_>>()).lines();
        let head = "`Backup` is ambiguous; use the id of a job:";
        assert_eq!(
            lines(&different),
            [head, "  0199aaaa  Backup · Every 10 min", "  0199bbbb  Backup · Daily at 07:30"]
        );
        let same_prefix = [view("0199aaaa-1", "Every 10 min"), view("0199aaaa-2", "By hand")];
        assert_eq!(lines(&same_prefix)[1], "  0199aaaa-1  Backup · Every 10 min");
    }

    #[test]
    fn unknown_name_lists_names_with_this_prefix() {
        let names = ["Stretch your legs", "Stretch your legs 2", "Tea"];
        assert_eq!(
            unknown_job(&names, "stretch").lines(),
            [
                "There is no job stretch. Names with this prefix: “Stretch your legs”, “Stretch your legs 2”. See all: rouse cron list --all"
            ]
        );
        assert_eq!(
            unknown_job(&names, "Te").lines(),
            ["There is no job Te. Did you mean “Tea”? See all: rouse cron list --all"]
        );
    }
}
