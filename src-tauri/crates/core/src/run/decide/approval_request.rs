//! The message of an approval request.
//!
//! The lock-screen text names the tool, and the file or host. It never has the arguments: a notification is read over
//! shoulders and kept by the system. The whole text, for channels, has the complete preview, because a person decides
//! there. An input request has its message, and a permission of a coding agent its action.

use crate::approval::Approval;
use crate::channel::{ChannelDirectory, MessageKind, Route};
use crate::delivery::NewDelivery;
use crate::input_request::PermissionPrompt;
use crate::naming::place_of_call;
use crate::text::{escape_invisible, first_line, strip_invisible};
use crate::{DeliveryId, Job, Run};

/// The most characters of a server's message in a notification.
const MAX_MESSAGE: usize = 200;

/// Ends a request without buttons.
const OPEN_TO_DECIDE: &str = "Open Rouse to decide.";

/// Ends a request that no button may decide.
const EACH_CALL: &str = "Each call of this kind needs a decision on its page.";

/// Ends a request for input.
const OPEN_TO_ANSWER: &str = "Open Rouse to answer.";

/// The messages of a run that waits for approvals. The notification has all of them; a channel gets a message for each, with
/// the whole text.
#[must_use]
pub fn announce_approval(
    job: Option<&Job>,
    run: &Run,
    approvals: &[Approval],
    id: DeliveryId,
    channels: &ChannelDirectory,
) -> Vec<NewDelivery> {
    let kind = MessageKind::Approval;
    let body = match approvals {
        [one] => headline(one),
        several => format!("Needs {} approvals.", several.len()),
    };
    let message = NewDelivery {
        id,
        kind,
        approval: None,
        route: Route::notification(),
        title: run.job_name.clone(),
        body,
        text: None,
        quiet_hours: job.map(|job| job.policies.quiet_hours.clone()).unwrap_or_default(),
    };
    let mut routes = channels.routes(kind, job);
    if let Some(reply_to) = run.reply_to().filter(|reply_to| !routes.contains(reply_to)) {
        routes.push(reply_to);
    }
    let (local, remote): (Vec<Route>, Vec<Route>) =
        routes.into_iter().partition(|route| route.channel.is_notification());
    let on_channel = |route: &Route, approval: &Approval| {
        let is_paired = channels.recipient(route).is_some_and(|recipient| recipient.is_paired);
        NewDelivery {
            approval: Some(approval.id.clone()),
            route: route.clone(),
            body: headline(approval),
            text: Some(request_text(approval, is_paired)),
            ..message.clone()
        }
    };
    let requests = remote
        .iter()
        .flat_map(|route| approvals.iter().map(move |approval| on_channel(route, approval)));
    let local = local.into_iter().map(|route| NewDelivery { route, ..message.clone() });
    let rows = local.chain(requests).enumerate();
    rows.map(|(index, row)| NewDelivery { id: message.id.of_route(index), ..row }).collect()
}

/// Whether a button below the message may decide an approval: an ordinary call, whose whole effect the message shows.
#[must_use]
pub fn has_decision_buttons(approval: &Approval) -> bool {
    !approval.is_highest && approval.input_prompt().is_none()
}

/// The whole text of a request in Markdown. A paired recipient gets buttons below it.
fn request_text(approval: &Approval, is_paired: bool) -> String {
    let headline = headline(approval);
    if approval.input_prompt().is_some() {
        return format!("{headline}\n\n{OPEN_TO_ANSWER}");
    }
    let preview = code_block(&approval.preview);
    let reason = escape_invisible(&approval.reason);
    let text = format!("{headline}\n\n{preview}\n\n{reason}");
    if approval.is_highest {
        format!("{text}\n\n{OPEN_TO_DECIDE} {EACH_CALL}")
    } else if is_paired {
        text
    } else {
        format!("{text}\n\n{OPEN_TO_DECIDE}")
    }
}

