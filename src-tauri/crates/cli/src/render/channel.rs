//! Channels: the table, the default channels, and the routes of a job.
//!
//! A failure counts until a later message is delivered. Names and reasons are escaped, because a service chooses them.

use rouse_core::job::JobFact;
use rouse_gateway::wire::{
    ChannelFailure, ChannelView, ChannelsListResult, MessageRoutes, NotificationStatus,
};

use super::facts::{fact, fact_lines};
use super::table::{new_table, print_rows};
use super::text::{escape, shorten};
use super::time::local_time;
use crate::resolve::engine::EngineConnection;

/// Maximum characters of the recipients in the table.
const MAX_RECIPIENTS: usize = 48;
/// The label of the native notification.
const NOTIFICATION: &str = "notification";

/// Prints the channels, their problems and the default channels.
pub(crate) fn print_channels(
    engine: &EngineConnection,
    list: &ChannelsListResult,
    notifications: &NotificationStatus,
) {
    if list.channels.is_empty() {
        anstream::println!("No channels. Add one: rouse channels add NAME --kind KIND");
    } else {
        let mut table = new_table(&["NAME", "KIND", "RECIPIENTS", "STATE"]);
        for channel in &list.channels {
            let failed_at = open_failure(channel).map(|failure| local_time(engine, failure.at_ms));
            table.add_row([
                escape(&channel.name),
                escape(&channel.label),
                recipients_text(channel),
                state_text(channel, failed_at),
            ]);
        }
        print_rows(&table);
        list.channels.iter().filter_map(problem_line).for_each(|line| anstream::println!("{line}"));
    }
    for line in fact_lines(&default_facts(&list.deliver_to, notifications)) {
        anstream::println!("{line}");
    }
}

/// The newest failure, unless a later message was delivered.
pub(crate) fn open_failure(channel: &ChannelView) -> Option<&ChannelFailure> {
    let is_newest = |failure: &&ChannelFailure| {
        channel.last_delivered_at_ms.is_none_or(|at| at < failure.at_ms)
    };
    channel.newest_failure.as_ref().filter(is_newest)
}

/// The channels and recipients of a job; none if all messages are notifications.
pub(crate) fn route_facts(routes: &MessageRoutes) -> Vec<JobFact> {
    let MessageRoutes { reports, failures, approvals } = routes;
    let has_other_approvals = !approvals.is_empty() && approvals != reports;
    let mut facts = if reports != failures {
        vec![fact("Reports to", routes_text(reports)), fact("Failures to", routes_text(failures))]
    } else if has_other_approvals || *reports != [NOTIFICATION] {
        vec![fact("Delivered to", routes_text(reports))]
    } else {
        Vec::new()
    };
    facts.extend(has_other_approvals.then(|| fact("Approvals to", routes_text(approvals))));
    facts
}

fn default_facts(routes: &MessageRoutes, notifications: &NotificationStatus) -> Vec<JobFact> {
    let MessageRoutes { reports, failures, approvals } = routes;
    let has_no_desktop = !notifications.available && !notifications.failing;
    let text = |labels: &[String]| {
        let label = |label: &String| match label.as_str() {
            NOTIFICATION if has_no_desktop => format!("{label} (not shown: no desktop)"),
            _ => label.clone(),
        };
        routes_text(&labels.iter().map(label).collect::<Vec<_>>())
    };
    vec![
        fact("Reports to", text(reports)),
        fact("Failures to", text(failures)),
        fact("Approvals to", text(approvals)),
    ]
}

fn routes_text(labels: &[String]) -> String {
    escape(&labels.join(", "))
}

fn recipients_text(channel: &ChannelView) -> String {
    let labels = channel.recipients.iter().map(|recipient| recipient.label.as_str());
    shorten(&labels.collect::<Vec<_>>().join(", "), MAX_RECIPIENTS)
}

fn state_text(channel: &ChannelView, failed_at: Option<String>) -> String {
    let is_deaf = channel.receiving.as_ref().is_some_and(|view| view.problem.is_some());
    match (&channel.problem, failed_at) {
        (Some(_), _) => "problem".to_owned(),
        (None, Some(at)) => format!("failed {at}"),
        (None, None) if is_deaf => "sends, receives nothing".to_owned(),
        (None, None) => "ready".to_owned(),
    }
}

