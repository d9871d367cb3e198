//! `rouse status`: the engine in a few lines.

use rouse_core::Clock as _;
use rouse_core::budget::MicroUsd;
use rouse_core::text::group_thousands;
use rouse_gateway::wire::{EngineMode, SpendingView, SystemStatus, UnmetSetting};
use serde_json::json;

use crate::render::scheduler::print_scheduler;
use crate::render::secrets::secret_problems;
use crate::render::settings::file_notice;
use crate::render::spending::spent_text;
use crate::render::system::{failing_model_text, is_active_model, zone_data_text, zone_notice};
use crate::render::text::escape;
use crate::resolve::approvals::pending_approvals;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::settings::{model_problem, read_settings};

pub(crate) async fn run(engine: &EngineConnection) -> Result<(), CliError> {
    if engine.json {
        return engine.show("system.status", json!({}), |_, _: SystemStatus| ()).await;
    }
    let settings = read_settings(engine).await?;
    let notice = file_notice(&settings);
    let model_problem = model_problem(engine, &settings).await?;
    let secret_problems = secret_problems(engine).await?;
    let pending = pending_approvals(engine).await?.len();
    let spending: SpendingView = engine.fetch("spending.get", json!({})).await?;
    engine
        .show("system.status", json!({}), |engine, status: SystemStatus| {
            print_head(engine, &status);
            print_scheduler(engine, &status.cron);
            match pending {
                0 => {}
                1 => anstream::println!("1 approval is pending: rouse approvals list"),
                count => anstream::println!("{count} approvals are pending: rouse approvals list"),
            }
            print_models(engine, &status, model_problem.as_ref());
            print_spending(&spending);
            if let Some(reason) = status.notifications.reason {
                let mark = if status.notifications.failing { "✗ " } else { "" };
                anstream::println!("{mark}Notifications: {}", escape(&reason));
            }
            if let Some(problem) = status.problem {
                anstream::println!("Problem: {problem}");
            }
            if let Some(notice) = notice {
                anstream::println!("Settings: {notice}");
            }
            let is_other = |problem: &&UnmetSetting| model_problem.as_ref() != Some(*problem);
            for problem in settings.unmet_settings.iter().filter(is_other) {
                anstream::println!("Settings: {}", escape(&problem.text));
            }
            for problem in secret_problems {
                anstream::println!("Secrets: {problem}");
            }
            anstream::println!("Data: {}", status.home);
        })
        .await
}

/// Prints version, mode, process and zone.
fn print_head(engine: &EngineConnection, status: &SystemStatus) {
    let mode = match status.mode {
        EngineMode::App => "desktop app",
        EngineMode::Serve => "rouse serve",
    };
    let SystemStatus { version, pid, zone, .. } = status;
    anstream::println!("Rouse {version} · {mode} · process {pid} · {zone}");
    if let Some(notice) = zone_notice(zone, engine.clock.zone().name()) {
        anstream::println!("{notice}");
    }
    anstream::println!("Time zone rules: {}", zone_data_text(&status.zone_data));
}

/// Prints the active model and the failing models. A failing active model appears once.
fn print_models(engine: &EngineConnection, status: &SystemStatus, problem: Option<&UnmetSetting>) {
    let problem = problem.map(|problem| escape(&problem.text));
    let active = status.model.as_deref();
    let is_failing = status.failing_models.iter().any(|model| is_active_model(model, active));
    match (problem, active) {
        (Some(problem), None) => anstream::println!("✗ No model: {problem}"),
        (Some(problem), Some(model)) => anstream::println!("✗ Model: {model}: {problem}"),
        (None, _) if is_failing => {}
        (None, active) => {
            let model =
                active.map_or_else(|| "No model yet".to_owned(), |model| format!("Model: {model}"));
            let suffix = if status.is_model_untested { ", not tried yet" } else { "" };
            anstream::println!("{model}{suffix}");
        }
    }
    for model in &status.failing_models {
        anstream::println!("✗ Model: {}", failing_model_text(model, &engine.clock));
    }
}

fn print_spending(spending: &SpendingView) {
    let text = |spent| spent_text(spent).unwrap_or_else(|| "nothing".to_owned());
    let limits = [
        spending.tokens_per_day.map(|limit| format!("{} tokens", group_thousands(limit))),
        spending.usd_per_day.map(|limit| MicroUsd::of_usd(limit).to_string()),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let limits = if limits.is_empty() {
        String::new()
    } else {
        format!(" (limit: {})", limits.join(" and "))
    };
    let (today, month) = (text(spending.today), text(spending.month));
    anstream::println!("Spent today: {today}{limits} · this month: {month}");
}
