//! `extensions.search`, `extensions.registryEntry`, `skills.search`, `skills.download`: the registries of the settings. No
//! tool calls these methods: Rouse asks a registry only for a person.
//!
//! Never installs; the page of an installation follows. Pitfall: a stored secret in the words of a search.

use serde_json::json;

use super::input::check_secrets;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    RegistryEntryParams, RegistrySearchParams, RegistrySearchResult, RegistryServerView,
    SkillDownload, SkillDownloadParams, SkillSearchParams, SkillSearchResult,
};

pub(crate) async fn search_servers(
    context: &Context,
    params: RegistrySearchParams,
) -> Result<RegistrySearchResult, RpcError> {
    check_secrets(context, "query", &json!(params.query)).await?;
    context.registries.search_servers(params).await
}

pub(crate) async fn server_entry(
    context: &Context,
    params: RegistryEntryParams,
) -> Result<RegistryServerView, RpcError> {
    context.registries.server_entry(params).await
}

pub(crate) async fn search_skills(
    context: &Context,
    params: SkillSearchParams,
) -> Result<SkillSearchResult, RpcError> {
    check_secrets(context, "query", &json!(params.query)).await?;
    context.registries.search_skills(params).await
}

pub(crate) async fn download_skill(
    context: &Context,
    params: SkillDownloadParams,
) -> Result<SkillDownload, RpcError> {
    context.registries.download_skill(params).await
}
