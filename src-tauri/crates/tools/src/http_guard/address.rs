//! Classification of IP addresses.
//!
//! Owns the address tables. Judges parsed addresses, never text, so that no spelling slips past. In IPv6 everything but global unicast
//! is forbidden, and so is every form with an embedded IPv4 address (mapped, compatible, NAT64, 6to4, Teredo, ISATAP), because each is
//! a second spelling of an address in the IPv4 table. Pitfall: to list only the prefixes that come to mind.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Scope of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressScope {
    /// The open internet.
    Public,
    /// This computer or its network: only for hosts allowed by the person. With a description.
    Local(&'static str),
    /// Never reachable for a tool. With a description.
    Forbidden(&'static str),
}

use AddressScope::{Forbidden, Local, Public};

const METADATA: AddressScope = Forbidden("a cloud metadata address");
const DOCUMENTATION: AddressScope = Forbidden("an address for documentation");
const RESERVED: AddressScope = Forbidden("a reserved address");
const MULTICAST: AddressScope = Forbidden("a multicast address");
const LOOPBACK: AddressScope = Local("this computer");
const PRIVATE: AddressScope = Local("a private network address");
const LINK_LOCAL: AddressScope = Local("a link-local address");
const EMBEDDED: AddressScope = Forbidden("an IPv4 address in IPv6 form");
const NOT_PUBLIC: AddressScope = Forbidden("not a public address");

/// The first matching row counts. An address without a row is public.
const V4: &[(Ipv4Addr, u32, AddressScope)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, Forbidden("an unspecified address")),
    (Ipv4Addr::new(10, 0, 0, 0), 8, PRIVATE),
    (Ipv4Addr::new(100, 100, 100, 200), 32, METADATA),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Local("an address shared inside a provider's network")),
    (Ipv4Addr::new(127, 0, 0, 0), 8, LOOPBACK),
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA),
    (Ipv4Addr::new(169, 254, 169, 0), 24, METADATA),
    (Ipv4Addr::new(169, 254, 170, 0), 24, METADATA),
    (Ipv4Addr::new(169, 254, 0, 0), 16, LINK_LOCAL),
    (Ipv4Addr::new(172, 16, 0, 0), 12, PRIVATE),
    (Ipv4Addr::new(192, 0, 0, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 0, 2, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(192, 31, 196, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 52, 193, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 88, 99, 0), 24, RESERVED),
    (Ipv4Addr::new(192, 168, 0, 0), 16, PRIVATE),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Forbidden("an address for benchmarks")),
    (Ipv4Addr::new(198, 51, 100, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(203, 0, 113, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(224, 0, 0, 0), 4, MULTICAST),
];

/// The first matching row counts. An address without a row is not public.
const V6: &[(Ipv6Addr, u32, AddressScope)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, Forbidden("an unspecified address")),
    (Ipv6Addr::LOCALHOST, 128, LOOPBACK),
    (Ipv6Addr::UNSPECIFIED, 96, EMBEDDED),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, EMBEDDED),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, EMBEDDED),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, EMBEDDED),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, EMBEDDED),
    // Teredo, ORCHID, benchmarks and the other special assignments.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, EMBEDDED),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, RESERVED),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, DOCUMENTATION),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, EMBEDDED),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, DOCUMENTATION),
    (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3, Public),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128, METADATA),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128, METADATA),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, PRIVATE),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, LINK_LOCAL),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, MULTICAST),
];

/// Classifies an address by the tables.
pub(crate) fn classify_address(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressScope {
    // 240.0.0.0/4 and the broadcast address.
    if address.octets()[0] >= 240 {
        return RESERVED;
    }
    let holds = |network: Ipv4Addr, length: u32| {
        u32::from(address).wrapping_shr(32 - length) == u32::from(network).wrapping_shr(32 - length)
    };
    V4.iter().find(|(network, length, _)| holds(*network, *length)).map_or(Public, |row| row.2)
}

fn classify_v6(address: Ipv6Addr) -> AddressScope {
    let holds = |network: Ipv6Addr, length: u32| {
        u128::from(address).wrapping_shr(128 - length)
            == u128::from(network).wrapping_shr(128 - length)
    };
    let row = V6.iter().find(|(network, length, _)| holds(*network, *length));
    match row.map_or(NOT_PUBLIC, |row| row.2) {
        Public if is_isatap(address) => EMBEDDED,
        scope => scope,
    }
}

/// `…:0:5efe:a.b.c.d` and `…:200:5efe:a.b.c.d`.
const fn is_isatap(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    segments[5] == 0x5efe && (segments[4] == 0 || segments[4] == 0x200)
}
