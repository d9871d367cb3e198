//! Which IP addresses a tool may reach.
//!
//! Owns the table. It judges parsed addresses only, never text, so that no spelling can slip past it. Everything in
//! IPv6 that is not global unicast is refused, and so is every form that carries an IPv4 address inside (mapped,
//! compatible, NAT64, 6to4, Teredo, ISATAP): no public service needs one, and each is a second spelling of an address
//! that the IPv4 table refuses. One could get this wrong by listing only the prefixes that come to mind.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the open internet.
    Public,
    /// To this computer or its network: only for a host that the person has named. What it is, in words.
    Local(&'static str),
    /// To nothing that a tool may ever reach. What it is, in words.
    Never(&'static str),
}

use Reach::{Local, Never, Public};

const METADATA: Reach = Never("a cloud metadata address");
const DOCUMENTATION: Reach = Never("an address for documentation");
const RESERVED: Reach = Never("a reserved address");
const MULTICAST: Reach = Never("a multicast address");
const LOOPBACK: Reach = Local("this computer");
const PRIVATE: Reach = Local("a private network address");
const LINK_LOCAL: Reach = Local("a link-local address");
const EMBEDDED: Reach = Never("an IPv4 address in IPv6 form");
const NOT_PUBLIC: Reach = Never("not a public address");

/// The first row that holds the address decides.
const V4: &[(Ipv4Addr, u32, Reach)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, Never("an unspecified address")),
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
    (Ipv4Addr::new(198, 18, 0, 0), 15, Never("an address for benchmarks")),
    (Ipv4Addr::new(198, 51, 100, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(203, 0, 113, 0), 24, DOCUMENTATION),
    (Ipv4Addr::new(224, 0, 0, 0), 4, MULTICAST),
];

/// The first row that holds the address decides. What no row holds is not public.
const V6: &[(Ipv6Addr, u32, Reach)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, Never("an unspecified address")),
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

/// Where `address` leads.
pub(crate) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    // 240.0.0.0/4 and the broadcast address.
    if address.octets()[0] >= 240 {
        return RESERVED;
    }
    let holds = |network: Ipv4Addr, length: u32| {
        u32::from(address).wrapping_shr(32 - length) == u32::from(network).wrapping_shr(32 - length)
    };
    V4.iter().find(|(network, length, _)| holds(*network, *length)).map_or(Public, |row| row.2)
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let holds = |network: Ipv6Addr, length: u32| {
        u128::from(address).wrapping_shr(128 - length)
            == u128::from(network).wrapping_shr(128 - length)
    };
    let row = V6.iter().find(|(network, length, _)| holds(*network, *length));
    match row.map_or(NOT_PUBLIC, |row| row.2) {
        Public if is_isatap(address) => EMBEDDED,
        reach => reach,
    }
}

/// `…:0:5efe:a.b.c.d` and `…:200:5efe:a.b.c.d`.
const fn is_isatap(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    segments[5] == 0x5efe && (segments[4] == 0 || segments[4] == 0x200)
}
