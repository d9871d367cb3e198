//! `rouse status`, and the scheduler's part of it.

use rouse_core::Clock as _;
use rouse_core::money::MicroUsd;
use rouse_core::words::grouped;
use rouse_gateway::wire::{
    CronStatus, EngineMode, FailingModel, SpendingView, SystemStatus, ZoneDataStatus,
};
use rouse_host::SystemClock;
use serde_json::json;

use crate::approvals;
use crate::config;
use crate::cron::spent_in_words;
use crate::exit::Failure;
use crate::output::{instant, plain, relative};
use crate::secrets;
use crate::session::Session;
use crate::troubles;

pub(crate) async fn run(session: &Session) -> Result<(), Failure> {
    if session.json {
        return session.show("system.status", json!({}), |_, _: SystemStatus| Ok(())).await;
    }
    let view = config::in_force(session).await?;
    let changed = config::changed_by_hand(&view);
    let of_model = troubles::of_model(session, &view).await?;
    let troubles = secrets::troubles(session).await?;
    let open = approvals::open(session).await?;
    let spending: SpendingView =
        serde_json::from_value(session.call("spending.get", json!({})).await?)?;
    session
        .show("system.status", json!({}), |session, status: SystemStatus| {
            print_head(session, &status);
            print_cron(session, &status.cron);
            match open {
                0 => {}
                1 => anstream::println!("1 question needs you: rouse approvals list"),
                more => anstream::println!("{more} questions need you: rouse approvals list"),
            }
            let trouble = of_model.as_ref().map(|trouble| plain(&trouble.text));
            let in_use = status.model.as_deref();
            let failing = &status.failing_models;
            if trouble.is_some() || !failing.iter().any(|failing| is_of(failing, in_use)) {
                let is_untried = status.model_is_untried && trouble.is_none();
                let untried = if is_untried { ", not tried yet" } else { "" };
                anstream::println!("{}{untried}", model(trouble.as_deref(), in_use));
            }
            for failing in failing {
                anstream::println!("✗ Model: {}", fails(failing, &session.clock));
            }
            print_spending(&spending);
            if let Some(reason) = status.notifications.reason {
                let mark = if status.notifications.failing { "✗ " } else { "" };
                anstream::println!("{mark}Notifications: {}", plain(&reason));
            }
            if let Some(problem) = status.problem {
                anstream::println!("Problem: {problem}");
            }
            if let Some(changed) = changed {
                anstream::println!("Settings: {changed}");
            }
            let others = view.troubles.iter().filter(|trouble| of_model.as_ref() != Some(trouble));
            for trouble in others {
                anstream::println!("Settings: {}", plain(&trouble.text));
            }
            for trouble in troubles {
                anstream::println!("Secrets: {trouble}");
            }
            anstream::println!("Data: {}", status.home);
            Ok(())
        })
        .await
}

/// Which Rouse it is, and by which zone it goes.
fn print_head(session: &Session, status: &SystemStatus) {
    let mode = match status.mode {
        EngineMode::App => "desktop app",
        EngineMode::Serve => "rouse serve",
    };
    anstream::println!(
        "Rouse {} · {mode} · process {} · {}",
        status.version,
        status.pid,
        status.zone
    );
    if let Some(apart) = zones_apart(&status.zone, session.clock.zone().name()) {
        anstream::println!("{apart}");
    }
    anstream::println!("Time zone rules: {}", zone_data(&status.zone_data));
}

fn model(trouble: Option<&str>, model: Option<&str>) -> String {
    match (trouble, model) {
        (Some(trouble), None) => format!("✗ No model: {trouble}"),
        (Some(trouble), Some(model)) => format!("✗ Model: {model}: {trouble}"),
        (None, Some(model)) => format!("Model: {model}"),
        (None, None) => "No model yet".to_owned(),
    }
}

/// "fake-1 · mine has not answered since 10:02 (3 min ago): …", in one line.
pub(crate) fn fails(failing: &FailingModel, clock: &SystemClock) -> String {
    let FailingModel { provider, model, since_ms, words, .. } = failing;
    let now = clock.now().0;
    let since = instant(*since_ms, now, clock.zone());
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    plain(&format!(
        "{model} · {provider} has not answered since {since} ({}): {words}",
        relative(*since_ms, now)
    ))
}

