//! Zone files of the system: choice, effect and refusal.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeZone as _};
use proptest::prelude::*;
use rouse_core::UnixMs;
use rouse_core::schedule::{
    CronPattern, Zone, ZoneFiles, ZoneSource, ZoneVersion, Zones, transitions_in,
};
use rouse_core::settings::read_settings;

use super::places::{Folder, zones_of};

/// Two files of the release 2026f: Vancouver with permanent summer time from 2026 on, Casablanca without summer time
/// from 2026 on.
const NEWER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zoneinfo/2026f");

fn newer(name: &str) -> Zone {
    zones_of(Folder(NEWER)).zone(name).unwrap()
}

/// The first three slots after `after`, in wall clock time of the zone.
fn slots(text: &str, zone: Zone, after: &str) -> Vec<String> {
    let after = DateTime::parse_from_rfc3339(after).unwrap().timestamp_millis();
    let pattern = CronPattern::parse(text).unwrap();
    let shown = |at: i64| zone.timestamp_millis_opt(at).unwrap().to_rfc3339();
    pattern.slots(zone, after).take(3).map(shown).collect()
}

/// A file in the form of `zic`: a single offset, and a footer with the rule.
fn file_with_footer(footer: &str) -> Vec<u8> {
    let header = |version: u8| {
        let mut bytes = b"TZif".to_vec();
        bytes.push(version);
        bytes.extend([0; 15]);
        for count in [0_u32, 0, 0, 0, 1, 4] {
            bytes.extend(count.to_be_bytes());
        }
        // A single type: offset 0, no summer time, the name "UTC".
        bytes.extend([0, 0, 0, 0, 0, 0]);
        bytes.extend(*b"UTC\0");
        bytes
    };
    let mut bytes = header(b'3');
    bytes.extend(header(b'3'));
    bytes.extend(format!("\n{footer}\n").bytes());
    bytes
}

struct Files(HashMap<String, Vec<u8>>);

impl ZoneFiles for Files {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.0.get(name).cloned()
    }
}

fn zones_with(name: &str, bytes: Vec<u8>) -> Zones {
    zones_of(Files(HashMap::from([(name.to_owned(), bytes)])))
}

#[test]
fn vancouver_stays_on_summer_time_from_2026_on() {
    let zone = newer("America/Vancouver");
    assert!(zone.is_of_system());
    assert_eq!(
        slots("30 1 * * *", zone, "2026-10-31T12:00:00Z"),
        ["2026-11-01T01:30:00-07:00", "2026-11-02T01:30:00-07:00", "2026-11-03T01:30:00-07:00"]
    );
    assert!(transitions_in(zone, 1_780_000_000_000, i64::MAX).is_empty());
    let old = Zone::from(chrono_tz::America::Vancouver);
    assert_eq!(slots("30 1 * * *", old, "2026-11-01T12:00:00Z")[0], "2026-11-02T01:30:00-08:00");
}

#[test]
fn casablanca_has_one_time_all_year_from_late_2026_on() {
    let zone = newer("Africa/Casablanca");
    assert_eq!(slots("30 2 * * *", zone, "2027-02-06T12:00:00Z")[0], "2027-02-07T02:30:00+00:00");
    assert!(transitions_in(zone, 1_793_000_000_000, i64::MAX).is_empty());
}

#[test]
fn zone_without_a_valid_file_has_the_built_in_rules() {
    let zones = zones_of(Folder(NEWER));
    let missing = zones.zone("Europe/Berlin").unwrap();
    assert!(!missing.is_of_system());
    assert_eq!(missing, Zone::from(chrono_tz::Europe::Berlin));
    let broken = zones_with("Europe/Berlin", b"TZif2 and then nothing".to_vec());
    assert_eq!(broken.zone("Europe/Berlin"), Some(missing));
    assert_eq!(zones.zone("Mars/Base"), None);
    assert!(zones_with("Mars/Base", file_with_footer("UTC0")).zone("Mars/Base").is_some());
}

