//! What a person is told when a run asks: that it asks, for which tool, and for which file or host. Never what exactly it
//! wants to do: a notification is read over shoulders and kept by the system, and the question itself is one click away.

use crate::approval::Approval;
use crate::delivery::{Channel, NewDelivery};
use crate::naming::place_of_call;
use crate::{DeliveryId, Job, Run};

/// The notification of a run that waits for answers.
#[must_use]
pub fn question(job: Option<&Job>, run: &Run, asks: &[Approval], id: DeliveryId) -> NewDelivery {
    let body = match asks {
        [one] => {
            let place = place_of_call(&one.tool, &one.arguments);
            let place = place.map(|place| format!(" on {place}")).unwrap_or_default();
            format!("Needs your answer before it goes on: may it use {}{place}?", one.tool)
        }
        several => format!("Needs {} answers before it goes on.", several.len()),
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
