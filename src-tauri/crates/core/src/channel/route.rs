//! The routes of a message: which channels and recipients get it.
//!
//! Owns the defaults of each kind of message, the override of a job, `last`, and the fallback of a failed channel. A route
//! is resolved when the outcome of a run commits and never looked up again.
//! Pitfall: dropping a route that does not resolve; it stays, fails visibly, and the fallback takes the message over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kind::ChannelKind;
use super::message::MessageKind;
use super::name::ChannelName;
use super::recipient::Recipient;
use super::route_problem::{JobRouteProblem, RouteProblem};
use super::section::ChannelDetails;
use crate::job::{Job, Payload};

/// A channel and a place on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Route {
    /// The channel.
    pub channel: ChannelName,
    /// The address of the recipient; none for a channel with a single place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The topic or thread of the recipient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

impl Route {
    /// The native notification.
    #[must_use]
    pub fn notification() -> Self {
        Self::of(ChannelName::notification())
    }

    /// The single place of a channel.
    #[must_use]
    pub const fn of(channel: ChannelName) -> Self {
        Self { channel, to: None, thread: None }
    }
}

/// A channel that is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelEntry {
    /// The kind.
    pub kind: ChannelKind,
    /// How much of a message is sent.
    pub details: ChannelDetails,
    /// The recipients that the person has written down.
    pub recipients: Vec<Recipient>,
}

/// The default channels of each kind of message. An entry is `NAME` or `NAME:RECIPIENT`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliverTo {
    /// Reports, reminders and messages of runs; none for the default of this computer.
    pub reports: Option<Vec<String>>,
    /// Failures; none for those of reports.
    pub failures: Option<Vec<String>>,
    /// Requests for an approval or input; none for those of reports.
    pub approvals: Option<Vec<String>>,
}

impl DeliverTo {
    fn of(&self, kind: MessageKind) -> Option<&[String]> {
        let own = match kind {
            MessageKind::Report => None,
            MessageKind::Failure => self.failures.as_deref(),
            MessageKind::Approval => self.approvals.as_deref(),
            MessageKind::Reply => Some(&[][..]),
        };
        own.or(self.reports.as_deref())
    }
}

/// The channels and recipients of an engine at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelDirectory {
    /// The channels by name.
    pub channels: BTreeMap<ChannelName, ChannelEntry>,
    /// The default channels.
    pub deliver_to: DeliverTo,
    /// The place of the person's newest message in the main session; none for the app.
    pub last: Option<Route>,
    /// Whether this engine has no desktop, so that its own notifications are not shown.
    pub is_headless: bool,
}

impl ChannelDirectory {
    /// The routes of a message of this kind. Settings of `job` override the defaults for reports and failures.
    #[must_use]
    pub fn routes(&self, kind: MessageKind, job: Option<&Job>) -> Vec<Route> {
        let own = job.filter(|_| kind != MessageKind::Approval).and_then(own_targets);
        let mut routes: Vec<Route> = Vec::new();
        for (name, to) in own.unwrap_or_else(|| self.default_targets(kind)) {
            let route = self.resolve(&name, to.as_deref()).unwrap_or_else(|_| {
                // The route fails with its problem, and the fallback takes over.
                Route { to, ..Route::of(ChannelName::new(name)) }
            });
            if !routes.contains(&route) {
                routes.push(route);
            }
        }
        routes
    }

    /// The route of a message that `failed` could not take; `used` are the channels that have the message already.
    #[must_use]
    pub fn fallback(
        &self,
        kind: MessageKind,
        failed: &ChannelName,
        used: &[ChannelName],
    ) -> Option<Route> {
        let defaults = self
            .default_targets(kind)
            .into_iter()
            .map(|(name, to)| self.resolve(&name, to.as_deref()).ok());
        let is_free = |route: &Route| route.channel != *failed && !used.contains(&route.channel);
        let mut candidates = defaults.flatten().chain([Route::notification()]);
        candidates.find(is_free)
    }

