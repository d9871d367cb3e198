//! `tools.*`.

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{Empty, ToolView, ToolsCatalogResult};

pub(crate) async fn catalog(context: &Context, _: Empty) -> Result<ToolsCatalogResult, RpcError> {
    let tools = context.gate.tools().specs().map(|spec| ToolView {
        name: spec.name.clone(),
        description: spec.description.clone(),
        parameters: spec.parameters.clone(),
        calls_per_minute: spec.rate.per_minute,
    });
    Ok(ToolsCatalogResult { tools: tools.collect() })
}
