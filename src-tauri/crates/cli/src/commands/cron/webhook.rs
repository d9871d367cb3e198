//! `rouse cron webhook`: URL and secret of a job's webhook.

use rouse_gateway::wire::WebhookView;
use serde_json::{Value, json};

use super::job_arg::JobArg;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Create a new secret; the old secret becomes invalid
    #[arg(long)]
    rotate: bool,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job(engine, &args.job.id).await?;
    show_webhook(json!({ "id": id, "rotate": args.rotate }), engine).await
}

pub(super) async fn show_webhook(params: Value, engine: &EngineConnection) -> Result<(), CliError> {
    engine.show("cron.webhook", params, |_, view: WebhookView| print_webhook(&view)).await
}

fn print_webhook(view: &WebhookView) {
    anstream::println!("  url    {}", view.url);
    let Some(secret) = &view.secret else {
        anstream::println!("  secret shown only at creation; --rotate creates a new one");
        return;
    };
    anstream::println!("  secret {secret}");
    anstream::println!("         (shown only now)");
    anstream::println!(
        "\n  curl -X POST -H 'Authorization: Bearer {secret}' -d 'Hello' {}",
        view.url
    );
}
