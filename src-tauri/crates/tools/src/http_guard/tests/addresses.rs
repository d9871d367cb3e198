//! The address tables, row by row: both ends of every range and their neighbours.

use std::net::IpAddr;

use crate::http_guard::address::{AddressScope, classify_address};

#[rustfmt::skip]
const FORBIDDEN: &[&str] = &[
    // Unspecified and "this network".
    "0.0.0.0", "0.0.0.1", "0.255.255.255", "::",
    // Metadata services of the clouds.
    "169.254.169.254", "169.254.170.2", "169.254.169.123", "100.100.100.200", "168.63.129.16", "fd00:ec2::254",
    "fd20:ce::254",
    // Reserved, documentation, benchmarks.
    "192.0.0.0", "192.0.0.1", "192.0.0.192", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.31.196.1",
    "192.52.193.1", "192.88.99.1", "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0",
    "203.0.113.255", "2001:db8::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::1", "3fff:fff::1",
    // Multicast, the old class E, broadcast.
    "224.0.0.0", "224.0.0.251", "239.255.255.255", "240.0.0.0", "250.1.2.3", "255.255.255.254", "255.255.255.255",
    "ff00::", "ff02::1", "ff02::fb", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    // IPv4 in IPv6: mapped, translated, compatible.
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", "0:0:0:0:0:ffff:7f00:1",
    "::ffff:0:127.0.0.1", "::127.0.0.1", "::10.0.0.1", "::8.8.8.8", "::2",
    // NAT64, with and without a public address inside, and the local range.
    "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::8.8.8.8", "64:ff9b:1::1",
    "64:ff9b:1:ffff::a00:1",
    // 6to4, Teredo, ISATAP, and the other special assignments.
    "2002::", "2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1", "2001::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:0:ffff::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff:ffff::1", "2a00::5efe:10.0.0.1",
    "2a00::200:5efe:127.0.0.1",
    // Unassigned: discard, site-local, reserved.
    "100::1", "fec0::1", "4000::1", "1::1",
];

#[rustfmt::skip]
const LOCAL: &[&str] = &[
    "127.0.0.0", "127.0.0.1", "127.0.0.53", "127.1.2.3", "127.255.255.255", "::1",
    "10.0.0.0", "10.0.0.1", "10.255.255.255", "172.16.0.0", "172.16.0.1", "172.31.255.255", "192.168.0.0",
    "192.168.0.1", "192.168.255.255",
    "100.64.0.0", "100.64.0.1", "100.127.255.255", "100.100.100.201",
    "169.254.0.0", "169.254.0.1", "169.254.168.255", "169.254.255.255", "fe80::1", "fe80::5efe:10.0.0.1",
    "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fc00::", "fc00::1", "fd00::1", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fd00:ec2::253",
];

#[rustfmt::skip]
const PUBLIC: &[&str] = &[
    "1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "168.63.129.15", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
    "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.101.0", "203.0.114.0",
    "223.255.255.255",
    "2000::1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2606:4700:4700::1111", "2a00:1450::1",
    "3ffe:ffff::1", "3fff:1000::1",
];

#[test]
fn every_address_has_the_scope_of_the_table() {
    let parse = |text: &&str| -> IpAddr { text.parse().expect("an address in the table") };
    for text in FORBIDDEN {
        assert!(
            matches!(classify_address(parse(text)), AddressScope::Forbidden(_)),
            "{text}: {:?}",
            classify_address(parse(text))
        );
    }
    for text in LOCAL {
        assert!(
            matches!(classify_address(parse(text)), AddressScope::Local(_)),
            "{text}: {:?}",
            classify_address(parse(text))
        );
    }
    for text in PUBLIC {
        assert_eq!(classify_address(parse(text)), AddressScope::Public, "{text}");
    }
}

#[test]
fn ipv4_in_ipv6_is_always_forbidden() {
    let inside: [u32; 6] = [0x7f00_0001, 0x0a00_0001, 0xa9fe_a9fe, 0x0808_0808, 0, u32::MAX];
    for v4 in inside.map(u128::from) {
        let forms = [
            v4,
            0xffff_0000_0000 | v4,
            0xffff_0000_0000_0000 | v4,
            (0x64_ff9b_u128 << 96) | v4,
            (0x2002_u128 << 112) | (v4 << 80),
            (0x2001_u128 << 112) | !v4 & 0xffff_ffff,
            (0x2606_4700_u128 << 96) | (0x5efe << 32) | v4,
        ];
        for form in forms {
            let address = std::net::Ipv6Addr::from(form);
            // `::1` is the loopback address and not a compatible form of 0.0.0.1.
            assert!(
                matches!(classify_address(address.into()), AddressScope::Forbidden(_)),
                "{address}"
            );
        }
    }
}
