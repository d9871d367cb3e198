//! The notification of an approval request: the tool, and the file or host. Never the arguments: a notification is read
//! over shoulders and kept by the system, and the request itself is a click away.

use crate::approval::Approval;
use crate::delivery::{Channel, NewDelivery};
use crate::naming::place_of_call;
use crate::{DeliveryId, Job, Run};

/// The notification of a run that waits for approvals.
#[must_use]
pub fn announce_approval(
    job: Option<&Job>,
    run: &Run,
    approvals: &[Approval],
    id: DeliveryId,
) -> NewDelivery {
    let body = match approvals {
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
