//! `rouse cron preview`: the next slots of a schedule, and the channels of the messages.

use rouse_core::Clock as _;
use rouse_gateway::wire::CronPreviewResult;
use serde_json::json;

use super::field_values::channels_value;
use super::schedule::{SCHEDULE_FLAGS, ScheduleArgs};
use crate::render::channel::route_facts;
use crate::render::facts::fact_lines;
use crate::render::text::escape;
use crate::render::time::instant_in_zones;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Number of slots, at most 50
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    count: u32,
    /// Channels, comma-separated: phone,mail:anna@example.org [default: those of the settings]
    #[arg(long, value_name = "NAMES", help_heading = "Policies")]
    deliver_to: Option<String>,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let schedule = args.schedule.to_json(engine).await?.ok_or_else(|| {
        CliError::input(format!("a schedule is missing: add one of {SCHEDULE_FLAGS}"))
    })?;
    let deliver_to = channels_value(args.deliver_to.as_deref());
    let delivery = deliver_to.map(|names| json!({ "deliverTo": names }));
    let params = json!({ "schedule": schedule, "count": args.count, "delivery": delivery });
    engine
        .show("cron.preview", params, |engine, preview: CronPreviewResult| {
            anstream::println!("{} ({})", preview.text, preview.zone);
            let (now, local) = (engine.clock.now().0, engine.clock.zone());
            let zone = engine.clock.zones().zone(&preview.zone);
            for slot in &preview.next {
                anstream::println!("  {}", instant_in_zones(slot.at_ms, now, local, zone));
                if let Some(note) = &slot.note {
                    anstream::println!("    {note}");
                }
            }
            for note in &preview.notes {
                anstream::println!("{note}");
            }
            for line in fact_lines(&route_facts(&preview.routes)) {
                anstream::println!("{line}");
            }
            if let Some(problem) = &preview.route_problem {
                anstream::println!("{}", escape(problem));
            }
        })
        .await
}