    /// The route of a channel and an optional recipient, as written in a job or in the settings.
    ///
    /// # Errors
    /// No such channel or recipient, or several.
    pub fn resolve(&self, name: &str, to: Option<&str>) -> Result<Route, RouteProblem> {
        let no_choice = || RouteProblem::NoChoice { channel: name.to_owned() };
        if name == ChannelName::LAST {
            return match to {
                None => Ok(self.last_route()),
                Some(_) => Err(no_choice()),
            };
        }
        if ChannelName::new(name).is_notification() {
            return if to.is_none() { Ok(Route::notification()) } else { Err(no_choice()) };
        }
        let (channel, entry) = self.find(name)?;
        match entry.kind {
            ChannelKind::Telegram | ChannelKind::Whatsapp => recipient_route(channel, entry, to),
            // A bare name stands for all addresses.
            ChannelKind::Email if to.is_none() && !entry.recipients.is_empty() => {
                Ok(Route::of(channel.clone()))
            }
            ChannelKind::Email => recipient_route(channel, entry, to),
            ChannelKind::Ntfy
            | ChannelKind::Slack
            | ChannelKind::Discord
            | ChannelKind::Webhook
            | ChannelKind::Apprise => match to {
                None => Ok(Route::of(channel.clone())),
                Some(_) => Err(no_choice()),
            },
        }
    }

    /// The present route of `last`: the notification after the recipient was removed.
    fn last_route(&self) -> Route {
        let is_known = |last: &&Route| last.to.is_none() || self.recipient(last).is_some();
        let known = self.last.as_ref().filter(is_known);
        known.cloned().unwrap_or_else(Route::notification)
    }

    /// The recipient of a route; none for a channel with a single place, and for an unknown address.
    #[must_use]
    pub fn recipient(&self, route: &Route) -> Option<&Recipient> {
        let (entry, to) = (self.channels.get(&route.channel)?, route.to.as_ref()?);
        entry.recipients.iter().find(|recipient| recipient.address == *to)
    }

    /// Why a message on its way cannot be sent: its recipient was unpaired or removed since, or never resolved.
    #[must_use]
    pub fn delivery_problem(&self, route: &Route) -> Option<RouteProblem> {
        let to = route.to.as_ref().map(|to| match &route.thread {
            Some(thread) => format!("{to}:{thread}"),
            None => to.clone(),
        });
        self.resolve(route.channel.as_str(), to.as_deref()).err()
    }

    /// Why a channel or recipient of a job cannot get its messages; none if they can.
    #[must_use]
    pub fn job_problem(&self, job: &Job) -> Option<JobRouteProblem> {
        let turn = match &job.payload {
            Payload::AgentTurn(turn) => Some(turn),
            Payload::SystemEvent { .. } | Payload::ToolCall(_) => None,
        };
        let problem = |field, cause| Some(JobRouteProblem { field, cause });
        match turn.map(|turn| (turn.channel.as_deref(), turn.to.as_deref())) {
            Some((Some(name), to)) => {
                if let Err(cause) = self.resolve(name, to) {
                    let is_recipient = matches!(cause, RouteProblem::UnknownRecipient { .. });
                    return problem(
                        if is_recipient { "payload.to" } else { "payload.channel" },
                        cause,
                    );
                }
            }
            Some((None, Some(_))) => return problem("payload.to", RouteProblem::NoChannelNamed),
            Some((None, None)) | None => {}
        }
        let targets = job.policies.deliver_to.iter().map(|target| split_target(target));
        let cause =
            targets.map(|(name, to)| self.resolve(&name, to.as_deref())).find_map(Result::err);
        cause.and_then(|cause| problem("policies.deliverTo", cause))
    }

    /// A route in words for a person: `notification`, or the channel with its recipient.
    #[must_use]
    pub fn label(&self, route: &Route) -> String {
        let Some(entry) = self.channels.get(&route.channel) else {
            return route.channel.to_string();
        };
        let recipient = route.to.as_deref().map(|to| {
            format!(", {}", self.recipient(route).map_or(to, |recipient| &recipient.label))
        });
        format!("{} ({}{})", route.channel, entry.kind.label(), recipient.unwrap_or_default())
    }

