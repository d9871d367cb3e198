//! `rouse doctor`: checks of this installation, and fixes.

mod channels;
mod servers;

use std::io::ErrorKind;

use rouse_core::Clock as _;
use rouse_gateway::ClientError;
use rouse_gateway::wire::{
    BackupsView, ConfigView, CronStatus, ExtensionsVerifyResult, FailingModel, NotificationStatus,
    SkillTrust, SkillView, SkillsListResult, SystemStatus, ToolsCatalogResult, VerifiedFiles,
};
use rouse_host::{
    DAMAGED_WHILE_RUNNING, DAMAGED_WHILE_STOPPED, Exposure, IS_SANDBOX_PREVIEW, SandboxError,
    SandboxGuarantees, SystemClock,
};
use serde_json::json;

use self::servers::check_servers;
use crate::commands::extensions::is_accepted;
use crate::render::secrets::secret_problems;
use crate::render::settings::file_notice;
use crate::render::system::{failing_model_text, is_active_model, zone_data_text, zone_notice};
use crate::render::text::escape;
use crate::render::time::local_time;
use crate::resolve::backups::list_backups;
use crate::resolve::engine::{EngineConnection, endpoint_problem};
use crate::resolve::error::CliError;
use crate::resolve::settings::{model_problem, read_settings_or_file};

/// The result of a check: health, text and fix.
struct Finding {
    ok: bool,
    text: String,
    fix: Option<String>,
}

pub(crate) async fn run(engine: &EngineConnection) -> Result<(), CliError> {
    let mut findings = check_home(engine);
    let settings = read_settings_or_file(engine).await;
    let mut engine_sandbox = None;
    match engine.call("system.status", json!({})).await {
        Ok(answer) => {
            let status: SystemStatus = serde_json::from_value(answer)?;
            let has_model_problem = match &settings {
                Ok(view) => model_problem(engine, view).await?.is_some(),
                Err(_) => false,
            };
            findings.extend(check_engine(&status, has_model_problem, &engine.clock));
            if status.problem.is_some() {
                findings.extend(check_database(engine, DAMAGED_WHILE_RUNNING).await);
            }
            match sandbox_problem(engine).await {
                Ok(problem) => engine_sandbox = Some(problem),
                Err(error) => findings.extend(error.lines().into_iter().map(unhealthy)),
            }
            findings.extend(check_packages(engine).await);
            findings.extend(check_servers(engine).await);
            findings.extend(channels::check_channels(engine).await);
            findings.extend(check_skills(engine).await);
            match secret_problems(engine).await {
                Ok(problems) => findings.extend(problems.into_iter().map(healthy)),
                Err(error) => findings.extend(error.lines().into_iter().map(unhealthy)),
            }
        }
        Err(error) => {
            findings.extend(check_connection(engine, &error));
            findings.extend(check_database(engine, DAMAGED_WHILE_STOPPED).await);
        }
    }
    findings.extend(check_backups(engine).await);
    match settings {
        Ok(view) => findings.extend(check_settings(&view)),
        Err(error) => findings.extend(error.lines().into_iter().map(unhealthy)),
    }
    findings.push(check_sandbox(engine_sandbox, rouse_host::probe_sandbox()));
    let findings = remove_duplicates(findings);
    print_findings(engine, &findings);
    if findings.iter().all(|finding| finding.ok) {
        Ok(())
    } else {
        Err(CliError::Other(anyhow::anyhow!("Something needs a fix.")))
    }
}

/// Keeps the first of equal findings: one cause can fail two checks.
fn remove_duplicates(findings: Vec<Finding>) -> Vec<Finding> {
    let mut unique: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        if !unique.iter().any(|known| known.text == finding.text) {
            unique.push(finding);
        }
    }
    unique
}

const fn healthy(text: String) -> Finding {
    Finding { ok: true, text, fix: None }
}

const fn unhealthy(text: String) -> Finding {
    Finding { ok: false, text, fix: None }
}

fn with_fix(ok: bool, text: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { ok, text: text.into(), fix: Some(fix.into()) }
}

/// The data directory: free space and permissions. The engine notices a full disk only at the next write.
fn check_home(engine: &EngineConnection) -> Vec<Finding> {
    let root = engine.home.root().display();
    let exposure =
        engine.home.exposure().map(|Exposure { problem, fix }| with_fix(false, problem, fix));
    let writable = match engine.home.try_room() {
        Ok(()) => healthy(format!("Data lives in {root}")),
        Err(error) => {
            let text = format!("Rouse cannot write in {root}: {error}");
            with_fix(false, text, write_error_fix(error.kind()))
        }
    };
    std::iter::once(writable).chain(exposure).collect()
}

