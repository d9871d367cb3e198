//! `rouse doctor`: what is wrong with this installation, and how to mend it.

use std::io::ErrorKind;

use rouse_core::Clock as _;
use rouse_gateway::ClientError;
use rouse_gateway::wire::{
    BackupsView, ConfigView, CronStatus, FailingModel, NotificationStatus, SystemStatus,
    ToolsCatalogResult,
};
use rouse_host::{DAMAGED, DAMAGED_AT_REST, Exposure, Layers, SandboxError, SystemClock};
use serde_json::json;

use crate::backup;
use crate::config;
use crate::exit::Failure;
use crate::output::plain;
use crate::secrets;
use crate::session::{Session, no_way};
use crate::status::{fails, is_of, zone_data, zones_apart};
use crate::troubles;

struct Finding {
    ok: bool,
    what: String,
    mend: Option<String>,
}

pub(crate) async fn run(session: &Session) -> Result<(), Failure> {
    let mut findings = of_home(session);
    let settings = config::of_file(session).await;
    let mut in_engine = None;
    match session.call("system.status", json!({})).await {
        Ok(answer) => {
            let status: SystemStatus = serde_json::from_value(answer)?;
            let model = match &settings {
                Ok(view) => troubles::of_model(session, view).await?,
                Err(_) => None,
            };
            findings.extend(of_engine(&status, model.is_some(), &session.clock));
            if status.problem.is_some() {
                findings.extend(of_database(session, DAMAGED).await);
            }
            match why_unconfined(session).await {
                Ok(why) => in_engine = Some(why),
                Err(failure) => findings.extend(failure.lines().into_iter().map(wrong)),
            }
            match secrets::troubles(session).await {
                Ok(troubles) => findings.extend(troubles.into_iter().map(fine)),
                Err(failure) => findings.extend(failure.lines().into_iter().map(wrong)),
            }
        }
        Err(failure) => {
            findings.extend(of_no_answer(session, &failure));
            findings.extend(of_database(session, DAMAGED_AT_REST).await);
        }
    }
    findings.extend(of_backups(session).await);
    match settings {
        Ok(view) => findings.extend(of_settings(&view)),
        Err(failure) => findings.extend(failure.lines().into_iter().map(wrong)),
    }
    findings.push(of_sandbox(in_engine, rouse_host::sandbox_available()));
    let findings = each_once(findings);
    report(session, &findings);
    if findings.iter().all(|finding| finding.ok) {
        Ok(())
    } else {
        Err(Failure::Other(anyhow::anyhow!("Something needs mending.")))
    }
}

/// What is in the way of two looks is told by the first.
fn each_once(findings: Vec<Finding>) -> Vec<Finding> {
    let mut told: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        if !told.iter().any(|known| known.what == finding.what) {
            told.push(finding);
        }
    }
    told
}

const fn fine(what: String) -> Finding {
    Finding { ok: true, what, mend: None }
}

const fn wrong(what: String) -> Finding {
    Finding { ok: false, what, mend: None }
}

/// Where the data lives, and what is in the way of it. The engine learns of a full disk only when it next writes.
fn of_home(session: &Session) -> Vec<Finding> {
    let root = session.home.root().display();
    let exposure = session.home.exposure().map(|Exposure { what, mend }| Finding {
        ok: false,
        what,
        mend: Some(mend),
    });
    let lives = match session.home.try_room() {
        Ok(()) => fine(format!("Data lives in {root}")),
        Err(error) => Finding {
            ok: false,
            what: format!("Rouse cannot write in {root}: {error}"),
            mend: Some(mend_of_room(error.kind()).to_owned()),
        },
    };
    std::iter::once(lives).chain(exposure).collect()
}

const fn mend_of_room(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "Free some space there; until then no run can be saved."
        }
        _ => {
            "Make it a folder of your own, or let ROUSE_HOME name another one; until then no run can be saved."
        }
    }
}

/// Why the engine did not say how it is.
fn of_no_answer(session: &Session, failure: &Failure) -> Vec<Finding> {
    let is_nobody =
        matches!(failure, Failure::Client(ClientError::NotRunning | ClientError::Unproven { .. }));
    if !is_nobody {
        return failure.lines().into_iter().map(wrong).collect();
    }
    vec![no_way(&session.home).map_or_else(
        || Finding {
            ok: false,
            what: "Rouse is not running, so no job fires".to_owned(),
            mend: Some(failure.lines().join(" ")),
        },
        wrong,
    )]
}

