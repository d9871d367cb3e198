//! `time`: what time it is, for a model that cannot know. The instant comes from the run's clock, the zone from the job.

use std::future::ready;

use chrono::SecondsFormat;
use rouse_core::UnixMs;
use rouse_core::policy::ApprovedCall;
use rouse_core::schedule::Zone;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{arguments, spec};

/// The tool.
pub(crate) struct Time {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    tz: Option<String>,
}

impl Time {
    pub(crate) fn new() -> Self {
        let description = "The date, weekday and time, in `tz` or the job's zone, and in UTC.";
        let tz = "IANA zone, such as Europe/Berlin.";
        let parameters = spec::object(
            &[],
            json!({ "tz": { "type": "string", "description": tz, "maxLength": 64 } }),
        );
        let harmless = spec::harmless(("time", "Tell the time"), description, parameters);
        Self { spec: ToolSpec { listed_only: true, ..harmless } }
    }
}

impl Tool for Time {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let zone = arguments::read(call.arguments()).and_then(|arguments| zone(arguments, context));
        let told = zone.map(|zone| ToolOutput::ok(time_in(zone, context.clock.now())));
        Box::pin(ready(told.unwrap_or_else(arguments::misfit)))
    }
}

fn zone(arguments: Arguments, context: &ToolContext) -> Result<Zone, String> {
    let Some(name) = arguments.tz else {
        return Ok(context.zone);
    };
    context.clock.zones().zone(&name).ok_or_else(|| {
        format!("There is no time zone {name:?}. Use an IANA name such as Europe/Berlin.")
    })
}

fn time_in(zone: Zone, now: UnixMs) -> Value {
    let utc = now.to_utc();
    let local = utc.with_timezone(&zone);
    json!({
        "now": local.to_rfc3339_opts(SecondsFormat::Secs, false),
        "weekday": local.format("%A").to_string(),
        "zone": zone.name(),
        "utc": utc.to_rfc3339_opts(SecondsFormat::Secs, true),
        "unixMs": now.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::call;

    // The context of `testing::call` is at 2026-03-28T23:30:00Z, in Europe/Berlin.

    #[tokio::test]
    async fn tells_the_time_of_the_jobs_zone() {
        let output = call(&Time::new(), json!({})).await;
        let expected = json!({
            "now": "2026-03-29T00:30:00+01:00",
            "weekday": "Sunday",
            "zone": "Europe/Berlin",
            "utc": "2026-03-28T23:30:00Z",
            "unixMs": 1_774_740_600_000_i64,
        });
        assert_eq!(output, ToolOutput::ok(expected));
    }

    #[tokio::test]
    async fn a_zone_can_be_asked_for() {
        let output = call(&Time::new(), json!({ "tz": "Asia/Kathmandu" })).await;
        assert_eq!(output.value["now"], "2026-03-29T05:15:00+05:45");
        assert_eq!(output.value["zone"], "Asia/Kathmandu");
    }

    #[tokio::test]
    async fn an_unknown_zone_is_an_error_that_can_be_mended() {
        let output = call(&Time::new(), json!({ "tz": "Mars/Base" })).await;
        assert!(output.is_error());
        assert!(output.text().contains("Mars/Base"), "{}", output.text());
    }
}
