//! The status of the engine: failing models and time zones.

use rouse_core::Clock as _;
use rouse_gateway::wire::{FailingModel, ZoneDataStatus};
use rouse_host::SystemClock;

use super::text::escape;
use super::time::{distance, instant};

/// `fake-1 · mine has not answered since 10:02 (3 min ago): …`, on one line.
pub(crate) fn failing_model_text(failing: &FailingModel, clock: &SystemClock) -> String {
    let FailingModel { provider, model, since_ms, message, .. } = failing;
    let now = clock.now().0;
    let since = instant(*since_ms, now, clock.zone());
    let reason = message.split_whitespace().collect::<Vec<_>>().join(" ");
    escape(&format!(
        "{model} · {provider} has not answered since {since} ({}): {reason}",
        distance(*since_ms, now)
    ))
}

/// Whether the failing model is the active one, by the active model's label.
pub(crate) fn is_active_model(failing: &FailingModel, active: Option<&str>) -> bool {
    let name = format!("{} · {}", failing.model, failing.provider);
    active
        .and_then(|active| active.strip_prefix(&name))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The notice about different zones of engine and terminal.
pub(crate) fn zone_notice(engine_zone: &str, local_zone: &str) -> Option<String> {
    let canonical = |zone: &str| zone.strip_prefix("Etc/").unwrap_or(zone).to_owned();
    let engine_zone = escape(engine_zone);
    (canonical(&engine_zone) != canonical(local_zone)).then(|| {
        format!(
            "Rouse is in the zone {engine_zone}, and this terminal in {local_zone}: times without a zone are in {local_zone}, patterns without a zone follow {engine_zone}"
        )
    })
}

/// `2026a from /usr/share/zoneinfo`; `2025b, built in`.
pub(crate) fn zone_data_text(data: &ZoneDataStatus) -> String {
    match &data.folder {
        Some(folder) => format!("{} from {}", data.version, escape(folder)),
        None => format!("{}, built in", data.version),
    }
}

#[cfg(test)]
mod tests {
    use super::zone_notice;

    #[test]
    fn zone_notice_appears_only_for_different_zones() {
        assert_eq!(zone_notice("Europe/Berlin", "Europe/Berlin"), None);
        let notice = zone_notice("Etc/UTC", "Europe/Berlin").expect("a notice");
        assert!(
            notice.starts_with("Rouse is in the zone Etc/UTC, and this terminal in Europe/Berlin")
        );
    }
}