fn problem_line(channel: &ChannelView) -> Option<String> {
    let failure = open_failure(channel).map(|failure| &failure.reason);
    let deaf = channel.receiving.as_ref().and_then(|view| view.problem.as_ref());
    let reason = channel.problem.as_ref().or(failure).or(deaf)?;
    Some(format!("{}: {}", escape(&channel.name), escape(reason)))
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::{ChannelDetails, ChannelKind};

    use super::*;

    fn channel(failed_at: Option<i64>, delivered_at: Option<i64>) -> ChannelView {
        let failure = |at_ms| ChannelFailure { at_ms, reason: "Blocked.".to_owned() };
        ChannelView {
            name: "phone".to_owned(),
            kind: ChannelKind::Telegram,
            label: "Telegram".to_owned(),
            details: ChannelDetails::Full,
            recipients: Vec::new(),
            problem: None,
            receiving: None,
            newest_failure: failed_at.map(failure),
            last_delivered_at_ms: delivered_at,
        }
    }

    #[test]
    fn failure_counts_until_a_later_delivery() {
        for (failed_at, delivered_at, is_open) in [
            (None, Some(1), false),
            (Some(2), None, true),
            (Some(2), Some(1), true),
            (Some(1), Some(2), false),
        ] {
            let channel = channel(failed_at, delivered_at);
            assert_eq!(open_failure(&channel).is_some(), is_open, "{failed_at:?} {delivered_at:?}");
        }
    }

    #[test]
    fn problem_has_priority_over_a_failure() {
        let failing = channel(Some(2), None);
        assert_eq!(state_text(&failing, Some("07:30".to_owned())), "failed 07:30");
        assert_eq!(problem_line(&failing).as_deref(), Some("phone: Blocked."));
        let broken = ChannelView { problem: Some("No token.".to_owned()), ..failing };
        assert_eq!(state_text(&broken, Some("07:30".to_owned())), "problem");
        assert_eq!(problem_line(&broken).as_deref(), Some("phone: No token."));
        assert_eq!(state_text(&channel(None, Some(1)), None), "ready");
    }

    #[test]
    fn hidden_notification_is_marked_in_the_defaults() {
        let text = |available, failing| {
            let reports = ["notification", "mail (E-mail)"].map(str::to_owned).into();
            let (failures, approvals) = (Vec::new(), Vec::new());
            let routes = MessageRoutes { reports, failures, approvals };
            let status = NotificationStatus { available, reason: None, failing };
            default_facts(&routes, &status).remove(0).text
        };
        let hidden = "notification (not shown: no desktop), mail (E-mail)";
        assert_eq!(text(false, false), hidden);
        for (available, failing) in [(true, false), (false, true)] {
            assert_eq!(text(available, failing), "notification, mail (E-mail)");
        }
    }

    #[test]
    fn routes_of_a_job_appear_beside_other_channels() {
        let texts = |reports: &[&str], failures: &[&str], approvals: &[&str]| {
            let owned = |labels: &[&str]| labels.iter().map(ToString::to_string).collect();
            let facts = route_facts(&MessageRoutes {
                reports: owned(reports),
                failures: owned(failures),
                approvals: owned(approvals),
            });
            facts
                .into_iter()
                .map(|fact| format!("{} {}", fact.label, fact.text))
                .collect::<Vec<_>>()
        };
        let (here, mail, team) = (["notification"], ["mail (E-mail)"], ["team (Slack)"]);
        assert!(texts(&here, &here, &here).is_empty());
        assert_eq!(texts(&mail, &mail, &mail), ["Delivered to mail (E-mail)"]);
        assert_eq!(texts(&mail, &mail, &[]), ["Delivered to mail (E-mail)"]);
        assert_eq!(
            texts(&here, &here, &team),
            ["Delivered to notification", "Approvals to team (Slack)"]
        );
        assert_eq!(
            texts(&["notification", "team (Slack)"], &team, &here),
            [
                "Reports to notification, team (Slack)",
                "Failures to team (Slack)",
                "Approvals to notification"
            ]
        );
    }
}