const fn write_error_fix(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "Free some space there; until then no run can be saved."
        }
        _ => {
            "Make the path a folder that you own, or set ROUSE_HOME to another folder; until then no run can be saved."
        }
    }
}

/// Why the engine did not report its status.
fn check_connection(engine: &EngineConnection, error: &CliError) -> Vec<Finding> {
    let is_stopped =
        matches!(error, CliError::Client(ClientError::NotRunning | ClientError::Unproven { .. }));
    if !is_stopped {
        return error.lines().into_iter().map(unhealthy).collect();
    }
    vec![endpoint_problem(&engine.home).map_or_else(
        || with_fix(false, "Rouse is not running, so no job fires", error.lines().join(" ")),
        unhealthy,
    )]
}

/// The integrity of the database, with `fix` for damage; none without a database.
async fn check_database(engine: &EngineConnection, fix: &str) -> Option<Finding> {
    let path = engine.home.database();
    if !path.exists() {
        return None;
    }
    Some(match engine.home.integrity_problems().await {
        Ok(errors) if errors.is_empty() => healthy("The database is intact".to_owned()),
        Ok(errors) => {
            let errors = escape(&errors.join("; "));
            with_fix(false, format!("{} is damaged: {errors}", path.display()), fix)
        }
        Err(error) => unhealthy(format!("{:#}", anyhow::Error::from(error))),
    })
}

/// The newest backup. Without a database, a missing database.
async fn check_backups(engine: &EngineConnection) -> Option<Finding> {
    if !engine.home.database().exists() {
        // None before the first start.
        return rouse_host::database_loss(&engine.home).map(unhealthy);
    }
    let listed = list_backups(engine).await;
    let view = listed.and_then(|view| Ok(serde_json::from_value::<BackupsView>(view)?));
    Some(match view {
        Ok(BackupsView { folder, backups }) => match backups.first() {
            Some(newest) => {
                let made = local_time(engine, newest.made_at_ms);
                healthy(format!("Newest backup: {made}; {} in {}", backups.len(), escape(&folder)))
            }
            None => {
                with_fix(true, "No backup yet: Rouse makes a backup daily", "Now: rouse backup")
            }
        },
        Err(error) => unhealthy(error.lines().join(" ")),
    })
}

fn check_engine(
    status: &SystemStatus,
    has_model_problem: bool,
    clock: &SystemClock,
) -> Vec<Finding> {
    let own = env!("CARGO_PKG_VERSION");
    let mut findings =
        vec![healthy(format!("Rouse {} runs as process {}", status.version, status.pid))];
    if status.version != own {
        let text = format!("This command is version {own}, the engine is {}", status.version);
        findings.push(with_fix(false, text, "Restart Rouse after an update."));
    }
    findings.extend(check_scheduler(&status.cron));
    findings.push(healthy(format!("Time zone rules: {}", zone_data_text(&status.zone_data))));
    let active = status.model.as_deref();
    let is_failing = status.failing_models.iter().any(|model| is_active_model(model, active));
    if !has_model_problem && !is_failing {
        findings.push(check_model(active, status.is_model_untested));
    }
    findings.extend(status.failing_models.iter().map(|model| check_failing_model(model, clock)));
    findings.extend(check_notifications(&status.notifications));
    findings.extend(zone_notice(&status.zone, clock.zone().name()).map(healthy));
    findings.extend(status.problem.clone().map(unhealthy));
    findings
}

/// Missing notifications are healthy on a computer without a desktop.
fn check_notifications(notifications: &NotificationStatus) -> Option<Finding> {
    let reason = format!("Notifications: {}", escape(notifications.reason.as_ref()?));
    Some(if notifications.failing { unhealthy(reason) } else { healthy(reason) })
}

/// Whether jobs fire; none with a problem, which is a finding of its own.
fn check_scheduler(cron: &CronStatus) -> Option<Finding> {
    match (&cron.off_reason, &cron.pause, &cron.problem) {
        (Some(reason), _, _) => Some(with_fix(false, "Jobs do not fire", reason.clone())),
        (None, Some(_), _) => Some(with_fix(false, "Everything is paused", "rouse cron resume")),
        (None, None, Some(_)) => None,
        (None, None, None) => Some(healthy("Jobs fire".to_owned())),
    }
}

