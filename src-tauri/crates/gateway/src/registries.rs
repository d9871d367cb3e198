//! Access to the registries of servers and skills.

use rouse_core::tool::BoxFuture;

use crate::error::RpcError;
use crate::wire::{
    RegistryEntryParams, RegistrySearchParams, RegistrySearchResult, RegistryServerView,
    SkillDownload, SkillDownloadParams, SkillSearchParams, SkillSearchResult,
};

/// Access to the registries of the settings. Each call is one search or download of a person. Never installs.
pub trait Registries: Send + Sync {
    /// A page of servers.
    ///
    /// # Errors
    /// The settings name no registry, or the registry gives no valid answer.
    fn search_servers(
        &self,
        params: RegistrySearchParams,
    ) -> BoxFuture<'_, Result<RegistrySearchResult, RpcError>>;
    /// One version of a server.
    ///
    /// # Errors
    /// As for a search; also for a missing and a deleted entry.
    fn server_entry(
        &self,
        params: RegistryEntryParams,
    ) -> BoxFuture<'_, Result<RegistryServerView, RpcError>>;
    /// The skills of a search.
    ///
    /// # Errors
    /// The settings name no registry, or the registry gives no valid answer.
    fn search_skills(
        &self,
        params: SkillSearchParams,
    ) -> BoxFuture<'_, Result<SkillSearchResult, RpcError>>;
    /// Downloads a skill into the data directory.
    ///
    /// # Errors
    /// As for a search; also for a missing and a blocked skill.
    fn download_skill(
        &self,
        params: SkillDownloadParams,
    ) -> BoxFuture<'_, Result<SkillDownload, RpcError>>;
}