#[test]
fn day_hours_accept_a_zone_known_only_to_the_system() {
    let zones = zones_with("Mars/Base", file_with_footer("MMT-5"));
    let read = |tz: &str| {
        let hours = serde_json::json!({ "from": "22:00", "to": "07:00", "tz": tz });
        let settings = read_settings(serde_json::json!({ "quietHours": hours }), &zones);
        settings.ok().and_then(|settings| settings.quiet_hours)
    };
    let night = read("Mars/Base").unwrap();
    let at = |time: &str| UnixMs(DateTime::parse_from_rfc3339(time).unwrap().timestamp_millis());
    let evening = at("2026-11-22T18:00:00Z");
    assert_eq!(night.ends_at(evening, &zones), Some(at("2026-11-23T02:00:00Z")));
    assert_eq!(read("Mars/Nowhere"), None);
}

#[test]
fn footer_rule_continues_for_ever() {
    let zone = zones_with("Here/Now", file_with_footer("CET-1CEST,M3.5.0,M10.5.0/3"))
        .zone("Here/Now")
        .unwrap();
    let berlin = Zone::from(chrono_tz::Europe::Berlin);
    for year in [2026, 2037, 2038, 2099, 2100, 2101, 2104, 2400, 4_000, 4_999] {
        let year_of = |zone: Zone| {
            let ends = [format!("{year}-01-01T00:00:00Z"), format!("{year}-12-30T00:00:00Z")];
            let [from, to] =
                ends.map(|end| DateTime::parse_from_rfc3339(&end).unwrap().timestamp_millis());
            transitions_in(zone, from, to)
        };
        assert_eq!(year_of(zone), year_of(berlin), "{year}");
        assert_eq!(year_of(zone).len(), 2, "{year}");
    }
}

#[test]
fn only_zone_names_reach_the_files() {
    struct Nobody;
    impl ZoneFiles for Nobody {
        fn read(&self, name: &str) -> Option<Vec<u8>> {
            panic!("{name} was read");
        }
    }
    let long = format!("A{}", "a".repeat(64));
    for name in [
        "",
        ".",
        "..",
        "../etc/passwd",
        "Europe/../x",
        "/etc/passwd",
        "Europe//Berlin",
        "Europe/",
        "posixrules",
        "right/Europe/Berlin",
        "A\0b",
        "A b",
        "Ä",
        &long,
    ] {
        assert_eq!(zones_of(Nobody).zone(name), None, "{name}");
    }
}

#[test]
fn newer_source_is_used() {
    let used = |version: &str| {
        let version = ZoneVersion::parse(version).unwrap();
        let source = ZoneSource { version, folder: Some("/zones".to_owned()) };
        Zones::newest(source, Box::new(Folder(NEWER))).source().to_string()
    };
    let built_in = format!("{}, built in", chrono_tz::IANA_TZDB_VERSION);
    assert_eq!(used("9998b"), "9998b from /zones");
    assert_eq!(used("2019a"), built_in);
    assert_eq!(used(chrono_tz::IANA_TZDB_VERSION), built_in);
}

#[test]
fn versions_are_compared_by_year_and_letter() {
    let version = |text: &str| ZoneVersion::parse(text);
    let order =
        ["2019c", "2025a", "# version 2025b", "2025z", "2025aa", "2026a\n", "2026b-rearguard"];
    assert!(order.windows(2).all(|pair| version(pair[0]).unwrap() < version(pair[1]).unwrap()));
    assert_eq!(version("# version 2025b-1").unwrap(), version("2025b").unwrap());
    for text in
        ["", "2025", "2025-b", "unknown", "# version", "25b", "2025abc", "２０２５b", "2025b!"]
    {
        assert_eq!(version(text), None, "{text}");
    }
}

#[test]
fn implausible_zone_file_is_refused() {
    for footer in [
        "XXX24",                      // a whole day west
        "XXX0YYY-20,M3.5.0,M10.5.0",  // twenty hours east in summer
        "XXX12YYY-14,M3.5.0,M10.5.0", // more than a day forward
        "XXX0YYY,M3.5.0,M3.5.3",      // there and back within a week
        "XXX0YYY,J100/0,J101/0",
    ] {
        assert_eq!(
            zones_with("Here/Now", file_with_footer(footer)).zone("Here/Now"),
            None,
            "{footer}"
        );
    }
    assert_eq!(zones_with("Here/Now", vec![0; 70_000]).zone("Here/Now"), None);
}

