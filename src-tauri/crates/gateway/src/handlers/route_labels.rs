//! Labels of routes: the channels and recipients of the next messages, for a person.
//!
//! Shows `last` with its present meaning. Never stores a route. Pitfall: resolving `last` before the label; the person
//! would read a fixed channel.

use std::sync::Arc;

use rouse_core::channel::{ChannelDirectory, ChannelName, MessageKind, Route};
use rouse_core::job::{Job, Payload};

use crate::wire::MessageRoutes;

/// The labels of the routes of one directory.
pub(super) struct RouteLabels {
    directory: Arc<ChannelDirectory>,
    /// The same directory, in which `last` is a channel of this name.
    with_last: ChannelDirectory,
}

impl RouteLabels {
    pub(super) fn of(directory: Arc<ChannelDirectory>) -> Self {
        let last = Some(Route::of(ChannelName::new(ChannelName::LAST)));
        let with_last = ChannelDirectory { last, ..(*directory).clone() };
        Self { directory, with_last }
    }

    /// The routes of a job; the defaults without one. The run of a reminder never asks.
    pub(super) fn message_routes(&self, job: Option<&Job>) -> MessageRoutes {
        let is_reminder = job.is_some_and(|job| matches!(job.payload, Payload::SystemEvent { .. }));
        let approvals =
            if is_reminder { Vec::new() } else { self.routes(MessageKind::Approval, job) };
        MessageRoutes {
            reports: self.routes(MessageKind::Report, job),
            failures: self.routes(MessageKind::Failure, job),
            approvals,
        }
    }

    /// The present route of `last`.
    pub(super) fn last(&self) -> String {
        let last = self.directory.last.clone().unwrap_or_else(Route::notification);
        self.directory.label(&last)
    }

    fn routes(&self, kind: MessageKind, job: Option<&Job>) -> Vec<String> {
        self.with_last.routes(kind, job).iter().map(|route| self.label(route)).collect()
    }

    fn label(&self, route: &Route) -> String {
        if route.channel.as_str() == ChannelName::LAST {
            format!("{} (now: {})", ChannelName::LAST, self.last())
        } else {
            self.directory.label(route)
        }
    }
}

#[cfg(test)]
mod tests {
    use rouse_core::UnixMs;
    use rouse_core::channel::{ChannelDetails, ChannelEntry, ChannelKind, DeliverTo, Recipient};
    use rouse_core::job::job_from_json;
    use serde_json::json;

    use super::*;

    fn labels(reports: &[&str]) -> RouteLabels {
        let phone = ChannelName::new("phone");
        let anna = Recipient {
            channel: phone.clone(),
            address: "7".to_owned(),
            label: "Anna".to_owned(),
            is_private: true,
            is_paired: true,
        };
        let entry = ChannelEntry {
            kind: ChannelKind::Telegram,
            details: ChannelDetails::Full,
            recipients: vec![anna],
        };
        let reports = Some(reports.iter().map(ToString::to_string).collect());
        let last = Route { to: Some("7".to_owned()), ..Route::of(phone.clone()) };
        RouteLabels::of(Arc::new(ChannelDirectory {
            channels: [(phone, entry)].into(),
            deliver_to: DeliverTo { reports, ..DeliverTo::default() },
            last: Some(last),
            is_headless: false,
        }))
    }

    #[test]
    fn last_is_shown_with_its_present_meaning() {
        let routes = labels(&["notification", "last"]).message_routes(None);
        assert_eq!(routes.reports, ["notification", "last (now: phone (Telegram, Anna))"]);
        assert_eq!(routes.approvals, routes.reports);
    }

    #[test]
    fn channels_of_a_job_replace_the_defaults() {
        let routes_of = |payload: serde_json::Value| {
            let document = json!({
                "name": "Tea", "schedule": { "kind": "manual" },
                "payload": payload, "policies": { "deliverTo": ["phone"] },
            });
            let job = job_from_json(document, UnixMs(0), chrono_tz::UTC).expect("a job");
            labels(&["notification"]).message_routes(Some(&job))
        };
        let call = routes_of(json!({ "kind": "toolCall", "tool": "time" }));
        assert_eq!(call.reports, ["phone (Telegram, Anna)"]);
        assert_eq!(call.failures, call.reports);
        assert_eq!(call.approvals, ["notification"]);
        let reminder = routes_of(json!({ "kind": "systemEvent", "text": "Tea" }));
        assert!(reminder.approvals.is_empty());
    }
}
