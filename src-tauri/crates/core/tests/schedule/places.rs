//! The zones the oracle walks, each with an answer to "which offset" that is not the engine's.

use chrono::{Offset as _, TimeZone as _};
use chrono_tz::{TZ_VARIANTS, Tz};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rouse_core::schedule::{Zone, ZoneFiles, ZoneSource, ZoneVersion, Zones};

use super::oracle::naive;

/// 2100-03-01T00:00:00Z: from here on chrono-tz knows no changes.
const TABLES_END: i64 = 4_107_542_400;

/// A zone, with the source of the clock.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    BuiltIn(Tz),
    File(Zone, &'static TimeZone),
}

impl Place {
    pub(crate) fn zone(self) -> Zone {
        match self {
            Self::BuiltIn(tz) => tz.into(),
            Self::File(zone, _) => zone,
        }
    }

    /// Seconds east of UTC.
    pub(crate) fn offset(self, at: i64) -> i64 {
        match self {
            // Only the zone files know years after the tables.
            Self::BuiltIn(tz) if at >= TABLES_END => {
                let zone = Zone::from(tz);
                i64::from(zone.offset_from_utc_datetime(&naive(at)).fix().local_minus_utc())
            }
            Self::BuiltIn(tz) => {
                i64::from(tz.offset_from_utc_datetime(&naive(at)).fix().local_minus_utc())
            }
            Self::File(_, file) => {
                i64::from(file.to_offset(Timestamp::from_second(at).unwrap()).seconds())
            }
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.zone().fmt(f)
    }
}

pub(crate) fn built_in() -> Vec<Place> {
    TZ_VARIANTS.into_iter().map(Place::BuiltIn).collect()
}

/// Files in a folder.
pub(crate) struct Folder(pub(crate) &'static str);

impl ZoneFiles for Folder {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(std::path::Path::new(self.0).join(name)).ok()
    }
}

/// The zones of `files`, declared newer than the built-in tables.
pub(crate) fn zones_of(files: impl ZoneFiles + 'static) -> Zones {
    let version = ZoneVersion::parse("9999z").unwrap();
    Zones::newest(ZoneSource { version, folder: Some("here".to_owned()) }, Box::new(files))
}

/// Every zone that has a file on this machine; none where systems keep no zone files.
pub(crate) fn of_system() -> Vec<Place> {
    let folder = || Folder("/usr/share/zoneinfo");
    let zones = zones_of(folder());
    let place = |tz: Tz| {
        let bytes = folder().read(tz.name())?;
        let file: &'static TimeZone =
            Box::leak(Box::new(TimeZone::tzif(tz.name(), &bytes).unwrap()));
        let zone = zones.zone(tz.name()).unwrap();
        assert!(zone.is_of_system(), "{tz}: the file was refused");
        Some(Place::File(zone, file))
    };
    TZ_VARIANTS.into_iter().filter_map(place).collect()
}