#[test]
fn rule_at_the_end_of_february_holds_up_to_2100() {
    let footer = "XXX0YYY,J60,J274";
    let zone = zones_with("Here/Now", file_with_footer(footer)).zone("Here/Now").unwrap();
    assert_eq!(slots("0 12 1 7 *", zone, "2090-01-01T00:00:00Z")[0], "2090-07-01T12:00:00+01:00");
    assert_eq!(slots("0 12 1 7 *", zone, "2100-06-01T00:00:00Z").len(), 3);
}

#[test]
fn equal_content_is_the_same_zone() {
    let expected = newer("America/Vancouver");
    assert_eq!(expected, newer("America/Vancouver"));
    assert_ne!(expected, Zone::from(chrono_tz::America::Vancouver));
    let zones = zones_of(Folder(NEWER));
    assert!(zones.has_same_data(&zones.with_local("Europe/Berlin")));
    assert!(!zones.has_same_data(&zones_of(Folder(NEWER))));
    assert_eq!(zones.with_local("Mars/Base").local(), Zone::UTC);
}

/// Seed files: two real files, and, if the system has more, a file with a long history.
fn seeds() -> Vec<Vec<u8>> {
    let paths = ["America/Vancouver", "Africa/Casablanca"].map(|name| Path::new(NEWER).join(name));
    let more = [PathBuf::from("/usr/share/zoneinfo/Europe/Dublin")];
    let mut seeds: Vec<Vec<u8>> =
        paths.iter().chain(&more).filter_map(|path| std::fs::read(path).ok()).collect();
    seeds.push(file_with_footer("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1"));
    seeds
}

/// Checks that a zone of any bytes answers every query, with slots after the queried instant.
fn ask(bytes: Vec<u8>) {
    let Some(zone) = zones_with("Here/Now", bytes).zone("Here/Now") else { return };
    let (fixed, interval) =
        (CronPattern::parse("30 2 * * *").unwrap(), CronPattern::parse("*/20 * * * *").unwrap());
    for after in
        [i64::MIN, -3_000_000_000_000, 0, 1_774_740_600_000, 4_107_542_400_000, 9_000_000_000_000]
    {
        for pattern in [&fixed, &interval] {
            let next = pattern.next_after(zone, after);
            assert!(next.is_none_or(|next| next > after));
            let last = pattern.last_until(zone, after);
            assert!(last.is_none_or(|last| last <= after));
            if let Some(next) = next {
                let _note = pattern.clock_note(zone, next);
            }
        }
    }
    let changes = transitions_in(zone, 1_700_000_000_000, 1_800_000_000_000);
    assert!(changes.is_sorted_by_key(|change| change.at));
}

/// Also with unordered changes, which would make the search for the next change endless.
#[test]
fn file_with_one_damaged_byte_is_read_or_refused() {
    let seed = std::fs::read(Path::new(NEWER).join("America/Vancouver")).expect("a zone file");
    for at in 0..seed.len() {
        for damage in [0x00, 0x7f, 0x80, 0xff] {
            let mut bytes = seed.clone();
            bytes[at] = damage;
            let _zone = zones_with("Here/Now", bytes).zone("Here/Now");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_never_panic(
        which in 0_usize..4,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let seeds = seeds();
        let mut bytes = seeds[which % seeds.len()].clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        ask(bytes);
    }

    #[test]
    fn any_footer_is_read_or_refused(footer in "[A-Z<>]{3,5}-?[0-9]{1,3}([A-Z]{3}(-?[0-9]{1,2})?,[MJ]?[0-9.]{1,7}(/-?[0-9]{1,3})?,[MJ]?[0-9.]{1,7}(/-?[0-9]{1,3})?)?") {
        ask(file_with_footer(&footer));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        ask([b"TZif2".to_vec(), bytes].concat());
    }
}