/// The active model. An untried model is healthy.
fn check_model(model: Option<&str>, is_untried: bool) -> Finding {
    match model {
        Some(model) if is_untried => {
            let text = format!("Model: {model}, not tried yet");
            with_fix(true, text, "Test it: rouse models test")
        }
        Some(model) => healthy(format!("Model: {model}")),
        None => with_fix(
            true,
            "No model yet: jobs without a model work, agent jobs cannot",
            "Connect one: rouse models add anthropic (or openai, openrouter, ollama, lmstudio)",
        ),
    }
}

fn check_failing_model(failing: &FailingModel, clock: &SystemClock) -> Finding {
    let text = format!("Model: {}", failing_model_text(failing, clock));
    with_fix(false, text, escape(&failing.fix))
}

/// Unknown keys of the settings file, and missing objects that settings refer to.
fn check_settings(view: &ConfigView) -> Vec<Finding> {
    let path = escape(&view.path);
    let unknown = view.unknown_keys.iter().map(|unknown| {
        let fix = format!("Correct or remove the key in {path}.");
        with_fix(false, escape(&unknown.text), fix)
    });
    let problems = view
        .unmet_settings
        .iter()
        .map(|problem| with_fix(false, escape(&problem.text), settings_fix(&problem.key, &path)));
    file_notice(view).map(unhealthy).into_iter().chain(unknown).chain(problems).collect()
}

/// The fix for a missing variable, or for any other missing item.
fn settings_fix(key: &str, path: &str) -> String {
    let first = if key.ends_with(".keyEnv") {
        "Set the variable where Rouse starts"
    } else {
        "Add the missing item"
    };
    format!("{first}, or change the setting in {path}.")
}

/// Why the engine cannot confine commands; none if it can.
async fn sandbox_problem(engine: &EngineConnection) -> Result<Option<String>, CliError> {
    let catalog: ToolsCatalogResult = engine.fetch("tools.catalog", json!({})).await?;
    let run_command = catalog.tools.into_iter().find(|tool| tool.name == "run_command");
    Ok(run_command.and_then(|tool| tool.unavailable_reason))
}

/// The files of MCP servers, compared with the accepted files; none without packages.
async fn check_packages(engine: &EngineConnection) -> Vec<Finding> {
    let verified = engine.fetch("extensions.verify", json!({})).await;
    match verified {
        Ok(ExtensionsVerifyResult { extensions }) => package_findings(&extensions),
        Err(error) => error.lines().into_iter().map(unhealthy).collect(),
    }
}

fn package_findings(extensions: &[VerifiedFiles]) -> Vec<Finding> {
    let (accepted, changed): (Vec<_>, Vec<_>) =
        extensions.iter().partition(|extension| is_accepted(extension));
    let healthy_one = (!accepted.is_empty())
        .then(|| healthy(format!("Packages with their accepted files: {}", accepted.len())));
    let changed = changed.into_iter().map(|VerifiedFiles { name, .. }| {
        let fix = format!("Differences: rouse extensions verify {name}");
        with_fix(false, format!("The files of {name} are not as you accepted them"), fix)
    });
    healthy_one.into_iter().chain(changed).collect()
}

/// The installed skills, compared with their trusted content; none without trusted skills.
async fn check_skills(engine: &EngineConnection) -> Vec<Finding> {
    match engine.fetch("skills.list", json!({})).await {
        Ok(SkillsListResult { skills, .. }) => skill_findings(&skills),
        Err(error) => error.lines().into_iter().map(unhealthy).collect(),
    }
}

fn skill_findings(skills: &[SkillView]) -> Vec<Finding> {
    let with_trust = |trust| skills.iter().filter(move |skill| skill.trust == Some(trust));
    let trusted = with_trust(SkillTrust::Trusted).count();
    let healthy_one =
        (trusted > 0).then(|| healthy(format!("Skills with their trusted content: {trusted}")));
    let changed = with_trust(SkillTrust::Changed).map(|skill| {
        let name = escape(&skill.name);
        let fix = format!("Read it: rouse skills show {name}. Then: rouse skills trust {name}");
        with_fix(false, format!("The skill {name} has changed since you trusted it"), fix)
    });
    healthy_one.into_iter().chain(changed).collect()
}

/// A missing sandbox is healthy: commands that need a sandbox are refused. The engine's probe has priority,
/// because permissions differ between processes.
fn check_sandbox(
    engine_sandbox: Option<Option<String>>,
    local: Result<SandboxGuarantees, SandboxError>,
) -> Finding {
    let missing = |reason: String| {
        with_fix(true, "No sandbox for commands here: only commands written into a job run", reason)
    };
    let preview = if IS_SANDBOX_PREVIEW { " (preview)" } else { "" };
    match (engine_sandbox, local) {
        (Some(Some(reason)), _) => missing(reason),
        (None, Err(error)) => missing(error.to_string()),
        (Some(None), Err(_)) => {
            healthy(format!("Sandbox for commands{preview}: the engine has one"))
        }
        (_, Ok(SandboxGuarantees { enforced, gaps })) => Finding {
            ok: true,
            text: format!("Sandbox for commands{preview}: {enforced}"),
            fix: gaps.map(|gaps| format!("Not limited: {gaps}.")),
        },
    }
}

