//! The registries of servers and skills that the settings name.
//!
//! Owns the requests of a search and of a download, their bounds, and the conversion of answers to views. Rouse sends
//! a request only for a call of a person. Never installs and never follows an address of an answer. Pitfall: text of
//! an answer; each text is untrusted and shortened.

mod error;
mod untrusted_text;
mod kind;
mod query;
mod connection;
mod servers;
mod skills;
mod download;
#[cfg(test)]
mod tests;

use rouse_core::tool::BoxFuture;
use rouse_gateway::wire::{
    RegistryEntryParams, RegistrySearchParams, RegistrySearchResult, RegistryServerView,
    SkillDownload, SkillDownloadParams, SkillSearchParams, SkillSearchResult,
};
use rouse_gateway::{Registries, RpcError};
use rouse_tools::{GatewayPorts, HttpConfig};
use tokio::sync::watch;

use self::connection::RegistryConnection;
use self::download::DownloadFolder;
use self::error::RegistryError;
use self::kind::RegistryKind;
use crate::config::Config;
use crate::home::Home;

/// The client of both registries.
pub(crate) struct RegistryClient {
    settings: watch::Receiver<Config>,
    network: HttpConfig,
    downloads: DownloadFolder,
}

impl RegistryClient {
    /// The client with downloads in `home`. `port` is the gateway's own port, which no request reaches.
    pub(crate) fn new(settings: watch::Receiver<Config>, home: &Home, port: u16) -> Self {
        let gateway_ports = GatewayPorts::default();
        gateway_ports.add(port);
        // Without the private hosts of the tools: only the address of the registry may be private.
        let network = HttpConfig { gateway_ports, ..HttpConfig::default() };
        Self { settings, network, downloads: DownloadFolder::new(home.registry_downloads()) }
    }

    fn connect(&self, kind: RegistryKind) -> Result<RegistryConnection, RegistryError> {
        let address = kind.address(&self.settings.borrow().registries);
        let not_set = RegistryError::NotSet { key: kind.key(), api: kind.api() };
        let address = address.ok_or(not_set)?;
        Ok(RegistryConnection::new(kind, &address, &self.network))
    }
}

impl Registries for RegistryClient {
    fn search_servers(
        &self,
        params: RegistrySearchParams,
    ) -> BoxFuture<'_, Result<RegistrySearchResult, RpcError>> {
        Box::pin(async move {
            let registry = self.connect(RegistryKind::Servers)?;
            Ok(servers::search(&registry, &params).await?)
        })
    }

    fn server_entry(
        &self,
        params: RegistryEntryParams,
    ) -> BoxFuture<'_, Result<RegistryServerView, RpcError>> {
        Box::pin(async move {
            let registry = self.connect(RegistryKind::Servers)?;
            Ok(servers::entry(&registry, &params).await?)
        })
    }

    fn search_skills(
        &self,
        params: SkillSearchParams,
    ) -> BoxFuture<'_, Result<SkillSearchResult, RpcError>> {
        Box::pin(async move {
            let registry = self.connect(RegistryKind::Skills)?;
            Ok(skills::search(&registry, &params).await?)
        })
    }

    fn download_skill(
        &self,
        params: SkillDownloadParams,
    ) -> BoxFuture<'_, Result<SkillDownload, RpcError>> {
        Box::pin(async move {
            let registry = self.connect(RegistryKind::Skills)?;
            Ok(skills::download(&registry, &self.downloads, &params).await?)
        })
    }
}
