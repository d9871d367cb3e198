//! One notification for many: in the morning for all that was held while it was quiet, and at once for all that was missed
//! while nothing could fire, or cut off when Rouse stopped.

use crate::delivery::{Channel, Delivery, NewDelivery};
use crate::quiet::QuietPolicy;
use crate::{DeliveryId, RunState};

/// Jobs that a digest names.
const MOST_NAMES: usize = 4;

/// So many ends of one kind are told of in one notification.
const CROWD: usize = 10;

/// The digest of what many jobs tell at once of runs that ended as `state`, under the key `id`; none where they are few,
/// or where each end is news of its own.
#[must_use]
pub fn digest_of_crowd(told: &[Delivery], state: RunState, id: DeliveryId) -> Option<NewDelivery> {
    let what = match state {
        RunState::Missed => "jobs missed their time",
        RunState::Interrupted => "jobs were cut off when Rouse stopped",
        _ => return None,
    };
    let title = format!("{} {what}", told.len());
    (told.len() >= CROWD).then(|| NewDelivery { title, ..digest(told, id) })
}

/// The digest of `held`, which are at least two, under the key `id`.
#[must_use]
pub fn digest(held: &[Delivery], id: DeliveryId) -> NewDelivery {
    NewDelivery {
        id,
        channel: Channel::Notification,
        to: None,
        title: format!("{} results while you slept", held.len()),
        body: body(held),
        quiet_hours: QuietPolicy::Ignore,
    }
}

/// The names of the jobs, those that said most first: `Weather (4), Backup and 2 more`.
fn body(held: &[Delivery]) -> String {
    let mut jobs: Vec<(&str, usize)> = Vec::new();
    for delivery in held {
        match jobs.iter_mut().find(|(title, _)| *title == delivery.title) {
            Some((_, count)) => *count += 1,
            None => jobs.push((&delivery.title, 1)),
        }
    }
    jobs.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = jobs.len().saturating_sub(MOST_NAMES);
    let named = jobs.iter().take(MOST_NAMES).map(|(title, count)| {
        let short: String = title.chars().take(40).collect();
        if *count == 1 { short } else { format!("{short} ({count})") }
    });
    let named = named.collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMs;
    use crate::delivery::DeliveryState;

    fn held(title: &str) -> Delivery {
        Delivery {
            id: DeliveryId::new("d"),
            run_id: None,
            channel: Channel::Notification,
            to: None,
            title: title.to_owned(),
            body: "Done.".to_owned(),
            state: DeliveryState::Held,
            attempts: 0,
            reason: None,
            created_at: UnixMs(0),
            next_attempt_at: None,
            settled_at: None,
            quiet_hours: QuietPolicy::Respect,
            held_until: None,
            digest: None,
        }
    }

    fn of(titles: &[&str]) -> NewDelivery {
        let held: Vec<Delivery> = titles.iter().map(|title| held(title)).collect();
        digest(&held, DeliveryId::new("digest-1"))
    }

    #[test]
    fn says_how_many_and_whose() {
        let told = of(&["Backup", "Weather", "Weather", "Mail"]);
        assert_eq!(told.title, "4 results while you slept");
        assert_eq!(told.body, "Weather (2), Backup, Mail");
        assert_eq!(told.quiet_hours, QuietPolicy::Ignore, "it must not be held itself");
    }

    #[test]
    fn what_was_missed_or_cut_off_says_so_when_it_is_many() {
        let many: Vec<Delivery> = (0..10).map(|n| held(&format!("Look {n}"))).collect();
        let of = |told: &[Delivery], state| {
            digest_of_crowd(told, state, DeliveryId::new("digest-1")).map(|told| told.title)
        };
        assert_eq!(of(&many, RunState::Missed).as_deref(), Some("10 jobs missed their time"));
        let cut_off = "10 jobs were cut off when Rouse stopped";
        assert_eq!(of(&many, RunState::Interrupted).as_deref(), Some(cut_off));
        assert_eq!(of(&many[1..], RunState::Interrupted), None, "few tell by themselves");
        assert_eq!(of(&many, RunState::Failed), None);
    }

    #[test]
    fn a_long_night_is_still_one_line() {
        let told = of(&["a", "b", "c", "d", "e", "f"]);
        assert_eq!(told.body, "a, b, c, d and 2 more");
        assert!(of(&[&"x".repeat(200), "y"]).body.chars().count() < 60);
    }
}
