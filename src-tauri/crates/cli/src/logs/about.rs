//! Which job or run the lines are to be about, as a person names it.
//!
//! The engine is asked first. Where it knows nothing, or none runs, the log itself is: it names jobs that are deleted,
//! and why an engine has ended is read when there is none. It refuses a word that nothing is known by, for silence would
//! read as "nothing happened". One could get it wrong by asking for an engine where a whole id was given.

use std::path::Path;

use serde_json::{Value, json};

use super::{Args, Reading, files};
use crate::exit::Failure;
use crate::session::Session;
use crate::{cron, ids, runs};

/// The ids that lines must bear.
#[derive(Default)]
pub(super) struct About {
    run: Option<String>,
    job: Option<String>,
}

impl About {
    pub(super) async fn read(
        args: &Args,
        session: &Session,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let mut about = Self::default();
        if let Some(wanted) = &args.run {
            let told = run_of_engine(session, wanted).await;
            about.run = Some(settled(told, "run", wanted, folder)?);
        }
        if let Some(wanted) = &args.job {
            let told = cron::resolve(session, wanted).await;
            about.job = Some(settled(told, "job", wanted, folder)?);
        }
        Ok(about)
    }

    pub(super) fn fits(&self, line: &Value) -> bool {
        let is = |key: &str, wanted: &Option<String>| {
            wanted.as_deref().is_none_or(|wanted| line[key].as_str() == Some(wanted))
        };
        is("runId", &self.run) && is("jobId", &self.job)
    }

    /// What to say when no line was about it: that there is no such thing, or that the log does not speak of it.
    pub(super) async fn silence(&self, session: &Session) -> Result<(), Failure> {
        for (method, what, id) in [("runs.get", "run", &self.run), ("cron.get", "job", &self.job)] {
            let Some(id) = id else { continue };
            session.call(method, json!({ "id": id })).await.map_err(|error| {
                if error.is_unreachable() {
                    return ids::not_found(format!("The log has no line about {what} {id}."));
                }
                error
            })?;
        }
        if self.run.is_some() || self.job.is_some() {
            anstream::eprintln!("The log has no line about it.");
        }
        Ok(())
    }
}

async fn run_of_engine(session: &Session, wanted: &str) -> Result<String, Failure> {
    let id = runs::which(wanted, session).await?;
    if !ids::is_whole(&id) {
        session.call("runs.get", json!({ "id": id })).await?;
    }
    Ok(id)
}

/// What the engine told, or else what the log knows by this word.
fn settled(
    told: Result<String, Failure>,
    what: &str,
    wanted: &str,
    folder: &Path,
) -> Result<String, Failure> {
    let why = match told {
        Err(why) if why.is_not_found() || why.is_unreachable() => why,
        told => return told,
    };
    match of_log(what, wanted, folder)? {
        Some(id) => Ok(id),
        None if why.is_not_found() => Err(why),
        None => Err(ids::not_found(format!(
            "The log knows no {what} {wanted}, and Rouse is not running to be asked."
        ))),
    }
}

/// The id of what a line of the log calls by this id, name, beginning or end of an id; of runs also the `last`.
fn of_log(what: &str, wanted: &str, folder: &Path) -> Result<Option<String>, Failure> {
    let key = if what == "run" { "runId" } else { "jobId" };
    let mut known: Vec<String> = Vec::new();
    let mut named: Vec<String> = Vec::new();
    for file in files(folder)? {
        let mut reading = Reading::of(&file)?;
        while let Some(line) = reading.next()? {
            let Some(id) = line[key].as_str() else { continue };
            // The newest is at the end, once.
            known.retain(|seen| seen != id);
            known.push(id.to_owned());
            if what == "job" && line["name"] == wanted && !named.iter().any(|seen| seen == id) {
                named.push(id.to_owned());
            }
        }
    }
    if what == "run" && wanted == "last" {
        return Ok(known.pop());
    }
    match ids::only(wanted, &named.iter().map(String::as_str).collect::<Vec<_>>())? {
        Some(id) => Ok(Some(id)),
        None => Ok(Some(ids::meant(wanted, &known)?).filter(|id| known.contains(id))),
    }
}
