//! What a change of the settings does: it reaches the ledger and the scheduler, and models and secrets are looked for.
//!
//! Owns the order: the switch that lets nothing fire waits for no server. One could get it wrong by following changes in
//! one place: a change would come into force when a model server has answered that was asked because of the one before.

use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{Ledger, Prices};
use rouse_scheduler::{HeartbeatConfig, SchedulerConfig, SchedulerHandle};
use tokio::sync::watch;

use crate::config::Config;
use crate::models::ModelShelf;
use crate::secrets::SecretShelf;
use crate::settings::LiveSettings;

/// Puts every change of the settings into force, and says so: whoever made it waits for that.
pub(crate) async fn put_into_force(
    settings: Arc<LiveSettings>,
    ledger: Arc<Ledger>,
    scheduler: SchedulerHandle,
) {
    let mut changes = settings.watch();
    let in_force = settings.in_force();
    while changes.changed().await.is_ok() {
        let config = changes.borrow_and_update().clone();
        put_budget_into_force(&ledger, &config);
        if let Err(error) = scheduler.set_config(scheduler_config(&config)).await {
            tracing::error!(%error, "a change of settings did not reach the scheduler");
        }
        in_force.send_replace(config);
    }
}

/// How long after a look for a model that somebody waits for there is another one, doubled each time up to the most.
const SOON: Duration = Duration::from_secs(5);
const MOST: Duration = Duration::from_secs(5 * 60);
/// The least between two looks for the heartbeat, which nobody waits for.
const LEAST_BEAT: Duration = Duration::from_secs(60);

/// Looks for models once, and for them and for secrets after every change. That may take as long as a server does that
/// does not answer, so nothing else of a change waits for it. While there is none, a server may be started at any time: it
/// is looked for when a turn is asked for that waits for one, and then again and again; else as often as a heartbeat is
/// left out for want of it.
pub(crate) async fn look_for_models(
    mut changes: watch::Receiver<Config>,
    models: Arc<ModelShelf>,
    secrets: Arc<SecretShelf>,
    mut awaited: watch::Receiver<bool>,
) {
    models.look().await;
    let mut pause = SOON;
    loop {
        let again = again(&models, &changes.borrow(), awaited.borrow().then_some(pause));
        let hears = async {
            tokio::select! {
                changed = changes.changed() => changed.map(|()| Heard::Change),
                changed = awaited.changed() => changed.map(|()| Heard::Awaited),
            }
        };
        let heard = match again {
            Some(again) => tokio::time::timeout(again, hears).await,
            None => Ok(hears.await),
        };
        match heard {
            Ok(Ok(Heard::Change)) => {
                changes.mark_unchanged();
                models.look().await;
                secrets.load().await;
            }
            Ok(Ok(Heard::Awaited)) => {
                pause = SOON;
                if *awaited.borrow_and_update() && models.may_come() {
                    models.look().await;
                }
            }
            Ok(Err(_)) => return,
            Err(_) => {
                models.look().await;
                pause = (pause * 2).min(MOST);
            }
        }
    }
}

/// What a look for models follows.
enum Heard {
    /// Settings have changed.
    Change,
    /// A turn waits for a model, or no longer does.
    Awaited,
}

/// How long until models are looked for although nothing has changed; none when none can come by itself.
fn again(models: &ModelShelf, config: &Config, awaited: Option<Duration>) -> Option<Duration> {
    let every = Duration::from_millis(config.heartbeat.every_ms.max(0).unsigned_abs());
    let of_beats = config.heartbeat.enabled.then(|| every.max(LEAST_BEAT));
    awaited.or(of_beats).filter(|_| models.may_come())
}

pub(crate) fn put_budget_into_force(ledger: &Ledger, config: &Config) {
    ledger.set(config.budget, Prices::with_own(config.prices.clone()));
}

/// The part of the settings that the scheduler goes by.
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
            active_hours: config.heartbeat.active_hours.as_ref().map(|hours| hours.window.clone()),
        },
    }
}