/// Whether it is the model in use, by that one's name for people.
pub(crate) fn is_of(failing: &FailingModel, in_use: Option<&str>) -> bool {
    let name = format!("{} · {}", failing.model, failing.provider);
    in_use
        .and_then(|in_use| in_use.strip_prefix(&name))
        .is_some_and(|place| place.is_empty() || place.starts_with(' '))
}

fn print_spending(spending: &SpendingView) {
    let words = |spent| spent_in_words(spent).unwrap_or_else(|| "nothing".to_owned());
    let limits = [
        spending.tokens_per_day.map(|most| format!("{} tokens", grouped(most))),
        spending.usd_per_day.map(|most| MicroUsd::of_usd(most).to_string()),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let of = match limits.is_empty() {
        true => String::new(),
        false => format!(" (at most {})", limits.join(" and ")),
    };
    anstream::println!(
        "Spent today: {}{of} · this month: {}",
        words(spending.today),
        words(spending.month)
    );
}

/// That this terminal is in another zone than the engine, so that one time is told in two ways.
pub(crate) fn zones_apart(engine: &str, here: &str) -> Option<String> {
    let of = |zone: &str| zone.strip_prefix("Etc/").unwrap_or(zone).to_owned();
    let engine = plain(engine);
    (of(&engine) != of(here)).then(|| {
        format!(
            "Rouse is in the zone {engine}, and this terminal in {here}: times without a zone are told as {here} has them, and a pattern without one follows {engine}"
        )
    })
}

/// "2026a from /usr/share/zoneinfo", "2025b, built in".
pub(crate) fn zone_data(data: &ZoneDataStatus) -> String {
    match &data.folder {
        Some(folder) => format!("{} from {}", data.version, plain(folder)),
        None => format!("{}, built in", data.version),
    }
}

/// The scheduler in a few lines.
pub(crate) fn print_cron(session: &Session, status: &CronStatus) {
    let now = session.clock.now().0;
    let zone = session.clock.zone();
    if !status.enabled {
        anstream::println!(
            "Jobs do not fire. {}",
            status.off_reason.as_deref().unwrap_or_default()
        );
    } else if let Some(pause) = &status.pause {
        match pause.until_ms {
            Some(at) => anstream::println!(
                "Paused until {} ({})",
                instant(at, now, zone),
                relative(at, now)
            ),
            None => anstream::println!("Paused until `rouse cron resume`"),
        }
    }
    match status.next.as_ref().filter(|_| status.enabled) {
        Some(next) => anstream::println!(
            "{}: {} {} ({})",
            // What cannot fire stays due.
            if status.problem.is_some() && next.at_ms <= now { "Due" } else { "Next" },
            plain(&next.name),
            instant(next.at_ms, now, zone),
            relative(next.at_ms, now)
        ),
        None if !status.enabled || status.pause.is_some() => {}
        None => anstream::println!("Next: nothing is scheduled"),
    }
    let between = match status.between_attempts {
        0 => String::new(),
        1 => "1 waits for its next attempt · ".to_owned(),
        several => format!("{several} wait for their next attempt · "),
    };
    anstream::println!(
        "{} running · {between}{} waiting · {} {}, {} on, {} failing",
        status.running,
        status.queued,
        status.jobs,
        if status.jobs == 1 { "job" } else { "jobs" },
        status.enabled_jobs,
        status.failing_jobs
    );
}

#[cfg(test)]
mod tests {
    use super::zones_apart;

    #[test]
    fn a_terminal_in_another_zone_is_told() {
        assert_eq!(zones_apart("Europe/Berlin", "Europe/Berlin"), None);
        let told = zones_apart("Etc/UTC", "Europe/Berlin").expect("it is told");
        assert!(
            told.starts_with("Rouse is in the zone Etc/UTC, and this terminal in Europe/Berlin")
        );
    }
}
