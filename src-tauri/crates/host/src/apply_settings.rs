//! Applies changed settings to the budget ledger, the channels, the scheduler, the models and the secrets.
//!
//! Owns the order: firing is switched off without waiting for a model server. Pitfall: applying changes and
//! refreshing models in one loop delays a change until a slow server has answered.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{BudgetLedger, Prices};
use rouse_scheduler::{HeartbeatConfig, SchedulerConfig, SchedulerHandle};
use tokio::sync::watch;

use rouse_core::time::DayHours;

use crate::config::Config;
use crate::models::ModelCatalog;
use crate::receiver::DirectoryKeeper;
use crate::secrets::SecretVault;
use crate::settings::LiveSettings;

/// Applies every change of the settings and reports each one as applied.
pub(crate) async fn apply_changes(
    settings: Arc<LiveSettings>,
    ledger: Arc<BudgetLedger>,
    directory: Arc<DirectoryKeeper>,
    scheduler: SchedulerHandle,
) {
    let mut changes = settings.watch();
    let applied = settings.applied_sender();
    while changes.changed().await.is_ok() {
        let config = changes.borrow_and_update().clone();
        apply_budget(&ledger, &config);
        if let Err(error) = directory.rebuild().await {
            tracing::error!(%error, "a change of the channels was not applied");
        }
        if let Err(error) = scheduler.set_config(scheduler_config(&config)).await {
            tracing::error!(%error, "a change of settings did not reach the scheduler");
        }
        applied.send_replace(config);
    }
}

/// Pauses between refreshes while a turn waits for a model; doubled up to the maximum.
const MIN_REFRESH_PAUSE: Duration = Duration::from_secs(5);
const MAX_REFRESH_PAUSE: Duration = Duration::from_secs(5 * 60);
/// The shortest pause between refreshes on behalf of the heartbeat.
const MIN_HEARTBEAT_REFRESH: Duration = Duration::from_secs(60);

/// Refreshes the models once, and models and secrets after every change.
///
/// A server may take minutes to time out, so no other part of a change waits for this loop. Without a model, the loop
/// refreshes when a turn waits for a model, and otherwise at the heartbeat interval.
pub(crate) async fn refresh_models(
    mut changes: watch::Receiver<Config>,
    models: Arc<ModelCatalog>,
    secrets: Arc<SecretVault>,
    mut awaited: watch::Receiver<bool>,
) {
    models.refresh().await;
    let mut pause = MIN_REFRESH_PAUSE;
    loop {
        let next = next_refresh(&models, &changes.borrow(), awaited.borrow().then_some(pause));
        let cause = async {
            tokio::select! {
                changed = changes.changed() => changed.map(|()| RefreshCause::SettingsChanged),
                changed = awaited.changed() => changed.map(|()| RefreshCause::ModelAwaited),
            }
        };
        let woken = match next {
            Some(next) => tokio::time::timeout(next, cause).await,
            None => Ok(cause.await),
        };
        match woken {
            Ok(Ok(RefreshCause::SettingsChanged)) => {
                changes.mark_unchanged();
                models.refresh().await;
                secrets.load().await;
            }
            Ok(Ok(RefreshCause::ModelAwaited)) => {
                pause = MIN_REFRESH_PAUSE;
                if *awaited.borrow_and_update() && models.may_appear() {
                    models.refresh().await;
                }
            }
            Ok(Err(_)) => return,
            Err(_) => {
                models.refresh().await;
                pause = (pause * 2).min(MAX_REFRESH_PAUSE);
            }
        }
    }
}

/// The cause of a refresh.
enum RefreshCause {
    /// The settings changed.
    SettingsChanged,
    /// A turn started or stopped waiting for a model.
    ModelAwaited,
}

/// The time until the next refresh without a change; none if no model can appear by itself.
fn next_refresh(
    models: &ModelCatalog,
    config: &Config,
    awaited: Option<Duration>,
) -> Option<Duration> {
    let every = Duration::from_millis(config.heartbeat.every_ms.max(0).unsigned_abs());
    let for_heartbeat = config.heartbeat.enabled.then(|| every.max(MIN_HEARTBEAT_REFRESH));
    awaited.or(for_heartbeat).filter(|_| models.may_appear())
}

pub(crate) fn apply_budget(ledger: &BudgetLedger, config: &Config) {
    ledger.set(config.budget.limit(), Prices::with_own(config.prices.clone()));
}

/// The scheduler's part of the settings.
pub(crate) fn scheduler_config(config: &Config) -> SchedulerConfig {
    let off_reason = if config.cron.enabled {
        String::new()
    } else {
        match config.overridden.iter().find(|(key, _)| *key == "cron.enabled") {
            Some((_, variable)) => {
                format!("Firing is switched off by the environment variable {variable}.")
            }
            None => "Firing is switched off in the settings (cron.enabled).".to_owned(),
        }
    };
    SchedulerConfig {
        max_concurrent_runs: config.cron.max_concurrent_runs as usize,
        firing: config.cron.enabled,
        off_reason,
        model_patience: Duration::from_secs(config.model.patience_seconds.into()),
        heartbeat: HeartbeatConfig {
            enabled: config.heartbeat.enabled,
            every_ms: config.heartbeat.every_ms,
            active_hours: config.heartbeat.active_hours.as_ref().and_then(DayHours::window),
        },
    }
}
