//! `tool_offer`: asks the person to install a checked version of a tool.
//!
//! Every offer needs an approval, and no grant covers it. The approval is bound to the hash of the checked files: the
//! port refuses files that differ. Pitfall: a refusal after the approval; the same checks run before the request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::approval::Surroundings;
use rouse_core::extension::{ExtensionName, ToolBuilds, ToolOffer};
use rouse_core::policy::ApprovedCall;
use rouse_core::text::escape_invisible;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::offer_text::{access_text, offer_text};
use super::{execution_failure, hash_parameter, invalid_arguments, name_parameter, parse_name};
use crate::arguments;
use crate::output::success;
use crate::spec::{object_schema, read_only_spec};

/// The time limit of the installation, which checks the tool again.
const INSTALL_TIME: Duration = Duration::from_mins(5);

pub(super) struct ToolOfferTool {
    spec: ToolSpec,
    builds: Arc<dyn ToolBuilds>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    hash: String,
}

impl ToolOfferTool {
    pub(super) fn new(builds: Arc<dyn ToolBuilds>) -> Self {
        let description = "Offers a checked version of a tool to the person, who reads the source, the permissions and the tests. Installs the tool if the person allows it.";
        let hash = hash_parameter("Hash of the passed check.");
        let properties = json!({ "name": name_parameter(), "hash": hash });
        let parameters = object_schema(&["name", "hash"], properties);
        let base = read_only_spec("tool_offer", "Offer a tool", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { destructive: false, ..Annotations::OVERWRITES },
            approval: ApprovalRule::Always,
            rate: RateLimit { per_minute: 5, per_hour: 30 },
            call_for: INSTALL_TIME,
            listed_only: true,
            ..base
        };
        Self { spec, builds }
    }

    fn is_installed(&self, arguments: &Value) -> bool {
        parse(arguments).is_ok_and(|(name, hash)| self.builds.installed_hash(&name) == Some(hash))
    }

    async fn find(&self, arguments: &Value) -> Result<ToolOffer, ToolOutput> {
        let (name, hash) = parse(arguments).map_err(invalid_arguments)?;
        self.builds.offer(&name, &hash).await.map_err(execution_failure)
    }

    async fn install(&self, arguments: &Value) -> Result<ToolOutput, ToolOutput> {
        let (name, hash) = parse(arguments).map_err(invalid_arguments)?;
        if self.is_installed(arguments) {
            let value = json!({ "installed": true, "name": name, "hash": hash });
            return Ok(success(value).in_words(&format!("{name} is installed already")));
        }
        self.builds.accept(&name, &hash).await.map_err(execution_failure)?;
        let value = json!({ "installed": true, "name": name, "hash": hash });
        Ok(success(value).in_words(&format!("{name} is installed")))
    }
}

impl Tool for ToolOfferTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn approval(&self, arguments: &Value, _: &ToolContext) -> ApprovalRule {
        // Without this, a crash after the installation would ask again for what is done.
        if self.is_installed(arguments) { ApprovalRule::Never } else { ApprovalRule::Always }
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        Box::pin(async move {
            match self.find(arguments).await {
                Ok(offer) => offer_text(&offer),
                Err(refusal) => escape_invisible(&refusal.text()),
            }
        })
    }

    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(async move {
            let offer = self.find(arguments).await?;
            let accepted = offer.accepted.map_or_else(|| "none".to_owned(), |build| build.hash);
            let environment = BTreeMap::from([
                ("checked files".to_owned(), offer.build.hash),
                ("accepted files".to_owned(), accepted),
                ("calls".to_owned(), access_text(offer.access).to_owned()),
            ]);
            Ok(Surroundings { environment, ..Surroundings::default() })
        })
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(
            async move { self.install(call.arguments()).await.unwrap_or_else(|output| output) },
        )
    }
}

fn parse(arguments: &Value) -> Result<(ExtensionName, String), String> {
    let Arguments { name, hash } = arguments::parse(arguments)?;
    Ok((parse_name(&name)?, hash))
}