fn print_findings(engine: &EngineConnection, findings: &[Finding]) {
    if engine.json {
        let findings: Vec<_> = findings
            .iter()
            .map(|finding| json!({ "ok": finding.ok, "text": finding.text, "fix": finding.fix }))
            .collect();
        anstream::println!("{}", json!({ "findings": findings }));
        return;
    }
    for finding in findings {
        anstream::println!("{} {}", if finding.ok { "✓" } else { "✗" }, finding.text);
        if let Some(fix) = &finding.fix {
            anstream::println!("  {fix}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failing_notifications_are_unhealthy() {
        let found = |reason: Option<&str>, failing| {
            let reason = reason.map(str::to_owned);
            let status = NotificationStatus { available: reason.is_none(), reason, failing };
            check_notifications(&status).map(|finding| (finding.ok, finding.text))
        };
        assert_eq!(found(None, false), None);
        let finding = |ok| Some((ok, "Notifications: No desktop.".to_owned()));
        assert_eq!(found(Some("No desktop."), false), finding(true));
        assert_eq!(found(Some("No desktop."), true), finding(false));
    }

    /// A service may have fewer permissions than a shell.
    #[test]
    fn sandbox_of_the_engine_has_priority() {
        let local = || Ok(SandboxGuarantees { enforced: "processes", gaps: None });
        let missing = check_sandbox(Some(Some("Raise it.".to_owned())), local());
        assert!(
            missing.text.starts_with("No sandbox") && missing.fix.as_deref() == Some("Raise it.")
        );
        for in_engine in [None, Some(None)] {
            let text = check_sandbox(in_engine, local()).text;
            assert!(text.starts_with("Sandbox for commands") && text.ends_with(": processes"));
        }
    }

    #[test]
    fn changed_package_is_unhealthy_and_none_is_silent() {
        let files = |name: &str, problem: Option<&str>| VerifiedFiles {
            name: name.parse().expect("a name"),
            files: 3,
            changes: Vec::new(),
            problem: problem.map(str::to_owned),
        };
        assert!(package_findings(&[]).is_empty());
        let found = package_findings(&[files("cal", None), files("docs", Some("Unreadable."))]);
        let found: Vec<_> = found.iter().map(|found| (found.ok, found.text.as_str())).collect();
        let expected = [
            (true, "Packages with their accepted files: 1"),
            (false, "The files of docs are not as you accepted them"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn changed_skill_is_unhealthy_and_untrusted_is_silent() {
        let skill = |name: &str, trust| SkillView {
            name: name.to_owned(),
            description: None,
            trust: Some(trust),
            is_installed: true,
            path: String::new(),
            problem: None,
            body: None,
            files: Vec::new(),
            tools: None,
            digest: None,
            used_by: Vec::new(),
        };
        assert!(skill_findings(&[skill("new", SkillTrust::Untrusted)]).is_empty());
        let skills = [skill("fetch", SkillTrust::Changed), skill("report", SkillTrust::Trusted)];
        let found = skill_findings(&skills);
        let found: Vec<_> = found.iter().map(|found| (found.ok, found.text.as_str())).collect();
        let expected = [
            (true, "Skills with their trusted content: 1"),
            (false, "The skill fetch has changed since you trusted it"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn equal_findings_are_printed_once() {
        let findings = remove_duplicates(vec![
            unhealthy("a".to_owned()),
            healthy("b".to_owned()),
            unhealthy("a".to_owned()),
        ]);
        assert_eq!(
            findings.iter().map(|finding| finding.text.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn missing_objects_have_a_fix() {
        let variable = settings_fix("providers.work.keyEnv", "config.toml");
        assert_eq!(
            variable,
            "Set the variable where Rouse starts, or change the setting in config.toml."
        );
        let folder = settings_fix("workspace", "config.toml");
        assert_eq!(folder, "Add the missing item, or change the setting in config.toml.");
        assert!(write_error_fix(ErrorKind::StorageFull).starts_with("Free some space"));
        assert!(write_error_fix(ErrorKind::NotADirectory).starts_with("Make the path a folder"));
    }
}