/// Whether the database is whole, with the words for `mend` where it is not; nothing when there is none yet.
async fn of_database(session: &Session, mend: &str) -> Option<Finding> {
    let path = session.home.database();
    if !path.exists() {
        return None;
    }
    Some(match session.home.damage().await {
        Ok(complaints) if complaints.is_empty() => fine("The database is whole".to_owned()),
        Ok(complaints) => Finding {
            ok: false,
            what: format!("{} is damaged: {}", path.display(), plain(&complaints.join("; "))),
            mend: Some(mend.to_owned()),
        },
        Err(error) => wrong(format!("{:#}", anyhow::Error::from(error))),
    })
}

/// When the newest backup was made. Without any, or when they cannot be read, how one is made.
async fn of_backups(session: &Session) -> Option<Finding> {
    if !session.home.database().exists() {
        return of_missing_database(session);
    }
    let listed = backup::listed(session).await;
    let view = listed.and_then(|view| Ok(serde_json::from_value::<BackupsView>(view)?));
    Some(match view {
        Ok(BackupsView { folder, backups }) => match backups.first() {
            Some(newest) => {
                let when = backup::when(session, newest.made_at_ms);
                fine(format!("Newest backup: {when}; {} in {}", backups.len(), plain(&folder)))
            }
            None => Finding {
                ok: true,
                what: "No backup yet: one is made each day that Rouse works".to_owned(),
                mend: Some("Now: rouse backup".to_owned()),
            },
        },
        Err(failure) => wrong(failure.lines().join(" ")),
    })
}

/// That the database is gone; nothing before a first start.
fn of_missing_database(session: &Session) -> Option<Finding> {
    rouse_host::missing_database(&session.home).map(wrong)
}

fn of_engine(status: &SystemStatus, is_model_told: bool, clock: &SystemClock) -> Vec<Finding> {
    let own = env!("CARGO_PKG_VERSION");
    let mut findings =
        vec![fine(format!("Rouse {} runs as process {}", status.version, status.pid))];
    if status.version != own {
        findings.push(Finding {
            ok: false,
            what: format!("This command is version {own}, the engine is {}", status.version),
            mend: Some("Restart Rouse after an update.".to_owned()),
        });
    }
    findings.extend(of_firing(&status.cron));
    findings.push(fine(format!("Time zone rules: {}", zone_data(&status.zone_data))));
    let in_use = status.model.as_deref();
    if !is_model_told && !status.failing_models.iter().any(|failing| is_of(failing, in_use)) {
        findings.push(of_model(in_use, status.model_is_untried));
    }
    findings.extend(status.failing_models.iter().map(|failing| of_failing(failing, clock)));
    findings.extend(of_notifications(&status.notifications));
    findings.extend(zones_apart(&status.zone, clock.zone().name()).map(fine));
    if let Some(problem) = &status.problem {
        findings.push(Finding { ok: false, what: problem.clone(), mend: None });
    }
    findings
}

/// Why they are not shown: a computer without a desktop is in order, one that loses them is not.
fn of_notifications(notifications: &NotificationStatus) -> Option<Finding> {
    let reason = format!("Notifications: {}", plain(notifications.reason.as_ref()?));
    Some(if notifications.failing { wrong(reason) } else { fine(reason) })
}

/// Whether jobs fire; nothing while something is in their way, which is told as the engine's problem.
fn of_firing(cron: &CronStatus) -> Option<Finding> {
    match (&cron.off_reason, &cron.pause, &cron.problem) {
        (Some(reason), _, _) => Some(Finding {
            ok: false,
            what: "Jobs do not fire".to_owned(),
            mend: Some(reason.clone()),
        }),
        (None, Some(_), _) => Some(Finding {
            ok: false,
            what: "Everything is paused".to_owned(),
            mend: Some("rouse cron resume".to_owned()),
        }),
        (None, None, Some(_)) => None,
        (None, None, None) => Some(fine("Jobs fire".to_owned())),
    }
}

/// The model in use. One that was never asked is no fault, and is not told as working.
fn of_model(model: Option<&str>, is_untried: bool) -> Finding {
    let (what, mend) = match model {
        Some(model) if is_untried => {
            (format!("Model: {model}, not tried yet"), "Test it: rouse models test")
        }
        Some(model) => return fine(format!("Model: {model}")),
        None => (
            "No model yet: jobs without a model work, agent jobs cannot".to_owned(),
            "Connect one: rouse models add anthropic (or openai, openrouter, ollama, lmstudio)",
        ),
    };
    Finding { ok: true, what, mend: Some(mend.to_owned()) }
}

/// Runs of this model end without an answer, whatever else is in order.
fn of_failing(failing: &FailingModel, clock: &SystemClock) -> Finding {
    Finding {
        ok: false,
        what: format!("Model: {}", fails(failing, clock)),
        mend: Some(plain(&failing.mend)),
    }
}

