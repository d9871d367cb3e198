//! Which hosts, ports and addresses a hop may use, from the configuration.
//!
//! An empty configuration is the strictest: public addresses on the usual ports. What the person adds is named host by
//! host; there is no switch that opens a whole network. Rouse's own gateway stays out of reach whatever is added,
//! because a request from this process to it would come from the one place that the gateway might trust.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use super::address::{Reach, reach};
use super::fetch::FetchError;
use super::target::{Host, Target};

const USUAL_PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// The ports that Rouse itself listens on. Shared, because the gateway knows its port only after the tools are made.
#[derive(Debug, Clone, Default)]
pub struct OwnPorts(Arc<RwLock<Vec<u16>>>);

impl OwnPorts {
    /// From now on this port of this computer is Rouse's own.
    pub fn add(&self, port: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(port);
    }

    fn contains(&self, port: u16) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&port)
    }
}

/// The rules of one configuration, or of the hosts of one job.
pub(crate) struct Rules {
    pub(crate) allowed: Vec<AllowedHost>,
    /// The ports of every host; others only in tests, which cannot own a usual one.
    pub(crate) ports: Vec<u16>,
    pub(crate) own_ports: OwnPorts,
    /// The address table; another one only in tests, which cannot own a public address.
    pub(crate) reach: fn(IpAddr) -> Reach,
}

/// A host that may be on this computer or its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    host: Host,
    /// Only this port, which may then be any; the usual ones when absent.
    port: Option<u16>,
}

impl Rules {
    pub(crate) fn new(allowed: &[String], own_ports: OwnPorts) -> Self {
        Self {
            allowed: allowed.iter().filter_map(|entry| understood(entry)).collect(),
            ports: USUAL_PORTS.to_vec(),
            own_ports,
            reach,
        }
    }

    /// Whether the target's port may be used.
    pub(crate) fn check_port(&self, target: &Target) -> Result<(), FetchError> {
        let port = target.port();
        let is_named = self
            .allowed
            .iter()
            .any(|entry| entry.host == *target.host() && entry.port == Some(port));
        if is_named || self.ports.contains(&port) {
            return Ok(());
        }
        Err(FetchError::Port { port })
    }

    /// Whether the target may be at `address`.
    pub(crate) fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), FetchError> {
        let kind = match (self.reach)(address) {
            Reach::Public => return Ok(()),
            Reach::Local(_) if self.own_ports.contains(target.port()) => {
                return Err(FetchError::OwnPort);
            }
            Reach::Local(_) if self.names(target) => return Ok(()),
            Reach::Local(kind) => kind,
            Reach::Never(kind) => {
                return Err(FetchError::Address { host: target.host().to_string(), kind });
            }
        };
        Err(FetchError::LocalAddress { host: target.host().to_string(), kind })
    }

    /// Whether the person has named this host, with this port if with any.
    pub(crate) fn names(&self, target: &Target) -> bool {
        let fits = |entry: &AllowedHost| {
            entry.host == *target.host() && entry.port.is_none_or(|port| port == target.port())
        };
        self.allowed.iter().any(fits)
    }
}

/// Reads `host`, `host:port`, an address, or `[address]:port`, by the same rules as a URL's host.
fn understood(entry: &str) -> Option<AllowedHost> {
    let entry = entry.trim();
    let is_bare_v6 = entry.parse::<std::net::Ipv6Addr>().is_ok();
    let authority = if is_bare_v6 { format!("[{entry}]") } else { entry.to_owned() };
    let has_path = authority.contains(['/', '?', '#']);
    match Target::parse(&format!("http://{authority}")) {
        Ok(target) if !has_path => {
            let has_port =
                authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = (has_port && !is_bare_v6).then_some(target.port());
            Some(AllowedHost { host: target.host().clone(), port })
        }
        _ => {
            tracing::warn!(
                entry,
                "this entry of the hosts that http may reach locally is not a host and has no effect"
            );
            None
        }
    }
}