    /// The channel with this name, or the only channel of the kind with this name.
    fn find(&self, name: &str) -> Result<(&ChannelName, &ChannelEntry), RouteProblem> {
        if let Some(found) = self.channels.get_key_value(&ChannelName::new(name)) {
            return Ok(found);
        }
        let mut of_kind = self.channels.iter().filter(|(_, entry)| entry.kind.name() == name);
        match (of_kind.next(), of_kind.next()) {
            (Some(only), None) => Ok(only),
            (Some((_, entry)), Some(_)) => {
                let kind = entry.kind;
                let names = self.channels.iter().filter(|(_, entry)| entry.kind == kind);
                let names = names.map(|(name, _)| name.to_string()).collect();
                Err(RouteProblem::SeveralChannels { kind: kind.name(), names })
            }
            (None, _) => {
                let own = self.channels.keys().map(ToString::to_string);
                let known = ["notification", ChannelName::LAST].map(str::to_owned);
                let known = known.into_iter().chain(own).collect();
                Err(RouteProblem::NoChannel { name: name.to_owned(), known })
            }
        }
    }

    /// The default channels with recipients. Without a setting: the notification, and on an engine without a desktop also
    /// every channel.
    fn default_targets(&self, kind: MessageKind) -> Vec<(String, Option<String>)> {
        if let Some(written) = self.deliver_to.of(kind) {
            return written.iter().map(|target| split_target(target)).collect();
        }
        let notification = ChannelName::notification().to_string();
        let own = self.channels.keys().filter(|_| self.is_headless).map(ToString::to_string);
        [notification].into_iter().chain(own).map(|name| (name, None)).collect()
    }
}

/// The channels that a job names itself, with recipients; none if the defaults apply.
fn own_targets(job: &Job) -> Option<Vec<(String, Option<String>)>> {
    if let Payload::AgentTurn(turn) = &job.payload
        && let Some(channel) = &turn.channel
        && turn.deliver == Some(true)
    {
        return Some(vec![(channel.clone(), turn.to.clone())]);
    }
    let written = &job.policies.deliver_to;
    (!written.is_empty()).then(|| written.iter().map(|target| split_target(target)).collect())
}

/// Why a text is neither `NAME` nor `NAME:RECIPIENT`.
pub(crate) fn channel_target_violation(text: &str) -> Option<String> {
    let (name, to) = split_target(text);
    let is_reserved = name == ChannelName::LAST || ChannelName::new(&name).is_notification();
    let is_name = is_reserved || name.parse::<ChannelName>().is_ok();
    let is_blank = to.is_some_and(|to| to.trim().is_empty());
    (!is_name || is_blank)
        .then(|| format!("expected the name of a channel, or NAME:RECIPIENT, found `{text}`"))
}

/// Splits `NAME:RECIPIENT`. A recipient may have further colons.
fn split_target(target: &str) -> (String, Option<String>) {
    match target.split_once(':') {
        Some((name, to)) => (name.to_owned(), Some(to.to_owned())),
        None => (target.to_owned(), None),
    }
}