/// What is wrong with the settings file, and with what it asks for.
fn of_settings(view: &ConfigView) -> Vec<Finding> {
    let path = plain(&view.path);
    let unknown = view.unknown_keys.iter().map(|unknown| Finding {
        ok: false,
        what: plain(&unknown.text),
        mend: Some(format!("Write it as it is meant in {path}, or take it out there.")),
    });
    let troubles = view.troubles.iter().map(|trouble| Finding {
        ok: false,
        what: plain(&trouble.text),
        mend: Some(mend_of_trouble(&trouble.key, &path)),
    });
    config::changed_by_hand(view).map(wrong).into_iter().chain(unknown).chain(troubles).collect()
}

/// What a key of the settings names is brought to where it is looked for: a variable into the environment, all else to its place.
fn mend_of_trouble(key: &str, path: &str) -> String {
    let first = match key.ends_with(".keyEnv") {
        true => "Set it where Rouse is started",
        false => "Put it there",
    };
    format!("{first}, or change it in {path}.")
}

/// Why the engine cannot confine a command; none when it can.
async fn why_unconfined(session: &Session) -> Result<Option<String>, Failure> {
    let catalog = session.call("tools.catalog", json!({})).await?;
    let catalog: ToolsCatalogResult = serde_json::from_value(catalog)?;
    let commands = catalog.tools.into_iter().find(|tool| tool.name == "run_command");
    Ok(commands.and_then(|tool| tool.why_not_here))
}

/// A computer without one is in order: what needs a sandbox is refused there, and says so when it is. The engine may be
/// kept from what this process may do, and the other way round: where one runs, it knows.
fn of_sandbox(in_engine: Option<Option<String>>, here: Result<Layers, SandboxError>) -> Finding {
    let missing = |why: String| Finding {
        ok: true,
        what: "No sandbox for commands here: only those that you write into a job yourself run"
            .to_owned(),
        mend: Some(why),
    };
    match (in_engine, here) {
        (Some(Some(why)), _) => missing(why),
        (None, Err(error)) => missing(error.to_string()),
        (Some(None), Err(_)) => fine("Sandbox for commands: the engine has one".to_owned()),
        (_, Ok(Layers { held, not_held })) => Finding {
            ok: true,
            what: format!("Sandbox for commands: {held}"),
            mend: not_held.map(|what| format!("It does not bound: {what}.")),
        },
    }
}

fn report(session: &Session, findings: &[Finding]) {
    if session.json {
        let lines: Vec<_> = findings
            .iter()
            .map(|f| json!({ "ok": f.ok, "what": f.what, "mend": f.mend }))
            .collect();
        anstream::println!("{}", json!({ "findings": lines }));
        return;
    }
    for finding in findings {
        anstream::println!("{} {}", if finding.ok { "✓" } else { "✗" }, finding.what);
        if let Some(mend) = &finding.mend {
            anstream::println!("  {mend}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_notifications_that_get_lost_need_mending() {
        let found = |reason: Option<&str>, failing| {
            let reason = reason.map(str::to_owned);
            let status = NotificationStatus { available: reason.is_none(), reason, failing };
            of_notifications(&status).map(|finding| (finding.ok, finding.what))
        };
        assert_eq!(found(None, false), None);
        let told = |ok| Some((ok, "Notifications: No desktop.".to_owned()));
        assert_eq!(found(Some("No desktop."), false), told(true));
        assert_eq!(found(Some("No desktop."), true), told(false));
    }

    /// A service may be kept from what its person's shell may do.
    #[test]
    fn the_sandbox_is_that_of_the_engine_where_one_runs() {
        let here = || Ok(Layers { held: "processes", not_held: None });
        let none = of_sandbox(Some(Some("Raise it.".to_owned())), here());
        assert!(none.what.starts_with("No sandbox") && none.mend.as_deref() == Some("Raise it."));
        for in_engine in [None, Some(None)] {
            assert_eq!(of_sandbox(in_engine, here()).what, "Sandbox for commands: processes");
        }
    }

    #[test]
    fn what_is_in_the_way_twice_is_told_once() {
        let told =
            each_once(vec![wrong("a".to_owned()), fine("b".to_owned()), wrong("a".to_owned())]);
        assert_eq!(
            told.iter().map(|finding| finding.what.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn what_is_missing_is_told_with_what_to_do() {
        let variable = mend_of_trouble("providers.work.keyEnv", "config.toml");
        assert_eq!(variable, "Set it where Rouse is started, or change it in config.toml.");
        let folder = mend_of_trouble("workspace", "config.toml");
        assert_eq!(folder, "Put it there, or change it in config.toml.");
        assert!(mend_of_room(ErrorKind::StorageFull).starts_with("Free some space"));
        assert!(mend_of_room(ErrorKind::NotADirectory).starts_with("Make it a folder"));
    }
}
