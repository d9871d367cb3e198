//! Rules for hosts, ports and addresses, from the configuration or a job.
//!
//! Owns the strictest rules as the default: public addresses on the usual ports. The person allows single local hosts;
//! no switch opens a whole network. Rouse's own gateway is never reachable, because a request from this process would
//! come from a place that the gateway might trust.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rouse_core::tool::{SandboxMode, ToolContext};

use super::address::{AddressScope, classify_address};
use super::error::FetchError;
use super::target::{UrlHost, UrlTarget};

const STANDARD_PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Limits of HTTP requests. The default is the strictest.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Hosts on this computer or its network: `nas.local`, `192.168.1.20`, `printer:631`, `[fd00::5]:8000`. A port in
    /// an entry is allowed for that host.
    pub allow_private_hosts: Vec<String>,
    /// Limit of a body.
    pub max_bytes: usize,
    /// For the whole call: redirects and body.
    pub timeout: Duration,
    /// The gateway's ports, which are never reachable.
    pub gateway_ports: GatewayPorts,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            allow_private_hosts: Vec::new(),
            max_bytes: 262_144,
            timeout: Duration::from_secs(30),
            gateway_ports: GatewayPorts::default(),
        }
    }
}

/// The ports of Rouse's own gateway. Shared, because the gateway learns the port after the tools are built.
#[derive(Debug, Clone, Default)]
pub struct GatewayPorts(Arc<RwLock<Vec<u16>>>);

impl GatewayPorts {
    /// Adds a port of this computer.
    pub fn add(&self, port: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(port);
    }

    fn contains(&self, port: u16) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&port)
    }
}

/// The URLs of accepted servers, whose hosts may have a local address. Shared, because a person accepts servers while
/// Rouse runs.
#[derive(Debug, Clone, Default)]
pub struct AcceptedServerUrls(Arc<RwLock<Vec<AllowedHost>>>);

impl AcceptedServerUrls {
    /// Replaces the URLs. Each allows its host with its port; an invalid URL allows nothing.
    pub fn replace(&self, urls: &[String]) {
        let targets = urls.iter().filter_map(|url| UrlTarget::parse(url).ok());
        let hosts = targets
            .map(|target| AllowedHost { host: target.host().clone(), port: Some(target.port()) });
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = hosts.collect();
    }
}

/// The rules of a configuration or of a job's hosts.
pub(crate) struct HostRules {
    pub(crate) allowed: Vec<AllowedHost>,
    /// Ports allowed for every host. Tests add the port of their server.
    pub(crate) ports: Vec<u16>,
    pub(crate) gateway_ports: GatewayPorts,
    /// The address table. Tests replace the table, because the test server has no public address.
    pub(crate) classify: fn(IpAddr) -> AddressScope,
}

/// A host that may have a local address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    host: UrlHost,
    /// The only allowed port, which may be any; the standard ports if absent.
    port: Option<u16>,
}

impl HostRules {
    pub(crate) fn new(allowed: &[String], gateway_ports: GatewayPorts) -> Self {
        Self {
            allowed: allowed.iter().filter_map(|entry| parse_host_entry(entry)).collect(),
            ports: STANDARD_PORTS.to_vec(),
            gateway_ports,
            classify: classify_address,
        }
    }

    /// The rules of a job's hosts.
    pub(crate) fn for_job(hosts: &[String]) -> Self {
        Self::new(hosts, GatewayPorts::default())
    }

    /// The same rules, with the hosts of accepted servers.
    pub(crate) fn with_accepted(&self, accepted: &AcceptedServerUrls) -> Self {
        let accepted = accepted.0.read().unwrap_or_else(PoisonError::into_inner);
        Self {
            allowed: self.allowed.iter().chain(accepted.iter()).cloned().collect(),
            ports: self.ports.clone(),
            gateway_ports: self.gateway_ports.clone(),
            classify: self.classify,
        }
    }

    pub(crate) fn check_port(&self, target: &UrlTarget) -> Result<(), FetchError> {
        let port = target.port();
        let is_allowed_here = self
            .allowed
            .iter()
            .any(|entry| entry.host == *target.host() && entry.port == Some(port));
        if is_allowed_here || self.ports.contains(&port) {
            return Ok(());
        }
        Err(FetchError::Port { port })
    }

    pub(crate) fn check_address(
        &self,
        target: &UrlTarget,
        address: IpAddr,
    ) -> Result<(), FetchError> {
        let kind = match (self.classify)(address) {
            AddressScope::Public => return Ok(()),
            AddressScope::Local(_) if self.gateway_ports.contains(target.port()) => {
                return Err(FetchError::OwnPort);
            }
            AddressScope::Local(_) if self.includes(target) => return Ok(()),
            AddressScope::Local(kind) => kind,
            AddressScope::Forbidden(kind) => {
                return Err(FetchError::Address { host: target.host().to_string(), kind });
            }
        };
        Err(FetchError::LocalAddress { host: target.host().to_string(), kind })
    }

    /// Whether the list includes this host, with this port if the entry has a port.
    pub(crate) fn includes(&self, target: &UrlTarget) -> bool {
        let fits = |entry: &AllowedHost| {
            entry.host == *target.host() && entry.port.is_none_or(|port| port == target.port())
        };
        self.allowed.iter().any(fits)
    }
}

/// Whether a read of this target needs no approval: the job lists the host, or lists no hosts.
pub(crate) fn is_host_allowed(target: &UrlTarget, sandbox: &SandboxMode) -> bool {
    let hosts = sandbox.hosts();
    hosts.is_empty() || HostRules::for_job(hosts).includes(target)
}

/// Whether a person has named this host, in the job's hosts or in the task's text.
pub(crate) fn is_host_named(target: &UrlTarget, context: &ToolContext) -> bool {
    let includes = |hosts: &[String]| HostRules::for_job(hosts).includes(target);
    includes(context.sandbox.hosts()) || includes(&context.named_hosts)
}

/// Parses `host`, `host:port`, an address, or `[address]:port`, under the rules of a URL's host.
fn parse_host_entry(entry: &str) -> Option<AllowedHost> {
    let entry = entry.trim();
    let is_bare_v6 = entry.parse::<std::net::Ipv6Addr>().is_ok();
    let authority = if is_bare_v6 { format!("[{entry}]") } else { entry.to_owned() };
    let has_path = authority.contains(['/', '?', '#']);
    match UrlTarget::parse(&format!("http://{authority}")) {
        Ok(target) if !has_path => {
            let has_port =
                authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = (has_port && !is_bare_v6).then_some(target.port());
            Some(AllowedHost { host: target.host().clone(), port })
        }
        _ => {
            tracing::warn!(entry, "ignored an entry of the allowed private hosts: not a host");
            None
        }
    }
}