/// The route to a recipient. A Telegram address may have a topic: `-1001234:43`.
fn recipient_route(
    channel: &ChannelName,
    entry: &ChannelEntry,
    to: Option<&str>,
) -> Result<Route, RouteProblem> {
    let Some(to) = to else {
        // Paired recipients come first.
        let no_recipient =
            || RouteProblem::NoRecipient { channel: channel.clone(), kind: entry.kind };
        let first = entry.recipients.first().ok_or_else(no_recipient)?;
        return Ok(Route { to: Some(first.address.clone()), ..Route::of(channel.clone()) });
    };
    let (address, thread) = match to.rsplit_once(':') {
        Some((address, thread)) => (address, Some(thread.to_owned())),
        None => (to, None),
    };
    if entry.recipients.iter().any(|known| known.address == address) {
        return Ok(Route { channel: channel.clone(), to: Some(address.to_owned()), thread });
    }
    let addresses = entry.recipients.iter().map(|known| known.address.clone()).collect();
    Err(RouteProblem::UnknownRecipient { channel: channel.clone(), to: to.to_owned(), addresses })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::UnixMs;
    use crate::job::job_from_json;

    fn entry(kind: ChannelKind, addresses: &[&str]) -> ChannelEntry {
        let recipient = |address: &&str| Recipient {
            channel: ChannelName::new("phone"),
            address: (*address).to_owned(),
            label: format!("Anna {address}"),
            is_private: true,
            is_paired: true,
        };
        let details = ChannelDetails::Full;
        ChannelEntry { kind, details, recipients: addresses.iter().map(recipient).collect() }
    }

    fn directory(reports: Option<&[&str]>) -> ChannelDirectory {
        let channels = [
            ("phone", entry(ChannelKind::Telegram, &["7"])),
            ("team", entry(ChannelKind::Slack, &[])),
            ("mail", entry(ChannelKind::Email, &["a@b.org", "c@d.org"])),
        ];
        let reports = reports.map(|names| names.iter().map(ToString::to_string).collect());
        ChannelDirectory {
            channels: channels.map(|(name, entry)| (ChannelName::new(name), entry)).into(),
            deliver_to: DeliverTo { reports, ..DeliverTo::default() },
            ..ChannelDirectory::default()
        }
    }

    fn job_doing(payload: serde_json::Value) -> Job {
        let schedule = json!({ "kind": "every", "everyMs": 60_000, "anchorMs": 0 });
        let document = json!({ "id": "1", "name": "a", "schedule": schedule, "payload": payload });
        job_from_json(document, UnixMs(0), chrono_tz::UTC).expect("a valid job")
    }

    fn labels(directory: &ChannelDirectory, kind: MessageKind, job: Option<&Job>) -> Vec<String> {
        directory.routes(kind, job).iter().map(|route| directory.label(route)).collect()
    }

    #[test]
    fn default_is_the_notification_or_every_channel() {
        let mut known = directory(None);
        assert_eq!(labels(&known, MessageKind::Report, None), ["notification"]);
        known.is_headless = true;
        let all = ["notification", "mail (E-mail)", "phone (Telegram, Anna 7)", "team (Slack)"];
        assert_eq!(labels(&known, MessageKind::Report, None), all);
    }

    #[test]
    fn each_kind_has_its_own_channels() {
        let mut known = directory(Some(&["notification", "phone"]));
        known.deliver_to.failures = Some(vec!["team".to_owned()]);
        let reports = ["notification", "phone (Telegram, Anna 7)"];
        assert_eq!(labels(&known, MessageKind::Report, None), reports);
        assert_eq!(labels(&known, MessageKind::Failure, None), ["team (Slack)"]);
        assert_eq!(labels(&known, MessageKind::Approval, None), reports);
    }

    #[test]
    fn job_overrides_reports_but_not_approvals() {
        let known = directory(None);
        let mut job = job_doing(json!({ "kind": "agentTurn", "message": "x", "deliver": true,
            "channel": "telegram" }));
        assert_eq!(labels(&known, MessageKind::Report, Some(&job)), ["phone (Telegram, Anna 7)"]);
        assert_eq!(labels(&known, MessageKind::Approval, Some(&job)), ["notification"]);
        job = job_doing(json!({ "kind": "systemEvent", "text": "x" }));
        job.policies.deliver_to = vec!["mail:c@d.org".to_owned(), "team".to_owned()];
        let own = ["mail (E-mail, Anna c@d.org)", "team (Slack)"];
        assert_eq!(labels(&known, MessageKind::Failure, Some(&job)), own);
    }

    #[test]
    fn last_is_the_place_of_the_newest_message() {
        let mut known = directory(Some(&["last"]));
        assert_eq!(labels(&known, MessageKind::Report, None), ["notification"]);
        known.last = Some(known.resolve("phone", None).expect("a route"));
        assert_eq!(labels(&known, MessageKind::Report, None), ["phone (Telegram, Anna 7)"]);
        known.channels.insert(ChannelName::new("phone"), entry(ChannelKind::Telegram, &["8"]));
        assert_eq!(labels(&known, MessageKind::Report, None), ["notification"], "unpaired");
    }

    #[test]
    fn unresolved_route_stays_and_falls_back() {
        let known = directory(Some(&["gone", "team"]));
        let routes = known.routes(MessageKind::Report, None);
        assert_eq!(routes[0], Route::of(ChannelName::new("gone")));
        let used = [ChannelName::new("gone"), ChannelName::new("team")];
        let fallback = known.fallback(MessageKind::Report, &used[0], &used);
        assert_eq!(fallback, Some(Route::notification()));
        let used = [used[0].clone(), used[1].clone(), ChannelName::notification()];
        assert_eq!(known.fallback(MessageKind::Report, &used[0], &used), None);
        let reply = known.fallback(MessageKind::Reply, &ChannelName::new("phone"), &[]);
        assert_eq!(reply, Some(Route::notification()), "the team does not read a private answer");
    }

    #[test]
    fn problems_say_what_to_do() {
        let mut known = directory(None);
        known.channels.insert(ChannelName::new("new"), entry(ChannelKind::Whatsapp, &[]));
        known.channels.insert(ChannelName::new("post"), entry(ChannelKind::Email, &[]));
        for (name, to, expected) in [
            (
                "fax",
                None,
                "there is no channel `fax`; the channels are `notification`, `last`, `mail`, `new`, `phone`, `post`, `team`. Set one up with `rouse channels add`",
            ),
            (
                "new",
                None,
                "new has no recipient. Write one into `to` of `[channels.new]` in the settings file",
            ),
            (
                "post",
                None,
                "post has no recipient. Write one into `to` of `[channels.post]` in the settings file",
            ),
            ("phone", Some("8"), "`8` is no recipient of phone; its recipients are `7`"),
            (
                "team",
                Some("#dev"),
                "team has no recipients to choose from; leave the recipient out",
            ),
            ("last", Some("7"), "last has no recipients to choose from; leave the recipient out"),
        ] {
            let problem = known.resolve(name, to).expect_err("a problem").to_string();
            assert_eq!(problem, expected);
        }
    }

    #[test]
    fn bare_name_is_the_first_recipient() {
        let mut known = directory(None);
        let phone = entry(ChannelKind::Telegram, &["7", "8"]);
        known.channels.insert(ChannelName::new("phone"), phone);
        let route = known.resolve("telegram", None).expect("a route");
        assert_eq!(route.to.as_deref(), Some("7"));
    }

    #[test]
    fn removed_recipient_gets_no_waiting_message() {
        let mut known = directory(None);
        let route = known.resolve("phone", Some("7:43")).expect("a route");
        assert_eq!(known.delivery_problem(&route), None);
        assert_eq!(known.delivery_problem(&Route::of(ChannelName::new("mail"))), None);
        known.channels.insert(ChannelName::new("phone"), entry(ChannelKind::Telegram, &["8"]));
        let problem = known.delivery_problem(&route).expect("a problem").to_string();
        assert_eq!(problem, "`7:43` is no recipient of phone; its recipients are `8`");
    }

    #[test]
    fn telegram_address_may_have_a_topic() {
        let mut known = directory(None);
        known.channels.insert(ChannelName::new("phone"), entry(ChannelKind::Telegram, &["-1001"]));
        let route = known.resolve("phone", Some("-1001:43")).expect("a route");
        assert_eq!((route.to.as_deref(), route.thread.as_deref()), (Some("-1001"), Some("43")));
    }
}
