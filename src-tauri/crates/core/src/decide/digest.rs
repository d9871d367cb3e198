//! One notification for many: in the morning for all that was held while it was quiet, and at once for all that was missed
//! while nothing could fire, or cut off when Rouse stopped.

use super::delivery::{LEFT_OUT, WORKS_AGAIN};
use crate::delivery::{Channel, Delivery, NewDelivery};
use crate::quiet::QuietPolicy;
use crate::{DeliveryId, RunState};

/// How a job that was paused because of its failures tells it (`fate`).
const PAUSED: &str = "Paused after";
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
    (told.len() >= CROWD).then(|| NewDelivery { title, ..digest(told, |_| false, id) })
}

/// The digest of `held`, which are at least two, under the key `id`. `went_wrong` says of which runs that is so: they are
/// named first, or a job that stopped firing in the night would be overlooked in the morning.
#[must_use]
pub fn digest(
    held: &[Delivery],
    went_wrong: impl Fn(&Delivery) -> bool,
    id: DeliveryId,
) -> NewDelivery {
    NewDelivery {
        id,
        channel: Channel::Notification,
        to: None,
        title: format!("{} results while you slept", held.len()),
        body: body(held, went_wrong),
        quiet_hours: QuietPolicy::Ignore,
    }
}

/// How a job stands in the morning, by the newest that it told in the night; what needs somebody more is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Night {
    Fine,
    Recovered,
    LeftOut,
    Failed,
    Paused,
}

/// The names of the jobs, those that need somebody first, then those that said most: `Mail (paused), Weather (4), Backup and
/// 2 more`.
fn body(held: &[Delivery], went_wrong: impl Fn(&Delivery) -> bool) -> String {
    let mut jobs: Vec<(&str, usize, Night)> = Vec::new();
    for delivery in held {
        let night = match went_wrong(delivery) {
            false if delivery.body.starts_with(WORKS_AGAIN) => Night::Recovered,
            false if delivery.body.starts_with(LEFT_OUT) => Night::LeftOut,
            false => Night::Fine,
            true if delivery.body.starts_with(PAUSED) => Night::Paused,
            true => Night::Failed,
        };
        match jobs.iter_mut().find(|(title, ..)| *title == delivery.title) {
            Some((_, count, newest)) => (*count, *newest) = (*count + 1, night),
            None => jobs.push((&delivery.title, 1, night)),
        }
    }
    jobs.sort_by_key(|(_, count, night)| std::cmp::Reverse((*night, *count)));
    let more = jobs.len().saturating_sub(MOST_NAMES);
    let named = jobs.iter().take(MOST_NAMES).map(|(title, count, night)| {
        let short: String = title.chars().take(40).collect();
        let night = match night {
            Night::Fine => None,
            Night::Recovered => Some("works again".to_owned()),
            Night::LeftOut => Some("left out".to_owned()),
            Night::Failed => Some("failed".to_owned()),
            Night::Paused => Some("paused".to_owned()),
        };
        let count = (*count > 1).then(|| count.to_string());
        let about = count.into_iter().chain(night).collect::<Vec<_>>().join(", ");
        if about.is_empty() { short } else { format!("{short} ({about})") }
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
        digest(&held, |_| false, DeliveryId::new("digest-1"))
    }

    #[test]
    fn who_needs_somebody_is_named_before_who_said_much() {
        let with = |title: &str, body: &str| Delivery { body: body.to_owned(), ..held(title) };
        let mut night: Vec<Delivery> =
            ["a", "a", "b", "b", "c", "c", "d", "d"].into_iter().map(held).collect();
        night.push(with("Mail", "Failed: Exit code 3."));
        night.push(with("Mail", "Paused after 2 failures in a row: Exit code 3."));
        night.push(with("Tax", "Failed: no network."));
        night.push(with("Diary", "Paused after all of it, says a model."));
        let wrong = |told: &Delivery| told.title == "Mail" || told.title == "Tax";
        let told = digest(&night, wrong, DeliveryId::new("digest-1"));
        assert_eq!(told.body, "Mail (2, paused), Tax (failed), a (2), b (2) and 3 more");
    }

    #[test]
    fn a_job_stands_as_the_newest_that_it_has_told() {
        let with = |title: &str, body: &str| Delivery { body: body.to_owned(), ..held(title) };
        let night = [
            with("Sync", "Failed: no network."),
            with("Sync", "Works again after a failure."),
            with("Mail", "Works again after a failure."),
            with("Mail", "Failed: no network."),
        ];
        let told = digest(&night, |told| told.body.starts_with("Failed"), DeliveryId::new("d"));
        assert_eq!(told.body, "Mail (2, failed), Sync (2, works again)");
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
