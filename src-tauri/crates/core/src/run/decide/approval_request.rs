//! The notification of an approval request: the tool, and the file or host. Never the arguments: a notification is read
//! over shoulders and kept by the system, and the request itself is a click away. An input request has its message.

use crate::approval::Approval;
use crate::delivery::{Channel, NewDelivery};
use crate::input_request::InputPrompt;
use crate::naming::place_of_call;
use crate::text::{first_line, strip_invisible};
use crate::{DeliveryId, Job, Run};

/// The most characters of a server's message in a notification.
const MAX_MESSAGE: usize = 200;

/// The notification of a run that waits for approvals.
#[must_use]
pub fn announce_approval(
    job: Option<&Job>,
    run: &Run,
    approvals: &[Approval],
    id: DeliveryId,
) -> NewDelivery {
    let body = match approvals {
        [Approval { input: Some(input), .. }] => input_body(&input.request.prompt),
        [one] => {
            let place = place_of_call(&one.tool, &one.arguments);
            let place = place.map(|place| format!(" on {place}")).unwrap_or_default();
            format!("Needs your approval to use {}{place}.", one.tool)
        }
        several => format!("Needs {} approvals.", several.len()),
    };
    NewDelivery {
        id,
        channel: Channel::Notification,
        to: None,
        title: run.job_name.clone(),
        body,
        quiet_hours: job.map(|job| job.policies.quiet_hours.clone()).unwrap_or_default(),
    }
}

fn input_body(prompt: &InputPrompt) -> String {
    format!("{} asks: {}", prompt.server, first_line(&prompt.message, MAX_MESSAGE, strip_invisible))
}
