//! Zone data of a simulated machine: chrono-tz, or invented releases with other rules.
//!
//! An invented release moves a zone to a constant offset, as a zone file for the engine and as arithmetic for the
//! oracle.

use std::ops::RangeInclusive;

use chrono::{
    Duration, MappedLocalTime, NaiveDate, NaiveDateTime, Offset as _, TimeZone as _, Utc,
};
use chrono_tz::Tz;
use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};
use rouse_testkit::Dice;

/// Offsets of the releases from standard time, in seconds.
const MOVES: [i32; 4] = [0, 3_600, -3_600, 1_800];

/// A release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ZoneRelease {
    /// None: the tables inside chrono-tz.
    moved: Option<usize>,
}

impl ZoneRelease {
    /// Another release.
    pub(crate) fn another(self, dice: &mut Dice) -> Self {
        loop {
            let number = dice.below(MOVES.len() + 1);
            let other = Self { moved: (number < MOVES.len()).then_some(number) };
            if other != self {
                return other;
            }
        }
    }

    /// A machine with this release, in `local`.
    pub(crate) fn zones(self, local: Tz) -> Zones {
        let Some(moved) = self.moved else { return local.into() };
        let letter = char::from(b'a' + u8::try_from(moved).expect("few"));
        let version = ZoneVersion::parse(&format!("2099{letter}")).expect("a version");
        let source = ZoneSource { version, folder: Some("/zones".to_owned()) };
        Zones::newest(source, Box::new(self)).with_local(local.name())
    }

    /// The instant of a time of day: the first of two, or the first instant after a gap.
    pub(crate) fn instant(self, date: NaiveDate, hour: u32, minute: u32, tz: Tz) -> i64 {
        let mut local = date.and_hms_opt(hour, minute, 0).expect("a time of day");
        if let Some(east) = self.east(tz) {
            return local.and_utc().timestamp_millis() - i64::from(east) * 1_000;
        }
        loop {
            match tz.from_local_datetime(&local) {
                MappedLocalTime::Single(at) | MappedLocalTime::Ambiguous(at, _) => {
                    return at.timestamp_millis();
                }
                MappedLocalTime::None => local += Duration::minutes(1),
            }
        }
    }

    /// The local time in `tz`.
    pub(crate) fn local(self, at: i64, tz: Tz) -> NaiveDateTime {
        let at = Utc.timestamp_millis_opt(at).single().expect("an instant");
        match self.east(tz) {
            Some(east) => at.naive_utc() + Duration::seconds(east.into()),
            None => at.with_timezone(&tz).naive_local(),
        }
    }

    /// Whether both have the same local time in `tz` throughout. No zone of the proofs changes the offset twice in two
    /// weeks.
    pub(crate) fn agrees_with(self, other: Self, tz: Tz, time: RangeInclusive<i64>) -> bool {
        const STEP: i64 = 14 * 86_400_000;
        let count = (time.end() - time.start()) / STEP + 1;
        let looks = (0..count).map(|n| time.start() + n * STEP).chain([*time.end()]);
        looks.into_iter().all(|at| self.local(at, tz) == other.local(at, tz))
    }

    /// The constant offset of an invented release, in seconds east of Greenwich. UTC has no file.
    fn east(self, tz: Tz) -> Option<i32> {
        let moved = self.moved.filter(|_| tz != Tz::UTC)?;
        let winter = Utc.with_ymd_and_hms(2024, 1, 15, 12, 0, 0).single().expect("an instant");
        Some(
            tz.offset_from_utc_datetime(&winter.naive_utc()).fix().local_minus_utc() + MOVES[moved],
        )
    }
}

impl ZoneFiles for ZoneRelease {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.east(name.parse().ok()?).map(zone_file)
    }
}

/// A zone file (RFC 9636) with a single offset.
fn zone_file(east: i32) -> Vec<u8> {
    let mut block = b"TZif2".to_vec();
    block.extend([0; 15]);
    // No indicators, leap seconds or transitions; one type of local time, with four bytes for the name.
    for count in [0_u32, 0, 0, 0, 1, 4] {
        block.extend(count.to_be_bytes());
    }
    block.extend(east.to_be_bytes());
    block.extend([0, 0]);
    block.extend(b"NEW\0");
    let (sign, minutes) = (if east < 0 { '+' } else { '-' }, east.unsigned_abs() / 60);
    let footer = format!("\n<NEW>{sign}{:02}:{:02}\n", minutes / 60, minutes % 60);
    [&block[..], &block[..], footer.as_bytes()].concat()
}

#[test]
fn engine_and_oracle_have_the_same_rules() {
    let summer = 1_720_000_000_000;
    for moved in 0..MOVES.len() {
        let rules = ZoneRelease { moved: Some(moved) };
        for tz in [Tz::America__New_York, Tz::Asia__Kathmandu, Tz::Pacific__Chatham] {
            let east = rules.east(tz).expect("a file");
            let zone = rules.zones(Tz::UTC).zone(tz.name()).expect("a zone");
            assert_ne!(Some(zone), Zones::from(Tz::UTC).zone(tz.name()), "{tz} {east}");
            let noon = rules.local(summer, tz).date();
            let pattern =
                rouse_core::schedule::CronPattern::parse("0 12 * * *").expect("a pattern");
            let engine = pattern.next_after(zone, rules.instant(noon, 12, 0, tz) - 1);
            assert_eq!(engine, Some(rules.instant(noon, 12, 0, tz)), "{tz} {east}");
        }
    }
}