/// A text as a Markdown code block, with invisible characters escaped. The fence is longer than each run of backticks in
/// the text.
fn code_block(text: &str) -> String {
    let text = escape_invisible(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

fn headline(approval: &Approval) -> String {
    if let Some(prompt) = approval.input_prompt() {
        return asks(&prompt.server, &prompt.message);
    }
    if let Some(PermissionPrompt { agent, details }) = approval.permission() {
        return asks(agent, details);
    }
    let place = place_of_call(&approval.tool, &approval.arguments);
    let place = place.map(|place| format!(" on {place}")).unwrap_or_default();
    format!("Needs your approval to use {}{place}.", approval.tool)
}

fn asks(server: &str, message: &str) -> String {
    format!("{server} asks: {}", first_line(message, MAX_MESSAGE, strip_invisible))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::fixtures::run;
    use super::*;
    use crate::approval::{ApprovalState, Fingerprint, Surroundings};
    use crate::channel::{ChannelDetails, ChannelEntry, ChannelKind, ChannelName, DeliverTo};
    use crate::{ApprovalId, RunId, UnixMs};

    fn approval(id: &str, preview: &str) -> Approval {
        let (arguments, surroundings) = (json!({ "path": "a.txt" }), Surroundings::default());
        Approval {
            id: ApprovalId::new(id),
            run_id: RunId::new("run-1"),
            job_id: None,
            job_name: "Morning".to_owned(),
            call_id: id.to_owned(),
            tool: "write_file".to_owned(),
            fingerprint: Fingerprint::of("write_file", &arguments, &surroundings),
            arguments,
            surroundings,
            preview: preview.to_owned(),
            reason: "The call has side effects.".to_owned(),
            is_highest: false,
            requested_at: UnixMs(0),
            expires_at: UnixMs(1),
            state: ApprovalState::Pending,
            decided_from: None,
            used_at: None,
            input: None,
        }
    }

    fn with_team() -> ChannelDirectory {
        let entry = ChannelEntry {
            kind: ChannelKind::Slack,
            details: ChannelDetails::Full,
            recipients: Vec::new(),
        };
        let reports = Some(vec!["team".to_owned(), "notification".to_owned()]);
        ChannelDirectory {
            channels: BTreeMap::from([(ChannelName::new("team"), entry)]),
            deliver_to: DeliverTo { reports, ..DeliverTo::default() },
            ..ChannelDirectory::default()
        }
    }

    #[test]
    fn channel_gets_one_message_per_approval() {
        let approvals = [approval("a", "+ one"), approval("b", "+ two")];
        let id = DeliveryId::new("d");
        let rows = announce_approval(None, &run(), &approvals, id, &with_team());
        let row = |row: &NewDelivery| {
            let approval = row.approval.as_ref().map(ToString::to_string);
            (row.id.to_string(), row.route.channel.to_string(), approval, row.body.clone())
        };
        let several = "Needs 2 approvals.".to_owned();
        let one = "Needs your approval to use write_file on a.txt.".to_owned();
        let expected = [
            ("d".to_owned(), "notification".to_owned(), None, several),
            ("d@1".to_owned(), "team".to_owned(), Some("a".to_owned()), one.clone()),
            ("d@2".to_owned(), "team".to_owned(), Some("b".to_owned()), one),
        ];
        assert_eq!(rows.iter().map(row).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn request_shows_the_whole_call_escaped() {
        let tricky = approval("a", "```\nrm -rf \u{202e}x\n````");
        let expected = "Needs your approval to use write_file on a.txt.\n\n\
            `````\n```\nrm -rf ⟨U+202E⟩x\n````\n`````\n\nThe call has side effects.";
        assert_eq!(request_text(&tricky, true), expected);
        assert_eq!(request_text(&tricky, false), format!("{expected}\n\n{OPEN_TO_DECIDE}"));
        let highest = Approval { is_highest: true, ..tricky };
        assert!(!has_decision_buttons(&highest));
        assert!(request_text(&highest, true).ends_with(EACH_CALL));
    }
}
