//! The notification of an approval request: the tool, and the file or host. Never the arguments: a notification is read
//! over shoulders and kept by the system, and the request itself is a click away. An input request has its message.

use crate::approval::Approval;
use crate::channel::{ChannelDirectory, MessageKind, Route};
use crate::delivery::NewDelivery;
use crate::input_request::InputPrompt;
use crate::naming::place_of_call;
use crate::text::{first_line, strip_invisible};
use crate::{DeliveryId, Job, Run};

/// The most characters of a server's message in a notification.
const MAX_MESSAGE: usize = 200;

/// The messages of a run that waits for approvals, one for each route.
#[must_use]
pub fn announce_approval(
    job: Option<&Job>,
    run: &Run,
    approvals: &[Approval],
    id: DeliveryId,
    channels: &ChannelDirectory,
) -> Vec<NewDelivery> {
    let body = match approvals {
        [Approval { input: Some(input), .. }] => input_body(&input.request.prompt),
        [one] => {
            let place = place_of_call(&one.tool, &one.arguments);
            let place = place.map(|place| format!(" on {place}")).unwrap_or_default();
            format!("Needs your approval to use {}{place}.", one.tool)
        }
        several => format!("Needs {} approvals.", several.len()),
    };
    let kind = MessageKind::Approval;
    let message = NewDelivery {
        id,
        kind,
        route: Route::notification(),
        title: run.job_name.clone(),
        body,
        text: None,
        quiet_hours: job.map(|job| job.policies.quiet_hours.clone()).unwrap_or_default(),
    };
    message.on_routes(channels.routes(kind, job))
}

fn input_body(prompt: &InputPrompt) -> String {
    format!("{} asks: {}", prompt.server, first_line(&prompt.message, MAX_MESSAGE, strip_invisible))
}
