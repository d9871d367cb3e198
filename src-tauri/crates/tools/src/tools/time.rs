//! `time`: the current time, from the run's clock, in the job's zone.

use std::future::ready;

use chrono::SecondsFormat;
use rouse_core::UnixMs;
use rouse_core::policy::ApprovedCall;
use rouse_core::schedule::Zone;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments;
use crate::spec::{object_schema, read_only_spec};

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
        let parameters = object_schema(
            &[],
            json!({ "tz": { "type": "string", "description": tz, "maxLength": 64 } }),
        );
        let base = read_only_spec("time", "Tell the time", description, parameters);
        Self { spec: ToolSpec { listed_only: true, ..base } }
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
        let zone =
            arguments::parse(call.arguments()).and_then(|arguments| find_zone(arguments, context));
        let output = zone.map(|zone| ToolOutput::ok(time_in(zone, context.clock.now())));
        Box::pin(ready(output.unwrap_or_else(arguments::invalid_arguments)))
    }
}

fn find_zone(arguments: Arguments, context: &ToolContext) -> Result<Zone, String> {
    let Some(name) = arguments.tz else {
        return Ok(context.zone);
    };
    context.clock.zones().zone(&name).ok_or_else(|| {
        format!("Unknown time zone {name:?}. Use an IANA name such as Europe/Berlin.")
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
    use crate::test_context::call;

    // The test context is at 2026-03-28T23:30:00Z in Europe/Berlin.

    #[tokio::test]
    async fn default_zone_is_that_of_the_job() {
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
    async fn requested_zone_is_used() {
        let output = call(&Time::new(), json!({ "tz": "Asia/Kathmandu" })).await;
        assert_eq!(output.value["now"], "2026-03-29T05:15:00+05:45");
        assert_eq!(output.value["zone"], "Asia/Kathmandu");
    }

    #[tokio::test]
    async fn unknown_zone_is_an_error_with_its_name() {
        let output = call(&Time::new(), json!({ "tz": "Mars/Base" })).await;
        assert!(output.is_error());
        assert!(output.text().contains("Mars/Base"), "{}", output.text());
    }
}
